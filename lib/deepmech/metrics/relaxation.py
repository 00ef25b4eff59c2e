"""Relaxation over temperature: decorrelation times beside free walks, the hot and the cold regime, where they meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out, unknown
from deepmech.metrics.glass_times import CROSSED, Crossing, decorrelation_time, exponent

NEVER_HOT = "the record sees no temperature at which a free walk would be ten times faster than the landscape alone"
"""Why a record leaves a claim about the hot regime open."""


def interval_by_factors(value: Any, *without: Any) -> Estimate:
    """The interval of a time, or of a ratio of times, from what it is without each run.

    Times scatter by factors, and logarithms of means over many weights about symmetrically.
    """
    return jackknife(np.log(value), *(np.log(w) for w in without), scatter="symmetric").map(np.exp)


def decorrelation_times(overlap: xr.DataArray, level: float = 0.9) -> xr.Dataset:
    """τ of the mean overlap over runs, for each temperature or whatever else the overlap has for dimensions.

    Parameters
    ----------
    overlap : over ``seed`` (the runs), ``time`` and more; NaN ends a record.
    level : to which the overlap falls, as of :func:`.glass_times.decorrelation_time`.

    Returns
    -------
    Dataset
        ``tau`` (nan if not crossed), its interval ``low``, ``high`` (95 %, over runs), ``state`` and ``least``, τ or
        the end of the record where that comes first; over ``seed`` too ``without`` and ``least_without``, the same
        times without each run.

    Examples
    --------
    >>> times = np.array([1.0, 10.0, 100.0])
    >>> fall = xr.DataArray([[[0.99, 0.9, 0.1], [0.99, 0.9, 0.1]]], {"time": times}, ("temperature", "seed", "time"))
    >>> decorrelation_times(fall).tau.values.round(6).tolist()
    [10.0]
    """
    outer = [str(d) for d in overlap.dims if d not in ("seed", "time")]
    overlap = overlap.transpose(*outer, "seed", "time")
    shape, n = overlap.shape[:-2], overlap.sizes["seed"]
    found = {name: np.full(shape, np.nan) for name in ("tau", "low", "high", "least")}
    found |= {name: np.full((*shape, n), np.nan) for name in ("without", "least_without")}
    state = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        curves = overlap.values[at]
        mean = decorrelation_time(overlap.time.values, curves.mean(0), level)
        others = [decorrelation_time(overlap.time.values, curve, level) for curve in leave_one_out(curves)]
        found["tau"][at], state[at], found["least"][at] = mean.time, mean.state, _least(mean)
        found["without"][at], found["least_without"][at] = [o.time for o in others], [_least(o) for o in others]
        found["low"][at], found["high"][at] = interval_by_factors(mean.time, found["without"][at]).interval
    coords = {d: overlap[d] for d in [*outer, "seed"] if d in overlap.coords}
    data = {k: ([*outer, "seed"][: v.ndim], v) for k, v in found.items()} | {"state": (outer, state)}
    return xr.Dataset(data, coords)


def _least(found: Crossing) -> float:
    return found.low if np.isnan(found.time) else found.time


def at_rest(table: xr.Dataset) -> float:
    """τ at T = 0, where only the landscape moves the weights; infinite if the record ends before."""
    found = table.sel(temperature=0.0)
    return float(found.tau) if found.state == CROSSED else np.inf


def hot(table: xr.Dataset, rest: float | None = None) -> xr.Dataset:
    """Temperatures at which a free walk would be at least ten times faster than the landscape alone (``rest``)."""
    rest = at_rest(table) if rest is None else rest
    return table.isel(temperature=np.flatnonzero((table.free * 10.0 < rest) & np.isfinite(table.tau)))


def cold(table: xr.Dataset, ratio: float = 10.0) -> xr.Dataset:
    """Temperatures above 0 at which a free walk would be at least ``ratio`` times slower than the landscape alone."""
    slower = (table.free > at_rest(table) * ratio) & (table.temperature > 0) & np.isfinite(table.tau)
    return table.isel(temperature=np.flatnonzero(slower))


def seen(table: xr.Dataset) -> xr.Dataset:
    """Temperatures above 0 at which the record sees τ."""
    return table.isel(temperature=np.flatnonzero((table.temperature > 0) & (table.state == CROSSED)))


def power_of_temperature(table: xr.Dataset) -> Estimate:
    """The power of T that τ follows over a table's temperatures, with its interval over runs.

    Of fewer than two temperatures it is nan, and the interval says why.
    """
    if table.sizes["temperature"] < 2:
        return unknown("fewer than two temperatures of the record lie in this regime")
    return power(table.temperature.values, table.tau.values, table.without.transpose("seed", "temperature").values)


def power(x: np.ndarray, y: np.ndarray, without: np.ndarray) -> Estimate:
    """The power of x that y follows; its interval is from ``without`` (seed, x), y without each run."""
    each = [exponent(x, w).value if np.isfinite(w).all() else np.nan for w in without]
    return jackknife(exponent(x, y).value, np.array(each), scatter="symmetric")


def over_free(table: xr.Dataset) -> Estimate:
    """τ over the exact time of free walks, for each temperature; its interval is over runs, each with its window."""
    ratio = table.tau / table.free
    if ratio.size == 0:
        return unknown(NEVER_HOT)
    each = (table.without / table.free_without).transpose("seed", "temperature").values
    return replace(interval_by_factors(ratio, each).map(lambda end: ratio.copy(data=end)), value=ratio)


def crossover(table: xr.Dataset) -> float:
    """T*: where the free walk would take as long as the landscape alone; 0 if the landscape never moves the weights."""
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return float(first.free * first.temperature) / at_rest(table)


def crossover_without(table: xr.Dataset) -> np.ndarray:
    """:func:`crossover` without each run."""
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return (first.free_without * first.temperature / table.without.sel(temperature=0.0)).values


def local_powers(values: xr.DataArray) -> xr.DataArray:
    """d(log y)/d(log t) over ``time``, from a straight line through each factor of four in time; nan at the ends.

    Examples
    --------
    >>> t = 2.0 ** np.arange(7)
    >>> local_powers(xr.DataArray(t**2, {"time": t}, "time")).values.round(3).tolist()
    [nan, 2.0, 2.0, 2.0, 2.0, 2.0, nan]
    """
    values = values.transpose(..., "time")
    times, y = values.time.values.astype(float), values.values
    logs = np.log(np.maximum(y, np.finfo(y.dtype).tiny))  # some networks do not move at T = 0
    out = []
    for t in times:
        near = (times >= t / 2) & (times <= t * 2)
        x = np.log(times[near])
        x = x - x.mean()
        out.append((logs[..., near] * x).sum(-1) / (x**2).sum() if near.sum() > 2 else np.full(logs.shape[:-1], np.nan))
    return values.copy(data=np.stack(out, -1))


def second_step(overlap: xr.DataArray) -> float:
    """How clearly any overlap over ``time`` falls twice: 0 for one fall, near 1 for two with a plateau between.

    -dQ/d(log t) has a peak for each fall. Given is the depth of the valley between two peaks, over the highest; of all
    curves the deepest. A curve that ends above 0.9 has hardly begun to fall, and is left out.
    """
    overlap = overlap.transpose(..., "time")
    falls = -local_powers(overlap.copy(data=np.exp(overlap.values))).values
    deepest = 0.0
    for fall in falls[overlap.values[..., -1] <= 0.9].reshape(-1, overlap.sizes["time"]):
        curve = fall[np.isfinite(fall)]
        left = np.maximum.accumulate(curve)
        right = np.maximum.accumulate(curve[::-1])[::-1]
        deepest = max(deepest, float((np.minimum(left, right) - curve).max() / curve.max()))
    return deepest


LOW, LASTING = 0.3, 3.0
"""A plateau is a stretch of local powers below the one, over which time grows by a factor of the other or more."""


def cage(msd: xr.DataArray) -> float:
    """How clearly any mean square displacement shows a cage: how much its local power rises after a plateau.

    A stretch shorter than :data:`LASTING` is a swing of weights across a steep valley. 0 if there is no plateau, or no
    rise after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    moving = msd.sel(temperature=msd.temperature > 0) if "temperature" in msd.dims else msd
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < LOW, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= LASTING * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most
