"""Can a hyperplane tell two classes apart? Decided exactly, and along a fixed direction.

Paper B's Definitions C.1 to C.5 differ in what the hyperplane may depend on. :func:`separable` lets it depend on the
pair of classes; :func:`separated_along` holds its direction fixed. :func:`etf_distance` says whether class means form a
simplex: neural collapse.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import linprog

from deepmech.core import specs
from deepmech.core.labels import as_labelled

PAIRS = 10**6


def linearly_separable(x: Any, y: Any) -> bool:
    """Whether some hyperplane has all points of ``x`` strictly on one side and all of ``y`` on the other.

    A linear program, not a heuristic: the slab between the classes is made as wide as it can be among normals w with
    |w_i| ≤ 1 (scipy's HiGHS). A positive answer is checked on the points themselves. A negative one means that no slab
    is wider than about 1e-7 of the points' extent. Up to a million pairs of points in the plane are sorted by the
    angles of their differences instead: some normal has all of them on its side if they lie within half a turn.

    Parameters
    ----------
    x, y
        Shapes (n, p) and (m, p), finite, at least one point each.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For shapes that do not fit or values that are not finite.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> linearly_separable(*square), linearly_separable(square[0], square[1] + 2)
    (False, True)
    """
    x, y = specs.check_array("linearly_separable: x", x), specs.check_array("linearly_separable: y", y)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or not len(x) or not len(y):
        raise ValueError(
            f"linearly_separable: x {x.shape} and y {y.shape}: expected (n, p) and (m, p), at least one point"
        )
    if not np.isfinite(x).all() or not np.isfinite(y).all():
        raise ValueError("linearly_separable: points must be finite; leave out runs that diverged")
    if not {*map(tuple, x.tolist())}.isdisjoint(map(tuple, y.tolist())):
        return False  # a point of both; two products may round its projection to different sides
    w = x.mean(0) - y.mean(0)
    w = w / max(abs(w).max(), np.finfo(float).tiny)  # products of large numbers with large numbers may overflow
    if _apart(x @ w, y @ w):
        return True
    if x.shape[1] == 1:
        return _apart(x[:, 0], y[:, 0])
    if x.shape[1] == 2 and len(x) * len(y) <= PAIRS:
        gaps = (x[:, None] - y).reshape(-1, 2)
        angle = np.sort(np.arctan2(gaps[:, 1], gaps[:, 0]))
        free = np.diff(angle, append=angle[0] + 2 * np.pi)
        opposite = angle[i := int(free.argmax())] + free[i] / 2
        w = -np.array([np.cos(opposite), np.sin(opposite)])
        return bool(free[i] > np.pi and _apart(x @ w, y @ w))
    both = np.concatenate([x, y])
    centre, scale = both.mean(0), np.ptp(both, axis=0)
    # Every feature to unit extent: a linear map, which changes nothing about separability but the solver's ease.
    both = (both - centre) / np.where(scale > 0, scale, 1.0)
    side = np.concatenate([np.ones(len(x)), -np.ones(len(y))])
    p = x.shape[1]
    # Maximise t with side · (w · z + b) ≥ t; unknowns w, b, t.
    constraints = np.column_stack([-side[:, None] * both, -side, np.ones(len(both))])
    found = linprog(np.r_[np.zeros(p + 1), -1.0], A_ub=constraints, b_ub=np.zeros(len(both)),
                    bounds=[(-1, 1)] * p + [(None, None)] * 2, method="highs")  # fmt: skip
    if found.status != 0:
        raise RuntimeError(f"linearly_separable: the linear program was not solved: {found.message}")
    line = both @ found.x[:p]
    return bool(found.x[-1] > 0 and _apart(line[side > 0], line[side < 0]))


def _apart(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(x.min() > y.max() or x.max() < y.min())


def separable(features: Any) -> xr.DataArray:
    """For every pair of classes, whether a hyperplane of its own separates them (paper B, Definition C.1).

    Parameters
    ----------
    features
        Dimensions (…, class, sample, feature); a plain array of shape (…, K, n, p) will do.

    Returns
    -------
    DataArray of bool
        The leading dimensions and ``pair``, labelled "0-1", "0-2", …; ``.all("pair")`` is the paper's separability.

    Examples
    --------
    >>> points = np.arange(3.0)[:, None, None] + np.array([[0.0], [0.4]])
    >>> separable(points).values.tolist()
    [True, True, True]
    """
    f = _as_features(features)
    values, pairs = f.values, list(combinations(range(f.sizes["class"]), 2))
    lead = values.shape[:-3]
    out = np.empty((*lead, len(pairs)), bool)
    for index in np.ndindex(*lead):
        for i, (k, l) in enumerate(pairs):
            out[(*index, i)] = linearly_separable(values[(*index, k)], values[(*index, l)])
    return _per_pair(f, out, pairs)


def separated_along(features: Any, direction: Any) -> xr.DataArray:
    """For every pair of classes, whether their projections on one direction are disjoint intervals (Definition C.3).

    Parameters
    ----------
    features
        As for :func:`separable`.
    direction
        ν, shape (p,); its length does not matter.

    Returns
    -------
    DataArray of bool
        As of :func:`separable`.

    Examples
    --------
    >>> points = np.array([[[0.0, 0.0], [1.0, 5.0]], [[2.0, 1.0], [3.0, 4.0]]])
    >>> [bool(separated_along(points, nu).item()) for nu in ([1.0, 0.0], [0.0, 1.0])]
    [True, False]
    """
    f = _as_features(features)
    nu = specs.check_array("separated_along: direction", direction)
    nu = nu * specs.unit_scale(nu).item()
    if nu.shape != (f.sizes["feature"],) or not 0 < np.linalg.norm(nu) < np.inf:
        raise ValueError(
            f"separated_along: direction {nu.shape}: expected {f.sizes['feature']} numbers, not all zero, and finite"
        )
    line = f.values @ nu
    low, high = line.min(-1), line.max(-1)
    pairs = list(combinations(range(f.sizes["class"]), 2))
    apart = [(low[..., k] > high[..., l]) | (high[..., k] < low[..., l]) for k, l in pairs]
    return _per_pair(f, np.stack(apart, -1), pairs)


def _as_features(features: Any) -> xr.DataArray:
    f = as_labelled("features", features, "class", "sample", "feature")
    if f.sizes["class"] < 2:
        raise ValueError("features hold one class: there is no pair to separate")
    return f


def _per_pair(features: xr.DataArray, values: np.ndarray, pairs: list[tuple[int, int]]) -> xr.DataArray:
    like = features.isel({"class": 0, "sample": 0, "feature": 0}, drop=True)
    labels = [f"{k}-{l}" for k, l in pairs]
    return xr.DataArray(values, dims=(*like.dims, "pair"), coords={**like.coords, "pair": labels}, name="separable")


def etf_distance(means: Any) -> Any:
    r"""How far the directions of class means are from an equiangular tight frame.

    In such a frame (paper B, Eq. 10) every two of K unit vectors have cosine −1/(K − 1): corners of a simplex.
    With the Gram matrix G of the unit vectors and :math:`T=\frac{K}{K-1}(1-\frac1K\mathbf 1\mathbf 1^T)`, the
    distance is :math:`|G-T|/|T|` in the Frobenius norm: 0 for the frame, independent of lengths and of rotations.

    Parameters
    ----------
    means
        Class means, dimensions (…, class, feature); a plain array of shape (…, K, p) will do.
        Directions are seen from the origin, as in paper B's Proposition 3.4; neural collapse takes off the mean over
        classes first.

    Returns
    -------
    float, ndarray or DataArray of the leading shape
        nan where a mean has no length, hence no direction.

    Examples
    --------
    >>> corners = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    >>> bool(etf_distance(corners) < 1e-12), round(float(etf_distance(np.eye(3))), 4)
    (True, 0.5774)
    """
    m = as_labelled("etf_distance: means", means, "class", "feature")
    x = m.values
    if x.shape[-2] < 2:
        raise ValueError(f"etf_distance: means have shape {x.shape}: expected (…, K, p) with K ≥ 2")
    x = x * specs.unit_scale(x, axis=(-2, -1))  # lengths, of which squares are formed, do not matter
    k = x.shape[-2]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    unit = np.divide(x, length, out=np.full_like(x, np.nan), where=length > 0)
    frame = k / (k - 1) * (np.eye(k) - 1 / k)
    gap = np.linalg.norm(unit @ unit.swapaxes(-1, -2) - frame, axis=(-2, -1)) / np.linalg.norm(frame)
    if isinstance(means, xr.DataArray):
        return m.isel({"class": 0, "feature": 0}, drop=True).copy(data=gap).rename("etf")
    return gap if gap.ndim else float(gap)
