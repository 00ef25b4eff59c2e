"""One training step of the convolutional network in one compiled call.

A layer works through blocks of samples, one in each lane of a vector (:mod:`.cnn_vectors`); what it makes of a block
stays in the nearest caches. Kept for the way back are a layer's outputs h before BatchNorm and, of every tile of 2×2
pixels, the one that pooling takes: LeakyReLU rises and so, but for the sign of its gain, does BatchNorm, so that pooling
may come first. Forward, this alone is read again. Without dropout the maps stay constant on tiles, and nothing is ever
computed for pixels but h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import LOW, S32, philox
from deepmech.trainers.engines.compiled import cnn_vectors as vectors
from deepmech.trainers.engines.compiled.mlp_passes import EPSILON, MOMENTUM, adam, cross_entropy, sgd, squared_error
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS

#: Blocks of which the last layer is computed at once.
TOGETHER = vectors.MOST
CONSTANTS, MOST = vectors.CONSTANTS, vectors.MOST
GAIN, SHIFT, MEAN, LEVEL = vectors.GAIN, vectors.SHIFT, vectors.MEAN, vectors.LEVEL
TILT, SIGN, NEAR = vectors.TILT, vectors.SIGN, vectors.NEAR


@njit(**INSIDE)
def _products(c, c0, c_row, c_column, a, a0, a_row, a_term, b, b0, b_column, b_term, terms, rows, columns):
    """As :data:`.product_tile`, for any number of rows and columns."""
    high, wide = -(-rows // MOST), -(-columns // MOST)
    for j in range(wide):
        v, width = columns * j // wide, columns * (j + 1) // wide - columns * j // wide
        for i in range(high):
            r, height = rows * i // high, rows * (i + 1) // high - rows * i // high
            vectors.product_tile(
                c, c0 + r * c_row + v * c_column, c_row, c_column, a, a0 + r * a_row, a_row, a_term,
                b, b0 + v * b_column, b_column, b_term, terms, height, width,
            )  # fmt: skip


@njit(**INSIDE)
def _outer(c, c0, c_row, c_column, a, a0, a_row, a_term, b, b0, b_column, b_term, terms, rows, columns):
    """As :data:`.outer_tile`, for any number of rows and columns."""
    high, wide = -(-rows // MOST), -(-columns // MOST)
    for j in range(wide):
        v, width = columns * j // wide, columns * (j + 1) // wide - columns * j // wide
        for i in range(high):
            r, height = rows * i // high, rows * (i + 1) // high - rows * i // high
            vectors.outer_tile(
                c, c0 + r * c_row + v * c_column, c_row, c_column, a, a0 + r * a_row, a_row, a_term,
                b, b0 + v * b_column, b_column, b_term, terms, height, width,
            )  # fmt: skip


@njit(**INSIDE)
def _masks(work, net, now, step, blocks, n, lanes):
    """Bit ``lane`` of keep[layer, block, place] is set where the sample in that lane keeps the number at that place."""
    size = 4 * net.high * net.wide * net.channels
    below = np.uint16(now.drop - 1)
    k0, k1, s0, s1 = now.key & LOW, now.key >> S32, step & LOW, step >> S32
    halves = work.words.view(np.uint16)
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
                own = halves[start - 8 * first : start - 8 * first + size]
                bit = np.uint16(1 << lane)
                for i in range(size):
                    keep[i] |= bit if own[i] > below else np.uint16(0)


@njit(**INSIDE)
def _enter(work, net, layer, block, blocks, dropped, lanes):
    """The factors of a layer's convolution, from the image or from what pooling took in the layer below."""
    high, wide, channels = net.high, net.wide, net.channels
    tiles = high * wide
    row, step = (2 * wide + 2) * lanes, 2 * lanes
    if layer == 0:
        for c in range(net.images):
            image = (block * net.images + c) * (2 * high + 2) * row
            for t in range(tiles):
                y, x = t // wide, t % wide
                vectors.enter_pixels(
                    work.v, (c * tiles + t) * lanes, net.plane, work.x, image + 2 * y * row + x * step, row
                )
        return
    for c in range(channels):
        p = (((layer - 1) * blocks + block) * channels + c) * tiles * lanes
        k = ((layer - 1) * channels + c) * CONSTANTS
        if dropped:
            keep = ((layer - 1) * blocks + block) * 4 * tiles * channels + c
            keep_row = 2 * wide * channels
            for t in range(tiles):
                y, x = t // wide, t % wide
                vectors.bend_pixels(
                    work.p, p + t * lanes, work.k, k, work.now, work.map, (2 * y + 1) * row + x * step + lanes, row,
                    work.keep, keep + 2 * y * keep_row + 2 * x * channels, keep_row, channels,
                )  # fmt: skip
            for t in range(tiles):
                y, x = t // wide, t % wide
                vectors.enter_pixels(
                    work.v, (c * tiles + t) * lanes, net.plane, work.map, 2 * y * row + x * step, row
                )
        else:
            short = (wide + 2) * lanes
            for t in range(tiles):
                y, x = t // wide, t % wide
                vectors.bend_tile(
                    work.p, p + t * lanes, work.k, k, work.now, work.small, (y + 1) * short + (x + 1) * lanes
                )
            for t in range(tiles):
                y, x = t // wide, t % wide
                vectors.enter_tile(
                    work.v, (c * tiles + t) * lanes, net.plane, work.small, y * short + x * lanes, short
                )


