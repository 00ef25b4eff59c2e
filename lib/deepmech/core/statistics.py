"""The 95 % interval, one for all: of means, of what is made from means, of slopes, shares and rank correlations.

What repeats itself independently is a *run*: a seed, a trial, a group of trials. Two runs give no interval. How many it
takes depends on how skewed single runs may be, which the caller has to say (:data:`FEWEST`): no method covers the means
of arbitrarily skewed numbers, however many there are (Bahadur and Savage, Ann. Math. Stat. 27, 1115 (1956)). Where runs
are too few there is no interval, and :attr:`Interval.why` says so. Where there is one, it covers in 93 to 97 of 100
samples (the tests count), but for shares near 0 and 1 and for runs that share data, as said there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import binomtest, linregress, rankdata
from scipy.stats import t as student

from deepmech.core import checks
from deepmech.core.random import Stream

LEVEL = 0.95
N_BOOT = 1000
#: Fewest runs for an interval, by what is known of the scatter of single runs: about symmetric (skewness up to 1, as
#: means of several have it; of uniform numbers 92 of 100 samples at three and four), skewed as exponential numbers are
#: (2), or anything up to e^z with normal z (6). Numbers that scatter by factors belong on a logarithm, where they are
#: symmetric: ``interval(np.log(x), …).map(np.exp)``.
FEWEST = {"symmetric": 3, "skewed": 10, "any": 60}

UNKNOWN = "no interval: too few runs, or with one of them, or without it, the number is not finite"


@dataclass(frozen=True)
class Interval:
    """A 95 % interval: numbers or arrays, nan where there is none, and then ``why``."""

    low: Any
    high: Any
    why: str = ""

    @property
    def ends(self) -> tuple[Any, Any]:
        """(low, high), to be drawn."""
        return self.low, self.high

    @property
    def known(self) -> bool:
        """Whether both ends are finite everywhere."""
        return bool(np.all(np.isfinite(self.low)) and np.all(np.isfinite(self.high)))

    def map(self, change: Callable[[Any], Any]) -> Interval:
        """Both ends through a function that does not fall, or through a selection."""
        return Interval(change(self.low), change(self.high), self.why)

    def for_claim(self) -> dict[str, Any]:
        """For ``ledger.check(claim, measured=…, **this)``: the interval, or why the claim is not testable.

        Examples
        --------
        >>> interval([1.0, 2.0, 3.0], scatter="symmetric").for_claim()["interval"][0].round(2)
        np.float64(-0.48)
        >>> interval([1.0, 2.0]).for_claim()
        {'not_testable': 'too few runs for an interval: 2, and with any scatter it takes 60'}
        """
        return {"interval": self.ends} if self.known else {"not_testable": self.why or UNKNOWN}


def unknown(why: str, shape: tuple[int, ...] = ()) -> Interval:
    """No interval of numbers of this shape, and why.

    Examples
    --------
    >>> unknown("one run").for_claim()
    {'not_testable': 'one run'}
    """
    return Interval(np.full(shape, np.nan), np.full(shape, np.nan), why)


def together(intervals: Iterable[Interval]) -> Interval:
    """Several intervals as one of arrays; ``why`` is that of the first that is missing."""
    found = list(intervals)
    low, high = (np.array([i.ends[k] for i in found]) for k in (0, 1))
    return Interval(low, high, next((i.why for i in found if i.why), ""))


def interval(
    values: Any, dim: str | None = None, scatter: str = "any", overlap: float = 0.0, at: Any = None
) -> Interval:
    """The interval of a mean over independent runs.

    Of symmetric runs Student's mean ± t s/√n. Of others the same with their skewness taken out by the cubic of Hall
    (J. R. Stat. Soc. B 54, 221 (1992)), less its constant γ/6n, which would make intervals of uniform numbers too wide;
    a skewness estimated from fewer than ten runs is worth nothing.

    Parameters
    ----------
    values : runs along ``dim``, or along the first axis of a plain array.
    dim : name of the dimension of runs of a labelled array.
    scatter : what is known of single runs, a key of :data:`FEWEST`.
    overlap : for runs that share data: the size of the part tested over that of the part fitted (Nadeau and Bengio,
        Mach. Learn. 52, 239 (2003)). Such intervals cover in 97 to 99 of 100 samples.
    at : number that the interval is laid about in place of the mean.

    Returns
    -------
    Interval
        Of the shape of one run. Nan where a run is not finite; one point where all runs are equal.

    Raises
    ------
    ValueError
        For an unknown scatter, an unknown ``dim``, no runs, or booleans.

    Examples
    --------
    >>> [round(float(end), 3) for end in interval(np.arange(12.0), scatter="skewed").ends]
    [3.209, 7.791]
    """
    runs = _runs("interval", values, dim)
    found = _around(runs.mean(0) if at is None else _like(at, values, dim), [runs], scatter, overlap)
    return found.map(lambda end: _labelled(end, values, dim))


def interval_of(value: Any, *without: Any, dim: str | None = None, scatter: str = "any") -> Interval:
    """The interval of a smooth function of runs, from what it is without each of them in turn (jackknife).

    Of a mean this is :func:`interval`. Not for medians, extremes and other numbers that jump.

    Parameters
    ----------
    value : the function of all runs.
    without : its values without each run (:func:`without_each`), along ``dim`` or the first axis; for a function of two
        independent samples of symmetric scatter a second array, without each run of the second. Variances add, and
        degrees of freedom are Welch's.
    dim, scatter : as for :func:`interval`.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0, 3.0])
    >>> one = interval_of(x.mean(), without_each(x), scatter="symmetric")
    >>> np.allclose(one.ends, interval(x, scatter="symmetric").ends)
    True
    """
    like = without[0]
    left = [_runs("interval_of", w if dim is None else w.transpose(*like.dims), dim) for w in without]
    # What each run adds to the function: of a mean, its distance from the mean.
    with np.errstate(invalid="ignore"):
        shares = [(len(w) - 1) * (w.mean(0) - w) for w in left]
    return _around(_like(value, like, dim), shares, scatter, 0.0).map(lambda end: _labelled(end, like, dim))


def without_each(runs: Any, dim: str | None = None) -> Any:
    """Means over all runs but one, for each of them: ``runs`` with these in the place of single runs.

    Examples
    --------
    >>> without_each(np.array([1.0, 2.0, 6.0])).tolist()
    [4.0, 3.5, 1.5]
    """
    if dim is None:
        runs = np.asarray(runs, float)
        # Without the only run there is none.
        return (runs.sum(0) - runs) / (len(runs) - 1) if len(runs) > 1 else np.full_like(runs, np.nan)
    n = runs.sizes[dim]
    return (runs.sum(dim, skipna=False) - runs).transpose(*runs.dims) / (n - 1 if n > 1 else np.nan)


def without_each_of(found: Callable[[xr.Dataset], float], runs: xr.Dataset, dim: str) -> np.ndarray:
    """What ``found`` says of all runs along ``dim`` but one, for each of them; nan where there is only one run.

    For numbers that are no functions of means; of those see :func:`without_each`.

    Examples
    --------
    >>> runs = xr.Dataset({"loss": ("seed", [1.0, 2.0, 6.0])})
    >>> without_each_of(lambda some: float(some.loss.median()), runs, "seed").tolist()
    [4.0, 3.5, 1.5]
    """
    n = runs.sizes[dim]
    return np.array([found(runs.drop_isel({dim: i})) for i in range(n)] if n > 1 else [np.nan])


def _runs(owner: str, values: Any, dim: str | None) -> np.ndarray:
    """Runs along the first axis, float64."""
    if isinstance(values, xr.DataArray):
        if dim not in values.dims:
            raise ValueError(f"{owner}: dim = {dim!r}: must be the dimension of runs, one of {values.dims}")
        values = values.transpose(dim, ...).values
    elif dim is not None:
        raise ValueError(f"{owner}: dim = {dim!r} of an array without labels; leave it out, runs are the first axis")
    if np.asarray(values).dtype == bool:
        raise ValueError(f"{owner}: runs are booleans; the interval of a share is share_interval(share, n)")
    values = checks.array(f"{owner}: runs", values, "real numbers")
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(f"{owner}: runs of shape {values.shape}: give several runs along the first axis")
    return values


def _around(centre: np.ndarray, samples: list[np.ndarray], scatter: str, overlap: float) -> Interval:
    """The interval of a sum of means of independent samples, runs along their first axes, laid about ``centre``."""
    if len(samples) > 1 and scatter != "symmetric":
        raise ValueError(f"interval_of: scatter = {scatter!r} of two samples: only 'symmetric' is known to cover")
    n = min(len(s) for s in samples)
    if why := _too_few(n, scatter):
        return unknown(why, np.shape(centre))
    parts = []
    for s in samples:
        k, off = len(s), s - s.mean(0)
        parts.append((k, off.var(0, ddof=1) * (1 / k + overlap), (off**3).mean(0) * (k / (k - 1)) ** 1.5 / k**2))
    variance = np.sum([v for _, v, _ in parts], 0)
    still = variance == 0
    error = np.sqrt(np.where(still, 1.0, variance))
    with np.errstate(invalid="ignore"):
        share = np.sum([(v / error**2) ** 2 / (k - 1) for k, v, _ in parts], 0) if len(parts) > 1 else 1 / (n - 1)
        far = student.ppf((1 + LEVEL) / 2, 1 / np.where(still, 1.0, share))
        skewness = np.sum([m for _, _, m in parts], 0) / error**3 if scatter != "symmetric" else 0.0
    roots = (np.cbrt(1 + sign * skewness * far) for sign in (1, -1))
    # (c - 1)/skewness with c the cube root, without dividing by a skewness that may be zero.
    below, above = (np.where(still, 0.0, 3 * far * error / (c * c + c + 1)) for c in roots)
    found = Interval(centre - below, centre + above)
    return found if found.known else Interval(*found.ends, why=UNKNOWN)


def _too_few(n: int, scatter: str) -> str:
    """Why ``n`` runs have no interval; empty if they have."""
    if scatter not in FEWEST:
        raise ValueError(f"interval: scatter = {scatter!r}: must be one of {', '.join(map(repr, FEWEST))}")
    few = f"too few runs for an interval: {n}, and with {scatter} scatter it takes {FEWEST[scatter]}"
    return few if n < FEWEST[scatter] else ""


def _like(value: Any, runs: Any, dim: str | None) -> np.ndarray:
    """A number for each element of one run, in the order of its dimensions."""
    if isinstance(value, xr.DataArray) and isinstance(runs, xr.DataArray):
        value = value.transpose(*(d for d in runs.dims if d != dim))
    return np.asarray(value, float)


def _labelled(end: Any, runs: Any, dim: str | None) -> Any:
    """``end`` with the labels of one run."""
    return runs.isel({dim: 0}, drop=True).astype(float).copy(data=end) if isinstance(runs, xr.DataArray) else end


def slope_interval(x: Any, y: Any) -> Interval:
    """The interval of the slope of a straight line through independent points, by least squares and Student's t.

    Two points have no scatter about their line, and so no interval.

    Examples
    --------
    >>> [round(end, 2) for end in slope_interval([0, 1, 2, 3], [0.0, 1.1, 1.9, 3.0]).ends]
    [0.8, 1.16]
    """
    x, y = checks.array("slope_interval: x", x), checks.array("slope_interval: y", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"slope_interval: x {x.shape} and y {y.shape}: give two equal lengths")
    if x.size < 3:
        return unknown(f"too few points for the interval of a slope: {x.size}, and it takes 3")
    fit = linregress(x, y)
    reach = student.ppf((1 + LEVEL) / 2, x.size - 2) * fit.stderr
    return Interval(float(fit.slope - reach), float(fit.slope + reach))


def crossing(x: Any, y: Any, level: float = 0.0, *, way: str, last: bool = False) -> float:
    """Where a curve first (or ``last``) passes ``level``, linear between its points; nan if it never does.

    Parameters
    ----------
    x, y : (n,), x rising. Where y is nan the curve passes nothing.
    way : ``"falls"``, from above to the level or below it; ``"rises"``, from below to the level or above it; or
        ``"either"``.

    Raises
    ------
    ValueError
        If shapes differ, or there is no such way.

    Examples
    --------
    >>> crossing([0, 1, 2], [2.0, 1.0, -1.0], way="falls"), crossing([0, 1, 2], [2.0, 1.0, -1.0], way="rises")
    (1.5, nan)
    """
    x, y = checks.array("crossing: x", x).astype(float), checks.array("crossing: y", y).astype(float) - level
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"crossing: x {x.shape} and y {y.shape}: give two equal lengths")
    if way not in ("falls", "rises", "either"):
        raise ValueError(f"crossing: way = {way!r}: must be 'falls', 'rises' or 'either'")
    falls, rises = (y[:-1] > 0) & (y[1:] <= 0), (y[:-1] < 0) & (y[1:] >= 0)
    passes = np.flatnonzero(falls if way == "falls" else rises if way == "rises" else falls | rises)
    if passes.size == 0:
        return float("nan")
    i = passes[-1 if last else 0]
    return float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1]))


def share_interval(share: Any, n: int) -> Interval:
    """Wilson's interval of a share of ``n`` independent runs, which stays meaningful at 0 and 1.

    On average over true shares it covers in 95 to 96 of 100 samples; at the worst, for shares near 0 or 1, in 83.

    Examples
    --------
    >>> [round(float(end), 3) for end in share_interval(0.0, 100).ends]
    [0.0, 0.037]
    """
    n, shares = checks.whole("share_interval: n", n), checks.array("share_interval: share", share)
    counts = np.round(shares * n)
    if not np.all((shares >= 0) & (shares <= 1) & (np.abs(shares * n - counts) < 1e-3)):
        raise ValueError(f"share_interval: share = {share!r}: must be a share of n = {n} runs: 0, 1/{n}, …, 1")
    if why := _too_few(n, "symmetric"):
        found = unknown(why, shares.shape)
    else:
        different, where = np.unique(counts.ravel(), return_inverse=True)
        each = np.array([binomtest(int(k), n).proportion_ci(LEVEL, "wilson") for k in different])[where]
        found = Interval(each[:, 0].reshape(shares.shape), each[:, 1].reshape(shares.shape))
    return found.map(lambda end: share.copy(data=end) if isinstance(share, xr.DataArray) else end)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's ρ over ``n`` cells, of means over runs, and its interval."""

    rho: float
    interval: Interval
    n: int


