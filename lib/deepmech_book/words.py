"""What stands at the axes of pictures: names and units of arrays and of their dimensions, as attributes."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr


def said(words: Mapping[str, tuple[str, str]], array: xr.DataArray, name: str, units: str = "1") -> xr.DataArray:
    """The array under this name, and dimensions that have none under that of a chapter's table; "1": a pure number."""
    nameless = [d for d in array.dims if d in words and "long_name" not in array[d].attrs]
    named = {d: array[d].assign_attrs(long_name=words[str(d)][0], units=words[str(d)][1]) for d in nameless}
    return array.assign_coords(named).assign_attrs(long_name=name, units=units)
