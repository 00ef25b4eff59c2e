"""One training step of the convolutional network in one compiled call.

A layer works through blocks of samples, one in each lane of a vector (:mod:`.cnn_vectors`); what it makes of a block
stays in the nearest caches. Kept for the way back are a layer's outputs h before BatchNorm and, of every tile of 2×2
pixels, the one that pooling takes: LeakyReLU rises and so, but for the sign of its gain, does BatchNorm, so that
pooling may come first. Forward, this alone is read again. Without dropout the maps stay constant on tiles, and nothing
is ever computed for pixels but h.
"""

from __future__ import annotations

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import LOW, S32, philox
from deepmech.trainers.engines.compiled import cnn_vectors as vectors
from deepmech.trainers.engines.compiled.cnn_vectors import CONSTANTS, GAIN, LEVEL, MEAN, NEAR, SHIFT, SIGN, TILT
from deepmech.trainers.engines.compiled.mlp_passes import EPSILON, MOMENTUM, adam, cross_entropy, sgd, squared_error
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS

#: Blocks of which the last layer is computed at once.
TOGETHER = vectors.COLUMNS[0]
#: As plain integers: for every literal number numba would compile what it is given to once more.
NO, ONE = np.int64(0), np.int64(1)
#: What is called in one place is written there: a function of its own would be compiled twice.
WRITTEN = {"inline": "always", "error_model": "numpy"}


@njit(**INSIDE)
def _products(c, c0, c_row, c_column, a, a0, a_row, a_term, b, b0, b_column, b_term, terms, rows, columns, outer):
    """As :data:`.product_tile` or, if ``outer``, :data:`.outer_tile`, for any number of rows and columns."""
    v = 0
    while v < columns:
        width = 5 if columns - v >= 5 else 1
        r = 0
        while r < rows:
            left = rows - r
            height = 4 if left % 4 == 0 and left % 5 else 5 if left >= 5 else 1
            if outer:
                vectors.outer_tile(
                    c, c0 + r * c_row + v * c_column, c_row, c_column, a, a0 + r * a_row, a_row, a_term,
                    b, b0 + v * b_column, b_column, b_term, terms, height, width,
                )  # fmt: skip
            else:
                vectors.product_tile(
                    c, c0 + r * c_row + v * c_column, c_row, c_column, a, a0 + r * a_row, a_row, a_term,
                    b, b0 + v * b_column, b_column, b_term, terms, height, width,
                )  # fmt: skip
            r += height
        v += width


