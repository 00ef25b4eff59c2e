"""Has a distribution one mode or more? Hartigan's dip, its test, and numbers for it from a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepmech.core import specs
from deepmech.core.compiled import Floats, njit
from deepmech.core.random import Stream

__all__ = ["LARGE", "DipTest", "dip", "dip_test", "unbinned", "uniform_dips"]


@njit(cache=True, error_model="numpy")
def _below(x: Floats, y: Floats) -> Floats:
    """Largest convex function below the points (x, y), at x; x increasing."""
    n = len(x)
    hull = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        while size > 1:
            a, b = hull[size - 2], hull[size - 1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            size -= 1
        hull[size] = i
        size += 1
    out = np.empty(n)
    out[0] = y[0]
    for k in range(1, size):
        a, b = hull[k - 1], hull[k]
        for i in range(a, b + 1):
            out[i] = y[a] + (y[b] - y[a]) * (x[i] - x[a]) / (x[b] - x[a])
    return out


@njit(cache=True, error_model="numpy")
def _left(x: Floats, before: Floats, after: Floats, m: int) -> float:
    """Least half-width of a band around the distribution that has room for a convex piece up to a mode at x[m].

    ``before`` and ``after`` are the distribution just below and at each x. At the mode itself the piece may jump.
    """
    convex = _below(x[: m + 1], before[: m + 1])
    need = 0.0
    for i in range(m):
        need = max(need, after[i] - convex[i])
    return need / 2


@njit(cache=True, error_model="numpy")
def _dip(x: Floats, before: Floats, after: Floats) -> float:
    # Mirrored, the concave piece on the right is a convex one on the left.
    mirror, first, second = -x[::-1].copy(), 1 - after[::-1].copy(), 1 - before[::-1].copy()
    n = len(x)
    low, high = 0, n - 1
    # The need on the left grows with the mode's place, that on the right falls: the best mode is where they cross.
    while high - low > 1:
        middle = (low + high) // 2
        if _left(x, before, after, middle) < _left(mirror, first, second, n - 1 - middle):
            low = middle
        else:
            high = middle
    best = 1.0
    for m in (low, high):
        best = min(best, max(_left(x, before, after, m), _left(mirror, first, second, n - 1 - m)))
    return best


def dip(sample: np.ndarray) -> float:
    """The dip: largest distance of the sample's distribution from the nearest unimodal one.

    For each mode the nearest distribution is convex before it and concave after; how wide a band such a curve needs
    follows from one convex hull on each side.

    Parameters
    ----------
    sample : real numbers, any shape (flattened), at least one; ties allowed.

    Returns
    -------
    float
        Between 1/(2n) and 1/4.

    Raises
    ------
    ValueError
        If the sample is empty or not finite.

    Examples
    --------
    >>> dip([0.0, 0.0, 1.0, 1.0]), round(dip(range(10)), 6)
    (0.25, 0.05)
    """
    values = np.ravel(specs.check_array("dip: sample", sample))
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"dip: sample of {values.size} numbers: must be finite and not empty")
    x, counts = np.unique(values, return_counts=True)
    after = np.cumsum(counts.astype(float)) / values.size
    return float(max(_dip(x, after - counts / values.size, after), 1 / (2 * values.size)))


@dataclass(frozen=True)
class DipTest:
    """What :func:`dip_test` found.

    Attributes
    ----------
    dip : float
        Of the sample.
    p : float
        Part of uniform samples of that size with a dip at least as large.
    n : int
        Numbers in the sample.
    critical : float
        The dip that one in twenty of the uniform samples exceeds.
    """

    dip: float
    p: float
    n: int
    critical: float


def dip_test(sample: np.ndarray, stream: Stream, n_null: int = 500) -> DipTest:
    """Hartigan's test of one mode against more: a small ``p`` speaks for two modes or more.

    The uniform distribution is the unimodal one with the largest dips, so the test errs on the side of one mode. At
    least ``1 / (n_null + 1)`` is reported.

    Parameters
    ----------
    sample : real numbers, any shape.
    stream : random numbers of the uniform samples.
    n_null : how many of these.

    Returns
    -------
    DipTest

    Examples
    --------
    >>> s = Stream.of("doctest", 0)
    >>> two = np.concatenate([s.normal("a", 0, 200) - 3, s.normal("b", 0, 200) + 3])
    >>> dip_test(two, s, 100).p < 0.02
    True
    """
    specs.check_type("dip_test: stream", stream, Stream)
    n_null = specs.check_int("dip_test: n_null", n_null)
    values = np.ravel(specs.check_array("dip_test: sample", sample))
    measured, null = dip(values), uniform_dips(stream, len(values), n_null)
    p = (1 + float((null >= measured).sum())) / (n_null + 1)
    return DipTest(measured, p, len(values), float(np.quantile(null, 0.95)))


LARGE = 1000
"""From so many numbers on, dips of uniform samples fall as 1/√n: larger samples share one null."""


def uniform_dips(stream: Stream, n: int, n_null: int) -> np.ndarray:
    """Dips of ``n_null`` uniform samples of ``n`` numbers, of at most :data:`LARGE` and then scaled by 1/√n.

    Parameters
    ----------
    stream, n_null : as of :func:`dip_test`.
    n : size of the samples.

    Returns
    -------
    (n_null,) ndarray

    Examples
    --------
    >>> bool((uniform_dips(Stream.of("doctest", 0), 5, 3) >= 0.1).all())  # at least 1/(2n)
    True
    """
    few = min(n, LARGE)
    return np.asarray(np.array(_uniform_dips(stream, few, n_null)) * np.sqrt(few / n))


@lru_cache(maxsize=32)
def _uniform_dips(stream: Stream, n: int, n_null: int) -> tuple[float, ...]:
    """Samples of one size share their null."""
    return tuple(dip(stream.uniform("uniform", i, n)) for i in range(n_null))


def unbinned(counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """As many numbers as a histogram counted, evenly spread inside each bin, for :func:`dip_test`.

    Parameters
    ----------
    counts : (bins,) whole numbers.
    edges : (bins + 1,) rising.

    Returns
    -------
    (counts.sum(),) ndarray, rising

    Examples
    --------
    >>> unbinned(np.array([2, 1]), np.array([0.0, 1.0, 2.0])).tolist()
    [0.25, 0.75, 1.5]
    """
    given, edges = specs.check_array("unbinned: counts", counts), specs.check_array("unbinned: edges", edges)
    if given.ndim != 1 or edges.shape != (len(given) + 1,) or not np.isfinite(edges).all():
        raise ValueError(
            f"unbinned: counts {given.shape} and edges {edges.shape}: give (bins,), and (bins + 1,), finite"
        )
    if not ((given >= 0) & (given < np.inf) & (given == np.round(given))).all():
        specs.raise_invalid("unbinned: counts", counts, "whole numbers, zero or positive")
    specs.check_memory("unbinned: counts", counts, given.sum())
    counts = given.astype(int)
    return np.concatenate(
        [a + (b - a) * (np.arange(n) + 0.5) / n for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True) if n]
        or [np.empty(0)]
    )
