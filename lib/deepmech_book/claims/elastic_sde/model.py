"""Claims of the page elastic_sde/model: Eqs. 9 and B.5 of paper B as printed; ``networks`` are by ``data``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech_book.analysis.elastic_sde import imitated_paths
from deepmech_book.claims.functions import Measurement, measures


@measures("B.theory.eq9")
def eq9(unexplained: xr.DataArray) -> Measurement:
    """What fixed vectors leave of the solution, over ``exponent`` of β, where α fades with the exponent 0.8."""
    words = ", ".join(
        f"{float(part):.1e} ({float(r):g})" for part, r in zip(unexplained, unexplained.exponent, strict=True)
    )
    return Measurement(unexplained, detail=f"By the exponent with which β fades, α with 0.8: {words}.")


@measures("B.B5.constant")
def pull_is_linear(networks: Mapping[str, xr.Dataset]) -> Measurement:
    """Factor of the pull in the middle of training over that at its end, by class and data."""
    return Measurement(imitated_paths.linearisation(networks)[0].map(np.exp))
