"""What waiting does to decorrelation, beside weight decay alone (Figs. 8, A9, A10, A11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, unknown
from deepmech.core.labels import over
from deepmech.simulators.brownian import ageing_factor
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import relaxation, walks

ONE_WAIT = "there are fewer than two waiting times to compare; give more of them (waiting), and steps enough (steps)"


def by_waiting(run: xr.Dataset, temperature: float, chi: int = 1) -> xr.Dataset:
    """τ₉₀ over waiting time at one temperature, with its interval, beside ``decay``, :func:`alone`."""
    tables = [
        relaxation.taus(run, chi=chi, waiting=i).sel(temperature=temperature, drop=True)
        for i in range(run.sizes["waiting"])
    ]
    table = xr.concat(tables, over("waiting", run.waiting.values))[["tau", "low", "high", "without"]]
    return table.assign(decay=("waiting", alone(run, table, run.waiting.values)))


def alone(run: xr.Dataset, table: xr.Dataset, waits: np.ndarray) -> np.ndarray:
    """What weight decay alone would make of the first measured τ₉₀: e^{μλt} times it, nan before it was measured."""
    since = waits - int(table.waiting[0])
    factor = ageing_factor(since, walks.RATE, sweep_of(run).fixed["regularisation"])
    return np.where(since < 0, np.nan, float(table.tau[0]) * factor)


def aged(run: xr.Dataset, temperature: float, chi: int = 1) -> tuple[Estimate, str]:
    """What waiting does to decorrelation at one temperature, in one of the recorded windows, and which waits those are.

    τ₉₀ after the longest wait over that after the shortest; its null is what weight decay alone would make of it.
    Unknown where the record shows fewer than two waits.
    """
    seen = _seen(by_waiting(run, temperature, chi=chi))
    if seen.sizes["waiting"] < 2:
        return unknown(f"at T = {temperature:g} the record sees the crossing after fewer than two waits"), ""
    first, last = seen.isel(waiting=0), seen.isel(waiting=-1)
    ratio = relaxation.by_factors(float(last.tau / first.tau), (last.without / first.without).values)
    waits = f"from t_w = {int(first.waiting)} to {int(last.waiting)}"
    return replace(ratio, null=float(last.decay / first.decay)), waits


def _seen(table: xr.Dataset) -> xr.Dataset:
    """The waits after which the record sees τ₉₀."""
    return table.isel(waiting=np.flatnonzero(np.isfinite(table.tau.values)))


def hot(run: xr.Dataset) -> tuple[Estimate, str]:
    """What waiting does where noise rules: geometric mean over hot temperatures, and which they are."""
    table = relaxation.taus(run)
    warm = relaxation.hot(table, relaxation.at_rest(table)).temperature.values
    if not len(warm) or run.sizes["waiting"] < 2:
        return unknown(ONE_WAIT if len(warm) else relaxation.NEVER_HOT), "none"
    first, last = (relaxation.taus(run, waiting=i).sel(temperature=warm) for i in (0, -1))
    ratio, without = np.log(last.tau / first.tau), np.log(last.without / first.without)
    growth = jackknife(ratio.mean("temperature"), without.mean("temperature"), over="seed", scatter="symmetric")
    words = f"{', '.join(f'{t:g}' for t in warm)}; from t_w = {int(run.waiting[0])} to {int(run.waiting[-1])}"
    return growth.map(lambda end: float(np.exp(end))), words


def stronger(
    one: xr.Dataset, other: xr.Dataset, temperatures: Mapping[str, float], chi: int = 1
) -> tuple[Estimate, str]:
    """How much faster log τ₉₀ grows with t_w in the regularised phase than in the underparameterised one.

    From the first to the last wait of each after which τ₉₀ is seen, in units of μλ, at which it grows by weight decay
    alone; the interval is over initial conditions of both.
    """
    rates, without, waits = [], [], []
    for run, phase in ((one, "regularised"), (other, "underparameterised")):
        table = _seen(by_waiting(run, temperatures[phase], chi=chi))
        if table.sizes["waiting"] < 2:
            return unknown(ONE_WAIT), "one wait"
        table = table.isel(waiting=[0, -1])
        long = float(table.waiting[1] - table.waiting[0]) * walks.RATE * sweep_of(one).fixed["regularisation"]
        rates.append(float(np.log(table.tau[1] / table.tau[0])) / long)
        without.append((np.log(table.without).isel(waiting=1) - np.log(table.without).isel(waiting=0)).values / long)
        waits.append(f"{phase} from t_w = {int(table.waiting[0])} to {int(table.waiting[1])}")
    faster = jackknife(rates[0] - rates[1], without[0] - rates[1], rates[0] - without[1], scatter="symmetric")
    return faster, "; ".join(waits)


def crossover(early: xr.Dataset, late: xr.Dataset) -> Estimate:
    """T* after the later wait over T* after the earlier one, from their :func:`.relaxation.taus`."""

    def star(table: xr.Dataset, tau: str, free: str) -> np.ndarray:
        hottest = table.isel(temperature=int(np.argmax(table.temperature.values)))
        return np.log(hottest[free].values / table[tau].sel(temperature=0.0).values)

    value = float(star(late, "tau", "free") - star(early, "tau", "free"))
    without = star(late, "without", "free_without") - star(early, "without", "free_without")
    return jackknife(value, without, scatter="symmetric").map(np.exp)


def crossovers(tables: Mapping[int, xr.Dataset]) -> tuple[Estimate, str]:
    """:func:`crossover` between the first and the last wait after which T* is seen, and which waits these are."""
    seen = {wait: table for wait, table in tables.items() if relaxation.crossover(table) > 0}
    if len(seen) < 2:
        why = "T* is seen after fewer than two waits; walk for longer (steps), or wait for other times (waiting)"
        return unknown(why), "T* is seen too seldom."
    (first, early), *_, (last, late) = seen.items()
    return crossover(early, late), f"After {first} and after {last} steps."


def both_phases(runs: Mapping[str, xr.Dataset], temperatures: Mapping[str, float]) -> xr.Dataset:
    """:func:`by_waiting` of the regularised and underparameterised phases along ``phase``, each at its temperature.

    Weight decay alone is drawn through all waits of both.
    """
    tables = {p: by_waiting(runs[p], temperatures[p]).drop_dims("seed") for p in ("regularised", "underparameterised")}
    both = xr.concat(tables.values(), xr.Variable("phase", list(tables)), join="outer").sortby("waiting")
    rows = [alone(runs[phase], table, both.waiting.values) for phase, table in tables.items()]
    return both.assign(decay=(("phase", "waiting"), rows))


def summary(run: xr.Dataset, chi: int = 1) -> pd.DataFrame:
    """Per temperature, what waiting does to τ₉₀ in one of the recorded windows, beside weight decay alone."""
    rows = {}
    for t in run.temperature.values:
        ratio, waits = aged(run, float(t), chi)
        if np.isfinite(ratio.value):
            rows[f"T = {t:g}"] = {
                "τ₉₀ after the longest wait seen / after the first": str(ratio),
                "weight decay alone": f"{ratio.null:.2f}",
                "waits": waits,
            }
    return pd.DataFrame.from_dict(rows, orient="index")
