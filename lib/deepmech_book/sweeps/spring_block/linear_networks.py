"""Fig. 5(a): a deep linear network on random orthonormal data, under small steps, large steps and dropout.

The paper gives the initialisation (orthogonal), the optimiser (gradient descent) and the step sizes, and adopts the
rest from its reference 41, whose loss is the squared error. Here there are as many samples as features and as units,
all samples are in every step, and the loss is the mean squared distance to one-hot labels or the cross-entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import to_records
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy

#: Large steps of Fig. 5(a) as printed (SM S3), and its dropout probability.
LARGE, DROPOUT = 1e-2, 0.1


def orthonormal(n: int = 100, seed: int = 0) -> Data:
    """``n`` samples that form a random orthogonal matrix, with random binary labels; trained and tested on the same."""
    stream = Stream.of("orthonormal data", seed)
    x = np.linalg.qr(stream.normal("samples", 0, (n, n)))[0].astype(np.float32)
    y = (stream.uniform("labels", 0, n) < 0.5).astype(np.int64)
    note = f"{n} random orthonormal vectors with random binary labels."
    return Data(x, y, x, y, 2, (n,), f"orthonormal-{n}-{seed}", "orthonormal", note)


def train_linear(
    learning_rate: Any,
    n_steps: int,
    loss: str = "mse",
    dropout: float = 0.0,
    n: int = 100,
    depth: int = 8,
    seeds: Sequence[int] = (0,),
    batch_size: int | None = None,
) -> xr.Dataset:
    """Deep linear networks of ``depth`` matrices, orthogonal at first, trained by gradient descent on ``n`` samples.

    ``n`` are the units, too; ``n_steps`` are epochs where ``batch_size`` is given. Over ``seed``, each with its own
    data, and the labels of ``learning_rate``: ``load_curve``, ``curvature``, ``loss``.
    """
    network = MLP(depth=depth, width=n, dropout=dropout, slope=1.0, batch_norm=False, bias=False, init="orthogonal")
    how: dict[str, Any] = {"optimizer": "sgd", "loss": loss, "stop_loss": 0.0, "stop_change": 0.0}
    how |= {} if batch_size is None else {"batch_size": batch_size}
    training = Training(learning_rate=learning_rate, epochs=n_steps, **how)
    parts = []
    for seed in seeds:
        runs = train(network, training, orthonormal(n, seed), seed=seed, experiment="figure 5a")
        curve = runs["load_curve"].sel(split="train", drop=True)
        parts.append(xr.Dataset({"load_curve": curve, "loss": runs["loss"].isel(epoch=-1, drop=True)}))
    result = xr.concat(parts, xr.Variable("seed", list(seeds)))
    result.attrs = {"device": runs.attrs["device"], "dtype": runs.attrs["dtype"], "engine": runs.attrs["engine"]}
    return result.assign(curvature=curvature(result["load_curve"]))


# Data and initial weights are orthogonalised by LAPACK, whose last bits follow the processor, and training amplifies
# them: by 3.5e-4, 1.7e-4 and 8.1e-4 of a number in all cells that ship, between kernels for AVX2 and for AVX-512.
@verification_policy(tolerance={"load_curve": 1.5e-3, "loss": 1e-3, "curvature": 3.5e-3})
def train_cells(cells: xr.Dataset, n: int, settings: dict[str, dict[str, Any]]) -> xr.Dataset:
    """Train one network per cell, which holds ``seed`` and ``training``, a key of ``settings``; over ``cell``."""
    parts = []
    for cell in to_records(cells):
        made = train_linear(n=n, seeds=[cell["seed"]], **settings[cell["training"]])
        parts.append(made.rename(seed="cell").drop_vars("cell"))
    return xr.concat(parts, "cell", combine_attrs="override")
