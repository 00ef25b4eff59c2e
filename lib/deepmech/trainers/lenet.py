"""LeNet at batch size one, many trials: what paper B's experiments are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.labels import Number, Words
from deepmech.core.random import Stream
from deepmech.data.samples import Data, validate_data
from deepmech.trainers.engines.compiled.lenet import CompiledLeNet, padded
from deepmech.trainers.engines.torch_lenet import TorchLeNet
from deepmech.trainers.run import TrainerRun, record_steps, require_spec
from deepmech.trainers.specs import SingleSample, layer_weights

SIDE = 32
#: What results hold.
WORDS: Words = {
    "logits": ("logits of the sample trained on", "1", "iteration", "logit"),
    "label": ("label of the sample trained on", "1", "iteration"),
    "true_class": ("class of the sample trained on", "1", "iteration"),
    "loss": ("cross-entropy of the sample trained on", "1", "iteration"),
    "state": ("how training ended", "1"),
    "validation_loss": ("cross-entropy on validation samples", "1", "at_iteration"),
    "validation_accuracy": ("accuracy on validation samples", "1", "at_iteration"),
}


def train_lenet(
    training: SingleSample,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    record: Sequence[int] | int | None = None,
    threads: int | None = None,
    device: str | None = None,
    experiment: str = "lenet",
) -> xr.Dataset:
    """Train one LeNet for every combination of the labels in ``training`` and ``seed``, one sample per step.

    Convolution 5×5 to 6 maps, ReLU, 2×2 maximum, convolution 5×5 to 16 maps, ReLU, 2×2 maximum, then 400 → 120 → 84 → K
    with ReLU between; PyTorch's default initialisation (paper B, App. D). A trial's bits depend on its own parameters,
    its seed, the data and ``experiment`` alone, not on its neighbours or on the number of threads (on one machine).

    Parameters
    ----------
    training : SingleSample
    data : Data or tuple
        As for :func:`deepmech.trainers.train`, of images 32×32, x of shape (n, channels, 32, 32), with labels.
        Validation uses the test samples, with true labels.
    seed : int or DataArray
        An integer, or several as a labelled array: trials. Trials with the same seed share initial weights and the
        samples drawn, whatever their other parameters are.
    record : int or list of int, optional
        Numbers of steps after which to measure validation loss and accuracy, rising, from 0 to ``iterations``, or a
        whole number n: after every n-th step, from 0 to the last; None never does. One measurement costs about as much
        as 0.6 steps per validation sample. Logits and losses are recorded at every step.
    engine : str
        ``"compiled"`` (a trial on each core, fast), ``"torch"`` (any device; on a GPU all trials at once), or
        ``"auto"``: torch on a GPU, else compiled. They agree to rounding.
    threads : int, optional
        Trials at a time on a CPU; None uses every core available.
    device, experiment
        As for :func:`deepmech.trainers.train`.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``logits`` (…, iteration, logit): of the sample about to be trained on, before its step;
        - ``label``, ``true_class`` (…, iteration): its label (perhaps wrong) and its class, int8;
        - ``loss`` (…, iteration): its cross-entropy with that label, float32;
        - ``validation_loss``, ``validation_accuracy`` (…, at_iteration), if ``record`` is given;
        - ``state`` (…): ``"finished"`` or ``"diverged"``: a loss, a validation loss, or in the end a weight was not
          finite. Logits and losses are NaN from the first such loss on, and so is what is measured later.

    Raises
    ------
    ValueError
        If labels clash, or the data are not fit to be trained on (:func:`deepmech.data.samples.validate_data`) or
        are no images of 32×32.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.data import load
    >>> log = train_lenet(SingleSample(iterations=5), load("geomnist", n_train=9), seed=over("trial", range(2)))
    >>> log["logits"].sizes
    Frozen({'trial': 2, 'iteration': 5, 'logit': 3})
    """
    require_spec("train_lenet: training", training, SingleSample)
    call = TrainerRun("train_lenet", engine=engine, seed=seed, experiment=experiment, threads=threads, device=device)
    chosen = call.select_engine()
    data = validate_data("train_lenet", data, training.dtype, image="LeNet")
    _check(training, data)
    if record is not None and data.x_test is None:
        raise ValueError("train_lenet: record: there are no test samples to validate on; give (x, y, x_test, y_test)")
    steps = training.iterations
    at = np.zeros(0, np.int64)
    if record is not None:
        at = record_steps("train_lenet", record, steps, "SingleSample.iterations")
    members = call.expand(WORDS, training)
    dtype, k, n_channels = training.dtype, data.n_classes, data.shape[0]
    specs.check_steps("SingleSample.iterations", steps, float(steps))
    specs.check_memory("SingleSample.iterations", steps, 1.0 * steps * len(members) * (k + 4))
    validation = (data.x_train[:1], data.y_train[:1]) if data.x_test is None else (data.x_test, data.y_test)
    x, y, by_torch = data.x_train, data.y_train, chosen[0] == "torch"
    if not by_torch:
        x, validation = padded(x, n_channels, dtype), (padded(validation[0], n_channels, dtype), validation[1])
    label_stream = Stream.of(experiment, "labels", str(data.fingerprint))
    labels = {p: corrupt_labels(y, k, p, label_stream) for p in {one.label_error for one, _ in members}}
    call.describe(data, dtype, [chosen], {"record": at}, training=training)

    def fit(job: list[int]) -> list[dict[str, Any]]:
        rates, streams = [members[i][0].learning_rate for i in job], [Stream.of(experiment, members[i][1]) for i in job]
        given = np.stack([labels[members[i][0].label_error] for i in job])
        orders = np.stack([sample_indices(stream, y, k, steps, training.class_weights) for stream in streams])
        if by_torch:
            networks = TorchLeNet(streams, n_channels, k, rates, dtype, call.device)
            numbers = list(zip(*networks.run(x, given, orders, validation, at), strict=True))
        else:
            network = CompiledLeNet(initial_weights(streams[0], n_channels, k), rates[0], dtype)
            one = network.run(x, given[0], orders[0], validation, at)
            numbers = [(*one, network.has_finite_outputs(x, orders[0, -1]))]
        return [
            _until_divergence(*found, at)
            | {"label": wrong[order].astype(np.int8), "true_class": y[order].astype(np.int8)}
            for found, wrong, order in zip(numbers, given, orders, strict=True)
        ]

    rows = call.run(fit, call.jobs([None if not call.on_gpu else "trials"] * len(members)), "trials")
    result = call.result(rows, {"iteration": np.arange(steps), "logit": np.arange(k), "at_iteration": at})
    return result if len(at) else result.drop_dims("at_iteration")


def _until_divergence(
    logits: np.ndarray, loss: np.ndarray, measured: np.ndarray, finite: bool, at: np.ndarray
) -> dict[str, Any]:
    """One trial's numbers, nan from the first iteration that did not come out finite on; and whether it diverged."""
    with np.errstate(over="ignore"):
        loss = loss.astype(np.float32)
    end = int(np.argmax(np.append(~np.isfinite(loss), True)))
    logits[end:], loss[end:], measured[at > end] = np.nan, np.nan, np.nan
    measured[~np.isfinite(measured).all(1)] = np.nan
    diverged = end < len(loss) or not finite or bool(np.isnan(measured).any())
    return {
        "logits": logits, "loss": loss, "state": "diverged" if diverged else "finished",
        "validation_loss": measured[:, 0], "validation_accuracy": measured[:, 1],
    }  # fmt: skip


