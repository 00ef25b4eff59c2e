"""One training step of a fully connected network, and a whole epoch of them, in one compiled call.

A step works through blocks of samples that stay in the nearest caches. Only the pre-activations h of each layer are
kept: forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and multiplied at once;
backward, the same is done again, which is cheaper than to fetch what was stored. Dropout is drawn once per step, as one
bit for each activation.
"""

from __future__ import annotations

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import fill_bits, fill_normal
from deepmech.trainers.fused_product import accumulate, multiply, transpose
from deepmech.trainers.kernels import (
    BLOCK,
    EPSILON,
    activate,
    adam,
    add_moments,
    cross_entropy,
    derivative,
    draw_mask,
    follow,
    moments,
    sgd,
    squared_error,
    standardise,
    through_norm,
)


@njit(nogil=True, cache=True, error_model="numpy")
def _matrix(flat, start, rows, columns):
    return flat[start : start + rows * columns].reshape(rows, columns)


@njit(nogil=True, cache=True, error_model="numpy")
def _inputs(net, work, data, index, step, now):
    """The batch with its noise, normalised but not yet scaled if there is BatchNorm; and its labels."""
    n, units = index.shape[0], net.units[0]
    x = work.x[:n]
    T = x.dtype.type
    whole = now.noise == 0 and n == data.x.shape[0]
    if not whole:
        for i in range(n):
            x[i] = data.x[index[i]]
        if now.noise > 0:
            count = n * units + (n * units) % 2
            fill_bits(work.words[:count], now.key, step, now.purposes[0])
            fill_normal(work.normals[:count], work.words[:count])
            for i in range(n):
                for j in range(units):
                    x[i, j] += T(work.normals[j * n + i]) * T(now.noise)
        if net.normed:
            partial, sums = _matrix(work.partial, 0, 3, x.shape[1]), _matrix(work.sums, 0, 2, x.shape[1])
            standardise(x, net.mean[0], net.variance[0], partial, sums)
    if net.normed:
        follow(net.mean[0, :units], net.variance[0, :units], n, net.still[0], net.running_mean[0], net.running_var[0])
    if data.y.shape[0]:
        for i in range(n):
            work.labels[i] = data.y[index[i]]
        if now.relabel > 0:
            fill_bits(work.words[: (n + 1) // 2], now.key, step, now.purposes[1])
            halves = work.words.view(np.uint16)
            for i in range(n):
                work.labels[i] = work.labels[i] if halves[i] >= now.relabel else -1
            fill_bits(work.words[:n], now.key, step, now.purposes[2])
            for i in range(n):
                if work.labels[i] < 0:
                    work.labels[i] = int(np.floor((work.words[i] + 0.5) * 2.0**-32 * data.n_classes))
    return x


@njit(nogil=True, cache=True, error_model="numpy")
def _prepare_layer(net, layer, n, c):
    """The coefficients by which a block of h becomes activations: c0 h + c1, and the mean c2."""
    T = net.p.dtype.type
    gain, shift = net.p[net.gain[layer] :], net.p[net.shift[layer] :]
    mean, variance = net.mean[layer], net.variance[layer]
    units = net.units[layer]
    if net.normed:
        follow(mean[:units], variance[:units], n, net.still[layer], net.running_mean[layer], net.running_var[layer])
    for j in range(units):
        if net.normed:
            g = gain[j] / np.sqrt(variance[j] + EPSILON)
            c[0, j], c[1, j], c[2, j] = T(g), T(shift[j] - mean[j] * g), T(mean[j])
        else:
            c[0, j], c[1, j], c[2, j] = T(1), shift[j], T(0)


@njit(nogil=True, cache=True, error_model="numpy")
def _finish_layer(net, layer, n, sums, c):
    """Gradients of gain and shift, and the coefficients of :func:`~deepmech.trainers.kernels.through_norm`."""
    T = net.p.dtype.type
    d_gain, d_shift = net.g[net.gain[layer] :], net.g[net.shift[layer] :]
    for j in range(net.units[layer]):
        d_shift[j] = T(sums[0, j]) if net.normed or net.bias else T(0)
        if net.normed:
            inverse = 1 / np.sqrt(net.variance[layer, j] + EPSILON)
            d_gain[j] = T(sums[1, j] * inverse)
            # ∂loss/∂h = g (dz - mean(dz) - x̂ mean(dz x̂)) with x̂ = (h - mean) · inverse and g = γ · inverse.
            g = net.p[net.gain[layer] + j] * inverse
            c[3, j], c[4, j] = T(g * sums[0, j] / n), T(g * inverse * inverse * sums[1, j] / n)


@njit(nogil=True, cache=True, error_model="numpy")
def _block(q, n, forward):
    """The samples of a pass's q-th block."""
    block = q if forward else (n - 1) // BLOCK - q
    return block * BLOCK, min(n, block * BLOCK + BLOCK)


@njit(nogil=True, cache=True, error_model="numpy")
def _ahead(rows, q, n, forward):
    """The rows of the block after the q-th; none after the last."""
    start, stop = _block(q + 1, n, forward)
    return rows[start:stop]


@njit(nogil=True, cache=True, error_model="numpy")
def _below(work, x, layer, start, stop, positive, negative, dropped):
    """What a block of samples brings to ``layer``: the inputs, or the activations of the layer below."""
    if layer == 1:
        return x[start:stop]
    lower, h, c = work.lower[: stop - start], work.h[layer - 2, start:stop], work.coefficients[layer - 2]
    activate(h, lower, c, positive, negative, work.keep[layer - 2], start, dropped)
    return lower


@njit(nogil=True, cache=True, error_model="numpy")
def gradient(net, work, data, index, step, now):
    """Mean loss of the batch ``index`` with the noise of ``step``; leaves its gradient in ``net.g``."""
    n, last = index.shape[0], net.units.shape[0] - 1
    T = net.p.dtype.type
    positive, negative = T(now.factor * net.scale), T(now.factor * net.scale * net.slope)
    dropped = now.drop > 0
    blocks = (n + BLOCK - 1) // BLOCK
    partial, sums = _matrix(work.partial, 0, 3, net.padded[1]), _matrix(work.sums, 0, 2, net.padded[1])
    x = _inputs(net, work, data, index, step, now)
    first_weight = _matrix(net.p, net.weight[1], net.units[0], net.padded[1])
    if net.normed:
        # The scale of the input's BatchNorm is folded into the weights.
        for k in range(net.units[0]):
            for j in range(net.padded[1]):
                work.folded[k, j] = first_weight[k, j] * net.p[net.gain[0] + k]
        first_weight = work.folded

    forward = False
    for layer in range(1, last + 1):
        weight = _matrix(net.p, net.weight[layer], net.units[layer - 1], net.padded[layer])
        if layer == 1:
            weight = first_weight
        if layer < last and dropped:
            purpose = np.uint64(now.purposes[2 + layer])
            draw_mask(work.keep[layer - 1], net.units[layer], n, now.drop, now.key, step, purpose, work.words)
        # Every pass begins with the blocks that the one before it left in the cache.
        forward = not forward
        for q in range(blocks):
            start, stop = _block(q, n, forward)
            lower = _below(work, x, layer, start, stop, positive, negative, dropped)
            if layer == last:
                multiply(work.out[start:stop], lower, weight, net.units[layer - 1], lower[:0])
                continue
            h = work.h[layer - 1, start:stop]
            multiply(h, lower, weight, net.units[layer - 1], _ahead(work.h[layer - 1], q, n, forward))
            if net.normed:
                add_moments(h, q == 0, partial, sums)
        if layer < last:
            if net.normed:
                moments(partial, sums, n, net.mean[layer], net.variance[layer])
            _prepare_layer(net, layer, n, work.coefficients[layer - 1])

    loss, bias = 0.0, net.p[net.shift[last] :]
    if data.squared:
        loss = squared_error(work.out[:n], net.units[last], bias, work.labels, data.targets, index, n)
    else:
        loss = cross_entropy(work.out[:n], net.units[last], bias, work.labels, n)
    net.g[:] = 0
    if net.bias:
        d_bias = net.g[net.shift[last] :]
        for i in range(n):
            for k in range(net.units[last]):
                d_bias[k] += work.out[i, k]

    for layer in range(last, 0, -1):
        d_weight = _matrix(net.g, net.weight[layer], net.units[layer - 1], net.padded[layer])
        turned = _matrix(work.turned, 0, net.units[layer], net.padded[layer - 1])
        if layer > 1:
            weight = _matrix(net.p, net.weight[layer], net.units[layer - 1], net.padded[layer])
            transpose(weight, turned, net.units[layer - 1])
        sums[:] = 0
        forward = not forward
        for q in range(blocks):
            start, stop = _block(q, n, forward)
            upper = work.out[start:stop]
            if layer < last:
                upper = work.upper[: stop - start]
                through_norm(work.d[start:stop], work.h[layer - 1, start:stop], upper, work.coefficients[layer - 1])
            lower = _below(work, x, layer, start, stop, positive, negative, dropped)
            accumulate(d_weight, lower, upper, _ahead(work.d, q, n, forward))
            if layer > 1:
                d = work.d[start:stop]
                multiply(d, upper, turned, net.units[layer], _ahead(work.h[layer - 2], q, n, forward))
                derivative(
                    d, work.h[layer - 2, start:stop], work.coefficients[layer - 2], positive, negative,
                    work.keep[layer - 2], start, dropped, partial,
                )  # fmt: skip
                for j in range(sums.shape[1]):
                    sums[0, j] += partial[0, j]
                    sums[1, j] += partial[1, j]
        if layer > 1:
            _finish_layer(net, layer - 1, n, sums, work.coefficients[layer - 2])
    if net.normed:
        _scale_inputs(net)
    # Sums are made in float64, but a loss beyond the working precision is none: so it is in the other engines.
    return loss / n if np.isfinite(T(loss * (net.units[last] if data.squared else 1))) else np.inf


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc"})
def _scale_inputs(net):
    """Gradients of the first weights and of the input's BatchNorm scale from P = x̂ᵀ · ∂loss/∂h.

    With a₀ = γ x̂ the chain rule gives ∂/∂W_kj = γ_k P_kj and ∂/∂γ_k = Σ_j W_kj P_kj: no third pass over the batch.
    """
    weight = _matrix(net.p, net.weight[1], net.units[0], net.padded[1])
    product = _matrix(net.g, net.weight[1], net.units[0], net.padded[1])
    for k in range(net.units[0]):
        total = 0.0
        for j in range(net.units[1]):
            total += weight[k, j] * product[k, j]
            product[k, j] *= net.p[net.gain[0] + k]
        net.g[net.gain[0] + k] = net.p.dtype.type(total)


@njit(nogil=True, cache=True, error_model="numpy")
def run_epoch(net, work, data, order, size, first_step, now):
    """Steps over the samples in ``order``, ``size`` at a time; returns the mean loss, each taken before its update."""
    total = 0.0
    for start in range(0, order.shape[0], size):
        index, step = order[start : start + size], first_step + start // size
        total += gradient(net, work, data, index, np.uint64(step), now) * index.shape[0]
        if now.adam:
            adam(net.p, net.g, net.moments[0], net.moments[1], now.rate, step + 1)
        else:
            sgd(net.p, net.g, net.moments[0], now.rate, now.momentum)
    return total / order.shape[0]
