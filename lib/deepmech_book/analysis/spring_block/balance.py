"""The dropout at which a network's load curve is straight: foretold, and measured (page spring_block/balance).

A chain fitted to the curve without dropout has a friction; what dropout takes off it is read from one row of networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, linear_slope, spearman
from deepmech.metrics.curvature import curvature, steps

KINDS = ("chain", "curvature", "curvature and width", "chain without width", "other rows")
"""What foretells: the chain; a straight line through the curvature without dropout, also with the chain's rule for
widths; the chain without that rule; the mean of the other rows."""


def quiet_friction(load: np.ndarray) -> Estimate:
    """Friction to the right over stiffness, μ→/k, of the quiet chain (Eq. 7) that fits a load curve best.

    All its blocks have moved, so that each spring is by μ→/k longer than the one before. Nothing else of a chain is
    known from such a curve but its target.

    Parameters
    ----------
    load : (L + 1,), D_0 … D_L, with L ≥ 3.

    Returns
    -------
    Estimate
        In units of ``load``, with the 95 % interval of the straight line through the springs; negative if they shorten.

    Examples
    --------
    >>> print(quiet_friction(np.array([6.0, 5.0, 3.0, 0.0])))
    1.00 [1.00, 1.00]
    """
    stretch = steps(np.asarray(load, float))
    return linear_slope(np.arange(len(stretch)), stretch)


@dataclass(frozen=True)
class Calibration:
    """What dropout does to one row of networks, all of one width.

    Attributes
    ----------
    odds : (n,), p/(1 - p) of the row's dropouts p, rising from 0.
    taken : (n,), what each takes off the friction, in units of the load curve, rising.
    width : of the row.
    line : the dropout at which the row's curve is straight, over its curvature without dropout.
    """

    odds: np.ndarray
    taken: np.ndarray
    width: int
    line: float

    @classmethod
    def of(cls, load: xr.DataArray, width: int) -> Calibration:
        """From load curves (dropout, layer) of networks of that width, the first without dropout."""
        p, curves = load.dropout.values, load.transpose("dropout", "layer").values
        slopes = np.array([quiet_friction(one).value for one in curves])
        taken = np.maximum.accumulate(slopes[0] - slopes)
        bend = curvature(curves)
        return cls(p / (1 - p), taken, width, crossing(p, bend, direction="falls") / bend[0])

    def balance(self, friction: float, width: float) -> float:
        """The dropout that takes off a friction; 0 for none, and at most what the row's last dropout takes."""
        odds = np.interp(friction, self.taken, self.odds) * width / self.width
        return float(odds / (1 + odds))

    def taken_by(self, dropout: np.ndarray, width: float) -> np.ndarray:
        """What dropouts take off the friction at a width: noise of the sum of w units, masked, goes as p/(1 - p)w."""
        return np.interp(dropout / (1 - dropout) * self.width / width, self.odds, self.taken)


def bend_of(difference: np.ndarray, drop: float, n_springs: int) -> np.ndarray:
    """Curvature of load curves whose springs grow evenly, each by ``difference`` more than the one before.

    Examples
    --------
    >>> bend_of(np.array([0.0, 0.5]), 3.0, 3).round(3).tolist()
    [0.0, 0.111]
    """
    spring = np.arange(n_springs) - (n_springs - 1) / 2
    stretch = drop / n_springs + np.asarray(difference)[:, None] * spring
    return curvature(np.concatenate([np.zeros((len(stretch), 1)), -np.cumsum(stretch, -1)], -1))


def measured(rows: xr.Dataset) -> xr.Dataset:
    """``bend`` (row, dropout) and ``balance`` (row), the dropout where it passes 0; the last one if it never does.

    ``rows`` holds ``load_curve`` (row, dropout, layer), nan beyond a network's last layer. Only rows that are concave
    without dropout have a balance.
    """
    curves = rows.load_curve.transpose("row", "dropout", "layer")
    bend = np.stack([curvature(one.dropna("layer").values) for one in curves])
    p = rows.dropout.values
    balance = np.array([crossing(p, one, direction="falls") for one in bend])
    balance = np.where(bend[:, 0] > 0, np.where(np.isnan(balance), p[-1], balance), np.nan)
    coords = {"row": rows.row, "dropout": p}
    return xr.Dataset({"bend": (("row", "dropout"), bend), "balance": ("row", balance)}, coords)


def foretold(rows: xr.Dataset, calibration: Calibration) -> xr.Dataset:
    """What each of :data:`KINDS` says of rows: ``balance`` (kind, row) and ``bend`` (kind, row, dropout).

    All but the mean of other rows see a row's load curve without dropout, and its ``width``. No balance is foretold
    beyond the last dropout. ``low`` and ``high`` (row) are the balances at the ends of the friction's interval.
    """
    came, p = measured(rows), rows.dropout.values
    balance, bend = np.empty((len(KINDS), rows.row.size)), np.empty((len(KINDS), rows.row.size, len(p)))
    ends = np.empty((2, rows.row.size))
    for j in range(rows.row.size):
        quiet = rows.load_curve.isel(row=j).sel(dropout=0.0).dropna("layer").values
        width, bent = float(rows.width.values[j]), float(came.bend.values[j, 0])
        friction = quiet_friction(quiet)
        ends[:, j] = [calibration.balance(end, width) for end in friction.interval]
        share = width / calibration.width
        straight = bent * calibration.line * np.array([1.0, share])
        others = np.arange(rows.row.size) != j
        balance[:, j] = [
            calibration.balance(friction.value, width), *straight,
            calibration.balance(friction.value, calibration.width), np.nanmean(came.balance.values[others]),
        ]  # fmt: skip
        lines = [bent - p / calibration.line / part for part in (1.0, share)]
        left = [friction.value - calibration.taken_by(p, w) for w in (width, calibration.width)]
        chain, plain = (bend_of(one, quiet[0] - quiet[-1], len(quiet) - 1) for one in left)
        bend[:, j] = [chain, *lines, plain, came.bend.values[others].mean(0)]
    coords = {"kind": list(KINDS), "row": rows.row, "dropout": p}
    return xr.Dataset(
        {
            "balance": (("kind", "row"), balance.clip(0, p[-1])),
            "bend": (("kind", "row", "dropout"), bend),
            "low": ("row", ends[0].clip(0, p[-1])),
            "high": ("row", ends[1].clip(0, p[-1])),
        },
        coords,
    )


def errors(came: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
    """How far the foretold balance was off, (kind, row), of the rows that are concave without dropout."""
    return abs(said.balance - came.balance).dropna("row").rename("error of the balanced dropout")


def signs(came: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
    """Share of each row's dropouts above 0 at which the curve bends the foretold way, (kind, row)."""
    return (np.sign(said.bend) == np.sign(came.bend)).isel(dropout=slice(1, None)).mean("dropout")


def ranks(came: xr.Dataset, said: xr.Dataset) -> xr.DataArray:
    """Spearman's rank correlation of foretold and measured bends over all rows and dropouts above 0, (kind)."""
    found = [rank(came.bend, said.bend.sel(kind=kind)) for kind in said.kind.values]
    return xr.DataArray(found, {"kind": said.kind})


def rank(came: xr.DataArray, said: xr.DataArray) -> float:
    """The same of the bends (row, dropout) themselves."""
    x, y = (one.isel(dropout=slice(1, None)).transpose("row", "dropout").values.reshape(1, -1) for one in (said, came))
    return float(spearman(x, y)[0])
