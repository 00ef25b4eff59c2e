"""The loss that networks walk on, with its gradient: what landscapes are descended and cut along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepmech.core.compiled import njit
from deepmech.trainers.engines.compiled.langevin import CompiledWalk

BLOCK = 64
"""Samples at a time."""


class HingeLoss:
    """The loss of one network as a function of its flat weights, and its gradient.

    Mean quadratic hinge loss with weight decay (Eqs. 1, 2) of a bias-free ReLU network, in float64.

    ``sizes``, ``x`` and ``y`` are as for :class:`~deepmech.trainers.engines.compiled.langevin.CompiledWalk`;
    ``regularisation`` is λ ≥ 0.
    """

    def __init__(self, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, regularisation: float = 0.0):
        if not np.isfinite(regularisation) or regularisation < 0:
            raise ValueError(f"HingeLoss: regularisation = {regularisation!r}: must be a number >= 0")
        self.sizes, self.regularisation = np.array(sizes, np.int64), float(regularisation)
        self._engine = CompiledWalk(sizes, x, y, "float64")
        self._x, self._y = np.ascontiguousarray(x.T, float), np.ascontiguousarray(y, float)
        self._a = np.empty((2, int(self.sizes[1:].max()), BLOCK))

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient, weight decay included."""
        return self.value(weights), self.gradient(weights)

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """Gradient of the loss, weight decay included, flat."""
        self._engine.set(weights)
        return self._engine.gradient()[0] + self.regularisation * np.asarray(weights, float)

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
    for begin in range(0, y.shape[0], BLOCK):
        held = min(BLOCK, y.shape[0] - begin)
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
