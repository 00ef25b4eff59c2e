"""Do the phases of Fig. 1 travel? Residual networks, transformers, and images of other sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.data import Data, load
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import TORCH, summarise

DEPTH = 5
"""Blocks of every network; a curve has one point more, for what the blocks begin with."""


class Block(nn.Module):
    """Linear, BatchNorm, LeakyReLU, Dropout; added to what goes in, or in its place."""

    def __init__(self, width: int, slope: float, dropout: float, skip: bool) -> None:
        super().__init__()
        normed = nn.Linear(width, width, bias=False), nn.BatchNorm1d(width)
        self.branch, self.skip = nn.Sequential(*normed, nn.LeakyReLU(slope), nn.Dropout(dropout)), skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.branch(x) if self.skip else self.branch(x)


def stack(slope: float, dropout: float, skip: bool, width: int = 50) -> nn.Module:
    """A fully connected network on 8×8 pixels, the same with and without residual connections."""
    blocks = [Block(width, slope, dropout, skip) for _ in range(DEPTH)]
    return nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, width), *blocks, nn.Linear(width, 10))


class Rows(nn.Module):
    """The eight rows of an image as tokens, each with a learnt position added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(8, width)
        # Without a spread all rows would begin as the same place.
        self.position = nn.Parameter(0.5 * torch.randn(8, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.reshape(-1, 8, 8)) + self.position


class TokenMean(nn.Module):
    """Mean over tokens."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


class Attention(nn.Module):
    """Every token takes from the others what resembles it, with several heads."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, tokens, width = x.shape
        parts = self.into(x).reshape(samples, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.mT / (width // self.heads) ** 0.5, -1)
        return self.out((weights @ value).transpose(1, 2).reshape(samples, tokens, width))


class TransformerBlock(nn.Module):
    """Attention and two layers with a LeakyReLU between, each normalised first, with dropout, added to the tokens."""

    def __init__(self, width: int, slope: float, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width), nn.Dropout(dropout))
        layers = nn.Linear(width, 2 * width), nn.LeakyReLU(slope), nn.Linear(2 * width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), *layers, nn.Dropout(dropout))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x)
        return x + self.mlp(x)


def transformer(slope: float, dropout: float, width: int = 24) -> nn.Module:
    """A small vision transformer on the rows of an image of 8×8 pixels."""
    blocks = [TransformerBlock(width, slope, dropout) for _ in range(DEPTH)]
    return nn.Sequential(Rows(width), *blocks, nn.LayerNorm(width), TokenMean(), nn.Linear(width, 10))


#: How each kind is made; the modules over which its curve runs: what the blocks begin with, and what each returns; and
#: how it is trained.
KINDS: dict[str, tuple[Any, dict[str, Any], list[str], dict[str, Any]]] = {
    "plain": (stack, {"skip": False}, [str(i) for i in range(1, DEPTH + 2)], {"learning_rate": 1e-3, "epochs": 40}),
    "residual": (stack, {"skip": True}, [str(i) for i in range(1, DEPTH + 2)], {"learning_rate": 1e-3, "epochs": 40}),
    "transformer": (transformer, {}, [str(i) for i in range(DEPTH + 1)], {"learning_rate": 2e-3, "epochs": 15}),
}


@verification_policy(tolerance=TORCH)
def train_kind(cells: xr.Dataset, kind: str, data: dict[str, Any], training: dict[str, Any]) -> xr.Dataset:
    """Train one network per cell, which holds ``slope``, ``dropout`` and ``seed``; returns what ``summarise`` does."""
    factory, own, layers, _ = KINDS[kind]
    runs = train(
        factory,
        Training(**training),
        load(**data),
        seed=cells["seed"],
        layers=layers,
        experiment="travels",
        slope=cells["slope"],
        dropout=cells["dropout"],
        **own,
    )
    return summarise(runs)


#: Images by how many pixels they have across; "10 as 28" has the detail of 10 and the number of pixels of 28.
IMAGES = {"10": (10, 10), "14": (14, 14), "20": (20, 20), "28": (28, 28), "10 as 28": (10, 28)}


@verification_policy()
def train_resolutions(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell, which holds ``images`` and ``seed``; returns what :func:`train_kind` does."""
    output = []
    for name in dict.fromkeys(cells["images"].values.tolist()):
        own = cells.isel(cell=cells["images"].values == name)
        runs = train(MLP(**network), Training(**training), _images(name, data), seed=own["seed"], experiment="figure 1")
        output.append(summarise(runs).assign_coords(cell=own["cell"]))
    whole = xr.concat(output, "cell", combine_attrs="override")
    return whole.sel(cell=cells["cell"])


def _images(name: str, data: dict[str, Any]) -> Data:
    """The data with so many pixels across; pixels are repeated where there are to be more than details."""
    detail, pixels = IMAGES[name]
    small = load(**data, size=detail)
    at = np.arange(pixels) * detail // pixels

    def grown(x: np.ndarray) -> np.ndarray:
        square = x.reshape(len(x), detail, detail)
        return np.ascontiguousarray(square[:, at][:, :, at].reshape(len(x), -1))

    if pixels == detail:
        return small
    shape = (1, pixels, pixels)
    words = f"{small.fingerprint}, pixels repeated to {pixels}"
    return replace(small, x_train=grown(small.x_train), x_test=grown(small.x_test), shape=shape, fingerprint=words)
