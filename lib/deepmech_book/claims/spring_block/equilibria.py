"""Claims of the page spring_block/equilibria: Eqs. 7 and 8 of paper A, and its Supplement's section on noise.

``run`` are positions of chains of stiffness 1, as :func:`deepmech.simulate` gives them.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, linear_slope
from deepmech_book.analysis.spring_block import chains
from deepmech_book.claims.functions import Measurement, measures


@measures("A.theory.range")
def between_the_limits(run: xr.Dataset, friction_right: float, friction_left: float) -> Measurement:
    """Mean step in elongation over noise: 0 at its limit of strong noise, 1 at rest without noise."""
    low = (friction_right - friction_left) / 2
    way = (chains.mean_step(run["position"]) - low) / (friction_right - low)
    return Measurement(estimate(way, "run", "skewed"))


@measures("A.theory.step_noise_bar")
def time_step(same_kicks: xr.DataArray, same_noise: xr.DataArray) -> Measurement:
    """Mean step in elongation over ``dt`` and ``run``, by that at the last; at fixed ε̄, beside the same at fixed ε."""

    def relative(step: xr.DataArray) -> xr.DataArray:
        mean = step.mean("run")
        return mean / mean.isel(dt=-1, drop=True)

    return Measurement(estimate(same_kicks, "run", "skewed", of=relative), null=relative(same_noise))


@measures("A.theory.bounded_rests")
def rests(bounded: xr.Dataset, unbounded: xr.Dataset) -> Measurement:
    """Largest change of a block's mean position between two times, under bounded noise and under Gaussian noise."""
    moved, moved_on = (
        abs(run["position"].mean("run").diff("time")).max("block").isel(time=0, drop=True)
        for run in (bounded, unbounded)
    )
    return Measurement(moved, null=moved_on)


@measures("A.theory.drift_time")
def drift_time(run: xr.Dataset, friction_right: float) -> Measurement:
    """Growth with 1/ε̄² of the logarithm of the time to half of the quiet step, by its prediction to leading order."""
    half = friction_right / 2
    time = chains.drift_times(run["position"], half)
    if not np.isfinite(time).all():
        return Measurement(not_testable="the record ends before the weakest noise has led the chain half-way")
    slope = linear_slope(1 / time.noise_bar.values**2, np.log(time.values))
    return Measurement(slope.map(lambda end: end / (half**2 / 2)))
