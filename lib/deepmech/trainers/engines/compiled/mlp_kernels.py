"""What a fully connected network's training is made of, compiled: random numbers, passes over activations, steps.

The random numbers of an epoch are those of its network's stream, drawn before its steps; each kind is compiled when a
network first wants it.

Arrays are sample-major, shape (samples, padded units), so batch statistics are sums of rows and every pass runs along
vectors of units. Sums over the batch are taken in the working precision within a block and in float64 from block to
block; their order depends on the shapes alone, so a network's bits do not depend on what is trained beside it. Kernels
release Python's lock and work in float32 and float64.

A step works through blocks of samples that stay in the nearest caches. Only the pre-activations h of each layer are
kept: forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and multiplied at once;
backward, the same is done again, which is cheaper than to fetch what was stored. Dropout is drawn once per step, as one
bit for each activation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.random import LOW, S32, fill_bits, fill_normal, philox
from deepmech.trainers.engines.compiled.mlp_product import multiply, transpose, view
from deepmech.trainers.engines.compiled.tiles import INSIDE, OPTIONS

#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1
#: Samples of a block; a multiple of the 32 bits of a word.
BLOCK = 64
#: Rows of the coefficients of a hidden layer: its activation is LeakyReLU(TIMES h + PLUS), and the derivative with
#: respect to h is TIMES d - LEVEL - TILT (h - CENTRE), where d is that with respect to what LeakyReLU gets.
TIMES, PLUS, CENTRE, LEVEL, TILT = range(5)
#: As plain integers: for every literal number numba would compile what it is given to once more.
NO, ONE = np.int64(0), np.int64(1)


@njit(**OPTIONS)
def masks(keep, units, samples, size, drop, key, first, purposes, words):
    """Bit i % 32 of keep[step, layer, i // 32, j] := whether unit j is kept for the i-th sample of a step's batch.

    ``keep`` (steps, hidden layers, words for a batch, units) holds all steps, ``size`` samples in each but the last;
    the first has number ``first``. ``drop``, probabilities in units of 2⁻¹⁶, ``units``, ``purposes`` are the layers'.
    """
    k0, k1 = key & LOW, key >> S32
    for step in range(keep.shape[0]):
        n = min(size, samples - step * size)
        s0, s1 = np.uint64(first + step) & LOW, np.uint64(first + step) >> S32
        at_once = max(1, (2 * words.shape[0] - 16) // n)
        for layer in range(units.shape[0]):
            width, purpose = units[layer], purposes[layer]
            if drop[layer] == 0:
                keep[step, layer] = ~np.uint32(0)
                continue
            below = np.uint16(drop[layer] - 1)
            for j0 in range(0, width, at_once):
                j1 = min(width, j0 + at_once)
                block = (j0 * n) // 8
                offset = j0 * n - 8 * block
                for i in range((offset + (j1 - j0) * n + 7) // 8):
                    drawn = philox(np.uint64(block + i), s0, s1, purpose, k0, k1)
                    words[4 * i] = drawn[0]
                    words[4 * i + 1] = drawn[1]
                    words[4 * i + 2] = drawn[2]
                    words[4 * i + 3] = drawn[3]
                halves = words.view(np.uint16)
                for j in range(j0, j1):
                    start = offset + (j - j0) * n
                    for group in range((n + 31) // 32):
                        word = np.uint32(0)
                        row = halves[start + 32 * group : start + min(n, 32 * group + 32)]
                        for i in range(row.shape[0]):
                            word |= np.uint32(row[i] > below) << np.uint32(i)
                        keep[step, layer, group, j] = word


@njit(**OPTIONS)
def normals(out, units, samples, size, key, first, purpose, words):
    """out[step, j n + i] := the standard normal number of input j of the i-th of n samples of a step's batch."""
    for step in range(out.shape[0]):
        count = min(size, samples - step * size) * units
        count += count % 2
        fill_bits(words[:count], key, np.uint64(first + step), purpose)
        fill_normal(out[step, :count], words[:count])


@njit(**OPTIONS)
def relabel(labels, size, share, n_classes, key, first, replaced, other, words):
    """Replace a ``share`` (in units of 2⁻¹⁶) of the labels, batch by batch, by random ones.

    ``replaced`` and ``other`` are the purposes of which labels, and of their new values.
    """
    for begin in range(0, labels.shape[0], size):
        step = np.uint64(first + begin // size)
        batch = labels[begin : begin + size]
        n = batch.shape[0]
        fill_bits(words[: (n + 1) // 2], key, step, replaced)
        for i in range(n):
            half = (words[i >> 1] >> np.uint32(16 * (i & 1))) & np.uint32(0xFFFF)
            batch[i] = batch[i] if half >= share else -1
        fill_bits(words[:n], key, step, other)
        for i in range(n):
            if batch[i] < 0:
                batch[i] = int(np.floor((words[i] + 0.5) * 2.0**-32 * n_classes))


@njit(**INSIDE)
def add_moments(block, first, s, sums):
    """Add Σ (x - c) and Σ (x - c)² of a block to ``sums``, where c, in s[CENTRE], is the mean of the first block.

    So near to the mean of all, the sums lose no digits, and one visit to each block is enough.
    """
    n, units = block.shape
    T = block.dtype.type
    if first:
        for j in range(units):
            s[CENTRE, j] = sums[0, j] = sums[1, j] = 0
        for i in range(n):
            for j in range(units):
                s[CENTRE, j] += block[i, j] * T(1.0 / n)
    for j in range(units):
        s[0, j] = s[1, j] = 0
    for i in range(0, n - 1, 2):
        for j in range(units):
            e, f = block[i, j] - s[CENTRE, j], block[i + 1, j] - s[CENTRE, j]
            s[0, j] += e + f
            s[1, j] += e * e + f * f
    for i in range(n - n % 2, n):
        for j in range(units):
            e = block[i, j] - s[CENTRE, j]
            s[0, j] += e
            s[1, j] += e * e
    for j in range(units):
        sums[0, j] += s[0, j]
        sums[1, j] += s[1, j]


@njit(**INSIDE)
def moments(s, sums, n, mean, variance):
    """Mean and variance over all n samples, from the sums of their blocks; nan where those overflow.

    An infinite variance would make a unit constant, and a maximum would lose what is not a number.
    """
    for j in range(s.shape[1]):
        apart = sums[0, j] / n
        spread = sums[1, j] / n - apart * apart
        mean[j], variance[j] = s[CENTRE, j] + apart, 0.0 if spread <= 0.0 else spread if spread < np.inf else np.nan


@njit(**INSIDE)
def follow(mean, variance, n, bias, running_mean, running_var):
    """Running statistics of BatchNorm: averages with weight 0.1, of the unbiased variance."""
    for j in range(mean.shape[0]):
        running_mean[j] += MOMENTUM * (mean[j] + bias[j] - running_mean[j])
        running_var[j] += MOMENTUM * (variance[j] * n / (n - 1) - running_var[j])


@njit(**OPTIONS)
def standardise(x, mean, variance, s, sums):
    """BatchNorm of the inputs, without its scale, in place."""
    T = x.dtype.type
    for start in range(0, x.shape[0], BLOCK):
        add_moments(x[start : start + BLOCK], start == 0, s, sums)
    moments(s, sums, x.shape[0], mean, variance)
    for j in range(x.shape[1]):
        s[0, j] = T(mean[j])
        s[1, j] = T(1 / np.sqrt(variance[j] + EPSILON))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = (x[i, j] - s[0, j]) * s[1, j]


@njit(**INSIDE)
def activate(h, out, c, positive, negative, keep, first, dropped):
    """out = LeakyReLU(TIMES h + PLUS), with its two slopes, times 0 where dropped: that keeps what is not finite."""
    zero = h.dtype.type(0)
    for i in range(h.shape[0]):
        if dropped:
            bits, place = keep[(first + i) >> 5], np.uint32((first + i) & 31)
            for j in range(h.shape[1]):
                z = h[i, j] * c[TIMES, j] + c[PLUS, j]
                z = z * positive if z > zero else z * negative
                out[i, j] = z if (bits[j] >> place) & np.uint32(1) else z * zero
        else:
            for j in range(h.shape[1]):
                z = h[i, j] * c[TIMES, j] + c[PLUS, j]
                out[i, j] = z * positive if z > zero else z * negative


@njit(**INSIDE)
def derivative(d, h, c, positive, negative, keep, first, dropped, s):
    """d := d · ∂a/∂z; s becomes Σ d and Σ d (h - mean) over the block."""
    zero = h.dtype.type(0)
    for j in range(h.shape[1]):
        s[0, j] = s[1, j] = 0
    for i in range(h.shape[0]):
        if dropped:
            bits, place = keep[(first + i) >> 5], np.uint32((first + i) & 31)
            for j in range(h.shape[1]):
                x = h[i, j]
                dz = d[i, j] * (positive if x * c[TIMES, j] + c[PLUS, j] > zero else negative)
                dz = dz if (bits[j] >> place) & np.uint32(1) else zero
                d[i, j] = dz
                s[0, j] += dz
                s[1, j] += dz * (x - c[CENTRE, j])
        else:
            for j in range(h.shape[1]):
                x = h[i, j]
                dz = d[i, j] * (positive if x * c[TIMES, j] + c[PLUS, j] > zero else negative)
                d[i, j] = dz
                s[0, j] += dz
                s[1, j] += dz * (x - c[CENTRE, j])


@njit(**INSIDE)
def through_norm(d, h, out, c):
    """out = ∂loss/∂h from d = ∂loss/∂z."""
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            out[i, j] = d[i, j] * c[TIMES, j] - c[LEVEL, j] - (h[i, j] - c[CENTRE, j]) * c[TILT, j]


@njit(**INSIDE)
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


@njit(**INSIDE)
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


@njit(**INSIDE)
def adam(p, g, first, second, rate, t):
    """One step of Adam with PyTorch's defaults over all parameters at once; t counts from 1."""
    T = p.dtype.type
    b1, b2, eps, one = T(0.9), T(0.999), T(1e-8), T(1)
    size, root = T(rate / (1 - 0.9**t)), T(1 / np.sqrt(1 - 0.999**t))
    for i in range(p.shape[0]):
        first[i] = b1 * first[i] + (one - b1) * g[i]
        second[i] = b2 * second[i] + (one - b2) * g[i] * g[i]
        p[i] -= size * first[i] / (np.sqrt(second[i]) * root + eps)


@njit(**INSIDE)
def sgd(p, g, velocity, rate, momentum):
    """One step of gradient descent with (heavy-ball) momentum, as torch.optim.SGD."""
    T = p.dtype.type
    size, mu = T(rate), T(momentum)
    for i in range(p.shape[0]):
        velocity[i] = mu * velocity[i] + g[i]
        p[i] -= size * velocity[i]


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
                        work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], steps.positive[layer - 2],
                        steps.negative[layer - 2], work.keep[drawn, layer - 2], start, dropped,
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
                        work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], steps.positive[layer - 2],
                        steps.negative[layer - 2], work.keep[drawn, layer - 2], start, dropped,
                    )  # fmt: skip
                multiply(d_weight, lower, ONE, lower.shape[1], upper, stop - start, ONE, work.d[after:end])
                if layer > 1:
                    d = work.d[start:stop]
                    ahead = work.h[layer - 2, after:end]
                    multiply(d, upper, upper.shape[1], ONE, turned, net.units[layer], NO, ahead)
                    derivative(
                        d, work.h[layer - 2, start:stop], work.coefficients[layer - 2], steps.positive[layer - 2],
                        steps.negative[layer - 2], work.keep[drawn, layer - 2], start, dropped, partial,
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
