"""Has a distribution one mode or more? Hartigan's dip, its test, and numbers for it from a histogram."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from deepmech.core.compiled import Floats, njit


@njit(cache=True, error_model="numpy")
def _corners(x: Floats, y: Floats) -> Any:
    """The corner before each point on the largest convex function below the points (x, y) up to it; x increasing."""
    corner = np.zeros(len(x), np.int64)
    for i in range(1, len(x)):
        b = i - 1
        while b > 0:
            a = corner[b]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            b = a
        corner[i] = b
    return corner


@njit(cache=True, error_model="numpy")
def _left(x: Floats, before: Floats, after: Floats, corner: Any, known: Floats, m: int) -> float:
    """Least half-width of a band around the distribution that has room for a convex piece up to a mode at x[m].

    ``before`` and ``after`` are the distribution just below and at each x. At the mode itself the piece may jump.
    ``known`` keeps what each side of the piece needs, or is negative: sides are shared by many modes.
    """
    need, b = 0.0, m
    while b > 0:
        a = corner[b]
        if known[b] < 0:
            known[b] = 0.0
            for i in range(a, b):
                line = before[a] + (before[b] - before[a]) * (x[i] - x[a]) / (x[b] - x[a])
                known[b] = max(known[b], after[i] - line)
        need, b = max(need, known[b]), a
    return need / 2


@njit(cache=True, error_model="numpy")
def _dip(x: Floats, before: Floats, after: Floats) -> float:
    # Mirrored, the concave piece on the right is a convex one on the left.
    mirror, first, second = -x[::-1].copy(), 1 - after[::-1].copy(), 1 - before[::-1].copy()
    n = len(x)
    corner, other = _corners(x, before), _corners(mirror, first)
    known, seen = -np.ones(n), -np.ones(n)
    low, high = 0, n - 1
    # The need on the left grows with the mode's place, that on the right falls: the best mode is where they cross.
    while high - low > 1:
        middle = (low + high) // 2
        left = _left(x, before, after, corner, known, middle)
        if left < _left(mirror, first, second, other, seen, n - 1 - middle):
            low = middle
        else:
            high = middle
    best = 1.0
    for m in (low, high):
        right = _left(mirror, first, second, other, seen, n - 1 - m)
        best = min(best, max(_left(x, before, after, corner, known, m), right))
    return best


def dip(sample):
    """The dip, from 1/(2n) to 1/4: largest distance of a sample's distribution from the nearest unimodal one.

    For each mode the nearest distribution is convex before it and concave after; how wide a band such a curve needs
    follows from one convex hull on each side.
    """
    values = np.ravel(sample).astype(float)
    if not values.size or not np.isfinite(values).all():
        raise ValueError(f"dip: sample of {values.size} numbers: must be finite and not empty")
    x, counts = np.unique(values, return_counts=True)
    after = np.cumsum(counts.astype(float)) / values.size
    return float(max(_dip(x, after - counts / values.size, after), 1 / (2 * values.size)))


class DipTest(NamedTuple):
    """The dip of a sample, the part of uniform samples of its size with a dip at least as large, its size, and the dip
    that one in twenty of the uniform samples exceeds."""

    dip: float
    p: float
    n: int
    critical: float


def dip_test(sample, stream, n_null=500):
    """Hartigan's test of one mode against more: a small ``p``, at least ``1 / (n_null + 1)``, speaks for two or more.

    The uniform distribution is the unimodal one with the largest dips, so the test errs on the side of one mode.
    """
    values = np.ravel(sample)
    measured, null = dip(values), uniform_dips(stream, len(values), n_null)
    p = (1 + float((null >= measured).sum())) / (n_null + 1)
    return DipTest(measured, p, len(values), float(np.quantile(null, 0.95)))


LARGE = 1000
"""From so many numbers on, dips of uniform samples fall as 1/√n: larger samples share one null."""


def uniform_dips(stream, n, n_null):
    """Dips of ``n_null`` uniform samples of ``n`` numbers, of at most :data:`LARGE` and then scaled by 1/√n."""
    few = min(n, LARGE)
    return np.array(_uniform_dips(stream, few, n_null)) * np.sqrt(few / n)


@lru_cache(maxsize=32)
def _uniform_dips(stream, n, n_null):
    """Samples of one size share their null."""
    return tuple(dip(stream.uniform("uniform", i, n)) for i in range(n_null))


def unbinned(counts, edges):
    """As many numbers, rising, as a histogram counted, evenly spread inside each bin."""
    edges, n = np.asarray(edges), np.repeat(counts, counts)
    place = np.arange(len(n)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(edges[:-1], counts) + np.repeat(np.diff(edges), counts) * (place + 0.5) / n
