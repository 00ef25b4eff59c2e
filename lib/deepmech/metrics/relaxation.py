"""Relaxation: times, powers and collapse of decaying curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.estimates import Estimate, jackknife, leave_one_out, linear_slope
from deepmech.core.labels import as_labelled

CROSSED, CENSORED, EARLY = "crossed", "censored", "early"
_POINTS = 60  # of the common axis of collapsed curves


@dataclass(frozen=True)
class Crossing:
    """When a curve first fell to a level.

    Attributes
    ----------
    time : float, or an array for several curves, as all that follows
        Interpolated between the records before and after, in the units of these; nan if it is not between any.
    least : float
        The time; where there is none, what it exceeds: the last record, or 0 if it came before the first.
    state : str
        ``"crossed"``; ``"censored"`` (it had not fallen by the last record) or ``"early"`` (it had fallen at the first
        record).
    """

    time: Any
    least: Any
    state: Any


def decorrelation_time(times: np.ndarray, overlap: np.ndarray, level: float = 0.9) -> Crossing:
    """First time at which ``overlap`` is at or below ``level``: τ₉₀ at 0.9, τ_e at 1/e.

    Between two records the overlap is taken as linear in the logarithm of time. Nan ends the curve.

    Parameters
    ----------
    times : (n,) increasing, > 0, in steps.
    overlap : (…, n) Q at these times; Q(0) = 1 is understood.
    level : in (0, 1).

    Returns
    -------
    Crossing

    Raises
    ------
    ValueError
        If shapes differ, times are not increasing and positive, or the level is outside (0, 1).

    Examples
    --------
    >>> decorrelation_time([1, 10, 100], [1.0, 0.95, 0.5]).state, decorrelation_time([1, 10], [1.0, 0.95]).state
    ('crossed', 'censored')
    """
    times = specs.check_array("decorrelation_time: times", times)
    overlap = specs.check_array("decorrelation_time: overlap", overlap)
    if times.shape != overlap.shape[-1:] or not _rises(times):
        raise ValueError(
            f"decorrelation_time: times {times.shape} and overlap {overlap.shape}: give equal lengths, times increasing"
        )
    if not (specs.is_real(level) and 0 < level < 1):
        raise ValueError(f"decorrelation_time: level = {level!r}: must be in (0, 1)")
    known = np.logical_and.accumulate(np.isfinite(overlap), -1)
    below = known & (overlap <= level)
    first = below.argmax(-1)
    state = np.where(~below.any(-1), CENSORED, np.where(first == 0, EARLY, CROSSED))
    k = np.clip(first, min(1, len(times) - 1), None)
    above, under = (np.take_along_axis(overlap, at[..., None], -1)[..., 0] for at in (k - 1, k))
    with np.errstate(all="ignore"):  # where nothing crosses, there may be nothing to divide by
        time = times[k - 1] * (times[k] / times[k - 1]) ** ((above - level) / (above - under))
    time = np.where(state == CROSSED, time, np.nan)
    end = np.append(0.0, times)[known.sum(-1)]
    least = np.select([state == CROSSED, state == EARLY], [time, 0.0], end)
    return Crossing(time, least, state) if overlap.ndim > 1 else Crossing(float(time), float(least), str(state))


def exponent(x: np.ndarray, y: np.ndarray) -> Estimate:
    """The power of x that y follows, by least squares of the logarithms.

    Parameters
    ----------
    x : (n,) finite and > 0, at least two different.
    y : (n,) or (runs, n). With runs, the fit is to the mean over runs, and the interval is over runs, which scatter by
        factors; without, it is that of a line through independent points. A point at which y (of any run) is not
        finite or not > 0 is left out.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        For x that are not finite and positive, shapes that do not fit, or fewer than two usable points.

    Examples
    --------
    >>> round(exponent([1, 10, 100], [3, 0.3, 0.03]).value, 6)
    -1.0
    """
    x, y = specs.check_array("exponent: x", x), specs.check_array("exponent: y", y)
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[-1:] != x.shape:
        raise ValueError(f"exponent: x {x.shape} and y {y.shape}: must be (n,), and (n,) or (runs, n)")
    if not (np.isfinite(x) & (x > 0)).all():
        bad = x[~(np.isfinite(x) & (x > 0))][0]
        raise ValueError(f"exponent: x holds {bad}: must be finite and > 0; leave out such points")
    runs = y if y.ndim == 2 else y[None]
    usable = (runs > 0).all(0) & np.isfinite(runs).all(0)
    if len(np.unique(x[usable])) < 2:
        raise ValueError(f"exponent: {int(usable.sum())} points with y > 0: give at least two, at different x")
    at, runs = np.log(x[usable]), runs[:, usable]

    def power(values: np.ndarray) -> float:
        return float(np.polyfit(at, np.log(values), 1)[0])

    found = power(runs.mean(0))
    if y.ndim == 1:
        return replace(linear_slope(at, np.log(runs[0])), value=found)
    fewer = [power(mean) for mean in leave_one_out(runs)] if len(runs) > 1 else [np.nan]
    return jackknife(found, np.array(fewer), scatter="symmetric")


@dataclass(frozen=True)
class Collapse:
    """Curves on a common axis of rescaled time.

    Attributes
    ----------
    rescaled : (points,) ndarray
        t/τ, rising.
    curves : (n, points) ndarray
        Nan outside each curve's record.
    spread : float
        Root mean square distance of the curves from their mean at equal rescaled time; 0 for a perfect collapse.
    """

    rescaled: np.ndarray
    curves: np.ndarray
    spread: float


def collapse(times: np.ndarray, curves: np.ndarray, taus: np.ndarray) -> Collapse:
    """Time-temperature superposition: curves over t/τ, on a common axis evenly spaced in the logarithm.

    Parameters
    ----------
    times : (n,) > 0, rising, in steps.
    curves : (m, n), one per temperature.
    taus : (m,) > 0, in steps; curves whose τ is nan are left out.

    Returns
    -------
    Collapse

    Raises
    ------
    ValueError
        If fewer than two curves have a τ, or shapes do not fit.

    Examples
    --------
    >>> t, taus = np.geomspace(1, 1e4, 50), np.array([10.0, 100.0])
    >>> collapse(t, np.exp(-t / taus[:, None]), taus).spread < 0.01
    True
    """
    times, curves, taus = (
        specs.check_array(f"collapse: {k}", v) for k, v in (("times", times), ("curves", curves), ("taus", taus))
    )
    if times.size < 2 or not _rises(times):
        specs.raise_invalid("collapse: times", times, "two or more, finite, > 0 and increasing")
    if np.any(taus <= 0):
        specs.raise_invalid("collapse: taus", taus, "> 0, or nan for a curve that is left out")
    if curves.shape != (len(taus), len(times)):
        raise ValueError(f"collapse: curves {curves.shape}: must be (taus, times) = ({len(taus)}, {len(times)})")
    kept = np.isfinite(taus)
    if kept.sum() < 2:
        raise ValueError(f"collapse: {int(kept.sum())} curves have a time τ: nothing to lay over one another")
    curves, taus = curves[kept], taus[kept]
    if (few := np.isfinite(curves).sum(1) < 2).any():
        first = int(np.argmax(few))
        raise ValueError(
            f"collapse: curves: that of τ = {taus[first]:g} has fewer than two finite values: leave it out, or give "
            "its τ as nan"
        )
    axis = np.geomspace(times[0] / taus.max(), times[-1] / taus.min(), _POINTS)
    rescaled = np.full((len(taus), _POINTS), np.nan)
    for into, curve, tau in zip(rescaled, curves, taus, strict=True):
        known = np.isfinite(curve)
        into[:] = np.interp(np.log(axis), np.log((times / tau)[known]), curve[known], left=np.nan, right=np.nan)
    return Collapse(axis, rescaled, _spread(rescaled))


def _spread(curves: np.ndarray) -> float:
    enough = np.isfinite(curves).sum(0) >= 2
    if not enough.any():
        return np.nan
    scale = specs.unit_scale(curves).item()
    shared = curves[:, enough] * scale
    return float(np.sqrt(np.nanmean((shared - np.nanmean(shared, 0)) ** 2)) / scale)


def interval_by_factors(value: Any, *without: Any) -> Estimate:
    """The interval of a time, or of a ratio of times, from what it is without each run.

    Times scatter by factors, and logarithms of means over many weights about symmetrically.

    Parameters
    ----------
    value : a time > 0, in any unit; or an array of them.
    without : the same without each run, runs along the first axis; of several samples of runs one array each.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> found = interval_by_factors(10.0, [9.0, 10.0, 11.0])
    >>> bool(found.low < 10 < found.high)
    True
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(w) for w in (value, *without)]
    return jackknife(*logs, scatter="symmetric").map(np.exp)


