"""What of decorrelation times survives another window (Figs. A1, A4(a-c)), and another size of networks and data."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import jackknife, unknown
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import phases, regimes
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.phases import origins

UNSEEN = (
    "in fewer than two windows does the record see T*, whichever network is left out: its end bounds T* from above "
    "only; walk about three times as long (steps)"
)


def times_by_window(run):
    """χ -> times in the window of that χ (Fig. A1)."""
    return {float(chi): phases.times(run, i) for i, chi in enumerate(run.chi)}


def cold_times(by_size):
    """τ₉₀ at T = 0 over the number of samples, and the ends of its interval."""
    rest = [table.sel(temperature=[0.0])[["tau", "low", "high"]] for table in by_size.values()]
    times = xr.concat(rest, xr.Variable("size", list(by_size), {"long_name": "samples $P_D$", "units": "1"}))
    return times.assign(tau=times.tau.assign_attrs(long_name=r"$\tau_{90}$ at $T = 0$", units="steps"))


def table_of_times(run):
    """τ₉₀ and the time of free walks by temperature, in words, one row each."""
    table = phases.times(run)[["tau", "free"]].to_dataframe().map("{:.2g}".format)
    table.index = table.index.map("{:g}".format)
    return table.rename(columns={"tau": "τ₉₀ (steps)", "free": "free walk (steps)"})


# --- claims


@measures_walks("C.A1.crossover_moves")
def crossover_moves(regularised):
    """The power of χ that T* follows, of windows in which it is seen; of weights that slide steadily -1."""
    tables = times_by_window(regularised)
    stars = {chi: regimes.crossover(table) for chi, table in tables.items()}
    seen = {chi: star for chi, star in stars.items() if star > 0}
    found = unknown(UNSEEN)
    if len(seen) > 1:
        without = np.array([regimes.crossover_without(tables[chi]) for chi in seen])
        found = regimes.power(np.array(list(seen)), np.array(list(seen.values())), without.T)
    listed = ", ".join(f"{star:.2g} at χ = {chi:.3g}" for chi, star in stars.items())
    words = origins({"regularised": regularised}, f"T*: {listed} (0: not seen).")
    return Measurement(found, null=-1.0, detail=words, not_testable=None if found.is_finite else UNSEEN)


@measures("C.scaling.cold_kept")
def cold_kept(by_size):
    """The landscape's own time at 60,000 samples over that at 4,000; tables of times by number of samples."""
    many, few = (np.log(by_size[n][["tau", "without"]].sel(temperature=0.0)) for n in (60_000, 4000))
    each = (many.without - few.tau).values, (many.tau - few.without).values
    found = jackknife(float(many.tau - few.tau), *each, scatter="symmetric").map(np.exp)
    hot = {n: regimes.over_free(one.sel(temperature=[1e-3])).map(lambda end: end.item()) for n, one in by_size.items()}
    listed = "; ".join(f"{n:,}: {ratio}" for n, ratio in hot.items())
    return Measurement(found, detail=f"Hot, at T = 0.001, τ₉₀ over that of free walks, by P_D: {listed}.")
