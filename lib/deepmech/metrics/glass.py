"""How far weights have moved: overlap, mean squared displacement, non-Gaussian parameter, motility (glass paper).

Everything is made from sums over groups of weights (:func:`displacement_sums`), such as layers, so that the same record
gives a quantity for the whole network, per layer, or without some of the weights: add the sums of the groups first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from deepmech.core import specs
from deepmech.core.compiled import Floats, njit
from deepmech.core.random import Stream

__all__ = [
    "LARGE", "MOTILITY_EDGES", "DipTest", "DisplacementSums", "dip", "dip_test", "displacement_sums",
    "mixture_non_gaussian", "motility", "non_gaussian", "susceptibility", "unbinned", "uniform_dips",
]  # fmt: skip


@dataclass(frozen=True)
class DisplacementSums:
    """Sums over the weights of each group.

    Attributes
    ----------
    within : (groups, windows) ndarray
        Number of weights that moved by less than each window.
    square, fourth : (groups,) ndarray
        Sums of Δw² and Δw⁴, in units of weight squared and to the fourth.
    """

    within: np.ndarray
    square: np.ndarray
    fourth: np.ndarray


def displacement_sums(
    now: np.ndarray, reference: np.ndarray, group: np.ndarray, n_groups: int, windows: Sequence[float]
) -> DisplacementSums:
    """Sums over groups of weights that moved from ``reference`` to ``now``; over counts, Q and MSD (Eqs. 4 and 7).

    Parameters
    ----------
    now, reference : (N,) weights.
    group : (N,) integers in 0 … n_groups - 1.
    windows : sensitivities ε > 0 in units of weight (Eq. 4).

    Returns
    -------
    DisplacementSums
        Number within each window, and sums of Δw² and Δw⁴, of each group.

    Raises
    ------
    ValueError
        If shapes differ or a window is not positive.

    Examples
    --------
    >>> sums = displacement_sums(np.array([0.0, 0.3]), np.zeros(2), np.array([0, 1]), 2, [0.1])
    >>> sums.within.tolist()
    [[1.0], [0.0]]
    """
    now = specs.check_array("displacement_sums: now", now)
    reference = specs.check_array("displacement_sums: reference", reference)
    n_groups = specs.check_int("displacement_sums: n_groups", n_groups)
    group = np.asarray(group)
    if not now.shape == reference.shape == np.shape(group):
        raise ValueError(
            f"displacement_sums: now {now.shape}, reference {reference.shape} and group {np.shape(group)} must be equal"
        )
    if group.dtype.kind not in "iu" or (group.size and not 0 <= group.min() <= group.max() < n_groups):
        specs.raise_invalid("displacement_sums: group", group, f"whole numbers from 0 to {n_groups - 1}")
    widths = specs.check_array("displacement_sums: windows", windows, "one or more numbers > 0")
    if widths.ndim != 1 or not widths.size or not (widths > 0).all():
        specs.raise_invalid("displacement_sums: windows", windows, "one or more numbers > 0")
    moved = np.abs(now - reference)
    within = [np.bincount(group, moved < window, n_groups) for window in widths]
    if np.isfinite(moved).all() and (largest := float(moved.max(initial=0.0))) > 1e75:
        raise ValueError(
            f"displacement_sums: weights moved by up to {largest:.3g}, whose fourth power no number holds: give "
            "weights and windows in another unit"
        )
    square = moved * moved
    return DisplacementSums(
        np.stack(within, -1), np.bincount(group, square, n_groups), np.bincount(group, square * square, n_groups)
    )


def non_gaussian(square: np.ndarray, fourth: np.ndarray, count: np.ndarray) -> np.ndarray:
    """α₂ = ⟨Δw⁴⟩ / (3 ⟨Δw²⟩²) - 1 (Eq. 9) from sums over ``count`` weights; nan where nothing moved.

    Parameters
    ----------
    square, fourth, count : array
        Sums of Δw² and Δw⁴, and the number of weights they run over; shapes that broadcast.

    Returns
    -------
    ndarray
        Of the broadcast shape; 0 for Gaussian displacements.

    Examples
    --------
    >>> float(non_gaussian(np.array(2.0), np.array(2.0), np.array(2.0)))  # every weight moved by one
    -0.6666666666666667
    """
    square, fourth, count = _sums("non_gaussian", square=square, fourth=fourth, count=count)
    scale = specs.unit_scale(square, axis=())
    top, bottom = fourth * scale * scale * count, 3 * (square * scale) ** 2
    return _ratio(top, bottom) - 1


def _sums(owner: str, **sums: Any) -> list[np.ndarray]:
    """Sums as real numbers of one shape."""
    found = [specs.check_array(f"{owner}: {name}", values) for name, values in sums.items()]
    try:
        return [np.array(values) for values in np.broadcast_arrays(*found)]
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in zip(sums, found, strict=True))
        raise ValueError(f"{owner}: {shapes}: give shapes that broadcast") from None


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """``top`` over ``bottom``, nan where that is not positive."""
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def mixture_non_gaussian(square: np.ndarray, count: np.ndarray, axis: int = -1) -> np.ndarray:
    """α₂ that groups along ``axis`` give if each is Gaussian with its own mean square: a null for Eq. 9.

    It is the squared coefficient of variation of the groups' mean squares, weighted by their sizes; no weight need move
    in fits and starts for it to be positive.

    Parameters
    ----------
    square, count : array
        Sums of Δw² and numbers of weights, one entry a group along ``axis``.
    axis : int
        Of the groups.

    Returns
    -------
    ndarray
        Without ``axis``; nan where nothing moved.

    Examples
    --------
    >>> round(float(mixture_non_gaussian(np.array([1.0, 9.0]), np.array([1, 1]))), 6)
    0.64
    """
    square, count = _sums("mixture_non_gaussian", square=square, count=count)
    square, count = square * specs.unit_scale(square, axis=axis), count * specs.unit_scale(count, axis=axis)
    mean = np.divide(square, count, out=np.zeros(square.shape), where=count > 0)
    total, first = count.sum(axis), square.sum(axis)
    second = (count * mean**2).sum(axis)
    return _ratio(second * total, first**2) - 1


def susceptibility(overlap: np.ndarray, n_weights: float) -> np.ndarray:
    """χ₄ = N Var(Q) over runs (unbiased variance); independent weights give Q (1 - Q).

    Parameters
    ----------
    overlap : array
        Q of each run along the first axis.
    n_weights : float
        N.

    Returns
    -------
    ndarray
        Without the first axis.

    Raises
    ------
    ValueError
        If there are fewer than two runs.

    Examples
    --------
    >>> susceptibility(np.array([0.4, 0.6]), 100).round(6).item()
    2.0
    """
    overlap = np.atleast_1d(specs.check_array("susceptibility: overlap", overlap))
    if len(overlap) < 2:
        raise ValueError(f"susceptibility: {len(overlap)} run along axis 0: a variance needs at least two")
    return np.asarray(n_weights * overlap.var(0, ddof=1))


#: Edges of motility histograms: log₁₀ |Δw| in steps of 0.05.
MOTILITY_EDGES = np.round(np.arange(-14.0, 1.0001, 0.05), 2)


def motility(now: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, int]:
    """Histogram of log₁₀ |Δw| and the number of weights that did not move at all; values beyond the edges count there.

    Parameters
    ----------
    now, reference : (N,) weights.

    Returns
    -------
    counts : (bins,) ndarray
        Weights in each bin, between :data:`MOTILITY_EDGES`.
    still : int
        Weights that did not move.

    Examples
    --------
    >>> counts, still = motility(np.array([1e-3, 0.0]), np.zeros(2))
    >>> int(counts.sum()), still
    (1, 1)
    """
    moved = np.abs(specs.check_array("motility: now", now) - specs.check_array("motility: reference", reference))
    logs = np.log10(moved[moved > 0])
    counts, _ = np.histogram(np.clip(logs, MOTILITY_EDGES[0], MOTILITY_EDGES[-1]), MOTILITY_EDGES)
    return counts, int((moved == 0).sum())


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
