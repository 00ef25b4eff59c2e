"""How much noise reaches each layer of a network in the forward and in the backward pass (paper A, below Eq. 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.trainers import MLP, Training
from deepmech.trainers.modules import of_member
from deepmech.trainers.specs import Member

#: Strengths of the three kinds of noise: that of the middle of Figs. 1(c) and 1(a), and batches of 50 samples.
DROPOUT, DATA_NOISE, BATCH = 0.12, 0.3, 50
KINDS = ("dropout", "data noise", "small batches")


def noise_by_layer(
    data: Data, kind: str, seed: int, epochs: int = 60, n_draws: int = 40, watched: int = 50
) -> xr.DataArray:
    """Train one ReLU network of Fig. 1 under a kind of noise, then draw the noise again and again with weights held.

    The first ``watched`` samples are in every draw: of small batches they have other company each time, of the other
    kinds all samples are in a batch.

    Parameters
    ----------
    kind : one of :data:`KINDS`.
    epochs : of training with Adam at 0.001.

    Returns
    -------
    DataArray
        Over ``signal`` (``"activations"``, ``"gradients"`` of the loss with respect to them) and ``layer``, 1 … 7: the
        variance over draws, over that of the mean over draws between samples (of gradients: over its mean square).
    """
    if kind not in KINDS:
        raise ValueError(f"noise_by_layer: kind = {kind!r}: must be one of {', '.join(map(repr, KINDS))}")
    network = MLP(dropout=DROPOUT if kind == "dropout" else 0.0)
    member = Member(network, Training(), seed)
    model = of_member(member, data.x_train.shape[1:], data.n_classes, Stream.of("asymmetric noise", seed))
    x, y = torch.tensor(data.x_train).flatten(1), torch.tensor(data.y_train)
    generator = torch.Generator().manual_seed(seed)

    def batch(kept: int) -> tuple[torch.Tensor, torch.Tensor]:
        """A noisy batch that begins with the first ``kept`` samples."""
        if kind == "small batches":
            others = kept + torch.randperm(len(x) - kept, generator=generator)[: 2 * BATCH - kept if kept else BATCH]
            chosen = torch.cat([torch.arange(kept), others])
            return x[chosen], y[chosen]
        if kind == "dropout":
            return x, y
        lost = torch.rand(len(y), generator=generator) < DATA_NOISE
        random = torch.randint(data.n_classes, y.shape, generator=generator)
        return x + DATA_NOISE * x.std() * torch.randn(x.shape, generator=generator), torch.where(lost, random, y)

    torch.manual_seed(seed)
    model.train()
    optimiser = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(epochs * (len(x) // BATCH if kind == "small batches" else 1)):
        batch_x, batch_y = batch(0)
        optimiser.zero_grad()
        F.cross_entropy(model(batch_x), batch_y).backward()
        optimiser.step()
    return _relative(_draws(model, lambda: batch(watched), n_draws, watched))


def _draws(model: Any, batch: Callable[[], tuple[torch.Tensor, torch.Tensor]], n: int, kept: int) -> np.ndarray:
    """Activations of hidden layers and gradients of the summed loss, (signal, draw, layer, sample, unit)."""
    both: list[list[np.ndarray]] = [[], []]
    hidden: list[torch.Tensor] = []
    watch = model.activation.register_forward_hook(lambda module, given, made: hidden.append(made))
    for _ in range(n):
        hidden.clear()
        x, y = batch()
        slopes = torch.autograd.grad(F.cross_entropy(model(x), y, reduction="sum"), hidden)
        for found, signals in zip(both, (hidden, slopes), strict=True):
            # Inside the network samples are the second axis.
            found.append(np.stack([s.detach().flatten(0, -2).T[:kept].numpy() for s in signals]))
    watch.remove()
    return np.array(both, dtype=float)


def _relative(draws: np.ndarray) -> xr.DataArray:
    """Variance over draws per layer, over that of the signal."""
    mean = draws.mean(1)
    noise = draws.var(1, ddof=1).mean((-1, -2))
    signal = np.stack([mean[0].var(1).mean(-1), (mean[1] ** 2).mean((-1, -2))])
    # A mean over n draws keeps an n-th of the noise.
    signal = signal - noise / draws.shape[1]
    coords = {"signal": ["activations", "gradients"], "layer": np.arange(1, draws.shape[2] + 1)}
    return xr.DataArray(noise / signal, coords, ("signal", "layer"))
