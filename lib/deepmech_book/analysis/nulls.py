"""Means of runs, or numbers made of them, beside those of a null, with the interval of their difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out, proportion

__all__ = ["beside", "beside_others", "less", "made_beside", "share_beside"]


def beside(runs: xr.DataArray, null: xr.DataArray, over: str, scatter: str = "symmetric") -> Estimate:
    """The mean of runs beside that of their null in the same runs.

    Parameters
    ----------
    runs, null : DataArray
        Along ``over``; run i of both go together.
    over, scatter : str
        As for :func:`deepmech.core.estimates.estimate`.

    Examples
    --------
    >>> runs = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="seed")
    >>> found = beside(runs, runs - 0.5, "seed")
    >>> float(found.null), tuple(map(float, found.difference))
    (2.0, (0.5, 0.5))
    """
    apart = estimate(runs - null, over, scatter)
    return replace(estimate(runs, over, scatter), null=null.mean(over), difference=apart.interval)


def made_beside(
    runs: xr.Dataset,
    over: str,
    of: Callable[[xr.Dataset], float | xr.DataArray],
    null: Callable[[xr.Dataset], float | xr.DataArray],
    scatter: str = "symmetric",
) -> Estimate:
    """A smooth function of all runs beside another one of the same runs, its null.

    Arguments are those of :func:`deepmech.core.estimates.estimate`.

    Examples
    --------
    >>> runs = xr.Dataset({"a": ("seed", [1.0, 2.0, 3.0]), "b": ("seed", [0.5, 1.5, 2.5])})
    >>> found = made_beside(runs, "seed", lambda some: float(some.a.mean()), lambda some: float(some.b.mean()))
    >>> found.null, [round(float(end), 2) for end in found.difference]
    (1.5, [0.5, 0.5])
    """
    apart = estimate(runs, over, scatter, of=lambda some: of(some) - null(some))
    return replace(estimate(runs, over, scatter, of=of), null=null(runs), difference=apart.interval)


def beside_others(runs: xr.DataArray, null: xr.DataArray, over: str, scatter: str = "symmetric") -> Estimate:
    """The mean of runs beside that of other, independent runs of their null; their difference by Welch's t.

    Parameters
    ----------
    runs, null : DataArray
        Along ``over``, of any two lengths.
    over, scatter : str
        As for :func:`deepmech.core.estimates.estimate`, of the runs themselves.

    Examples
    --------
    >>> runs = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="seed")
    >>> [round(float(end), 2) for end in beside_others(runs, runs[:3] - 5, "seed").difference]
    [3.27, 7.73]
    """
    return replace(estimate(runs, over, scatter), null=null.mean(over), difference=less(runs, null, over).interval)


def less(runs: xr.DataArray, null: xr.DataArray, over: str) -> Estimate:
    """The mean of runs less that of other, independent runs, of any two numbers; its interval is Welch's.

    Examples
    --------
    >>> runs = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="seed")
    >>> print(less(runs, runs[:3] - 5, "seed"))
    5.50 [3.27, 7.73]
    """
    own, other = runs.mean(over), null.mean(over)
    without = leave_one_out(runs, over), leave_one_out(null, over)
    return jackknife(own - other, without[0] - other, own - without[1], over=over, scatter="symmetric")


def share_beside(share: xr.DataArray, null: xr.DataArray, n: int) -> Estimate:
    """A share of ``n`` runs beside that of a null in as many; their difference by Newcombe (Stat. Med. 17, 873 (1998)).

    Examples
    --------
    >>> found = share_beside(xr.DataArray(0.9), xr.DataArray(0.8), 100)
    >>> [round(float(end), 3) for end in found.difference]
    [0.0, 0.199]
    """
    own, other = proportion(share, n), proportion(null, n)
    low = share - null - np.hypot(share - own.low, other.high - null)
    high = share - null + np.hypot(own.high - share, null - other.low)
    return replace(own, null=null, difference=(low, high))