@njit(**INSIDE)
def _features(work, net, group, count, blocks, dropped, lanes):
    """What the last layer multiplies for ``count`` blocks from ``group`` on: a number for every pixel, or every tile."""
    high, wide, channels, layer = net.high, net.wide, net.channels, net.layers - 1
    tiles = high * wide
    keep_row = 2 * wide * channels
    for b in range(count):
        for c in range(channels):
            p = ((layer * blocks + group + b) * channels + c) * tiles * lanes
            keep = (layer * blocks + group + b) * 4 * tiles * channels + c
            k = (layer * channels + c) * CONSTANTS
            for t in range(tiles):
                y, x, place = t // wide, t % wide, ((b * channels + c) * tiles + t) * lanes
                if dropped:
                    vectors.bend_pixels(
                        work.p, p + t * lanes, work.k, k, work.now, work.f, 4 * place, 2 * lanes,
                        work.keep, keep + 2 * y * keep_row + 2 * x * channels, keep_row, channels,
                    )  # fmt: skip
                else:
                    vectors.bend_tile(work.p, p + t * lanes, work.k, k, work.now, work.f, place)


@njit(**INSIDE)
def _forward(work, net, layer, blocks, n, dropped, lanes):
    """A layer's h, what pooling takes of it, and its moments."""
    tiles, channels = net.high * net.wide, net.channels
    below = net.images if layer == 0 else channels
    pixels = dropped or layer == 0
    planes = net.planes[:16] if pixels else net.planes[16:]
    own = work.k[layer * channels * CONSTANTS :]
    sums = work.sums
    sums[:] = 0
    for c in range(channels):
        gain = net.p[net.gain[layer] + c]
        own[c * CONSTANTS + NEAR] = 0
        own[c * CONSTANTS + SIGN] = 1 if gain > 0 else -1 if gain < 0 else 0
    # The first block comes twice: its mean is what the moments are taken from, so that they lose no digits.
    for turn in range(-1, blocks):
        block = max(turn, 0)
        _enter(work, net, layer, block, blocks, dropped, lanes)
        for i in range(planes.shape[0]):
            plane = planes[i] * net.plane
            _products(
                work.m, plane, tiles * lanes, lanes, work.u, (layer * 16 + planes[i]) * net.square, below, 1,
                work.v, plane, lanes, tiles * lanes, below, channels, tiles,
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
                sums[0, c] += total
                sums[1, c] += square
    count = 4 * tiles * n
    for c in range(channels):
        k = c * CONSTANTS
        apart = sums[0, c] / count
        spread = sums[1, c] / count - apart * apart
        # An infinite variance would make a channel constant, and a maximum would lose what is not a number.
        variance = 0.0 if spread <= 0.0 else spread if spread < np.inf else np.nan
        mean = own[k + NEAR] + apart
        gain = net.p[net.gain[layer] + c] / np.sqrt(variance + EPSILON)
        own[k + GAIN], own[k + MEAN], own[k + SHIFT] = gain, mean, net.p[net.shift[layer] + c] - mean * gain
        net.variance[layer, c] = variance
        net.running_mean[layer, c] += MOMENTUM * (mean + net.unlearnt[layer, c] - net.running_mean[layer, c])
        net.running_var[layer, c] += MOMENTUM * (variance * count / (count - 1) - net.running_var[layer, c])


@njit(**INSIDE)
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


@njit(**INSIDE)
def _add(work, c, lanes):
    for i in range(lanes):
        work.sums[0, c] += work.lanes[i]
        work.sums[1, c] += work.lanes[lanes + i]


@njit(**INSIDE)
def _backward(work, net, layer, blocks, n, dropped, lanes):
    """The gradient of a layer's weights, and in the place of its ∂loss/∂z that of the layer below."""
    high, wide, channels = net.high, net.wide, net.channels
    tiles = high * wide
    below = net.images if layer == 0 else channels
    pixels = dropped or layer == 0
    planes = net.planes[:16] if pixels else net.planes[16:]
    work.outer[: 16 * channels * below * lanes] = 0
    work.sums[:] = 0
    row, short = (2 * wide + 2) * lanes, (wide + 2) * lanes
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
        _enter(work, net, layer, block, blocks, dropped, lanes)
        for i in range(planes.shape[0]):
            plane = planes[i] * net.plane
            _outer(
                work.outer, planes[i] * channels * below * lanes, below * lanes, lanes,
                work.m, plane, tiles * lanes, lanes, work.v, plane, tiles * lanes, lanes, tiles, channels, below,
            )  # fmt: skip
            if layer > 0:
                _products(
                    work.v, plane, tiles * lanes, lanes, work.u, (layer * 16 + planes[i]) * net.square, 1,
                    below, work.m, plane, lanes, tiles * lanes, channels, below, tiles,
                )  # fmt: skip
        if layer == 0:
            continue
        for c in range(channels):
            place = (((layer - 1) * blocks + block) * channels + c) * tiles * lanes
            d = (block * channels + c) * tiles * lanes
            k = ((layer - 1) * channels + c) * CONSTANTS
            keep = ((layer - 1) * blocks + block) * 4 * tiles * channels + c
            keep_row = 2 * wide * channels
            work.lanes[:] = 0
            if pixels:
                work.back[: (2 * high + 2) * row] = 0
            else:
                work.back[: (high + 2) * short] = 0
            for t in range(tiles):
                y, x, at = t // wide, t % wide, (c * tiles + t) * lanes
                if pixels:
                    vectors.leave_pixels(work.v, at, net.plane, work.back, 2 * y * row + 2 * x * lanes, row)
                else:
                    vectors.leave_tile(work.v, at, net.plane, work.back, y * short + x * lanes, short)
            for t in range(tiles):
                y, x = t // wide, t % wide
                if pixels:
                    vectors.unbend_pixels(
                        work.p, place + t * lanes, work.k, k, work.now, work.back,
                        (2 * y + 1) * row + (2 * x + 1) * lanes, row, work.keep,
                        keep + 2 * y * keep_row + 2 * x * channels, keep_row, channels, work.d, d + t * lanes,
                        work.lanes,
                    )  # fmt: skip
                else:
                    vectors.unbend_tile(
                        work.p, place + t * lanes, work.k, k, work.now, work.back,
                        (y + 1) * short + (x + 1) * lanes, work.d, d + t * lanes, work.lanes,
                    )  # fmt: skip
            _add(work, c, lanes)
    weight = net.g[net.weight[layer] : net.weight[layer] + 9 * channels * below]
    weight[:] = 0
    for i in range(planes.shape[0]):
        for j in range(channels * below):
            total = weight[0] * 0
            for lane in range(lanes):
                total += work.outer[(planes[i] * channels * below + j) * lanes + lane]
            for tap in range(9):
                weight[tap * channels * below + j] += net.filters[planes[i], tap] * total


@njit(**OPTIONS)
def run_step(work, net, data, index, step, now, learns):
    """One step on the batch that ``work`` holds; returns its summed loss, taken before the update.

    Leaves the gradient in ``net.g``; unless it ``learns``, parameters stay as they are.
    """
    n, T = index.shape[0], net.p.dtype.type
    lanes = BYTES // net.p.itemsize
    blocks = -(-n // lanes)
    tiles, channels, classes = net.high * net.wide, net.channels, net.classes
    dropped = now.drop > 0
    if dropped:
        _masks(work, net, now, np.uint64(step), blocks, n, lanes)
    for layer in range(net.layers):
        size = channels * (net.images if layer == 0 else channels)
        for k in range(16):
            factors = work.u[(layer * 16 + k) * net.square :][:size]
            factors[:] = 0
            for tap in range(9):
                if net.filters[k, tap] != 0:
                    weight = net.p[net.weight[layer] + tap * size :]
                    for j in range(size):
                        factors[j] += net.filters[k, tap] * weight[j]
        _forward(work, net, layer, blocks, n, dropped, lanes)

    head = net.p[net.head : net.head + classes * 4 * channels * tiles]
    features = (4 if dropped else 1) * channels * tiles
    if not dropped:
        for i in range(classes * features):
            work.head[i] = head[4 * i] + head[4 * i + 1] + (head[4 * i + 2] + head[4 * i + 3])
        head = work.head
    for group in range(0, blocks, TOGETHER):
        count = min(TOGETHER, blocks - group)
        _features(work, net, group, count, blocks, dropped, lanes)
        _products(
            work.out, group * classes * lanes, lanes, classes * lanes, head, 0, features, 1,
            work.f, 0, features * lanes, lanes, features, classes, count,
        )  # fmt: skip
    logits = work.logits[:n]
    for i in range(n):
        for k in range(classes):
            logits[i, k] = work.out[((i // lanes) * classes + k) * lanes + i % lanes]
    bias = net.p[net.bias :]
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
    last = net.layers - 1
    for group in range(0, blocks, TOGETHER):
        count = min(TOGETHER, blocks - group)
        _features(work, net, group, count, blocks, dropped, lanes)
        _outer(
            work.outer, 0, features * lanes, lanes, work.out, group * classes * lanes, lanes, classes * lanes,
            work.f, 0, lanes, features * lanes, count, classes, features,
        )  # fmt: skip
        _products(
            work.f, 0, lanes, features * lanes, head, 0, 1, features,
            work.out, group * classes * lanes, classes * lanes, lanes, classes, features, count,
        )  # fmt: skip
        for b in range(count):
            for c in range(channels):
                place = ((last * blocks + group + b) * channels + c) * tiles * lanes
                d = ((group + b) * channels + c) * tiles * lanes
                k = (last * channels + c) * CONSTANTS
                keep = (last * blocks + group + b) * 4 * tiles * channels + c
                keep_row = 2 * net.wide * channels
                work.lanes[:] = 0
                for t in range(tiles):
                    y, x, at = t // net.wide, t % net.wide, ((b * channels + c) * tiles + t) * lanes
                    if dropped:
                        vectors.unbend_pixels(
                            work.p, place + t * lanes, work.k, k, work.now, work.f, 4 * at, 2 * lanes, work.keep,
                            keep + 2 * y * keep_row + 2 * x * channels, keep_row, channels, work.d, d + t * lanes,
                            work.lanes,
                        )  # fmt: skip
                    else:
                        vectors.unbend_tile(
                            work.p, place + t * lanes, work.k, k, work.now, work.f, at, work.d, d + t * lanes,
                            work.lanes,
                        )  # fmt: skip
                _add(work, c, lanes)
    gradient = net.g[net.head :]
    for i in range(classes * features):
        total = T(0)
        for lane in range(lanes):
            total += work.outer[i * lanes + lane]
        if dropped:
            gradient[i] = total
        else:
            for pixel in range(4):
                gradient[4 * i + pixel] = total

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
