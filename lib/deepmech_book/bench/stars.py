"""Estimates of numbers over networks of the zoo whose interval is over stars.

The twelve networks of a star share their seed and most settings, so that what repeats itself independently is a star.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import xarray as xr

from deepmech.core.estimates import LEVEL, Estimate
from deepmech.core.random import Stream
from deepmech_book.experiments.zoo import SIZE

DRAWS = 400
DATA = ("mnist", "fashion-mnist")


def over_stars(record: xr.Dataset, statistic: Callable[[np.ndarray], tuple[Any, Any]]) -> Estimate:
    """An estimate of a number (or several), beside the same number of its null.

    ``statistic`` gets places of networks in the record, in which a star may stand several times, and returns both.
    Half the width of the interval is the spread of what stars drawn anew give, times Student's t.
    """
    star = record.number.values // SIZE
    names, starts = np.unique(star, return_index=True)
    groups = np.split(np.arange(len(star)), starts[1:])
    value, null = (np.asarray(v, float) for v in statistic(np.arange(len(star))))
    drawn = []
    for draw in range(DRAWS):
        picks = (Stream.of("stars").uniform("picks", draw, len(names)) * len(names)).astype(int)
        drawn.append(np.stack(statistic(np.concatenate([groups[i] for i in picks]))))
    spread = np.std(drawn, 0), np.std([one[0] - one[1] for one in drawn], 0)
    reach, apart = (scipy.stats.t.ppf((1 + LEVEL) / 2, len(names) - 1) * s for s in spread)
    less = value - null
    return Estimate(value, value - reach[0], value + reach[0], len(names), "", null, (less - apart, less + apart))


def means(record: xr.Dataset, value: xr.DataArray, null: xr.DataArray | float = np.nan) -> Estimate:
    """Mean over networks, per data set; networks whose number is not finite are left out."""
    data, n = record.data.values, np.broadcast_to(np.asarray(null, float), value.shape)
    v = value.values.astype(float)

    def statistic(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which = [at[data[at] == name] for name in DATA if (data == name).any()]
        return np.array([_mean(v[i]) for i in which]), np.array([_mean(n[i]) for i in which])

    return labelled(over_stars(record, statistic), [name for name in DATA if (data == name).any()])


def labelled(estimate: Estimate, names: list[str]) -> Estimate:
    """Ends of an estimate of several data sets, with their names."""

    def along(end: np.ndarray) -> xr.DataArray:
        return xr.DataArray(end, {"data": names}, ["data"])

    low, high = estimate.difference or (estimate.low, estimate.high)
    named = estimate.map(along)
    return replace(named, null=along(estimate.null), difference=(along(low), along(high)))


def _mean(values: np.ndarray) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan
