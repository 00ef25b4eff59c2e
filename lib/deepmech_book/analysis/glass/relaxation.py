"""How long weights remember where they were (Figs. 2, 3, A1, A2, A4): regimes of temperature, and powers of times.

Tables of times are those of :func:`deepmech_book.analysis.glass.phases.times`: over ``temperature``, with ``tau``,
the same ``without`` each run (``seed``), and the times ``free`` and ``free_without`` of free walks in the same windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, unknown
from deepmech.metrics import relaxation
from deepmech.simulators.brownian import free_overlap
from deepmech_book.analysis.glass import phases
from deepmech_book.sweeps.glass import walks

__all__ = [
    "crossover_power",
    "distance_from_free",
    "distance_of_best",
    "e_fold_powers",
    "landscape_time",
    "largest_power",
    "learnt",
    "list_crossovers",
    "loss_drift",
    "loss_history",
    "overall_power",
    "overlap_of_walk",
    "prefactor",
    "ratio_at_rest",
    "second_steps",
    "successive_powers",
    "temperature_powers",
    "times_by_training",
    "training_power",
    "two_regimes",
]


def two_regimes(table: xr.Dataset) -> dict[str, tuple[Estimate, dict[str, float]]]:
    """The three numbers of the paper's two regimes (Figs. 3(d-f), A4(d-f)), each with what it is compared with.

    Hot is where a free walk takes less than a tenth of the landscape's own time, cold where it takes more than ten
    times as long (:func:`deepmech.metrics.relaxation.select_hot`).

    Parameters
    ----------
    table : Dataset
        Times over ``temperature``, in steps, T = 0 among them.

    Returns
    -------
    dict
        ``hot_slope``, the power of T that τ₉₀ follows where hot (-1 of a free walk); ``prefactor``, τ₉₀ over the time
        of free walks where hot, one for each temperature (1 of a free walk, Eq. 6); ``cold_flat``, the power of T where
        cold (0 on a plateau, -1 of a free walk). Each is an estimate with ``expected`` and ``null``, where there are.
    """
    hot, cold = relaxation.select_hot(table), relaxation.select_cold(table)
    return {
        "hot_slope": (relaxation.power_of_temperature(hot), {"expected": -1.0, "null": -1.0}),
        "prefactor": (relaxation.over_free(hot), {"expected": 1.0, "null": 1.0}),
        "cold_flat": (relaxation.power_of_temperature(cold), {"null": -1.0}),
    }


def overall_power(table: xr.Dataset | None) -> Estimate:
    """The power of T that τ₉₀ follows wherever the record sees it (Fig. 3(c, f)): -1 of free walks.

    Parameters
    ----------
    table : Dataset, optional
        Times over ``temperature``; None, if there is no such network, makes it unknown.
    """
    if table is None:
        return unknown(phases.NONE_FITS)
    return relaxation.power_of_temperature(relaxation.select_crossed(table))


def landscape_time(table: xr.Dataset) -> str:
    """The landscape's own time and T*, where a free walk takes as long, in words."""
    return f"τ at T = 0: {relaxation.time_at_rest(table):.3g} steps; T* = {relaxation.crossover(table):.2g}."


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


def distance_of_best(run: xr.Dataset, temperature: float, loss: float = 0.2) -> str:
    """:func:`distance_from_free` of the networks that learn as much as the paper's, in words.

    Parameters
    ----------
    run : Dataset
        As there, with ``loss_waited``, which counts at T = 0 and after the first wait.
    temperature : float
        As there.
    loss : float
        Data loss below which a network has learnt as much.
    """
    best = run.isel(seed=np.flatnonzero(run.loss_waited.isel(waiting=0).sel(temperature=0.0) < loss))
    if n := best.sizes["seed"]:
        return f"Of the {n} that learn as much as the paper's: {distance_from_free(best, temperature)}."
    return "None learns as much as the paper's."


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
    part = relaxation.select_crossed(table).sortby("temperature")
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


