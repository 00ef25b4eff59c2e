"""How far weights have moved: overlap, mean squared displacement, non-Gaussian parameter, motility (glass paper).

Everything is made from sums over groups of weights (:func:`displacement_sums`), such as layers, so that the same record
gives a quantity for the whole network, per layer, or without some of the weights: add the sums of the groups first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepmech.core import specs


@dataclass(frozen=True)
class DisplacementSums:
    """Sums over the weights of each group.

    ``within`` (groups, windows) is the number of weights that moved by less than each window; ``square`` and ``fourth``
    (groups,) are sums of Δw² and Δw⁴, in units of weight squared and to the fourth.
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
    now = specs.array("displacement_sums: now", now)
    reference = specs.array("displacement_sums: reference", reference)
    n_groups = specs.whole("displacement_sums: n_groups", n_groups)
    group = np.asarray(group)
    if not now.shape == reference.shape == np.shape(group):
        raise ValueError(
            f"displacement_sums: now {now.shape}, reference {reference.shape} and group {np.shape(group)} must be equal"
        )
    if group.dtype.kind not in "iu" or (group.size and not 0 <= group.min() <= group.max() < n_groups):
        specs.refuse("displacement_sums: group", group, f"whole numbers from 0 to {n_groups - 1}")
    widths = specs.array("displacement_sums: windows", windows, "one or more numbers > 0")
    if widths.ndim != 1 or not widths.size or not (widths > 0).all():
        specs.refuse("displacement_sums: windows", windows, "one or more numbers > 0")
    moved = np.abs(now - reference)
    within = [np.bincount(group, moved < window, n_groups) for window in windows]
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
    square, fourth, count = (specs.array("non_gaussian: a sum", a) for a in (square, fourth, count))
    top, bottom = fourth * count, 3 * square**2
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    return np.divide(top, bottom, out=np.full(shape, np.nan), where=np.broadcast_to(bottom > 0, shape)) - 1


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
    square, count = np.asarray(square, float), np.broadcast_to(np.asarray(count, float), np.shape(square))
    mean = np.divide(square, count, out=np.zeros(square.shape), where=count > 0)
    total, first = count.sum(axis), square.sum(axis)
    second = (count * mean**2).sum(axis)
    return np.divide(second * total, first**2, out=np.full(first.shape, np.nan), where=first > 0) - 1


def susceptibility(overlap: np.ndarray, n_weights: float, axis: int = 0) -> np.ndarray:
    """χ₄ = N Var(Q) over runs along ``axis`` (unbiased variance); independent weights give Q (1 - Q).

    Parameters
    ----------
    overlap : array
        Q of each run along ``axis``.
    n_weights : float
        N.
    axis : int
        Of the runs.

    Returns
    -------
    ndarray
        Without ``axis``.

    Raises
    ------
    ValueError
        If there are fewer than two runs.

    Examples
    --------
    >>> susceptibility(np.array([0.4, 0.6]), 100).round(6).item()
    2.0
    """
    overlap = np.atleast_1d(specs.array("susceptibility: overlap", overlap))
    if overlap.shape[axis] < 2:
        raise ValueError(f"susceptibility: {overlap.shape[axis]} run along axis {axis}: a variance needs at least two")
    return n_weights * overlap.var(axis, ddof=1)


#: Edges of motility histograms: log₁₀ |Δw| in steps of 0.05.
MOTILITY_EDGES = np.round(np.arange(-14.0, 1.0001, 0.05), 2)


def motility(now: np.ndarray, reference: np.ndarray, edges: np.ndarray = MOTILITY_EDGES) -> tuple[np.ndarray, int]:
    """Histogram of log₁₀ |Δw| and the number of weights that did not move at all; values beyond the edges count there.

    Parameters
    ----------
    now, reference : (N,) weights.
    edges : (bins + 1,) in log₁₀ |Δw|.

    Returns
    -------
    counts : (bins,) ndarray
        Weights in each bin.
    still : int
        Weights that did not move.

    Examples
    --------
    >>> counts, still = motility(np.array([1e-3, 0.0]), np.zeros(2))
    >>> int(counts.sum()), still
    (1, 1)
    """
    moved = np.abs(specs.array("motility: now", now) - specs.array("motility: reference", reference))
    logs = np.log10(moved[moved > 0])
    counts, _ = np.histogram(np.clip(logs, edges[0], edges[-1]), edges)
    return counts, int((moved == 0).sum())
