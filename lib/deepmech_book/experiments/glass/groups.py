"""What groups of Gaussian weights would show: layers of unequal pace and silent units, the nulls of heterogeneity.

Nothing in such a population ever changes its pace. Functions take survivors of a phase (:func:`.phases.survivors`) and
take the groups from what was measured at the last recorded time: the mean square of each layer, weights at silent units
apart, network by network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import erf

from deepmech.core.estimates import Estimate, estimate
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.metrics.glass_modes import dip, unbinned
from deepmech_book.experiments.glass import shapes


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


def motilities(run: xr.Dataset, temperatures: Sequence[float]) -> xr.DataArray:
    """Histogram of log₁₀|Δw| that the groups would have, on the scale of ``shapes.motilities``."""
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
    return shapes.motilities(made)


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
    found = shapes.modes(run, temperature)

    def in_units(some: xr.Dataset) -> float:
        counts = some.motility.isel(waiting=0, drop=True).sum("seed").sel(temperature=temperature)
        sample = unbinned(counts.values, MOTILITY_EDGES)
        return float(dip(sample) / found.critical * np.sqrt(len(sample) / found.n))

    between = estimate(run, "seed", "symmetric", of=lambda some: np.log(in_units(some))).map(np.exp)
    return replace(between, value=found.dip / found.critical, null=grouped_dips(run, temperature)[-1] / found.critical)
