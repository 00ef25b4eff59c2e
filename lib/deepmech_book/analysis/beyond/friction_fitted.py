"""Do friction and noise of the chains fitted to networks follow nonlinearity and dropout, and could the fit tell?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate
from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import chain_fits
from deepmech_book.analysis.spring_block.summaries import rank_along, wider

OTHER = {"slope": "dropout", "dropout": "slope"}


def follows(number: xr.DataArray, parameter: str) -> xr.DataArray:
    """Rank correlation of a fitted number along ``slope`` or ``dropout``, mean over the values of the other."""
    return rank_along(parameter, number, number[parameter]).mean(OTHER[parameter])


def shuffled(number: xr.DataArray, parameter: str, n_draws: int = 1000) -> xr.DataArray:
    """The same with cells of every row or column in random order, (draw,), mean over seeds."""
    values = number.transpose("seed", OTHER[parameter], parameter)
    stream = Stream.of("friction fitted")
    order = stream.uniform(f"{number.name}, with {parameter}", 0, (n_draws, *values.shape[1:]))
    mixed = np.take_along_axis(values.values[None], np.argsort(order, -1)[:, None], -1)
    return follows(values.expand_dims(draw=n_draws).copy(data=mixed), parameter).mean("seed")


def over_seeds(runs: xr.DataArray) -> Estimate:
    """The mean over seeds. Two looks were had, with three and ten seeds: each may err half as often."""
    return wider(estimate(runs, "seed", "symmetric"), looks=2)


def in_order(load: xr.DataArray, fit: xr.Dataset) -> xr.DataArray:
    """Load curves of chains in which friction falls with the slope and noise grows with dropout, as networks are off.

    They have the numbers of the chains fitted to the networks, but each column's frictions to the right and each row's
    noise in order; and what the fit left over of each network is added to its chain's curves. What the fit does not
    find in these it could not find in the networks.

    Parameters
    ----------
    load : DataArray
        Of the networks, over ``slope`` and ``dropout`` (both rising), ``seed``, ``layer`` and ``at_epoch``.
    fit : Dataset
        The chains fitted to it (:func:`.chain_fits.fitted_chains`).

    Returns
    -------
    DataArray
        As ``load``.
    """
    right = -np.sort(-fit["friction_right"].values, fit["friction_right"].get_axis_num("slope"))
    noise = np.sort(fit["noise_bar"].values, fit["noise_bar"].get_axis_num("dropout"))
    ordered = {"friction_right": right, "noise_bar": noise}
    numbers = fit.assign({name: fit[name].copy(data=values) for name, values in ordered.items()})
    fitted = fit["load_curve"]
    left_over = load.transpose(*fitted.dims) - fitted
    return chain_fits.curves_of(numbers, fitted) + left_over


def table_of_numbers(load: xr.DataArray, fit: xr.Dataset) -> pd.DataFrame:
    """A row for each fitted number, and for two beside them: what it follows, and how often it ends at a bound.

    Rank correlations with ``dropout`` and ``slope``, mean over seeds; shares of fits at the smallest and at the largest
    value that was tried.

    Parameters
    ----------
    load, fit : as for :func:`in_order`.
    """
    titles = {
        "friction_right": "friction to the right", "friction_left": "friction to the left", "noise_bar": "noise",
        "time": "time",
    }  # fmt: skip
    fitted = {title: fit[name] for name, title in titles.items()}
    rivals = {
        "friction to the right − to the left": fit["friction_right"] - fit["friction_left"],
        "bend of the last curve, no fit": curvature(load.isel(at_epoch=-1), "layer"),
    }
    rows = {
        title: {f"with {parameter}": float(follows(number, parameter).mean()) for parameter in ("dropout", "slope")}
        for title, number in (fitted | rivals).items()
    }
    for title, number in fitted.items():
        ends = {"share at the smallest": number.min(), "share at the largest": number.max()}
        rows[title] |= {name: float((number == end).mean()) for name, end in ends.items()}
    return pd.DataFrame(rows).T.map(lambda one: "–" if np.isnan(one) else f"{one:.2f}")


def table_of_scores(fits: Mapping[str, xr.Dataset]) -> pd.Series:
    """R² of each kind of fit at the epochs not seen: median over cells, mean over seeds."""
    scores = {name: float(one["r2"].median(["slope", "dropout"]).mean("seed")) for name, one in fits.items()}
    return pd.Series(scores, name="R², median over cells").round(2)
