"""Decorrelation times over temperature, waiting time and window, with the free walk beside them (Figs. 2, 3, 8)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out, unknown
from deepmech.core.labels import over
from deepmech.metrics.glass_times import decorrelation_time, exponent
from deepmech.simulators.brownian import free_overlap
from deepmech_book.experiments.glass import walks
from deepmech_book.experiments.glass.displacement import local_powers

FINEST = 2
"""Which of the recorded windows: the finest one, in which a short record sees the landscape's own time."""
# Why a record leaves a claim open, where several reductions meet the same lack.
NEVER_HOT = "the record sees no temperature at which a free walk would be ten times faster than the landscape alone"
NONE_FITS = "no network is without data loss after the first wait; widen them (widths) or train for longer (sgd_steps)"


def taus(run: xr.Dataset, level: float = 0.9, chi: int = 1, waiting: int = 0) -> xr.Dataset:
    """τ of the mean overlap over initial conditions, per temperature.

    Parameters
    ----------
    run : survivors of a phase (:func:`.phases.survivors`).
    chi, waiting : which of the recorded windows and waiting times.

    Returns
    -------
    Dataset
        Over ``temperature``: ``tau`` (nan if not crossed), its interval ``low``, ``high`` (95 %, over initial
        conditions), ``state``, and ``free``: the exact time of free walks with the same windows. Over ``seed`` too:
        ``without`` and ``free_without``, both times without that initial condition.
    """
    overlap = run.overlap.isel(chi=chi, waiting=waiting, drop=True).transpose("temperature", "seed", "time").values
    times, n = run.time.values, overlap.shape[1]
    others = np.array([np.delete(np.arange(n), i) for i in range(n)])
    windows = walks.window(run, chi).transpose("temperature", "seed").values
    rows = []
    for curves, sizes, temperature in zip(overlap, windows, run.temperature.values, strict=True):
        mean = decorrelation_time(times, curves.mean(0), level)
        without = [decorrelation_time(times, curve, level).time for curve in leave_one_out(curves)]
        ends = by_factors(mean.time, without).interval
        free = walks.free_taus(sizes, float(temperature), level)
        each = walks.free_taus(sizes[others], float(temperature), level) if n > 1 else [np.nan]
        rows.append((mean.time, *ends, mean.state, without, float(free), each))
    names = ("tau", "low", "high", "state", "without", "free", "free_without")
    dims = {"without": ("temperature", "seed"), "free_without": ("temperature", "seed")}
    return xr.Dataset(
        {k: (dims.get(k, "temperature"), list(v)) for k, v in zip(names, zip(*rows, strict=True), strict=True)},
        {"temperature": run.temperature},
    )


def by_factors(value: Any, *without: Any) -> Estimate:
    """The interval of a time or a ratio of times, from what it is without each initial condition.

    Times scatter by factors, and means over the weights of a network about symmetrically.
    """
    return jackknife(np.log(value), *(np.log(w) for w in without), scatter="symmetric").map(np.exp)


def beside(tables: Mapping[Hashable, xr.Dataset], name: str) -> xr.Dataset:
    """:func:`taus` of several phases, windows, waits or sizes along ``name``, T > 0 and rising, for a picture."""
    joined = xr.concat([t.drop_dims("seed") for t in tables.values()], over(name, list(tables)), join="outer")
    return joined.sel(temperature=joined.temperature > 0).sortby("temperature")


def by_phase(runs: Mapping[str, xr.Dataset], **how: Any) -> xr.Dataset:
    """:func:`taus` of several phases along ``phase``, with the free walks also where a phase was not walked."""
    joined = beside({k: taus(run, **how) for k, run in runs.items()}, "phase")
    return joined.assign(free=(joined.free * joined.temperature).median("temperature") / joined.temperature)


def at_rest(table: xr.Dataset) -> float:
    """τ at T = 0, where only the landscape moves the weights; infinite if the record ends before."""
    found = table.sel(temperature=0.0)
    return float(found.tau) if found.state == "crossed" else np.inf


def hot(table: xr.Dataset, still: float) -> xr.Dataset:
    """Temperatures at which a free walk would be at least ten times faster than the landscape alone."""
    return table.isel(temperature=np.flatnonzero((table.free * 10.0 < still) & np.isfinite(table.tau)))


def cold(table: xr.Dataset, still: float, ratio: float = 10.0) -> xr.Dataset:
    """Temperatures above 0 at which a free walk would be at least ``ratio`` times slower than the landscape alone."""
    slower = (table.free > still * ratio) & (table.temperature > 0) & np.isfinite(table.tau)
    return table.isel(temperature=np.flatnonzero(slower))


def seen(table: xr.Dataset) -> xr.Dataset:
    """Temperatures above 0 at which the record sees τ."""
    return table.isel(temperature=np.flatnonzero((table.temperature > 0) & (table.state == "crossed")))


def slope(table: xr.Dataset) -> Estimate:
    """The power of T that τ follows over a table's temperatures, with its interval over initial conditions.

    Of fewer than two temperatures it is nan, and the interval says why.
    """
    if table.sizes["temperature"] < 2:
        return unknown("fewer than two temperatures of the record lie in this regime")
    x = table.temperature.values
    return _over_seeds(x, table.tau.values, table.without.transpose("seed", "temperature").values)


def _over_seeds(x: np.ndarray, y: np.ndarray, without: np.ndarray) -> Estimate:
    """The power of x that y follows; ``without`` (seed, x) is y without each initial condition."""
    found = exponent(x, y)
    powers = np.array([exponent(x, w).value if np.isfinite(w).all() else np.nan for w in without])
    return jackknife(found.value, powers, scatter="symmetric")


