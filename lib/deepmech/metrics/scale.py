"""What measures ask of their arrays: real numbers under the right names, and squares that double precision holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import checks, labels

__all__ = ["labelled_numbers", "unit_scale"]


def unit_scale(values: Any, axis: int | tuple[int, ...] | None = None, power: int = 2) -> np.ndarray:
    """The factor that brings values to about 1 where their squares are no numbers of double precision; else 1.

    It is a power of two, so that a product with it is exact. Measures that do not depend on scale multiply by it first.

    Parameters
    ----------
    values : array of real numbers, any shape.
    axis : one or more axes that share a factor; by default all do.
    power : the highest power of values that is formed.

    Returns
    -------
    ndarray
        One factor for each entry of the other axes; ``axis`` is kept with length 1.

    Examples
    --------
    >>> unit_scale([3.0, -2.0]).item(), unit_scale([2.0**-700, 0.0]).item() == 2.0**699
    (1.0, True)
    """
    size = np.abs(np.asarray(values, float))
    largest = size.max(axis, initial=0.0, where=np.isfinite(size), keepdims=True)
    reach = 10.0 ** (200 / power)
    usual = (largest == 0) | ((largest > 1 / reach) & (largest < reach))
    return np.where(usual, 1.0, np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000)))


def labelled_numbers(what: str, values: Any, *last: str) -> xr.DataArray:
    """``values`` as real numbers with the dimensions ``last`` at the end (:func:`deepmech.core.labels.as_labelled`).

    Parameters
    ----------
    what : name for messages.
    values : labelled array that has these dimensions, or a plain one.
    last : names of the last dimensions.

    Returns
    -------
    DataArray of float64

    Raises
    ------
    ValueError
        For dimensions that are missing or empty, and for values that are no real numbers.

    Examples
    --------
    >>> labelled_numbers("points", [[1, 2]], "sample", "feature").dtype
    dtype('float64')
    """
    found = labels.as_labelled(what, values, *last)
    if empty := [name for name in last if not found.sizes[name]]:
        raise ValueError(f"{what}: dimension {empty[0]!r} has no entries: give at least one")
    return found.copy(data=checks.check_array(what, found.values))
