"""How much noise reaches each layer of a network in the forward and in the backward pass (paper A, below Eq. 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.data import Data, load
from deepmech.sweeps import to_records
from deepmech.trainers import MLP, Training
from deepmech.trainers.modules import build_network
from deepmech.trainers.specs import Member
from deepmech_book.sweeps.policy import verification_policy

STRENGTHS = ("weak", "middle", "strong")
#: Kinds of noise, each from weak to strong: near the right edge, in the middle and near the left edge of Figs. 1(c),
#: 1(a) and 1(d).
KINDS = {"dropout": (0.04, 0.12, 0.28), "data noise": (0.1, 0.3, 0.7), "small batches": (640, 160, 40)}


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The measurement before training, which no later epoch reaches."""
    return fixed | {"at": fixed["at"][:1]}, ["relative"]


# Sums of torch follow the processor; what one draw of dropout decides at a kink of ReLU may flip.
@verification_policy(part=_begin, tolerance={"relative": 1e-3})
def train_and_draw(
    cells: xr.Dataset, data: dict[str, Any], kinds: dict[str, dict[str, float]], at: list[int], n_draws: int
) -> xr.Dataset:
    """Train one network per cell with Adam at 0.001; ``noise`` and ``strength`` of a cell are keys of ``kinds``.

    ``relative`` (cell, at_epoch, signal, layer) with signals ``"activations"`` and ``"gradients"`` (of the loss with
    respect to activations) is the variance over draws of the noise, over that between samples of the mean over draws
    (of gradients: over its mean square).
    """
    images = load(**data)
    output = [
        _measure(images, c["noise"], kinds[c["noise"]][c["strength"]], c["slope"], c["seed"], at, n_draws)
        for c in to_records(cells)
    ]
    coords = {"at_epoch": at, "signal": ["activations", "gradients"], "layer": np.arange(1, output[0].shape[-1] + 1)}
    dims = ("cell", "at_epoch", "signal", "layer")
    attrs = {"device": "cpu", "dtype": "float32", "engine": "torch"}
    return xr.Dataset({"relative": (dims, np.stack(output))}, coords, attrs)


def _measure(
    data: Data, kind: str, strength: float, slope: float, seed: int, at: list[int], n_draws: int
) -> np.ndarray:
    """Relative noise of one network, (at_epoch, signal, layer)."""
    network = MLP(slope=slope, dropout=strength if kind == "dropout" else 0.0)
    stream = Stream.of("noise by layer", kind, seed)
    model = build_network(Member(network, Training(), seed), data.x_train.shape[1:], data.n_classes, stream).train()
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)  # dropout draws from torch's own generator
    x, y = torch.tensor(data.x_train).flatten(1), torch.tensor(data.y_train)
    size = round(strength) if kind == "small batches" else len(x)
    kept = size // 2 if size < len(x) else min(200, size)

    def noisy(chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if kind != "data noise":
            return x[chosen], y[chosen]
        lost = torch.rand(len(chosen), generator=generator) < strength
        random = torch.randint(data.n_classes, lost.shape, generator=generator)
        added = strength * x.std() * torch.randn((len(chosen), x.shape[1]), generator=generator)
        return x[chosen] + added, torch.where(lost, random, y[chosen])

    def drawn() -> tuple[torch.Tensor, torch.Tensor]:
        """A batch that begins with the first samples: of small batches, with other company each time."""
        others = kept + torch.randperm(len(x) - kept, generator=generator)[: size - kept]
        return noisy(torch.cat([torch.arange(kept), others]))

    optimiser = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    output = []
    for epoch in range(at[-1] + 1):
        if epoch in at:
            output.append(relative(_draws(model, drawn, n_draws, kept)))
        for chosen in torch.randperm(len(x), generator=generator).split(size) if epoch < at[-1] else ():
            batch_x, batch_y = noisy(chosen)
            optimiser.zero_grad()
            F.cross_entropy(model(batch_x), batch_y).backward()
            optimiser.step()
    return np.stack(output)


def _draws(model: Any, batch: Callable[[], tuple[torch.Tensor, torch.Tensor]], n: int, kept: int) -> np.ndarray:
    """Activations of hidden layers and gradients of the summed loss, (signal, draw, layer, sample, unit)."""
    both: list[list[np.ndarray]] = [[], []]
    hidden: list[torch.Tensor] = []
    watch = model.activation.register_forward_hook(lambda module, given, made: hidden.append(made))
    for _ in range(n):
        hidden.clear()
        x, y = batch()
        slopes = torch.autograd.grad(F.cross_entropy(model(x), y, reduction="sum"), hidden)
        for output, signals in zip(both, (hidden, slopes), strict=True):
            # Inside the network samples are the last axis.
            output.append(np.stack([s.detach().flatten(0, -2).T[:kept].numpy() for s in signals]))
    watch.remove()
    return np.array(both, dtype=float)


def relative(draws: np.ndarray) -> np.ndarray:
    """Noise over signal, (signal, layer), from (signal, draw, layer, sample, unit); see :func:`train_and_draw`."""
    mean = draws.mean(1)
    noise = draws.var(1, ddof=1).mean((-1, -2))
    signal = np.stack([mean[0].var(1, ddof=1).mean(-1), (mean[1] ** 2).mean((-1, -2))])
    # A mean over n draws keeps an n-th of the noise.
    return np.asarray(noise / (signal - noise / draws.shape[1]))
