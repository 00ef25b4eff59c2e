"""The labelled arrays that a picture draws, to be taken away: one dataset, and one table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr


def arrays_in(given: Mapping[str, Any]) -> Iterator[tuple[str, xr.DataArray]]:
    """The arrays among arguments of a drawing function, also those in mappings, datasets and intervals, with names."""
    for name, value in given.items():
        if isinstance(value, xr.DataArray):
            yield name, value
        elif isinstance(value, Mapping):
            for key, one in value.items():
                many = isinstance(one, xr.Dataset)
                yield from arrays_in({f"{key} {part}": one[part] for part in one} if many else {str(key): one})
        elif name == "interval" and value is not None:
            yield from arrays_in(dict(zip(("low", "high"), value, strict=True)))


def dataset(arrays: Mapping[str, xr.DataArray], alt: str) -> xr.Dataset:
    """Arrays side by side, fit for a file; a dimension whose labels differ from an earlier array's gets its own name.

    Examples
    --------
    >>> curve = xr.DataArray([1.0, 2.0], {"x": [0, 1]}, "x")
    >>> list(dataset({"data": curve, "theory": curve.isel(x=[0])}, "A curve.").sizes)
    ['x', 'x_theory']
    """
    whole, dims = xr.Dataset(attrs={"description": alt}), {d for array in arrays.values() for d in array.dims}
    for name, array in arrays.items():
        name = re.sub(r"\W+", "_", name).strip("_")
        array = array.reset_coords(drop=True)
        array = array.rename({d: f"{d}_{name}" for d in array.dims if d in whole.sizes and not _alike(whole, array, d)})
        # A variable of a dimension's name would be taken for its labels.
        whole[f"{name}_values" if name in dims | {*whole.dims} else name] = _plain(array).variable
        whole = whole.assign_coords({d: _plain(array[d]) for d in array.dims if d in array.coords})
    return whole


def _alike(whole: xr.Dataset, array: xr.DataArray, dim: Any) -> bool:
    if dim in whole.coords and dim in array.coords:
        return bool(np.array_equal(whole[dim].values, array[dim].values))
    return dim not in whole.coords and dim not in array.coords and whole.sizes[dim] == array.sizes[dim]


def _plain(array: xr.DataArray) -> xr.DataArray:
    """With names and units, and without what a file cannot hold."""
    kept = {k: v for k, v in array.attrs.items() if k in ("long_name", "units") and isinstance(v, str)}
    return (array.astype(str) if array.dtype == object else array).drop_attrs().assign_attrs(kept)


def table(data: xr.Dataset) -> pd.DataFrame:
    """One row a number: which array it is of, its labels, and its value.

    Examples
    --------
    >>> curve = xr.DataArray([1.0, 2.0], {"x": [0, 1]}, "x")
    >>> table(xr.Dataset({"data": curve})).values.tolist()
    [['data', 0, 1.0], ['data', 1, 2.0]]
    """
    parts = []
    for name, array in data.data_vars.items():
        rows = array.to_dataframe(name="value").reset_index() if array.ndim else pd.DataFrame({"value": [array.item()]})
        parts.append(rows[[*map(str, array.dims), "value"]].assign(array=str(name)))
    rows = pd.concat(parts)
    return rows[["array", *(c for c in rows if c not in ("array", "value")), "value"]]
