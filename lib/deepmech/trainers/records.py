"""What is recorded of one member while an engine trains it or it walks, and the variables made of all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from deepmech.metrics.glass import MOTILITY_EDGES, displacement_sums, motility
from deepmech.metrics.moments import ClassMoments
from deepmech.metrics.separation import data_separation
from deepmech.trainers.specs import Member

#: Metric -> name of its variable in the result.
METRICS = {"D": "load_curve", "D_hat": "load_curve_hat"}
SPLITS = ("train", "test")

#: What every variable is, as its ``long_name``.
WORDS = {
    "load_curve": "load curve D",
    "load_curve_hat": "load curve D̂",
    "accuracy": "accuracy",
    "class_mean": "mean feature of a class",
    "class_spread": "mean squared distance from a class's mean",
    "loss": "mean training loss",
    "state": "how training ended",
    "epochs_run": "epochs that were run",
}

#: Evaluation mode: features of the input and of every hidden layer, each (n, units), in a user's own network by the
#: layer's name, and the output, (n, outputs).
Features = Callable[[np.ndarray], tuple[Any, Any]]


class Record:
    """One member's results; see :func:`deepmech.trainers.train` for the meaning of each.

    ``epochs`` are those after which to measure; None measures once, at the end.
    """

    def __init__(self, member: Member, data: Any, epochs: np.ndarray | None, metrics: Sequence[str], class_means: bool):
        self.training, self.data, self.class_means = member.training, data, class_means
        self.wanted = np.array([int(member.training.epochs)] if epochs is None else epochs, dtype=int)
        self.loss = np.full(int(member.training.epochs), np.nan)
        self.state, self.epoch = "finished", 0
        self.metrics, self.names = metrics, list[str]()

    @property
    def over(self) -> bool:
        """Whether training has ended."""
        return self.state != "finished" or self.epoch == len(self.loss)

    def begin(self, features: Features) -> None:
        """To be called before the first epoch."""
        n, (layers, _) = len(self.wanted), features(self.data.x_train[:2])
        self.names = list(layers) if isinstance(layers, dict) else []
        self.accuracy = np.full((n, 2), np.nan)
        self.curves: dict[Any, np.ndarray] = {name: np.full((n, 2, len(layers)), np.nan) for name in self.metrics}
        self.spread = np.full((n, len(layers), self.data.n_classes), np.nan)
        self.mean = np.full((*self.spread.shape, 0), np.nan, np.float32)
        self._measure(self.wanted == 0, features)

    def add(self, loss: float, features: Features) -> None:
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

    def _measure(self, places: np.ndarray, features: Features) -> None:
        """Measure at ``places``; at the end of training in any case whether the network is finite still."""
        if not places.any() and not self.over:
            return
        for s, split in enumerate(SPLITS):
            x, y = getattr(self.data, f"x_{split}"), getattr(self.data, f"y_{split}")
            layers, output = features(x)
            layers = list(layers.values()) if isinstance(layers, dict) else layers
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

    def _measure_classes(self, places: np.ndarray, layers: Sequence[Any], y: np.ndarray) -> None:
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


def recorded(
    records: Sequence[Record], epochs: np.ndarray | None
) -> tuple[dict[str, tuple[np.ndarray, tuple[str, ...]]], dict[str, Any]]:
    """All members' records as variables, (values, axes after that of members), and coordinates; short ones padded."""
    at: tuple[str, ...] = () if epochs is None else ("at_epoch",)

    def stacked(values: list[np.ndarray]) -> np.ndarray:
        """Along a first axis of members; each padded to the largest in every axis."""
        shape = np.max([v.shape for v in values], axis=0)
        pads = [[(0, w - n) for n, w in zip(v.shape, shape, strict=True)] for v in values]
        return np.stack([np.pad(v, p, constant_values=np.nan) for v, p in zip(values, pads, strict=True)])

    def measured(values: list[np.ndarray], *axes: str) -> tuple[np.ndarray, tuple[str, ...]]:
        return (stacked(values)[:, 0] if epochs is None else stacked(values)), (*at, *axes)

    variables = {
        METRICS[name]: measured([r.curves[name] for r in records], "split", "layer") for name in records[0].curves
    }
    variables["accuracy"] = measured([r.accuracy for r in records], "split")
    if records[0].class_means:
        variables["class_mean"] = measured([r.mean for r in records], "layer", "class", "unit")
        variables["class_spread"] = measured([r.spread for r in records], "layer", "class")
    loss = stacked([r.loss for r in records])
    variables["loss"] = loss, ("epoch",)
    variables["state"] = np.array([r.state for r in records], dtype="<U8"), ()
    variables["epochs_run"] = np.array([r.epoch for r in records]), ()
    points = max(r.spread.shape[1] for r in records)
    coords: dict[str, Any] = {
        "split": list(SPLITS), "layer": np.arange(points), "epoch": np.arange(1, loss.shape[1] + 1),
    }  # fmt: skip
    longest = max((r.names for r in records), key=len)
    if longest and all(r.names == longest[: len(r.names)] for r in records):
        coords["layer_name"] = ("layer", longest)
    if records[0].class_means:
        coords["class"] = np.arange(records[0].data.n_classes)
    if epochs is not None:
        coords["at_epoch"] = epochs
    return variables, coords


