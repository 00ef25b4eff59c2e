"""Networks with a constant after each layer in place of BatchNorm (paper A, Eq. 1)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import xarray as xr
from torch import nn

from deepmech.data import load
from deepmech.trainers import Training, train
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import (
    TORCH,
    final_loss,
    summarise,
)

#: How the constants are found, layer by layer in the network with its initial weights, from the training samples. They
#: bring to 1 the features' variance over samples, mean over units (the paper's words), or their mean square (as where
#: "variance" is over random weights, in the papers that it cites); or they keep the mean square of the raw pixels.
SCALED = ("variance 1", "mean square 1", "mean square of the pixels")


class Times(nn.Module):
    """Multiplies by a constant."""

    factor: torch.Tensor

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


def constants(
    x: torch.Tensor, slope: float, dropout: float = 0.0, scaled: str = SCALED[0], depth: int = 8, width: int = 100
) -> nn.Module:
    """``depth - 1`` times [Linear, LeakyReLU, times c_ℓ, Dropout], then Linear to 10 classes, for inputs like ``x``."""
    layers: list[nn.Module] = []
    square = float((x**2).mean())
    for _ in range(depth - 1):
        layers += [nn.Linear(x.shape[1], width), nn.LeakyReLU(slope)]
        with torch.no_grad():
            x = layers[-1](layers[-2](x))
            now = x.var(0).mean() if scaled == SCALED[0] else (x**2).mean()
            layers.append(Times(float(((square if scaled == SCALED[2] else 1.0) / now) ** 0.5)))
            x = layers[-1](x)
        layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers, nn.Linear(width, 10))


@verification_policy(tolerance={**TORCH, "loss": 3e-2})
def train_cells(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell; a cell's keys are arguments of :func:`constants`, ``learning_rate`` or ``seed``:
    :func:`.networks.summarise`, ``loss`` of the last epoch, and whether training ``diverged``."""
    images = load(**data)
    varied: dict[str, Any] = {str(k): v for k, v in cells.items() if k != "seed"}
    how = {k: varied.pop(k) for k in ("learning_rate",) if k in varied}
    factory = partial(constants, torch.tensor(images.x_train).flatten(1))
    runs = train(factory, Training(**training, **how), images, seed=cells["seed"], **network, **varied)
    return summarise(runs).assign(loss=final_loss(runs), diverged=runs["state"] == "diverged")
