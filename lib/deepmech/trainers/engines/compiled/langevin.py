"""One network that walks on a CPU: the compiled engine.

It holds the weights as one flat vector, layer after layer, each (units above, units below), and shares its draws with
:class:`~deepmech.trainers.engines.torch_walk.TorchWalk`, so both take the same path up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.random import Stream, purpose_word
from deepmech.trainers.engines.compiled import langevin_kernels as kernels
from deepmech.trainers.engines.compiled.tiles import aligned
from deepmech.trainers.run import go_on

#: Types of (weights, products) for each ``dtype`` of a spec.
TYPES = {"float32": ("float32", "float32"), "float64": ("float64", "float64"), "mixed": ("float64", "float32")}
_NO_ORDER, _NO_STREAM, _THERMAL = np.zeros(1, np.int64), Stream(0), np.uint64(purpose_word("thermal"))
LOSS_BLOCK = 64
"""Samples at a time in :class:`Loss`."""
CACHE = 32 * 1024
"""Bytes that one layer's activations of one block may take: the nearest cache of today's processors."""


def layer_sizes(inputs: int, width: int, hidden: int) -> tuple[int, ...]:
    """Units of every layer, input and output included."""
    return (inputs, *[width] * hidden, 1)


def n_weights(sizes: Sequence[int]) -> int:
    """Number of weights N.

    Examples
    --------
    >>> n_weights(layer_sizes(10, 30, 6)), n_weights(layer_sizes(10, 82, 6))
    (4830, 34522)
    """
    return sum(a * b for a, b in zip(sizes[1:], sizes[:-1], strict=True))


def initial(sizes: Sequence[int], stream: Stream) -> np.ndarray:
    """Weights drawn uniformly from ±1/√(units below), flat, float64."""
    parts = [
        (2 * stream.uniform(f"weight {i}", 0, above * below) - 1) / np.sqrt(below)
        for i, (above, below) in enumerate(zip(sizes[1:], sizes[:-1], strict=True))
    ]
    return np.concatenate(parts)


PRODUCTS = 10**9
"""Weights times samples after which an interrupt is looked for: about a second."""


class CompiledWalk:
    """Walks one network; samples go through all its layers and back block by block, inside the cache.

    Parameters
    ----------
    sizes : units of every layer, :func:`layer_sizes`.
    x : (n, d), standardised inputs; ``y`` : (n,), labels ±1.
    dtype : ``"float32"``, ``"float64"``, or ``"mixed"``: weights in float64, products in float32.
    """

    def __init__(self, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, dtype: str = "float32"):
        self.sizes = np.array(sizes, np.int64)
        weight_type, self.type = TYPES[dtype]
        self.n, lanes = len(x), kernels.vectors(self.type)
        widest = int(self.sizes[1:].max())
        unit = kernels.WIDE * lanes
        whole = -(-self.n // lanes) * lanes
        #: Samples in a block: fixed by the sizes alone, so that sums have one order.
        self.block = min(max(CACHE // (widest * np.dtype(self.type).itemsize) // unit * unit, unit), whole)
        blocks = -(-self.n // self.block)
        samples, labels = (np.ascontiguousarray(v, dtype=self.type) for v in (x.T, y))
        padded = np.zeros((len(samples), blocks * self.block), self.type)
        padded[:, : self.n] = samples
        room = {name: aligned(n * self.block, self.type) for name, n in {
            "a": (len(sizes) - 2) * widest, "d": 2 * widest, "x": len(samples), "y": 1,
        }.items()}  # fmt: skip
        small = aligned(kernels.SQUARE**2, self.type)
        #: Weights, the same in the type of the products, and their gradient.
        self.w, self.v, self.g = (np.zeros(n_weights(sizes), t) for t in ("float64", self.type, "float64"))
        even = len(self.g) + len(self.g) % 2
        self._room = kernels.Room(**room, small=small, bits=np.empty(even, np.uint32), z=np.empty(even))
        self._net = kernels.Net(self.sizes, self.w, self.v, self.g, weight_type != "float64")
        blocked = aligned(padded.size, self.type), aligned(blocks * self.block, self.type)
        blocked[0][:] = padded.reshape(len(padded), blocks, self.block).transpose(1, 0, 2).ravel()
        blocked[1][: self.n] = labels
        self._data = kernels.Data(*blocked, samples, labels, self.block)

    def set(self, weights: np.ndarray) -> None:
        """Put the network at these weights (flat)."""
        self.v[:] = weights
        self.w[:] = self.v if self._net.rounds else weights

    def gradient(self) -> np.ndarray:
        """Gradient of the mean loss over all samples, without regularisation; flat, float64."""
        self._advance(0, 1, 0, _NO_ORDER, 0.0, 0.0, 0.0, _NO_STREAM)
        return self.g.copy()

    def walk(self, steps: int, first: int, rate: float, decay: float, noise: float, stream: Stream) -> None:
        """``steps`` Langevin steps; ``noise`` is the standard deviation that each weight receives in one step."""
        piece = max(1, PRODUCTS // (self.n * len(self.w)))
        for begin in range(first, first + steps, piece):
            go_on()
            self._advance(begin, min(begin + piece, first + steps), 0, _NO_ORDER, rate, decay, noise, stream)

    def descend(self, order: np.ndarray, batch: int, rate: float, decay: float, begin: int, end: int) -> None:
        """Steps ``begin`` … ``end`` - 1 of an epoch of stochastic gradient descent over the samples in ``order``."""
        go_on()
        self._advance(begin, end, batch, order, rate, decay, 0.0, _NO_STREAM)

    def _advance(
        self, begin: int, end: int, batch: int, order: np.ndarray, rate: float, decay: float, noise: float,
        stream: Stream,
    ) -> None:  # fmt: skip
        kernels.advance(
            self._net, self._data, self._room, order, batch, rate, decay, noise, np.uint64(stream.key), _THERMAL,
            begin, end,
        )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore")
def evaluate(
    weights: np.ndarray, sizes: Sequence[int], x: np.ndarray, y: np.ndarray
) -> tuple[float, float, list[np.ndarray]]:
    """Mean data loss, fraction of samples on the wrong side, and per hidden layer which units are not always silent.

    In float64, whatever the engine. A loss that is beyond it is inf or nan.
    """
    start, a, active = 0, np.asarray(x, float), []
    for i in range(1, len(sizes)):
        size = sizes[i] * sizes[i - 1]
        a = a @ np.asarray(weights[start : start + size], float).reshape(sizes[i], sizes[i - 1]).T
        if i < len(sizes) - 1:
            np.maximum(a, 0, out=a)
            active.append((a > 0).any(0))
        start += size
    margin = np.asarray(y, float) * a[:, 0]
    return float(0.5 * (np.maximum(0, 1 - margin) ** 2).mean()), float((margin <= 0).mean()), active


class SingleWalkAdapter:
    """A network as a group of one, as :class:`~deepmech.trainers.engines.torch_walk.TorchWalk` holds many."""

    def __init__(self, network: CompiledWalk, x: np.ndarray, y: np.ndarray):
        self.network, self.x, self.y = network, x, y

    @property
    def w(self) -> np.ndarray:
        return self.network.w[None].astype(float)

    def set(self, weights: np.ndarray) -> None:
        self.network.set(weights[0])

    def walk(
        self, steps: int, first: int, rate: np.ndarray, decay: np.ndarray, noise: np.ndarray, streams: Sequence[Stream]
    ) -> None:
        self.network.walk(steps, first, float(rate[0]), float(decay[0]), float(noise[0]), streams[0])

    def descend(
        self, orders: Sequence[np.ndarray], batch: int, rate: np.ndarray, decay: np.ndarray, begin: int, end: int
    ) -> None:
        self.network.descend(orders[0], batch, float(rate[0]), float(decay[0]), begin, end)

    def evaluate(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        loss, error, active = evaluate(self.network.w, tuple(self.network.sizes), self.x, self.y)
        return np.array([loss]), np.array([error]), [layer[None] for layer in active]


class Loss:
    """The loss of one network as a function of its flat weights: what the landscape page descends and slices.

    Mean quadratic hinge loss with weight decay (Eqs. 1, 2) of a bias-free ReLU network, in float64.

    ``sizes``, ``x`` and ``y`` are as for :class:`CompiledWalk`; ``regularisation`` is λ ≥ 0.

    Examples
    --------
    With weights at zero every sample has loss ½, and with ReLU units no gradient:

    >>> loss = Loss((2, 3, 1), np.ones((4, 2)), np.array([1.0, -1, 1, -1]))
    >>> value, gradient = loss(np.zeros(9))
    >>> value, abs(gradient).max()
    (0.5, np.float64(0.0))
    """

    def __init__(self, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, regularisation: float = 0.0):
        if not np.isfinite(regularisation) or regularisation < 0:
            raise ValueError(f"Loss: regularisation = {regularisation!r}: must be a number >= 0")
        self.sizes, self.regularisation = np.array(sizes, np.int64), float(regularisation)
        self._engine = CompiledWalk(sizes, x, y, "float64")
        self._x, self._y = np.ascontiguousarray(x.T, float), np.ascontiguousarray(y, float)
        self._a = np.empty((2, int(self.sizes[1:].max()), LOSS_BLOCK))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient, weight decay included."""
        return self.value(weights), self.gradient(weights)

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """Gradient of the loss, weight decay included, flat."""
        self._engine.set(weights)
        return self._engine.gradient() + self.regularisation * np.asarray(weights, float)

    def value(self, weights: np.ndarray) -> float:
        """Loss, weight decay included."""
        w = np.ascontiguousarray(weights, float)
        half = 0.5 * self.regularisation * float(w @ w)
        return float(_value(w, self.sizes, self._x, self._y, self._a)) / len(self._y) + half


@njit(nogil=True, cache=True, error_model="numpy")
def _value(w, sizes, x, y, a):
    """Sum over samples of ½ max(0, 1 - y f)²; ``a`` holds two layers of one block of samples, by turns."""
    last = sizes.shape[0] - 1
    total = 0.0
    for begin in range(0, y.shape[0], LOSS_BLOCK):
        held = min(LOSS_BLOCK, y.shape[0] - begin)
        start = 0
        for i in range(1, last + 1):
            m, k, to = sizes[i], sizes[i - 1], i % 2
            for j in range(m):
                row = a[to, j]
                for b in range(held):
                    row[b] = 0.0
                for u in range(k):
                    weight = w[start + j * k + u]
                    if i == 1:
                        for b in range(held):
                            row[b] += weight * x[u, begin + b]
                    else:
                        below = a[1 - to, u]
                        for b in range(held):
                            row[b] += weight * below[b]
                if i < last:
                    for b in range(held):
                        row[b] = max(row[b], 0.0)
            start += m * k
        for b in range(held):
            gap = max(1.0 - y[begin + b] * a[last % 2, 0, b], 0.0)  # in this order nan stays
            total += 0.5 * gap * gap
    return total
