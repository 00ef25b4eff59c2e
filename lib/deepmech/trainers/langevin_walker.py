"""Groups of networks prepared, and followed as they walk; :mod:`deepmech.trainers.langevin` makes the groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, SingleWalkAdapter, initial, layer_sizes
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.records import Log, Plan
from deepmech.trainers.specs import Dynamics, Preparation

ENDS = ("finished", "diverged")
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

    @property
    def shape(self) -> tuple[Any, ...]:
        """What walkers of one group have in common."""
        d, p = self.dynamics, self.preparation
        return d.width, d.hidden, d.dtype, d.batch_size, p.batch_size, p.sgd_steps, p.descent_steps, p.slow_steps


@dataclass(frozen=True)
class Prepared:
    """A network at the end of its preparation, and its way there.

    Its flat ``weights`` in float64; the data ``losses`` after so many ``steps``, (33,), from the start to the end; the
    ``error``, a share of the samples; and the ``state``: all as :func:`deepmech.trainers.langevin.settle` returns them.
    """

    weights: np.ndarray
    steps: np.ndarray
    losses: np.ndarray
    error: float
    state: str


def prepare(walker: Walker, data: Any, engine: str = "compiled", experiment: str = "glass") -> Prepared:
    """One network at the end of its preparation."""
    return prepare_all([walker], data, engine, experiment)[0]


def prepare_all(
    walkers: Sequence[Walker], data: Any, engine: str, experiment: str, device: str = "cpu"
) -> list[Prepared]:
    """Prepare walkers of one shape side by side."""
    network, streams, sizes = _group(walkers, data, engine, experiment, device)
    gains = [float(w.preparation.gain) for w in walkers]
    network.set(np.stack([gain * initial(sizes, stream) for gain, stream in zip(gains, streams, strict=True)]))
    p, n = walkers[0].preparation, len(data.x)
    rate = np.array([float(w.preparation.learning_rate) for w in walkers])
    decay = np.array([float(w.dynamics.regularisation) for w in walkers])
    still = np.zeros(len(walkers))
    sgd, fast = int(p.sgd_steps), int(p.sgd_steps) + int(p.descent_steps)
    total = fast + int(p.slow_steps)
    stops = np.round(np.linspace(0, total, 33)).astype(int)
    done, errors, lost = 0, still, np.zeros(len(walkers), bool)
    losses = np.full((len(walkers), len(stops)), np.nan)
    for k, stop in enumerate(stops):
        before, begun = done, network.w
        asleep = (decay > 0) & (np.abs(begun).max(1) < ASLEEP)
        while done < stop and not asleep.all():
            if done < sgd:
                done = _stochastic(network, streams, "order", n, int(p.batch_size), rate, decay, done, min(stop, sgd))
            else:
                end = min(stop, fast if done < fast else total)
                network.walk(end - done, done, rate if done < fast else rate / 10, decay, still, streams)
                done = end
        if asleep.any():
            # Nothing else happens any more, and products of such numbers take processors many times longer.
            shrink = (1 - rate * decay) ** (min(stop, fast) - min(before, fast))
            slowly = (1 - rate / 10 * decay) ** (max(stop - fast, 0) - max(before - fast, 0))
            network.set(np.where(asleep[:, None], begun * shrink[:, None] * slowly[:, None], network.w))
        done = stop
        loss, errors, _ = _evaluated(network, lost)
        losses[:, k] = np.where(lost, np.nan, loss)
        if lost.all():
            break
    ends = np.where(lost[:, None], np.nan, network.w)
    return [
        Prepared(weights, stops, history, np.nan if gone else float(error), ENDS[int(gone)])
        for weights, history, error, gone in zip(ends, losses, errors, lost, strict=True)
    ]


def follow_all(
    walkers: Sequence[Walker],
    starts: Sequence[np.ndarray],
    data: Any,
    plan: Plan,
    engine: str,
    experiment: str,
    device: str = "cpu",
) -> list[dict[str, np.ndarray]]:
    """Walk walkers of one shape side by side; their records, see :class:`~deepmech.trainers.records.Log`."""
    network, streams, sizes = _group(walkers, data, engine, experiment, device)
    network.set(np.stack(starts))
    n = len(data.x)
    rate = np.array([float(w.dynamics.learning_rate) for w in walkers])
    decay = np.array([float(w.dynamics.regularisation) for w in walkers])
    noise = np.array([float(w.dynamics.noise(n)) for w in walkers])
    batch, done = int(walkers[0].dynamics.batch_size), 0
    logs = [Log(sizes, plan, float(size)) for size in noise]
    lost = np.zeros(len(walkers), bool)
    for stop in plan.stops():
        if batch:
            _stochastic(network, streams, "walk order", n, batch, rate, decay, done, stop)
        else:
            network.walk(stop - done, done, rate, decay, noise, streams)
        done = stop
        losses, _, active = _evaluated(network, lost)
        if lost.all():
            break
        now = network.w
        for i in np.flatnonzero(~lost):
            logs[i].add(stop, now[i], float(losses[i]), [layer[i] for layer in active])
    for log, gone in zip(logs, lost, strict=True):
        log.out["state"] = np.array(ENDS[int(gone)])
    return [log.out for log in logs]


def _evaluated(
    network: SingleWalkAdapter | TorchWalk, lost: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """``network.evaluate()``; marks in ``lost`` which networks have diverged, and puts those at the origin.

    They are not carried on: beyond what numbers can hold, processors take many times longer.
    """
    now = network.w
    lost |= ~(np.isfinite(now).all(1) & (np.abs(now).max(1) < TOO_FAR))
    if lost.any():
        network.set(np.where(lost[:, None], 0.0, now))
    found = network.evaluate()
    lost |= ~np.isfinite(found[0])
    return found


def sizes_of(walker: Walker, data: Any) -> tuple[int, ...]:
    """Units of every layer of a member's network on these data."""
    return layer_sizes(data.x.shape[1], int(walker.dynamics.width), int(walker.dynamics.hidden))


def _group(
    walkers: Sequence[Walker], data: Any, engine: str, experiment: str, device: str
) -> tuple[SingleWalkAdapter | TorchWalk, list[Stream], tuple[int, ...]]:
    """The networks of walkers of one shape, their random streams, and their sizes."""
    sizes, dtype = sizes_of(walkers[0], data), walkers[0].dynamics.dtype
    streams = [Stream.of(experiment, w.seed) for w in walkers]
    if engine == "torch":
        return TorchWalk(sizes, data.x, data.y, dtype, len(walkers), device), streams, sizes
    return SingleWalkAdapter(CompiledWalk(sizes, data.x, data.y, dtype), data.x, data.y), streams, sizes


def _stochastic(
    network: SingleWalkAdapter | TorchWalk,
    streams: Sequence[Stream],
    purpose: str,
    n: int,
    batch: int,
    rate: np.ndarray,
    decay: np.ndarray,
    done: int,
    stop: int,
) -> int:
    """Stochastic gradient steps ``done`` … ``stop`` - 1 over batches; every epoch has its own order. Returns stop."""
    per_epoch = -(-n // batch)
    while done < stop:
        begin = done % per_epoch
        end = min(per_epoch, begin + stop - done)
        drawn = {s.key: s.permutation(purpose, done // per_epoch, n) for s in streams}
        network.descend([drawn[s.key] for s in streams], batch, rate, decay, begin, end)
        done += end - begin
    return done
