"""Mean squared displacements beside free walks, and whether weights have cages (Fig. 5)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.simulators.brownian import Well, well_msd
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import walks


def displacement(run: xr.Dataset) -> xr.DataArray:
    """Mean squared displacement over temperature (or batch size) and time, mean over initial conditions."""
    return run.msd.isel(waiting=0, drop=True).mean("seed").dropna("time")


def local_powers(msd: xr.DataArray) -> xr.DataArray:
    """d(log MSD)/d(log t) over time, from a straight line through each factor of four in time."""
    times = msd.time.values.astype(float)
    values = msd.transpose(..., "time").values
    logs = np.log(np.maximum(values, np.finfo(values.dtype).tiny))  # some networks do not move at T = 0
    out = []
    for t in times:
        near = (times >= t / 2) & (times <= t * 2)
        x = np.log(times[near])
        x = x - x.mean()
        out.append((logs[..., near] * x).sum(-1) / (x**2).sum() if near.sum() > 2 else np.full(logs.shape[:-1], np.nan))
    return msd.transpose(..., "time").copy(data=np.stack(out, -1))


LOW, LASTING = 0.3, 3.0
"""A plateau is a stretch of local powers below the one, over which time grows by a factor of the other or more."""


def recovery(msd: xr.DataArray) -> float:
    """How clearly any curve shows a cage: by how much its local power rises after a plateau (:data:`LOW`).

    A shorter stretch is a swing of weights across a steep valley, whose time is a few steps. 0 if there is no plateau,
    or no rise after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    moving = msd.sel(temperature=msd.temperature > 0)
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).transpose(..., "time").values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < LOW, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= LASTING * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most


def free_msd(run: xr.Dataset) -> xr.DataArray:
    """2Dt of a free walk, per temperature above 0."""
    warm = run.temperature.values[run.temperature.values > 0]
    times = run.time.values.astype(float)
    values = [2 * walks.diffusion(float(t)) * times for t in warm]
    return xr.DataArray(values, dims=("temperature", "time"), coords={"temperature": warm, "time": times})


def held_msd(run: xr.Dataset, temperature: float) -> xr.DataArray:
    """The mean square displacement of equilibrated weights in ½λw² alone: it ends at 2T/(λP_D)."""
    well = Well(sweep_of(run).fixed["regularisation"], temperature, walks.RATE, walks.P_D)
    return xr.DataArray(well_msd(run.time.values, well), dims="time", coords={"time": run.time})
