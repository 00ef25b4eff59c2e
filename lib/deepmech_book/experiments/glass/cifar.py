"""The glass paper's second data set: results on CIFAR-10, and what differs from MNIST (Figs. A3, A4(d-f), A8)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.specs import Preparation
from deepmech_book.experiments.glass import transitions, walks
from deepmech_book.experiments.glass.data import Binary, binary, fingerprint, title_of

NAME = "cifar10-jpeg"
COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: on CIFAR-10 a learnt loss is high."""


def single_path(data: Binary) -> float:
    r"""The largest λ at which one linear path through seven layers stays away from the origin.

    The path computes :math:`f = a\,\hat u\cdot x` along the direction of the least squares fit. Two units of each layer
    carry it, one for either sign, so it costs :math:`7\lambda a^{2/7}`; where
    :math:`-L'(a)\,a^{5/7}/2 < \lambda` for all a, no such path is at rest but the one with a = 0.

    Examples
    --------
    >>> from deepmech_book.experiments.glass.data import binary
    >>> round(single_path(binary("digits", whiten=True)), 2)
    0.08
    """
    direction = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    margin = data.y * (data.x @ direction) / np.linalg.norm(direction)
    gains = np.geomspace(1e-3, 30.0, 400)
    pull = [(np.maximum(0, 1 - a * margin) * margin).mean() * a ** (5 / 7) / 2 for a in gains]
    return float(max(pull))


def linear_sweep(name: str) -> Sweep:
    """What a straight line through the data that a panel of Fig. 1(c) or A3(b) has seen explains, and its λ*."""
    n_data = transitions.SETTINGS[name]["ttt"]["data"]["n_data"]
    compute, cells = f"{__name__}:linear_cells", {"n_data": over("n_data", [n_data])}
    return Sweep(f"glass-linear-{name}", compute, cells, {"name": name}, data=fingerprint(name, n_data, whiten=True))


def linear_cells(cells: xr.Dataset, name: str) -> xr.Dataset:
    """``explained`` share of the labels' variance, and ``gives_way``, the λ of :func:`single_path`, per cell."""
    rows = []
    for n_data in cells["n_data"].values:
        data = binary(name, int(n_data), whiten=True)
        left = data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]
        rows.append((1 - left.var() / data.y.var(), single_path(data)))
    explained, gives_way = np.transpose(rows)
    return xr.Dataset({"explained": ("cell", explained), "gives_way": ("cell", gives_way)}, {"cell": cells.cell})


def decayed(run: xr.Dataset) -> float:
    """μλ times the steps of the preparation: how many factors of e weight decay alone has taken from a weight."""
    how = sweep_of(run).fixed
    prepared = Preparation(**how["preparation"])
    return (prepared.sgd_steps + prepared.descent_steps) * prepared.learning_rate * how["regularisation"]


def compared() -> pd.DataFrame:
    """N*/P_D, λ* and what a straight line does, of both data sets, one row for each."""
    rows: dict[str, dict[str, str]] = {}
    for name, level in (("mnist", 0.45), (NAME, COLLAPSED)):
        sizes, decays = (result(transitions.standard(kind, name)) for kind in ("uot", "ttt"))
        star = transitions.n_star(sizes)
        points = transitions.collapse_points(decays, level).isel(width=0)
        line = result(linear_sweep(name)).isel(n_data=0)
        rows[title_of(name)] = {
            "samples (a), (b)": " and ".join(f"{sweep_of(r).fixed['data']['n_data']}" for r in (sizes, decays)),
            "N*/P_D": f"{star:.2f}" if np.isfinite(star) else "not reached",
            "λ*, median": f"{float(points.median()):.2g}",
            "least": f"{float(points.min()):.2g}",
            "most": f"{float(points.max()):.2g}",
            "a line explains": f"{100 * float(line.explained):.0f} %",
            "a line gives way at λ": f"{float(line.gives_way):.2g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def paces(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """How far weights at silent units went at T = 1e-8 beside the others and a free walk, per phase."""
    rows, temperature = {}, 1e-8
    for title, run in runs.items():
        one = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature).sum(["seed", "layer"])
        size = np.sqrt(one.end_square / one.end_count.where(one.end_count > 0))
        last = float(run.msd.isel(waiting=0).dropna("time").time[-1])
        rows[title] = {
            "at silent units": f"{float(size.sel(alive=0)):.2g}",
            "other weights": f"{float(size.sel(alive=1)):.2g}",
            "a free walk": f"{np.sqrt(2 * walks.diffusion(temperature) * last):.2g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")
