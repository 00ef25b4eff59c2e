"""The glass paper's second data set: results on CIFAR-10, and what differs from MNIST (Figs. A3, A4(d-f), A8)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.experiments.glass import groups, shapes, transitions, walks
from deepmech.experiments.glass.data import Binary
from deepmech.experiments.glass.settings import PHASES
from deepmech.metrics.glass_modes import DipTest
from deepmech.sweeps import obtain, stored
from deepmech.sweeps.results import NotShipped, sweep_of

NAME = "cifar10-jpeg"
COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: on CIFAR-10 a learnt loss is high."""

CHI = 2
"""Which of the recorded windows: the paper does not say which it took here; the finest one needs short records only."""


def phases(anew: bool = False) -> dict[str, xr.Dataset]:
    """Survivors of the three phases: from what ships with the book, or ``anew`` (the data must be at hand)."""
    return {p: walks.kept(obtain(walks.standard(p, NAME)) if anew else stored(f"glass-{p}-{NAME}")) for p in PHASES}


def at_rest(kind: str, anew: bool = False) -> xr.Dataset:
    """Networks at rest: a kind of :func:`~deepmech.experiments.glass.transitions.standard`, as in :func:`phases`."""
    return obtain(transitions.standard(kind, NAME)) if anew else stored(f"glass-{kind}-{NAME}")


def by_size(runs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Final data loss without weight decay over ``labels`` and ``ratio`` = N/P_D: ``typical``, ``low``, ``high``.

    ``typical`` is the geometric mean over initial conditions, with the paper's floor; the others are the extremes.
    """
    rows = []
    for run in runs.values():
        loss = run.data_loss.isel(regularisation=0, drop=True).clip(min=transitions.FLOOR)
        loss = loss.assign_coords(width=transitions.ratio(run).values).rename(width="ratio")
        rows.append(
            xr.Dataset({"typical": transitions.typical(loss), "low": loss.min("seed"), "high": loss.max("seed")})
        )
    return xr.concat(rows, over("labels", list(runs)))


def n_star(typical: xr.DataArray, level: float = 1e-4) -> float:
    """N/P_D at which a curve of :func:`by_size` falls to ``level``; nan if it does not."""
    return transitions.threshold(typical.ratio.values, typical.values, level)


def by_decay(run: xr.Dataset, n_single: int = 5) -> xr.DataArray:
    """Final data loss over ``regularisation`` and ``kind``: the mean over initial conditions, and single networks."""
    curves = run.data_loss.isel(width=0, drop=True)
    single = curves.isel(seed=slice(0, n_single)).rename(seed="kind")
    single = single.assign_coords(kind=[f"network {i + 1}" for i in range(single.sizes["kind"])])
    return xr.concat([curves.mean("seed").expand_dims(kind=["mean"]), single], "kind")


def single_path(data: Binary) -> float:
    r"""The largest λ at which one linear path through seven layers stays away from the origin.

    The path computes :math:`f = a\,\hat u\cdot x` along the direction of the least squares fit. Two units of each layer
    carry it, one for either sign, so it costs :math:`7\lambda a^{2/7}`; where
    :math:`-L'(a)\,a^{5/7}/2 < \lambda` for all a, no such path is at rest but the one with a = 0.

    Examples
    --------
    >>> from deepmech.experiments.glass.data import binary
    >>> round(single_path(binary("digits")), 2)
    0.08
    """
    direction = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    margin = data.y * (data.x @ direction) / np.linalg.norm(direction)
    gains = np.geomspace(1e-3, 30.0, 400)
    pull = [(np.maximum(0, 1 - a * margin) * margin).mean() * a ** (5 / 7) / 2 for a in gains]
    return float(max(pull))


def compared() -> pd.DataFrame:
    """N*/P_D and λ* of the data sets whose transitions ship with the book, one column for each."""
    columns: dict[str, dict[str, str]] = {}
    for name, level in (("mnist", 0.45), (NAME, COLLAPSED)):
        with suppress(NotShipped):
            sizes, decays = stored(f"glass-uot-{name}"), stored(f"glass-ttt-{name}")
            star = n_star(by_size({"as they are": sizes}).typical.isel(labels=0))
            points = transitions.collapse_points(decays, level).isel(width=0)
            low, high = float(points.min()), float(points.max())
            columns[name] = {
                "P_D": f"{sweep_of(sizes).fixed['data']['n_data']}",
                "N*/P_D": f"{star:.2f}" if np.isfinite(star) else "not reached",
                "λ*, median (least, most)": f"{float(points.median()):.3g} ({low:.3g}, {high:.3g})",
            }
    return pd.DataFrame(columns)


def cold_dips(run: xr.Dataset) -> tuple[float, DipTest, DipTest, DipTest]:
    """The lowest temperature above 0, and the dip test there: measured, layers with silent weights apart, layers."""
    low = shapes.coldest({"": run})[""]
    return low, shapes.dips(run)[low], groups.grouped_dip(run, low), groups.grouped_dip(run, low, apart=False)
