"""What a load curve's samples leave open: intervals of D, of its shape, and of differences, by the jackknife.

:func:`~deepmech.metrics.load_curve.load_curve` deals its samples to groups and notes the curve without each of them, in
the attribute ``jackknife`` of its result. From these follow intervals of any smooth function of the curve.

They cover the population's number in 95 to 99 of 100 draws of ten kinds of populations, most often where classes have
few samples, and in 87 to 95 where features have no fourth moment (``deepmech_book.experiments.coverage`` counts).
Samples have to be independent: of frames of one film, or views of one object, intervals are too narrow. Other seeds of
the network are not in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, unknown

NONE = "no groups are noted on this curve: measure it with load_curve(…, groups=20), metric D and weights 'samples'"


def without(curve: xr.DataArray) -> xr.DataArray | None:
    """The curve without each group of samples, (group, layer); of some of its layers, too. None where it is not known,
    and where the curve's values are not those that were measured.

    The attribute ``jackknife`` holds them behind the curve itself, one after another.
    """
    flat = np.asarray(curve.attrs.get("jackknife", ()), float)
    whole = int(curve.attrs.get("layers", 0))
    if not flat.size or curve.dims != ("layer",) or "depth" not in curve.coords or flat.size % whole:
        return None
    rows = flat.reshape(-1, whole)[:, curve.depth.values.astype(int)]
    if not np.array_equal(rows[0], curve.values, equal_nan=True):
        return None
    return xr.DataArray(rows[1:], {"layer": curve.layer.values}, ("group", "layer"))


def estimate(curve: xr.DataArray, of: Callable[[Any], Any] = lambda curve: curve) -> Estimate:
    """D of each layer, or a smooth function ``of`` the curve, with its 95 % interval over groups of samples.

    Examples
    --------
    >>> curve = xr.DataArray([2.0, 1.0], {"layer": ["a", "b"], "depth": ("layer", [0, 1])}, "layer")
    >>> measured = curve.assign_attrs(jackknife=[2.0, 1.0, 2.1, 0.9, 1.9, 1.1, 2.0, 1.0], layers=2)
    >>> print(estimate(measured, lambda d: d[..., 0] - d[..., 1]))
    1.00 [0.01, 1.99]
    """
    groups, value = without(curve), of(curve.drop_attrs())
    if groups is None:
        return unknown(NONE, value)
    found = jackknife(value, of(groups), over="group", scatter="symmetric")
    return found if value.ndim else found.map(float)
