"""What several pages on paper B take of curves over training: sizes of class means, beginnings and ends."""

from __future__ import annotations

from typing import TypeVar

import xarray as xr

__all__ = ["last_tenth", "mean_norm", "start_and_end"]

Curves = TypeVar("Curves", xr.DataArray, xr.Dataset)


def mean_norm(means: xr.DataArray) -> xr.DataArray:
    """Mean over classes of the norm of a class mean, in units of the logits.

    Examples
    --------
    >>> mean_norm(xr.DataArray([[3.0, 4.0], [0.0, 1.0]], dims=("class", "logit"))).item()
    3.0
    """
    return ((means**2).sum("logit") ** 0.5).mean("class")


def last_tenth(curves: Curves) -> Curves:
    """Mean of curves over the last tenth of their times.

    Examples
    --------
    >>> last_tenth(xr.DataArray(range(20), dims="time")).item()
    18.5
    """
    return curves.isel(time=slice(-(curves.sizes["time"] // 10), None)).mean("time")


def start_and_end(curve: xr.DataArray) -> xr.DataArray:
    """Means over the first 3 % and over the last tenth of training, over ``part`` ("start", "end").

    Examples
    --------
    >>> start_and_end(xr.DataArray(range(100), dims="time")).values.tolist()
    [1.0, 94.5]
    """
    start = curve.isel(time=slice(3 * curve.sizes["time"] // 100)).mean("time")
    return xr.concat([start, last_tenth(curve)], xr.Variable("part", ["start", "end"]))
