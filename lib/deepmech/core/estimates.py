"""Estimates: a number and its 95 % interval, one for all, of means and what is made from them, slopes and shares.

What repeats itself independently is a *run*: a seed, a trial, a group of trials. Two runs give no interval. How many it
takes depends on how skewed single runs may be, which the caller has to say (:data:`MIN_RUNS`): no method covers the
means of arbitrarily skewed numbers, however many there are (Bahadur and Savage, Ann. Math. Stat. 27, 1115 (1956)).
Where runs are too few there is no interval, and :attr:`Estimate.reason` says so. Where there is one, it covers in 93 to
97 of 100 samples (the tests count), but for shares near 0 and 1 and for runs that share data, as said there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # which imports scipy.stats when it is first asked for: half a second
import xarray as xr
from scipy.special import stdtrit  # of Student's t, without the checks of scipy.stats

from deepmech.core import specs
from deepmech.core.random import Stream

LEVEL = 0.95
N_BOOT = 1000
#: Fewest runs for an interval, by what is known of the scatter of single runs: about symmetric (skewness up to 1, as
#: means of several have it; of uniform numbers 92 of 100 samples at three and four), skewed as exponential numbers are
#: (2), or anything up to e^z with normal z (6). Numbers that scatter by factors belong on a logarithm, where they are
#: symmetric: ``interval(np.log(x), …).map(np.exp)``.
MIN_RUNS = {"symmetric": 3, "skewed": 10, "any": 60}

UNKNOWN = "no interval: too few runs, or with one of them, or without it, the number is not finite"


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number, or an array of numbers, with its 95 % interval over independent runs. Two are equal if all their
    numbers and labels (of any type; nan, too), dimensions and words are.

    Attributes
    ----------
    value : number or array.
    low, high : number or array
        Ends of the interval, of the shape of ``value``; nan where there is none.
    n : int, optional
        Independent runs behind it, if it is known.
    reason : str
        Why there is no interval.
    null : number or array, optional
        The same number of a rival, if it was estimated on the same runs.
    difference : (number or array, number or array), optional
        Ends of the interval of ``value`` less ``null``.
    """

    value: Any
    low: Any = np.nan
    high: Any = np.nan
    n: int | None = None
    reason: str = ""
    null: Any = None
    difference: tuple[Any, Any] | None = None

    @property
    def interval(self) -> tuple[Any, Any]:
        """(low, high), to be drawn."""
        return self.low, self.high

    @property
    def is_finite(self) -> bool:
        """Whether there are numbers, and both ends of each are finite."""
        return np.size(self.low) > 0 and bool(np.all(np.isfinite(self.low)) and np.all(np.isfinite(self.high)))

    def map(self, change: Callable[[Any], Any]) -> Estimate:
        """Value, ends and null through a function that does not fall.

        What a changed value differs from a changed null by is not known from ``difference``, which is left out.

        Examples
        --------
        >>> Estimate(0.0, -1.0, 1.0).map(lambda x: 2 * x + 1).interval
        (-1.0, 3.0)
        """
        null = None if self.null is None else change(self.null)
        return replace(
            self, value=change(self.value), low=change(self.low), high=change(self.high), null=null, difference=None
        )

    def select(self, pick: Callable[[Any], Any]) -> Estimate:
        """All numbers, ``difference`` too, through a function that picks some of them, or puts labels on.

        Examples
        --------
        >>> both = Estimate(np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([2.0, 3.0]))
        >>> print(both.select(lambda numbers: numbers[1]))
        2.00 [1.00, 3.00]
        """
        difference = None if self.difference is None else (pick(self.difference[0]), pick(self.difference[1]))
        return replace(self.map(pick), difference=difference)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        pairs = zip(self._numbers(), other._numbers(), strict=True)
        return (self.n, self.reason) == (other.n, other.reason) and all(
            a is b if a is None or b is None else xr.DataArray(a).equals(xr.DataArray(b)) for a, b in pairs
        )

    def __hash__(self) -> int:
        return hash((np.shape(self.value), self.n, self.reason))

    def _numbers(self) -> tuple[Any, ...]:
        return self.value, self.low, self.high, self.null, *(self.difference or (None, None))

    def __str__(self) -> str:
        """Two decimals, with a true minus sign; the interval where there is one number, and it is known.

        Examples
        --------
        >>> print(Estimate(-0.5, -0.6, -0.4))
        −0.50 [−0.60, −0.40]
        """
        if np.ndim(self.value):
            return f"{np.size(self.value)} estimates"
        ends = " [{}, {}]".format(*map(two_decimals, self.interval)) if self.is_finite else ""
        return two_decimals(self.value) + ends


