"""What the closed forms take: numbers, arrays and labelled arrays, all of real numbers."""

from __future__ import annotations

from typing import Any

import xarray as xr

from deepmech.core import checks


def real_values(caller: str, **values: Any) -> list[Any]:
    """Every value as float64: a DataArray stays one, anything else becomes an ndarray.

    Parameters
    ----------
    caller : str
        Name of the public function, for the message.
    **values : array_like or DataArray
        What it was given, by the names of its arguments.

    Returns
    -------
    list of ndarray or DataArray

    Raises
    ------
    ValueError
        Naming caller, argument and value where these are not real numbers.

    Examples
    --------
    >>> real_values("friction", force=[1, 2])
    [array([1., 2.])]
    >>> real_values("friction", force="a lot")
    Traceback (most recent call last):
    ValueError: friction: force = 'a lot': must be an array of real numbers
    """
    arrays = [(value, checks.check_array(f"{caller}: {name}", value)) for name, value in values.items()]
    return [value.astype(float) if isinstance(value, xr.DataArray) else plain for value, plain in arrays]
