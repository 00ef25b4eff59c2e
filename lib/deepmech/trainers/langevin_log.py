"""What is kept of a walk: sums over groups of weights, compared with the same weights after each waiting time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepmech.metrics.glass import MOTILITY_EDGES, displacement_sums, motility
from deepmech.trainers.engines.compiled.langevin import n_weights


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
    """The record of one network, in ``out``: keys and shapes as in :func:`~deepmech.trainers.langevin.walk`."""

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
            "n_weights": np.array(n_weights(sizes)), "state": np.array("finished"),
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
