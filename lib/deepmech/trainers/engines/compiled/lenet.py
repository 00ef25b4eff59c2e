"""One LeNet trained by single-sample gradient descent, a whole trial in one compiled call.

The network is that of :func:`deepmech.trainers.train_lenet`. Layouts are chosen for vectors of eight. Images lie flat,
row behind row, so that a convolution is one long loop over pixels; the few sums across the end of a row are computed
and not used. Of each 2×2 block only the largest entry passes a gradient back, and of the units behind a ReLU only the
positive ones: the backward pass visits those alone. A linear layer's gradient with respect to its input and its update
are one visit to its weights, which are most of what a step reads and writes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deepmech.core.compiled import Floats, Ints, njit
from deepmech.trainers.engines.compiled.lenet_vectors import axpy, conv5_rows, dot_then_axpy, rows, zero_or_nan
from deepmech.trainers.engines.compiled.tiles import INSIDE, OPTIONS, aligned
from deepmech.trainers.run import check_cancelled

SIDE = 32
IMAGE = SIDE * SIDE + 16
"""Numbers from one channel of an image to the next; what is beyond its 1,024 pixels must be finite."""
MAPS_1, MAPS_2 = 6, 16
PATCH = 8
"""Room for the six maps, or for the five taps of a row."""
ROW_1, ROW_2 = SIDE, 14
LONG_1, LONG_2 = 896, 144
"""Flattened maps before the maximum: 28 rows of 32, and 10 rows of 14, filled up to whole vectors."""
POOLED_1 = 208
"""One flattened map of 14×14, filled up to what the second convolution's last vector reads."""
FLAT, UNITS_3, UNITS_4 = 400, 120, 84
PADDED_4 = 88
"""UNITS_4 filled up to whole vectors."""
GROUP = 4


class Parameters(NamedTuple):
    """Weights and biases of the five layers, each flat.

    ``w1`` (map, channel, row, PATCH), ``w2`` (map, row, column, PATCH maps below), ``w3`` and ``w4`` (input, output),
    ``w5`` (class, PADDED_4). What only fills a vector up is zero or never read.
    """

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray
    w3: np.ndarray
    b3: np.ndarray
    w4: np.ndarray
    b4: np.ndarray
    w5: np.ndarray
    b5: np.ndarray


class Workspace(NamedTuple):
    """Work space of one network; the forward pass leaves in it what the backward pass reads.

    Maps before the maxima (``maps``), after them (``pool``; ``last``: the same with the maps of a pixel side by side),
    where the maxima came from (``chosen``), units (``h``), active inputs of a layer and their places (``v``, ``i``),
    derivatives with respect to layers' inputs (``d``, ``back1``) and to filters (``g``).
    """

    maps1: np.ndarray
    pool1: np.ndarray
    last1: np.ndarray
    chosen1: np.ndarray
    maps2: np.ndarray
    pool2: np.ndarray
    chosen2: np.ndarray
    h3: np.ndarray
    h4: np.ndarray
    v2: np.ndarray
    i2: np.ndarray
    v3: np.ndarray
    i3: np.ndarray
    d2: np.ndarray
    d3: np.ndarray
    d4: np.ndarray
    g1: np.ndarray
    g2: np.ndarray
    back1: np.ndarray


_conv_1 = conv5_rows(3, 32, ROW_1, (PATCH, 1))
_conv_2 = conv5_rows(4, 24, ROW_2, (5 * PATCH, PATCH))
_rows_3 = rows(GROUP, UNITS_3)
_rows_4 = rows(GROUP, PADDED_4)
_back_3 = dot_then_axpy(UNITS_3)
_back_4 = dot_then_axpy(PADDED_4)
_zero_or_nan = zero_or_nan(32)
_axpy_taps = axpy(PATCH)
_axpy_patch = axpy(5 * PATCH)


