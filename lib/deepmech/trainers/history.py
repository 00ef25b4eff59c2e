"""What is measured of every member while it is trained, whatever engine trains it: one :class:`History` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from deepmech.metrics.separation import ClassMoments, data_separation
from deepmech.trainers.run import Array, Engine, Features, check_cancelled
from deepmech.trainers.samples import Samples
from deepmech.trainers.specs import Member

#: Metric -> name of its variable in the result.
METRICS = {"D": "load_curve", "D_hat": "load_curve_hat"}
SPLITS = ("train", "test")

#: What every variable is, as its ``long_name``.
LONG_NAMES = {
    "load_curve": "load curve D",
    "load_curve_hat": "load curve D̂",
    "accuracy": "accuracy",
    "class_mean": "mean feature of a class",
    "class_spread": "mean squared distance from a class's mean",
    "loss": "mean training loss",
    "state": "how training ended",
    "epochs_run": "epochs that were run",
}


def run_epochs(engine: Engine, histories: Sequence[History]) -> None:
    """Train the members of ``engine`` to the end, each with its history; all have the same number of epochs at most."""
    measures = [partial(engine.features, member=i) for i in range(len(histories))]
    for history, features in zip(histories, measures, strict=True):
        history.begin(features)
    for epoch in range(1, len(histories[0].loss) + 1):
        if all(history.over for history in histories):
            break
        check_cancelled()
        for history, features, loss in zip(histories, measures, engine.step(epoch), strict=True):
            # A member that has stopped is carried along, unrecorded, until its group ends.
            if not history.over:
                history.add(float(loss), features)


class History:
    """One member's results; see :func:`deepmech.trainers.train` for the meaning of each.

    ``epochs`` are those after which to measure; None measures once, at the end.
    """

    def __init__(
        self, member: Member, data: Samples, epochs: np.ndarray | None, metrics: Sequence[str], class_means: bool
    ):
        self.training, self.data, self.class_means = member.training, data, class_means
        self.splits = [split for split in SPLITS if getattr(data, f"x_{split}") is not None]
        self.wanted = np.array([int(member.training.epochs)] if epochs is None else epochs, dtype=int)
        self.loss = np.full(int(member.training.epochs), np.nan)
        self.state, self.epoch = "finished", 0
        self.metrics, self.names = metrics, list[str]()

    @property
    def over(self) -> bool:
        """Whether training has ended."""
        return self.state != "finished" or self.epoch == len(self.loss)

    def begin(self, features: Callable[[np.ndarray], Features]) -> None:
        """To be called before the first epoch."""
        n, (layers, _) = len(self.wanted), features(self.data.x_train[:2])
        self.names = list(layers) if isinstance(layers, Mapping) else []
        shape = n, len(self.splits)
        self.accuracy = np.full(shape, np.nan)
        self.curves: dict[Any, np.ndarray] = {name: np.full((*shape, len(layers)), np.nan) for name in self.metrics}
        self.spread = np.full((n, len(layers), self.data.n_classes), np.nan)
        self.mean = np.full((*self.spread.shape, 0), np.nan, np.float32)
        self._measure(self.wanted == 0, features)

    def add(self, loss: float, features: Callable[[np.ndarray], Features]) -> None:
        """One epoch was run, with mean loss ``loss``."""
        before = self.loss[self.epoch - 1] if self.epoch > 0 else np.inf
        self.epoch += 1
        if not np.isfinite(loss):
            self.state = "diverged"
            return
        self.loss[self.epoch - 1] = loss
        if loss < float(self.training.stop_loss) or abs(loss - before) < float(self.training.stop_change):
            self.state = "stopped"
        self._measure(self.wanted >= self.epoch if self.state == "stopped" else self.wanted == self.epoch, features)

    def _measure(self, places: np.ndarray, features: Callable[[np.ndarray], Features]) -> None:
        """Measure at ``places``; at the end of training in any case whether the network is finite still."""
        if not places.any() and not self.over:
            return
        for s, split in enumerate(self.splits):
            x, y = getattr(self.data, f"x_{split}"), getattr(self.data, f"y_{split}")
            measured, output = features(x)
            layers = list(measured.values()) if isinstance(measured, Mapping) else measured
            if not all(map(_finite, (*layers, output))):
                # The loss of an epoch is that before its updates: the last of them is seen here only.
                self.state = "diverged" if self.over else self.state
                for values in (self.accuracy, *self.curves.values(), self.mean, self.spread):
                    values[places] = np.nan
                return
            if not places.any():
                continue
            if self.data.n_classes:
                guess = output.argmax(1)
                self.accuracy[places, s] = np.mean((guess.cpu().numpy() if torch.is_tensor(guess) else guess) == y)
            for name, curve in self.curves.items():
                classes = self.data.n_classes
                curve[places, s] = [data_separation(f, y, metric=name, n_classes=classes) for f in layers]
            if self.class_means and split == "train":
                self._measure_classes(places, layers, y)

    def _measure_classes(self, places: np.ndarray, layers: Sequence[Array], y: np.ndarray) -> None:
        n_places, points, classes, units = self.mean.shape
        widest = max(f.shape[1] for f in layers)
        if units < widest:
            self.mean = np.full((n_places, points, classes, widest), np.nan, np.float32)
        for i, f in enumerate(layers):
            moments = ClassMoments(classes).update(f, y)
            assert moments.mean is not None
            self.mean[places, i, :, : f.shape[1]] = moments.mean.cpu().numpy()
            self.spread[places, i] = (moments.spread / moments.count).cpu().numpy()


def _finite(features: Any) -> bool:
    return bool(torch.isfinite(torch.as_tensor(features)).all())


def to_variables(
    histories: Sequence[History], epochs: np.ndarray | None
) -> tuple[dict[str, tuple[np.ndarray, tuple[str, ...]]], dict[str, Any]]:
    """All members' histories as variables, (values, axes after that of members), and coordinates; short ones padded."""
    at: tuple[str, ...] = () if epochs is None else ("at_epoch",)

    def stacked(values: list[np.ndarray]) -> np.ndarray:
        """Along a first axis of members; each padded to the largest in every axis."""
        shape = np.max([v.shape for v in values], axis=0)
        pads = [[(0, w - n) for n, w in zip(v.shape, shape, strict=True)] for v in values]
        return np.stack([np.pad(v, p, constant_values=np.nan) for v, p in zip(values, pads, strict=True)])

    def measured(values: list[np.ndarray], *axes: str) -> tuple[np.ndarray, tuple[str, ...]]:
        return (stacked(values)[:, 0] if epochs is None else stacked(values)), (*at, *axes)

    variables = {
        METRICS[name]: measured([r.curves[name] for r in histories], "split", "layer") for name in histories[0].curves
    }
    variables["accuracy"] = measured([r.accuracy for r in histories], "split")
    if histories[0].class_means:
        variables["class_mean"] = measured([r.mean for r in histories], "layer", "class", "unit")
        variables["class_spread"] = measured([r.spread for r in histories], "layer", "class")
    loss = stacked([r.loss for r in histories])
    variables["loss"] = loss, ("epoch",)
    variables["state"] = np.array([r.state for r in histories], dtype="<U8"), ()
    variables["epochs_run"] = np.array([r.epoch for r in histories]), ()
    points = max(r.spread.shape[1] for r in histories)
    coords: dict[str, Any] = {
        "split": histories[0].splits, "layer": np.arange(points), "epoch": np.arange(1, loss.shape[1] + 1),
    }  # fmt: skip
    longest = max((r.names for r in histories), key=len)
    if longest and all(r.names == longest[: len(r.names)] for r in histories):
        coords["layer_name"] = ("layer", longest)
    if histories[0].class_means:
        coords["class"] = np.arange(histories[0].data.n_classes)
    if epochs is not None:
        coords["at_epoch"] = epochs
    return variables, coords