def two_decimals(value: float) -> str:
    """Two decimals with a true minus sign; a dash for nan."""
    return f"{value + 0.0:.2f}".replace("-", "−") if np.isfinite(value) else "–"


def unknown(reason: str, value: Any = np.nan) -> Estimate:
    """A number without an interval (or no number), and why.

    Examples
    --------
    >>> unknown("one run").is_finite
    False
    """
    return Estimate(value, np.full(np.shape(value), np.nan), np.full(np.shape(value), np.nan), reason=reason)


def stack(estimates: Iterable[Estimate] | Mapping[Any, Estimate], along: str | None = None) -> Estimate:
    """Several estimates of equal shapes as one of arrays; ``reason`` is that of the first without an interval.

    Of a mapping the arrays are labelled by its keys, along the dimension ``along``. A null, and the interval of the
    difference from it, is there where all estimates have one.

    Examples
    --------
    >>> stack([Estimate(1.0, 0.0, 2.0), Estimate(2.0, 1.0, 3.0)]).value
    array([1., 2.])
    """
    each = list(estimates.values() if isinstance(estimates, Mapping) else estimates)
    if not each or (isinstance(estimates, Mapping) and not isinstance(along, str)):
        raise ValueError(
            f"stack: {len(each)} estimates along {along!r}: give one or more, of a mapping a dimension too"
        )

    def joined(numbers: list[Any]) -> Any:
        if not isinstance(estimates, Mapping):
            return np.array(numbers)
        each = [xr.DataArray(one) for one in numbers]
        if not any(one.ndim or len(one.coords) for one in each):  # what concat does, which looks for labels for long
            values, first = np.stack([one.values for one in each]), each[0]
            return xr.DataArray(values, {along: list(estimates)}, along, first.name, first.attrs)
        return xr.concat(each, xr.Variable(along, list(estimates)))

    why = next((e.reason for e in each if e.reason), "")
    null = None if any(e.null is None for e in each) else joined([e.null for e in each])
    beyond = [e.difference for e in each if e.difference is not None]
    difference = None
    if beyond and len(beyond) == len(each):
        difference = (joined([low for low, _ in beyond]), joined([high for _, high in beyond]))
    n = [e.n for e in each if e.n is not None]
    return Estimate(
        joined([e.value for e in each]), joined([e.low for e in each]), joined([e.high for e in each]),
        min(n, default=None), why, null, difference,
    )  # fmt: skip


