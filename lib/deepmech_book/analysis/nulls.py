"""Means of runs beside those of a null, with the interval of their difference: neither is known exactly."""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out

__all__ = ["beside", "beside_others"]


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
    less = estimate(runs - null, over, scatter)
    return replace(estimate(runs, over, scatter), null=null.mean(over), difference=less.interval)


def beside_others(runs: xr.DataArray, null: xr.DataArray, over: str) -> Estimate:
    """The mean of runs of symmetric scatter beside that of other, independent runs of their null (Welch's t).

    Parameters
    ----------
    runs, null : DataArray
        Along ``over``, of any two lengths.
    over : str
        The dimension of runs.

    Examples
    --------
    >>> runs = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="seed")
    >>> [round(float(end), 2) for end in beside_others(runs, runs[:3] - 5, "seed").difference]
    [3.27, 7.73]
    """
    own, other = runs.mean(over), null.mean(over)
    without = leave_one_out(runs, over), leave_one_out(null, over)
    less = jackknife(own - other, without[0] - other, own - without[1], over=over, scatter="symmetric")
    return replace(estimate(runs, over, "symmetric"), null=other, difference=less.interval)