@njit(**WRITTEN)
def _masks(work, net, now, step, blocks, n, lanes):
    """Bit ``lane`` of keep[layer, block, place] is set where the sample in that lane keeps the number at that place."""
    size = 4 * net.high * net.wide * net.channels
    below = np.uint16(now.drop - 1)
    k0, k1, s0, s1 = now.key & LOW, now.key >> S32, step & LOW, step >> S32
    for layer in range(net.layers):
        purpose = now.purposes[layer]
        for block in range(blocks):
            at = (layer * blocks + block) * size
            keep = work.keep[at : at + size]
            keep[:] = 0
            for lane in range(min(lanes, n - block * lanes)):
                start = (block * lanes + lane) * size
                first = start // 8
                for i in range((start - 8 * first + size + 7) // 8):
                    drawn = philox(np.uint64(first + i), s0, s1, purpose, k0, k1)
                    work.words[4 * i] = drawn[0]
                    work.words[4 * i + 1] = drawn[1]
                    work.words[4 * i + 2] = drawn[2]
                    work.words[4 * i + 3] = drawn[3]
                own = work.halves[start - 8 * first : start - 8 * first + size]
                bit = np.uint16(1 << lane)
                for i in range(size):
                    keep[i] |= bit if own[i] > below else np.uint16(0)


@njit(**INSIDE)
def _bend(p, p0, k, k0, now, keep, keep0, high, wide, channels, x, x0, row, step, down, dropped):
    """The activation of one channel, with dropout that of every pixel, into x from x0 on.

    Rows of pixels are ``row`` apart, tiles ``step`` and ``down``.
    """
    lanes, keep_row = BYTES // p.itemsize, 2 * wide * channels
    for _ in range(high):
        for i in range(wide):
            if dropped:
                vectors.bend_pixels(
                    p, p0, k, k0, now, x, x0 + i * step, row, keep, keep0 + 2 * i * channels, keep_row, channels
                )
            else:
                vectors.bend_tile(p, p0, k, k0, now, x, x0 + i * step)
            p0 += lanes
        x0 += down
        keep0 += 2 * keep_row


@njit(**INSIDE)
def _unbend(
    p, p0, k, k0, now, keep, keep0, high, wide, channels, x, x0, row, step, down, dropped, d, d0, held, sums, c
):
    """The transpose of :func:`_bend`: ∂loss/∂z, in d, and its sums, for which ``held`` has two vectors."""
    lanes, keep_row = BYTES // p.itemsize, 2 * wide * channels
    held[:] = 0
    for _ in range(high):
        for i in range(wide):
            if dropped:
                vectors.unbend_pixels(
                    p, p0, k, k0, now, x, x0 + i * step, row, keep, keep0 + 2 * i * channels, keep_row, channels,
                    d, d0, held,
                )  # fmt: skip
            else:
                vectors.unbend_tile(p, p0, k, k0, now, x, x0 + i * step, d, d0, held)
            p0 += lanes
            d0 += lanes
        x0 += down
        keep0 += 2 * keep_row
    for i in range(lanes):
        sums[0, c] += held[i]
        sums[1, c] += held[lanes + i]


@njit(**INSIDE)
def _enter(v, plane, p, p0, k, k0, now, keep, keep0, high, wide, images, channels, x, x0, small, image, dropped):
    """The factors of a convolution of ``images`` images, or if none of what pooling took in the layer below.

    Maps, which have a border of zeros, are made at x0, of tiles at ``small``; images lie at ``image``.
    """
    lanes = BYTES // p.itemsize
    pixels = dropped or images > 0
    scale = 2 if pixels else 1
    row, step = (scale * wide + 2) * lanes, scale * lanes
    at = 0
    for c in range(images if images > 0 else channels):
        start = x0 if pixels else small
        if images > 0:
            start = image + c * (2 * high + 2) * row
        else:
            _bend(
                p, p0 + c * high * wide * lanes, k, k0 + c * CONSTANTS, now, keep, keep0 + c, high, wide, channels,
                x, start + row + lanes, row, step, scale * row, dropped,
            )  # fmt: skip
        for i in range(high):
            for j in range(wide):
                if pixels:
                    vectors.enter_pixels(v, at, plane, x, start + scale * i * row + j * step, row)
                else:
                    vectors.enter_tile(v, at, plane, x, start + i * row + j * step, row)
                at += lanes


@njit(**WRITTEN)
def _factors(work, net, layer):
    """What the 16 factors are multiplied with, from the weights of a layer."""
    size = net.channels * (net.images if layer == 0 else net.channels)
    for k in range(16):
        factors = work.u[(layer * 16 + k) * net.square :][:size]
        factors[:] = 0
        for tap in range(9):
            if net.filters[k, tap] != 0:
                weight = net.p[net.weight[layer] + tap * size :]
                for j in range(size):
                    factors[j] += net.filters[k, tap] * weight[j]


@njit(**WRITTEN)
def _forward(work, net, layer, blocks, n, dropped, lanes):
    """A layer's h, what pooling takes of it, and its moments."""
    tiles, channels = net.high * net.wide, net.channels
    below = net.images if layer == 0 else channels
    pixels = dropped or layer == 0
    planes = net.planes[:16] if pixels else net.planes[16:]
    own = work.k[layer * channels * CONSTANTS :]
    work.sums[:] = 0
    for c in range(channels):
        gain = net.p[net.gain[layer] + c]
        own[c * CONSTANTS + NEAR] = 0
        own[c * CONSTANTS + SIGN] = 1 if gain > 0 else -1 if gain < 0 else 0
    # The first block comes twice: its mean is what the moments are taken from, so that they lose no digits.
    for turn in range(-1, blocks):
        block = max(turn, 0)
        _enter(
            work.v, net.plane, work.p, ((layer - 1) * blocks + block) * channels * tiles * lanes, work.k,
            (layer - 1) * channels * CONSTANTS, work.now, work.keep,
            ((layer - 1) * blocks + block) * 4 * tiles * channels, net.high, net.wide,
            net.images if layer == 0 else NO, channels, work.x, NO, net.small,
            net.image + block * net.images * (2 * net.high + 2) * (2 * net.wide + 2) * lanes, dropped,
        )  # fmt: skip
        for plane in planes:
            _products(
                work.m, plane * net.plane, tiles * lanes, lanes, work.u, (layer * 16 + plane) * net.square, below, ONE,
                work.v, plane * net.plane, lanes, tiles * lanes, below, channels, tiles, False,
            )  # fmt: skip
        alive = min(lanes, n - block * lanes)
        live = 0 if alive == lanes else lanes
        for c in range(channels):
            place = ((layer * blocks + block) * channels + c) * tiles * lanes
            k = (layer * channels + c) * CONSTANTS
            if pixels:
                vectors.gather_pixels(
                    work.m, c * tiles * lanes, net.plane, work.h, 4 * place, work.p, place, tiles, work.k, k,
                    work.live, live, work.lanes,
                )  # fmt: skip
            else:
                vectors.gather_tile(
                    work.m, c * tiles * lanes, net.plane, work.h, 4 * place, work.p, place, tiles, work.k, k,
                    work.live, live, work.lanes,
                )  # fmt: skip
            total, square = 0.0, 0.0
            for i in range(lanes):
                total += work.lanes[i]
                square += work.lanes[lanes + i]
            if turn < 0:
                own[c * CONSTANTS + NEAR] = total / (4 * tiles * alive)
            else:
                work.sums[0, c] += total
                work.sums[1, c] += square
    count = 4 * tiles * n
    for c in range(channels):
        k = c * CONSTANTS
        apart = work.sums[0, c] / count
        spread = work.sums[1, c] / count - apart * apart
        # An infinite variance would make a channel constant, and a maximum would lose what is not a number.
        variance = 0.0 if spread <= 0.0 else spread if spread < np.inf else np.nan
        mean = own[k + NEAR] + apart
        gain = net.p[net.gain[layer] + c] / np.sqrt(variance + EPSILON)
        own[k + GAIN], own[k + MEAN], own[k + SHIFT] = gain, mean, net.p[net.shift[layer] + c] - mean * gain
        net.variance[layer, c] = variance
        net.running_mean[layer, c] += MOMENTUM * (mean + net.unlearnt[layer, c] - net.running_mean[layer, c])
        net.running_var[layer, c] += MOMENTUM * (variance * count / (count - 1) - net.running_var[layer, c])


@njit(**WRITTEN)
def _finish(work, net, layer, n):
    """Gradients of a layer's gains and shifts, and the constants of BatchNorm's gradient."""
    count = 4 * net.high * net.wide * n
    for c in range(net.channels):
        k = (layer * net.channels + c) * CONSTANTS
        inverse = 1 / np.sqrt(net.variance[layer, c] + EPSILON)
        gain = net.p[net.gain[layer] + c] * inverse
        net.g[net.shift[layer] + c] = work.sums[0, c]
        net.g[net.gain[layer] + c] = work.sums[1, c] * inverse
        # ∂loss/∂h = g (dz - mean(dz) - x̂ mean(dz x̂)) with x̂ = (h - mean) · inverse and g = γ · inverse.
        work.k[k + LEVEL] = gain * work.sums[0, c] / count
        work.k[k + TILT] = gain * inverse * inverse * work.sums[1, c] / count


@njit(**WRITTEN)
def _backward(work, net, layer, blocks, n, dropped, lanes):
    """The gradient of a layer's weights, and in the place of its ∂loss/∂z that of the layer below."""
    channels, tiles = net.channels, net.high * net.wide
    below = net.images if layer == 0 else channels
    pixels = dropped or layer == 0
    planes = net.planes[:16] if pixels else net.planes[16:]
    scale = 2 if pixels else 1
    row, step = (scale * net.wide + 2) * lanes, scale * lanes
    size = channels * below
    work.outer[: 16 * size * lanes] = 0
    work.sums[:] = 0
    for block in range(blocks):
        live = 0 if n - block * lanes >= lanes else lanes
        for c in range(channels):
            place = ((layer * blocks + block) * channels + c) * tiles * lanes
            d = (block * channels + c) * tiles * lanes
            k = (layer * channels + c) * CONSTANTS
            if pixels:
                vectors.scatter_pixels(
                    work.m, c * tiles * lanes, net.plane, work.h, 4 * place, work.d, d, tiles, work.k, k,
                    work.live, live,
                )  # fmt: skip
            else:
                vectors.scatter_tile(
                    work.m, c * tiles * lanes, net.plane, work.h, 4 * place, work.d, d, tiles, work.k, k,
                    work.live, live,
                )  # fmt: skip
        _enter(
            work.v, net.plane, work.p, ((layer - 1) * blocks + block) * channels * tiles * lanes, work.k,
            (layer - 1) * channels * CONSTANTS, work.now, work.keep,
            ((layer - 1) * blocks + block) * 4 * tiles * channels, net.high, net.wide,
            net.images if layer == 0 else NO, channels, work.x, NO, net.small,
            net.image + block * net.images * (2 * net.high + 2) * (2 * net.wide + 2) * lanes, dropped,
        )  # fmt: skip
        for plane in planes:
            _products(
                work.outer, plane * size * lanes, below * lanes, lanes, work.m, plane * net.plane, tiles * lanes, lanes,
                work.v, plane * net.plane, tiles * lanes, lanes, tiles, channels, below, True,
            )  # fmt: skip
            if layer > 0:
                _products(
                    work.v, plane * net.plane, tiles * lanes, lanes, work.u, (layer * 16 + plane) * net.square, ONE,
                    below, work.m, plane * net.plane, lanes, tiles * lanes, channels, below, tiles, False,
                )  # fmt: skip
        if layer > 0:
            at = 0
            for c in range(channels):
                work.back[: (scale * net.high + 2) * row] = 0
                for y in range(net.high):
                    for x in range(net.wide):
                        if pixels:
                            vectors.leave_pixels(work.v, at, net.plane, work.back, 2 * y * row + x * step, row)
                        else:
                            vectors.leave_tile(work.v, at, net.plane, work.back, y * row + x * step, row)
                        at += lanes
                _unbend(
                    work.p, (((layer - 1) * blocks + block) * channels + c) * tiles * lanes, work.k,
                    ((layer - 1) * channels + c) * CONSTANTS, work.now, work.keep,
                    ((layer - 1) * blocks + block) * 4 * tiles * channels + c, net.high, net.wide, channels,
                    work.back, row + lanes, row, step, scale * row, dropped,
                    work.d, (block * channels + c) * tiles * lanes, work.lanes, work.sums, c,
                )  # fmt: skip
    weight = net.g[net.weight[layer] : net.weight[layer] + 9 * size]
    weight[:] = 0
    for plane in planes:
        for j in range(size):
            total = weight[0] * 0
            for lane in range(lanes):
                total += work.outer[(plane * size + j) * lanes + lane]
            for tap in range(9):
                weight[tap * size + j] += net.filters[plane, tap] * total


@njit(**OPTIONS)
def run_step(work, net, data, index, step, now, learns):
    """One step on the batch that ``work`` holds; returns its summed loss, taken before the update.

    Leaves the gradient in ``net.g``; unless it ``learns``, parameters stay as they are.
    """
    n, T = index.shape[0], net.p.dtype.type
    lanes = BYTES // net.p.itemsize
    blocks = -(-n // lanes)
    tiles, channels, classes, last = net.high * net.wide, net.channels, net.classes, net.layers - 1
    dropped = now.drop > 0
    if dropped:
        _masks(work, net, now, np.uint64(step), blocks, n, lanes)
    for layer in range(net.layers):
        _factors(work, net, layer)
        _forward(work, net, layer, blocks, n, dropped, lanes)

    # The last layer multiplies every pixel or, where all of a tile are the same, the tile.
    head = net.p[net.head : net.bias]
    features, scale = head.shape[0] // classes, 4
    if not dropped:
        features, scale = features // 4, 1
        for i in range(classes * features):
            work.head[i] = head[4 * i] + head[4 * i + 1] + (head[4 * i + 2] + head[4 * i + 3])
        head = work.head
    step_x, down = scale * lanes, scale * net.wide * lanes
    logits, bias, loss = work.logits[:n], net.p[net.bias :], 0.0
    for group in range(0, blocks, TOGETHER):
        count = min(TOGETHER, blocks - group)
        for b in range(count):
            for c in range(channels):
                at = (b * channels + c) * net.high * down
                _bend(
                    work.p, ((last * blocks + group + b) * channels + c) * tiles * lanes, work.k,
                    (last * channels + c) * CONSTANTS, work.now, work.keep,
                    (last * blocks + group + b) * 4 * tiles * channels + c, net.high, net.wide, channels,
                    work.f, at, 2 * lanes, step_x, down, dropped,
                )  # fmt: skip
        _products(
            work.out, group * classes * lanes, lanes, classes * lanes, head, NO, features, ONE,
            work.f, NO, features * lanes, lanes, features, classes, count, False,
        )  # fmt: skip
    for i in range(n):
        for k in range(classes):
            logits[i, k] = work.out[((i // lanes) * classes + k) * lanes + i % lanes]
    if data.squared:
        loss = squared_error(logits, classes, bias, data.labels, data.targets, index, n)
    else:
        loss = cross_entropy(logits, classes, bias, data.labels, n)

    net.g[:] = 0
    work.out[: blocks * classes * lanes] = 0
    for i in range(n):
        for k in range(classes):
            work.out[((i // lanes) * classes + k) * lanes + i % lanes] = logits[i, k]
            net.g[net.bias + k] += logits[i, k]
    work.outer[: classes * features * lanes] = 0
    work.sums[:] = 0
    for group in range(0, blocks, TOGETHER):
        count = min(TOGETHER, blocks - group)
        for b in range(count):
            for c in range(channels):
                at = (b * channels + c) * net.high * down
                _bend(
                    work.p, ((last * blocks + group + b) * channels + c) * tiles * lanes, work.k,
                    (last * channels + c) * CONSTANTS, work.now, work.keep,
                    (last * blocks + group + b) * 4 * tiles * channels + c, net.high, net.wide, channels,
                    work.f, at, 2 * lanes, step_x, down, dropped,
                )  # fmt: skip
        out = group * classes * lanes
        _products(
            work.outer, NO, features * lanes, lanes, work.out, out, lanes, classes * lanes,
            work.f, NO, lanes, features * lanes, count, classes, features, True,
        )  # fmt: skip
        _products(
            work.f, NO, lanes, features * lanes, head, NO, ONE, features,
            work.out, out, classes * lanes, lanes, classes, features, count, False,
        )  # fmt: skip
        for b in range(count):
            for c in range(channels):
                at = (b * channels + c) * net.high * down
                _unbend(
                    work.p, ((last * blocks + group + b) * channels + c) * tiles * lanes, work.k,
                    (last * channels + c) * CONSTANTS, work.now, work.keep,
                    (last * blocks + group + b) * 4 * tiles * channels + c, net.high, net.wide, channels,
                    work.f, at, 2 * lanes, step_x, down, dropped,
                    work.d, ((group + b) * channels + c) * tiles * lanes, work.lanes, work.sums, c,
                )  # fmt: skip
    for i in range(classes * features):
        total = T(0)
        for lane in range(lanes):
            total += work.outer[i * lanes + lane]
        for pixel in range(4 // scale):
            net.g[net.head + 4 // scale * i + pixel] = total

    for layer in range(last, -1, -1):
        _finish(work, net, layer, n)
        _backward(work, net, layer, blocks, n, dropped, lanes)
    if learns and now.adam:
        adam(net.p, net.g, net.moments[0], net.moments[1], now.rate, step + 1)
    elif learns:
        sgd(net.p, net.g, net.moments[0], now.rate, now.momentum)
    # Sums are made in float64, but a loss beyond the working precision is none: so it is in the other engines.
    finite = np.isfinite(T(loss * (classes if data.squared else 1)))
    return loss if finite else np.inf