def estimate(
    runs: Any,
    over: str | None = None,
    scatter: str = "any",
    *,
    of: Callable[[Any], Any] | None = None,
    overlap: float = 0.0,
    at: Any = None,
) -> Estimate:
    """The mean of independent runs, or a smooth function of all of them, and its interval.

    Of symmetric runs Student's mean ± t s/√n. Of others the same with their skewness taken out by the cubic of Hall
    (J. R. Stat. Soc. B 54, 221 (1992)), less its constant γ/6n, which would make intervals of uniform numbers too wide;
    a skewness estimated from fewer than ten runs is worth nothing.

    Parameters
    ----------
    runs : array_like, DataArray or Dataset
        Along ``over``, or along the first axis of a plain array.
    over : str, optional
        Name of the dimension of runs of a labelled array.
    scatter : str
        What is known of single runs, a key of :data:`MIN_RUNS`.
    of : callable, optional
        The function, of labelled runs (a dataset, too) to a number; None for the mean. Its interval is from what it is
        of all runs but one, for each of them (:func:`jackknife`).
    overlap : float
        For runs that share data: the size of the part tested over that of the part fitted (Nadeau and Bengio,
        Mach. Learn. 52, 239 (2003)). Such intervals cover in 97 to 99 of 100 samples.
    at : number that the interval is laid about in place of the mean.

    Returns
    -------
    Estimate
        Of the shape of one run. Ends are nan where a run is not finite, and one point where all runs are equal.

    Raises
    ------
    ValueError
        For an unknown scatter, an unknown ``over``, no runs, booleans, or ``overlap`` or ``at`` beside ``of``.

    Examples
    --------
    >>> print(estimate(np.arange(12.0), scatter="skewed"))
    5.50 [3.21, 7.79]
    >>> loss = xr.Dataset({"loss": ("seed", [1.0, 2.0, 6.0])})
    >>> print(estimate(loss, "seed", "symmetric", of=lambda some: float(np.log(some.loss.mean()))))
    1.10 [−1.54, 3.74]
    """
    if of is not None:
        if overlap or at is not None:
            raise ValueError(
                "estimate: overlap and at are for means; leave them out beside of, whose interval is another"
            )
        if not _has(runs, over):
            raise ValueError(f"estimate: over = {over!r}: with of it must be a dimension of labelled runs")
        n = runs.sizes[over]
        each = [of(runs.drop_isel({over: i})) for i in range(n)] if n > 1 else [of(runs) * np.nan]
        return jackknife(of(runs), np.array(each), scatter=scatter)
    values, overlap = _runs("estimate", runs, over), specs.check_real("estimate: overlap", overlap, 0.0)
    found = _around(values.mean(0) if at is None else _like(at, runs, over), [values], scatter, overlap)
    return found.map(_labelled(runs, over))


def jackknife(value: Any, *without: Any, over: str | None = None, scatter: str = "any") -> Estimate:
    """A smooth function of runs and its interval, from what it is without each of them in turn.

    Of a mean this is :func:`estimate`. Not for medians, extremes and other numbers that jump (:func:`bootstrap`).

    Parameters
    ----------
    value : number or array
        The function of all runs.
    without : array_like or DataArray
        Its values without each run (:func:`leave_one_out`), along ``over`` or the first axis; for a function of
        two independent samples of symmetric scatter a second array, without each run of the second. Variances add, and
        degrees of freedom are Welch's.
    over, scatter
        As for :func:`estimate`.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0, 3.0])
    >>> one = jackknife(x.mean(), leave_one_out(x), scatter="symmetric")
    >>> np.allclose(one.interval, estimate(x, scatter="symmetric").interval)
    True
    """
    if not without:
        raise ValueError("jackknife: without: give the values without each run (leave_one_out)")
    like = without[0]
    labelled = over is not None and all(isinstance(w, xr.DataArray) for w in without)
    left = [_runs("jackknife", w.transpose(*like.dims) if labelled else w, over) for w in without]
    # What each run adds to the function: of a mean, its distance from the mean.
    with np.errstate(invalid="ignore"):
        shares = [(len(w) - 1) * (w.mean(0) - w) for w in left]
    found = _around(_like(value, like, over), shares, scatter, 0.0).map(_labelled(like, over))
    return replace(found, value=value)


def leave_one_out(runs: Any, over: str | None = None) -> Any:
    """Means over all runs but one, for each of them: ``runs`` with these in the place of single runs.

    Examples
    --------
    >>> leave_one_out(np.array([1.0, 2.0, 6.0])).tolist()
    [4.0, 3.5, 1.5]
    """
    if over is None:
        runs = np.atleast_1d(np.asarray(runs, float))
        # Without the only run there is none.
        return (runs.sum(0) - runs) / (len(runs) - 1) if len(runs) > 1 else np.full_like(runs, np.nan)
    if not _has(runs, over):
        raise ValueError(f"leave_one_out: over = {over!r}: must be a dimension of labelled runs")
    n = runs.sizes[over]
    return (runs.sum(over, skipna=False) - runs).transpose(*runs.dims) / (n - 1 if n > 1 else np.nan)


def _has(runs: Any, over: Any) -> bool:
    """Whether ``over`` names a dimension of labelled runs."""
    return isinstance(over, str) and over in getattr(runs, "sizes", {})