def decorrelation_times(overlap: xr.DataArray, level: float = 0.9) -> xr.Dataset:
    """τ of the mean overlap over runs, for each temperature or whatever else the overlap has for dimensions.

    Parameters
    ----------
    overlap : over ``seed`` (the runs), ``time`` and more; NaN ends a record.
    level : to which the overlap falls, as of :func:`decorrelation_time`.

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
    overlap = _over_time("decorrelation_times: overlap", overlap, "seed")
    outer = [str(d) for d in overlap.dims if d not in ("seed", "time")]
    runs = np.moveaxis(overlap.values, -2, 0)
    mean, others = (decorrelation_time(overlap.time.values, one, level) for one in (runs.mean(0), leave_one_out(runs)))
    low, high = interval_by_factors(mean.time, others.time).interval
    found = {"tau": mean.time, "low": low, "high": high, "least": mean.least}
    found |= {"without": np.moveaxis(others.time, 0, -1), "least_without": np.moveaxis(others.least, 0, -1)}
    coords = {d: overlap[d] for d in [*outer, "seed"] if d in overlap.coords}
    data = {k: ([*outer, "seed"][: np.ndim(v)], v) for k, v in found.items()} | {
        "state": (outer, np.asarray(mean.state, object))
    }
    return xr.Dataset(data, coords)


def _over_time(what: str, values: Any, *more: str) -> xr.DataArray:
    """Labelled real numbers with ``more`` and ``time`` last; times are positive and rise."""
    found = as_labelled(what, values, *more, "time")
    times = specs.check_array(f"{what}: time", found.time.values) if "time" in found.coords else np.zeros(1)
    if not _rises(times):
        raise ValueError(f"{what}: time: must be a coordinate of finite times > 0 that rise")
    return found


def _rises(times: np.ndarray) -> bool:
    """Whether these are one finite time > 0 or more, each later than the one before."""
    row = times.ndim == 1 and times.size > 0
    return row and bool(np.isfinite(times).all() and times[0] > 0 and (np.diff(times) > 0).all())


def local_powers(values: xr.DataArray) -> xr.DataArray:
    """d(log y)/d(log t) over ``time``, from a straight line through each factor of four in time; nan at the ends.

    Parameters
    ----------
    values : over ``time`` (a coordinate of times > 0) and more, > 0.

    Returns
    -------
    DataArray, as ``values``

    Examples
    --------
    >>> t = 2.0 ** np.arange(7)
    >>> local_powers(xr.DataArray(t**2, {"time": t}, "time")).values.round(3).tolist()
    [nan, 2.0, 2.0, 2.0, 2.0, 2.0, nan]
    """
    values = _over_time("local_powers: values", values)
    times, y = values.time.values.astype(float), values.values
    logs = np.log(np.maximum(y, np.finfo(y.dtype).tiny))  # some networks do not move at T = 0
    out = []
    for t in times:
        near = (times >= t / 2) & (times <= t * 2)
        x = np.log(times[near])
        x = x - x.mean()
        out.append((logs[..., near] * x).sum(-1) / (x**2).sum() if near.sum() > 2 else np.full(logs.shape[:-1], np.nan))
    return values.copy(data=np.stack(out, -1))
