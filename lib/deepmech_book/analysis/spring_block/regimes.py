"""The three regimes of Fig. 4: chains with one noise, with noise of their own and without, beside trained networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.simulators.spring_block import Chain, simulate
from deepmech_book.analysis.spring_block.chains import REGIMES
from deepmech_book.analysis.spring_block.summaries import STRAIGHT, THRESHOLDS

SHAPES = ("concave", "straight", "convex")
"""Load curves of the regimes (b), (c) and (d) of Fig. 4."""


def simulated(n_runs: int, t_end: float = 100.0, n_records: int = 401) -> xr.Dataset:
    """Chains of :data:`.chains.REGIMES` through time.

    Returns
    -------
    Dataset
        As :func:`deepmech.simulate` gives it, over ``kind`` (one noise ``shared`` by all blocks, noise of their
        ``own``, ``none``), ``regime``, ``run``, ``time`` and ``block``.
    """
    table = pd.DataFrame.from_dict(REGIMES, orient="index").rename_axis("regime").to_xarray()
    numbers: dict[str, Any] = {str(name): one for name, one in table.data_vars.items()}
    chain, record = Chain(**numbers), np.linspace(0, t_end, n_records)
    kinds = {
        "shared": simulate(chain, t_end, n_runs=n_runs, record=record, shared_noise=True),
        "own": simulate(chain, t_end, n_runs=n_runs, record=record),
        "none": simulate(replace(chain, noise=0.0), t_end, n_runs=n_runs, record=record),
    }
    return xr.concat(kinds.values(), xr.Variable("kind", list(kinds)))


def neighbours_alike(load: xr.DataArray, unit: str, time: str, run: str) -> xr.DataArray:
    """How much neighbours fluctuate alike: correlation of their steps in time about the mean over runs.

    Parameters
    ----------
    load : DataArray, dims (…, unit, time, run)
        Load curves through time; ``unit`` is the blocks or layers that move, ``time`` the records.

    Returns
    -------
    DataArray, dims (…)
        Mean over pairs of neighbours, in [−1, 1].
    """
    step = load.diff(time)
    step = step - step.mean(run)
    shallow = step.isel({unit: slice(None, -1)})
    deep = step.isel({unit: slice(1, None)}).assign_coords({unit: shallow[unit].values})
    return xr.corr(shallow, deep, [run, time]).mean(unit)


def inside(shape: str, bend: Estimate) -> Estimate:
    """By how far a signed curvature lies inside what is called by the name of a shape, one of :data:`SHAPES`.

    Concave is above :data:`~.summaries.STRAIGHT`, straight within it, convex below its negative. The interval holds
    those of all :data:`~.summaries.THRESHOLDS`.

    Examples
    --------
    >>> print(inside("concave", Estimate(0.2, 0.18, 0.22)))
    0.15 [0.11, 0.19]
    >>> print(inside("straight", Estimate(-0.02, -0.03, 0.01)))
    0.03 [0.00, 0.07]
    """
    value, low, high = bend.value, bend.low, bend.high
    if shape == "straight":
        most, least = max(abs(low), abs(high)), 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return Estimate(STRAIGHT - abs(value), min(THRESHOLDS) - most, max(THRESHOLDS) - least, bend.n, bend.reason)
    if shape == "convex":
        value, low, high = -value, -high, -low
    return Estimate(value - STRAIGHT, low - max(THRESHOLDS), high - min(THRESHOLDS), bend.n, bend.reason)
