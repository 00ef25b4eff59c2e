"""The shape of load curves: which layers do the work (paper A, Figs. 1 and 3).

All functions take a load curve D_0 … D_L along one axis (any real numbers, equally spaced layers) and vectorise over
the others. A labelled array comes back with its remaining labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import specs

_ROUNDING = 1e-12  # a curve whose range is this small against its values is flat to rounding
_LAYER_DIMENSIONS = ("layer", "block")


def steps(load: Any, dim: str | None = None) -> Any:
    """What each layer contributes, d_ℓ = D_{ℓ−1} − D_ℓ for ℓ = 1 … L (in the chain: the elongation of spring ℓ).

    Parameters
    ----------
    load, dim : as of :func:`curvature`, for two layers or more.

    Returns
    -------
    ndarray or DataArray
        One entry fewer along ``dim``, labelled by the layer at the step's end; same units as ``load``.

    Examples
    --------
    >>> steps(np.array([3.0, 2.0, 0.0])).tolist()
    [1.0, 2.0]
    """
    if isinstance(load, xr.DataArray):
        return -load.diff(_dimension(load, dim, 2), label="upper")
    return -np.diff(_plain(load, dim, 2))


def curvature(load: Any, dim: str | None = None) -> Any:
    """Signed curvature: the mean deviation of the normalised load curve from its chord.

    The curve is drawn with straight lines between its points over depth 0 … 1, its chord (the straight line from D_0 to
    D_L) is subtracted, the difference averaged over depth and divided by the curve's range max D − min D. So it is
    positive for concave curves (deep layers do more), negative for convex ones (shallow layers do more), zero for
    straight ones, unchanged under D → a D + b with a > 0, and comparable between depths: a curve that drops in its last
    layer only has (L − 1)/(2 L), in its first only the negative of that.

    The range, and not the drop D_0 − D_L, is the unit, because the drop may vanish or be negative; for curves that
    never rise both are the same. A curve without range has no shape: it gives nan, as does one with values that are not
    finite.

    Parameters
    ----------
    load : array_like or DataArray
        Array or labelled array, D_0 … D_L along ``dim``, L ≥ 2.
    dim : str, optional
        Name of the layers' dimension, by default ``layer`` or ``block``; of a plain array it is the last axis.

    Returns
    -------
    float, ndarray or DataArray
        Dimensionless, in (−1, 1); ``load`` without ``dim``.

    Raises
    ------
    ValueError
        If ``dim`` cannot be found, or has fewer than three layers.

    Examples
    --------
    >>> curvature(np.array([2.0, 1.0, 0.0])), curvature(np.array([1.0, 1.0, 0.0]))
    (0.0, 0.25)
    """
    return _reduce("signed curvature", load, dim, _curvature, 3)


def descent(load: Any, dim: str | None = None) -> Any:
    """How far a curve is from falling all the way: (D_0 − D_L) / (max D − min D), 1 for curves that never rise.

    Near 0 the curve ends where it began, and its curvature says little about who carries the load; below 0 it rises.

    Parameters
    ----------
    load, dim : as of :func:`curvature`, for two layers or more.

    Returns
    -------
    float, ndarray or DataArray
        At most 1; ``load`` without ``dim``, nan where it is flat or not finite.

    Examples
    --------
    >>> descent(np.array([2.0, 0.0, 1.0]))
    0.5
    """
    return _reduce("descent", load, dim, lambda d: _per_range(d, d[..., 0] - d[..., -1]), 2)


def _curvature(d: np.ndarray) -> np.ndarray:
    depth = np.linspace(0.0, 1.0, d.shape[-1])
    with np.errstate(invalid="ignore"):  # infinite values; they become nan below
        deviation = d - d[..., :1] * (1.0 - depth) - d[..., -1:] * depth
    # Both ends lie on the chord, so the mean of the piecewise linear curve is the sum over its inner points times 1/L.
    return _per_range(d, deviation[..., 1:-1].sum(-1) / (d.shape[-1] - 1))


def _per_range(d: np.ndarray, value: np.ndarray) -> np.ndarray:
    """``value`` over the range of each curve; nan where the curve is flat or not finite."""
    usable = np.isfinite(d).all(-1)
    d = np.where(usable[..., None], d, 0.0)
    spread = d.max(-1) - d.min(-1)
    usable &= spread > _ROUNDING * np.abs(d).max(-1)
    return np.divide(np.where(usable, value, np.nan), np.where(usable, spread, 1.0))


def _reduce(words: str, load: Any, dim: str | None, measure: Any, least: int) -> Any:
    if not isinstance(load, xr.DataArray):
        out = measure(_plain(load, dim, least))
        return float(out) if np.ndim(out) == 0 else out
    name = _dimension(load, dim, least)
    d = load.transpose(..., name)
    keep = d.isel({name: 0}, drop=True)
    # Not what the load was called.
    keep.attrs = {"long_name": words, "units": "1"}
    return keep.copy(data=measure(specs.check_array("load", d.values)))


def _dimension(load: xr.DataArray, dim: str | None, least: int) -> str:
    if dim is None:
        found = [d for d in _LAYER_DIMENSIONS if d in load.dims]
        if len(found) != 1:
            raise ValueError(f"load has dimensions {load.dims}: say which one runs over layers, dim='...'")
        dim = found[0]
    if dim not in load.dims:
        raise ValueError(f"dim = {dim!r}: load has dimensions {load.dims}")
    _require_layers(load.sizes[dim], least)
    return str(dim)


def _plain(load: Any, dim: str | None, least: int) -> np.ndarray:
    """A plain array, whose last axis runs over layers."""
    d = specs.check_array("load", load)
    if d.ndim == 0:
        raise ValueError(f"load = {load!r}: must be a curve, one number for each layer")
    if dim is not None:
        raise ValueError(f"dim = {dim!r}: load is a plain array of shape {d.shape}, whose last axis runs over layers")
    _require_layers(d.shape[-1], least)
    return d


def _require_layers(n: int, least: int) -> None:
    if n < least:
        raise ValueError(f"load has {n} layers: at least {least} are needed")