def initial_weights(stream: Stream, n_channels: int, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight, bias) of every layer of a trial's network, float64."""
    shapes = [(6, n_channels, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (n_classes, 84)]
    return [layer_weights(stream, i, shape) for i, shape in enumerate(shapes, start=1)]


def sample_indices(
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
    for k, samples in enumerate(members):
        order[which == k] = samples[place[which == k]]
    return order


def corrupt_labels(classes: np.ndarray, n_classes: int, share: float, stream: Stream) -> np.ndarray:
    """``classes`` with ``share`` of each class relabelled, as evenly as possible over the other classes.

    Examples
    --------
    >>> y = np.arange(30) % 3
    >>> found = corrupt_labels(y, 3, 0.4, Stream.of("doctest"))
    >>> [int(np.sum((y == 0) & (found == k))) for k in range(3)]
    [6, 2, 2]
    """
    out = classes.copy()
    for k in range(n_classes):
        samples = np.flatnonzero(classes == k)
        chosen = samples[stream.permutation(f"class {k}", 0, len(samples))[: round(share * len(samples))]]
        out[chosen] = (k + 1 + np.arange(len(chosen)) % (n_classes - 1)) % n_classes
    return out


def _check(training: SingleSample, data: Data) -> None:
    if data.shape[1:] != (SIDE, SIDE):
        raise ValueError(
            f"train_lenet: data.shape = {data.shape}: images must be (channels, 32, 32); load them with size=32, or "
            "put channels first by np.moveaxis(x, -1, 1)"
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
                f"SingleSample.class_weights: class {specs.join_repr(empty)} is to be drawn, but data.y_train has no "
                "sample of it; give it the weight 0"
            )