def _runs(owner: str, values: Any, over: str | None) -> np.ndarray:
    """Runs along the first axis, float64."""
    if isinstance(values, xr.DataArray):
        if not _has(values, over):
            raise ValueError(f"{owner}: over = {over!r}: must be the dimension of runs, one of {values.dims}")
        values = values.transpose(over, ...).values
    elif over is not None:
        raise ValueError(f"{owner}: over = {over!r} of an array without labels; leave it out, runs are the first axis")
    if np.asarray(values).dtype == bool:
        raise ValueError(f"{owner}: runs are booleans; the estimate of a share is proportion(share, n)")
    values = specs.check_array(f"{owner}: runs", values, "real numbers")
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(f"{owner}: runs of shape {values.shape}: give several runs along the first axis")
    return values


def _around(centre: np.ndarray, samples: list[np.ndarray], scatter: str, overlap: float) -> Estimate:
    """The interval of a sum of means of independent samples, runs along their first axes, laid about ``centre``."""
    if len(samples) > 1 and scatter != "symmetric":
        raise ValueError(f"jackknife: scatter = {scatter!r} of two samples: only 'symmetric' is known to cover")
    n = min(len(s) for s in samples)
    if why := _too_few(n, scatter):
        return replace(unknown(why, centre), n=n)
    parts = []
    for s in samples:
        k, off = len(s), s - s.mean(0)
        parts.append((k, off.var(0, ddof=1) * (1 / k + overlap), (off**3).mean(0) * (k / (k - 1)) ** 1.5 / k**2))
    variance = np.sum([v for _, v, _ in parts], 0)
    constant = variance == 0
    error = np.sqrt(np.where(constant, 1.0, variance))
    with np.errstate(invalid="ignore"):
        share = np.sum([(v / error**2) ** 2 / (k - 1) for k, v, _ in parts], 0) if len(parts) > 1 else 1 / (n - 1)
        far = stdtrit(1 / np.where(constant, 1.0, share), (1 + LEVEL) / 2)
        skewness = np.sum([m for _, _, m in parts], 0) / error**3 if scatter != "symmetric" else 0.0
    roots = (np.cbrt(1 + sign * skewness * far) for sign in (1, -1))
    # (c - 1)/skewness with c the cube root, without dividing by a skewness that may be zero.
    below, above = (np.where(constant, 0.0, 3 * far * error / (c * c + c + 1)) for c in roots)
    found = Estimate(centre, centre - below, centre + above, n)
    return found if found.is_finite else replace(found, reason=UNKNOWN)


def _too_few(n: int, scatter: str) -> str:
    """Why ``n`` runs have no interval; empty if they have."""
    if not isinstance(scatter, str) or scatter not in MIN_RUNS:
        raise ValueError(f"estimate: scatter = {scatter!r}: must be one of {', '.join(map(repr, MIN_RUNS))}")
    few = f"too few runs for an interval: {n}, and with {scatter} scatter it takes {MIN_RUNS[scatter]}"
    return few if n < MIN_RUNS[scatter] else ""


def _like(value: Any, runs: Any, over: str | None) -> np.ndarray:
    """A number for each element of one run, in the order of its dimensions."""
    if isinstance(value, xr.DataArray) and isinstance(runs, xr.DataArray):
        value = value.transpose(*(d for d in runs.dims if d != over))
    return np.asarray(value, float)


def _labelled(runs: Any, over: str | None) -> Callable[[Any], Any]:
    """Puts the labels of one run on."""
    if not isinstance(runs, xr.DataArray):
        return lambda end: end
    one = runs.isel({over: 0}, drop=True)
    return lambda end: one.copy(data=end)


