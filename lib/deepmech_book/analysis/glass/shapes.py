"""Shapes of displacements: non-Gaussian parameter, motilities and their modes, with their nulls (Fig. 7).

The nulls are Gaussian groups of weights, each layer and its silent units by themselves, in which nothing ever changes
its pace.

Functions take survivors of a phase (:func:`.walks.survivors`) and give what the page draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import erf

from deepmech.core.estimates import Estimate, estimate
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES, DipTest, dip, dip_test, unbinned


def alphas(run: xr.Dataset) -> xr.Dataset:
    """α₂ over temperature (> 0) and time of every initial condition: ``all`` weights, ``alive`` ones, ``mixture``.

    ``mixture`` is the null: what Gaussian layers (silent weights apart), each with its own mean square, would give.
    """
    warm = run.sel(temperature=run.temperature > 0).isel(waiting=0, drop=True)
    names = {"all": "alpha", "alive": "alpha_alive", "mixture": "alpha_mixture"}
    return xr.Dataset({k: warm[v].dropna("time", how="all") for k, v in names.items()})


def motilities(run: xr.Dataset) -> xr.DataArray:
    """Histogram of log₁₀|Δw| at the last recorded time, pooled over initial conditions: share of weights per bin."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").transpose("temperature", "bin")
    whole = counts.sum("bin") + run.still.isel(waiting=0, drop=True).sum("seed")
    share = counts / whole
    seen = np.flatnonzero(counts.sum("temperature").values)
    # Four bins together, the same four for all: as fine as a few thousand weights allow.
    return share.isel(bin=slice(max(seen[0] - 4, 0) // 4 * 4, seen[-1] + 5)).coarsen(bin=4, boundary="pad").sum()


def modes(run: xr.Dataset, temperature: float, n_null: int = 200) -> DipTest:
    """Hartigan's test of the pooled log₁₀|Δw| at one temperature; weights that did not move are left out."""
    counts = run.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
    return dip_test(unbinned(counts.values, MOTILITY_EDGES), Stream.of("dips", 0), n_null)


def scales(run: xr.Dataset, temperature: float, apart: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square displacement and number of weights of every group that moved, initial conditions not pooled.

    Parameters
    ----------
    apart : whether weights at silent units are groups of their own; else there is one group per layer.
    """
    one = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature)
    one = one if apart else one.sum("alive", skipna=False)
    square, count = one.end_square.values.ravel(), one.end_count.values.ravel()
    moved = (count > 0) & (square > 0)
    return np.sqrt(square[moved] / count[moved]), count[moved].astype(int)


def gaussian_motilities(run: xr.Dataset, temperatures: Sequence[float]) -> xr.DataArray:
    """Histogram of log₁₀|Δw| of Gaussian groups of the same widths, on the scale of :func:`motilities`."""
    edges = np.append(0.0, 10.0 ** MOTILITY_EDGES[1:])  # what lies below is counted in the first bin
    rows = []
    for t in temperatures:
        size, count = scales(run, t)
        rows.append(np.rint(count @ np.diff(erf(edges / (np.sqrt(2) * size[:, None])), axis=1)))
    expected = xr.DataArray(
        np.stack(rows), dims=("temperature", "bin"), coords={"temperature": list(temperatures), "bin": run.bin}
    )
    some = run[["motility", "still"]].sel(temperature=list(temperatures)).isel(waiting=[0], seed=[0])
    made = some.assign(motility=expected.expand_dims(["seed", "waiting"]), still=some.still * 0)
    return motilities(made)


def grouped_dips(run: xr.Dataset, temperature: float, apart: bool = True) -> np.ndarray:
    """Dips of log₁₀|Δw| of as many Gaussian weights, in the groups of :func:`scales`, of 19 draws, rising.

    What lies above all of them has a chance of one in twenty where the groups are all there is.
    """
    size, count = scales(run, temperature, apart)
    n = int(count.sum())
    stream = Stream.of("groups", n)
    each = np.log10(np.repeat(size, count))
    return np.sort([dip(each + np.log10(np.abs(stream.normal("z", i, n)))) for i in range(19)])


def bimodality(run: xr.Dataset, temperature: float) -> Estimate:
    """The dip of the pooled log₁₀|Δw| beside its null, in units of the critical one.

    The interval is over networks, for the weights of one are not independent. A critical dip falls as 1/√n.
    """
    found = modes(run, temperature)

    def in_units(some: xr.Dataset) -> float:
        counts = some.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
        sample = unbinned(counts.values, MOTILITY_EDGES)
        return float(dip(sample) / found.critical * np.sqrt(len(sample) / found.n))

    between = estimate(run, "seed", "symmetric", of=lambda some: np.log(in_units(some))).map(np.exp)
    return replace(between, value=found.dip / found.critical, null=grouped_dips(run, temperature)[-1] / found.critical)


def far_from_gaussian(run: xr.Dataset) -> tuple[Estimate, str]:
    """α₂ at the last recorded time where coldest, beside that of Gaussian groups, and what else is to be said.

    The interval is of the difference, network by network.
    """
    made = alphas(run)
    low = float(made.temperature.min())
    end = made.sel(temperature=low).isel(time=-1)
    mean = end.mean("seed")
    beyond = estimate(end["all"] - end.mixture, "seed", "symmetric").map(lambda x: x + float(mean.mixture))
    words = f"T = {low:g}, last recorded time. Weights at silent units left out: {float(mean.alive):.2g}."
    return replace(beyond, value=float(mean["all"]), null=float(mean.mixture)), words
