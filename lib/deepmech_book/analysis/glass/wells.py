"""The overlap of independent weights in the wells of weight decay (App. G)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.simulators.brownian import Well, well_overlap
from deepmech_book.sweeps.glass.walks import P_D, RATE


def overlap(weights: xr.DataArray, window: xr.DataArray, decay: float, time: float) -> xr.DataArray:
    """Overlap after ``time`` steps of independent weights in the well ½λw² alone, from where they are (Eq. F6).

    Parameters
    ----------
    weights : (…, temperature, weight); ``window`` (…, temperature), ε of each network.
    """
    at = np.array(time)
    pairs = [
        xr.apply_ufunc(
            lambda w, e, t=float(t): well_overlap(at, Well(decay, t, RATE, P_D), e[..., None], w).mean(-1),
            weights.sel(temperature=t), window.sel(temperature=t), input_core_dims=[["weight"], []],
        )
        for t in weights.temperature.values
    ]  # fmt: skip
    return xr.concat(pairs, weights.temperature)
