"""How far weights have moved: overlap, mean squared displacement, non-Gaussian parameter, motility (glass paper).

Everything is made from sums over groups of weights (:func:`displacement_sums`), such as layers, so that the same record
gives a quantity for the whole network, per layer, or without some of the weights: add the sums of the groups first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepmech.core import specs


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
