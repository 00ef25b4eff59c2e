"""Which walks the pages of three phases show, in tables, and claims about their two regimes (Figs. 2, 3, A1, A4).

Claims are measured on shipped MNIST results where there are some, whatever is computed for a page: networks on bundled
digits are smaller still. What functions ending in a claim's name return is for ``ledger.check(claim, **this)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.statistics import Interval
from deepmech.sweeps import result
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import relaxation, transitions, walks
from deepmech_book.experiments.glass.data import title_of

E_FOLD = float(np.exp(-1))


def survivors(dataset: str) -> dict[str, xr.Dataset]:
    """Survivors of every phase on a data set, by :func:`deepmech.sweeps.result`."""
    return {phase: walks.kept(result(walks.standard(phase, dataset))) for phase in walks.PHASES}


def origin(run: xr.Dataset) -> str:
    """Where a run's numbers come from, in words, for the detail of a claim."""
    name = title_of(sweep_of(run).fixed["data"]["name"])
    return f"{name}, {relaxation.size(run)}, {run.sizes['seed']} initial conditions{walks.left_out(run)}."


def overview(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What walked, one row per title: data, sizes, survivors, steps."""
    rows = {}
    for title, run in runs.items():
        how = sweep_of(run)
        n, n_data = int(run.n_weights.values.ravel()[0]), how.fixed["data"]["n_data"]
        rows[title] = {
            "data": title_of(how.fixed["data"]["name"]),
            "samples": n_data,
            "width": how.fixed["width"],
            "weights per sample": f"{n / n_data:.3f}",
            "initial conditions": f"{run.sizes['seed']} of {how.cells['seed'].size}",
            "steps": how.fixed["steps"],
            "silent weights": f"{100 * (1 - float(run.alive_share.mean())):.0f} %",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def regimes(run: xr.Dataset) -> dict[str, dict[str, Any]]:
    """The two regimes of a phase with a landscape: ``hot_slope``, ``prefactor``, ``cold_flat``."""
    table, still = relaxation.taus(run), relaxation.at_rest(run)
    warm, cold = relaxation.hot(table, still), relaxation.cold(table, still)
    found = {"hot_slope": _power(run, warm, expected=-1.0), "cold_flat": _power(run, cold)}
    found["prefactor"] = near_free(run, warm)
    return found


def _power(run: xr.Dataset, table: xr.Dataset, **more: float) -> dict[str, Any]:
    """The power of T over a table's temperatures beside a free walk's, -1."""
    fit = relaxation.slope(table)
    if fit is None:
        return {"not_testable": "fewer than two temperatures of the record lie in this regime"}
    still = relaxation.at_rest(run)
    said = f" τ at T = 0: {still:.3g} steps; T* = {relaxation.crossover(run):.2g}." if np.isfinite(still) else ""
    temperatures = ", ".join(f"{t:g}" for t in table.temperature.values)
    return {
        "measured": fit.value,
        "null": -1.0,
        **fit.interval.for_claim(),
        "seeds": run.sizes["seed"],
        "detail": f"{origin(run)} Temperatures {temperatures}.{said}",
        **more,
    }


def near_free(run: xr.Dataset, table: xr.Dataset) -> dict[str, Any]:
    """τ over that of a free walk, exact prefactor included, at a table's temperatures."""
    if table.sizes["temperature"] == 0:
        return {"not_testable": "the record sees no temperature at which a free walk would be ten times faster"}
    exact = relaxation.prefactor(table)
    return {
        "measured": exact.ratio,
        "expected": 1.0,
        "null": 1.0,
        **Interval(exact.low, exact.high).for_claim(),
        "seeds": run.sizes["seed"],
        "detail": origin(run),
    }


def never_flat(run: xr.Dataset) -> dict[str, Any]:
    """Overparameterised: the power of T over every temperature at which the record sees τ."""

    def seen(some: xr.Dataset) -> xr.Dataset:
        table = relaxation.taus(some)
        return table.isel(temperature=np.flatnonzero((table.temperature > 0) & (table.state == "crossed")))

    found, fit = _power(run, seen(run)), fitting(run)
    loss = run.loss_waited.isel(waiting=0).sel(temperature=0.0).values
    said = " Data loss after the first wait, without noise: " + ", ".join(f"{v:.1g}" for v in loss) + "."
    alone = relaxation.slope(seen(fit)) if 0 < fit.sizes["seed"] < run.sizes["seed"] else None
    if alone is not None:
        said += f" The {fit.sizes['seed']} without loss alone: {alone.value:.3f}.".replace("-", "−")
    return found | {"detail": found["detail"] + said} if "measured" in found else found


def fitting(run: xr.Dataset) -> xr.Dataset:
    """Initial conditions whose network has no data loss (below :data:`transitions.LEVEL`) after the first wait."""
    loss = run.loss_waited.isel(waiting=0).sel(temperature=0.0).values
    return run.isel(seed=np.flatnonzero(loss < transitions.LEVEL))


def hot_is_free(run: xr.Dataset, temperature: float = 0.1) -> dict[str, Any]:
    """Distance of a hot overlap from the free walk's, in standard errors."""
    return {
        "measured": relaxation.distance_from_free(run, temperature),
        "null": 0.0,
        "seeds": run.sizes["seed"],
        "detail": origin(run),
    }


def cold_is_faster(run: xr.Dataset, temperature: float = 1e-6) -> dict[str, Any]:
    """τ of cold networks over that of a free walk."""
    one = relaxation.taus(run).sel(temperature=temperature)
    return {"measured": float(one.tau / one.free), "null": 1.0, "seeds": run.sizes["seed"], "detail": origin(run)}


def plateau(path: xr.DataArray) -> dict[str, Any]:
    """The data loss of :func:`.relaxation.protocol` at its end over that as the walk begins.

    The walk begins with the last of the preparation's records.
    """
    said = f"The loss began at {float(path[0]):.2g} and ended at {float(path[-1]):.2g}."
    return {"measured": float(path[-1] / path[path.attrs["prepared"] - 1]), "seeds": 1, "detail": said}


def crossover_moves(run: xr.Dataset) -> dict[str, Any]:
    """The power of χ that T* follows."""
    power, words = relaxation.crossover_power(run)
    if power is None:
        return {"not_testable": "the landscape's own time was seen for fewer than two windows"}
    return {
        "measured": power.value,
        **power.interval.for_claim(),
        "null": -1.0,
        "seeds": run.sizes["seed"],
        "detail": f"{origin(run)} T*: {words}.",
    }


def e_fold_hot(run: xr.Dataset) -> dict[str, Any]:
    """The e-fold time of hot networks over a free walk's.

    Where the record ends before the landscape's own e-fold time, its end stands for that.
    """
    table, still = relaxation.taus(run, level=E_FOLD), relaxation.at_rest(run, level=E_FOLD)
    still = min(still, float(run.overlap.isel(waiting=0).dropna("time", how="all").time[-1]))
    return near_free(run, relaxation.hot(table, still))


def summary(runs: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """The two regimes of every phase, one column each: exponents with intervals, prefactors, times and T*."""
    return pd.DataFrame({title: _column(run) for title, run in runs.items()}).fillna("–")


def _column(run: xr.Dataset) -> dict[str, str]:
    table, still = relaxation.taus(run), relaxation.at_rest(run)
    warm, cold = relaxation.hot(table, still), relaxation.cold(table, still)
    rows = {}
    for name, part in (("hot: power of T", warm), ("cold: power of T", cold)):
        fit = relaxation.slope(part)
        if fit is not None:
            low, high = fit.interval.ends
            rows[name] = (f"{fit.value:.3f}" + f" [{low:.3f}, {high:.3f}]" * fit.interval.known).replace("-", "−")
    if warm.sizes["temperature"]:
        exact = relaxation.prefactor(warm).ratio
        rows["hot: τ₉₀ / free walk"] = f"{float(exact.min()):.2f} to {float(exact.max()):.2f}"
    if np.isfinite(still):
        rows |= {"τ₉₀ at T = 0 (steps)": f"{still:.3g}", "T*": f"{relaxation.crossover(run):.2g}"}
    return rows
