"""One training step of a fully connected network, and many of them in one compiled call.

A step works through blocks of samples that stay in the nearest caches. Only the pre-activations h of each layer are
kept: forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and multiplied at once;
backward, the same is done again, which is cheaper than to fetch what was stored. Dropout is drawn once per step, as one
bit for each activation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.compiled import njit
from deepmech.trainers.engines.compiled.mlp_passes import (
    BLOCK,
    CENTRE,
    EPSILON,
    LEVEL,
    PLUS,
    TILT,
    TIMES,
    activate,
    adam,
    add_moments,
    cross_entropy,
    derivative,
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
def _coefficients(c, gain, shift, mean, variance, units, normed):
    """The coefficients by which a block of h becomes activations, and its mean."""
    T = c.dtype.type
    for j in range(units):
        if normed:
            g = gain[j] / np.sqrt(variance[j] + EPSILON)
            c[TIMES, j], c[PLUS, j], c[CENTRE, j] = T(g), T(shift[j] - mean[j] * g), T(mean[j])
        else:
            c[TIMES, j], c[PLUS, j], c[CENTRE, j] = T(1), shift[j], T(0)


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
            c[LEVEL, j], c[TILT, j] = T(g * sums[0, j] / n), T(g * inverse * inverse * sums[1, j] / n)


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


@njit(**INSIDE)
def _take(x, samples, index, normals, step, inputs, noise):
    """The samples of a batch, with their noise."""
    n, factor = x.shape[0], x.dtype.type(noise)
    for i in range(n):
        for j in range(x.shape[1]):
            x[i, j] = samples[index[i], j]
    if noise > 0:
        for i in range(n):
            for j in range(inputs):
                x[i, j] += x.dtype.type(normals[step, j * n + i]) * factor


@njit(**INSIDE)
def _fold(weight, folded, gain):
    """The scale of the input's BatchNorm folded into the first weights."""
    for k in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            folded[k, j] = weight[k, j] * gain[k]


@njit(**INSIDE)
def _loss(out, net, data, labels, index, last):
    """The loss of a batch, of which ``out`` becomes the derivative; the gradient is zero but for the last bias."""
    n, bias = out.shape[0], net.p[net.shift[last] :]
    if data.squared:
        loss = squared_error(out, net.units[last], bias, labels, data.targets, index, n)
    else:
        loss = cross_entropy(out, net.units[last], bias, labels, n)
    for i in range(net.g.shape[0]):
        net.g[i] = 0
    if net.bias:
        d_bias = net.g[net.shift[last] :]
        for i in range(n):
            for k in range(net.units[last]):
                d_bias[k] += out[i, k]
    return loss


@njit(**INSIDE)
def _learn(p, g, moments, adams, rate, momentum, t):
    if adams:
        adam(p, g, moments[0], moments[1], rate, t)
    else:
        sgd(p, g, moments[0], rate, momentum)


@njit(**OPTIONS)
def run_steps(net, work, data, steps, learns, total):
    """Steps of an epoch; returns ``total`` and the loss of every sample, taken before its step's update.

    Leaves the last batch's gradient in ``net.g``; unless it ``learns``, parameters stay as they are. One function with
    all that a step does: whatever is compiled on its own is compiled again wherever it is called.
    """
    last = net.units.shape[0] - 1
    T = net.p.dtype.type
    positive, negative = T(steps.factor * net.scale), T(steps.factor * net.scale * net.slope)
    dropped, size = steps.dropped, steps.size
    inputs, first = net.units[0], net.padded[1]
    partial: Any = view(work.partial, 0, 3, first)  # type: ignore[call-arg]
    sums: Any = view(work.sums, 0, 2, first)
    for begin in range(0, steps.order.shape[0], size):
        index, labels = steps.order[begin : begin + size], steps.labels[begin : begin + size]
        step = begin // size
        drawn = step if dropped else 0
        n = index.shape[0]
        blocks = (n + BLOCK - 1) // BLOCK

        # The batch with its noise, normalised but not yet scaled if there is BatchNorm.
        x = work.x[:n]
        if steps.noise != 0 or n != data.x.shape[0]:
            _take(x, data.x, index, work.normals, step, inputs, steps.noise)
            if net.normed:
                wide = x.shape[1]
                standardise(
                    x, net.mean[0], net.variance[0], view(work.partial, 0, 3, wide), view(work.sums, 0, 2, wide)
                )
        if net.normed:
            mean, variance = net.mean[0, :inputs], net.variance[0, :inputs]
            follow(mean, variance, n, net.unlearnt[0], net.running_mean[0], net.running_var[0])
        first_weight = view(net.p, net.weight[1], inputs, first)
        if net.normed:
            _fold(first_weight, work.folded, net.p[net.gain[0] :])
            first_weight = work.folded

        forward = False
        for layer in range(1, last + 1):
            weight = view(net.p, net.weight[layer], net.units[layer - 1], net.padded[layer])
            if layer == 1:
                weight = first_weight
            # Every pass begins with the blocks that the one before it left in the cache.
            forward = not forward
            for q in range(blocks):
                start, stop = _block(q, n, forward)
                lower = x[start:stop]
                if layer > 1:
                    lower = work.lower[: stop - start]
                    activate(
                        work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], positive, negative,
                        work.keep[drawn, layer - 2], start, dropped,
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

        loss = _loss(work.out[:n], net, data, labels, index, last)
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
                        work.keep[drawn, layer - 2], start, dropped,
                    )  # fmt: skip
                multiply(d_weight, lower, ONE, lower.shape[1], upper, stop - start, ONE, work.d[after:end])
                if layer > 1:
                    d = work.d[start:stop]
                    ahead = work.h[layer - 2, after:end]
                    multiply(d, upper, upper.shape[1], ONE, turned, net.units[layer], NO, ahead)
                    derivative(
                        d, work.h[layer - 2, start:stop], work.coefficients[layer - 2], positive, negative,
                        work.keep[drawn, layer - 2], start, dropped, partial,
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
        total += (loss / n if finite else np.inf) * n
        if learns and steps.kept != 1:
            kept = T(steps.kept)
            for i in range(net.p.shape[0]):
                net.p[i] *= kept
        if learns:
            _learn(net.p, net.g, net.moments, steps.adam, steps.rate, steps.momentum, steps.first + step + 1)
    return total
