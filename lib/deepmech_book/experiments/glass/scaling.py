"""What scaling down keeps and what it changes: regularised networks on more and more samples of one data set.

Kept are N/P_D (within what whole widths allow), λ, μ, χ, the number of steps, and the noise of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.statistics import together
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of
from deepmech_book.experiments.glass import relaxation, walks
from deepmech_book.experiments.glass.settings import PREPARATION

CHI = 2
"""Which of the recorded windows: the finest one, in which the landscape's own time ends within a short record."""
_DIGITS = {
    "temperatures": (0.01, 1e-3, 1e-6, 0.0),
    "n_seeds": 3,
    "steps": 2000,
    "waiting": (500,),
    "preparation": {**PREPARATION, "sgd_steps": 20_000, "descent_steps": 500},
}
_MNIST = {"temperatures": (0.01, 1e-3, 1e-4, 1e-6, 0.0), "steps": 30_000, "waiting": (10_000,)}
#: Per data set and P_D the arguments of ``walks.phase_sweep``; None: as in ``walks.standard``.
SIZES: dict[str, dict[int, dict[str, Any] | None]] = {
    "digits": {n: {**_DIGITS, "width": w} for n, w in ((1000, 5), (1400, 6), (1796, 7))},
    "mnist": {
        2000: {**_MNIST, "width": 5, "n_seeds": 24},
        4000: None,
        8000: {**_MNIST, "width": 10, "n_seeds": 12, "steps": 20_000},
    },
}


def standard(dataset: str) -> dict[int, Sweep]:
    """P_D -> the sweep of the regularised phase at that size.

    Examples
    --------
    >>> {n: sweep.fixed["width"] for n, sweep in standard("digits").items()}
    {1000: 5, 1400: 6, 1796: 7}
    """
    if dataset not in SIZES:
        raise ValueError(f"standard: dataset = {dataset!r}: must be one of {', '.join(map(repr, SIZES))}")
    return {
        n: walks.standard("regularised", dataset)
        if how is None
        else walks.phase_sweep(
            "regularised", {"name": dataset, "n_data": n}, name=f"glass-scaling-{n}-{dataset}", **how
        )
        for n, how in SIZES[dataset].items()
    }


def survivors(dataset: str) -> dict[int, xr.Dataset]:
    """Survivors at every size, at the common temperatures, by :func:`deepmech.sweeps.result`."""
    return _common({n: walks.kept(result(sweep)) for n, sweep in standard(dataset).items()})


def _common(runs: dict[int, xr.Dataset]) -> dict[int, xr.Dataset]:
    """The same temperatures at every size, without networks at the origin (attribute ``fallen``: how many)."""
    shared = [t for t in (0.01, 1e-3, 1e-4, 1e-6, 0.0) if all(t in run.temperature for run in runs.values())]
    return {n: awake(run.sel(temperature=shared)) for n, run in runs.items()}


def awake(run: xr.Dataset, level: float = 0.45) -> xr.Dataset:
    """Initial conditions whose network has learnt: its data loss without noise is below ``level`` (½ at the origin)."""
    learnt = (run.loss_waited.isel(waiting=0).sel(temperature=0.0) < level).values
    return run.isel(seed=np.flatnonzero(learnt)).assign_attrs(fallen=int((~learnt).sum()))


def by_size(runs: Mapping[int, xr.Dataset]) -> xr.Dataset:
    """Over ``size`` (P_D) and ``temperature`` (> 0, rising): :func:`~.relaxation.taus`, and ``ratio`` = τ/free."""
    tables = [relaxation.taus(run, chi=CHI).drop_dims("seed") for run in runs.values()]
    joined = xr.concat(tables, over("size", list(runs)))
    joined = joined.sel(temperature=joined.temperature > 0).sortby("temperature")
    return joined.assign(ratio=joined.tau / joined.free)


def hot(runs: Mapping[int, xr.Dataset], temperature: float) -> xr.Dataset:
    """Over ``size``: τ over the exact time of a free walk at one temperature: ``ratio`` with ``low`` and ``high``."""
    found = [relaxation.prefactor(relaxation.taus(r, chi=CHI).sel(temperature=[temperature])) for r in runs.values()]
    return xr.concat(found, over("size", list(runs))).isel(temperature=0, drop=True)


def at_rest(runs: Mapping[int, xr.Dataset]) -> xr.Dataset:
    """Over ``size``, all but the last: τ at T = 0 over that at the last size: ``ratio`` with ``low`` and ``high``.

    The interval (95 %) is over initial conditions, of both sizes.
    """
    *found, last = (relaxation.taus(run, chi=CHI).sel(temperature=0.0) for run in runs.values())
    ratios = np.array([float(one.tau / last.tau) for one in found])
    ends = together(
        relaxation.by_factors(ratio, one.without.values / float(last.tau), float(one.tau) / last.without.values)
        for ratio, one in zip(ratios, found, strict=True)
    ).ends
    size = over("size", list(runs)[:-1])
    return xr.Dataset({k: size.copy(data=v) for k, v in zip(("ratio", "low", "high"), (ratios, *ends), strict=True)})


def table(runs: Mapping[int, xr.Dataset]) -> pd.DataFrame:
    """What each size is and has, one column for each: what scaling changes stands here beside what it keeps."""
    columns = {}
    for n, run in runs.items():
        cold = run.sel(temperature=0.0)
        rest, n_weights = relaxation.at_rest(run, chi=CHI), int(run.n_weights.values.ravel()[0])
        columns[f"P_D = {n}"] = {
            "width": f"{sweep_of(run).fixed['width']}",
            "N/P_D": f"{n_weights / n:.3f}",
            "initial conditions": f"{run.sizes['seed']}",
            "more, at the origin": f"{run.attrs['fallen']}",
            "data loss": f"{float(cold.loss_waited.isel(waiting=0).mean()):.3f}",
            "spread of weights σ": f"{float(cold.sigma.mean()):.3f}",
            "weights at silent units": f"{100 * (1 - float(cold.alive_share.isel(waiting=0).mean())):.0f} %",
            "τ₉₀ at T = 0, steps": f"{rest:,.0f}" if np.isfinite(rest) else "beyond the record",
            "T*": f"{relaxation.crossover(run, chi=CHI):.2g}",
        }
    return pd.DataFrame(columns)
