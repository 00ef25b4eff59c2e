"""Collapse in rescaled time, the last overlap, and weights in harmonic wells, with their nulls (Figs. 4, A5, A6, A7).

Functions take survivors of a phase (:func:`~deepmech_book.experiments.glass.walks.kept`) and give what the page draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.core.statistics import interval_of
from deepmech.metrics.glass_times import Collapse, Exponent, collapse, exponent
from deepmech.simulators.brownian import Well, final_overlap, free_overlap, free_time, well_overlap
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import regimes, relaxation, walks


def collapsed(run: xr.Dataset, chi: int = 1, waiting: int = 0) -> tuple[xr.DataArray, Collapse]:
    """Mean overlaps over t/τ₉₀, per temperature, and the collapse they make (Figs. 4(a), A6)."""
    table = relaxation.taus(run, chi=chi, waiting=waiting)
    curves = run.overlap.isel(chi=chi, waiting=waiting, drop=True).mean("seed").transpose("temperature", "time")
    found = collapse(run.time.values, curves.values, table.tau.values)
    kept = run.temperature.values[np.isfinite(table.tau.values)]
    return xr.DataArray(
        found.curves, dims=("temperature", "rescaled"), coords={"temperature": kept, "rescaled": found.rescaled}
    ), found


def free_master(rescaled: np.ndarray) -> xr.DataArray:
    """A free walk's overlap over t/τ₉₀: one curve for every window and temperature."""
    values = free_overlap(rescaled, 1.0, free_time(1.0, 1.0))
    return xr.DataArray(values, dims="rescaled", coords={"rescaled": rescaled})


def free_null(curves: xr.DataArray) -> xr.DataArray:
    """:func:`free_master` at the rescaled times of :func:`collapsed` curves, labelled with the highest temperature."""
    return free_master(curves.rescaled.values).expand_dims(temperature=[float(curves.temperature.max())])


def tail_power(curve: xr.DataArray, low: float = 0.1, high: float = 0.6) -> Exponent | None:
    """The power of time that an overlap follows while between ``low`` and ``high``; None with fewer than four."""
    values = curve.dropna("rescaled")
    inside = (values < high) & (values > low)
    part = values.isel(rescaled=np.flatnonzero(inside.values))
    return exponent(part.rescaled.values, part.values) if part.sizes["rescaled"] >= 4 else None


def hottest_power(run: xr.Dataset) -> Exponent | None:
    """:func:`tail_power` of the hottest collapsed curve, with its interval over initial conditions."""

    def fitted(some: xr.Dataset) -> Exponent | None:
        curves, _ = collapsed(some)
        return tail_power(curves.sel(temperature=float(curves.temperature.max())))

    found, n = fitted(run), run.sizes["seed"]
    if found is None:
        return None
    each = [fitted(run.isel(seed=np.delete(np.arange(n), i))) for i in range(n)] if n > 1 else []
    powers = np.array([np.nan if power is None else power.value for power in each or [None]])
    return replace(found, interval=interval_of(found.value, powers, scatter="symmetric"))


def last_overlap(run: xr.Dataset, chi: int = 1, waiting: int = 0) -> xr.Dataset:
    """Overlap at the last recorded time over temperature (Fig. 4(b)), beside its nulls.

    Returns
    -------
    Dataset
        Over ``temperature`` > 0: ``measured`` (mean over initial conditions); ``free`` walk; ``well``: independent
        weights in ½λw², each started where a weight of spread σ would be, at the same time (Eqs. F6, G1).
    """
    how = sweep_of(run).fixed
    warm = run.sel(temperature=run.temperature > 0).isel(chi=chi, waiting=waiting)
    overlap = warm.overlap.mean("seed").dropna("time")
    time = float(overlap.time[-1])
    epsilon, sigma = float(walks.window(run, chi).mean()), float(run.sigma.mean())
    starts = sigma * Stream.of("last overlap", 0).normal("starts", 0, 4000)
    free, well = [], []
    for t in warm.temperature.values:
        one = Well(stiffness=how["regularisation"], temperature=t, learning_rate=walks.RATE, n_data=walks.P_D)
        free.append(float(free_overlap(np.array(time), epsilon, one.diffusion)))
        well.append(float(np.mean([well_overlap(np.array(time), one, epsilon, s) for s in starts[:400]])))
    return xr.Dataset(
        {
            "measured": overlap.isel(time=-1, drop=True).transpose("temperature").drop_vars(["chi", "waiting"]),
            "free": ("temperature", free),
            "well": ("temperature", well),
        },
        {"temperature": warm.temperature},
        {"time": time},
    ).sortby("temperature")


def well_curves(stiffnesses: Sequence[float] = (0.01, 100.0), n_times: int = 81) -> xr.DataArray:
    """Eq. F6 with Fig. A5's values: w(0) = 1, ε = 0.1, 2T = 1, μ = 1; over ``stiffness`` and ``time``."""
    times = np.geomspace(1e-5, 1e2, n_times)
    values = [_exact_well(times, k) for k in stiffnesses]
    return xr.DataArray(
        values, dims=("stiffness", "time"), coords={"stiffness": list(stiffnesses), "time": times}, name="overlap"
    )


def _exact_well(times: np.ndarray, stiffness: float) -> np.ndarray:
    # The step of a spec must be stable; time is scaled instead, since only μt enters.
    small = 1e-3
    return well_overlap(times / small, Well(stiffness=stiffness, temperature=0.5, learning_rate=small), 0.1, 1.0)


