"""Shapes of displacements: non-Gaussian parameter, motilities and their modes, with the null of α₂ (Fig. 7).

Functions take survivors of a phase (:func:`.phases.survivors`) and give what the page draws.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.metrics.glass_modes import DipTest, dip_test, unbinned
from deepmech_book.experiments.glass import walks


def alphas(run: xr.Dataset) -> xr.Dataset:
    """α₂ over temperature (> 0) and time, mean over initial conditions: ``all`` weights, ``alive`` ones, ``mixture``.

    ``mixture`` is the null: what Gaussian layers (silent weights apart), each with its own mean square, would give.
    """
    warm = run.sel(temperature=run.temperature > 0).isel(waiting=0, drop=True)
    names = {"all": "alpha", "alive": "alpha_alive", "mixture": "alpha_mixture"}
    return xr.Dataset({k: warm[v].mean("seed").dropna("time", how="all") for k, v in names.items()})


def motilities(run: xr.Dataset) -> xr.DataArray:
    """Histogram of log₁₀|Δw| at the last recorded time, pooled over initial conditions: share of weights per bin."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").transpose("temperature", "bin")
    whole = counts.sum("bin") + run.still.isel(waiting=0, drop=True).sum("seed")
    share = counts / whole
    seen = np.flatnonzero(counts.sum("temperature").values)
    # Four bins together: as fine as a few thousand weights allow.
    return share.isel(bin=slice(max(seen[0] - 4, 0), seen[-1] + 5)).coarsen(bin=4, boundary="pad").sum()


def modes(run: xr.Dataset, temperature: float, n_null: int = 200) -> DipTest:
    """Hartigan's test of the pooled log₁₀|Δw| at one temperature; weights that did not move are left out."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
    return dip_test(unbinned(counts.values, MOTILITY_EDGES), Stream.of("dips", 0), n_null)


def coldest(run: xr.Dataset) -> float:
    """The smallest temperature above 0."""
    return float(run.temperature.values[run.temperature.values > 0].min())


def slow_mode(run: xr.Dataset, temperature: float) -> dict[str, float]:
    """The weights that a cold network's landscape does not move, at the last recorded time.

    Returns
    -------
    dict
        ``free``: log₁₀ √(2Dt), where a free walk would be; ``place``: median log₁₀|Δw| of the weights below three times
        that; ``share`` of all weights that they are; ``silent``: share of weights at units silent on all data.
    """
    one = run.isel(waiting=0).sel(temperature=temperature)
    sample = unbinned(one.motility.sum("seed").values, MOTILITY_EDGES)
    last = float(one.overlap.isel(chi=0, seed=0).dropna("time").time[-1])
    free = 0.5 * np.log10(2 * walks.diffusion(temperature) * last)
    slow = sample[sample < free + np.log10(3)]
    place = float(np.median(slow)) if len(slow) else np.nan
    share, silent = len(slow) / len(sample), 1 - float(one.alive_share.mean())
    return {"free": free, "place": place, "share": share, "silent": silent}


def summary(runs: Mapping[str, xr.Dataset], colder_than: float = 1e-3) -> pd.DataFrame:
    """Where slow weights are and how many, per phase and cold temperature, beside a free walk and silent units."""
    rows = {}
    for title, run in runs.items():
        for t in run.temperature.values:
            if 0 < t <= colder_than:
                one, dip = slow_mode(run, float(t)), modes(run, float(t))
                rows[f"{title}, T = {t:g}"] = {
                    "p of the dip test": f"{dip.p:.2g}",
                    "median of slow log₁₀|Δw|": f"{one['place']:.2f}".replace("-", "−"),
                    "log₁₀ of a free walk": f"{one['free']:.2f}".replace("-", "−"),
                    "slow weights": f"{100 * one['share']:.0f} %",
                    "at silent units": f"{100 * one['silent']:.0f} %",
                }
    return pd.DataFrame.from_dict(rows, orient="index")
