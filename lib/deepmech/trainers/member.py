"""One network to be trained: its specs with plain numbers, and what it draws from its stream, whatever trains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from deepmech.core.random import Stream
from deepmech.trainers.specs import CNN, MLP, Own, Training


class Settings(NamedTuple):
    """The quantities in force during one epoch; the modules of :class:`Own` have dropout rates of their own."""

    dropout: float
    learning_rate: float
    data_noise: float
    label_noise: float


@dataclass(frozen=True)
class Member:
    """One network to be trained: both specs with plain numbers only, a seed, and the name of the experiment.

    Its stream depends on the seed and the experiment's name alone. Networks that share both therefore start from the
    same weights and see the same batches and (nested) dropout masks whatever their other parameters are: differences
    along a grid are paired.
    """

    network: MLP | CNN | Own
    training: Training
    seed: int
    experiment: str = "train"

    @cached_property
    def stream(self) -> Stream:
        return Stream.of(self.experiment, self.seed)

    def settings(self, epoch: int) -> Settings:
        """What holds in epoch ``epoch`` (from 1) by the specs and the schedule."""
        t = self.training
        values: dict[str, Any] = {
            "dropout": 0.0 if isinstance(self.network, Own) else self.network.dropout,
            "learning_rate": t.learning_rate,
            "data_noise": t.data_noise,
            "label_noise": t.label_noise,
        }
        values.update({field: value for start, field, value in sorted(t.schedule) if epoch >= start})
        if values["label_noise"] is None:
            values["label_noise"] = values["data_noise"]
        return Settings(**{k: float(v) for k, v in values.items()})

    def rates(self, dropout: float) -> float | list[float]:
        """Dropout of each hidden layer of an MLP whose ``dropout`` is that at present; of others, of all layers."""
        if not isinstance(self.network, MLP):
            return dropout
        rates = [dropout * share for share in self.network.dropout_profile or (1.0,) * (int(self.network.depth) - 1)]
        if max(rates) >= 1:
            raise ValueError(f"Training.schedule: dropout = {dropout} times MLP.dropout_profile must stay below 1")
        return rates

    def sizes(self, n_inputs: int, n_outputs: int) -> list[int]:
        """Units of every layer of an MLP, from the input to the output."""
        assert isinstance(self.network, MLP)
        return [n_inputs, *[int(self.network.width)] * (int(self.network.depth) - 1), n_outputs]

    @property
    def scale(self) -> float:
        """The factor c after each nonlinearity of an MLP: 1 with BatchNorm or LayerNorm."""
        assert isinstance(self.network, MLP)
        if self.network.batch_norm or self.network.layer_norm:
            return 1.0
        if self.network.scale is not None:
            return float(self.network.scale)
        square = 6.0 if self.network.init == "torch" else 2.0
        return float(np.sqrt(square / (1.0 + float(self.network.slope) ** 2)))

    def weights(self, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Initial (weight, bias) of each Linear layer of an MLP, float64, shapes (out, in) and (out,)."""
        assert isinstance(self.network, MLP)
        layers = [
            layer_weights(self.stream, i, (n_out, n_in), str(self.network.init))
            for i, (n_in, n_out) in enumerate(pairwise(sizes), start=1)
        ]
        return [(weight, bias if self.network.bias else np.zeros(len(bias))) for weight, bias in layers]

    def order(self, epoch: int, n: int) -> tuple[int, int, np.ndarray]:
        """(first step, batch size, order of the samples) of epoch ``epoch``; steps count over the whole training."""
        size = self.training.batch_size
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
