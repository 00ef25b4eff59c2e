"""The glass paper's second data set: results on CIFAR-10, and what differs from MNIST (Figs. A3, A4(d-f), A8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import result
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import shapes, transitions, walks
from deepmech_book.experiments.glass.data import Binary, title_of
from deepmech_book.experiments.glass.settings import OTHER_PHASES

NAME = "cifar10-jpeg"
COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: on CIFAR-10 a learnt loss is high."""


def by_size(runs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Final data loss without weight decay over ``labels`` and ``ratio`` = N/P_D: ``typical``, ``low``, ``high``.

    ``typical`` is the geometric mean over initial conditions, with the paper's floor; ``low`` and ``high`` are the
    extremes; ``left_out`` counts networks that diverged, and are in neither.
    """
    rows = []
    for run in runs.values():
        k = transitions.by_ratio(run)
        ends = {"low": k.min("seed"), "high": k.max("seed"), "left_out": k.isnull().sum("seed")}
        rows.append(xr.Dataset({"typical": transitions.typical(k), **ends}))
    return xr.concat(rows, over("labels", list(runs)), join="outer")


def vanishing(own: xr.Dataset, dealt: xr.Dataset) -> dict[str, dict[str, Any]]:
    """``n_star``, beside that of labels dealt out at random, and ``scatter``, for ``ledger.check``.

    If the mean loss of random labels stays above the level at every size, the null is the largest: a bound, which says
    that random labels fail the claim if it is past the size that the paper calls overparameterised.
    """
    found, null = transitions.vanishing(own), transitions.vanishing(dealt)["n_star"]
    n_star, top = found["n_star"], OTHER_PHASES[NAME]["overparameterised"]["ratio"]
    if "measured" in n_star and "measured" in null:
        n_star["null"] = null["measured"]
    elif "measured" in n_star:
        last = transitions.typical(transitions.by_ratio(dealt)).isel(ratio=-1)
        bound = float(last.ratio)
        if float(last) > transitions.LEVEL and max(bound, n_star["measured"]) > top:
            n_star["null"] = bound
            n_star["detail"] += " No size tried learns the random labels: the null is the largest, a lower bound."
        else:
            found["n_star"] = {"not_testable": "at the sizes tried random labels may do as well or not"}
    return found


def single_path(data: Binary) -> float:
    r"""The largest λ at which one linear path through seven layers stays away from the origin.

    The path computes :math:`f = a\,\hat u\cdot x` along the direction of the least squares fit. Two units of each layer
    carry it, one for either sign, so it costs :math:`7\lambda a^{2/7}`; where
    :math:`-L'(a)\,a^{5/7}/2 < \lambda` for all a, no such path is at rest but the one with a = 0.

    Examples
    --------
    >>> from deepmech_book.experiments.glass.data import binary
    >>> round(single_path(binary("digits")), 2)
    0.08
    """
    direction = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    margin = data.y * (data.x @ direction) / np.linalg.norm(direction)
    gains = np.geomspace(1e-3, 30.0, 400)
    pull = [(np.maximum(0, 1 - a * margin) * margin).mean() * a ** (5 / 7) / 2 for a in gains]
    return float(max(pull))


def compared() -> pd.DataFrame:
    """N*/P_D and λ* of the data sets whose transitions ship with the book, one row for each."""
    rows: dict[str, dict[str, str]] = {}
    for name, level in (("mnist", 0.45), (NAME, COLLAPSED)):
        sizes, decays = (result(transitions.standard(kind, name)) for kind in ("uot", "ttt"))
        star = transitions.vanishing(sizes)["n_star"].get("measured", np.nan)
        points = transitions.collapse_points(decays, level).isel(width=0)
        rows[title_of(name)] = {
            "samples (a), (b)": " and ".join(f"{sweep_of(r).fixed['data']['n_data']}" for r in (sizes, decays)),
            "N*/P_D": f"{star:.2f}" if np.isfinite(star) else "not reached",
            "λ*, median": f"{float(points.median()):.2g}",
            "least": f"{float(points.min()):.2g}",
            "most": f"{float(points.max()):.2g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def less(runs: Mapping[str, xr.Dataset], temperature: float = 1e-3) -> dict[str, Any]:
    """|α₂| of overparameterised networks over the smaller of the two other phases, at the last recorded times."""
    ends = {k: abs(float(shapes.alphas(run)["all"].sel(temperature=temperature)[-1])) for k, run in runs.items()}
    over = ends.pop("overparameterised")
    words = f"{over:.2g} beside " + " and ".join(f"{v:.2g} ({k})" for k, v in ends.items())
    return {
        "measured": over / min(ends.values()),
        "seeds": runs["overparameterised"].sizes["seed"],
        "detail": words + ".",
    }


def paces(runs: Mapping[str, xr.Dataset], temperature: float = 1e-8) -> pd.DataFrame:
    """How far weights at silent units went at one temperature beside the others and a free walk, per phase."""
    rows = {}
    for title, run in runs.items():
        one = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature).sum(["seed", "layer"])
        size = np.sqrt(one.end_square / one.end_count.where(one.end_count > 0))
        last = float(run.msd.isel(waiting=0).dropna("time").time[-1])
        rows[title] = {
            "at silent units": f"{float(size.sel(alive=0)):.2g}",
            "other weights": f"{float(size.sel(alive=1)):.2g}",
            "a free walk": f"{np.sqrt(2 * walks.RATE * temperature / walks.P_D * last):.2g}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")
