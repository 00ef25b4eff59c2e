"""How fast an effect dies out: the paper's tail index and the local slope in logarithms (paper B, §4.1, App. D.1.3)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import xarray as xr

from deepmech.core import specs


def tail_index(values: xr.DataArray, source: Literal["A", "alpha"] = "A", last: int = 1000) -> xr.DataArray:
    """r̂ = 1 − mean of log|values| / log(1 + t) over the last recorded times (paper B, §4.1 and Eq. D.19).

    The paper prints one formula and puts two things into it. With the integrated effect A (App. D.1.3) r̂ tends to r for
    α ~ (1 + t)^−r and 0 < r < 1, slowly: it is off by log(α₀/(1 − r)) / log(1 + t). With α itself (§4.1) it tends
    to 1 + r. It is 1 wherever |A| = 1, and for r > 1, where A saturates, it again lies near 1 whatever r is; look at
    :func:`log_slope` beside it.

    Parameters
    ----------
    values
        Over ``time`` and any other dimensions: Â or B̂ (``source="A"``), α̂ or β̂ (``"alpha"``). Their modulus is taken,
        as estimates change sign; the paper does not say what it did.
    source
        Which of the two; only kept in the attributes, since the formula is the same.
    last
        How many of the last recorded times are averaged.

    Returns
    -------
    DataArray
        One number per remaining dimension.

    Examples
    --------
    >>> t = np.arange(10_000.0)
    >>> A = xr.DataArray(2 * (1 + t) ** 0.5, dims="time", coords={"time": t})  # α = (1 + t)^(−1/2)
    >>> round(float(tail_index(A)), 2)
    0.42
    """
    if source not in ("A", "alpha"):
        raise ValueError(f"tail_index: source = {source!r}: must be 'A' or 'alpha'")
    t = _times("tail_index", values)
    last = specs.whole("tail_index: last", last, allowed=f"from 1 to the {len(t)} recorded times (an int)")
    if not 1 <= last <= len(t) or t[-last] <= 0:
        raise ValueError(f"tail_index: last = {last!r}: must be from 1 to the {len(t)} recorded times, all after 0")
    tail = values.isel(time=slice(-last, None))
    with np.errstate(divide="ignore"):
        ratio = xr.apply_ufunc(np.log, abs(tail)) / np.log1p(tail["time"].astype(float))
    return (1 - ratio.mean("time")).assign_attrs(source=source, last=last)


def _times(owner: str, values: Any) -> np.ndarray:
    if not isinstance(values, xr.DataArray) or "time" not in values.coords:
        raise ValueError(f"{owner}: values of type {type(values).__name__}: must be a labelled array over 'time'")
    return np.asarray(values["time"], float)


def log_slope(values: xr.DataArray, edges: Any) -> xr.DataArray:
    """Local tail index: minus the slope of log|values| over log(1 + t), by least squares in each interval of time.

    Parameters
    ----------
    values
        α̂, β̂ or α̂ − β̂ over ``time`` and any other dimensions.
    edges
        Times t₀ < t₁ < …; interval i holds t_i ≤ t < t_{i+1}, at least two recorded times in each.

    Returns
    -------
    DataArray
        Over ``interval`` (its geometric middle in 1 + t) in place of ``time``: r where values ~ (1 + t)^−r there. Where
        values cross zero the logarithm dips, and the slope says little.

    Examples
    --------
    >>> t = np.arange(1000.0)
    >>> alpha = xr.DataArray(3 / (1 + t) ** 1.5, dims="time", coords={"time": t})
    >>> log_slope(alpha, [10, 100, 1000]).values.round(6).tolist()
    [1.5, 1.5]
    """
    t, edges = _times("log_slope", values), specs.array("log_slope: edges", edges)
    if edges.ndim != 1 or len(edges) < 2 or np.any(np.diff(edges) <= 0) or edges[0] < 0:
        raise ValueError(f"log_slope: edges = {edges.tolist()}: must be at least two rising times from 0 on")
    a = values.transpose(..., "time")
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(a.values))
    slopes = []
    for low, high in pairwise(edges):
        inside = (t >= low) & (t < high)
        if inside.sum() < 2:
            raise ValueError(f"log_slope: {inside.sum()} recorded times from {low:g} to {high:g}; widen the interval")
        x = np.log1p(t[inside])
        x = x - x.mean()
        slopes.append(-(logs[..., inside] @ x) / (x @ x))
    middle = np.sqrt((1 + edges[:-1]) * (1 + edges[1:])) - 1
    rest = a.isel(time=0, drop=True)
    return xr.DataArray(
        np.stack(slopes, -1), dims=(*rest.dims, "interval"), coords={**rest.coords, "interval": middle}, name="slope"
    )
