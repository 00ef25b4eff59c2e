"""LeNet at batch size one, many trials: what paper B's experiments are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn
from torch.nn import functional as F

from deepmech.core import checks
from deepmech.core.labels import Number
from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.lenet import Engine, padded
from deepmech.trainers.engines.torch_func import StackedModules
from deepmech.trainers.member import layer_weights
from deepmech.trainers.modules import LeNet, initialise, made
from deepmech.trainers.run import Call, go_on, moments, require_spec
from deepmech.trainers.samples import samples
from deepmech.trainers.specs import SingleSample

SIDE = 32
#: What every variable is, as its ``long_name``.
WORDS = {
    "logits": "logits of the sample trained on",
    "label": "label of the sample trained on",
    "true_class": "class of the sample trained on",
    "loss": "cross-entropy of the sample trained on",
    "validation_loss": "cross-entropy on validation samples",
    "validation_accuracy": "accuracy on validation samples",
    "state": "how training ended",
}


def train_lenet(
    training: SingleSample,
    data: Any,
    *,
    seed: Number | int = 0,
    record: Sequence[int] | int | None = None,
    engine: str = "auto",
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
    data : Data
        ``deepmech.data.Data`` of 32×32 images, or any object with ``x_train``, ``y_train``, ``x_test``, ``y_test``,
        ``n_classes``, ``shape`` and ``fingerprint``. Arrays, lists or torch tensors; labels are whole numbers 0 …
        n_classes - 1. Validation uses the test samples, with true labels.
    seed : int or DataArray
        An integer, or several as a labelled array: trials. Trials with the same seed share initial weights and the
        samples drawn, whatever their other parameters are.
    record : int or list of int, optional
        Numbers of steps after which to measure validation loss and accuracy, rising, from 0 to ``iterations``, or a
        whole number n: after every n-th step, from 0 to the last; None never does. One measurement costs about as much
        as 0.6 steps per validation sample. Logits and losses are recorded at every step.
    engine : str
        ``"compiled"``, ``"torch"`` (many trials at once, for comparison), or ``"auto"``: the first that knows what is
        asked. They agree to rounding.
    threads : int, optional
        Trials, or groups of them, at a time; None uses every core available. Both engines run on the CPU, also where
        ``DEEPMECH_DEVICE`` names a GPU.
    experiment : str
        As for :func:`deepmech.trainers.train`.

    Returns
    -------
    xarray.Dataset
        With the dimensions of all labelled fields, and

        - ``logits`` (…, iteration, logit): of the sample about to be trained on, before its step;
        - ``label``, ``true_class`` (…, iteration): its label (perhaps wrong) and its class, int8;
        - ``loss`` (…, iteration): its cross-entropy with that label, float32;
        - ``validation_loss``, ``validation_accuracy`` (…, at_iteration), if ``record`` is given;
        - ``state`` (…): ``"finished"`` or ``"diverged"``: a loss, a weight or a validation loss was not finite. Logits
          and losses are NaN from that iteration on, and so is what is measured later.

    Raises
    ------
    ValueError
        If labels clash, the data are not fit to be trained on (:func:`deepmech.trainers.samples.samples`) or are no
        images of 32×32, an engine does not know what is asked of it, or a name is unknown.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.data import load
    >>> log = train_lenet(SingleSample(iterations=5), load("geomnist", n_train=9), seed=over("trial", range(2)))
    >>> log["logits"].sizes
    Frozen({'trial': 2, 'iteration': 5, 'logit': 3})
    """
    require_spec("train_lenet: training", training, SingleSample)
    call = Call("train_lenet", engine=engine, seed=seed, experiment=experiment, threads=threads, on_gpu=False)
    engine, _ = call.choose()
    data = samples("train_lenet", data, training.dtype, image="LeNet")
    _check(training, data)
    steps = training.iterations
    at = np.zeros(0, np.int64)
    if record is not None:
        at = moments("train_lenet", record, steps, "SingleSample.iterations")
    rates = {"learning_rate": training.learning_rate, "label_error": training.label_error}
    batch = call.align(("iteration", "logit", "at_iteration"), **rates)
    dtype, k, n_channels = training.dtype, data.n_classes, data.shape[0]
    x, x_val = (padded(z, n_channels, dtype) if engine == "compiled" else z for z in (data.x_train, data.x_test))
    y, y_val = data.y_train, data.y_test
    spoilt = Stream.of(experiment, "labels", str(data.fingerprint))
    labels = {p: wrong_labels(y, k, p, spoilt) for p in set(batch.flat["label_error"].tolist())}
    members = batch.members()
    streams = [Stream.of(experiment, int(member["seed"])) for member in members]

    def fit(job: list[int]) -> list[tuple[np.ndarray, ...]]:
        own = [labels[members[i]["label_error"]] for i in job]
        rates = [members[i]["learning_rate"] for i in job]
        order = [drawn(streams[i], y, k, steps, training.class_weights) for i in job]
        if engine == "torch":
            many = OneByOne([network(streams[i], n_channels, k, dtype) for i in job], rates, dtype)
            found = many.run(x, np.stack(own), np.stack(order), (x_val, y_val), at)
        else:
            one = Engine(initial_weights(streams[job[0]], n_channels, k), rates[0], dtype)
            logits, loss, measured = one.run(x, own[0], order[0], (x_val, y_val), at)
            found = logits[None], loss[None], measured[None], np.array([one.answers(x, order[0][-1])])
        return [
            (*_until_lost(*numbers, at), label[which].astype(np.int8), y[which].astype(np.int8))
            for numbers, label, which in zip(zip(*found, strict=True), own, order, strict=True)
        ]

    alike = [None if engine == "compiled" else 0] * batch.n
    need = OneByOne.bytes_per_member(network(streams[0], n_channels, k, dtype), k, steps)
    rows = call.run(fit, call.jobs(alike, lambda i: need), "trials")
    logits, loss, measured, diverged, label, true = (np.stack(z) for z in zip(*rows, strict=True))
    step = ("iteration",)
    variables: dict[str, Any] = {
        "logits": (logits, ("iteration", "logit")), "label": (label, step), "true_class": (true, step),
        "loss": (loss, step), "state": (np.where(diverged, "diverged", "finished"), ()),
    }  # fmt: skip
    coords: dict[str, Any] = {"iteration": np.arange(steps), "logit": np.arange(k)}
    if len(at):
        variables["validation_loss"] = measured[..., 0], ("at_iteration",)
        variables["validation_accuracy"] = measured[..., 1], ("at_iteration",)
        coords["at_iteration"] = at
    return call.result(variables, coords, WORDS, data, dtype, [engine], training=training)


