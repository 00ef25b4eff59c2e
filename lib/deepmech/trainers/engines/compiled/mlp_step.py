"""One training step of a fully connected network, and a whole epoch of them, in one compiled call.

A step works through blocks of samples that stay in the nearest caches. Only the pre-activations h of each layer are
kept: forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and multiplied at once;
backward, the same is done again, which is cheaper than to fetch what was stored. Dropout is drawn once per step, as one
bit for each activation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import fill_normal
from deepmech.trainers.engines.compiled.mlp_passes import (
    BLOCK,
    EPSILON,
    activate,
    adam,
    add_moments,
    cross_entropy,
    derivative,
    draw,
    draw_mask,
    follow,
    moments,
    sgd,
    squared_error,
    standardise,
    through_norm,
)
from deepmech.trainers.engines.compiled.mlp_product import multiply, transpose, view
from deepmech.trainers.engines.compiled.tiles import INSIDE, OPTIONS

#: As plain integers: for every literal number numba would compile what it is given to once more.
NO, ONE = np.int64(0), np.int64(1)


@njit(**INSIDE)
def _add_noise(x, units, noise, words, normals, key, step, purpose):
    """x[i, j] += noise · normal number j n + i, for the first ``units`` columns."""
    n, T = x.shape[0], x.dtype.type
    count = n * units + (n * units) % 2
    draw(words, NO, (count + 3) // 4, key, step, purpose)
    fill_normal(normals[:count], words[:count])
    for i in range(n):
        for j in range(units):
            x[i, j] += T(normals[j * n + i]) * T(noise)


@njit(**INSIDE)
def _labels(labels, y, index, relabel, n_classes, words, key, step, kept, other):
    """The batch's labels, of which a share (``relabel``, in units of 2⁻¹⁶) is replaced by random ones."""
    n = index.shape[0]
    for i in range(n):
        labels[i] = y[index[i]]
    if relabel > 0:
        draw(words, NO, (n + 7) // 8, key, step, kept)
        for i in range(n):
            half = (words[i >> 1] >> np.uint32(16 * (i & 1))) & np.uint32(0xFFFF)
            labels[i] = labels[i] if half >= relabel else -1
        draw(words, NO, (n + 3) // 4, key, step, other)
        for i in range(n):
            if labels[i] < 0:
                labels[i] = int(np.floor((words[i] + 0.5) * 2.0**-32 * n_classes))


@njit(**INSIDE)
def _coefficients(c, gain, shift, mean, variance, units, normed):
    """The coefficients by which a block of h becomes activations: c0 h + c1, and the mean c2."""
    T = c.dtype.type
    for j in range(units):
        if normed:
            g = gain[j] / np.sqrt(variance[j] + EPSILON)
            c[0, j], c[1, j], c[2, j] = T(g), T(shift[j] - mean[j] * g), T(mean[j])
        else:
            c[0, j], c[1, j], c[2, j] = T(1), shift[j], T(0)


@njit(**INSIDE)
def _finish_layer(c, gain, d_gain, d_shift, variance, units, n, sums, normed, biased):
    """Gradients of gain and shift, and the coefficients of :func:`.through_norm`."""
    T = c.dtype.type
    for j in range(units):
        d_shift[j] = T(sums[0, j]) if normed or biased else T(0)
        if normed:
            inverse = 1 / np.sqrt(variance[j] + EPSILON)
            d_gain[j] = T(sums[1, j] * inverse)
            # ∂loss/∂h = g (dz - mean(dz) - x̂ mean(dz x̂)) with x̂ = (h - mean) · inverse and g = γ · inverse.
            g = gain[j] * inverse
            c[3, j], c[4, j] = T(g * sums[0, j] / n), T(g * inverse * inverse * sums[1, j] / n)


@njit(**INSIDE)
def _block(q, n, forward):
    """The samples of a pass's q-th block; none after the last."""
    block = q if forward else (n - 1) // BLOCK - q
    return min(n, max(0, block * BLOCK)), min(n, max(0, block * BLOCK + BLOCK))


@njit(**INSIDE)
def _scale_inputs(weight, product, gain, d_gain, units):
    """Gradients of the first weights and of the input's BatchNorm scale from P = x̂ᵀ · ∂loss/∂h.

    With a₀ = γ x̂ the chain rule gives ∂/∂W_kj = γ_k P_kj and ∂/∂γ_k = Σ_j W_kj P_kj: no third pass over the batch.
    """
    for k in range(weight.shape[0]):
        total = 0.0
        for j in range(units):
            total += weight[k, j] * product[k, j]
            product[k, j] *= gain[k]
        d_gain[k] = weight.dtype.type(total)


@njit(**OPTIONS)
def run_epoch(net, work, data, order, size, first_step, now, learns):
    """Steps over the samples in ``order``, ``size`` at a time; returns the mean loss, each taken before its update.

    Leaves the last batch's gradient in ``net.g``; unless it ``learns``, parameters stay as they are. One function with
    all that a step does: whatever is compiled on its own is compiled again wherever it is called.
    """
    last = net.units.shape[0] - 1
    T = net.p.dtype.type
    positive, negative = T(now.factor * net.scale), T(now.factor * net.scale * net.slope)
    dropped = now.drop > 0
    inputs, first = net.units[0], net.padded[1]
    partial: Any = view(work.partial, 0, 3, first)  # type: ignore[call-arg]
    sums: Any = view(work.sums, 0, 2, first)
    epoch_loss = 0.0
    for begin in range(0, order.shape[0], size):
        index = order[begin : begin + size]
        t = first_step + begin // size
        step = np.uint64(t)
        n = index.shape[0]
        blocks = (n + BLOCK - 1) // BLOCK

        # The batch with its noise, normalised but not yet scaled if there is BatchNorm; and its labels.
        x = work.x[:n]
        if now.noise != 0 or n != data.x.shape[0]:
            for i in range(n):
                for j in range(x.shape[1]):
                    x[i, j] = data.x[index[i], j]
            if now.noise > 0:
                _add_noise(x, inputs, now.noise, work.words, work.normals, now.key, step, now.purposes[0])
            if net.normed:
                wide = x.shape[1]
                standardise(
                    x, net.mean[0], net.variance[0], view(work.partial, 0, 3, wide), view(work.sums, 0, 2, wide)
                )
        if net.normed:
            mean, variance = net.mean[0, :inputs], net.variance[0, :inputs]
            follow(mean, variance, n, net.unlearnt[0], net.running_mean[0], net.running_var[0])
        if data.y.shape[0]:
            _labels(
                work.labels, data.y, index, now.relabel, data.n_classes, work.words, now.key, step,
                now.purposes[1], now.purposes[2],
            )  # fmt: skip

        first_weight = view(net.p, net.weight[1], inputs, first)
        if net.normed:
            # The scale of the input's BatchNorm is folded into the weights.
            for k in range(inputs):
                for j in range(first):
                    work.folded[k, j] = first_weight[k, j] * net.p[net.gain[0] + k]
            first_weight = work.folded

        forward = False
        for layer in range(1, last + 1):
            weight = view(net.p, net.weight[layer], net.units[layer - 1], net.padded[layer])
            if layer == 1:
                weight = first_weight
            if layer < last and dropped:
                draw_mask(
                    work.keep[layer - 1], net.units[layer], n, now.drop, now.key, step, now.purposes[2 + layer],
                    work.words,
                )  # fmt: skip
            # Every pass begins with the blocks that the one before it left in the cache.
            forward = not forward
            for q in range(blocks):
                start, stop = _block(q, n, forward)
                lower = x[start:stop]
                if layer > 1:
                    lower = work.lower[: stop - start]
                    activate(
                        work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], positive, negative,
                        work.keep[layer - 2], start, dropped,
                    )  # fmt: skip
                if layer == last:
                    multiply(
                        work.out[start:stop], lower, lower.shape[1], ONE, weight, net.units[layer - 1], NO, lower[:0]
                    )
                    continue
                h, (after, end) = work.h[layer - 1, start:stop], _block(q + 1, n, forward)
                below = net.units[layer - 1]
                multiply(h, lower, lower.shape[1], ONE, weight, below, NO, work.h[layer - 1, after:end])
                if net.normed:
                    add_moments(h, q == 0, partial, sums)
            if layer < last:
                units = net.units[layer]
                mean, variance = net.mean[layer], net.variance[layer]
                if net.normed:
                    moments(partial, sums, n, mean, variance)
                    follow(
                        mean[:units], variance[:units], n, net.unlearnt[layer], net.running_mean[layer],
                        net.running_var[layer],
                    )  # fmt: skip
                _coefficients(
                    work.coefficients[layer - 1], net.p[net.gain[layer] :], net.p[net.shift[layer] :], mean, variance,
                    units, net.normed,
                )  # fmt: skip

        loss, bias = 0.0, net.p[net.shift[last] :]
        if data.squared:
            loss = squared_error(work.out[:n], net.units[last], bias, work.labels, data.targets, index, n)
        else:
            loss = cross_entropy(work.out[:n], net.units[last], bias, work.labels, n)
        for i in range(net.g.shape[0]):
            net.g[i] = 0
        if net.bias:
            d_bias = net.g[net.shift[last] :]
            for i in range(n):
                for k in range(net.units[last]):
                    d_bias[k] += work.out[i, k]

        for layer in range(last, 0, -1):
            d_weight = view(net.g, net.weight[layer], net.units[layer - 1], net.padded[layer])
            turned = view(work.turned, 0, net.units[layer], net.padded[layer - 1])
            if layer > 1:
                weight = view(net.p, net.weight[layer], net.units[layer - 1], net.padded[layer])
                transpose(weight, turned, net.units[layer - 1])
            for j in range(first):
                sums[0, j] = sums[1, j] = 0
            forward = not forward
            for q in range(blocks):
                start, stop = _block(q, n, forward)
                after, end = _block(q + 1, n, forward)
                upper = work.out[start:stop]
                if layer < last:
                    upper = work.upper[: stop - start]
                    through_norm(work.d[start:stop], work.h[layer - 1, start:stop], upper, work.coefficients[layer - 1])
                lower = x[start:stop]
                if layer > 1:
                    lower = work.lower[: stop - start]
                    activate(
                        work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], positive, negative,
                        work.keep[layer - 2], start, dropped,
                    )  # fmt: skip
                multiply(d_weight, lower, ONE, lower.shape[1], upper, stop - start, ONE, work.d[after:end])
                if layer > 1:
                    d = work.d[start:stop]
                    ahead = work.h[layer - 2, after:end]
                    multiply(d, upper, upper.shape[1], ONE, turned, net.units[layer], NO, ahead)
                    derivative(
                        d, work.h[layer - 2, start:stop], work.coefficients[layer - 2], positive, negative,
                        work.keep[layer - 2], start, dropped, partial,
                    )  # fmt: skip
                    for j in range(first):
                        sums[0, j] += partial[0, j]
                        sums[1, j] += partial[1, j]
            if layer > 1:
                gain, shift = net.gain[layer - 1], net.shift[layer - 1]
                _finish_layer(
                    work.coefficients[layer - 2], net.p[gain:], net.g[gain:], net.g[shift:], net.variance[layer - 1],
                    net.units[layer - 1], n, sums, net.normed, net.bias,
                )  # fmt: skip
        if net.normed:
            gain = net.gain[0]
            first_weight, product = (
                view(net.p, net.weight[1], inputs, first), view(net.g, net.weight[1], inputs, first),
            )  # fmt: skip
            _scale_inputs(first_weight, product, net.p[gain:], net.g[gain:], net.units[1])
        # Sums are made in float64, but a loss beyond the working precision is none: so it is in the other engines.
        finite = np.isfinite(T(loss * (net.units[last] if data.squared else 1)))
        epoch_loss += (loss / n if finite else np.inf) * n
        if learns and now.adam:
            adam(net.p, net.g, net.moments[0], net.moments[1], now.rate, t + 1)
        elif learns:
            sgd(net.p, net.g, net.moments[0], now.rate, now.momentum)
    return epoch_loss / order.shape[0]
