"""Prepare networks, let them walk, and record how far their weights have moved, many at once and without trajectories.

A member is compared with a few reference frames (its own weights after each waiting time) as it goes; what is kept are
sums over groups of weights, so a run of any length takes the same memory.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks
from deepmech.core.labels import Number
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.trainers.engines.compiled.langevin import CompiledWalk
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.langevin_walker import Prepared, Walker, follow_all, prepare_all, sizes_of
from deepmech.trainers.records import Plan
from deepmech.trainers.run import Call, moments
from deepmech.trainers.samples import samples
from deepmech.trainers.specs import Dynamics, Preparation, labelled, with_values

ENGINES: dict[str, Any] = {"compiled": CompiledWalk, "torch": TorchWalk}
#: What every variable is, as its ``long_name``.
WORDS = {
    "loss": "loss without weight decay",
    "data_loss": "loss without weight decay",
    "loss_waited": "loss at the start of a comparison",
    "loss_history": "loss during the preparation",
    "steps": "steps of the preparation",
    "error": "share of training samples on the wrong side",
    "norm": "root mean square weight",
    "n_weights": "number of weights",
    "state": "how the run ended",
    "count": "weights in a group",
    "within": "weights that moved less than a window",
    "square": "sum of squared displacements",
    "fourth": "sum of fourth powers of displacements",
    "motility": "weights that moved so far",
    "still": "weights that did not move",
    "sigma": "standard deviation of weights at the first comparison",
    "noise": "noise that a weight receives in a step",
}


class Unresolved(UserWarning):
    """The noise of a step is smaller than the resolution of the weights it is added to."""


_MOST_STEPS = 2**53
"""Every number of steps up to it is a float of its own; a core takes millions of years for them."""


def log_times(last: int, per_decade: int = 10, first: int = 1) -> np.ndarray:
    """Whole numbers from ``first`` to ``last``, about evenly spaced in the logarithm.

    Raises a ValueError unless 1 ≤ first ≤ last and there is a positive number per decade.

    Examples
    --------
    >>> log_times(100, 3).tolist()
    [1, 2, 5, 10, 22, 46, 100]
    """
    first = checks.whole("log_times: first", first)
    last = checks.whole("log_times: last", last, first)
    checks.whole("log_times: per_decade", per_decade)
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
        with ``steps`` (…, record), at most 33 records from the start of the preparation to its end; and ``state``,
        ``"finished"`` or ``"diverged"``: not finite, or a weight beyond 1e6, at one of these records. All numbers are
        nan then, and the history is from there on.

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
    call, data, walkers, engine = _members(
        "settle", dynamics, preparation, data, ("record",), seed=seed, engine=engine, threads=threads, device=device,
        memory=memory, tf32=tf32, experiment=experiment,
    )  # fmt: skip
    rows = []
    for walker, made in zip(walkers, _prepared(call, walkers, data, engine), strict=True):
        weights, loss = made.weights, float(made.losses[-1])
        half = 0.5 * walker.dynamics.regularisation * float((weights**2).sum())
        rows.append({
            "loss": loss + half, "data_loss": loss, "error": made.error, "norm": float(np.sqrt((weights**2).mean())),
            "n_weights": len(weights), "loss_history": made.losses, "steps": made.steps, "state": made.state,
        })  # fmt: skip
    axes: dict[str, tuple[str, ...]] = {"loss_history": ("record",), "steps": ("record",)}
    words = {**WORDS, "loss": "loss with weight decay"}
    return _result(call, rows, axes, {}, words, dynamics, preparation, data, engine)


def walk(
    dynamics: Dynamics,
    preparation: Preparation,
    data: Any,
    *,
    steps: int,
    seed: Number | int = 0,
    waiting: Sequence[int] = (0,),
    record: Sequence[int] | int | None = None,
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

    Parameters
    ----------
    dynamics, preparation : specs; every number in them may be a labelled array (:func:`deepmech.over`).
    data : ``x`` (P_D, d), ``y`` (P_D,) of ±1, both of them there, and ``fingerprint``. Arrays, lists or tensors.
    seed, experiment : as for :func:`deepmech.trainers.train`, whose promise of equal bits holds here as well.
    steps : length of the walk, waiting included.
    waiting : waiting times t_w: steps from the start of the walk to each reference frame.
    record : times t after each t_w at which to record, in steps, rising, at least 1; or a whole number n: every n-th.
        None takes ten per decade. What a frame does not reach before ``steps`` is nan.
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
        - ``sigma`` (…), ``noise`` (…) per step, ``n_weights`` (…), and ``state`` (…), ``"finished"`` or ``"diverged"``:
          not finite, or a weight beyond 1e6, in the preparation or the walk. From there on numbers are nan, and counts
          (``count``, ``motility``, ``still``) zero: nothing was counted.

    Warns
    -----
    Unresolved
        Naming members and temperatures whose noise per step is below half the spacing of their weights' numbers.

    Raises
    ------
    ValueError
        If times, labels or names do not fit, or the data are not fit to be trained on
        (:func:`deepmech.trainers.samples.samples`).

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
    own = ("waiting", "time", "chi", "layer", "alive", "motility_time", "bin")
    call, data, walkers, engine = _members(
        "walk", dynamics, preparation, data, own, seed=seed, engine=engine, threads=threads, device=device,
        memory=memory, tf32=tf32, experiment=experiment,
    )  # fmt: skip
    steps = checks.whole("walk: steps", steps, most=_MOST_STEPS)
    within = f"a list of different whole numbers between 0 and steps - 1 = {steps - 1}"
    waiting = checks.wholes("walk: waiting", waiting, 0, steps - 1, allowed=within).tolist()
    longest = steps - min(waiting)
    at = log_times(longest) if record is None else moments("walk", record, longest, "steps - min(waiting)", least=1)
    chi = _windows(chi)
    if np.size(motility_times):
        motility_times = checks.wholes("walk: motility_times", motility_times, 1).tolist()
    if len({(w.dynamics.hidden) for w in walkers}) > 1:
        raise ValueError("walk: Dynamics.hidden differs among members, so their layers do not match; run them apart")
    plan = Plan(steps, tuple(waiting), at, tuple(chi), tuple(motility_times))

    prepared = [made.weights for made in _prepared(call, walkers, data, engine)]
    _warn_unresolved(walkers, prepared, len(data.x))

    def follow(group: list[int]) -> list[dict[str, np.ndarray]]:
        own, starts = [walkers[i] for i in group], [prepared[i] for i in group]
        return follow_all(own, starts, data, plan, engine, experiment, call.device)

    rows = call.run(follow, _jobs(call, walkers, data, engine), "walks")
    axes = {
        "count": ("waiting", "layer", "alive"), "within": ("waiting", "time", "chi", "layer", "alive"),
        "square": ("waiting", "time", "layer", "alive"), "fourth": ("waiting", "time", "layer", "alive"),
        "motility": ("waiting", "motility_time", "bin"), "still": ("waiting", "motility_time"),
        "loss": ("waiting", "time"), "loss_waited": ("waiting",),
    }  # fmt: skip
    coords = {
        "waiting": list(waiting), "time": at, "chi": list(chi), "alive": [0, 1],
        "layer": np.arange(1, int(walkers[0].dynamics.hidden) + 2), "motility_time": list(motility_times),
        "bin": np.round((MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1]) / 2, 3),
    }  # fmt: skip
    return _result(call, rows, axes, coords, WORDS, dynamics, preparation, data, engine)


def _members(
    caller: str, dynamics: Dynamics, preparation: Preparation, data: Any, own: tuple[str, ...], **how: Any
) -> tuple[Call, Any, list[Walker], str]:
    """The call, its data, what walks, and on which engine, if everything fits."""
    checks.instance(f"{caller}: dynamics", dynamics, Dynamics)
    checks.instance(f"{caller}: preparation", preparation, Preparation)
    call = Call(caller, ENGINES, **how)
    engine, _ = call.choose(dynamics, preparation)
    data = samples(caller, data, "float64" if dynamics.dtype == "float64" else "float32", signs=True)
    batch = call.align(own, **labelled(dynamics), **labelled(preparation, "prepare_"))
    walkers = [
        Walker(with_values(dynamics, row), with_values(preparation, row, "prepare_"), int(row["seed"]))
        for row in batch.members()
    ]
    return call, data, walkers, engine


def _jobs(call: Call, walkers: Sequence[Walker], data: Any, engine: str) -> list[list[int]]:
    """One walker each, or with torch as many of one shape as the memory holds, one group after another."""
    if engine == "compiled":
        return [[i] for i in range(len(walkers))]
    call.workers = 1

    def need(i: int) -> int:
        one = walkers[i]
        batch = max(int(one.dynamics.batch_size), int(one.preparation.batch_size))
        return TorchWalk.bytes_per_member(sizes_of(one, data), len(data.x), batch, one.dynamics.dtype)

    return call.jobs([walker.shape for walker in walkers], need)


def _result(
    call: Call, rows: list[dict[str, Any]], axes: dict[str, tuple[str, ...]], coords: dict[str, Any],
    words: dict[str, str], dynamics: Dynamics, preparation: Preparation, data: Any, engine: str,
) -> xr.Dataset:  # fmt: skip
    variables = {k: (np.array([row[k] for row in rows]), axes.get(k, ())) for k in rows[0]}
    specs = {"dynamics": dynamics, "preparation": preparation}
    return call.result(variables, coords, words, data, dynamics.dtype, [engine], **specs)


def _windows(chi: Any) -> tuple[float, ...]:
    values = np.asarray(chi) if isinstance(chi, Sequence | np.ndarray) else np.array(np.nan)
    ok = values.ndim == 1 and values.dtype.kind in "iuf" and len(set(values.tolist())) == len(values) > 0
    ok = ok and bool(np.all((values > 0) & (values < np.inf)))
    checks.require("walk: chi", chi, ok, "a list of different numbers above 0, at least one")
    return tuple(values.tolist())


def _prepared(call: Call, walkers: list[Walker], data: Any, engine: str) -> list[Prepared]:
    """Every member's prepared network; members that differ in their walk alone share it."""
    firsts = {json.dumps(w.start): w for w in walkers}
    starters = list(firsts.values())

    def fit(group: list[int]) -> list[Prepared]:
        return prepare_all([starters[i] for i in group], data, engine, call.experiment, call.device)

    made = dict(zip(firsts, call.run(fit, _jobs(call, starters, data, engine), "preparations"), strict=True))
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
