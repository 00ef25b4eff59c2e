"""Prepare networks, let them walk, and record how far their weights have moved, many at once and without trajectories.

A member is compared with a few reference frames (its own weights after each waiting time) as it goes; what is kept are
sums over groups of weights, so a run of any length takes the same memory.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance
from deepmech.core.labels import Batch, Number, align
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.trainers import checks
from deepmech.trainers.langevin_log import Plan
from deepmech.trainers.langevin_place import Place
from deepmech.trainers.langevin_specs import Dynamics, Preparation, numbers, with_numbers
from deepmech.trainers.langevin_walker import Prepared, Walker, follow_all, prepare_all


class Unresolved(UserWarning):
    """The noise of a step is smaller than the resolution of the weights it is added to."""


def log_times(last: int, per_decade: int = 10, first: int = 1) -> np.ndarray:
    """Whole numbers from ``first`` to ``last``, about evenly spaced in the logarithm.

    Raises a ValueError unless 1 ≤ first ≤ last and there is a positive number per decade.

    Examples
    --------
    >>> log_times(100, 3).tolist()
    [1, 2, 5, 10, 22, 46, 100]
    """
    first = checks.whole("log_times", "first", first, 1)
    last = checks.whole("log_times", "last", last, first)
    checks.whole("log_times", "per_decade", per_decade, 1)
    n = max(2, round(np.log10(last / first) * per_decade) + 1)
    return np.unique(np.round(np.geomspace(first, last, n)).astype(np.int64))


def settle(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    seed: Number | int = 0,
    engine: str = "auto",
    threads: int | None = None,
    device: str | None = None,
    memory: float | None = None,
    tf32: bool = False,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member and measure where it came to rest (Fig. 1).

    Parameters
    ----------
    dynamics, preparation, data, seed, engine, threads, device, memory, tf32, experiment : as for :func:`walk`.

    Returns
    -------
    xarray.Dataset
        With the labels of all fields: ``loss`` (with regularisation), ``data_loss``, ``error`` (fraction of training
        samples on the wrong side), ``norm`` (root mean square weight), ``n_weights``; ``loss_history`` over ``record``
        with ``steps`` (…, record), at most 33 records from the start of the preparation to its end; and ``diverged``:
        not finite, or a weight beyond 1e6, at one of these records. All numbers are nan then, and the history is from
        there on.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from deepmech.core.random import Stream
    >>> stream = Stream.of("example", 0)
    >>> x = stream.normal("x", 0, (64, 4))
    >>> data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="example")
    >>> float(settle(Dynamics(width=4, hidden=1), Preparation(sgd_steps=2000, learning_rate=0.1), data).error) < 0.2
    True
    """
    started = time.perf_counter()
    data, place, batch, walkers = _members(
        "settle", dynamics, preparation, data, seed, experiment, ("record",), (engine, device, memory, threads, tf32)
    )
    rows = []
    for walker, made in zip(walkers, _prepared(walkers, data, place, experiment), strict=True):
        weights, loss = made.weights, float(made.losses[-1])
        half = 0.5 * walker.dynamics.regularisation * float((weights**2).sum())
        rows.append({
            "loss": loss + half, "data_loss": loss, "error": made.error, "norm": float(np.sqrt((weights**2).mean())),
            "n_weights": len(weights), "loss_history": made.losses, "steps": made.steps, "diverged": made.diverged,
        })  # fmt: skip
    extra = {"loss_history": ("record",), "steps": ("record",)}
    result = xr.Dataset(
        {k: batch.unflatten(np.array([row[k] for row in rows]), *extra.get(k, ())) for k in rows[0]}, batch.coords
    )
    return result.assign_attrs(_attributes(dynamics, preparation, data, seed, place, experiment, started))


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
    engine: str = "auto",
    threads: int | None = None,
    device: str | None = None,
    memory: float | None = None,
    tf32: bool = False,
    experiment: str = "glass",
) -> xr.Dataset:
    """Prepare every member, let it walk, and compare it with its own weights after each waiting time.

    A member's result depends on its own parameters, its seed and ``experiment`` alone, to the bit (with the
    torch engine: to rounding).

    Parameters
    ----------
    dynamics, preparation : specs; every number in them may be a labelled array (:func:`deepmech.over`).
    data : ``x`` (P_D, d), ``y`` (P_D,) of ±1, both of them there, and ``fingerprint``. Arrays, lists or tensors.
    steps : length of the walk, waiting included.
    waiting : waiting times t_w: steps from the start of the walk to each reference frame.
    times : times t after each t_w at which to record; None takes ten per decade. Records beyond ``steps`` are nan.
    chi : the overlap's windows are ε = σ/χ (Eq. B1); σ is the standard deviation of the member's weights at its first
        reference frame, and serves all frames.
    motility_times : times t at which to keep histograms of log₁₀ |Δw| (:data:`~deepmech.metrics.glass.MOTILITY_EDGES`).
    engine : ``"compiled"`` (one network on each core, fast), ``"torch"`` (many networks at once, on any device), or
        ``"auto"``: torch on a GPU, else compiled. They agree to rounding.
    threads : networks at a time on a CPU; None uses every core available. Not for ``"torch"``.
    device, memory, tf32 : as for :func:`deepmech.trainers.train`; TF32 concerns gradients, weights keep their type.

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
        - ``sigma`` (…), ``noise`` (…) per step, ``n_weights`` (…), and ``diverged`` (…): not finite, or a weight beyond
          1e6, in the preparation or the walk. From there on numbers are nan, and counts (``count``, ``motility``,
          ``still``) zero: nothing was counted.

    Warns
    -----
    Unresolved
        Naming members and temperatures whose noise per step is below half the spacing of their weights' numbers.

    Raises
    ------
    ValueError
        If times, labels or names do not fit, or the data are not fit to be trained on
        (:func:`deepmech.trainers.checks.samples`).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from deepmech import over
    >>> from deepmech.core.random import Stream
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
    data, place, batch, walkers = _members(
        "walk", dynamics, preparation, data, seed, experiment, own, (engine, device, memory, threads, tf32)
    )
    steps = checks.whole("walk", "steps", steps, 1)
    waiting = checks.wholes("walk", "waiting", waiting, 0, (steps - 1, "steps - 1"), rising=False).tolist()
    at = (
        log_times(steps - min(waiting))
        if times is None
        else checks.wholes("walk", "times", times, 1, None, rising=True)
    )
    chi = _windows(chi)
    if np.size(motility_times):
        motility_times = checks.wholes("walk", "motility_times", motility_times, 1, None, rising=False).tolist()
    if len({(w.dynamics.hidden) for w in walkers}) > 1:
        raise ValueError("walk: Dynamics.hidden differs among members, so their layers do not match; run them apart")
    plan = Plan(steps, tuple(waiting), at, tuple(chi), tuple(motility_times))

    prepared = [made.weights for made in _prepared(walkers, data, place, experiment)]
    _warn_unresolved(walkers, prepared, len(data.x))

    def follow(group: list[int]) -> list[dict[str, np.ndarray]]:
        own, starts = [walkers[i] for i in group], [prepared[i] for i in group]
        return follow_all(own, starts, data, plan, place.engine, experiment, place.device)

    rows = place.run(follow, walkers, data)
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
    return result.assign_attrs(_attributes(dynamics, preparation, data, seed, place, experiment, started))


def _members(
    caller: str, dynamics: Dynamics, preparation: Preparation, data: Any, seed: Any, experiment: str,
    own: tuple[str, ...], where: tuple[Any, ...],
) -> tuple[Any, Place, Batch, list[Walker]]:  # fmt: skip
    """What walks on what and where, if everything fits."""
    checks.require_spec(caller, "dynamics", dynamics, Dynamics)
    checks.require_spec(caller, "preparation", preparation, Preparation)
    checks.require_name(caller, "experiment", experiment)
    checks.require_seed(caller, seed)
    place = Place.of(caller, *where, dynamics, preparation)
    data = checks.samples(caller, data, "float64" if dynamics.dtype == "float64" else "float32", signs=True)
    batch = align(caller, **numbers(dynamics), **numbers(preparation, "prepare_"), seed=seed)
    checks.require_free(caller, batch.dims, own)
    walkers = [
        Walker(with_numbers(dynamics, row), with_numbers(preparation, row, "prepare_"), int(row["seed"]))
        for row in batch.members()
    ]
    return data, place, batch, walkers


def _windows(chi: Any) -> tuple[float, ...]:
    values = np.asarray(chi) if isinstance(chi, Sequence | np.ndarray) else np.array(np.nan)
    numbers = values.ndim == 1 and values.dtype.kind in "iuf"
    if not (numbers and len(set(values.tolist())) == len(values) > 0 and np.all((values > 0) & (values < np.inf))):
        raise ValueError(f"walk: chi = {checks.shown(chi)}: must be a list of different numbers above 0, at least one")
    return tuple(values.tolist())


def _prepared(walkers: list[Walker], data: Any, place: Place, experiment: str) -> list[Prepared]:
    """Every member's prepared network; members that differ in their walk alone share it."""
    firsts = {json.dumps(w.start): w for w in walkers}
    starters = list(firsts.values())

    def fit(group: list[int]) -> list[Prepared]:
        return prepare_all([starters[i] for i in group], data, place.engine, experiment, place.device)

    made = dict(zip(firsts, place.run(fit, starters, data), strict=True))
    return [made[json.dumps(w.start)] for w in walkers]


def _warn_unresolved(walkers: list[Walker], prepared: list[np.ndarray], n_data: int) -> None:
    lost = []
    for i, (walker, start) in enumerate(zip(walkers, prepared, strict=True)):
        d = walker.dynamics
        weights = np.abs(start).astype("float32" if d.dtype == "float32" else "float64")
        noise = float(d.noise(n_data))
        if np.isfinite(start).all() and 0 < noise < 0.5 * float(np.spacing(np.median(weights))):
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


def _attributes(
    dynamics: Dynamics, preparation: Preparation, data: Any, seed: Any, place: Place, experiment: str, started: float
) -> dict[str, Any]:
    spec = json.dumps({"dynamics": dynamics.to_json(), "preparation": preparation.to_json()})
    seeds = json.dumps(seed.values.tolist()) if isinstance(seed, xr.DataArray) else int(seed)
    seconds = time.perf_counter() - started
    made = provenance.attributes(
        spec=spec, seed=seeds, device=place.in_words, dtype=dynamics.dtype, wall_seconds=seconds
    )
    return made | {
        "engine": place.engine,
        "experiment": experiment,
        "data": str(data.fingerprint),
        "tf32": "on" if place.tf32 else "off",
    }
