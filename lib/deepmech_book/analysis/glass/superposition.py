"""Time–temperature superposition (Figs. 4, A6): overlaps over time in units of their own τ₉₀, beside free walks.

A free walk's overlap is Q(t) = erf(ε/√(4Dt)) (Eq. 6): a function of t/τ₉₀ alone, which at long times falls as t^-1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import erf, erfinv

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out, unknown
from deepmech.metrics.relaxation import Collapse, collapse, exponent
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech_book.analysis.glass import phases, wells

__all__ = [
    "IN_STEPS",
    "IN_UNITS",
    "before_and_after",
    "beside_free_walks",
    "collapsed",
    "departure",
    "free_master",
    "hottest_power",
    "last_overlaps",
    "last_powers",
    "master_power",
    "over_the_well",
    "powers_of_shapes",
    "slide_master",
    "spread_of_two_shapes",
    "tail_power",
]

#: Of these a collapse has two sides, named as a panel is.
IN_STEPS, IN_UNITS = "over time in steps", r"over $t/\tau_{90}$"

#: Earlier than this part of τ₉₀, nothing is to be seen.
LATE = 0.01


def collapsed(run: xr.Dataset) -> tuple[xr.DataArray, Collapse]:
    """Mean overlaps of all temperatures, each over time in units of its own τ₉₀ (Fig. 4(a)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase.

    Returns
    -------
    tuple of DataArray and Collapse
        Q over ``temperature`` (those whose τ₉₀ the record sees) and ``time`` (t/τ₉₀); and how closely they lie.
    """
    curves = phases.overlaps(run).mean("seed").transpose("temperature", "time")
    tau = phases.times(run).tau
    laid = collapse(curves.time.values, curves.values, tau.values)
    temperature = tau.temperature[np.isfinite(tau.values)].values
    coords = {"temperature": temperature, "time": laid.rescaled}
    return xr.DataArray(laid.curves, coords, ("temperature", "time")), laid


def free_master(rescaled: np.ndarray) -> xr.DataArray:
    """A free walk's overlap over t/τ₉₀: one curve for every window and temperature.

    Parameters
    ----------
    rescaled : ndarray
        (n,) times in units of τ₉₀.

    Returns
    -------
    DataArray
        Over ``time``, 0.9 at 1.

    Examples
    --------
    >>> free_master(np.array([1.0, 100.0])).values.round(4).tolist()
    [0.9, 0.1307]
    """
    return xr.DataArray(free_overlap(rescaled, 1.0, free_time(1.0, 1.0)), {"time": rescaled}, "time")


def slide_master(rescaled: np.ndarray) -> xr.DataArray:
    """The overlap over t/τ₉₀ of weights that slide steadily, each at a pace of its own, the paces normal.

    Parameters
    ----------
    rescaled : ndarray
        (n,) times in units of τ₉₀.

    Returns
    -------
    DataArray
        Over ``time``, 0.9 at 1; at long times it falls as t^-1.

    Examples
    --------
    >>> slide_master(np.array([1.0, 100.0])).values.round(4).tolist()
    [0.9, 0.0131]
    """
    return xr.DataArray(erf(erfinv(0.9) / rescaled), {"time": rescaled}, "time")


def spread_of_two_shapes(run: xr.Dataset) -> float:
    """The ``spread`` of a collapse in which every second curve is a steady slide's, and the others a free walk's.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, whose times and τ₉₀ the curves have.
    """
    time, tau = phases.overlaps(run).time.values, phases.times(run).tau.values
    tau = np.sort(tau[np.isfinite(tau)])
    curves = [(slide_master if i % 2 else free_master)(time / one).values for i, one in enumerate(tau)]
    return collapse(time, np.array(curves), tau).spread


def powers_of_shapes(run: xr.Dataset) -> tuple[float, float]:
    """:func:`tail_power` of a free walk and of a steady slide over the rescaled times of a run's collapse."""
    rescaled = collapsed(run)[1].rescaled
    return tail_power(free_master(rescaled)), tail_power(slide_master(rescaled))


def before_and_after(run: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Overlaps over time in steps and over t/τ₉₀, and those of free walks, for two panels (Fig. 4(a)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase.

    Returns
    -------
    tuple of DataArray
        Q over ``kind`` (:data:`IN_STEPS`, :data:`IN_UNITS`), ``temperature`` and ``time``, of networks and free walks.
    """
    late = collapsed(run)[0].sel(time=slice(LATE, None))
    seen = run.sel(temperature=late.temperature)
    curves = {IN_STEPS: phases.overlaps(seen).mean("seed"), IN_UNITS: late}
    free = {IN_STEPS: phases.free_overlaps(seen).mean("seed"), IN_UNITS: _master_beside(late)}
    return phases.panels(curves, "kind"), phases.panels(free, "kind")


def beside_free_walks(runs: Mapping[str, xr.Dataset]) -> tuple[xr.DataArray, xr.DataArray]:
    """Collapsed overlaps of several phases and the curve of all free walks, a panel each (Fig. A6).

    Parameters
    ----------
    runs : mapping of str to Dataset
        Phase -> walks.

    Returns
    -------
    tuple of DataArray
        Q over ``phase``, ``temperature`` and ``time``, of networks and of free walks.
    """
    late = {phase: collapsed(run)[0].sel(time=slice(LATE, None)) for phase, run in runs.items()}
    masters = {phase: _master_beside(one) for phase, one in late.items()}
    return phases.panels(late), phases.panels(masters)


def _master_beside(curves: xr.DataArray) -> xr.DataArray:
    """The curve of free walks at every time and temperature of others."""
    return free_master(curves.time.values).expand_dims(temperature=curves.temperature)


def tail_power(curve: xr.DataArray) -> float:
    """The power of time that an overlap follows while it is between 0.1 and 0.6.

    Parameters
    ----------
    curve : DataArray
        Q over ``time``; nan where it was not recorded.

    Returns
    -------
    float
        nan if fewer than four points lie in this range.

    Examples
    --------
    >>> time = np.geomspace(1, 100, 50)
    >>> round(tail_power(xr.DataArray(time**-0.5, {"time": time}, "time")), 6)
    -0.5
    """
    curve = curve.dropna("time")
    part = curve.isel(time=np.flatnonzero((curve < 0.6) & (curve > 0.1)))
    return exponent(part.time.values, part.values).value if part.sizes["time"] >= 4 else np.nan


def hottest_power(run: xr.Dataset) -> float:
    """:func:`tail_power` of the collapsed overlap at the highest temperature."""
    curves, _ = collapsed(run)
    return tail_power(curves.sel(temperature=float(curves.temperature.max())))


def master_power(run: xr.Dataset) -> Estimate:
    """:func:`hottest_power` over runs (Fig. 4(a)): the paper finds -0.48, and a free walk comes to -1/2.

    Parameters
    ----------
    run : Dataset
        Walks of one phase.
    """
    if np.isnan(hottest_power(run)):
        return unknown("the record of the hottest networks has too few points in the range")
    return estimate(run, "seed", "symmetric", of=hottest_power)


def departure(run: xr.Dataset, other: xr.Dataset) -> Estimate:
    """How far curves leave that of free walks above and below, the farthest each; the smaller of both (Fig. A6(a)).

    Parameters
    ----------
    run, other : Dataset
        Walks of one phase, and of another, whose networks are others, as their null.

    Returns
    -------
    Estimate
        Of an overlap; 0 or less if they leave it on one side only. The interval of the difference is Welch's; where
        one of them is a single network there is none.
    """
    if min(run.sizes["seed"], other.sizes["seed"]) < 2:
        return replace(estimate(run, "seed", "symmetric", of=_departure), null=_departure(other))
    whole = [_departure(one) for one in (run, other)]
    own, null = (
        np.array([_departure(one.drop_isel({"seed": i})) for i in range(one.sizes["seed"])]) for one in (run, other)
    )
    less = jackknife(whole[0] - whole[1], own - whole[1], whole[0] - null, scatter="symmetric")
    return replace(jackknife(whole[0], own, scatter="symmetric"), null=whole[1], difference=less.interval)


def _departure(run: xr.Dataset) -> float:
    curves, laid = collapsed(run)
    away = curves - free_master(laid.rescaled)
    return float(min(away.max(), -away.min()))


def last_overlaps(run: xr.Dataset, waited: xr.DataArray, decay: float) -> xr.Dataset:
    """Overlaps at the last recorded time, of networks, of free walks and of weights in a well (Fig. 4(b)).

    Parameters
    ----------
    run : Dataset
        Walks of one phase, with ``overlap``, ``sigma`` and ``chi``; those at T > 0 count.
    waited : DataArray
        Weights where the clock starts, over ``seed``, ``temperature`` and ``weight``: each weight of a walk or of a
        well starts where that of the network was.
    decay : float
        λ, the stiffness of the well λw²/2.

    Returns
    -------
    Dataset
        ``networks``, ``free walks`` and ``weight decay alone`` over ``seed`` and ``temperature``, which rises.
    """
    heated = run.sel(temperature=run.temperature > 0)
    last = phases.overlaps(heated).isel(time=-1)
    kinds = {"networks": last.drop_vars("time")}
    for name, stiffness in (("free walks", 0.0), ("weight decay alone", decay)):
        kinds[name] = wells.overlap(waited, phases.window_size(heated), stiffness, float(last.time))
    return xr.Dataset(kinds).sortby("temperature").transpose("seed", "temperature")


def last_powers(last: xr.Dataset) -> dict[str, Estimate]:
    """The power of T that each of :func:`last_overlaps` follows (the paper finds -0.48 of networks)."""
    return {str(k): exponent(v.temperature.values, v.values) for k, v in last.items()}


def over_the_well(last: xr.Dataset) -> Estimate:
    """The last overlap of networks, over that of weights in the well of weight decay, at each temperature.

    Parameters
    ----------
    last : Dataset
        Of :func:`last_overlaps`.

    Returns
    -------
    Estimate
        Over ``temperature``: the ratio of means over runs. 1 if the well explains the overlap.
    """
    both = last.mean("seed"), leave_one_out(last, "seed")
    means, others = (one["networks"] / one["weight decay alone"] for one in both)
    logs = (xr.apply_ufunc(np.log, one) for one in (means, others))
    return jackknife(*logs, over="seed", scatter="symmetric").map(np.exp)
