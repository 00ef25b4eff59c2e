"""Powers and ratios of decorrelation times that pages on two data sets share."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, unknown
from deepmech.metrics import relaxation
from deepmech_book.analysis.glass import phases, regimes
from deepmech_book.sweeps.glass import walks

NO_COLD = "the record sees no temperature at which a free walk would be ten times slower than the landscape alone"


def hot_power(table: xr.Dataset) -> Estimate:
    """The power of T that τ₉₀ follows where a free walk takes less than a tenth of the landscape's own time."""
    return regimes.power_of_temperature(regimes.select_hot(table))


def cold_over_rest(run: xr.Dataset, fine: bool = False, e_fold: bool = False) -> tuple[Estimate, float]:
    """τ at the cold temperature nearest to T* over that at T = 0 (Figs. 3(d, e), A4(b, d, e)): 1 on a plateau.

    Cold is where a free walk takes more than ten times the landscape's own time.

    Parameters
    ----------
    run : Dataset
        Walks of one phase, T = 0 among them.
    fine : bool
        Whether in a window seven times as fine as the paper's, where the record sees colder ones.
    e_fold : bool
        Whether τ is the time in which the overlap falls to 1/e, and not to 0.9.

    Returns
    -------
    tuple of Estimate and float
        The ratio, and the same of a free walk, 10 or more. Unknown if the record sees no cold temperature.
    """
    table = phases.times(run, walks.FINE_WINDOW if fine else walks.PAPER_WINDOW, level=np.exp(-1) if e_fold else 0.9)
    cold = regimes.select_cold(table)
    if not cold.sizes["temperature"]:
        return unknown(NO_COLD), np.nan
    one, rest = cold.sel(temperature=float(cold.temperature.max())), table.sel(temperature=0.0)
    ratio = relaxation.interval_by_factors(float(one.tau / rest.tau), (one.without / rest.without).values)
    return ratio, float(one.free / rest.tau)