def crossover(table: xr.Dataset) -> float:
    """T*: where the free walk would take as long as the landscape alone; 0 if the landscape never moves the weights."""
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return float(first.free * first.temperature) / at_rest(table)


def crossover_power(tables: Mapping[float, xr.Dataset]) -> Estimate:
    """The power of χ that T* follows, from :func:`taus` for every window; its interval is over initial conditions."""
    known = {chi: table for chi, table in tables.items() if crossover(table) > 0}
    if len(known) < 2:
        return unknown("the landscape's own time was seen for fewer than two windows")
    without = []
    for table in known.values():
        hottest = table.isel(temperature=int(np.argmax(table.temperature.values)))
        still = table.without.sel(temperature=0.0)
        without.append((hottest.free_without * hottest.temperature / still).values)
    stars = np.array([crossover(table) for table in known.values()])
    return _over_seeds(np.array(list(known)), stars, np.transpose(without))


def prefactor(table: xr.Dataset) -> Estimate:
    """τ over the exact time of free walks, per temperature of ``table``; its interval is over initial conditions.

    Each has its own window in both times and its own weights.
    """
    ratio = table.tau / table.free
    if ratio.size == 0:
        return unknown(NEVER_HOT)
    each = (table.without / table.free_without).transpose("seed", "temperature").values
    return replace(by_factors(ratio, each).map(lambda end: ratio.copy(data=end)), value=ratio)


def distance_from_free(run: xr.Dataset, temperature: float) -> Estimate:
    """Largest distance of the mean overlap from free walks with the same windows, until these have fallen to 0.3.

    The interval is over initial conditions, at the time of the largest distance.
    """
    one = run.sel(temperature=temperature).isel(waiting=0, chi=1, drop=True)
    free = [
        free_overlap(run.time.values, float(e), walks.diffusion(temperature))
        for e in walks.window(run).sel(temperature=temperature)
    ]
    gaps = one.overlap.transpose("seed", "time").values - np.array(free)
    gaps = np.where(np.mean(free, 0) > 0.3, gaps, np.nan)
    if np.isnan(gaps).all():
        return unknown("free walks have fallen to 0.3 before the first recorded time")
    at = int(np.nanargmax(abs(gaps.mean(0))))
    each = gaps[:, at] * np.sign(gaps[:, at].mean())
    return estimate(each, scatter="symmetric")


def steps_between(table: xr.Dataset) -> Estimate:
    """The power of 1/T that τ follows from each temperature of a table to the next colder one.

    Where both are seen, also without any one initial condition.
    """
    part = seen(table).sortby("temperature")
    part = part.isel(temperature=np.flatnonzero(np.isfinite(part.without).all("seed").values))
    steps = np.diff(np.log(part.temperature.values))

    def powers(tau: xr.DataArray) -> xr.DataArray:
        between = tau.isel(temperature=slice(1, None))
        return between.copy(data=-np.diff(np.log(tau.transpose(..., "temperature").values)) / steps)

    without = powers(part.without.transpose("seed", "temperature"))
    return jackknife(powers(part.tau), without, over="seed", scatter="symmetric")


def all_steps(runs: Mapping[str, xr.Dataset], chi: int = 1) -> Estimate:
    """:func:`steps_between` of several phases in one of the recorded windows, one after the other."""
    found = [steps_between(taus(run, chi=chi)) for run in runs.values()]
    value, low, high = (np.concatenate([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    if not value.size:
        return unknown("no record sees τ₉₀ at two temperatures above 0; give more of them", value)
    return Estimate(value, low, high, min(one.n or 0 for one in found), next((one.why for one in found if one.why), ""))


def second_step(overlap: xr.DataArray) -> float:
    """How clearly any overlap over ``time`` falls twice: 0 for one fall, near 1 for two with a plateau between.

    -dQ/d(log t), as of :func:`.displacement.local_powers`, has a peak for each fall. Given is the depth of the valley
    between two peaks, over the highest; of all curves the deepest. A curve that ends above 0.9 has hardly begun to
    fall, and is left out.
    """
    overlap = overlap.transpose(..., "time")
    falls = -local_powers(overlap.copy(data=np.exp(overlap.values))).transpose(..., "time").values
    deepest = 0.0
    for fall in falls[overlap.values[..., -1] <= 0.9].reshape(-1, overlap.sizes["time"]):
        curve = fall[np.isfinite(fall)]
        left = np.maximum.accumulate(curve)
        right = np.maximum.accumulate(curve[::-1])[::-1]
        deepest = max(deepest, float((np.minimum(left, right) - curve).max() / curve.max()))
    return deepest


def summary(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """The two regimes of every phase, one column each: exponents with intervals, prefactors, times and T*."""
    return pd.DataFrame({title: _column(taus(run)) for title, run in runs.items()}).fillna("–")


def _column(table: xr.Dataset) -> dict[str, str]:
    still = at_rest(table)
    warm = hot(table, still)
    rows = {}
    for name, part in (("hot: power of T", warm), ("cold: power of T", cold(table, still))):
        if part.sizes["temperature"] > 1:
            rows[name] = in_words(slope(part))
    if warm.sizes["temperature"]:
        ratio = prefactor(warm).value
        rows["hot: τ₉₀ / free walk"] = f"{float(ratio.min()):.2f} to {float(ratio.max()):.2f}"
    if np.isfinite(still):
        rows |= {"τ₉₀ at T = 0 (steps)": f"{still:.3g}", "T*": f"{crossover(table):.2g}"}
    return rows


def in_words(power: Estimate) -> str:
    """An exponent and, where it has one, its interval; a dash if no record shows it."""
    if not np.isfinite(power.value):
        return "–"
    low, high = power.interval
    return (f"{power.value:.3f}" + f" [{low:.3f}, {high:.3f}]" * power.known).replace("-", "−")
