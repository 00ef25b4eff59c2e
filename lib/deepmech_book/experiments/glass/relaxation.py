"""Decorrelation times over temperature, waiting time and window, with the free walk beside them (Figs. 2, 3, 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.statistics import Interval, interval_of, without_each
from deepmech.metrics.glass_times import Exponent, decorrelation_time, exponent
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.langevin import Dynamics, Preparation, settle, walk
from deepmech_book.experiments.glass import walks
from deepmech_book.experiments.glass.data import binary


def protocol(dataset: str, temperature: float = 1e-3, steps: int = 5000) -> xr.DataArray:
    """Data loss of one regularised network from its first step to the end of a short walk (Fig. A2); over ``step``.

    Attribute ``prepared``: how many of the records belong to the preparation.
    """
    how = walks.standard("regularised", dataset).fixed
    data = binary(**how["data"])
    dynamics = Dynamics(
        width=how["width"],
        regularisation=how["regularisation"],
        temperature=temperature * len(data.x) / walks.P_D,
        learning_rate=walks.RATE,
    )
    preparation = Preparation(**how["preparation"])
    before = settle(dynamics, preparation, data, experiment="glass walks")
    after = walk(dynamics, preparation, data, steps=steps, chi=[300.0], experiment="glass walks")
    end = int(before.steps[-1])
    loss = np.concatenate([before.loss_history.values, after.loss.values[0]])
    return xr.DataArray(
        loss,
        dims="step",
        coords={"step": np.concatenate([before.steps.values, end + after.time.values])},
        attrs={"prepared": before.steps.size},
    )


def taus(run: xr.Dataset, level: float = 0.9, chi: int = 1, waiting: int = 0) -> xr.Dataset:
    """τ of the mean overlap over initial conditions, per temperature.

    Parameters
    ----------
    run : survivors of a phase (:func:`~deepmech_book.experiments.glass.walks.kept`).
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
        without = [decorrelation_time(times, curve, level).time for curve in without_each(curves)]
        ends = by_factors(mean.time, without).ends
        free = walks.free_taus(sizes, float(temperature), level)
        each = walks.free_taus(sizes[others], float(temperature), level) if n > 1 else [np.nan]
        rows.append((mean.time, *ends, mean.state, without, float(free), each))
    names = ("tau", "low", "high", "state", "without", "free", "free_without")
    dims = {"without": ("temperature", "seed"), "free_without": ("temperature", "seed")}
    return xr.Dataset(
        {k: (dims.get(k, "temperature"), list(v)) for k, v in zip(names, zip(*rows, strict=True), strict=True)},
        {"temperature": run.temperature},
    )


def by_factors(value: Any, *without: Any) -> Interval:
    """The interval of a time or a ratio of times, from what it is without each initial condition.

    Times scatter by factors, and means over the weights of a network about symmetrically.
    """
    return interval_of(np.log(value), *(np.log(w) for w in without), scatter="symmetric").map(np.exp)


def by_phase(runs: Mapping[str, xr.Dataset], **how: Any) -> xr.Dataset:
    """:func:`taus` of several phases along ``phase``, temperatures above 0 only, rising."""
    tables = {k: taus(run, **how).drop_dims("seed") for k, run in runs.items()}
    joined = xr.concat(tables.values(), xr.Variable("phase", list(tables)), join="outer")
    joined = joined.sel(temperature=joined.temperature > 0).sortby("temperature")
    # Free walks are known at every temperature, not only at those where a phase was walked.
    return joined.assign(free=(joined.free * joined.temperature).median("temperature") / joined.temperature)


def at_rest(run: xr.Dataset, **how: Any) -> float:
    """τ at T = 0, where only the landscape moves the weights; infinite if the record ends before."""
    found = taus(run, **how).sel(temperature=0.0)
    return float(found.tau) if found.state == "crossed" else np.inf


def hot(table: xr.Dataset, still: float, ratio: float = 10.0) -> xr.Dataset:
    """Temperatures at which a free walk would be at least ``ratio`` times faster than the landscape alone."""
    return table.isel(temperature=np.flatnonzero((table.free * ratio < still) & np.isfinite(table.tau)))


def cold(table: xr.Dataset, still: float, ratio: float = 10.0) -> xr.Dataset:
    """Temperatures above 0 at which a free walk would be at least ``ratio`` times slower than the landscape alone."""
    slower = (table.free > still * ratio) & (table.temperature > 0) & np.isfinite(table.tau)
    return table.isel(temperature=np.flatnonzero(slower))


