"""Prepare networks, let them walk, and record how far their weights have moved, many at once and without trajectories.

A member is compared with a few reference frames (its own weights after each waiting time) as it goes; what is kept are
sums over groups of weights, so a run of any length takes the same memory.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance
from deepmech.core.labels import Batch, Number, align
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES, displacement_sums, motility
from deepmech.trainers.langevin_engines import ENGINES, evaluate, initial, layer_sizes, n_weights
from deepmech.trainers.langevin_specs import Dynamics, Preparation, labels_of, numbers, require_free, with_numbers

TOO_FAR = 1e6
"""A network with a weight beyond this has diverged."""
ASLEEP = 1e-4
"""With weight decay, a network whose weights all lie below this only decays: its gradient is of their sixth power."""


class Unresolved(UserWarning):
    """The noise of a step is smaller than the resolution of the weights it is added to."""


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


def log_times(last: int, per_decade: int = 10, first: int = 1) -> np.ndarray:
    """Whole numbers from ``first`` to ``last``, about evenly spaced in the logarithm.

    Examples
    --------
    >>> log_times(100, 3).tolist()
    [1, 2, 5, 10, 22, 46, 100]
    """
    n = max(2, round(np.log10(last / first) * per_decade) + 1)
    return np.unique(np.round(np.geomspace(first, last, n)).astype(np.int64))


def settle(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "blocked",
    threads: int | None = None,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member and measure where it came to rest (Fig. 1).

    Returns
    -------
    xarray.Dataset
        With the labels of all fields: ``loss`` (with regularisation), ``data_loss``, ``error`` (fraction of training
        samples on the wrong side), ``norm`` (root mean square weight), ``n_weights``; and ``loss_history`` over
        ``record`` with ``steps`` (…, record), at most 33 records from the start of the preparation to its end.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> stream = Stream.of("example", 0)
    >>> x = stream.normal("x", 0, (64, 4))
    >>> data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    >>> float(settle(Dynamics(width=4, hidden=1), Preparation(sgd_steps=2000, learning_rate=0.1), data).error) < 0.2
    True
    """
    started = time.perf_counter()
    batch, walkers = _members(dynamics, preparation, seed, ("record",))

    def fit(walker: Walker) -> dict[str, Any]:
        made, steps, losses = prepare(walker, data, engine, experiment)
        loss, error, _ = evaluate(made, _sizes(walker, data), data.x, data.y)
        half = 0.5 * walker.dynamics.regularisation * float((made**2).sum())
        return {
            "loss": loss + half, "data_loss": loss, "error": error, "norm": float(np.sqrt((made**2).mean())),
            "n_weights": len(made), "loss_history": losses, "steps": steps,
        }  # fmt: skip

    rows = _in_threads(fit, walkers, threads)
    extra = {"loss_history": ("record",), "steps": ("record",)}
    result = xr.Dataset(
        {k: batch.unflatten(np.array([row[k] for row in rows]), *extra.get(k, ())) for k in rows[0]}, batch.coords
    )
    return result.assign_attrs(_attributes(dynamics, preparation, data, seed, engine, experiment, started))


