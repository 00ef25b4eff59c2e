"""The overlap of independent weights in harmonic wells ½kw² (Apps. F and G, Figs. A5 and A7)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.simulators.brownian import Well, final_overlap, well_overlap
from deepmech_book.sweeps.glass.walks import P_D, RATE

__all__ = ["closed_form", "final_overlaps", "overlap", "simulated"]

#: Of Fig. A5: the window, the place where weights start, and 2T with P_D = 1 and μ = 1.
WINDOW, START, NOISE = 0.1, 1.0, 1.0


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


def simulated(stiffness: float, step: float, end: float, stream: Stream, n: int = 20_000) -> xr.DataArray:
    """The overlap of simulated weights in a well (Eq. F1, Fig. A5): w ← (1 - μk)w + √(2Tμ) ξ.

    Parameters
    ----------
    stiffness : float
        k.
    step : float
        Of time μt, so short that μk is small.
    end : float
        Last time.
    stream : Stream
        Random numbers.
    n : int
        How many weights.

    Returns
    -------
    DataArray
        Share within 0.1 of where they started, 1, over ``time`` (12 times or fewer).
    """
    at = np.unique(np.round(np.geomspace(1, end / step, 12)).astype(int))
    w, rows = np.full(n, START), []
    for t in range(at[-1]):
        w = (1 - step * stiffness) * w + np.sqrt(step * NOISE) * stream.normal("step", t, len(w))
        if t + 1 in at:
            rows.append((np.abs(w - START) < WINDOW).mean())
    return xr.DataArray(rows, {"time": at * step}, "time")


def closed_form(times: np.ndarray, stiffness: float) -> xr.DataArray:
    """The overlap of :func:`simulated` weights in the limit of short steps (Eq. F6).

    Parameters
    ----------
    times : ndarray
        (n,) μt > 0.
    stiffness : float
        k.

    Examples
    --------
    >>> round(closed_form(np.array([1e4]), 1.0).item(), 3)  # within 0.1 of 1, of a Gaussian of variance 1/2
    0.042
    """
    small = 1e-3  # The step of a spec must be stable; time is scaled instead, as only μt enters.
    well = Well(stiffness=stiffness, temperature=NOISE / 2, learning_rate=small)
    return xr.DataArray(well_overlap(times / small, well, WINDOW, START), {"time": times}, "time")


def final_overlaps(temperatures: np.ndarray, decay: float, window: float, start: np.ndarray) -> xr.DataArray:
    """The overlap after infinite time in the well of weight decay alone (Eq. G1, Fig. A7).

    Parameters
    ----------
    temperatures : ndarray
        (n,) as the paper counts them.
    decay : float
        λ.
    window : float
        ε.
    start : ndarray
        Weights where the clock starts.

    Returns
    -------
    DataArray
        Mean over weights, over ``temperature``; it falls as T^-1/2 where it is hot.
    """
    ends = [float(final_overlap(Well(decay, t, RATE, P_D), window, start).mean()) for t in temperatures]
    return xr.DataArray(ends, {"temperature": temperatures}, dims="temperature")