@dataclass(frozen=True)
class Plan:
    """When to do what during a walk."""

    steps: int
    waiting: tuple[int, ...]
    times: np.ndarray
    chi: tuple[float, ...]
    motility: tuple[int, ...]

    def stops(self) -> list[int]:
        """Every step at which something is recorded, and the last one."""
        wanted = {w + int(t) for w in self.waiting for t in (0, *self.times, *self.motility)} | {self.steps}
        return sorted(t for t in wanted if t <= self.steps)


class Log:
    """The record of one network's walk: sums over groups of weights, compared with themselves after each waiting time.

    It is in ``out``: keys and shapes as in :func:`~deepmech.trainers.langevin.walk`."""

    def __init__(self, sizes: Sequence[int], plan: Plan, noise: float):
        self.sizes, self.plan = sizes, plan
        self.layers = len(sizes) - 1
        self.layer = np.repeat(np.arange(self.layers), [a * b for a, b in zip(sizes[1:], sizes[:-1], strict=True)])
        frames, n_times, layers, nan = len(plan.waiting), len(plan.times), self.layers, np.nan
        self.out: dict[str, np.ndarray] = {
            "count": np.zeros((frames, layers, 2)), "within": np.full((frames, n_times, len(plan.chi), layers, 2), nan),
            "square": np.full((frames, n_times, layers, 2), nan), "fourth": np.full((frames, n_times, layers, 2), nan),
            "motility": np.zeros((frames, len(plan.motility), len(MOTILITY_EDGES) - 1), np.int32),
            "still": np.zeros((frames, len(plan.motility)), np.int32), "loss": np.full((frames, n_times), nan),
            "loss_waited": np.full(frames, nan), "sigma": np.array(nan), "noise": np.array(noise),
            "n_weights": np.array(len(self.layer)), "state": np.array("finished"),
        }  # fmt: skip
        self.held: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def add(self, step: int, now: np.ndarray, loss: float, active: Sequence[np.ndarray]) -> None:
        """The network after ``step`` steps: flat weights, loss, and which units of each hidden layer are not silent."""
        out, plan = self.out, self.plan
        for f, waited in enumerate(plan.waiting):
            t = step - waited
            if t == 0:
                group = 2 * self.layer + self._alive(active)
                self.held[f] = now, group
                out["count"][f] = np.bincount(group, minlength=2 * self.layers).reshape(self.layers, 2)
                out["loss_waited"][f] = loss
                if np.isnan(out["sigma"]):
                    out["sigma"] = np.array(now.std())
                continue
            if f not in self.held:
                continue
            reference, group = self.held[f]
            k = int(np.searchsorted(plan.times, t))
            if k < len(plan.times) and plan.times[k] == t:
                # A network whose weights are all equal has no scale; no window then holds anything.
                windows = [max(float(out["sigma"]) / c, np.finfo(float).tiny) for c in plan.chi]
                sums = displacement_sums(now, reference, group, 2 * self.layers, windows)
                out["within"][f, k] = sums.within.T.reshape(len(plan.chi), self.layers, 2)
                for name, values in (("square", sums.square), ("fourth", sums.fourth)):
                    out[name][f, k] = values.reshape(self.layers, 2)
                out["loss"][f, k] = loss
            if t in plan.motility:
                m = plan.motility.index(t)
                out["motility"][f, m], out["still"][f, m] = motility(now, reference)

    def _alive(self, active: Sequence[np.ndarray]) -> np.ndarray:
        """1 for weights between two units that are not silent on all data, flat; inputs and the output never are."""
        lit = [np.ones(self.sizes[0], bool), *active, np.ones(1, bool)]
        return np.concatenate([np.outer(b, a).ravel() for a, b in pairwise(lit)]).astype(int)
