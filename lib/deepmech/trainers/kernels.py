"""One training step of a fully connected network, and a whole epoch of them, compiled by numba.

Arrays are sample-major, shape (samples, padded units), so batch statistics are sums of rows and every pass runs along
vectors of units. A step works through *blocks* of samples that stay in the nearest caches. Only the pre-activations h
of each layer are kept: forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and
multiplied at once; backward, the same is done again, which is cheaper than to fetch what was stored. Dropout is drawn
once per step, as one bit for each activation.

Sums over the batch are taken in the working precision within a block and in float64 from block to block. Their order
depends on the shapes alone: a network's bits do not depend on what is trained beside it. Kernels release Python's lock
and work in float32 and float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from deepmech.core.philox import LOW, S32, fill_bits, fill_normal, philox
from deepmech.trainers.fused_product import accumulate, multiply, transpose

#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1
#: Samples of a block; a multiple of the 32 bits of a word.
BLOCK = 64


class Net(NamedTuple):
    """Parameters of one network, and where they lie; layer 0 is the input, the last one the output.

    ``p`` and ``g`` (parameters and gradient) hold for each layer gain, shift and, from layer 1, the weight with shape
    (units below, padded units). With BatchNorm gain and shift are γ and β, without it the shift is the bias.
    """

    units: np.ndarray
    padded: np.ndarray
    weight: np.ndarray
    gain: np.ndarray
    shift: np.ndarray
    p: np.ndarray
    g: np.ndarray
    moments: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    still: np.ndarray
    normed: bool
    bias: bool
    slope: float
    scale: float


class Work(NamedTuple):
    """Buffers for batches of up to a given number of samples."""

    x: np.ndarray
    h: np.ndarray
    d: np.ndarray
    out: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    keep: np.ndarray
    folded: np.ndarray
    turned: np.ndarray
    coefficients: np.ndarray
    partial: np.ndarray
    sums: np.ndarray
    labels: np.ndarray
    words: np.ndarray
    normals: np.ndarray


class Data(NamedTuple):
    """The training set, padded; of ``y`` and ``targets`` the one that the loss does not need is empty."""

    x: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    n_classes: int
    squared: bool


class Now(NamedTuple):
    """What holds during one epoch. Thresholds are probabilities in units of 2⁻¹⁶."""

    key: np.uint64
    purposes: np.ndarray
    drop: int
    factor: float
    noise: float
    relabel: int
    adam: bool
    rate: float
    momentum: float


@njit(nogil=True, cache=True)
def _matrix(flat, start, rows, columns):
    return flat[start : start + rows * columns].reshape(rows, columns)


@njit(nogil=True, cache=True)
def _draw(words, first, blocks, key, step, purpose):
    """The words of counters first … first + blocks - 1, as in deepmech.core.philox.fill_bits."""
    k0, k1 = key & LOW, key >> S32
    s0, s1 = step & LOW, step >> S32
    for i in range(blocks):
        a, b, c, d = philox(np.uint64(first + i), s0, s1, purpose, k0, k1)
        words[4 * i] = a
        words[4 * i + 1] = b
        words[4 * i + 2] = c
        words[4 * i + 3] = d


@njit(nogil=True, cache=True)
def draw_mask(keep, units, n, threshold, key, step, purpose, words):
    """Stream.keep of shape (units, n) as bits: bit i % 32 of keep[i // 32, j] is set where sample i keeps unit j."""
    below = np.uint16(threshold - 1)
    at_once = max(1, (2 * words.shape[0] - 16) // n)
    for j0 in range(0, units, at_once):
        j1 = min(units, j0 + at_once)
        first = (j0 * n) // 8
        offset = j0 * n - 8 * first
        _draw(words, first, (offset + (j1 - j0) * n + 7) // 8, key, step, purpose)
        halves = words.view(np.uint16)
        for j in range(j0, j1):
            start = offset + (j - j0) * n
            for group in range((n + 31) // 32):
                word = np.uint32(0)
                row = halves[start + 32 * group : start + min(n, 32 * group + 32)]
                for i in range(row.shape[0]):
                    word |= np.uint32(row[i] > below) << np.uint32(i)
                keep[group, j] = word


@njit(nogil=True, cache=True)
def _add_moments(block, first, s, sums):
    """Add Σ (x - c) and Σ (x - c)² of a block to ``sums``, where c, in s[2], is the mean of the first block.

    So near to the mean of all, the sums lose no digits, and one visit to each block is enough.
    """
    n, units = block.shape
    T = block.dtype.type
    if first:
        s[2] = 0
        for i in range(n):
            for j in range(units):
                s[2, j] += block[i, j] * T(1.0 / n)
        sums[:] = 0
    s[:2] = 0
    for i in range(0, n - 1, 2):
        for j in range(units):
            e, f = block[i, j] - s[2, j], block[i + 1, j] - s[2, j]
            s[0, j] += e + f
            s[1, j] += e * e + f * f
    for i in range(n - n % 2, n):
        for j in range(units):
            e = block[i, j] - s[2, j]
            s[0, j] += e
            s[1, j] += e * e
    for j in range(units):
        sums[0, j] += s[0, j]
        sums[1, j] += s[1, j]


@njit(nogil=True, cache=True)
def _moments(s, sums, n, mean, variance):
    """Mean and variance over all n samples, from the sums of their blocks."""
    for j in range(s.shape[1]):
        apart = sums[0, j] / n
        mean[j], variance[j] = s[2, j] + apart, max(0.0, sums[1, j] / n - apart * apart)


@njit(nogil=True, cache=True)
def follow(mean, variance, n, bias, running_mean, running_var):
    """Running statistics of BatchNorm: averages with weight 0.1, of the unbiased variance."""
    for j in range(mean.shape[0]):
        running_mean[j] += MOMENTUM * (mean[j] + bias[j] - running_mean[j])
        running_var[j] += MOMENTUM * (variance[j] * n / (n - 1) - running_var[j])


@njit(nogil=True, cache=True)
def standardise(x, mean, variance, s, sums):
    """BatchNorm of the inputs, without its scale, in place."""
    T = x.dtype.type
    for start in range(0, x.shape[0], BLOCK):
        _add_moments(x[start : start + BLOCK], start == 0, s, sums)
    _moments(s, sums, x.shape[0], mean, variance)
    for j in range(x.shape[1]):
        s[0, j] = T(mean[j])
        s[1, j] = T(1 / np.sqrt(variance[j] + EPSILON))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = (x[i, j] - s[0, j]) * s[1, j]


@njit(nogil=True, cache=True)
def _activate(h, out, c, positive, negative, keep, first, dropped):
    """out = LeakyReLU(c0 h + c1), with its two slopes, or 0 where dropped."""
    zero = h.dtype.type(0)
    for i in range(h.shape[0]):
        if dropped:
            bits, place = keep[(first + i) >> 5], np.uint32((first + i) & 31)
            for j in range(h.shape[1]):
                z = h[i, j] * c[0, j] + c[1, j]
                z = z * positive if z > zero else z * negative
                out[i, j] = z if (bits[j] >> place) & np.uint32(1) else zero
        else:
            for j in range(h.shape[1]):
                z = h[i, j] * c[0, j] + c[1, j]
                out[i, j] = z * positive if z > zero else z * negative


@njit(nogil=True, cache=True)
def _derivative(d, h, c, positive, negative, keep, first, dropped, s):
    """d := d · ∂a/∂z; s becomes Σ d and Σ d (h - mean) over the block."""
    zero = h.dtype.type(0)
    s[:2] = 0
    for i in range(h.shape[0]):
        if dropped:
            bits, place = keep[(first + i) >> 5], np.uint32((first + i) & 31)
            for j in range(h.shape[1]):
                x = h[i, j]
                dz = d[i, j] * (positive if x * c[0, j] + c[1, j] > zero else negative)
                dz = dz if (bits[j] >> place) & np.uint32(1) else zero
                d[i, j] = dz
                s[0, j] += dz
                s[1, j] += dz * (x - c[2, j])
        else:
            for j in range(h.shape[1]):
                x = h[i, j]
                dz = d[i, j] * (positive if x * c[0, j] + c[1, j] > zero else negative)
                d[i, j] = dz
                s[0, j] += dz
                s[1, j] += dz * (x - c[2, j])


@njit(nogil=True, cache=True)
def _through_norm(d, h, out, c):
    """out = ∂loss/∂h from d = ∂loss/∂z."""
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            out[i, j] = d[i, j] * c[0, j] - c[3, j] - (h[i, j] - c[2, j]) * c[4, j]


@njit(nogil=True, cache=True)
def cross_entropy(output, classes, bias, labels, n):
    """Sum of the cross-entropies of ``output + bias``; ``output`` becomes ∂loss/∂output of the mean over n samples."""
    T = output.dtype.type
    loss = 0.0
    for i in range(output.shape[0]):
        top = output[i, 0] + bias[0]
        for k in range(classes):
            output[i, k] += bias[k]
            top = max(top, output[i, k])
        total = 0.0
        own = np.float64(output[i, labels[i]] - top)
        for k in range(classes):
            output[i, k] = np.exp(output[i, k] - top)
            total += output[i, k]
        loss += np.log(total) - own
        for k in range(classes):
            p = output[i, k] / total
            output[i, k] = T((p - 1.0 if k == labels[i] else p) / n)
    return loss


@njit(nogil=True, cache=True)
def squared_error(output, units, bias, labels, targets, index, n):
    """As :func:`cross_entropy` for squared errors, averaged over the outputs; real targets if there are no classes."""
    T = output.dtype.type
    loss = 0.0
    for i in range(output.shape[0]):
        for k in range(units):
            wanted = targets[index[i], k] if targets.shape[0] else T(k == labels[i])
            error = np.float64(output[i, k] + bias[k] - wanted)
            loss += error * error / units
            output[i, k] = T(2 * error / (n * units))
    return loss


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _finish_layer(net, layer, n, sums, c):
    """Gradients of gain and shift, and the coefficients of :func:`_through_norm`."""
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


@njit(nogil=True, cache=True)
def _block(q, n, forward):
    """The samples of a pass's q-th block."""
    block = q if forward else (n - 1) // BLOCK - q
    return block * BLOCK, min(n, block * BLOCK + BLOCK)


@njit(nogil=True, cache=True)
def _below(net, work, x, layer, start, stop, positive, negative, dropped):
    """What a block of samples brings to ``layer``: the inputs, or the activations of the layer below."""
    if layer == 1:
        return x[start:stop]
    lower, h, c = work.lower[: stop - start], work.h[layer - 2, start:stop], work.coefficients[layer - 2]
    _activate(h, lower, c, positive, negative, work.keep[layer - 2], start, dropped)
    return lower


@njit(nogil=True, cache=True)
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
            lower = _below(net, work, x, layer, start, stop, positive, negative, dropped)
            if layer == last:
                multiply(work.out[start:stop], lower, weight, net.units[layer - 1])
                continue
            h = work.h[layer - 1, start:stop]
            multiply(h, lower, weight, net.units[layer - 1])
            if net.normed:
                _add_moments(h, q == 0, partial, sums)
        if layer < last:
            if net.normed:
                _moments(partial, sums, n, net.mean[layer], net.variance[layer])
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
                _through_norm(work.d[start:stop], work.h[layer - 1, start:stop], upper, work.coefficients[layer - 1])
            lower = _below(net, work, x, layer, start, stop, positive, negative, dropped)
            accumulate(d_weight, lower, upper)
            if layer > 1:
                d = work.d[start:stop]
                multiply(d, upper, turned, net.units[layer])
                _derivative(
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
    return loss / n


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def adam(p, g, first, second, rate, t):
    """One step of Adam with PyTorch's defaults over all parameters at once; t counts from 1."""
    T = p.dtype.type
    b1, b2, eps, one = T(0.9), T(0.999), T(1e-8), T(1)
    size, root = T(rate / (1 - 0.9**t)), T(1 / np.sqrt(1 - 0.999**t))
    for i in range(p.shape[0]):
        first[i] = b1 * first[i] + (one - b1) * g[i]
        second[i] = b2 * second[i] + (one - b2) * g[i] * g[i]
        p[i] -= size * first[i] / (np.sqrt(second[i]) * root + eps)


@njit(nogil=True, cache=True)
def sgd(p, g, velocity, rate, momentum):
    """One step of gradient descent with (heavy-ball) momentum, as torch.optim.SGD."""
    T = p.dtype.type
    size, mu = T(rate), T(momentum)
    for i in range(p.shape[0]):
        velocity[i] = mu * velocity[i] + g[i]
        p[i] -= size * velocity[i]


@njit(nogil=True, cache=True)
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
