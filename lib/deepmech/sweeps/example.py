"""A function that a sweep can call, small enough to read: for documentation and for trying an executor out."""

from __future__ import annotations

import numpy as np
import xarray as xr


def powers(cells: xr.Dataset, highest: int) -> xr.Dataset:
    """Powers 0 … ``highest`` of each cell's ``base``: a variable ``power`` with dims (cell, exponent).

    Examples
    --------
    >>> powers(xr.Dataset({"base": ("cell", [3.0])}), highest=2)["power"].values.tolist()
    [[1.0, 3.0, 9.0]]
    """
    exponent = np.arange(highest + 1)
    return xr.Dataset({"power": cells["base"] ** xr.DataArray(exponent, dims="exponent")}, {"exponent": exponent})