def rank_correlation(
    x: xr.DataArray, y: xr.DataArray, dim: str, scatter: str = "skewed", of: Callable[[Any], Any] = np.asarray
) -> RankCorrelation:
    """Spearman's rank correlation over cells, of means over runs; its interval is over runs.

    The cells are the same whoever repeats the experiment, and neighbours are alike: to resample cells would say nothing
    of what a repetition gives. So runs are drawn anew (:func:`interval_by_drawing`).

    Parameters
    ----------
    x, y : labelled arrays over the same cells and over runs, along ``dim``. Run i of x and of y go together. Cells
        without a finite mean of both are left out.
    of : what of the means of x is ranked, for example ``abs``.

    Raises
    ------
    ValueError
        For different labels, fewer than three cells, or means that are all equal.

    Examples
    --------
    >>> noise = xr.DataArray(np.sin(np.arange(120.0)).reshape(12, 10), dims=("cell", "seed"))
    >>> cells = xr.DataArray(np.arange(12.0), dims="cell")
    >>> found = rank_correlation(cells + noise, noise - cells, "seed")
    >>> [round(float(v), 2) for v in (found.rho, *found.interval.ends)]
    [-1.0, -1.0, -0.97]
    """
    x, y = (a.transpose(dim, ...) for a in xr.align(x, y, join="exact"))
    cells = [d for d in x.dims if d != dim]
    if set(x.dims) != set(y.dims):
        raise ValueError(f"rank_correlation: x {x.dims} and y {y.dims}: must have the same dimensions")
    a, b = (v.transpose(dim, *cells).values.reshape(v.sizes[dim], -1).astype(float) for v in (x, y))
    usable = np.isfinite(a).all(0) & np.isfinite(b).all(0)
    a, b = a[:, usable], b[:, usable]
    for name, means in (("x", of(a.mean(0))), ("y", b.mean(0))):
        if means.size < 3 or np.ptp(means) == 0:
            raise ValueError(
                f"rank_correlation: {name} has {np.unique(means).size} different values in {means.size} cells: "
                "no ranks to compare; give at least three cells that differ"
            )
    rho = float(spearman(of(a.mean(0)), b.mean(0)))
    between = interval_by_drawing(lambda x, y: spearman(of(x), y), a, b, scatter=scatter)
    return RankCorrelation(rho, between.map(lambda end: float(np.clip(end, -1.0, 1.0))), a.shape[1])