def slope(table: xr.Dataset) -> Exponent | None:
    """The power of T that τ follows over a table's temperatures, with its interval over initial conditions.

    None with fewer than two temperatures.
    """
    if table.sizes["temperature"] < 2:
        return None
    x = table.temperature.values
    return _over_seeds(x, table.tau.values, table.without.transpose("seed", "temperature").values)


def _over_seeds(x: np.ndarray, y: np.ndarray, without: np.ndarray) -> Exponent:
    """The power of x that y follows; ``without`` (seed, x) is y without each initial condition."""
    found = exponent(x, y)
    powers = np.array([exponent(x, w).value if np.isfinite(w).all() else np.nan for w in without])
    return replace(found, interval=interval_of(found.value, powers, scatter="symmetric"))


def crossover(run: xr.Dataset, **how: Any) -> float:
    """T*: where the free walk would take as long as the landscape alone; 0 if the landscape never moves the weights."""
    table = taus(run, **how)
    still = at_rest(run, **how)
    first = table.isel(temperature=int(np.argmax(table.temperature.values)))
    return float(first.free * first.temperature) / still


def survivors(runs: Mapping[str, xr.Dataset]) -> str:
    """How many initial conditions each phase has, and how many diverged, in words."""
    return ", ".join(f"{len(run.seed)} {phase}{walks.left_out(run)}" for phase, run in runs.items())


def size(run: xr.Dataset) -> str:
    """P_D, width and N/P_D of a phase's networks, in words."""
    how = sweep_of(run).fixed
    n, n_data = int(run.n_weights.values.ravel()[0]), how["data"]["n_data"]
    return f"P_D = {n_data}, width {how['width']}, N/P_D = {n / n_data:.3f}"


def by_window(run: xr.Dataset, **how: Any) -> xr.Dataset:
    """:func:`taus` for every recorded χ along ``chi``, temperatures above 0 only, rising."""
    tables = [taus(run, chi=i, **how).drop_dims("seed") for i in range(run.sizes["chi"])]
    joined = xr.concat(tables, xr.Variable("chi", np.round(run.chi.values, 1)))
    return joined.sel(temperature=joined.temperature > 0).sortby("temperature")


def crossover_power(run: xr.Dataset) -> tuple[Exponent | None, str]:
    """The power of χ that T* follows over the recorded windows, and the values in words.

    The interval is over initial conditions, the same in every window. None if fewer than two windows were crossed.
    """
    stars = np.array([crossover(run, chi=i) for i in range(run.sizes["chi"])])
    words = ", ".join(f"{t:.2g} at χ = {c:.3g}" for c, t in zip(run.chi.values, stars, strict=True) if t > 0)
    known = [i for i, star in enumerate(stars) if star > 0]
    if len(known) < 2:
        return None, words
    without = []
    for i in known:
        table = taus(run, chi=i)
        hottest = table.isel(temperature=int(np.argmax(table.temperature.values)))
        still = table.without.sel(temperature=0.0)
        without.append((hottest.free_without * hottest.temperature / still).values)
    return _over_seeds(run.chi.values[known], stars[known], np.transpose(without)), words


def prefactor(table: xr.Dataset) -> xr.Dataset:
    """τ over the exact time of free walks: ``ratio`` with ``low`` and ``high`` (95 %) per temperature of ``table``.

    The interval is over initial conditions, each with its own window in both times and its own weights.
    """
    ratio = table.tau / table.free
    each = (table.without / table.free_without).transpose("seed", "temperature").values
    low, high = by_factors(ratio.values, each).map(lambda end: ratio.copy(data=end)).ends
    return xr.Dataset({"ratio": ratio, "low": low, "high": high})


def distance_from_free(run: xr.Dataset, temperature: float, until: float = 0.3) -> float:
    """Largest distance of the mean overlap from a free walk's, until that has fallen to ``until``.

    In units of 1/(2√n), the standard error of an overlap of ½ of n independent weights; n counts those of all runs.
    """
    one = run.sel(temperature=[temperature]).isel(waiting=0, drop=True)
    free = walks.free_curve(one)
    gap = abs(one.overlap.isel(chi=1, drop=True).mean("seed") - free).where(free > until)
    n = float(run.n_weights.values.ravel()[0]) * run.sizes["seed"]
    return float(gap.max()) * 2 * np.sqrt(n)