def linear_slope(x: Any, y: Any) -> Estimate:
    """The slope of a straight line through independent points, by least squares, and its interval by Student's t.

    Two points have no scatter about their line, and so no interval.

    Examples
    --------
    >>> print(linear_slope([0, 1, 2, 3], [0.0, 1.1, 1.9, 3.0]))
    0.98 [0.80, 1.16]
    """
    x, y = specs.check_array("linear_slope: x", x), specs.check_array("linear_slope: y", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"linear_slope: x {x.shape} and y {y.shape}: give two equal lengths")
    if not (np.isfinite(x).all() and len(np.unique(x)) > 1):
        raise ValueError(f"linear_slope: x = {specs.short_repr(x)}: must be finite, and two or more of them different")
    fit = scipy.stats.linregress(x, y)
    if x.size < 3:
        return unknown(f"too few points for the interval of a slope: {x.size}, and it takes 3", float(fit.slope))
    reach = stdtrit(x.size - 2, (1 + LEVEL) / 2) * fit.stderr
    return Estimate(float(fit.slope), float(fit.slope - reach), float(fit.slope + reach), x.size)


def crossing(x: Any, y: Any, level: float = 0.0, *, direction: str, last: bool = False) -> float:
    """Where a curve first (or ``last``) passes ``level``, linear between its points; nan if it never does.

    Parameters
    ----------
    x, y : (n,), x rising. Where y is nan the curve passes nothing.
    direction : str
        ``"falls"``, from above to the level or below it; ``"rises"``, from below to the level or above it; or
        ``"either"``.

    Raises
    ------
    ValueError
        If shapes differ, or there is no such direction.

    Examples
    --------
    >>> curve = [2.0, 1.0, -1.0]
    >>> crossing([0, 1, 2], curve, direction="falls"), crossing([0, 1, 2], curve, direction="rises")
    (1.5, nan)
    """
    x = specs.check_array("crossing: x", x)
    y = specs.check_array("crossing: y", y) - specs.check_real("crossing: level", level)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"crossing: x {x.shape} and y {y.shape}: give two equal lengths")
    if direction not in ("falls", "rises", "either"):
        raise ValueError(f"crossing: direction = {direction!r}: must be 'falls', 'rises' or 'either'")
    falls, rises = (y[:-1] > 0) & (y[1:] <= 0), (y[:-1] < 0) & (y[1:] >= 0)
    passes = np.flatnonzero(falls if direction == "falls" else rises if direction == "rises" else falls | rises)
    if passes.size == 0:
        return float("nan")
    i = passes[-1 if last else 0]
    return float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1]))


def proportion(share: Any, n: int) -> Estimate:
    """A share of ``n`` independent runs, with Wilson's interval, which stays meaningful at 0 and 1.

    On average over true shares it covers in 95 to 96 of 100 samples; at the worst, for shares near 0 or 1, in 83.

    Examples
    --------
    >>> print(proportion(0.0, 100))
    0.00 [0.00, 0.04]
    """
    n, shares = specs.check_int("proportion: n", n), specs.check_array("proportion: share", share)
    counts, kind = np.round(shares * n), np.asarray(share).dtype
    # Shares of few digits (float32) are off by some of their last; by half a run, nobody knows which share is meant.
    off = min(1e-3 + 4 * n * (float(np.finfo(kind).eps) if kind.kind == "f" else 0.0), 0.5)
    if not np.all((shares >= 0) & (shares <= 1) & (np.abs(shares * n - counts) < off)):
        raise ValueError(f"proportion: share = {share!r}: must be a share of n = {n} runs: 0, 1/{n}, …, 1")
    if why := _too_few(n, "symmetric"):
        return replace(unknown(why, share), n=n)
    different, where = np.unique(counts.ravel(), return_inverse=True)
    each = np.array([scipy.stats.binomtest(int(k), n).proportion_ci(LEVEL, "wilson") for k in different])[where]
    low, high = (each[:, k].reshape(shares.shape) for k in (0, 1))
    found = Estimate(share, low, high, n)
    if isinstance(share, xr.DataArray):
        found = replace(found, low=share.copy(data=low), high=share.copy(data=high))
    return found


