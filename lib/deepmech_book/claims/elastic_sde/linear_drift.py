"""Claims of the page elastic_sde/linear_drift: Eq. B.5 of paper B.

``networks`` are results of networks by ``data``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech_book.analysis.elastic_sde import imitated_paths
from deepmech_book.claims.functions import Measurement, measures


@measures("B.B5.constant")
def pull_is_linear(networks: Mapping[str, xr.Dataset]) -> Measurement:
    """Factor of the pull in the middle of training over that at its end, by class and data."""
    return Measurement(imitated_paths.linearisation(networks)[0].map(np.exp))
