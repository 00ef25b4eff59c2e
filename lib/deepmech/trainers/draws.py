"""Initial weights and batches of one network, from its stream; all engines draw here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepmech.core.random import Stream
from deepmech.trainers.specs import Member


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
        network = self.member.network
        layers = [
            layer_weights(self.stream, i, (n_out, n_in), str(network.init))
            for i, (n_in, n_out) in enumerate(pairwise(sizes), start=1)
        ]
        return [(weight, bias if network.bias else np.zeros(len(bias))) for weight, bias in layers]

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


def layer_weights(stream: Stream, i: int, shape: tuple[int, ...], init: str = "torch") -> tuple[np.ndarray, np.ndarray]:
    """Initial weight, of ``shape`` with outputs first, and bias of the i-th layer (from 1), float64.

    ``"torch"``: both uniform in ±1/√(fan-in), PyTorch's default; ``"orthogonal"``: orthonormal rows or columns, and no
    bias.
    """
    if init == "orthogonal":
        return _orthogonal(stream.normal(f"weight {i}", 0, shape)), np.zeros(shape[0])
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    weight = (2 * stream.uniform(f"weight {i}", 0, shape) - 1) * bound
    return weight, (2 * stream.uniform(f"bias {i}", 0, shape[0]) - 1) * bound


def _orthogonal(normal: np.ndarray) -> np.ndarray:
    """A uniformly distributed matrix with orthonormal rows or columns, from a matrix of normals."""
    tall = normal.shape[0] >= normal.shape[1]
    q, r = np.linalg.qr(normal if tall else normal.T)
    q *= np.sign(np.diag(r))
    return q if tall else q.T