def _until_lost(
    logits: np.ndarray, loss: np.ndarray, measured: np.ndarray, finite: bool, at: np.ndarray
) -> tuple[np.ndarray, ...]:
    """One trial's numbers, nan from the first iteration that did not come out finite on; and whether it diverged."""
    with np.errstate(over="ignore"):
        loss = loss.astype(np.float32)
    lost = int(np.argmax(np.append(~np.isfinite(loss), True)))
    logits[lost:], loss[lost:], measured[at > lost] = np.nan, np.nan, np.nan
    measured[~np.isfinite(measured).all(1)] = np.nan
    return logits, loss, measured, np.array(lost < len(loss) or not finite or bool(np.isnan(measured).any()))


def network(stream: Stream, n_channels: int, n_classes: int, dtype: str) -> nn.Module:
    """The network of a trial with its initial weights."""
    module = made(LeNet, stream, n_channels=n_channels, n_outputs=n_classes).to(getattr(torch, dtype))
    initialise(module, stream)
    return module


def initial_weights(stream: Stream, n_channels: int, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight, bias) of every layer of a trial's network, float64."""
    shapes = [(6, n_channels, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (n_classes, 84)]
    return [layer_weights(stream, i, shape) for i, shape in enumerate(shapes, start=1)]


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


def _check(training: SingleSample, data: Any) -> None:
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


class OneByOne:
    """Gradient descent with one sample per step; ``modules`` are taken over, ``rates`` are their step sizes."""

    def __init__(self, modules: Sequence[nn.Module], rates: Sequence[float], dtype: str, device: str = "cpu"):
        self.together = StackedModules(modules, getattr(torch, dtype), device)
        self.rate = torch.tensor(rates, dtype=self.together.rows.dtype, device=device)[:, None]

    @staticmethod
    def bytes_per_member(module: nn.Module, n_classes: int, steps: int) -> int:
        """About what one member takes, in bytes: its parameters, maps and records."""
        return 8 * (6 * sum(p.numel() for p in module.parameters()) + 30_000 + (n_classes + 2) * steps)

    def run(
        self,
        x: np.ndarray,
        labels: np.ndarray,
        order: np.ndarray,
        validation: tuple[np.ndarray, np.ndarray],
        at: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Train on samples x (samples, numbers) with each member's labels (members, samples), in its order.

        Returns
        -------
        logits, losses : (members, steps, classes) and (members, steps), of the sample drawn, before its step.
        measured : (members, len(at), 2), loss and accuracy on ``validation``, before the steps in ``at``.
        finite : (members,), whether all parameters are at the end, and what the network says to its last sample.

        From the first loss or parameter of a member that is not finite on, its numbers are nan.
        """
        together, device = self.together, self.rate.device
        images, test = (torch.from_numpy(np.asarray(v)).to(device, self.rate.dtype) for v in (x, validation[0]))
        own, drawn, truth = (torch.from_numpy(np.asarray(v)).to(device) for v in (labels, order, validation[1]))
        finite = torch.ones(len(drawn), dtype=torch.bool, device=device)
        logits, losses = [], []
        measured = np.full((len(drawn), len(at), 2), np.nan)
        for m in range(drawn.shape[1] + 1):
            go_on()
            finite &= together.rows.isfinite().all(1)
            if m in at:
                measured[finite.cpu().numpy(), int(np.searchsorted(at, m))] = [
                    self._measure(i, test, truth) for i in finite.nonzero()[:, 0].tolist()
                ]
            if m == drawn.shape[1]:
                break
            sample = drawn[:, m, None]
            loss, gradient, output = together.gradient(F.cross_entropy, images[sample], own.gather(1, sample), (0, 0))
            logits.append(torch.where(finite[:, None], output[:, 0], torch.nan))
            losses.append(torch.where(finite, loss, torch.nan))
            finite &= loss.isfinite()
            together.rows -= self.rate * gradient
        with torch.no_grad():
            finite &= together.outputs(together.rows, images[drawn[:, -1:]], 0).isfinite().flatten(1).all(1)
        records = (torch.stack(values, 1).cpu().numpy() for values in (logits, losses))
        return *records, measured, finite.cpu().numpy()  # type: ignore[return-value]

    @torch.no_grad()
    def _measure(self, i: int, x: torch.Tensor, truth: torch.Tensor) -> tuple[float, float]:
        output = self.together.shown(i)(x)
        return F.cross_entropy(output, truth).item(), (output.argmax(1) == truth).double().mean().item()
