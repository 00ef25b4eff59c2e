"""Estimates of numbers over networks of the zoo whose interval is over stars.

The twelve networks of a star share their seed and most settings, so that what repeats itself independently is a star.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from deepmech.core.estimates import LEVEL, Estimate
from deepmech.core.random import Stream
from deepmech_book.sweeps.extras.zoo import SIZE

__all__ = ["DATA", "DRAWS", "labelled", "means", "over_stars"]

DRAWS = 400
DATA = ("mnist", "fashion-mnist")


@cache
def _picks(n: int) -> np.ndarray:
    """Which of n stars are drawn, (draw, n)."""
    stream = Stream.of("stars")
    return np.stack([(stream.uniform("picks", draw, n) * n).astype(int) for draw in range(DRAWS)])


def _around(found: Any, drawn: Any, n: int) -> Estimate:
    """The estimate of a number and of its null, (2, …), and what n stars drawn anew give of both, (draw, 2, …)."""
    (value, null), spread = found, (np.std(drawn[:, 0], 0), np.std(drawn[:, 0] - drawn[:, 1], 0))
    reach, apart = (stdtrit(n - 1, (1 + LEVEL) / 2) * s for s in spread)
    less = value - null
    return Estimate(value, value - reach, value + reach, n, "", null, (less - apart, less + apart))


def over_stars(record: xr.Dataset, statistic: Callable[[np.ndarray], tuple[Any, Any]]) -> Estimate:
    """An estimate of a number (or several), beside the same number of its null.

    ``statistic`` gets places of networks in the record, in which a star may stand several times, and returns both.
    Half the width of the interval is the spread of what stars drawn anew give, times Student's t.
    """
    star = record.number.values // SIZE
    names, starts = np.unique(star, return_index=True)
    groups = np.split(np.arange(len(star)), starts[1:])
    drawn = [statistic(np.concatenate([groups[i] for i in picks])) for picks in _picks(len(names))]
    return _around(np.array(statistic(np.arange(len(star))), float), np.array(drawn, float), len(names))


def means(record: xr.Dataset, value: xr.DataArray, null: xr.DataArray | float = np.nan) -> Estimate:
    """Mean over networks, per data set; networks whose number is not finite are left out.

    As :func:`over_stars` gives it; sums over each star are taken once.
    """
    names, star = np.unique(record.number.values // SIZE, return_inverse=True)
    which = [name for name in DATA if (record.data == name).any()]
    both = np.array([value.values, np.broadcast_to(np.asarray(null, float), value.shape)], float)
    mine = np.isfinite(both) & (record.data.values == np.array(which)[:, None, None])  # (data, 2, number)
    sums, counts = np.zeros((2, len(names), 2, len(which)))
    np.add.at(sums, star, np.where(mine, both, 0.0).T)
    np.add.at(counts, star, mine.T)
    times = np.stack([np.bincount(picks, minlength=len(names)) for picks in _picks(len(names))])
    with np.errstate(invalid="ignore"):  # where no number is finite there is no mean
        drawn = np.tensordot(times, sums, 1) / np.tensordot(times, counts, 1)
        return labelled(_around(sums.sum(0) / counts.sum(0), drawn, len(names)), which)


def labelled(estimate: Estimate, names: list[str]) -> Estimate:
    """An estimate of a number for each of several data sets, with their names."""

    def along(end: np.ndarray) -> xr.DataArray:
        return xr.DataArray(end, {"data": names}, ["data"])

    return estimate.select(along)
