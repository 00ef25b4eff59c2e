"""A residual network and a vision transformer of the usual make, on photographs: load curves before and after training.

Small, and in plain torch, as a reader's own would be; trained by :func:`.your_network.fit`.
"""

from __future__ import annotations

from collections import OrderedDict
from copy import deepcopy
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.data import Data, load
from deepmech.metrics.load_curve import load_curve, over_positions
from deepmech.sweeps import Sweep, each, recomputed
from deepmech_book.experiments.spring_block.networks import sweep
from deepmech_book.experiments.your_network import CLASSES, TokenMean, TransformerBlock, accuracy, fit, seeded

PHOTOGRAPHS: dict[str, Any] = {"name": "cifar10-jpeg", "n_train": 5000, "n_test": 1000}
WATCHED = 1000
"""Samples of each set on which a curve is measured."""
POOLS = {"flattened": None, "mean over positions": over_positions}


class BasicBlock(nn.Module):
    """Two 3×3 convolutions with BatchNorm, added to what goes in (where the size changes, to a 1×1 convolution of it);
    then ReLU."""

    def __init__(self, below: int, channels: int) -> None:
        super().__init__()
        stride = 1 if below == channels else 2
        self.conv1, self.norm1 = nn.Conv2d(below, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        fitted = [nn.Conv2d(below, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)] if stride > 1 else []
        self.relu, self.shortcut = nn.ReLU(), nn.Sequential(*fitted)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        return self.relu(self.shortcut(x) + branch)


def resnet() -> nn.Sequential:
    """Two blocks each of 16, 32 and 64 channels at 16, 8 and 4 pixels across, after a convolution with stride 2."""
    parts: list[tuple[str, nn.Module]] = [
        ("image", nn.Unflatten(1, (3, 32, 32))),
        ("input_norm", nn.BatchNorm2d(3)),
        ("stem", nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())),
    ]
    channels = [16, 16, 16, 32, 32, 64, 64]
    parts += [(f"block{i}", BasicBlock(*channels[i - 1 : i + 1])) for i in range(1, 7)]
    parts += [("mean", nn.AdaptiveAvgPool2d(1)), ("flat", nn.Flatten()), ("logits", nn.Linear(64, CLASSES))]
    return nn.Sequential(OrderedDict(parts))


class Patches(nn.Module):
    """Patches of 8×8 pixels as tokens, each with a learnt position added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, 8, 8)
        self.position = nn.Parameter(0.02 * torch.randn(16, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).flatten(2).mT + self.position


def vit() -> nn.Sequential:
    """Six blocks of attention over 16 patches, with the mean over tokens at the end."""
    width = 64
    image, norm = nn.Unflatten(1, (3, 32, 32)), nn.BatchNorm2d(3)
    parts: list[tuple[str, nn.Module]] = [("image", image), ("input_norm", norm), ("patches", Patches(width))]
    parts += [(f"block{i}", TransformerBlock(width, 4, 0.0)) for i in range(1, 7)]
    parts += [("norm", nn.LayerNorm(width)), ("mean", TokenMean()), ("logits", nn.Linear(width, CLASSES))]
    return nn.Sequential(OrderedDict(parts))


NETWORKS = {"ResNet": resnet, "ViT": vit}


def photographs(n_seeds: int = 3, steps: int = 300) -> Sweep:
    """Both networks on small colour photographs (ten classes, a hundred samples a step), from several seeds.

    Examples
    --------
    >>> photographs(n_seeds=2).grid.shape
    (2, 2)
    """
    cells, fixed = {"network": list(NETWORKS), "seed": range(n_seeds)}, {"steps": steps, "splits": ["train", "test"]}
    here = f"{__name__}:train_networks"
    return sweep("real-networks", here, cells, PHOTOGRAPHS, **fixed, features=list(POOLS))


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The untrained network on training samples, and its first steps."""
    return fixed | {"steps": 3, "features": ["flattened"], "splits": ["train"]}, ["untrained", "loss"]


# Torch's sums follow the processor and the version, and training magnifies the difference.
@recomputed(part=_begin, tolerance={"untrained": 1e-3, "*": 5e-2})
def train_networks(
    cells: xr.Dataset, data: dict[str, Any], steps: int, features: list[str], splits: list[str]
) -> xr.Dataset:
    """Train one network per cell, which holds ``network`` and ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``: load curves ``untrained`` and ``trained`` (``features``, ``split``, ``layer``: what enters the
        first block, and what each returns), ``loss`` of every step, and test ``accuracy``.
    """
    loaded = load(**data)
    found = [_one(cell["network"], cell["seed"], loaded, steps, features, splits) for cell in each(cells)]
    whole = xr.concat(found, xr.Variable("cell", cells["cell"].values))
    return whole.assign_attrs(device="cpu", dtype="float32")


def _one(name: str, seed: int, data: Data, steps: int, features: list[str], splits: list[str]) -> xr.Dataset:
    with seeded("weights", name, seed):
        model = NETWORKS[name]()
    shown = acquainted(model, torch.tensor(data.x_train[:WATCHED]))
    found: dict[str, Any] = {"untrained": curves(shown, data, features, splits)}
    losses: list[float] = []
    fit(model, data, epochs=steps, seed=seed, after_step=lambda loss: losses.append(loss.item()), steps=steps)
    found |= {"trained": curves(model, data, features, splits), "accuracy": accuracy(model, data)}
    return xr.Dataset(found | {"loss": ("step", losses)}, {"step": range(1, steps + 1)})


def acquainted(model: nn.Module, x: torch.Tensor) -> nn.Module:
    """A copy that has seen samples and learnt nothing: its BatchNorms' averages are those of its own features."""
    shown = deepcopy(model).train()
    for module in shown.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # a plain mean over batches
    with torch.no_grad():
        for batch in x.split(100):
            shown(batch)
    return shown.eval()


def curves(model: nn.Module, data: Data, features: list[str], splits: list[str]) -> xr.DataArray:
    """Load curves over the blocks of a model, by how features are taken and on which samples."""
    samples = {"train": (data.x_train, data.y_train), "test": (data.x_test, data.y_test)}

    def curve(how: str, split: str) -> np.ndarray:
        x, y = (a[:WATCHED] for a in samples[split])
        return load_curve(model, x, y, layers="blocks", batch_size=100, pool=POOLS[how], debias=False).values

    made = np.array([[curve(how, split) for split in splits] for how in features])
    return xr.DataArray(made, {"features": features, "split": splits, "layer": range(made.shape[-1])})
