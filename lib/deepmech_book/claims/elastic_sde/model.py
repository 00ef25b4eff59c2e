"""The claim of the page elastic_sde/model: Eq. 9 of paper B as it is printed."""

from __future__ import annotations

import xarray as xr

from deepmech_book.claims.functions import Measurement, measures


@measures("B.theory.eq9")
def eq9(unexplained: xr.DataArray) -> Measurement:
    """What fixed vectors leave of the solution, over ``exponent`` of β, where α fades with the exponent 0.8."""
    words = ", ".join(
        f"{float(part):.1e} ({float(r):g})" for part, r in zip(unexplained, unexplained.exponent, strict=True)
    )
    return Measurement(unexplained, detail=f"By the exponent with which β fades, α with 0.8: {words}.")
