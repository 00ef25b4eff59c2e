"""Has a distribution one mode or more? Hartigan's dip, its test, and numbers for it from a histogram."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deepmech.core.compiled import Floats, njit


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
    each = zip(edges[:-1], edges[1:], counts, strict=True)
    return np.concatenate([np.empty(0), *(a + (b - a) * (np.arange(n) + 0.5) / n for a, b, n in each if n)])
