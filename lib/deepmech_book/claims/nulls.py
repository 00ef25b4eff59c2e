"""Means of runs, or numbers made of them, beside those of a null, with the interval of their difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out, proportion


def beside(runs: xr.DataArray, null: xr.DataArray, over: str, scatter: str = "symmetric") -> Estimate:
    """The mean of runs beside that of their null; run i of both along ``over`` go together."""
    apart = estimate(runs - null, over, scatter)
    return replace(estimate(runs, over, scatter), null=null.mean(over), difference=apart.interval)


def made_beside(
    runs: xr.Dataset,
    over: str,
    of: Callable[[xr.Dataset], float | xr.DataArray],
    null: Callable[[xr.Dataset], float | xr.DataArray],
    scatter: str = "symmetric",
) -> Estimate:
    """A smooth function of all runs beside another one of the same runs, its null."""
    apart = estimate(runs, over, scatter, of=lambda some: of(some) - null(some))
    return replace(estimate(runs, over, scatter, of=of), null=null(runs), difference=apart.interval)


def beside_others(runs: xr.DataArray, null: xr.DataArray, over: str, scatter: str = "symmetric") -> Estimate:
    """The mean of runs beside that of other, independent runs of their null; their difference by Welch's t."""
    return replace(estimate(runs, over, scatter), null=null.mean(over), difference=less(runs, null, over).interval)


def less(runs: xr.DataArray, null: xr.DataArray, over: str) -> Estimate:
    """The mean of runs less that of other, independent runs, of any two numbers; its interval is Welch's."""
    own, other = runs.mean(over), null.mean(over)
    without = leave_one_out(runs, over), leave_one_out(null, over)
    return jackknife(own - other, without[0] - other, own - without[1], over=over, scatter="symmetric")


def share_beside(share: xr.DataArray, null: xr.DataArray, n: int) -> Estimate:
    """A share of ``n`` runs beside that of a null in as many; difference by Newcombe (Stat. Med. 17, 873 (1998))."""
    own, other = proportion(share, n), proportion(null, n)
    low = share - null - np.hypot(share - own.low, other.high - null)
    high = share - null + np.hypot(own.high - share, null - other.low)
    return replace(own, null=null, difference=(low, high))