class Layout(NamedTuple):
    """How a layer's maps lie, as arrays: loops of a length that is known are unrolled, and take long to compile."""

    before: np.ndarray
    """Before the maxima: numbers in a map and in its rows, and the side of the map after them."""
    pooled: np.ndarray
    """After them, from one map to the next and from one pixel to the next; so ``turned`` and ``chosen``."""
    turned: np.ndarray
    chosen: np.ndarray


LAYOUT_1 = Layout(*map(np.array, ((LONG_1, ROW_1, 14), (POOLED_1, 1), (1, PATCH), (1, MAPS_1))))
LAYOUT_2 = Layout(*map(np.array, ((LONG_2, ROW_2, 5), (25, 1), (25, 1), (25, 1))))


@njit(**INSIDE)
def _overflow(maps: Floats, layout: Layout) -> Any:
    """0 if maxima and ReLU lose nothing of these maps, else nan: where an entry is +inf or nan."""
    stride, row, side = layout.before[0], layout.before[1], 2 * layout.before[2]
    result = _zero_or_nan(maps, maps.shape[0] // 32)
    if result == 0:
        return result
    # Looked at closely only now: -inf is rightly cut off, and what is beyond the end of a row is no entry.
    for o in range(maps.shape[0] // stride):
        for y in range(side):
            for x in range(side):
                if not maps[o * stride + y * row + x] < np.inf:
                    return result
    return maps.dtype.type(0)


@njit(**INSIDE)
def _pool(maps: Floats, layout: Layout, pooled: Floats, turned: Floats, chosen: Ints) -> None:
    """2×2 maxima above zero of flattened maps in ``pooled``, and so in ``turned``, and where they come from.

    ``chosen`` is the flat position in the map of the first of the largest entries, or -1 where none is positive.
    """
    stride, row, side = layout.before[0], layout.before[1], layout.before[2]
    T = maps.dtype.type
    for o in range(maps.shape[0] // stride):
        for y in range(side):
            for x in range(side):
                p = o * stride + 2 * y * row + 2 * x
                a, b, c, d = maps[p], maps[p + 1], maps[p + row], maps[p + row + 1]
                top, low = (b if b > a else a), (d if d > c else c)
                place, place_low = (1 if b > a else 0), (row + 1 if d > c else row)
                best = low if low > top else top
                place = place_low if low > top else place
                cell = y * side + x
                positive = best > T(0)
                value = best if positive else T(0)
                pooled[o * layout.pooled[0] + cell * layout.pooled[1]] = value
                turned[o * layout.turned[0] + cell * layout.turned[1]] = value
                chosen[o * layout.chosen[0] + cell * layout.chosen[1]] = 2 * y * row + 2 * x + place if positive else -1


@njit(**INSIDE)
def _active(a: Floats, values: Floats, index: Ints) -> int:
    """Positive entries of ``a`` and where they are; filled up with zeros to a whole group. Returns their number.

    What is not a number counts as positive, so that it gets through.
    """
    count = 0
    for i in range(a.shape[0]):
        values[count] = a[i]
        index[count] = i
        count += 0 if a[i] <= 0 else 1
    for i in range(count, count + GROUP):
        values[i] = 0
        index[i] = 0
    return count


@njit(**INSIDE)
def forward(image: Floats, p: Parameters, s: Workspace, logits: Floats) -> tuple[int, int]:
    """Logits of one image; leaves in ``s`` what the way back needs. Returns the numbers of active inputs.

    Logits are nan if a map is not finite before its maxima, as in torch: maxima alone would lose it.
    """
    channels = p.w1.shape[0] // (MAPS_1 * 5 * PATCH)
    # Lengths are read from arrays here: loops of a length that is known are unrolled, and take long to compile.
    maps, long = p.b1.shape[0], s.maps1.shape[0] // p.b1.shape[0]
    for o in range(maps):
        for i in range(long):
            s.maps1[o * long + i] = p.b1[o]
    for start in range(0, long, 32):
        for o in range(0, maps, 3):
            for c in range(channels):
                _conv_1(
                    s.maps1, o * LONG_1 + start, LONG_1, image, c * IMAGE + start,
                    p.w1, (o * channels + c) * 5 * PATCH, channels * 5 * PATCH,
                )  # fmt: skip
    _pool(s.maps1, LAYOUT_1, s.pool1, s.last1, s.chosen1)
    below, maps, long = maps, p.b2.shape[0], s.maps2.shape[0] // p.b2.shape[0]
    for o in range(maps):
        for i in range(long):
            s.maps2[o * long + i] = p.b2[o]
    for o in range(0, maps, 4):
        for start in range(0, long, 24):
            for c in range(below):
                _conv_2(
                    s.maps2, o * LONG_2 + start, LONG_2, s.pool1, c * POOLED_1 + start,
                    p.w2, o * 25 * PATCH + c, 25 * PATCH,
                )  # fmt: skip
    _pool(s.maps2, LAYOUT_2, s.pool2, s.pool2, s.chosen2)
    overflow = _overflow(s.maps1, LAYOUT_1) + _overflow(s.maps2, LAYOUT_2)
    n2 = _active(s.pool2, s.v2, s.i2)
    for i in range(s.h3.shape[0]):
        s.h3[i] = p.b3[i]
    for i in range(0, n2, GROUP):
        _rows_3(s.h3, s.v2, s.i2, i, p.w3)
    n3 = _active(s.h3, s.v3, s.i3)
    for i in range(s.h4.shape[0]):
        s.h4[i] = p.b4[i]
    for i in range(0, n3, GROUP):
        _rows_4(s.h4, s.v3, s.i3, i, p.w4)
    for k in range(logits.shape[0]):
        total = p.b5[k]
        for i in range(UNITS_4):
            if not s.h4[i] <= 0:
                total += p.w5[k * PADDED_4 + i] * s.h4[i]
        logits[k] = total if overflow == 0 else overflow
    return n2, n3


@njit(**INSIDE)
def softmax(logits: Floats, label: int, out: Floats) -> float:
    """``out`` = probabilities; returns the cross-entropy of ``label``."""
    top = logits[0]
    for k in range(logits.shape[0]):
        top = max(top, logits[k])
    total = 0.0
    for k in range(logits.shape[0]):
        out[k] = np.exp(np.float64(logits[k] - top))
        total += out[k]
    for k in range(logits.shape[0]):
        out[k] /= total
    return np.log(total) - np.float64(logits[label] - top)


@njit(**INSIDE)
def descend(
    image: Floats, label: int, rate: float, p: Parameters, s: Workspace, n2: int, n3: int, n_classes: int, probs: Floats
) -> None:
    """One step of gradient descent on one image, after :func:`forward`; ``probs`` are the classes' probabilities."""
    T = image.dtype.type
    minus = T(-rate)
    # Last layer: gradient with respect to its input before its own update.
    for i in range(UNITS_4):
        total = T(0)
        if not s.h4[i] <= 0:
            for k in range(n_classes):
                g = T(probs[k] - (1.0 if k == label else 0.0))
                total += p.w5[k * PADDED_4 + i] * g
                p.w5[k * PADDED_4 + i] += minus * g * s.h4[i]
        s.d4[i] = total
        p.b4[i] += minus * total
    for k in range(n_classes):
        p.b5[k] += minus * T(probs[k] - (1.0 if k == label else 0.0))
    for i in range(s.d3.shape[0]):
        s.d3[i] = 0
    for i in range(n3):
        j = s.i3[i]
        s.d3[j] = _back_4(p.w4, j * PADDED_4, s.d4, minus * s.v3[i])
        p.b3[j] += minus * s.d3[j]
    for i in range(n2):
        s.d2[i] = _back_3(p.w3, s.i2[i] * UNITS_3, s.d3, minus * s.v2[i])
    # Second convolution: s.d2[i] belongs to flat unit s.i2[i].
    for i in range(s.g2.shape[0]):
        s.g2[i] = 0
    for i in range(s.back1.shape[0]):
        s.back1[i] = 0
    for i in range(n2):
        unit = s.i2[i]
        o = unit // 25
        at = s.chosen2[unit] * PATCH
        g = s.d2[i]
        p.b2[o] += minus * g
        for a in range(5):
            _axpy_patch(s.g2, (o * 5 + a) * 5 * PATCH, s.last1, at + a * ROW_2 * PATCH, g)
            _axpy_patch(s.back1, at + a * ROW_2 * PATCH, p.w2, (o * 5 + a) * 5 * PATCH, g)
    for i in range(p.w2.shape[0]):
        p.w2[i] += minus * s.g2[i]
    # First convolution.
    channels = p.w1.shape[0] // (MAPS_1 * 5 * PATCH)
    for i in range(s.g1.shape[0]):
        s.g1[i] = 0
    for cell in range(196):
        for o in range(MAPS_1):
            at = s.chosen1[cell * MAPS_1 + o]
            g = s.back1[cell * PATCH + o]
            if at >= 0 and g != 0:
                p.b1[o] += minus * g
                for c in range(channels):
                    for a in range(5):
                        _axpy_taps(s.g1, ((o * channels + c) * 5 + a) * PATCH, image, c * IMAGE + at + a * ROW_1, g)
    for i in range(p.w1.shape[0]):
        p.w1[i] += minus * s.g1[i]


@njit(**OPTIONS)
def trial(
    images: Floats, labels: Ints, order: Ints, learns: bool, rate: float, p: Parameters, s: Workspace, record: Floats,
    losses: Floats, logits: Floats, probs: Floats,
) -> None:  # fmt: skip
    """Logits and loss of one sample of ``order`` after another, in ``record`` and ``losses``; if it ``learns``, train
    on each after that, until a loss is not finite, from which no step is taken.

    ``logits`` and ``probs`` are room for as many numbers as there are classes.
    """
    classes = record.shape[1]
    for m in range(order.shape[0]):
        image, label = images[order[m]], labels[order[m]]
        n2, n3 = forward(image, p, s, logits)
        cost = softmax(logits, label, probs)
        losses[m] = cost
        for k in range(classes):
            record[m, k] = logits[k]
        if learns and np.isfinite(cost):
            descend(image, label, rate, p, s, n2, n3, classes, probs)
        elif learns:
            return


PIECE = 10_000
"""Iterations after which an interrupt is looked for."""


def padded(x: np.ndarray, n_channels: int, dtype: str) -> np.ndarray:
    """Images (n, channels · 1024) with the room behind every channel that the convolution reads over."""
    out = aligned(len(x) * n_channels * IMAGE, dtype).reshape(len(x), n_channels, IMAGE)
    out[:, :, :1024] = np.asarray(x).reshape(len(x), n_channels, 1024)
    return out.reshape(len(x), -1)


class CompiledLeNet:
    """Trains one network by single-sample gradient descent."""

    def __init__(self, weights: list[tuple[np.ndarray, np.ndarray]], learning_rate: float, dtype: str) -> None:
        self.rate, self.dtype = float(learning_rate), dtype
        self.n_channels, self.n_classes = weights[0][0].shape[1], len(weights[-1][1])
        k = self.n_classes
        filters_1, filters_2 = MAPS_1 * self.n_channels * 5 * PATCH, MAPS_2 * 25 * PATCH
        sizes = {
            "w1": filters_1, "b1": MAPS_1, "w2": filters_2, "b2": MAPS_2, "w3": FLAT * UNITS_3, "b3": UNITS_3,
            "w4": UNITS_3 * PADDED_4, "b4": PADDED_4, "w5": k * PADDED_4, "b5": k,
        }  # fmt: skip
        self.parameters = Parameters(**{name: aligned(n, dtype) for name, n in sizes.items()})
        views = self._views()
        for (weight, bias), (own, own_bias) in zip(weights, views, strict=True):
            own[...] = weight
            own_bias[...] = bias
        sizes = {
            "maps1": MAPS_1 * LONG_1, "pool1": MAPS_1 * POOLED_1, "last1": 196 * PATCH,
            "maps2": MAPS_2 * LONG_2, "pool2": FLAT, "h3": UNITS_3, "h4": PADDED_4, "v2": FLAT + GROUP,
            "v3": UNITS_3 + GROUP, "d2": FLAT, "d3": UNITS_3, "d4": PADDED_4, "g1": filters_1, "g2": filters_2,
            "back1": 196 * PATCH,
        }  # fmt: skip
        places = {"i2": np.zeros(FLAT + GROUP, np.int64), "i3": np.zeros(UNITS_3 + GROUP, np.int64)}
        places |= {"chosen1": np.zeros(196 * MAPS_1, np.int32), "chosen2": np.zeros(FLAT, np.int32)}
        self.space = Workspace(**places, **{name: aligned(n, dtype) for name, n in sizes.items()})

    def _views(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Every layer's (weight, bias) in torch's shapes, as views of the kernel's arrays."""
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = self.parameters
        return [
            (w1.reshape(MAPS_1, self.n_channels, 5, PATCH)[..., :5], b1),
            (w2.reshape(MAPS_2, 5, 5, PATCH)[..., :MAPS_1].transpose(0, 3, 1, 2), b2),
            (w3.reshape(FLAT, UNITS_3).T, b3),
            (w4.reshape(UNITS_3, PADDED_4)[:, :UNITS_4].T, b4[:UNITS_4]),
            (w5.reshape(self.n_classes, PADDED_4)[:, :UNITS_4], b5),
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

        After the first loss that is not finite no step is taken, and they are nan.
        """
        n, (x_val, y_val), everyone = len(order), validation, np.arange(len(validation[0]))
        logits, losses = np.full((n, self.n_classes), np.nan, self.dtype), np.full(n, np.nan)
        measured = np.full((len(at), 2), np.nan)
        cuts = sorted({*range(0, n, PIECE), *at.tolist(), n})
        for begin, end in zip(cuts, [*cuts[1:], n], strict=True):
            check_cancelled()
            if begin in at:
                outputs, costs = self._trial(x_val, y_val, everyone, learns=False)
                measured[at == begin] = sum(costs.tolist()) / len(y_val), np.mean(outputs.argmax(1) == y_val)
            here = slice(begin, end)
            logits[here], losses[here] = self._trial(x, y, order[here], learns=True)
            if not np.isfinite(losses[here]).all():
                break
        return logits, losses, measured

    def _trial(self, x: np.ndarray, y: np.ndarray, order: np.ndarray, learns: bool) -> tuple[np.ndarray, np.ndarray]:
        """What :func:`trial` finds."""
        k, n = self.n_classes, len(order)
        logits, losses = np.full((n, k), np.nan, self.dtype), np.full(n, np.nan)
        scratch = np.empty(k, self.dtype), np.empty(k)
        trial(x, y, order, learns, self.rate, self.parameters, self.space, logits, losses, *scratch)
        return logits, losses

    @property
    def finite(self) -> bool:
        """Whether all weights and biases are."""
        return all(bool(np.isfinite(a).all()) for a in self.parameters)

    def has_finite_outputs(self, images: np.ndarray, last: int) -> bool:
        """Whether all parameters are finite, and the logits of one of the images, :func:`padded`."""
        if not self.finite:
            return False
        logits, _ = self._trial(images, np.zeros(len(images), np.int64), np.array([last]), learns=False)
        return bool(np.isfinite(logits).all())
