"""Networks that walk, many at once on the states of :mod:`.torch_func`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.func import functional_call
from torch.nn import functional as F

from deepmech.core.random import BatchedStream, Stream
from deepmech.trainers.engines.compiled.langevin import TYPES, n_weights
from deepmech.trainers.engines.torch_func import ModuleEnsemble
from deepmech.trainers.modules import BiasFree
from deepmech.trainers.rules import hinge_slope, langevin
from deepmech.trainers.run import check_cancelled

BLOCK = 4096
"""Samples whose gradients are summed in the products' own precision; sums over blocks are in float64."""
_DRAWN = 2**22
"""Normal numbers drawn in one go, about: on a GPU the draws of a single step are too small to keep it busy."""


class TorchWalk:
    """``members`` networks of equal shape, each with weights of its own.

    Weights are one matrix (members, N), layer after layer; ``rate``, ``decay`` and ``noise`` are arrays (members,),
    ``streams`` and ``orders`` sequences with an entry per member.

    Other arguments are those of :class:`~deepmech.trainers.engines.compiled.langevin.CompiledWalk`, and a device of
    torch.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        x: np.ndarray,
        y: np.ndarray,
        dtype: str = "mixed",
        members: int = 1,
        device: str = "cpu",
        softplus: float = 0.0,
    ):
        self.sizes, self.n, self.device = tuple(sizes), len(x), torch.device(device)
        self.type = getattr(torch, TYPES[dtype])
        self.ensemble = ModuleEnsemble([BiasFree(sizes, softplus)], self.type, self.device)
        self._w = torch.zeros(members, n_weights(sizes), dtype=torch.float64, device=self.device)
        self.samples, self.labels = (torch.from_numpy(np.array(a, float)).to(self.device) for a in (x, y))
        # What is missing to whole blocks has the label 0, and with it no gradient.
        size = min(BLOCK, self.n)
        missing = -self.n % size
        self.x = F.pad(self.samples, (0, 0, 0, missing)).to(self.type).view(1, -1, size, self.sizes[0])
        self.y = F.pad(self.labels, (0, missing)).to(self.type).view(1, -1, size)

    @property
    def w(self) -> np.ndarray:
        """Weights, (members, N), float64."""
        return self._w.cpu().numpy().copy()

    def set(self, weights: np.ndarray) -> None:
        self._w.copy_(torch.from_numpy(np.asarray(weights, float)))

    def gradient(self) -> np.ndarray:
        """Gradient of each member's mean loss over all samples, without regularisation; (members, N), float64."""
        return self._gradient(self.x, self.y, self.n).cpu().numpy()

    def walk(
        self, steps: int, first: int, rate: np.ndarray, decay: np.ndarray, noise: np.ndarray, streams: Sequence[Stream]
    ) -> None:
        """``steps`` Langevin steps; ``noise`` is the standard deviation that each weight receives in one step."""
        (mu, shrink, kick), n = self._columns(rate, decay, noise), self._w.shape[1]
        # Members with the same seed see the same numbers: they are drawn once for each seed.
        keys = [s.key for s in streams]
        unique = list(dict.fromkeys(keys))
        seed = torch.tensor([unique.index(k) for k in keys], device=self.device)
        drawn, piece = BatchedStream(unique, self.device), max(1, _DRAWN // (len(unique) * n))
        for begin in range(first, first + steps, piece):
            at = torch.arange(begin, min(begin + piece, first + steps), device=self.device)
            z = drawn.normal("thermal", at, n).transpose(0, 1) if np.any(noise) else None
            for k in range(len(at)):
                check_cancelled()
                xi = None if z is None else kick * z[k, seed]
                langevin(self._w, self._gradient(self.x, self.y, self.n), mu, shrink, xi)

    def descend(
        self, orders: Sequence[np.ndarray], batch: int, rate: np.ndarray, decay: np.ndarray, begin: int, end: int
    ) -> None:
        """Steps ``begin`` … ``end`` - 1 of an epoch of stochastic gradient descent over the samples in ``orders``."""
        mu, shrink = self._columns(rate, decay)
        chosen = torch.from_numpy(np.stack([o[begin * batch : end * batch] for o in orders])).to(self.device)
        for index in chosen.split(batch, 1):
            check_cancelled()
            x, y = self.samples[index].to(self.type), self.labels[index].to(self.type)
            langevin(self._w, self._gradient(x[:, None], y[:, None], index.shape[1]), mu, shrink)

    @torch.no_grad()
    def evaluate(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Mean data loss, fraction of samples on the wrong side, and which units of each hidden layer are not silent.

        On all data and in float64; members along the first axis of each.
        """
        loss, wrong = torch.zeros(2, len(self._w), dtype=torch.float64, device=self.device)
        active = [torch.zeros(len(loss), n, dtype=torch.bool, device=self.device) for n in self.sizes[1:-1]]
        for x, y in zip(self.samples.split(BLOCK), self.labels.split(BLOCK), strict=True):
            _, *hidden, output = functional_call(self.ensemble.module, self.ensemble.parameters(self._w), (x, True))
            for units, a in zip(active, hidden, strict=True):
                units |= (a > 0).any(1)
            margin = y * output[..., 0]
            loss += 0.5 * F.relu(1 - margin).square().sum(1)
            wrong += (margin <= 0).sum(1)
        return (loss / self.n).cpu().numpy(), (wrong / self.n).cpu().numpy(), [units.cpu().numpy() for units in active]

    def _columns(self, *values: np.ndarray) -> list[torch.Tensor]:
        return [torch.from_numpy(np.asarray(v, float)).to(self.device)[:, None] for v in values]

    def _gradient(self, x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        """Gradient (members, N) in float64 on samples x (members or 1, blocks, samples, inputs) with labels y."""
        members, blocks = len(self._w), x.shape[1]
        rows = self._w.to(self.type).repeat_interleave(blocks, 0).requires_grad_()
        x, y = (v.expand(members, *v.shape[1:]).flatten(0, 1) for v in (x, y))
        output = self.ensemble.outputs(rows, x, 0)
        (gradient,) = torch.autograd.grad(output, rows, hinge_slope(output.detach()[..., 0], y)[..., None])
        return gradient.view(members, blocks, -1).sum(1, dtype=torch.float64) / n
