"""How straight load curves of the zoo's networks are, and what straightness goes with (the page on equal separation).

Networks are records of the zoo (:func:`deepmech_book.bench.record`), over ``number``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.core.random import Stream
from deepmech.metrics.curvature import steps
from deepmech_book.bench.measures import bend
from deepmech_book.bench.stars import DATA, labelled, means, over_stars

__all__ = [
    "Stops",
    "correlation",
    "never_rises",
    "quantiles",
    "random_curves",
    "select",
    "shares_table",
    "smaller_bends",
    "tenths",
]

SHARES = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True)
class Stops:
    """Networks at several stops, by what a law asks of them.

    ``trained``: networks that fit, after the last epoch, and ``untrained``, the same before training; ``deep``: those
    of many layers; ``early`` and ``late``: networks that came to the loss before the last epoch, at the loss and after
    the last epoch; ``after``: all after the last epoch.
    """

    trained: xr.Dataset
    untrained: xr.Dataset
    deep: xr.Dataset
    early: xr.Dataset
    late: xr.Dataset
    after: xr.Dataset


def select(records: Mapping[str, xr.Dataset], least_accuracy: float, deep: int) -> Stops:
    """Networks by what laws ask of them.

    Parameters
    ----------
    records : mapping
        By stop: ``start``, ``loss``, ``epochs``.
    least_accuracy : float
        On training images, of a network that counts as trained.
    deep : int
        Fewest Linear layers of a deep network.
    """
    start, loss, after = (records[stop] for stop in ("start", "loss", "epochs"))
    trained = after.isel(number=np.flatnonzero(after.accuracy.sel(split="train") >= least_accuracy))
    both = np.intersect1d(loss.number[loss.epoch < int(after.epoch.max())], after.number)
    return Stops(
        trained,
        start.sel(number=trained.number),
        trained.isel(number=np.flatnonzero(trained.depth >= deep)),
        loss.sel(number=both),
        after.sel(number=both),
        after,
    )


def correlation(curve: xr.DataArray) -> xr.DataArray:
    """Size of the correlation of a curve (…, layer) with the number of the layer; layers that are nan are left out.

    Examples
    --------
    >>> line = xr.DataArray([3.0, 2.0, 1.0, np.nan], {"layer": range(4)}, ["layer"])
    >>> float(correlation(line).round(12))
    1.0
    """
    x, y = curve.layer.where(np.isfinite(curve)), curve
    x, y = x - x.mean("layer"), y - y.mean("layer")
    return abs((x * y).sum("layer") / np.sqrt((x**2).sum("layer") * (y**2).sum("layer")))


def random_curves(like: xr.DataArray) -> xr.DataArray:
    """Falling curves with as many points as curves (number, layer) have, and steps uniform on the simplex."""
    shape = like.sizes["number"], like.sizes["layer"] - 1
    u = Stream.of("falling curves").uniform("steps", 0, shape)
    curve = np.pad(np.cumsum(np.log(u), axis=1), ((0, 0), (1, 0)))
    like = like.transpose("number", "layer")
    return like.copy(data=np.where(np.isfinite(like), curve, np.nan))


def quantiles(kinds: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Quantiles of several kinds of numbers, (of, share), the share in per cent."""
    values = [np.nanquantile(one.values, SHARES) for one in kinds.values()]
    return xr.DataArray(np.stack(values), {"of": list(kinds), "share": 100 * SHARES}, ["of", "share"])


def never_rises(networks: xr.Dataset) -> xr.DataArray:
    """1 where D of the training samples never rises from a layer to the next, else 0; (number,)."""
    load = networks.load_curve.sel(split="train", drop=True)
    return (steps(load, "layer").min("layer") >= 0).astype(float)


def smaller_bends(early: xr.Dataset, late: xr.Dataset, name: str = "load_curve_hat") -> Estimate:
    """Share of networks whose bend is smaller ``late`` than ``early``, by data set, with its interval over stars."""
    return means(late, (bend(late, name) < bend(early, name)).astype(float))


def tenths(after: xr.Dataset) -> Estimate:
    """Bend of D of the tenth that is the most accurate on validation images, less that of all others, by data set.

    Null: of the tenth with the lowest training loss. Intervals are over stars.
    """
    bends, data = bend(after).values, after.data.values
    scores = after.accuracy.sel(split="validation").values, -after["loss"].sel(split="train").values

    def of_best(at: np.ndarray, score: np.ndarray) -> np.ndarray:
        found = []
        for name in DATA:
            i = at[data[at] == name]
            ordered = bends[i[np.argsort(-score[i], kind="stable")]]
            best = np.arange(len(i)) < len(i) // 10
            found.append(np.nanmean(ordered[best]) - np.nanmean(ordered[~best]))
        return np.array(found)

    def both(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return of_best(at, scores[0]), of_best(at, scores[1])

    return labelled(over_stars(after, both), list(DATA))


def shares_table(kinds: Mapping[str, Estimate]) -> pd.DataFrame:
    """Shares by data set with their intervals, in words, a row for each kind."""
    rows = {}
    for title, found in kinds.items():
        ends = zip(DATA, found.value.values, found.low.values, found.high.values, strict=True)
        rows[title] = {data: f"{value:.0%} [{low:.0%}, {high:.0%}]" for data, value, low, high in ends}
    return pd.DataFrame(rows).T
