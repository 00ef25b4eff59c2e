"""Where chains end, and how long it takes: Eqs. 7 and 8 of paper A, and its Supplement's section on noise."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import linear_slope
from deepmech.core.labels import over
from deepmech.simulators.spring_block import simulate
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.spring_block.chains import mean_step
from deepmech_book.spring_block.words import said

# --- pictures


def by_time_step(chains, steps, t_end, n_runs):
    """Mean step in elongation at the end over the time step ``dt``, mean over runs, for each ``kind`` of chain."""

    def end(chain, dt):
        return mean_step(simulate(chain, t_end, dt=dt, n_runs=n_runs).position).mean("run")

    curves = [xr.concat([end(chain, dt) for dt in steps], over("dt", steps)) for chain in chains.values()]
    return said(xr.concat(curves, xr.Variable("kind", list(chains))), r"mean $\Delta d$", "in units of $y$")


def over_inverse_square(times):
    """Times over 1/ε̄², and as a straight line through their logarithms has them."""
    inverse = over("inverse_square", 1 / times.noise_bar.values**2)
    line = np.polyval(np.polyfit(inverse.values, np.log(times.values), 1), inverse.values)
    return said(inverse.copy(data=times.values), "drift time"), inverse.copy(data=np.exp(line))


# --- claims


def drift_times(position, level):
    """First recorded time at which the step in elongation, mean over blocks and runs, is below a level, else nan."""
    below = mean_step(position).mean("run") < level
    return below["time"].where(below).min("time")


@measures("A.theory.drift_time")
def drift_time(run, friction_right):
    """Growth with 1/ε̄² of the logarithm of the time to half of the quiet step, by its prediction to leading order."""
    half = friction_right / 2
    time = drift_times(run["position"], half)
    if not np.isfinite(time).all():
        return Measurement(not_testable="the record ends before the weakest noise has led the chain half-way")
    slope = linear_slope(1 / time.noise_bar.values**2, np.log(time.values))
    return Measurement(slope.map(lambda end: end / (half**2 / 2)))
