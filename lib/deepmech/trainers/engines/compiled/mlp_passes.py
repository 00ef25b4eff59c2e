"""Passes over blocks of activations, losses and optimisers: what a training step does beside its matrix products.

Arrays are sample-major, shape (samples, padded units), so batch statistics are sums of rows and every pass runs along
vectors of units. Sums over the batch are taken in the working precision within a block and in float64 from block to
block; their order depends on the shapes alone, so a network's bits do not depend on what is trained beside it. Kernels
release Python's lock and work in float32 and float64.
"""

import numpy as np

from deepmech.core.compiled import njit
from deepmech.trainers.engines.compiled.tiles import INSIDE, OPTIONS

#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1
#: Samples of a block; a multiple of the 32 bits of a word.
BLOCK = 64
#: Rows of the coefficients of a hidden layer: its activation is LeakyReLU(TIMES h + PLUS), and the derivative with
#: respect to h is TIMES d - LEVEL - TILT (h - CENTRE), where d is that with respect to what LeakyReLU gets.
TIMES, PLUS, CENTRE, LEVEL, TILT = range(5)


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
