"""Mean squared displacements beside free walks, and whether weights have cages (Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from deepmech.metrics.glass_times import exponent
from deepmech.simulators.brownian import Well, well_msd
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import regimes, relaxation, walks


def displacement(run: xr.Dataset, waiting: int = 0) -> xr.DataArray:
    """Mean squared displacement over temperature (or batch size) and time, mean over initial conditions."""
    return run.msd.isel(waiting=waiting, drop=True).mean("seed").dropna("time")


def local_powers(msd: xr.DataArray, span: float = 4.0) -> xr.DataArray:
    """d(log MSD)/d(log t) over time, from a straight line through each factor of ``span`` in time."""
    times = msd.time.values.astype(float)
    logs = np.log(np.maximum(msd.transpose(..., "time").values, 1e-300))
    out = []
    for t in times:
        near = (times >= t / span**0.5) & (times <= t * span**0.5)
        x = np.log(times[near])
        x = x - x.mean()
        out.append((logs[..., near] * x).sum(-1) / (x**2).sum() if near.sum() > 2 else np.full(logs.shape[:-1], np.nan))
    return msd.transpose(..., "time").copy(data=np.stack(out, -1))


def recovery(msd: xr.DataArray, low: float = 0.3, lasting: float = 3.0) -> float:
    """How clearly any curve shows a cage: by how much its local power rises after a plateau.

    A plateau is a stretch of local powers below ``low`` over which time grows by a factor of ``lasting`` or more: a
    shorter one is a swing of weights across a steep valley, whose time is a few steps. 0 if there is none, or no rise
    after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    moving = msd.sel(temperature=msd.temperature > 0)
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).transpose(..., "time").values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < low, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= lasting * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most


def free_msd(run: xr.Dataset) -> xr.DataArray:
    """2Dt of a free walk, per temperature above 0."""
    warm = run.temperature.values[run.temperature.values > 0]
    times = run.time.values.astype(float)
    values = [2 * walks.RATE * t / walks.P_D * times for t in warm]
    return xr.DataArray(values, dims=("temperature", "time"), coords={"temperature": warm, "time": times})


def held_msd(run: xr.Dataset, temperature: float) -> xr.DataArray:
    """The mean square displacement of equilibrated weights in ½λw² alone: it ends at 2T/(λP_D)."""
    well = Well(sweep_of(run).fixed["regularisation"], temperature, walks.RATE, walks.P_D)
    return xr.DataArray(well_msd(run.time.values, well), dims="time", coords={"time": run.time})


def beside_nulls(run: xr.Dataset, temperature: float) -> xr.DataArray:
    """Displacements at one temperature along ``kind``: networks, free walks, and weights held by weight decay alone."""
    kinds = {
        "networks": displacement(run).sel(temperature=temperature, drop=True),
        "free walks": free_msd(run).sel(temperature=temperature, drop=True),
        "weight decay alone": held_msd(run, temperature),
    }
    return xr.concat(
        kinds.values(), xr.Variable("kind", list(kinds)), join="inner", coords="minimal", compat="override"
    )


def no_plateau(runs: Mapping[str, xr.Dataset], first: int = 10) -> dict[str, Any]:
    """The clearest cage of any phase and temperature from ``first`` steps on, for ``ledger.check``.

    Before that, single steps swing cold weights across the steepest directions, which the paper saw too (Sec. III D):
    what those steps would add is in the detail. A free walk has no cage.
    """
    found, early = {}, {}
    for phase, run in runs.items():
        msd = displacement(run)
        found[phase] = recovery(msd.isel(time=np.flatnonzero(msd.time.values >= first)))
        early[phase] = recovery(msd)
    said = " ".join(f"{phase}: {v:.2g}; {regimes.origin(runs[phase])}" for phase, v in found.items())
    swings = ", ".join(f"{phase} {v:.2g}" for phase, v in early.items() if v > found[phase])
    said += f" With the first steps: {swings}." if swings else ""
    seeds = min(run.sizes["seed"] for run in runs.values())
    return {"measured": max(found.values()), "null": 0.0, "seeds": seeds, "detail": said}


def hot_claims(run: xr.Dataset, temperature: float = 0.1) -> dict[str, dict[str, Any]]:
    """``hot_slope`` and ``hot_prefactor``: the displacement up to a tenth of the landscape's own time."""
    until = relaxation.at_rest(run) / 10
    early = displacement(run).sel(temperature=temperature)
    early = early.isel(time=np.flatnonzero(early.time.values <= until))
    if early.sizes["time"] < 3:
        none = {"not_testable": f"the record has fewer than three times before {until:.3g} steps"}
        return {"hot_slope": none, "hot_prefactor": none}
    free = free_msd(run).sel(temperature=temperature).sel(time=early.time)
    common = {"expected": 1.0, "null": 1.0, "seeds": run.sizes["seed"], "detail": regimes.origin(run)}
    power = exponent(early.time.values, early.values).value
    return {
        "hot_slope": {"measured": power} | common,
        "hot_prefactor": {"measured": float((early / free).mean())} | common,
    }


def batch_claims(batches: xr.Dataset) -> dict[str, dict[str, Any]]:
    """``batch_order`` and ``localised`` of Fig. 5(d)."""
    curves = displacement(batches)
    last = curves.isel(time=-1, drop=True).sortby("batch_size")
    common = {"seeds": batches.sizes["seed"]}
    origin = regimes.origin(batches)
    decay = 1 / (walks.RATE * sweep_of(batches).fixed["regularisation"])
    share = float(curves.time[-1]) / decay
    words = f"the record ends at {share:.2g} of the time 1/(μλ) in which weight decay confines a weight"
    smallest = int(last.batch_size[0])
    power = float(local_powers(curves).sel(batch_size=smallest).isel(time=-2))
    localised: dict[str, Any] = {"not_testable": words}
    if share > 0.25:
        said = f"{origin} Batch size {smallest}; {words}, {decay:.3g} steps."
        localised = {"measured": power, "null": 1.0, "detail": said} | common
    return {
        "batch_order": {"measured": float(last[0] / last[-1]), "detail": origin} | common,
        "localised": localised,
    }
