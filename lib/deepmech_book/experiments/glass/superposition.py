"""Collapse in rescaled time, the last overlap, and weights in harmonic wells, with their nulls (Figs. 4, A5, A6, A7).

Functions take survivors of a phase (:func:`.phases.survivors`) and give what the page draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, unknown
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.glass_times import Collapse, collapse, exponent
from deepmech.simulators.brownian import Well, free_overlap, free_time, well_overlap
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import relaxation, walks, wells


def collapsed(run: xr.Dataset) -> tuple[xr.DataArray, Collapse]:
    """Mean overlaps over t/τ₉₀, per temperature, and the collapse they make (Figs. 4(a), A6)."""
    table = relaxation.taus(run)
    curves = run.overlap.isel(chi=1, waiting=0, drop=True).mean("seed").transpose("temperature", "time")
    found = collapse(run.time.values, curves.values, table.tau.values)
    kept = run.temperature.values[np.isfinite(table.tau.values)]
    coords = {"temperature": kept, "rescaled": found.rescaled}
    return xr.DataArray(found.curves, coords, ("temperature", "rescaled")), found


def free_master(rescaled: np.ndarray) -> xr.DataArray:
    """A free walk's overlap over t/τ₉₀: one curve for every window and temperature."""
    values = free_overlap(rescaled, 1.0, free_time(1.0, 1.0))
    return xr.DataArray(values, dims="rescaled", coords={"rescaled": rescaled})


def tail_power(curve: xr.DataArray) -> Estimate:
    """The power of time that an overlap follows while between 0.1 and 0.6; nan with fewer than four points."""
    values = curve.dropna("rescaled")
    part = values.isel(rescaled=np.flatnonzero((values < 0.6) & (values > 0.1)))
    if part.sizes["rescaled"] < 4:
        return unknown("the record of the hottest networks has too few points in the range")
    return exponent(part.rescaled.values, part.values)


def hottest_power(run: xr.Dataset) -> Estimate:
    """:func:`tail_power` of the hottest collapsed curve, with its interval over initial conditions."""

    def fitted(some: xr.Dataset) -> Estimate:
        curves, _ = collapsed(some)
        return tail_power(curves.sel(temperature=float(curves.temperature.max())))

    found, n = fitted(run), run.sizes["seed"]
    if np.isnan(found.value):
        return found
    powers = [fitted(run.isel(seed=np.delete(np.arange(n), i))).value for i in range(n)] if n > 1 else [np.nan]
    return jackknife(found.value, np.array(powers), scatter="symmetric")


def last_overlap(run: xr.Dataset, weights: xr.DataArray) -> xr.Dataset:
    """Overlap at the last recorded time over temperature (Fig. 4(b)), beside its nulls, network by network.

    Parameters
    ----------
    weights : where the walks' comparison begins, of :func:`.wells.waited`.

    Returns
    -------
    Dataset
        Over ``seed`` and ``temperature`` > 0, rising: ``measured``; ``free`` walk; ``well``: independent weights in
        ½λw², each from where it was, at the same time (Eqs. F6, G1).
    """
    warm = run.sel(temperature=run.temperature > 0).isel(waiting=0, drop=True)
    overlap = warm.overlap.isel(chi=1, drop=True).dropna("time", how="all")
    time, window, own = float(overlap.time[-1]), walks.window(warm), weights.sel(seed=run.seed)
    decays = {"free": 0.0, "well": sweep_of(run).fixed["regularisation"]}
    found = {name: wells.overlap(own, window, decay, time) for name, decay in decays.items()}
    found = {"measured": overlap.isel(time=-1, drop=True), **found}
    return xr.Dataset(found, attrs={"time": time}).sortby("temperature").transpose("seed", "temperature")


def departures(run: xr.Dataset) -> xr.Dataset:
    """How far the collapsed curves go ``above`` and ``below`` a free walk's, the farthest temperature of each."""
    curves, found = collapsed(run)
    away = curves - free_master(found.rescaled)
    return xr.Dataset({"above": away.max(), "below": -away.min()})


def least_departure(run: xr.Dataset) -> Estimate:
    """The smaller of both :func:`departures`, its interval over initial conditions."""

    def least(some: xr.Dataset) -> float:
        return float(departures(some).to_dataarray().min())

    return estimate(run, "seed", "symmetric", of=least)


def exact_well(times: np.ndarray, stiffness: float) -> np.ndarray:
    """Eq. F6 with Fig. A5's values: w(0) = 1, ε = 0.1, 2T = 1, μ = 1."""
    # The step of a spec must be stable; time is scaled instead, since only μt enters.
    small = 1e-3
    return well_overlap(times / small, Well(stiffness=stiffness, temperature=0.5, learning_rate=small), 0.1, 1.0)


def simulated_well(n_weights: int = 20_000) -> xr.DataArray:
    """:func:`exact_well` walked step by step, with steps of a hundredth of the fastest time; at a few times."""
    out = {}
    for i, (k, step, end) in enumerate([(0.01, 0.02, 40.0), (100.0, 2e-4, 0.2)]):
        times = np.unique(np.round(np.geomspace(1, end / step, 12)).astype(int))
        stream, w, rows = Stream.of("well", i), np.ones(n_weights), []
        for begin, stop in pairwise([0, *times]):
            for t in range(begin, stop):
                w = (1 - step * k) * w + np.sqrt(step) * stream.normal("step", t, n_weights)
            rows.append((np.abs(w - 1) < 0.1).mean())
        out[k] = xr.DataArray(rows, {"time": times * step}, "time")
    return xr.concat(out.values(), over("stiffness", list(out)), join="outer")


def summary(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """The collapse of every phase, and the power of its hottest curve beside a free walk's over the same range."""
    columns = {}
    for phase, run in runs.items():
        curves, found = collapsed(run)
        powers = {"hottest curve": hottest_power(run), "free walk": tail_power(free_master(curves.rescaled.values))}
        columns[phase] = {
            "quality of the collapse": f"{found.quality:.3f}",
            "distance from its mean": f"{found.spread:.2g}",
            **{f"{k}: power of t": relaxation.in_words(v) for k, v in powers.items() if np.isfinite(v.value)},
        }
    return pd.DataFrame(columns).fillna("–")
