"""Where networks come to rest over size and weight decay (Figs. 1, A3), and what a straight line explains there."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import Data
from deepmech.trainers.langevin import Dynamics, Preparation, prepare
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.policy import verification_policy

CIFAR = "cifar10-jpeg"


def single_path(data: Data) -> float:
    r"""The largest λ at which one linear path through seven layers stays away from the origin.

    The path computes :math:`f = a\,\hat u\cdot x` along the direction of the least squares fit. Two units of each layer
    carry it, one for either sign, so it costs :math:`7\lambda a^{2/7}`; where
    :math:`-L'(a)\,a^{5/7}/2 < \lambda` for all a, no such path is at rest but the one with a = 0.
    """
    direction = np.linalg.lstsq(data.x_train, data.y_train, rcond=None)[0]
    margin = data.y_train * (data.x_train @ direction) / np.linalg.norm(direction)
    gains = np.geomspace(1e-3, 30.0, 400)
    pull = [(np.maximum(0, 1 - a * margin) * margin).mean() * a ** (5 / 7) / 2 for a in gains]
    return float(max(pull))


@verification_policy()
def linear_cells(cells: xr.Dataset, name: str) -> xr.Dataset:
    """``explained`` share of the labels' variance, and ``gives_way``, the λ of :func:`single_path`, per cell."""
    rows = []
    for n_data in cells["n_data"].values:
        data = binary(name, int(n_data), whiten=True)
        left = data.y_train - data.x_train @ np.linalg.lstsq(data.x_train, data.y_train, rcond=None)[0]
        rows.append((1 - left.var() / data.y_train.var(), single_path(data)))
    explained, gives_way = np.transpose(rows)
    return xr.Dataset({"explained": ("cell", explained), "gives_way": ("cell", gives_way)}, {"cell": cells.cell})


#: How networks come to rest: stochastic, then full-batch gradient descent, after a wider start than the paper's.
REST = {"gain": 6**0.5, "sgd_steps": 60_000, "learning_rate": 0.02, "descent_steps": 2000, "slow_steps": 2000}


@verification_policy()
def prepare_cells(cells: xr.Dataset, data: dict[str, Any], preparation: dict[str, Any]) -> xr.Dataset:
    """Prepare one network per cell; variables of :func:`~deepmech.trainers.langevin.prepare` without its history."""
    runs = prepare(
        Dynamics(width=cells["width"], regularisation=cells["regularisation"]),
        Preparation(**preparation),
        binary(**data),
        seed=cells["seed"],
        experiment="glass transitions",
    )
    return runs[["loss", "data_loss", "error", "norm", "n_weights"]].assign(diverged=runs["state"] == "diverged")
