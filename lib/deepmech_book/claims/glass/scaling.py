"""Claims of the page glass/scaling: Figs. A1 and A4(a-c) of paper C, and networks of several sizes."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech_book.analysis.glass import relaxation
from deepmech_book.analysis.glass.summaries import origins
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.glass._clocks import measures_walks


@measures_walks("C.A1.crossover_moves")
def crossover_moves(regularised: xr.Dataset) -> Measurement:
    """The power of χ that T* follows; of weights that slide steadily -1."""
    tables = relaxation.times_by_window(regularised)
    words = origins({"regularised": regularised}, f"T*: {relaxation.list_crossovers(tables)} (0: not seen).")
    found = relaxation.crossover_power(tables)
    why = (
        "in fewer than two windows does the record see T*, whichever network is left out: its end bounds T* from above "
        "only; walk about three times as long (steps)"
    )
    return Measurement(found, null=-1.0, detail=words, not_testable=None if found.is_finite else why)


@measures("C.scaling.cold_kept")
def cold_kept(by_size: Mapping[int, xr.Dataset]) -> Measurement:
    """The landscape's own time at 60,000 samples over that at 4,000; tables of times by number of samples."""
    hot = "; ".join(f"{n:,}: {relaxation.prefactor(one, 1e-3)}" for n, one in by_size.items())
    words = f"Hot, at T = 0.001, τ₉₀ over that of free walks, by P_D: {hot}."
    return Measurement(relaxation.ratio_at_rest(by_size[60_000], by_size[4000]), detail=words)
