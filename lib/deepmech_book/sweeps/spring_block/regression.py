"""Fig. S12: load curves of regression. A ReLU network on the Diabetes data, and the error of a linear probe per layer.

The paper gives network, learning rates and dropout. Left open are the scale of the targets and what the samples are:
here targets are brought to mean 0 and standard deviation 1 over the training samples, and load curves are measured on
the training samples, as in classification.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import Data, load
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separation import probe_error
from deepmech.sweeps import to_records
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.specs import Member
from deepmech_book.sweeps.policy import verification_policy

#: Fig. S12, caption; everything else as in Fig. 1. The last is the null: weights that hardly move.
REGIMES = {
    "i: small steps": {"learning_rate": 1e-3, "dropout": 0.0},
    "ii: large steps": {"learning_rate": 1e-2, "dropout": 0.0},
    "iii: large steps, dropout": {"learning_rate": 2e-2, "dropout": 0.3},
    "untrained": {"learning_rate": 1e-30, "dropout": 0.0},
}


@verification_policy()
def train_regressions(cells: xr.Dataset, regimes: dict[str, dict[str, float]], epochs: int, width: int) -> xr.Dataset:
    """Train one network per cell; a cell holds ``regime``, a key of ``regimes``, and ``seed``.

    Over ``cell``: ``load_curve`` over ``layer``, the error of a linear probe on the layer's features of the training
    samples, in standard deviations of their targets; its ``curvature``; ``error`` over ``split``, the network's own
    root mean squared error in the same unit; ``loss`` of the last epoch. nan if it diverged.
    """
    data = standardised()
    shared = CompiledMLP.prepare(data, "float32")
    runs = []
    for cell in to_records(cells):
        setting = regimes[cell["regime"]]
        member = Member(
            MLP(width=width, dropout=setting["dropout"]),
            Training(learning_rate=setting["learning_rate"], epochs=epochs, loss="mse", stop_change=0.0),
            cell["seed"],
            "figure S12",
        )
        runs.append(_train(member, data, shared))
    result = xr.Dataset(
        {
            "load_curve": (("cell", "layer"), np.array([curve for curve, _, _ in runs])),
            "error": (("cell", "split"), np.array([error for _, error, _ in runs])),
            "loss": ("cell", np.array([loss for _, _, loss in runs])),
        },
        coords={"split": ["train", "test"], "layer": np.arange(8)},
    )
    result["curvature"] = curvature(result["load_curve"])
    result.attrs = {"device": "cpu", "dtype": "float32", "engine": "compiled"}
    return result


def _train(member: Member, data: Data, shared: dict[str, Any]) -> tuple[list[float], list[float], float]:
    network = CompiledMLP(member, shared)
    loss = np.nan
    for epoch in range(1, int(member.training.epochs) + 1):
        loss = float(network.step(epoch)[0])
    features, output = network.features(data.x_train)
    outputs = [(output, data.y_train), (network.features(data.x_test)[1], data.y_test)]
    if not (np.isfinite(loss) and all(np.isfinite(v).all() for v in (*features, *(found for found, _ in outputs)))):
        return [np.nan] * len(features), [np.nan, np.nan], np.nan
    error = [float(np.sqrt(np.mean((found[:, 0] - y) ** 2))) for found, y in outputs]
    return [probe_error(layer, data.y_train) for layer in features], error, loss


def standardised() -> Data:
    """The Diabetes data with targets of mean 0 and standard deviation 1 over the training samples."""
    raw = load("diabetes")
    mean, deviation = raw.y_train.mean(), raw.y_train.std()
    return replace(raw, y_train=(raw.y_train - mean) / deviation, y_test=(raw.y_test - mean) / deviation)
