"""LeNet at batch size one, many trials: what paper B's experiments are made of."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from deepmech.core import provenance
from deepmech.core.labels import Number, align
from deepmech.core.random import Stream
from deepmech.trainers import checks
from deepmech.trainers.devices import chosen
from deepmech.trainers.lenet_engine import Engine, padded
from deepmech.trainers.lenet_reference import Reference
from deepmech.trainers.specs import SingleSample

ENGINES: dict[str, Any] = {"fused": Engine, "reference": Reference}
SIDE = 32


def train_lenet(
    training: SingleSample,
    data: Any,
    *,
    seed: Number | int = 0,
    validate: Sequence[int] = (),
    engine: str = "fused",
    threads: int | None = None,
    experiment: str = "lenet",
) -> xr.Dataset:
    """Train one LeNet for every combination of the labels in ``training`` and ``seed``, one sample per step.

    Convolution 5×5 to 6 maps, ReLU, 2×2 maximum, convolution 5×5 to 16 maps, ReLU, 2×2 maximum, then 400 → 120 → 84 → K
    with ReLU between; PyTorch's default initialisation (paper B, App. D). A trial's bits depend on its own parameters,
    its seed, the data and ``experiment`` alone, not on its neighbours or on the number of threads (on one machine).

    Parameters
    ----------
    training : SingleSample
    data : ``deepmech.data.Data`` of 32×32 images, or any object with ``x_train``, ``y_train``, ``x_test``, ``y_test``,
        ``n_classes``, ``shape`` and ``fingerprint``. Arrays, lists or torch tensors; labels are whole numbers
        0 … n_classes - 1. Validation uses the test samples, with true labels.
    seed : an integer, or several as a labelled array: trials. Trials with the same seed share initial weights and the
        samples drawn, whatever their other parameters are.
    validate : iterations before which to measure validation loss and accuracy, rising, from 0 to ``iterations`` (the
        last means: after the end). One costs about as much as 0.6 steps per validation sample.
    engine : ``"fused"``, or ``"reference"``: plain torch, for comparison.
    threads : trials at a time; None uses every core available. Both engines run on the CPU, also where
        ``DEEPMECH_DEVICE`` names a GPU.
    experiment : name that enters the random streams.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``logits`` (…, iteration, logit): of the sample about to be trained on, before its step;
        - ``label``, ``true_class`` (…, iteration): its label (perhaps wrong) and its class, int8;
        - ``loss`` (…, iteration): its cross-entropy with that label, float32;
        - ``validation_loss``, ``validation_accuracy`` (…, at_iteration), if ``validate`` is given;
        - ``state`` (…): ``"finished"`` or ``"diverged"``: a loss, a weight or a validation loss was not finite. Logits
          and losses are NaN from that iteration on, and so is what is validated later.

    Raises
    ------
    ValueError
        If labels clash, the data are not fit to be trained on (:func:`deepmech.trainers.checks.samples`) or are no
        images of 32×32, an engine does not know what is asked of it, or a name is unknown.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.data import load
    >>> log = train_lenet(SingleSample(iterations=5), load("geomnist", n_train=9), seed=over("trial", range(2)))
    >>> log["logits"].sizes
    Frozen({'trial': 2, 'iteration': 5, 'logit': 3})
    """
    started = time.perf_counter()
    checks.require_spec("train_lenet", "training", training, SingleSample)
    checks.require_threads("train_lenet", threads)
    checks.require_name("train_lenet", "experiment", experiment)
    checks.require_seed("train_lenet", seed)
    chosen(None, "train_lenet")
    data = checks.samples("train_lenet", data, training.dtype, image="LeNet")
    at = _check(training, data, engine, validate)
    rates = {"learning_rate": training.learning_rate, "label_error": training.label_error}
    batch = align("train_lenet", **rates, seed=seed)
    checks.require_free("train_lenet", batch.dims, ("iteration", "logit", "at_iteration"))
    kind, dtype, k = ENGINES[engine], training.dtype, data.n_classes
    n_channels = data.shape[0]
    x, x_val = (padded(z, n_channels, dtype) if kind is Engine else z for z in (data.x_train, data.x_test))
    y, y_val = data.y_train, data.y_test
    spoilt = Stream.of(experiment, "labels", str(data.fingerprint))
    labels = {p: wrong_labels(y, k, p, spoilt) for p in set(batch.flat["label_error"].tolist())}

    def fit(member: dict[str, Any]) -> tuple[np.ndarray, ...]:
        stream = Stream.of(experiment, int(member["seed"]))
        trained = kind(initial_weights(stream, n_channels, k), member["learning_rate"], dtype)
        own = labels[member["label_error"]]
        order = drawn(stream, y, k, training.iterations, training.class_weights)
        logits, loss, measured = trained.run(x, own, order, (x_val, y_val), at)
        with np.errstate(over="ignore"):
            loss = loss.astype(np.float32)
        # The first iteration that did not come out finite, if any; nothing after it counts.
        lost = int(np.argmax(np.append(~np.isfinite(loss), True)))
        logits[lost:], loss[lost:], measured[at > lost] = np.nan, np.nan, np.nan
        measured[~np.isfinite(measured).all(1)] = np.nan
        # What came of the last step shows in the sample that it was made on.
        diverged = lost < len(loss) or not trained.answers(x[order[-1]]) or bool(np.isnan(measured).any())
        return logits, loss, own[order].astype(np.int8), y[order].astype(np.int8), measured, np.array(diverged)

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads or provenance.cores()) as pool:
            bar = tqdm(total=batch.n, desc="trials", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False)
            made = []
            for one in pool.map(fit, batch.members()):
                made.append(one)
                bar.update()
            bar.close()
    finally:
        torch.set_num_threads(before)
    logits, loss, label, true, measured, diverged = (np.stack(z) for z in zip(*made, strict=True))
    variables: dict[str, Any] = {
        "logits": batch.unflatten(logits, "iteration", "logit"),
        "label": batch.unflatten(label, "iteration"),
        "true_class": batch.unflatten(true, "iteration"),
        "loss": batch.unflatten(loss, "iteration"),
        "state": batch.unflatten(np.where(diverged, "diverged", "finished")),
    }
    coords = {**batch.coords, "iteration": np.arange(training.iterations), "logit": np.arange(k)}
    if len(at):
        variables["validation_loss"] = batch.unflatten(measured[..., 0], "at_iteration")
        variables["validation_accuracy"] = batch.unflatten(measured[..., 1], "at_iteration")
        coords["at_iteration"] = at
    result = xr.Dataset(variables, coords=coords)
    result.attrs = provenance.attributes(
        spec=json.dumps(training.to_json()),
        seed=json.dumps(np.asarray(seed).tolist()),
        dtype=dtype,
        wall_seconds=time.perf_counter() - started,
    )
    result.attrs |= {"engine": engine, "experiment": experiment, "data": str(data.fingerprint)}
    return result


def initial_weights(stream: Stream, n_channels: int, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight, bias) of every layer, uniform in ±1/√(fan-in) as PyTorch's default, float64."""
    shapes = [(6, n_channels, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (n_classes, 84)]
    layers = []
    for i, shape in enumerate(shapes, start=1):
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        weight = (2 * stream.uniform(f"weight {i}", 0, shape) - 1) * bound
        layers.append((weight, (2 * stream.uniform(f"bias {i}", 0, shape[0]) - 1) * bound))
    return layers


def drawn(
    stream: Stream, classes: np.ndarray, n_classes: int, iterations: int, weights: Sequence[float] | None
) -> np.ndarray:
    """Which training sample each iteration draws, int64, shape (iterations,); with replacement."""
    u = stream.uniform("sample", 0, iterations)
    if weights is None:
        return (u * len(classes)).astype(np.int64)
    which = np.searchsorted(np.cumsum(weights), stream.uniform("class", 0, iterations), side="right")
    which = np.minimum(which, n_classes - 1)
    members = [np.flatnonzero(classes == k) for k in range(n_classes)]
    sizes = np.array([len(m) for m in members])
    place = (u * sizes[which]).astype(np.int64)
    order = np.empty(iterations, np.int64)
    for k, own in enumerate(members):
        order[which == k] = own[place[which == k]]
    return order


def wrong_labels(classes: np.ndarray, n_classes: int, share: float, stream: Stream) -> np.ndarray:
    """``classes`` with ``share`` of each class relabelled, as evenly as possible over the other classes.

    Examples
    --------
    >>> y = np.arange(30) % 3
    >>> found = wrong_labels(y, 3, 0.4, Stream.of("doctest"))
    >>> [int(np.sum((y == 0) & (found == k))) for k in range(3)]
    [6, 2, 2]
    """
    out = classes.copy()
    for k in range(n_classes):
        own = np.flatnonzero(classes == k)
        chosen = own[stream.permutation(f"class {k}", 0, len(own))[: round(share * len(own))]]
        out[chosen] = (k + 1 + np.arange(len(chosen)) % (n_classes - 1)) % n_classes
    return out


def _check(training: SingleSample, data: Any, engine: str, validate: Sequence[int]) -> np.ndarray:
    """``validate`` as an array, if everything fits."""
    if engine not in tuple(ENGINES):
        raise ValueError(
            f"train_lenet: engine = {checks.shown(engine)}: must be one of {', '.join(map(repr, ENGINES))}"
        )
    able = [name for name, kind in ENGINES.items() if not checks.unknown(kind.KNOWN, training)]
    if engine not in able:
        what = checks.unknown(ENGINES[engine].KNOWN, training)
        others = f"; use engine={' or '.join(map(repr, able))}" if able else ", nor does another"
        raise ValueError(f"train_lenet: engine = {engine!r} does not know {what}{others}")
    if data.shape[1:] != (SIDE, SIDE):
        raise ValueError(
            f"train_lenet: data.shape = {data.shape}: images must be (channels, 32, 32); load them with size=32"
        )
    if not 2 <= data.n_classes <= 127:
        raise ValueError(f"train_lenet: data.n_classes = {data.n_classes}: must be 2 to 127")
    if training.class_weights is not None:
        if len(training.class_weights) != data.n_classes:
            raise ValueError(
                f"SingleSample.class_weights = {training.class_weights!r}: must have one number for each of the "
                f"{data.n_classes} classes"
            )
        drawn_from = np.bincount(data.y_train, minlength=data.n_classes) > 0
        empty = np.flatnonzero((np.array(training.class_weights) > 0) & ~drawn_from)
        if len(empty):
            raise ValueError(
                f"SingleSample.class_weights: class {checks.listed(empty)} is to be drawn, but data.y_train has no "
                "sample of it; give it the weight 0"
            )
    if np.size(validate) == 0:
        return np.array([], np.int64)
    last = (training.iterations, "SingleSample.iterations")
    return checks.wholes("train_lenet", "validate", validate, 0, last, rising=True)
