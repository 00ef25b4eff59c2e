"""What waiting does to decorrelation, beside weight decay alone (Figs. 8, A9, A10, A11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.statistics import Interval, together
from deepmech.simulators.brownian import ageing_factor
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import regimes, relaxation, walks


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


def waiting_tables(run: xr.Dataset, **how: float) -> xr.Dataset:
    """:func:`.relaxation.taus` for every waiting time (Figs. A9, A10); T > 0, rising."""
    tables = [relaxation.taus(run, waiting=i, **how) for i in range(run.sizes["waiting"])]  # type: ignore[arg-type]
    joined = xr.concat(tables, over("waiting", run.waiting.values)).drop_dims("seed")
    return joined.sel(temperature=joined.temperature > 0).sortby("temperature")


def ageing_ratio(table: xr.Dataset) -> tuple[float, Interval]:
    """τ after the longest wait over τ after the shortest, with its interval over initial conditions."""
    seen = table.isel(waiting=np.flatnonzero(np.isfinite(table.tau.values)))
    without = (seen.without.isel(waiting=-1) / seen.without.isel(waiting=0)).values
    ratio = float(seen.tau[-1] / seen.tau[0])
    return ratio, relaxation.by_factors(ratio, without)


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


def ages(run: xr.Dataset, temperature: float) -> dict[str, Any]:
    """What waiting does to τ₉₀ at one temperature, for ``ledger.check``; the null is weight decay alone."""
    table = by_waiting(run, temperature)
    seen = table.isel(waiting=np.flatnonzero(np.isfinite(table.tau.values)))
    if seen.sizes["waiting"] < 2:
        return {"not_testable": f"at T = {temperature:g} the record sees the crossing after fewer than two waits"}
    ratio, between = ageing_ratio(table)
    first, last = int(seen.waiting[0]), int(seen.waiting[-1])
    return {
        "measured": ratio,
        **between.for_claim(),
        "null": float(seen.decay[-1] / seen.decay[0]),
        "seeds": run.sizes["seed"],
        "detail": f"{regimes.origin(run)} T = {temperature:g}; from t_w = {first} to {last}.",
    }


def without_null(claim: dict[str, Any]) -> dict[str, Any]:
    """The same for a claim that names none."""
    return {k: v for k, v in claim.items() if k != "null"}


def hot_slopes(run: xr.Dataset) -> dict[str, Any]:
    """The hot regime's power of T after every wait."""
    waits = range(run.sizes["waiting"])
    fits = [relaxation.slope(relaxation.hot(relaxation.taus(run, waiting=i), relaxation.at_rest(run))) for i in waits]
    found = [f for f in fits if f is not None]
    if not found:
        return {"not_testable": "fewer than two temperatures of the record are hot"}
    stars = [relaxation.crossover(run, waiting=i) for i in waits]
    words = ", ".join(f"{t:.2g} after {w}" for t, w in zip(stars, run.waiting.values, strict=True))
    return {
        "measured": [f.value for f in found],
        "expected": -1.0,
        "null": -1.0,
        **together(f.interval for f in found).for_claim(),
        "seeds": run.sizes["seed"],
        "detail": f"{regimes.origin(run)} T*: {words} (0: not seen).",
    }


def summary(run: xr.Dataset) -> pd.DataFrame:
    """Per temperature, what waiting does to τ₉₀, beside weight decay alone."""
    rows = {}
    for t in run.temperature.values:
        found = ages(run, float(t))
        if "measured" in found:
            ends = " [{:.2f}, {:.2f}]".format(*found["interval"]) if "interval" in found else ""
            rows[f"T = {t:g}"] = {
                "τ₉₀ after the longest wait seen / after the first": f"{found['measured']:.2f}{ends}",
                "weight decay alone": f"{found['null']:.2f}",
                "waits": found["detail"].split("; ")[-1].removesuffix("."),
            }
    return pd.DataFrame.from_dict(rows, orient="index")
