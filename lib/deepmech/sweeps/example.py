"""A function that a sweep can call, small enough to read: for documentation and for trying an executor out."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr


def powers(cells: list[dict[str, Any]], highest: int) -> xr.Dataset:
    """Powers 0 … ``highest`` of each cell's ``base``: a variable ``power`` with dims (cell, exponent).

    Examples
    --------
    >>> powers([{"base": 3.0}], highest=2)["power"].values.tolist()
    [[1.0, 3.0, 9.0]]
    """
    exponent = np.arange(highest + 1)
    base = np.array([[cell["base"]] for cell in cells])
    return xr.Dataset({"power": (("cell", "exponent"), base**exponent)}, {"exponent": exponent})
