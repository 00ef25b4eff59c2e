"""The claim of the page beyond/your_network: intervals of D hold the truth as often as they say."""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.nulls import share_beside
from deepmech_book.claims.functions import Measurement, measures


@measures("A.1.samples.coverage")
def coverage(covered: xr.DataArray, draws: int) -> Measurement:
    """Share of ``draws`` draws whose interval holds debiased D, by law and number of samples; the null: plain D."""
    plain, debiased = (covered.sel(estimate=form, drop=True) for form in ("plain", "debiased"))
    return Measurement(share_beside(debiased, plain, draws))
