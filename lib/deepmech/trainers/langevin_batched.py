"""Many networks that walk at once, by batched products of torch on one device: what a GPU runs.

Samples are cut into blocks, and a product runs over (members × blocks) small matrices. Sums over the samples of a block
are the device's, those over blocks are made in float64. Numbers agree with
:class:`deepmech.trainers.langevin_engines.Reference` to rounding; no more is promised, as bits may depend on who else
is in a batch (:mod:`deepmech.trainers.batched`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch

from deepmech.core.random import Stream
from deepmech.trainers.batched_draws import BatchedStream
from deepmech.trainers.checks import Known, knows
from deepmech.trainers.langevin_engines import TYPES, n_weights
from deepmech.trainers.langevin_specs import Dynamics, Preparation

BLOCK = 4096
"""Samples in a block: fixed, so that sums have one order."""
_DRAWN = 2**22
"""Normal numbers drawn in one go, about: on a GPU the draws of a single step are too small to keep it busy."""


class Batched:
    """Walks ``members`` networks of equal shape; arguments as for :class:`~deepmech.trainers.langevin_engines.Blocked`.

    Weights are one matrix with a row per member, and so are gradients; ``rate``, ``decay`` and ``noise`` are arrays
    (members,), ``streams`` and ``orders`` sequences with an entry per member.

    Parameters
    ----------
    members : number of networks.
    device : ``"cpu"``, or a GPU as torch names it.
    """

    KNOWN: ClassVar[Known] = {
        Dynamics: knows(
            "width hidden regularisation temperature learning_rate batch_size", dtype=("float32", "float64", "mixed")
        ),
        Preparation: knows("gain sgd_steps batch_size descent_steps slow_steps learning_rate"),
    }

    def __init__(
        self,
        sizes: Sequence[int],
        x: np.ndarray,
        y: np.ndarray,
        dtype: str = "float32",
        members: int = 1,
        device: str = "cpu",
    ):
        self.sizes, self.n = tuple(sizes), len(x)
        self.rounds = TYPES[dtype][0] != "float64"
        self.type, self.device = getattr(torch, TYPES[dtype][1]), torch.device(device)
        self._w = torch.zeros(members, n_weights(sizes), dtype=torch.float64, device=self.device)
        self.samples, self.labels = (torch.from_numpy(np.array(a, float)).to(self.device) for a in (x, y))
        # What is missing to whole blocks has the label 0, and with it no gradient.
        size = min(BLOCK, self.n)
        missing = -self.n % size
        x_whole = torch.nn.functional.pad(self.samples, (0, 0, 0, missing)).to(self.type)
        y_whole = torch.nn.functional.pad(self.labels, (0, missing)).to(self.type)
        # (members, blocks, inputs, samples): one layout for any number of members, so that bmm takes one path.
        self.x = x_whole.view(-1, size, self.sizes[0]).mT.expand(members, -1, -1, -1).contiguous()
        self.y = y_whole.view(1, -1, size)

    @staticmethod
    def bytes_per_member(sizes: Sequence[int], n: int, batch: int, dtype: str) -> int:
        """About what one member takes at the height of a step, in bytes; ``batch`` is the largest one of descents."""
        item, units = np.dtype(TYPES[dtype][1]).itemsize, sum(sizes) + 3 * max(sizes)
        blocks = -(-n // min(BLOCK, n))
        return item * (blocks * (min(BLOCK, n) * units + n_weights(sizes)) + batch * units) + 200 * n_weights(sizes)

    @property
    def w(self) -> np.ndarray:
        """Weights, (members, N), float64."""
        return self._w.cpu().numpy().copy()

    def set(self, weights: np.ndarray) -> None:
        """Put the networks at these weights, (members, N)."""
        self._w.copy_(torch.from_numpy(np.asarray(weights, float)))
        self._round()

    def gradient(self) -> np.ndarray:
        """Gradient of each member's mean loss over all samples, without regularisation; (members, N), float64."""
        return self._gradient(self.x, self.y, self.n).cpu().numpy()

    def walk(
        self,
        steps: int,
        first: int,
        rate: np.ndarray,
        decay: np.ndarray,
        noise: np.ndarray,
        streams: Sequence[Stream],
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
                self._w -= mu * (self._gradient(self.x, self.y, self.n) + shrink * self._w)
                if z is not None:
                    self._w += kick * z[k, seed]
                self._round()

    def descend(
        self, orders: Sequence[np.ndarray], batch: int, rate: np.ndarray, decay: np.ndarray, begin: int, end: int
    ) -> None:
        """Steps ``begin`` … ``end`` - 1 of an epoch of stochastic gradient descent over the samples in ``orders``."""
        mu, shrink = self._columns(rate, decay)
        chosen = torch.from_numpy(np.stack([o[begin * batch : end * batch] for o in orders])).to(self.device)
        for step in range(end - begin):
            index = chosen[:, step * batch : (step + 1) * batch]
            x, y = self.samples[index].mT.to(self.type), self.labels[index].to(self.type)
            gradient = self._gradient(x[:, None].contiguous(), y[:, None], index.shape[1])
            self._w -= mu * (gradient + shrink * self._w)
            self._round()

    def evaluate(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """What :func:`~deepmech.trainers.langevin_engines.evaluate` returns, with members along the first axis."""
        loss = torch.zeros(len(self._w), dtype=torch.float64, device=self.device)
        wrong, layers = torch.zeros_like(loss), self._layers(self._w)
        active = [torch.zeros(a.shape[:2], dtype=torch.bool, device=self.device) for a in layers[:-1]]
        for x, y in zip(self.samples.split(BLOCK), self.labels.split(BLOCK), strict=True):
            a = x.mT.expand(len(loss), -1, -1)
            for layer, lit in zip(layers, active, strict=False):
                a = torch.bmm(layer, a).clamp_(min=0)
                lit |= (a > 0).any(2)
            margin = y * torch.bmm(layers[-1], a)[:, 0]
            loss += 0.5 * (1 - margin).clamp_(min=0).square().sum(1)
            wrong += (margin <= 0).sum(1)
        return (loss / self.n).cpu().numpy(), (wrong / self.n).cpu().numpy(), [lit.cpu().numpy() for lit in active]

    def _columns(self, *values: np.ndarray) -> list[torch.Tensor]:
        return [torch.from_numpy(np.asarray(v, float)).to(self.device)[:, None] for v in values]

    def _round(self) -> None:
        if self.rounds:
            self._w.copy_(self._w.to(self.type))

    def _layers(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """Views of flat weights, (members, N), as matrices (members, units above, units below)."""
        shapes = [(above, below) for below, above in pairwise(self.sizes)]
        pieces = flat.split([a * b for a, b in shapes], dim=1)
        return [piece.view(-1, *shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def _gradient(self, x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        """Gradient (members, N) in float64 on samples x (members, blocks, inputs, samples) with labels y."""
        members, blocks = x.shape[:2]
        layers = [w[:, None].expand(-1, blocks, -1, -1).flatten(0, 1) for w in self._layers(self._w.to(self.type))]
        a = [x.flatten(0, 1)]
        for w in layers[:-1]:
            a.append(torch.bmm(w, a[-1]).clamp_(min=0))
        f = torch.bmm(layers[-1], a[-1]).view(members, blocks, -1)
        d = (-y * (1 - y * f).clamp_(min=0)).flatten(0, 1)[:, None]
        parts = []
        for i in reversed(range(len(layers))):
            one = torch.bmm(d, a[i].mT).view(members, blocks, -1)
            parts.append(one.sum(1, dtype=torch.float64))
            if i:
                d = torch.ops.aten.threshold_backward(torch.bmm(layers[i].mT, d), a[i], 0)
        return torch.cat(parts[::-1], dim=1) / n
