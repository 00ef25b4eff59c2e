"""Decorrelation without noise over the length of preparation: is the cold plateau a descent that is not finished?

Networks of the regularised phase with the inputs, the start, the rate and the batches of the authors' program, trained
for lengths μt over four decades, and then left to full-batch gradient descent at T = 0 as the paper's cold walks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import Sweep
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, walk
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.walks import RATE, WHITENED, in_single_precision, overlap_and_loss, phase_sweep
from deepmech_book.sweeps.policy import verification_policy

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
    data: dict[str, Any] = {"name": dataset, "n_data": n_data, "whiten": False}
    like = phase_sweep("regularised", data, (0.0,), n_seeds, steps, waiting)
    fixed = {**like.fixed, "times": log_times(steps - min(waiting), 12).tolist()}
    del fixed["preparation"]
    cells = {"sgd_steps": over("sgd_steps", list(lengths)), "seed": like.cells["seed"]}
    return replace(like, name=f"glass-preparation-{dataset}", compute="glass.preparation", cells=cells, fixed=fixed)


def full_size() -> Sweep:
    """A walk of the regularised phase at the paper's own size, with the program's inputs and start, by temperature.

    Width 30, P_D = 60,000, 7,000 epochs of training, 100,000 steps of which 20,000 are waited.

    Examples
    --------
    >>> full_size().grid.shape
    (1, 4)
    """
    data = {"name": "mnist", "n_data": 60_000, "whiten": False}
    temperatures, name = (0.1, 0.01, 1e-3, 0.0), "glass-paper-mnist"
    return phase_sweep("regularised", data, temperatures, 1, 100_000, (20_000,), width=30, name=name)


def by_size() -> dict[int, Sweep]:
    """Walks of the regularised phase at five numbers of samples P_D, with whitened inputs and a wide start.

    Width follows P_D such that N/P_D stays; the longest record is that of 4,000 samples.

    Examples
    --------
    >>> {n: sweep.grid.shape for n, sweep in by_size().items()}
    {2000: (24, 5), 4000: (12, 9), 8000: (12, 5), 16000: (6, 5), 60000: (4, 7)}
    """
    few = [0.01, 1e-3, 1e-4, 1e-6, 0.0]
    many = [1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 0.0]
    settings: dict[int, tuple[int, list[float], int, int, list[int]]] = {
        2000: (5, few, 24, 30_000, [10_000]),
        4000: (7, many, 12, 120_000, [10_000, 20_000, 50_000, 100_000]),
        8000: (10, few, 12, 20_000, [10_000]),
        16_000: (15, few, 6, 20_000, [10_000]),
        60_000: (30, [0.1, *few[:4], 1e-8, 0.0], 4, 12_500, [10_000]),
    }
    trained, sizes = WHITENED["regularised"], {}
    for n, (width, chi, n_seeds, steps, waiting) in settings.items():
        data = {"name": "mnist", "n_data": n, "whiten": True}
        name = f"glass-scaling-{n}-mnist"
        sizes[n] = phase_sweep("regularised", data, chi, n_seeds, steps, waiting, trained, width, name)
    return sizes


@verification_policy()
def rest_cells(
    cells: xr.Dataset, data: dict[str, Any], width: int, regularisation: float, chi: list[float], steps: int,
    waiting: list[int], times: list[int],
) -> xr.Dataset:  # fmt: skip
    """One network per cell: ``overlap`` (waiting, time, chi), ``msd``, ``loss`` (waiting, time), ``loss_waited``,
    ``sigma``, ``diverged``."""
    runs = walk(
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
    return in_single_precision(overlap_and_loss(runs)).assign_attrs(runs.attrs)
