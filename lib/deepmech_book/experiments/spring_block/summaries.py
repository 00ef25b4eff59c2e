"""Numbers that the claims about several diagrams of networks share, and a table of them for readers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.statistics import RankCorrelation, interval, rank_correlation, together
from deepmech.metrics.curvature import curvature
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.spring_block.networks import PANELS, Measures


def table(found: Mapping[str, Measures], results: Mapping[str, xr.Dataset] | None = None) -> pd.DataFrame:
    """What matters about diagrams, one column for each: shape against accuracy, the rival, and the best cell.

    Parameters
    ----------
    found : title -> :func:`~deepmech_book.experiments.spring_block.networks.measures` of a diagram.
    results : title -> the sweep's result behind it; adds the numbers of seeds and of diverged networks.
    """
    columns = {title: _column(one) for title, one in found.items()}
    for title, result in (results or {}).items():
        columns[title] |= {
            "seeds per cell": str(result.sizes["seed"]),
            "diverged": f"{int(result['diverged'].sum())} of {result['diverged'].size}",
        }
    return pd.DataFrame(columns).fillna("–")


def origin(*results: xr.Dataset) -> str:
    """Where stored results come from, in words, for the detail of a claim.

    Examples
    --------
    >>> import json
    >>> from deepmech_book.experiments.spring_block.networks import figure_1
    >>> sweep = figure_1("dropout", values=[0.0, 0.1], n_seeds=3)
    >>> origin(xr.Dataset(attrs={"spec": json.dumps(sweep.to_json())}))
    "At the paper's size, from stored results: 36 networks (figure-1c-digits)."
    """
    sweeps = [sweep_of(result) for result in results]
    words = ", ".join(f"{sweep.n_cells} networks ({sweep.name})" for sweep in sweeps)
    return f"At the paper's size, from stored results: {words}."


def _column(one: Measures) -> dict[str, str]:
    rank, best = one.accuracy_falls, one.best_cell
    ends = " [{}, {}]".format(*map(_plain, rank.interval.ends)) if rank.interval.known else ""
    noise = next(name for name in PANELS if name in best)
    return ({"cells left out": str(one.left_out)} if one.left_out else {}) | {
        "accuracy with |curvature|": _plain(rank.rho) + ends,
        "accuracy with noise, α fixed": _plain(one.accuracy_by_noise),
        "best accuracy": f"{100 * best['accuracy']:.1f} %",
        "in the cell": f"α = {best['slope']:g}, {noise.replace('_', ' ')} {best[noise]:g}",
        "its |curvature| / largest": f"{one.best_bend:.2f}",
        "a cell picked blindly": f"{one.blind_bend:.2f}",
    }


def _plain(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def accuracy_falls(found: Mapping[str, Measures]) -> dict[str, Any]:
    """Per diagram the rank correlation of accuracy with the size of the curvature, for ``ledger.check(claim, **this)``.

    The null is that of accuracy with noise at fixed slope, in the direction that suits it.
    """
    ranks = [m.accuracy_falls for m in found.values()]
    return {
        "measured": _by_diagram(found, [r.rho for r in ranks]),
        "null": _by_diagram(found, [-abs(m.accuracy_by_noise) for m in found.values()]),
        **together(r.interval for r in ranks).map(partial(_by_diagram, found)).for_claim(),
    }


def bends_with_noise(found: Mapping[str, Measures]) -> xr.DataArray:
    """Per diagram and slope, the rank correlation of curvature with noise: -1 where every step of noise bends down."""
    arrays = [m.bends_with_noise for m in found.values()]
    return xr.concat(arrays, xr.Variable("diagram", list(found)))


def bend_of_best(means: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """Per diagram the signed curvature of its most accurate cell, for ``ledger.check(claim, **this)``.

    The interval is that of the mean over seeds in this cell; the null is the mean curvature over all cells, which a
    cell picked blindly has on average.
    """
    best = [one.isel(one["accuracy"].argmax(...)) for one in means.values()]
    ends = [interval(b["each_curvature"], "seed", "skewed") for b in best]
    return {
        "measured": _by_diagram(means, [float(b["curvature"]) for b in best]),
        "null": _by_diagram(means, [float(one["curvature"].mean()) for one in means.values()]),
        **together(ends).map(partial(_by_diagram, means)).for_claim(),
    }


def _by_diagram(found: Mapping[str, Any], values: Any) -> xr.DataArray:
    return xr.DataArray(values, dims="diagram", coords={"diagram": list(found)})


def from_layer(result: xr.Dataset, first: int) -> xr.Dataset:
    """A sweep's result without the layers before ``first``; its curvature is that of what is left."""
    kept = result.sel(layer=slice(first, None))
    return kept.assign(curvature=curvature(kept["load_curve"]))


def off_line(load: xr.DataArray) -> xr.DataArray:
    """How far the input lies off the straight line through the hidden layers, over their own root mean square distance.

    The line is that of least squares through (ℓ, D_ℓ), ℓ = 1 … L. What it predicts for ℓ = 0 is uncertain even if the
    layers scatter about a line at random: with seven layers, independent scatter of all alike makes this ratio the
    absolute value of a number with standard deviation about 1.3.

    Parameters
    ----------
    load : DataArray with the dimension ``layer``, 0 … L.
    """

    def ratio(d: np.ndarray) -> float:
        layer = np.arange(len(d))
        line = np.polyfit(layer[1:], d[1:], 1)
        left = d[1:] - np.polyval(line, layer[1:])
        # Two numbers of the line are fitted.
        return float(abs(d[0] - line[1]) / np.sqrt(np.sum(left**2) / (len(left) - 2)))

    return xr.apply_ufunc(ratio, load, input_core_dims=[["layer"]], vectorize=True)


def spread(result: xr.Dataset) -> float:
    """Standard deviation of the curvature between seeds, root mean square over the cells of a sweep.

    Of the networks that did not diverge; :func:`table` says how many did.
    """
    return float(np.sqrt(result["curvature"].var("seed", ddof=1).mean(skipna=True)))


def alike(one: xr.DataArray, two: xr.DataArray) -> RankCorrelation:
    """Spearman's correlation over all cells of two diagrams with the same labels and seeds, with its interval."""
    return rank_correlation(one, two, "seed")
