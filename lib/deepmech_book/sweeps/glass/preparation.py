"""Decorrelation without noise over the length of preparation: is the cold plateau a descent that is not finished?

Networks of the regularised phase with the inputs, the start, the rate and the batches of the authors' program, trained
for lengths μt over four decades, and then left to full-batch gradient descent at T = 0 as the paper's cold walks are.
"""

from __future__ import annotations

from typing import Any

import xarray as xr

from deepmech.trainers.langevin import Dynamics, Preparation, walk
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.walks import RATE, in_single_precision, overlap_and_loss
from deepmech_book.sweeps.policy import verification_policy


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
