"""Decorrelation without noise over the length of preparation: is the cold plateau a descent that is not finished?

Networks of the regularised phase with the inputs, the start, the rate and the batches of the authors' program, trained
for lengths μt over four decades, and then left to full-batch gradient descent at T = 0 as the paper's cold walks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out
from deepmech.core.labels import over
from deepmech.metrics.glass_times import decorrelation_time
from deepmech.sweeps import Sweep
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, walk
from deepmech_book.experiments.glass.data import binary, fingerprint
from deepmech_book.experiments.glass.phases import LEARNT
from deepmech_book.experiments.glass.relaxation import by_factors
from deepmech_book.experiments.glass.walks import PHASES, RATE, phase_sweep, width_for

LENGTHS = (420, 4_200, 42_000, 300_000, 1_260_000, 4_200_000)
"""Steps of stochastic gradient descent at the program's μ = 1e-3. At P_D = 60,000 its parameter file's 500 epochs are
300,000 of them (μt = 300), the 7,000 epochs of the paper's text 4,200,000 (μt = 4,200)."""


def standard(
    dataset: str = "mnist",
    n_data: int = 8000,
    lengths: Sequence[int] = LENGTHS,
    n_seeds: int = 8,
    steps: int = 100_000,
    waiting: Sequence[int] = (0, 20_000),
) -> Sweep:
    """Walks at T = 0 over ``sgd_steps`` and ``seed``; the width is that of the paper's N/P_D.

    Examples
    --------
    >>> standard("digits", 500, [100, 1000], 3, 500, [0, 100]).grid.shape
    (2, 3)
    """
    phase = PHASES["regularised"]
    data: dict[str, Any] = {"name": dataset, "n_data": n_data, "whiten": False}
    fixed = {
        "data": data,
        "width": width_for(phase["ratio"], n_data),
        "regularisation": phase["regularisation"],
        "chi": [phase["chi"] * f for f in (1 / 7, 1, 7)],
        "steps": steps,
        "waiting": list(waiting),
        "times": log_times(steps - min(waiting), 12).tolist(),
    }
    cells = {"sgd_steps": over("sgd_steps", list(lengths)), "seed": over("seed", range(n_seeds))}
    return Sweep(f"glass-preparation-{dataset}", f"{__name__}:rest_cells", cells, fixed, data=fingerprint(**data))


def full_size(temperatures: Sequence[float] = (0.1, 0.01, 1e-3, 0.0), n_seeds: int = 1) -> Sweep:
    """Walks of the regularised phase at the paper's own size, with the program's inputs and start.

    Width 30, P_D = 60,000, 7,000 epochs of training, 100,000 steps of which 20,000 are waited.

    Examples
    --------
    >>> full_size().grid.shape
    (1, 4)
    """
    data = {"name": "mnist", "n_data": 60_000, "whiten": False}
    trained = {"gain": 1.0, "sgd_steps": LENGTHS[-1], "learning_rate": RATE, "descent_steps": 0}
    name = "glass-paper-mnist"
    return phase_sweep("regularised", data, temperatures, n_seeds, 100_000, (20_000,), trained, 30, name)


def rest_cells(
    cells: xr.Dataset, data: dict[str, Any], width: int, regularisation: float, chi: list[float], steps: int,
    waiting: list[int], times: list[int],
) -> xr.Dataset:  # fmt: skip
    """One network per cell: ``overlap`` (waiting, time, chi), ``msd``, ``loss`` (waiting, time), ``loss_waited``,
    ``sigma``, ``diverged``."""
    made = walk(
        Dynamics(width=width, regularisation=regularisation, learning_rate=RATE),
        Preparation(sgd_steps=cells["sgd_steps"]),
        binary(**data),
        steps=steps,
        seed=cells["seed"],
        waiting=waiting,
        record=times,
        chi=chi,
        experiment="glass preparation",
    )
    total = made.sum(["layer", "alive"], skipna=False)
    found = xr.Dataset(
        {
            "overlap": (total["within"] / total["count"]).transpose("cell", "waiting", "time", "chi"),
            "msd": total["square"] / total["count"],
            "loss": made["loss"],
            "loss_waited": made["loss_waited"],
            "sigma": made["sigma"],
            "diverged": made["state"] == "diverged",
        }
    )
    for k, values in found.data_vars.items():
        if values.dtype == float and k != "sigma":
            found[k] = values.astype("float32")
    return found.assign_attrs(made.attrs)


def learnt(run: xr.Dataset, level: float = LEARNT) -> xr.Dataset:
    """Initial conditions whose network has learnt by the longest preparation; the others lie at the origin (loss ½)."""
    loss = run.loss_waited.isel(waiting=-1).sel(sgd_steps=run.sgd_steps.max())
    return run.isel(seed=np.flatnonzero((loss < level).values))


def times(run: xr.Dataset, waiting: int = -1) -> xr.Dataset:
    """τ₉₀ of the mean overlap at T = 0 over ``chi`` and ``length``, which is μt, the rate times the steps of training.

    Returns
    -------
    Dataset
        ``tau``, nan where the record ends before; ``low`` and ``high``, its interval over initial conditions (95 %);
        ``least``, τ or the end of the record; and ``without`` (seed), that without each initial condition.
    """
    one = run.overlap.isel(waiting=waiting, drop=True).transpose("chi", "sgd_steps", "seed", "time")
    shape = one.shape[:2]
    tau, low, high, least = (np.full(shape, np.nan) for _ in range(4))
    without = np.full((*shape, one.sizes["seed"]), np.nan)
    for at in np.ndindex(shape):
        curves = one.values[at]
        found = decorrelation_time(one.time.values, curves.mean(0))
        others = [decorrelation_time(one.time.values, curve) for curve in leave_one_out(curves)]
        tau[at], least[at] = found.time, found.low if np.isnan(found.time) else found.time
        low[at], high[at] = by_factors(found.time, [o.time for o in others]).interval
        without[at] = [o.low if np.isnan(o.time) else o.time for o in others]
    dims = ("chi", "length")
    data = {"tau": tau, "low": low, "high": high, "least": least}
    table = xr.Dataset({k: (dims, v) for k, v in data.items()} | {"without": ((*dims, "seed"), without)})
    return table.assign_coords(chi=run.chi.values.round(1), length=RATE * run.sgd_steps.values)


def growth(table: xr.Dataset, first: float) -> Estimate:
    """The power of μt that τ₉₀ follows from ``first`` on, for each window; its interval is over initial conditions.

    By least squares of the logarithms. Where the record ends before τ₉₀ its end stands for it, so that the power is a
    lower bound.
    """
    part = table.sel(length=table.length >= first)
    x = np.log(part.length) - np.log(part.length).mean()

    def power(tau: xr.DataArray) -> xr.DataArray:
        return (x * np.log(tau)).sum("length") / (x**2).sum()

    return jackknife(power(part.least), power(part.without), over="seed", scatter="symmetric")
