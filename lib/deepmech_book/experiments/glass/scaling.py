"""What scaling down keeps and what it changes: regularised networks on more and more samples of one data set.

Kept are N/P_D (within what whole widths allow), λ, μ, χ, the number of steps, and the noise of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, stack, unknown
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.experiments.glass import phases, relaxation, walks
from deepmech_book.experiments.glass.walks import WHITENED

TEMPERATURES = (0.01, 1e-3, 1e-4, 1e-6, 0.0)


def standard(
    dataset: str,
    sizes: Sequence[int] = (2000, 4000, 8000),
    widths: Sequence[int] | None = None,
    temperatures: Sequence[Sequence[float]] | None = None,
    n_seeds: Sequence[int] = (24, 12, 12),
    steps: Sequence[int] = (30_000, 120_000, 20_000),
    waiting: Sequence[Sequence[int]] | None = None,
    preparation: dict[str, Any] = WHITENED["regularised"],
) -> dict[int, Sweep]:
    """P_D -> the sweep of the regularised phase at that size, with whitened inputs.

    Lists go with ``sizes``; None takes the widths of N/P_D, :data:`TEMPERATURES` and a first wait of 10,000 steps.

    Examples
    --------
    >>> {n: sweep.fixed["width"] for n, sweep in standard("mnist").items()}
    {2000: 5, 4000: 7, 8000: 10}
    """
    made = {}
    for i, n in enumerate(sizes):
        hot = TEMPERATURES if temperatures is None else temperatures[i]
        waits = [w for w in ((10_000,) if waiting is None else waiting[i]) if w < steps[i]]
        if not waits:
            raise ValueError(f"scaling: steps = {steps[i]}: must be more than the first waiting time, at P_D = {n}")
        data = {"name": dataset, "n_data": n, "whiten": True}
        made[n] = walks.phase_sweep(
            "regularised", data, hot, n_seeds[i], steps[i], waits, preparation,
            None if widths is None else widths[i], f"glass-scaling-{n}-{dataset}",
        )  # fmt: skip
    return made


def survivors(dataset: str, sizes: Sequence[int], *how: Any) -> dict[int, xr.Dataset]:
    """Survivors at every size; ``how`` as for :func:`standard`."""
    return {n: phases.survivors(result(sweep)) for n, sweep in standard(dataset, sizes, *how).items()}


def times(runs: Mapping[int, xr.Dataset]) -> dict[int, xr.Dataset]:
    """:func:`.relaxation.taus` in the finest window."""
    return {n: relaxation.taus(run, chi=relaxation.FINEST) for n, run in runs.items()}


def hot(tables: Mapping[int, xr.Dataset], temperature: float) -> Estimate:
    """Over ``size``: τ over the exact time of a free walk at one temperature, of :func:`.relaxation.taus` by size."""
    ratios = {n: relaxation.prefactor(table.sel(temperature=[temperature])) for n, table in tables.items()}
    return stack({n: ratio.map(lambda end: end.item()) for n, ratio in ratios.items()}, "size")


def carried_on(tables: Mapping[int, xr.Dataset], size: int, over: int) -> tuple[Estimate, Estimate]:
    """The power of P_D that τ at T = 0 follows, and what it makes of τ at ``size`` samples over that at ``over``.

    By least squares of the logarithms, so that of two sizes the second number is the ratio measured between them;
    intervals are over initial conditions, of all sizes. Sizes whose record ends before τ are left out.
    """
    known = {n: table.sel(temperature=0.0) for n, table in tables.items() if np.isfinite(relaxation.at_rest(table))}
    if len(known) < 2:
        none = unknown("τ₉₀ at T = 0 is seen at fewer than two sizes; walk for longer (steps)")
        return none, none
    at_rest, x = list(known.values()), np.log(list(known))
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    logs = np.array([float(np.log(one.tau)) for one in at_rest])
    power = float(weights @ logs)
    without = [power + w * (np.log(one.without.values) - y) for w, one, y in zip(weights, at_rest, logs, strict=True)]
    found = jackknife(power, *without, scatter="symmetric")
    far = np.log(size / over)
    return found, found.map(lambda end: np.exp(end * far))


def table(runs: Mapping[int, xr.Dataset]) -> pd.DataFrame:
    """What each size is and has, one column for each: what scaling changes stands here beside what it keeps."""
    columns = {}
    for n, run in runs.items():
        width = sweep_of(run).fixed["width"]
        column = {
            "width": f"{width}",
            "N/P_D": f"{n_weights(layer_sizes(10, width, 6)) / n:.3f}",
            "initial conditions": f"{run.sizes['seed']}",
            "more, at the origin": f"{run.attrs['fallen']}",
        }
        cold, found = run.sel(temperature=0.0), relaxation.taus(run, chi=relaxation.FINEST)
        rest = relaxation.at_rest(found)
        columns[f"P_D = {n}"] = column | {
            "data loss": f"{float(cold.loss_waited.isel(waiting=0).mean()):.3f}",
            "spread of weights σ": f"{float(cold.sigma.mean()):.3f}",
            "weights at silent units": f"{100 * (1 - float(cold.alive_share.isel(waiting=0).mean())):.0f} %",
            "τ₉₀ at T = 0, steps": f"{rest:,.0f}" if np.isfinite(rest) else "beyond the record",
            "T*": f"{relaxation.crossover(found):.2g}",
        }
    return pd.DataFrame(columns)
