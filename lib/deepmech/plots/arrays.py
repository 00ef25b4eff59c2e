"""What the drawing functions ask of an array before they draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

#: Axes of the phase diagrams: their words where the data have none, and whether values fall to the right and upwards.
#: The strongest noise stands at the left and ReLU at the top, as in the papers, on every plane and in the explorers.
AXES: dict[str, tuple[str, bool]] = {
    "slope": (r"negative slope $\alpha$", True),
    "noise": (r"noise $\varepsilon$", True),
    "noise_bar": (r"step noise $\bar\varepsilon$", True),
    "data_noise": ("data noise $p$", True),
    "learning_rate": ("learning rate", True),
    "dropout": ("dropout probability", True),
    "batch_size": ("batch size", False),
}


def arranged(what: str, array: Any, *dims: str) -> xr.DataArray:
    """``array`` with its dimensions in the order ``dims``; a dimension without labels is numbered from 0.

    A ValueError if it is no DataArray, or has other dimensions than those named.
    """
    if not isinstance(array, xr.DataArray):
        raise ValueError(f"{what} is a {type(array).__name__}: give an xarray.DataArray with dimensions {dims}")
    if set(array.dims) != set(dims):
        raise ValueError(
            f"{what}: dimensions are {tuple(array.dims)}, needed {dims}; "
            "select or average what is left over, or name other dimensions"
        )
    missing = {d: np.arange(array.sizes[d]) for d in dims if d not in array.coords}
    return array.transpose(*dims).assign_coords(missing)


def oriented(array: xr.DataArray, x: str, y: str) -> xr.DataArray:
    """A plane, or a plane of curves, with the values along both axes rising or falling as :data:`AXES` says.

    Axes that are not listed there stay as they are.

    Examples
    --------
    >>> plane = xr.DataArray([[1, 2]], {"dropout": [0.1], "slope": [0.0, 1.0]}, ("dropout", "slope"))
    >>> oriented(plane, "dropout", "slope").slope.values
    array([1., 0.])
    """
    for dim in (x, y):
        if dim in AXES:
            array = array.sortby(dim, ascending=not AXES[dim][1])
    return array


def named(array: xr.DataArray, otherwise: str = "") -> str:
    """What an axis or a scale says of an array: its ``long_name`` with its ``units``, or, without one, ``otherwise``.

    Pure numbers, of units ``"1"``, show none.

    Examples
    --------
    >>> named(xr.DataArray(0.0, attrs={"long_name": "waiting time", "units": "steps"}))
    'waiting time (steps)'
    >>> named(xr.DataArray(0.0, name="waiting_time"))
    'waiting time'
    """
    known = AXES.get(str(array.name), ("",))[0]
    name = str(array.attrs.get("long_name") or otherwise or known or str(array.name or "").replace("_", " "))
    units = array.attrs.get("units")
    return f"{name} ({units})" if units not in (None, "", "1") and array.attrs.get("long_name") else name


def same_labels(what: str, array: xr.DataArray, other: xr.DataArray, dims: Sequence[str]) -> None:
    """Raise a ValueError unless both arrays carry the same labels along ``dims``."""
    for d in dims:
        if not np.array_equal(array[d].values, other[d].values):
            raise ValueError(
                f"{what}: labels along {d!r} differ from those of the array it goes with; select the same of both"
            )


def position(what: str, axis: np.ndarray, values: Any) -> np.ndarray:
    """Where data values lie on an axis of equally wide cells: cell i is centred at i, in between interpolated.

    Values up to half a cell beyond the first and last centre are extrapolated; those farther out become nan.

    Examples
    --------
    >>> position("boundary", np.array([0.0, 1.0, 10.0]), [0.5, 5.5, 40.0])
    array([0.5, 1.5, nan])
    """
    axis, values = np.asarray(axis, float), np.asarray(values, float)
    if len(axis) < 2 or np.any(np.diff(axis) == 0) or len(set(np.sign(np.diff(axis)))) != 1:
        raise ValueError(f"{what}: the axis {axis} must rise or fall strictly and have two values or more")
    if axis[0] > axis[-1]:
        return len(axis) - 1 - position(what, axis[::-1], values)
    i = np.clip(np.searchsorted(axis, values) - 1, 0, len(axis) - 2)
    p = i + (values - axis[i]) / (axis[i + 1] - axis[i])
    return np.where((p < -0.5) | (p > len(axis) - 0.5), np.nan, p)
