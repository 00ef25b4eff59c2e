"""Times, exponents and collapse of decaying curves: τ at any level, time-temperature superposition, power laws."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deepmech.core import specs
from deepmech.core.estimates import Estimate, jackknife, leave_one_out, linear_slope

CROSSED, CENSORED, EARLY = "crossed", "censored", "early"


@dataclass(frozen=True)
class Crossing:
    """When a curve first fell to a level.

    ``state`` is ``"crossed"`` (``time`` is interpolated between the records ``low`` and ``high``), ``"censored"`` (it
    had not fallen by the last record: ``time`` is nan, ``low`` that record) or ``"early"`` (it had fallen at the first
    record: ``time`` is nan, ``high`` that record).
    """

    time: float
    low: float
    high: float
    state: str


def decorrelation_time(times: np.ndarray, overlap: np.ndarray, level: float = 0.9) -> Crossing:
    """First time at which ``overlap`` is at or below ``level``: τ₉₀ at 0.9, τ_e at 1/e.

    Between two records the overlap is taken as linear in the logarithm of time. Nan ends the curve.

    Parameters
    ----------
    times : (n,) increasing, > 0, in steps.
    overlap : (n,) Q at these times; Q(0) = 1 is understood.
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
    times = specs.array("decorrelation_time: times", times)
    overlap = specs.array("decorrelation_time: overlap", overlap)
    rising = times.ndim == 1 and times.size > 0 and bool((np.diff(times) > 0).all() and times[0] > 0)
    if times.shape != overlap.shape or not rising or not np.isfinite(times[-1]):
        raise ValueError(
            f"decorrelation_time: times {times.shape} and overlap {overlap.shape}: give equal lengths, times increasing"
        )
    if not (specs.is_real(level) and 0 < level < 1):
        raise ValueError(f"decorrelation_time: level = {level!r}: must be in (0, 1)")
    known = np.isfinite(overlap)
    n = len(overlap) if known.all() else int(np.argmin(known))
    below = np.flatnonzero(overlap[:n] <= level)
    if len(below) == 0:
        return Crossing(np.nan, times[n - 1] if n else 0.0, np.inf, CENSORED)
    k = int(below[0])
    if k == 0:
        return Crossing(np.nan, 0.0, times[0], EARLY)
    share = (overlap[k - 1] - level) / (overlap[k - 1] - overlap[k])
    time = times[k - 1] * (times[k] / times[k - 1]) ** share
    return Crossing(float(time), times[k - 1], times[k], CROSSED)


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
    x, y = specs.array("exponent: x", x), specs.array("exponent: y", y)
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
    """Curves on a common axis of rescaled time: ``curves`` (n, points), nan outside each curve's record.

    ``spread`` is the root mean square distance of the curves from their mean at equal rescaled time, ``before`` the
    same at equal time; ``quality`` = 1 - (spread / before)², 1 for a perfect collapse, 0 for none.
    """

    rescaled: np.ndarray
    curves: np.ndarray
    spread: float
    before: float
    quality: float


def collapse(times: np.ndarray, curves: np.ndarray, taus: np.ndarray, points: int = 60) -> Collapse:
    """Time-temperature superposition: curves over t/τ, compared with the same curves over t.

    Parameters
    ----------
    times : (n,) > 0. ``curves`` : (m, n), one per temperature. ``taus`` : (m,) > 0; curves whose τ is nan are left out.
    points : points of the common axis, evenly spaced in the logarithm.

    Returns
    -------
    Collapse

    Raises
    ------
    ValueError
        If fewer than two curves have a τ, or shapes do not fit.
    """
    times, curves, taus = (
        specs.array(f"collapse: {k}", v) for k, v in (("times", times), ("curves", curves), ("taus", taus))
    )
    points = specs.whole("collapse: points", points, 2)
    rising = times.ndim == 1 and times.size > 1 and bool((np.diff(times) > 0).all() and times[0] > 0)
    if not rising or not np.isfinite(times[-1]):
        specs.refuse("collapse: times", times, "two or more, finite, > 0 and increasing")
    if np.any(taus <= 0):
        specs.refuse("collapse: taus", taus, "> 0, or nan for a curve that is left out")
    if curves.shape != (len(taus), len(times)):
        raise ValueError(f"collapse: curves {curves.shape}: must be (taus, times) = ({len(taus)}, {len(times)})")
    kept = np.isfinite(taus)
    if kept.sum() < 2:
        raise ValueError(f"collapse: {int(kept.sum())} curves have a time τ: nothing to lay over one another")
    curves, taus = curves[kept], taus[kept]
    axis = np.geomspace(times[0] / taus.max(), times[-1] / taus.min(), points)
    rescaled = _on(axis, times[None] / taus[:, None], curves)
    spread = _spread(rescaled)
    before = _spread(_on(np.geomspace(times[0], times[-1], points), np.repeat(times[None], len(taus), 0), curves))
    quality = 1 - (spread / before) ** 2 if before > 0 else np.nan
    return Collapse(axis, rescaled, spread, before, quality)


def _on(axis: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    logs = np.log(axis)
    return np.array(
        [
            np.interp(logs, np.log(a[np.isfinite(b)]), b[np.isfinite(b)], left=np.nan, right=np.nan)
            for a, b in zip(x, y, strict=True)
        ]
    )


def _spread(curves: np.ndarray) -> float:
    enough = np.isfinite(curves).sum(0) >= 2
    shared = curves[:, enough]
    return float(np.sqrt(np.nanmean((shared - np.nanmean(shared, 0)) ** 2))) if enough.any() else np.nan
