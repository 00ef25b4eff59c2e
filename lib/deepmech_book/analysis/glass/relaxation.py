"""How long weights remember where they were (Figs. 2, 3, A1, A2, A4): regimes of temperature, and powers of times.

Tables of times are those of :func:`deepmech_book.analysis.glass.phases.times`: over ``temperature``, with ``tau``,
the same ``without`` each run (``seed``), and the times ``free`` and ``free_without`` of free walks in the same windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, unknown
from deepmech.metrics import relaxation
from deepmech.simulators.brownian import free_overlap
from deepmech_book.analysis.glass import phases, plateaus, regimes
from deepmech_book.sweeps.glass import walks

__all__ = [
    "HOT",
    "cold_over_free",
    "cold_over_rest",
    "distance_from_free",
    "distance_of_kicks",
    "e_fold_power",
    "finest_times",
    "hot_power",
    "hot_powers",
    "largest_power",
    "learnt",
    "loss_drift",
    "loss_history",
    "overall_power",
    "overlap_of_walk",
    "second_steps",
    "successive_powers",
    "temperature_powers",
    "times_by_clock",
    "times_by_training",
    "training_power",
]


NO_COLD = "the record sees no temperature at which a free walk would be ten times slower than the landscape alone"
HOT = (
    ("regularised", 0.1),
    ("regularised", 0.01),
    ("underparameterised", 0.1),
    ("overparameterised", 1e-3),
)
"""Phases and temperatures whose overlaps are compared with those of free walks while these fall: hot in all."""


def overall_power(table: xr.Dataset) -> Estimate:
    """The power of T that τ₉₀ follows wherever the record sees it (Fig. 3(c, f)): -1 of free walks.

    Parameters
    ----------
    table : Dataset
        Times over ``temperature``.
    """
    return regimes.power_of_temperature(regimes.select_crossed(table))


def distance_from_free(run: xr.Dataset, temperature: float, until: float = 0.3) -> Estimate:
    """Largest distance of the mean overlap from that of free walks, while theirs is above ``until`` (Fig. 2(b)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase, with ``overlap``, ``sigma`` and ``chi``.
    temperature : float
        At which they are compared, as the paper counts it.
    until : float
        Mean overlap of free walks at which the comparison ends.

    Returns
    -------
    Estimate
        In [0, 1], over runs, taken positive in the mean. Unknown if no recorded time is early enough.
    """
    overlap = phases.overlaps(run).sel(temperature=temperature)
    free = phases.free_overlaps(run).sel(temperature=temperature)
    gaps = (overlap - free).where(free.mean("seed") > until)
    if gaps.isnull().all():
        return unknown(f"free walks have fallen to {until:g} before the first recorded time")
    farthest = gaps.isel(time=int(np.nanargmax(abs(gaps.mean("seed")))))
    return estimate(farthest * np.sign(farthest.mean()), "seed", "symmetric")


def distance_of_kicks(share: float, until: float = 0.3) -> float:
    """:func:`distance_from_free` of walks with ``share`` of the diffusion constant of free ones, in every window.

    Examples
    --------
    >>> distance_of_kicks(1.0), round(distance_of_kicks(0.5), 3)
    (0.0, 0.166)
    """
    times = np.geomspace(1e-3, 1e3, 4000)
    free, other = (free_overlap(times, 1.0, rate) for rate in (1.0, share))
    return float(abs(other - free)[free > until].max())


def cold_over_free(run: xr.Dataset, temperature: float) -> Estimate:
    """τ₉₀ in the finest window over that of free walks at one temperature: 1 of a free walk."""
    return regimes.over_free(finest_times(run).sel(temperature=[temperature]))


def finest_times(run: xr.Dataset) -> xr.Dataset:
    """:func:`~deepmech_book.analysis.glass.phases.times` in a window seven times as fine as the paper's."""
    return phases.times(run, walks.FINE_WINDOW)


def hot_power(table: xr.Dataset) -> Estimate:
    """The power of T that τ₉₀ follows where a free walk takes less than a tenth of the landscape's own time."""
    return regimes.power_of_temperature(regimes.select_hot(table))


def hot_powers(run: xr.Dataset, phase: str) -> dict[str, Estimate]:
    """The powers of T that τ₉₀ after each wait, and τ_e, follow where hot (Figs. 3(d-f), A4(a-c), A9, A10).

    Hot is where a free walk takes less than a tenth of the landscape's own time after the first wait, or of the record
    where that ends before.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, T = 0 among them.
    phase : str
        With which the names begin.

    Returns
    -------
    dict of str to Estimate
        -1 of free walks.
    """
    rest, found = regimes.time_within_record(run, phases.times(run)), {}
    for i, wait in enumerate(run.waiting.values):
        hot = regimes.select_hot(phases.times(run, wait=i), rest)
        found[f"{phase}, after {int(wait):,}"] = regimes.power_of_temperature(hot)
    found[f"{phase}, to 1/e"] = e_fold_power(run)
    return found


def cold_over_rest(run: xr.Dataset, fine: bool = False, e_fold: bool = False) -> tuple[Estimate, float]:
    """τ at the cold temperature nearest to T* over that at T = 0 (Figs. 3(d, e), A4(b, d, e)): 1 on a plateau.

    Cold is where a free walk takes more than ten times the landscape's own time.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, T = 0 among them.
    fine : bool
        Whether in a window seven times as fine as the paper's, where the record sees colder ones.
    e_fold : bool
        Whether τ is the time in which the overlap falls to 1/e, and not to 0.9.

    Returns
    -------
    tuple of Estimate and float
        The ratio, and the same of a free walk, 10 or more. Unknown if the record sees no cold temperature.
    """
    table = phases.times(run, walks.FINE_WINDOW if fine else walks.PAPER_WINDOW, level=np.exp(-1) if e_fold else 0.9)
    cold = regimes.select_cold(table)
    if not cold.sizes["temperature"]:
        return unknown(NO_COLD), np.nan
    one, rest = cold.sel(temperature=float(cold.temperature.max())), table.sel(temperature=0.0)
    ratio = relaxation.interval_by_factors(float(one.tau / rest.tau), (one.without / rest.without).values)
    return ratio, float(one.free / rest.tau)


def temperature_powers(tau: xr.DataArray) -> xr.DataArray:
    """The power of 1/T that τ follows from each temperature to the next one.

    Parameters
    ----------
    tau : DataArray
        Times, > 0, over ``temperature`` (> 0, in order) and anything else.

    Returns
    -------
    DataArray
        One temperature fewer, labelled by the later of the two.

    Examples
    --------
    >>> tau = xr.DataArray([100.0, 10.0, 1.0], {"temperature": [0.01, 0.1, 1.0]}, "temperature")
    >>> temperature_powers(tau).values.round(6).tolist()
    [1.0, 1.0]
    """
    log_tau: xr.DataArray = xr.apply_ufunc(np.log, tau)
    log_temperature = np.log(tau.temperature)
    return -log_tau.diff("temperature") / log_temperature.diff("temperature")


def largest_power(overlap: xr.DataArray) -> float:
    """The largest of :func:`temperature_powers` of τ₉₀, of overlaps over ``seed``, ``temperature`` and ``time``."""
    return float(temperature_powers(relaxation.decorrelation_times(overlap).tau).max())


def successive_powers(tables: Iterable[xr.Dataset]) -> Estimate:
    """The powers of 1/T that τ₉₀ follows from each temperature to the next colder one, of several tables in a row.

    Where times diverge, as a glass's do while it is still warm, these grow and grow (Sec. III.B).

    Parameters
    ----------
    tables : iterable of Dataset
        Times over ``temperature``; those at which the record sees τ₉₀, with and without each run, are compared.

    Returns
    -------
    Estimate
        (n,), n pairs of neighbouring temperatures of all tables; unknown if there is none.
    """
    found = [_successive(table) for table in tables]
    value, low, high = (np.concatenate([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    if not value.size:
        return unknown("no record sees τ₉₀ at two temperatures above 0; give more of them", value)
    seeds = min(one.n or 0 for one in found)
    return Estimate(value, low, high, seeds, next((one.reason for one in found if one.reason), ""))


def _successive(table: xr.Dataset) -> Estimate:
    part = regimes.select_crossed(table).sortby("temperature")
    part = part.isel(temperature=np.flatnonzero(np.isfinite(part.without).all("seed")))
    without = temperature_powers(part.without).transpose("seed", "temperature")
    return jackknife(temperature_powers(part.tau), without, over="seed", scatter="symmetric")


def training_power(table: xr.Dataset, first: float) -> Estimate:
    """The power of the length of training that τ₉₀ at T = 0 follows, from ``first`` on.

    0 if the descent was finished; where a record ends before the crossing its end stands for τ₉₀, so that the power is
    a lower bound.

    Parameters
    ----------
    table : Dataset
        ``least`` and ``least_without`` of :func:`deepmech.metrics.relaxation.decorrelation_times`, in steps, over
        ``length`` (μt).
    first : float
        Least length that counts.

    Returns
    -------
    Estimate
        Over any further dimension of the table, such as windows.
    """
    part = table.sel(length=table.length >= first)
    x = np.log(part.length) - np.log(part.length).mean()
    powers = [(x * np.log(t)).sum("length") / (x**2).sum() for t in (part.least, part.least_without)]
    return jackknife(*powers, over="seed", scatter="symmetric")


def e_fold_power(run: xr.Dataset) -> Estimate:
    """The power of T that τ_e, the time in which the overlap falls to 1/e, follows where hot (Fig. A4(a-c)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase. Where T = 0 does not fall so far within the record, the landscape takes at least as long as
        that.

    Returns
    -------
    Estimate
        -1 of free walks.
    """
    table = phases.times(run, level=np.exp(-1))
    return regimes.power_of_temperature(regimes.select_hot(table, regimes.time_within_record(run, table)))


def loss_drift(run: xr.Dataset) -> Estimate:
    """The last recorded loss over the loss where the clock starts (Fig. A2): 1 on a plateau.

    Parameters
    ----------
    run : Dataset
        ``loss`` (seed, temperature, waiting, time) and ``loss_waited`` (seed, temperature, waiting) of walks.

    Returns
    -------
    Estimate
        Over ``temperature``, after the first wait.
    """
    first = run[["loss", "loss_waited"]].isel(waiting=0, drop=True)
    last = first.loss.dropna("time", how="all").isel(time=-1, drop=True)
    return estimate(last / first.loss_waited, "seed", "symmetric")


def second_steps(overlaps: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """How clearly overlaps of each phase fall in two steps, as those of a glass do (Sec. III.B): 0 for one fall.

    Parameters
    ----------
    overlaps : mapping of str to DataArray
        Phase -> Q over ``time`` and more, of which the clearest counts
        (:func:`.plateaus.second_step`).

    Returns
    -------
    DataArray
        Over ``phase``, from 0 to 1.
    """
    depths = [plateaus.second_step(one) for one in overlaps.values()]
    return xr.DataArray(depths, {"phase": list(overlaps)}, dims="phase")


def learnt(trained: xr.Dataset) -> xr.Dataset:
    """The networks that have learnt after the longest training; the others lie at the origin, where the loss is 1/2.

    Parameters
    ----------
    trained : Dataset
        ``loss_waited`` over ``seed``, ``waiting`` and ``sgd_steps``, the length of training in steps.
    """
    last = trained.loss_waited.isel(waiting=-1).sel(sgd_steps=trained.sgd_steps.max())
    return trained.isel(seed=np.flatnonzero(last < phases.LEARNT))


def times_by_training(trained: xr.Dataset, wait: int = -1) -> xr.Dataset:
    """τ₉₀ at T = 0 after one of the waits, over the ``length`` μt of training and the window's ``chi``.

    Parameters
    ----------
    trained : Dataset
        ``overlap`` over ``seed``, ``waiting``, ``time``, ``chi`` and ``sgd_steps``, the length in steps.
    wait : int
        Which one: the last by default.
    """
    times = relaxation.decorrelation_times(trained.overlap.isel(waiting=wait, drop=True))
    length = walks.RATE * trained.sgd_steps.values
    return times.assign_coords(sgd_steps=length, chi=trained.chi.round(1)).rename(sgd_steps="length")


def times_by_clock(trained: xr.Dataset) -> xr.Dataset:
    """:func:`times_by_training` of each clock, along ``kind``: window, and the wait before the clock starts."""
    tables = {
        f"$\\chi$ = {float(chi):g}, $t_w$ = {int(wait):,}": times_by_training(trained, i).sel(chi=chi, drop=True)
        for i, wait in enumerate(trained.waiting.values)
        for chi in trained.chi.round(1).values
    }
    return xr.concat([one.drop_dims("seed") for one in tables.values()], xr.Variable("kind", list(tables)))


def overlap_of_walk(walked: xr.Dataset, temperature: xr.DataArray, chi: float) -> tuple[xr.DataArray, xr.DataArray]:
    """The overlap of a walk after one wait, in one window, and that of free walks in the same window (Eq. 6).

    Parameters
    ----------
    walked : Dataset
        ``within`` and ``count`` over ``temperature``, ``time``, ``layer`` and ``alive``, and ``sigma``, the spread of
        weights, over ``temperature``, as of :func:`deepmech.walk`.
    temperature : DataArray
        The same temperatures as the paper counts them, at P_D = 60,000.
    chi : float
        The spread over the window.

    Returns
    -------
    tuple of DataArray
        Q over ``temperature`` and ``time``, of the walk and of free walks.
    """
    weights = walked[["within", "count"]].sum(["layer", "alive"])
    overlap = weights["within"] / weights["count"]
    free = [
        free_overlap(walked.time.values, float(sigma) / chi, walks.diffusion(float(t)))
        for sigma, t in zip(walked.sigma, temperature, strict=True)
    ]
    return overlap, overlap.copy(data=free)


def loss_history(prepared: xr.Dataset, walked: xr.Dataset) -> xr.DataArray:
    """The data loss of one network over the steps of its preparation and of the walk that follows (Figs. 2(a), A2).

    Parameters
    ----------
    prepared : Dataset
        ``loss_history`` over ``steps``, as of :func:`deepmech.prepare`.
    walked : Dataset
        ``loss`` over ``time``, in steps since the preparation.
    """
    steps = np.append(prepared.steps, prepared.steps[-1] + walked.time)
    return xr.DataArray(np.append(prepared.loss_history, walked.loss), {"step": steps}, dims="step")
