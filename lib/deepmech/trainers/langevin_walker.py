"""One network prepared, and followed as it walks: what :mod:`deepmech.trainers.langevin` does for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES, displacement_sums, motility
from deepmech.trainers.langevin_engines import ENGINES, evaluate, initial, layer_sizes, n_weights
from deepmech.trainers.langevin_specs import Dynamics, Preparation

TOO_FAR = 1e6
"""A network with a weight beyond this has diverged."""
ASLEEP = 1e-4
"""With weight decay, a network whose weights all lie below this only decays: its gradient is of their sixth power."""


@dataclass(frozen=True)
class Walker:
    """One member: plain numbers in its specs."""

    dynamics: Dynamics
    preparation: Preparation
    seed: int

    @property
    def start(self) -> tuple[Any, ...]:
        """What decides the prepared network: members that agree in it share it."""
        d = self.dynamics
        return d.width, d.hidden, d.regularisation, d.dtype, self.preparation.to_json(), self.seed


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


def prepare(
    walker: Walker, data: Any, engine: str = "blocked", experiment: str = "glass"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights after the preparation, flat; and the loss history: steps (33,) and data loss (33,)."""
    d, p = walker.dynamics, walker.preparation
    stream, sizes = Stream.of(experiment, walker.seed), sizes_of(walker, data)
    network = ENGINES[engine](sizes, data.x, data.y, d.dtype)
    network.set(float(p.gain) * initial(sizes, stream))
    n, batch, rate, decay = len(data.x), int(p.batch_size), float(p.learning_rate), float(d.regularisation)
    per_epoch = -(-n // batch)
    sgd, plain, slow = int(p.sgd_steps), int(p.descent_steps), int(p.slow_steps)
    total = sgd + plain + slow
    stops = np.round(np.linspace(0, total, 33)).astype(int)
    done, losses = 0, []
    for stop in stops:
        if decay > 0 and np.abs(network.w).max() < ASLEEP:
            # Nothing else happens any more, and products of such numbers take processors many times longer.
            shrink = (1 - rate * decay) ** (min(stop, sgd + plain) - min(done, sgd + plain))
            network.set(
                network.w
                * shrink
                * (1 - rate / 10 * decay) ** (max(stop - sgd - plain, 0) - max(done - sgd - plain, 0))
            )
            done = stop
        while done < stop:
            if done < sgd:
                begin = done % per_epoch
                end = min(per_epoch, begin + min(stop, sgd) - done)
                order = stream.permutation("order", done // per_epoch, n)
                network.descend(order, batch, rate, decay, begin, end)
                done += end - begin
            else:
                edge = sgd + plain if done < sgd + plain else total
                count = min(stop, edge) - done
                network.walk(count, done, rate if done < sgd + plain else rate / 10, decay, 0.0, stream)
                done += count
        losses.append(evaluate(network.w, sizes, data.x, data.y)[0])
    return network.w.astype(float), stops, np.array(losses)


def follow(
    walker: Walker, start: np.ndarray, data: Any, plan: Plan, engine: str, experiment: str
) -> dict[str, np.ndarray]:
    """Walk one member and record it; keys and shapes as in :func:`~deepmech.trainers.langevin.walk`."""
    d = walker.dynamics
    stream, sizes = Stream.of(experiment, walker.seed), sizes_of(walker, data)
    network = ENGINES[engine](sizes, data.x, data.y, d.dtype)
    network.set(start)
    n, layers = len(data.x), len(sizes) - 1
    layer = np.repeat(np.arange(layers), [a * b for a, b in zip(sizes[1:], sizes[:-1], strict=True)])
    frames, n_times = len(plan.waiting), len(plan.times)
    nan = np.nan
    out: dict[str, np.ndarray] = {
        "count": np.zeros((frames, layers, 2)), "within": np.full((frames, n_times, len(plan.chi), layers, 2), nan),
        "square": np.full((frames, n_times, layers, 2), nan), "fourth": np.full((frames, n_times, layers, 2), nan),
        "motility": np.zeros((frames, len(plan.motility), len(MOTILITY_EDGES) - 1), np.int32),
        "still": np.zeros((frames, len(plan.motility)), np.int32), "loss": np.full((frames, n_times), nan),
        "loss_waited": np.full(frames, nan), "sigma": np.array(nan), "noise": np.array(float(d.noise(n))),
        "n_weights": np.array(n_weights(sizes)), "diverged": np.array(False),
    }  # fmt: skip
    held: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    done, batch = 0, int(d.batch_size)
    for stop in plan.stops():
        if batch:
            done = _stochastic(network, stream, n, batch, float(d.learning_rate), float(d.regularisation), done, stop)
        else:
            network.walk(stop - done, done, float(d.learning_rate), float(d.regularisation), float(d.noise(n)), stream)
            done = stop
        now = network.w.astype(float)
        if not (np.isfinite(now).all() and np.abs(now).max() < TOO_FAR):
            out["diverged"] = np.array(True)
            break
        loss, _, active = evaluate(now, sizes, data.x, data.y)
        for f, waited in enumerate(plan.waiting):
            t = stop - waited
            if t == 0:
                group = 2 * layer + _alive(active, sizes)
                held[f] = now, group
                out["count"][f] = np.bincount(group, minlength=2 * layers).reshape(layers, 2)
                out["loss_waited"][f] = loss
                if np.isnan(out["sigma"]):
                    out["sigma"] = np.array(now.std())
                continue
            if f not in held:
                continue
            reference, group = held[f]
            k = int(np.searchsorted(plan.times, t))
            if k < n_times and plan.times[k] == t:
                # A network whose weights are all equal has no scale; no window then holds anything.
                windows = [max(float(out["sigma"]) / c, np.finfo(float).tiny) for c in plan.chi]
                sums = displacement_sums(now, reference, group, 2 * layers, windows)
                out["within"][f, k] = sums.within.T.reshape(len(plan.chi), layers, 2)
                out["square"][f, k], out["fourth"][f, k] = (a.reshape(layers, 2) for a in (sums.square, sums.fourth))
                out["loss"][f, k] = loss
            if t in plan.motility:
                m = plan.motility.index(t)
                out["motility"][f, m], out["still"][f, m] = motility(now, reference)
    return out


def _stochastic(
    network: Any, stream: Stream, n: int, batch: int, rate: float, decay: float, done: int, stop: int
) -> int:
    """Stochastic gradient steps ``done`` … ``stop`` - 1 of a walk over batches; epochs have their own orders."""
    per_epoch = -(-n // batch)
    while done < stop:
        begin = done % per_epoch
        end = min(per_epoch, begin + stop - done)
        order = stream.permutation("walk order", done // per_epoch, n)
        network.descend(order, batch, rate, decay, begin, end)
        done += end - begin
    return done


def _alive(active: list[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """1 for weights between two units that are not silent on all data, flat; inputs and the output never are."""
    lit = [np.ones(sizes[0], bool), *active, np.ones(1, bool)]
    return np.concatenate([np.outer(b, a).ravel() for a, b in pairwise(lit)]).astype(int)


def sizes_of(walker: Walker, data: Any) -> tuple[int, ...]:
    """Units of every layer of a member's network on these data."""
    return layer_sizes(data.x.shape[1], int(walker.dynamics.width), int(walker.dynamics.hidden))