def walk(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    steps: int,
    seed: Number | int = 0,
    waiting: Sequence[int] = (0,),
    times: Sequence[int] | None = None,
    chi: Sequence[float] = (300.0,),
    motility_times: Sequence[int] = (),
    engine: str = "blocked",
    threads: int | None = None,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member, let it walk, and compare it with its own weights after each waiting time.

    A member's result depends on its own parameters, its seed and ``experiment`` alone, to the bit.

    Parameters
    ----------
    dynamics, preparation : specs; every number in them may be a labelled array (:func:`deepmech.over`).
    data : ``x`` (P_D, d), ``y`` (P_D,) of ±1, and ``fingerprint``.
    steps : length of the walk, waiting included.
    waiting : waiting times t_w: steps from the start of the walk to each reference frame.
    times : times t after each t_w at which to record; None takes ten per decade. Records beyond ``steps`` are nan.
    chi : the overlap's windows are ε = σ/χ (Eq. B1); σ is the standard deviation of the member's weights at its first
        reference frame, and serves all frames.
    motility_times : times t at which to keep histograms of log₁₀ |Δw| (:data:`~deepmech.metrics.glass.MOTILITY_EDGES`).

    Returns
    -------
    xarray.Dataset
        With the labels of all fields, ``waiting``, ``time``, ``layer`` and ``alive`` (0: weights into or out of a unit
        that is silent on all data at t_w; 1: the others):

        - ``count`` (…, waiting, layer, alive): weights in each group; ``within`` (…, waiting, time, chi, layer, alive):
          those that moved less than σ/χ; ``square`` and ``fourth`` (…, waiting, time, layer, alive): sums of Δw², Δw⁴.
          :func:`deepmech.metrics.glass` makes the overlap, the mean square and α₂ from these;
        - ``motility`` (…, waiting, motility_time, bin) and ``still`` (…): counts, and weights that did not move;
        - ``loss`` (…, waiting, time) and ``loss_waited`` (…, waiting): mean loss over the data, without regularisation;
        - ``sigma`` (…), ``noise`` (…) per step, ``n_weights`` (…), and ``diverged`` (…): not finite, or beyond 1e6.

    Warns
    -----
    Unresolved
        Naming members and temperatures whose noise per step is below half the spacing of their weights' numbers.

    Raises
    ------
    ValueError
        If times, labels or names do not fit.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from deepmech import over
    >>> stream = Stream.of("example", 0)
    >>> x = stream.normal("x", 0, (64, 4))
    >>> data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    >>> hot = Dynamics(width=4, hidden=2, temperature=over("temperature", [0.1, 1.0]))
    >>> made = walk(hot, Preparation(sgd_steps=100), data, steps=100, seed=over("seed", [0, 1]))
    >>> made.within.dims
    ('temperature', 'seed', 'waiting', 'time', 'chi', 'layer', 'alive')
    """
    started = time.perf_counter()
    own = ("waiting", "time", "chi", "layer", "alive", "motility_time", "bin")
    batch, walkers = _members(dynamics, preparation, seed, own)
    if steps < 1 or not waiting or min(waiting) < 0 or max(waiting) >= steps:
        raise ValueError(f"walk: steps = {steps}, waiting = {list(waiting)}: need 0 <= waiting < steps")
    at = np.asarray(log_times(steps - min(waiting)) if times is None else times, np.int64)
    if len(at) == 0 or at[0] < 1 or not (np.diff(at) > 0).all():
        raise ValueError(f"walk: times = {at.tolist()}: must be increasing and at least 1")
    if len({(w.dynamics.hidden) for w in walkers}) > 1:
        raise ValueError("walk: Dynamics.hidden differs among members, so their layers do not match; run them apart")
    plan = _Plan(steps, tuple(waiting), at, tuple(chi), tuple(motility_times))

    # Members that differ in their walk alone share their preparation.
    firsts = {json.dumps(w.start): w for w in walkers}
    prepared = dict(
        zip(
            firsts,
            _in_threads(lambda w: prepare(w, data, engine, experiment)[0], list(firsts.values()), threads),
            strict=True,
        )
    )
    _warn_unresolved(walkers, prepared, len(data.x))
    rows = _in_threads(
        lambda w: _follow(w, prepared[json.dumps(w.start)], data, plan, engine, experiment), walkers, threads
    )
    dims = {
        "count": ("waiting", "layer", "alive"), "within": ("waiting", "time", "chi", "layer", "alive"),
        "square": ("waiting", "time", "layer", "alive"), "fourth": ("waiting", "time", "layer", "alive"),
        "motility": ("waiting", "motility_time", "bin"), "still": ("waiting", "motility_time"),
        "loss": ("waiting", "time"), "loss_waited": ("waiting",),
    }  # fmt: skip
    result = xr.Dataset(
        {k: batch.unflatten(np.array([row[k] for row in rows]), *dims.get(k, ())) for k in rows[0]},
        {
            **batch.coords, "waiting": list(waiting), "time": at, "chi": list(chi), "alive": [0, 1],
            "layer": np.arange(1, int(walkers[0].dynamics.hidden) + 2), "motility_time": list(motility_times),
            "bin": np.round((MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1]) / 2, 3),
        },
    )  # fmt: skip
    return result.assign_attrs(_attributes(dynamics, preparation, data, seed, engine, experiment, started))


@dataclass(frozen=True)
class _Plan:
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
    stream, sizes = Stream.of(experiment, walker.seed), _sizes(walker, data)
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


def _follow(
    walker: Walker, start: np.ndarray, data: Any, plan: _Plan, engine: str, experiment: str
) -> dict[str, np.ndarray]:
    """Walk one member and record it; keys and shapes as in :func:`walk`."""
    d = walker.dynamics
    stream, sizes = Stream.of(experiment, walker.seed), _sizes(walker, data)
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


def _sizes(walker: Walker, data: Any) -> tuple[int, ...]:
    return layer_sizes(data.x.shape[1], int(walker.dynamics.width), int(walker.dynamics.hidden))


def _members(
    dynamics: Dynamics, preparation: Preparation, seed: Any, own: tuple[str, ...]
) -> tuple[Batch, list[Walker]]:
    fields = {**numbers(dynamics), **numbers(preparation, "prepare_"), "seed": labels_of(seed)}
    batch = align("walk", **fields)
    require_free(batch.dims, own)
    return batch, [
        Walker(with_numbers(dynamics, row), with_numbers(preparation, row, "prepare_"), int(row["seed"]))
        for row in batch.members()
    ]


def _warn_unresolved(walkers: list[Walker], prepared: dict[str, np.ndarray], n_data: int) -> None:
    lost = []
    for i, walker in enumerate(walkers):
        d = walker.dynamics
        weights = np.abs(prepared[json.dumps(walker.start)]).astype("float32" if d.dtype == "float32" else "float64")
        noise = float(d.noise(n_data))
        if 0 < noise < 0.5 * float(np.spacing(np.median(weights))):
            lost.append((i, float(d.temperature), noise))
    if lost:
        words = ", ".join(f"member {i} (temperature {t:g}, noise {s:.2g})" for i, t, s in lost[:5])
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        warnings.warn(
            f"noise per step below half the spacing of a typical weight: {words}{more}. Most of it is rounded away; "
            "use dtype='mixed' or 'float64'",
            Unresolved,
            stacklevel=3,
        )


def _in_threads(fit: Callable[[Walker], Any], walkers: list[Walker], threads: int | None) -> list[Any]:
    if threads is not None and threads < 1:
        raise ValueError(f"walk: threads = {threads}: must be at least 1, or None for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(threads or cores) as pool:
        return list(pool.map(fit, walkers))


def _attributes(
    dynamics: Dynamics, preparation: Preparation, data: Any, seed: Any, engine: str, experiment: str, started: float
) -> dict[str, Any]:
    spec = json.dumps({"dynamics": dynamics.to_json(), "preparation": preparation.to_json()})
    seeds = json.dumps(seed.values.tolist()) if isinstance(seed, xr.DataArray) else int(seed)
    made = provenance.attributes(
        spec=spec, seed=seeds, dtype=dynamics.dtype, wall_seconds=time.perf_counter() - started
    )
    return made | {"engine": engine, "experiment": experiment, "data": str(data.fingerprint)}