def interval_by_drawing(
    statistic: Callable[..., Any], *runs: np.ndarray, scatter: str = "skewed", n_draws: int = N_BOOT
) -> Interval:
    """The interval of a number that jumps, such as a rank or the place of a maximum: runs are drawn anew (bootstrap).

    Half the width is the spread of what the draws give times Student's t.

    Parameters
    ----------
    statistic : makes numbers of means over runs, of any number of draws along their first axis.
    runs : arrays with the same independent runs along their first axes.
    scatter : as for :func:`interval`.
    n_draws : how often runs are drawn.

    Examples
    --------
    >>> x = np.arange(12.0)
    >>> [round(float(end), 1) for end in interval_by_drawing(lambda mean: mean, x).ends]
    [3.3, 7.7]
    """
    n = len(runs[0])
    value = np.asarray(statistic(*(r.mean(0, keepdims=True) for r in runs)), float)[0]
    if why := _too_few(n, scatter):
        return unknown(why, value.shape)
    picks = (Stream.of("rank correlation").uniform("runs", 0, (n_draws, n)) * n).astype(int)
    weights = np.stack([np.bincount(p, minlength=n) for p in picks]) / n
    drawn = np.asarray(statistic(*(np.tensordot(weights, r, 1) for r in runs)), float)
    # Means of n resampled runs scatter by √((n - 1)/n) less than those of n new ones.
    reach = student.ppf((1 + LEVEL) / 2, n - 1) * drawn.std(0) * np.sqrt(n / (n - 1))
    return Interval(value - reach, value + reach)


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation along the last axis; nan where one of the two is constant."""
    a, b = rankdata(x, axis=-1), rankdata(y, axis=-1)
    a, b = a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.full(norm.shape, np.nan), where=norm > 0)
