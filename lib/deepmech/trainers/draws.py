"""Every random number of one network's training, by purpose and step; all engines draw here (or the same bits)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepmech.core.random import Stream
from deepmech.trainers.specs import Member, Settings


@dataclass(frozen=True)
class Draws:
    """The draws of ``member`` in an experiment; ``stream`` depends on the experiment's name and the seed alone.

    Networks that share a seed therefore start from the same weights and see the same batches and (nested) dropout masks
    whatever their other parameters are: differences along a grid are paired.
    """

    member: Member
    stream: Stream

    @classmethod
    def of(cls, member: Member, experiment: str) -> Draws:
        return cls(member, Stream.of(experiment, member.seed))

    def weights(self, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Initial (weight, bias) of each Linear layer, float64, shapes (out, in) and (out,)."""
        layers = []
        for i, (n_in, n_out) in enumerate(pairwise(sizes), start=1):
            if self.member.network.init == "torch":
                bound = 1.0 / np.sqrt(n_in)
                weight = (2 * self.stream.uniform(f"weight {i}", 0, (n_out, n_in)) - 1) * bound
                bias = (2 * self.stream.uniform(f"bias {i}", 0, n_out) - 1) * bound
            else:
                weight, bias = _orthogonal(self.stream.normal(f"weight {i}", 0, (n_out, n_in))), np.zeros(n_out)
            layers.append((weight, bias if self.member.network.bias else np.zeros(n_out)))
        return layers

    def order(self, epoch: int, n: int) -> tuple[int, int, np.ndarray]:
        """(first step, batch size, order of the samples) of epoch ``epoch``; steps count over the whole training."""
        size = self.member.training.batch_size
        if size is None or size >= n:
            # The whole set at once: its order has no effect, so it is left as it is.
            return epoch - 1, n, np.arange(n)
        return (epoch - 1) * -(-n // int(size)), int(size), self.stream.permutation("order", epoch, n)

    def batches(self, epoch: int, n: int) -> Iterator[tuple[int, np.ndarray]]:
        """(step, indices) of each batch of epoch ``epoch``."""
        first, size, order = self.order(epoch, n)
        for i, start in enumerate(range(0, n, size)):
            yield first + i, order[start : start + size]

    def keep(self, layer: int, step: int, width: int, batch: int, dropout: float) -> np.ndarray:
        """Dropout mask after hidden layer ``layer``, shape (width, batch); False where the activation is dropped."""
        return self.stream.keep(f"dropout {layer}", step, (width, batch), dropout)

    def input_noise(self, step: int, batch: int, n_inputs: int) -> np.ndarray:
        """Standard normal numbers to be scaled and added to the inputs, shape (n_inputs, batch)."""
        return self.stream.normal("input noise", step, (n_inputs, batch))

    def noisy_labels(self, labels: np.ndarray, step: int, now: Settings, n_classes: int) -> np.ndarray:
        """``labels`` with a fraction ``now.label_noise`` replaced by uniform random classes (the same one included)."""
        if now.label_noise == 0:
            return labels
        true = self.stream.keep("label noise", step, len(labels), now.label_noise)
        other = np.floor(self.stream.uniform("random label", step, len(labels)) * n_classes).astype(labels.dtype)
        return np.where(true, labels, other)


def _orthogonal(normal: np.ndarray) -> np.ndarray:
    """A uniformly distributed matrix with orthonormal rows or columns, from a matrix of normals."""
    tall = normal.shape[0] >= normal.shape[1]
    q, r = np.linalg.qr(normal if tall else normal.T)
    q *= np.sign(np.diag(r))
    return q if tall else q.T