def rank_correlation(x: xr.DataArray, y: xr.DataArray, over: str) -> Estimate:
    """Spearman's rank correlation over cells, of means over runs; its interval is over runs.

    The cells are the same whoever repeats the experiment, and neighbours are alike: to resample cells would say nothing
    of what a repetition gives. So runs are drawn anew (:func:`bootstrap`).

    Parameters
    ----------
    x, y : DataArray
        Labelled arrays over the same cells and over runs, along ``over``. Run i of x and of y go together. Cells
        without a finite mean of both are left out.

    Raises
    ------
    ValueError
        For different labels, fewer than three cells, or means that are all equal.

    Examples
    --------
    >>> noise = xr.DataArray(np.sin(np.arange(120.0)).reshape(12, 10), dims=("cell", "seed"))
    >>> cells = xr.DataArray(np.arange(12.0), dims="cell")
    >>> print(rank_correlation(cells + noise, noise - cells, "seed"))
    −1.00 [−1.00, −0.97]
    """
    for name, array in (("x", x), ("y", y)):
        if not isinstance(array, xr.DataArray) or not _has(array, over):
            raise ValueError(f"rank_correlation: {name}: must be a labelled array over {over!r}")
    x, y = (a.transpose(over, ...) for a in xr.align(x, y, join="exact"))
    cells = [d for d in x.dims if d != over]
    if set(x.dims) != set(y.dims):
        raise ValueError(f"rank_correlation: x {x.dims} and y {y.dims}: must have the same dimensions")
    a, b = (v.transpose(over, *cells).values.reshape(v.sizes[over], -1).astype(float) for v in (x, y))
    usable = np.isfinite(a).all(0) & np.isfinite(b).all(0)
    a, b = a[:, usable], b[:, usable]
    for name, means in (("x", a.mean(0)), ("y", b.mean(0))):
        if means.size < 3 or np.ptp(means) == 0:
            raise ValueError(
                f"rank_correlation: {name} has {np.unique(means).size} different values in {means.size} cells: "
                "no ranks to compare; give at least three cells that differ"
            )
    return bootstrap(spearman, a, b).map(lambda end: float(np.clip(end, -1.0, 1.0)))


def bootstrap(
    statistic: Callable[..., Any],
    *runs: np.ndarray,
    n_draws: int = N_BOOT,
    percentiles: bool = False,
) -> Estimate:
    """A number that jumps, such as a rank or the place of a maximum, and its interval: runs are drawn anew.

    Half the width is the spread of what the draws give times Student's t.

    Parameters
    ----------
    statistic : callable
        Makes numbers of means over runs, of any number of draws along their first axis.
    runs : arrays with the same independent runs, of skewed scatter (:data:`MIN_RUNS`), along their first axes.
    n_draws : int
        How often runs are drawn.
    percentiles : bool
        The middle 95 % of what the draws give in place of that, for a number with few values far from one
        another, between which there is none.

    Examples
    --------
    >>> print(bootstrap(lambda mean: mean, np.arange(12.0)))
    5.50 [3.27, 7.73]
    """
    if not runs or any(np.ndim(one) == 0 for one in runs):
        raise ValueError("bootstrap: runs: give one or more arrays of runs, which are along their first axes")
    n = len(runs[0])
    value = np.asarray(statistic(*(r.mean(0, keepdims=True) for r in runs)), float)[0]
    if why := _too_few(n, "skewed"):
        return replace(unknown(why, value), n=n)
    n_draws = specs.check_int("bootstrap: n_draws", n_draws)
    picks = (Stream.of("rank correlation").uniform("runs", 0, (n_draws, n)) * n).astype(int)
    weights = np.stack([np.bincount(p, minlength=n) for p in picks]) / n
    drawn = np.asarray(statistic(*(np.tensordot(weights, r, 1) for r in runs)), float)
    if percentiles:
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return Estimate(value, low, high, n)
    # Means of n resampled runs scatter by √((n - 1)/n) less than those of n new ones.
    reach = stdtrit(n - 1, (1 + LEVEL) / 2) * drawn.std(0) * np.sqrt(n / (n - 1))
    return Estimate(value, value - reach, value + reach, n)


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation along the last axis; nan where one of the two is constant."""
    a, b = scipy.stats.rankdata(x, axis=-1), scipy.stats.rankdata(y, axis=-1)
    a, b = a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.full(norm.shape, np.nan), where=norm > 0)
