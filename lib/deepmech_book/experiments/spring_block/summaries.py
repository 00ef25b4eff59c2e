"""Numbers that the claims about several diagrams of networks share, and a table of them for readers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

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
    """Which networks a claim is measured on, in words, for its detail.

    Examples
    --------
    >>> import json
    >>> from deepmech_book.experiments.spring_block.networks import figure_1
    >>> sweep = figure_1("dropout", values=[0.0, 0.1], n_seeds=3)
    >>> origin(xr.Dataset(attrs={"spec": json.dumps(sweep.to_json()), "obtained": "shipped with the book"}))
    'Of 36 networks (figure-1c-digits), stored with the book.'
    """
    sweeps = [sweep_of(result) for result in results]
    words = ", ".join(f"{sweep.n_cells} networks ({sweep.name})" for sweep in sweeps)
    stored = all(result.attrs["obtained"].startswith("shipped") for result in results)
    return f"Of {words}, {'stored with the book' if stored else 'not all of them stored with the book'}."


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