def crossover_power(tables: Mapping[float, xr.Dataset]) -> Estimate:
    """The power of χ that T* follows (Fig. A1), where a free walk takes as long as the landscape.

    Of weights that slide at a steady pace it is -1: the window ε = σ/χ is left after a time in proportion to ε, and by
    a free walk to ε².

    Parameters
    ----------
    tables : mapping of float to Dataset
        χ -> times over ``temperature`` in the window of that χ; those in which T* is not seen are left out.
    """
    seen = {chi: table for chi, table in tables.items() if relaxation.crossover(table) > 0}
    if len(seen) < 2:
        return unknown("the landscape's own time was seen for fewer than two windows")
    stars = np.array([relaxation.crossover(table) for table in seen.values()])
    without = np.array([relaxation.crossover_without(table) for table in seen.values()])
    return relaxation.power(np.array(list(seen)), stars, without.T)


def list_crossovers(tables: Mapping[float, xr.Dataset]) -> str:
    """T* in each window of :func:`crossover_power`, in words; 0 where it is not seen."""
    return ", ".join(f"{relaxation.crossover(table):.2g} at χ = {chi:.3g}" for chi, table in tables.items())


def e_fold_powers(run: xr.Dataset, window: int = walks.PAPER_WINDOW) -> tuple[Estimate, Estimate]:
    """The powers of T that τ_e, the time in which the overlap falls to 1/e, follows where hot and where cold (Fig. A4).

    Parameters
    ----------
    run : Dataset
        Walks of one phase. Where T = 0 does not fall so far within the record, the landscape takes at least as long as
        that.
    window : int
        Which of the recorded windows.

    Returns
    -------
    tuple of Estimate
        -1 and -1 of free walks; -1 and 0 where the landscape sets the time of cold ones.
    """
    table = phases.times(run, window, level=np.exp(-1))
    record = float(phases.overlaps(run).time[-1])
    hot = relaxation.select_hot(table, min(relaxation.time_at_rest(table), record))
    return relaxation.power_of_temperature(hot), relaxation.power_of_temperature(relaxation.select_cold(table))


def prefactor(table: xr.Dataset, temperature: float) -> Estimate:
    """τ₉₀ over the exact time of free walks (Eq. 6) at one temperature: 1 of a free walk."""
    return relaxation.over_free(table.sel(temperature=[temperature])).map(lambda end: end.item())


def ratio_at_rest(table: xr.Dataset, other: xr.Dataset) -> Estimate:
    """τ₉₀ at T = 0 of one table over that of another, of independent runs.

    Parameters
    ----------
    table, other : Dataset
        Times over ``temperature``, T = 0 among them; numbers of runs may differ.
    """

    def logs(one: xr.Dataset) -> tuple[float, Any]:
        rest = one.sel(temperature=0.0)
        return float(np.log(rest.tau)), np.log(rest.without.values)

    (above, above_without), (below, below_without) = logs(table), logs(other)
    found = jackknife(above - below, above_without - below, above - below_without, scatter="symmetric")
    return found.map(np.exp)


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
        (:func:`deepmech.metrics.relaxation.second_step`).

    Returns
    -------
    DataArray
        Over ``phase``, from 0 to 1.
    """
    depths = [relaxation.second_step(one) for one in overlaps.values()]
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


def times_by_training(trained: xr.Dataset) -> xr.Dataset:
    """τ₉₀ at T = 0 after the last wait, over the ``length`` μt of training and the window's ``chi``.

    Parameters
    ----------
    trained : Dataset
        ``overlap`` over ``seed``, ``waiting``, ``time``, ``chi`` and ``sgd_steps``, the length in steps.
    """
    times = relaxation.decorrelation_times(trained.overlap.isel(waiting=-1, drop=True))
    length = walks.RATE * trained.sgd_steps.values
    return times.assign_coords(sgd_steps=length, chi=trained.chi.round(1)).rename(sgd_steps="length")


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
        ``loss_history`` over ``steps``, as of :func:`deepmech.settle`.
    walked : Dataset
        ``loss`` over ``time``, in steps since the preparation.
    """
    steps = np.append(prepared.steps, prepared.steps[-1] + walked.time)
    return xr.DataArray(np.append(prepared.loss_history, walked.loss), {"step": steps}, dims="step")