def well_exact(stiffness: float, time: float) -> float:
    """One point of :func:`well_curves`."""
    return float(_exact_well(np.array([time]), stiffness)[0])


def simulated_well(stiffnesses: Sequence[float] = (0.01, 100.0), n_weights: int = 20_000) -> xr.DataArray:
    """The same walked step by step, with steps of a hundredth of the fastest time; at a few times."""
    out = []
    for i, k in enumerate(stiffnesses):
        step = 2e-4 if k > 1 else 0.02
        times = np.unique(np.round(np.geomspace(1, (0.2 if k > 1 else 40.0) / step, 12)).astype(int))
        stream, w, t, rows = Stream.of("well", i), np.ones(n_weights), 0, []
        for stop in times:
            while t < stop:
                w = (1 - step * k) * w + np.sqrt(step) * stream.normal("step", t, n_weights)
                t += 1
            rows.append((np.abs(w - 1) < 0.1).mean())
        out.append(xr.DataArray(rows, dims="time", coords={"time": times * step}))
    return xr.concat(out, over("stiffness", list(stiffnesses)), join="outer")


def final_well(run: xr.Dataset, temperatures: np.ndarray, chi: int = 1) -> xr.DataArray:
    """Eq. G1 over temperature with the windows and starts of a phase's networks (Fig. A7)."""
    how = sweep_of(run).fixed
    epsilon, sigma = float(walks.window(run, chi).mean()), float(run.sigma.mean())
    starts = sigma * Stream.of("final well", 0).normal("starts", 0, 4000)
    values = [
        float(final_overlap(Well(how["regularisation"], t, walks.RATE, walks.P_D), epsilon, starts).mean())
        for t in temperatures
    ]
    return xr.DataArray(values, dims="temperature", coords={"temperature": temperatures})


def well_gap(simulated: xr.DataArray) -> float:
    """Largest distance of :func:`simulated_well` from Eq. F6."""
    points = simulated.stack(point=["stiffness", "time"]).dropna("point")
    exact = [well_exact(float(k), float(t)) for k, t in zip(points.stiffness.values, points.time.values, strict=True)]
    return float(np.abs(points.values - exact).max())


def half_power(forever: xr.DataArray, above: float = 1e4) -> float:
    """The power of T that Eq. G1 follows at high temperature."""
    tail = forever.sel(temperature=slice(above, None))
    return exponent(tail.temperature.values, tail.values).value


def regularised_claims(run: xr.Dataset, warm: float = 1e-2) -> dict[str, dict[str, Any]]:
    """``collapse``, ``master_power`` and ``last_power`` of Fig. 4, each for ``ledger.check``."""
    curves, found = collapsed(run)
    common: dict[str, Any] = {"seeds": run.sizes["seed"]}
    said = f"{regimes.origin(run)} "
    apart = f"Root mean square distance from the mean curve: {found.spread:.2g}, over unscaled time {found.before:.2g}."
    claims = {"collapse": {"measured": found.quality, "null": 1.0, "detail": said + apart} | common}
    fit = hottest_power(run)
    null = tail_power(free_master(curves.rescaled.values))
    claims["master_power"] = (
        {"not_testable": "the record of the hottest networks has too few points in the range"}
        if fit is None or null is None
        else {"measured": fit.value, "expected": -0.5, "null": null.value, **fit.interval.for_claim()}
        | common
        | {"detail": said}
    )
    last = last_overlap(run).sel(temperature=slice(warm, None))
    power = {str(k): exponent(last.temperature.values, v.values).value for k, v in last.data_vars.items()}
    alone = f"Weights in the well of weight decay alone give {power['well']:.2g} over the same temperatures."
    claims["last_power"] = {
        "measured": power["measured"], "expected": -0.5, "null": power["free"], "detail": said + alone.replace("-", "−")
    } | common  # fmt: skip
    return claims


def over_stays(runs: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """How far overparameterised networks lie from their master curve, the other phases in the detail."""
    spread = {phase: collapsed(run)[1].spread for phase, run in runs.items()}
    others = "; ".join(f"{phase}: {v:.2g}" for phase, v in spread.items() if phase != "overparameterised")
    run = runs["overparameterised"]
    said, fit = f"{regimes.origin(run)} The other phases: {others}.", regimes.fitting(run)
    if 0 < fit.sizes["seed"] < run.sizes["seed"]:
        said += f" The {fit.sizes['seed']} overparameterised ones without loss alone: {collapsed(fit)[1].spread:.2g}."
    return {"measured": spread["overparameterised"], "null": 0.0, "seeds": run.sizes["seed"], "detail": said}


def summary(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """The collapse of every phase, and the power of its hottest curve beside a free walk's over the same range."""
    return pd.DataFrame({title: _column(run) for title, run in runs.items()}).fillna("–")


def _column(run: xr.Dataset) -> dict[str, str]:
    curves, found = collapsed(run)
    power, free = hottest_power(run), tail_power(free_master(curves.rescaled.values))
    rows = {"quality of the collapse": f"{found.quality:.3f}", "distance from its mean": f"{found.spread:.2g}"}
    if power is not None and free is not None:
        low, high = power.interval.ends
        words = f"{power.value:.3f}" + f" [{low:.3f}, {high:.3f}]" * power.interval.known
        rows["hottest curve: power of t"] = words.replace("-", "−")
        rows["free walk: power of t"] = f"{free.value:.3f}".replace("-", "−")
    return rows
