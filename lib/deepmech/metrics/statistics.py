"""Rank correlations and means with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, t

from deepmech.core.random import Stream


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's ρ of ``n`` pairs and the interval [low, high] that holds the middle ``level`` of its bootstrap."""

    rho: float
    low: float
    high: float
    level: float
    n: int


def rank_correlation(
    x: np.ndarray, y: np.ndarray, stream: Stream, n_boot: int = 2000, level: float = 0.95
) -> RankCorrelation:
    """Spearman's rank correlation with a percentile bootstrap interval over pairs.

    Parameters
    ----------
    x, y
        Real numbers, same shape (flattened), at least three pairs. Ties share their mean rank.
    stream
        Where the resampling takes its random numbers.
    n_boot
        Number of resamples. Resamples in which x or y is constant have no rank correlation and are left out.
    level
        Part of the bootstrap distribution inside the interval, in (0, 1).

    Raises
    ------
    ValueError
        For unequal shapes, fewer than three pairs, values that are not finite, or a constant x or y.

    Examples
    --------
    >>> r = rank_correlation(np.arange(20), np.arange(20) ** 3, Stream.of("doctest", 0))
    >>> r.rho, r.low, r.high
    (1.0, 1.0, 1.0)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.size < 3:
        raise ValueError(f"rank_correlation: x {x.shape} and y {y.shape}: give two equal shapes, at least three pairs")
    x, y = x.ravel(), y.ravel()
    for name, values in (("x", x), ("y", y)):
        if not np.isfinite(values).all():
            raise ValueError(f"rank_correlation: {name} holds values that are not finite; select the pairs to compare")
        if np.ptp(values) == 0:
            raise ValueError(f"rank_correlation: {name} is constant ({values[0]}), so it has no ranks to compare")
    if not 0 < level < 1 or n_boot < 1:
        raise ValueError(f"rank_correlation: level = {level}, n_boot = {n_boot}: must be in (0, 1), and at least 1")
    picks = np.array([(stream.uniform("bootstrap", b, x.size) * x.size).astype(np.int64) for b in range(n_boot)])
    boot = _spearman(x[picks], y[picks])
    low, high = np.nanquantile(boot, [(1 - level) / 2, (1 + level) / 2])
    return RankCorrelation(float(_spearman(x[None], y[None])[0]), float(low), float(high), level, x.size)


def _spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Along the last axis; nan where one of the two is constant."""
    a, b = rankdata(x, axis=-1), rankdata(y, axis=-1)
    a, b = a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.full(norm.shape, np.nan), where=norm > 0)


def mean_reach(deviation: Any, n: Any) -> Any:
    """Half the 95 % interval of a mean of ``n`` independent values with this standard deviation, by Student's t.

    Examples
    --------
    >>> mean_reach(1.0, [3, 1000]).round(3)
    array([2.484, 0.062])
    """
    n = np.asarray(n)
    return deviation * (t.ppf(0.975, n - 1) / np.sqrt(n))
