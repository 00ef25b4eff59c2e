"""What the compiled trial needs around it: parameters in its layout, work space, images with room at their ends."""

from __future__ import annotations

import numpy as np

from deepmech.trainers.engines.compiled import lenet_step as kernels
from deepmech.trainers.engines.compiled.lenet_step import (
    FLAT,
    GROUP,
    IMAGE,
    MAPS_1,
    MAPS_2,
    PATCH,
    ROOM_4,
    UNITS_3,
    UNITS_4,
)
from deepmech.trainers.engines.compiled.tiles import aligned
from deepmech.trainers.run import go_on

PIECE = 10_000
"""Iterations after which an interrupt is looked for."""


def padded(x: np.ndarray, n_channels: int, dtype: str) -> np.ndarray:
    """Images (n, channels · 1024) with the room behind every channel that the convolution reads over."""
    out = aligned(len(x) * n_channels * IMAGE, dtype).reshape(len(x), n_channels, IMAGE)
    out[:, :, :1024] = np.asarray(x).reshape(len(x), n_channels, 1024)
    return out.reshape(len(x), -1)


class Engine:
    """Trains one network by single-sample gradient descent."""

    def __init__(self, weights: list[tuple[np.ndarray, np.ndarray]], learning_rate: float, dtype: str) -> None:
        self.rate, self.dtype = float(learning_rate), dtype
        self.n_channels, self.n_classes = weights[0][0].shape[1], len(weights[-1][1])
        k = self.n_classes
        filters_1, filters_2 = MAPS_1 * self.n_channels * 5 * PATCH, MAPS_2 * 25 * PATCH
        sizes = {
            "w1": filters_1, "b1": MAPS_1, "w2": filters_2, "b2": MAPS_2, "w3": FLAT * UNITS_3, "b3": UNITS_3,
            "w4": UNITS_3 * ROOM_4, "b4": ROOM_4, "w5": k * ROOM_4, "b5": k,
        }  # fmt: skip
        self.parameters = kernels.Parameters(**{name: aligned(n, dtype) for name, n in sizes.items()})
        views = self._views()
        for (weight, bias), (own, own_bias) in zip(weights, views, strict=True):
            own[...] = weight
            own_bias[...] = bias
        sizes = {
            "maps1": MAPS_1 * kernels.LONG_1, "pool1": MAPS_1 * kernels.POOLED_1, "last1": 196 * PATCH,
            "maps2": MAPS_2 * kernels.LONG_2, "pool2": FLAT, "h3": UNITS_3, "h4": ROOM_4, "v2": FLAT + GROUP,
            "v3": UNITS_3 + GROUP, "d2": FLAT, "d3": UNITS_3, "d4": ROOM_4, "g1": filters_1, "g2": filters_2,
            "back1": 196 * PATCH,
        }  # fmt: skip
        places = {"i2": np.zeros(FLAT + GROUP, np.int64), "i3": np.zeros(UNITS_3 + GROUP, np.int64)}
        places |= {"chosen1": np.zeros(196 * MAPS_1, np.int32), "chosen2": np.zeros(FLAT, np.int32)}
        self.space = kernels.Space(**places, **{name: aligned(n, dtype) for name, n in sizes.items()})

    def _views(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every layer's (weight, bias) in torch's shapes, as views of the kernel's arrays."""
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = self.parameters
        return [
            (w1.reshape(MAPS_1, self.n_channels, 5, PATCH)[..., :5], b1),
            (w2.reshape(MAPS_2, 5, 5, PATCH)[..., :MAPS_1].transpose(0, 3, 1, 2), b2),
            (w3.reshape(FLAT, UNITS_3).T, b3),
            (w4.reshape(UNITS_3, ROOM_4)[:, :UNITS_4].T, b4[:UNITS_4]),
            (w5.reshape(self.n_classes, ROOM_4)[:, :UNITS_4], b5),
        ]

    def weights(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weight, bias) of every layer, in torch's shapes."""
        return [(weight.copy(), bias.copy()) for weight, bias in self._views()]

    def run(
        self, x: np.ndarray, y: np.ndarray, order: np.ndarray, validation: tuple[np.ndarray, np.ndarray], at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Train on :func:`padded` images x with labels y, one sample per step, in this order.

        Returns
        -------
        logits, losses : (steps, classes) and (steps,), of the sample drawn, before its step.
        measured : (len(at), 2), loss and accuracy on ``validation``, before the steps in ``at``.

        From the first loss or parameter that is not finite on, they are nan.
        """
        begun = [a.copy() for a in self.parameters]
        record, losses = np.full((len(order), self.n_classes), np.nan, self.dtype), np.full(len(order), np.nan)
        measured = np.full((len(at), 2), np.nan)
        self._trial(x, y, order, self.rate, record, losses, validation, at, measured)
        if self.finite:
            return record, losses, measured
        # A step visits active units alone, and may never meet the first parameter that is lost: all are looked at now.
        for now, before in zip(self.parameters, begun, strict=True):
            now[:] = before
        record[:], losses[:], measured[:] = np.nan, np.nan, np.nan
        for m in range(len(order) + 1):
            if not self.finite or (m and not np.isfinite(losses[m - 1])):
                break
            own, here = slice(m, m + 1), at == m
            found = measured[here]
            self._trial(x, y, order[own], self.rate, record[own], losses[own], validation, at[here] - m, found)
            measured[here] = found
        return record, losses, measured

    def _trial(
        self, x: np.ndarray, y: np.ndarray, order: np.ndarray, rate: float, record: np.ndarray, losses: np.ndarray,
        validation: tuple[np.ndarray, np.ndarray], at: np.ndarray, measured: np.ndarray,
    ) -> None:  # fmt: skip
        room = np.empty(self.n_classes, self.dtype), np.empty(self.n_classes)
        # In pieces of about a second, measurements included: each goes on where the one before it ended.
        longest = min(PIECE, max(1, PIECE // max(1, len(validation[0]) * len(at) // max(1, len(order)))))
        for begin in range(0, max(1, len(order)), longest):
            go_on()
            end = min(begin + longest, len(order))
            here = (at >= begin) & ((at < end) | (end == len(order)))
            found = measured[here]
            kernels.trial(
                x, y, order[begin:end], rate, self.parameters, self.space, record[begin:end], losses[begin:end],
                *validation, at[here] - begin, found, *room,
            )  # fmt: skip
            measured[here] = found
            if not np.isfinite(losses[begin:end]).all():
                break  # nothing is learned from there on

    @property
    def finite(self) -> bool:
        """Whether all weights and biases are."""
        return all(bool(np.isfinite(a).all()) for a in self.parameters)

    def answers(self, images: np.ndarray, last: int) -> bool:
        """Whether all parameters are finite, and the logits of one of the images, :func:`padded`."""
        logits, loss, nobody = np.empty((1, self.n_classes), self.dtype), np.empty(1), np.zeros(0, np.int64)
        if self.finite:
            order, labels, measured = np.array([last]), np.zeros(len(images), np.int64), np.empty((0, 2))
            self._trial(images, labels, order, 0.0, logits, loss, (images, labels), nobody, measured)
        return self.finite and bool(np.isfinite(logits).all())
