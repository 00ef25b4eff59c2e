"""What waiting does to decorrelation, beside weight decay alone (Figs. 8, A9, A10, A11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.statistics import Interval
from deepmech.simulators.brownian import ageing_factor
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import relaxation, walks


def by_waiting(run: xr.Dataset, temperature: float, level: float = 0.9, chi: int = 1) -> xr.Dataset:
    """τ₉₀ over waiting time at one temperature, with its interval, beside e^{μλt_w} of weight decay alone.

    The null starts from the first measured time.
    """
    tables = [relaxation.taus(run, level, chi, i).sel(temperature=temperature) for i in range(run.sizes["waiting"])]
    table = xr.concat(tables, over("waiting", run.waiting.values))[["tau", "low", "high", "without"]].drop_vars(
        "temperature"
    )
    waited = run.waiting.values
    factor = ageing_factor(waited - waited[0], walks.RATE, sweep_of(run).fixed["regularisation"])
    return table.assign(decay=("waiting", float(table.tau[0]) * factor))


@dataclass(frozen=True)
class Aged:
    """τ₉₀ after the longest wait over that after the shortest, its interval over initial conditions, and which waits.

    ``decay`` is what weight decay alone would make of it. Where the record shows fewer than two waits there is none.
    """

    ratio: float
    interval: Interval
    decay: float
    waits: str


def aged(run: xr.Dataset, temperature: float) -> Aged:
    """What waiting does to decorrelation at one temperature."""
    table = by_waiting(run, temperature)
    seen = table.isel(waiting=np.flatnonzero(np.isfinite(table.tau.values)))
    if seen.sizes["waiting"] < 2:
        why = f"at T = {temperature:g} the record sees the crossing after fewer than two waits"
        return Aged(np.nan, Interval(np.nan, np.nan, why), np.nan, "")
    first, last = seen.isel(waiting=0), seen.isel(waiting=-1)
    ratio = float(last.tau / first.tau)
    between = relaxation.by_factors(ratio, (last.without / first.without).values)
    waits = f"from t_w = {int(first.waiting)} to {int(last.waiting)}"
    return Aged(ratio, between, float(last.decay / first.decay), waits)


def both_phases(runs: Mapping[str, xr.Dataset], temperatures: Mapping[str, float]) -> xr.Dataset:
    """:func:`by_waiting` of the regularised and underparameterised phases along ``phase``, each at its temperature.

    Weight decay alone is drawn through all waits of both.
    """
    tables = {p: by_waiting(runs[p], temperatures[p]).drop_dims("seed") for p in ("regularised", "underparameterised")}
    both = xr.concat(tables.values(), xr.Variable("phase", list(tables)), join="outer").sortby("waiting")
    waits, rows = both.waiting.values, []
    for phase, table in tables.items():
        begin, decay = float(table.waiting[0]), sweep_of(runs[phase]).fixed["regularisation"]
        rows.append(
            float(table.tau[0]) * np.where(waits < begin, np.nan, ageing_factor(waits - begin, walks.RATE, decay))
        )
    return both.assign(decay=(("phase", "waiting"), rows))


def summary(run: xr.Dataset) -> pd.DataFrame:
    """Per temperature, what waiting does to τ₉₀, beside weight decay alone."""
    rows = {}
    for t in run.temperature.values:
        found = aged(run, float(t))
        if np.isfinite(found.ratio):
            ends = " [{:.2f}, {:.2f}]".format(*found.interval.ends) if found.interval.known else ""
            rows[f"T = {t:g}"] = {
                "τ₉₀ after the longest wait seen / after the first": f"{found.ratio:.2f}{ends}",
                "weight decay alone": f"{found.decay:.2f}",
                "waits": found.waits,
            }
    return pd.DataFrame.from_dict(rows, orient="index")
