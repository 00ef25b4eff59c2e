"""Fused passes over activations, compiled by numba: what stands between two matrix products of a training step.

Arrays are feature-major, shape (units, stride): the ``n`` samples of one unit lie side by side (then padding), so a
unit's batch statistics, its normalisation, nonlinearity and dropout are one visit to a row that stays in the nearest
cache. Sums are in float64; their order may be chosen by the compiler ("reassoc") but depends on the row's length alone,
so a network's bits do not depend on what is trained beside it. Kernels release Python's lock and work in float32 and
float64.
"""

import numpy as np
from numba import njit

from deepmech.core.philox import LOW, S32, philox

#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _moments(row):
    """Mean and (biased) variance of a row."""
    total = 0.0
    for i in range(row.shape[0]):
        total += row[i]
    mean = total / row.shape[0]
    square = 0.0
    for i in range(row.shape[0]):
        d = row[i] - mean
        square += d * d
    return mean, square / row.shape[0]


@njit(nogil=True, cache=True)
def _follow(j, mean, variance, n, running_mean, running_var):
    running_mean[j] += MOMENTUM * (mean - running_mean[j])
    running_var[j] += MOMENTUM * (variance * n / (n - 1) - running_var[j])


@njit(nogil=True, cache=True)
def gather(x, index, out):
    """out[j, i] = x[j, index[i]]."""
    for j in range(x.shape[0]):
        for i in range(index.shape[0]):
            out[j, i] = x[j, index[i]]


@njit(nogil=True, cache=True)
def standardise(x, n, mean, variance):
    """BatchNorm of the inputs, without its scale, in place."""
    T = x.dtype.type
    for j in range(x.shape[0]):
        mean[j], variance[j] = _moments(x[j, :n])
        inverse = 1 / np.sqrt(variance[j] + EPSILON)
        for i in range(n):
            x[j, i] = T((x[j, i] - mean[j]) * inverse)


@njit(nogil=True, cache=True)
def follow(mean, variance, n, running_mean, running_var):
    """Running statistics of BatchNorm: averages with weight 0.1, of the unbiased variance."""
    for j in range(mean.shape[0]):
        _follow(j, mean[j], variance[j], n, running_mean, running_var)


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
def _halves(j, n, key, step, purpose, words):
    """The 16-bit numbers of row j: entry i is number j · n + i of Stream.keep, eight of them to a counter."""
    first = (j * n) // 8
    offset = j * n - 8 * first
    _draw(words, first, (offset + n + 7) // 8, key, step, purpose)
    return words.view(np.uint16)[offset : offset + n]


@njit(nogil=True, cache=True)
def _activate(h, out, g, b, positive, negative, threshold, halves):
    """out = LeakyReLU(g h + b), with its two slopes, or 0 where ``halves`` lies below ``threshold``, of one row."""
    zero = h.dtype.type(0)
    if threshold > 0:
        for i in range(h.shape[0]):
            z = h[i] * g + b
            z = positive * z if z > zero else negative * z
            out[i] = z if halves[i] >= threshold else zero
    else:
        for i in range(h.shape[0]):
            z = h[i] * g + b
            out[i] = positive * z if z > zero else negative * z


@njit(nogil=True, cache=True)
def forward_norm(h, n, a, gamma, beta, bias, running_mean, running_var, mean, inverse, slope, dropout, words):
    """a = dropout(LeakyReLU(BatchNorm(h + bias))), keeping mean and 1/standard deviation for the way back.

    ``h`` comes without the Linear layer's bias, which only the running mean sees. ``dropout`` is
    (threshold, factor, key, step, purpose); a threshold of 0 drops nothing.
    """
    T = h.dtype.type
    threshold, factor, key, step, purpose = dropout
    halves = words.view(np.uint16)
    for j in range(h.shape[0]):
        mean[j], variance = _moments(h[j, :n])
        _follow(j, mean[j] + bias[j], variance, n, running_mean, running_var)
        inverse[j] = 1 / np.sqrt(variance + EPSILON)
        g = gamma[j] * inverse[j]
        if threshold > 0:
            halves = _halves(j, n, key, step, purpose, words)
        shift = T(beta[j] - mean[j] * g)
        _activate(h[j, :n], a[j, :n], T(g), shift, T(factor), T(factor * slope), threshold, halves)


@njit(nogil=True, cache=True)
def forward_plain(h, n, a, bias, slope, scale, dropout, words):
    """a = dropout(scale · LeakyReLU(h + bias))."""
    T = h.dtype.type
    threshold, factor, key, step, purpose = dropout
    halves = words.view(np.uint16)
    for j in range(h.shape[0]):
        if threshold > 0:
            halves = _halves(j, n, key, step, purpose, words)
        c = scale * factor
        _activate(h[j, :n], a[j, :n], T(1), T(bias[j]), T(c), T(c * slope), threshold, halves)


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _derivative(d, a, h, mean, positive, negative, at_zero):
    """d := d · ∂a/∂z from the sign of a; returns Σ d and Σ d · (h - mean).

    ``at_zero`` is the slope where a is exactly zero, which means dropped if anything is.
    """
    zero = a.dtype.type(0)
    plain, weighted = 0.0, 0.0
    for i in range(d.shape[0]):
        f = positive if a[i] > zero else negative
        f = at_zero if a[i] == zero else f
        dz = d[i] * f
        d[i] = dz
        plain += dz
        weighted += np.float64(dz * (h[i] - mean))
    return plain, weighted


@njit(nogil=True, cache=True)
def backward_norm(d, n, a, h, gamma, mean, inverse, slope, dropout, d_gamma, d_beta):
    """From ∂loss/∂a in ``d`` to ∂loss/∂h in its place, and the gradients of BatchNorm's scale and shift."""
    T = h.dtype.type
    threshold, factor = dropout[0], dropout[1]
    at_zero = T(0) if threshold > 0 else T(slope)
    for j in range(h.shape[0]):
        m, row, below = T(mean[j]), d[j, :n], h[j, :n]
        plain, weighted = _derivative(row, a[j, :n], below, m, T(factor), T(factor * slope), at_zero)
        d_beta[j] = plain
        d_gamma[j] = weighted * inverse[j]
        g = gamma[j] * inverse[j]
        # ∂loss/∂h = g (dz - mean(dz) - x̂ mean(dz x̂)) with x̂ = (h - mean) · inverse.
        c0, c1, c2 = T(g), T(g * plain / n), T(g * inverse[j] * inverse[j] * weighted / n)
        for i in range(n):
            row[i] = row[i] * c0 - c1 - (below[i] - m) * c2


@njit(nogil=True, cache=True)
def backward_plain(d, n, a, slope, scale, dropout, d_bias):
    """As :func:`backward_norm` without BatchNorm; here the bias has a gradient."""
    T = a.dtype.type
    threshold, factor = dropout[0], dropout[1]
    at_zero = T(0) if threshold > 0 else T(slope * scale)
    c = scale * factor
    for j in range(a.shape[0]):
        d_bias[j], _ = _derivative(d[j, :n], a[j, :n], a[j, :n], T(0), T(c), T(c * slope), at_zero)


@njit(nogil=True, cache=True)
def cross_entropy(logits, n, bias, labels, d_bias):
    """Mean cross-entropy of ``logits + bias``, shape (classes, stride); ``logits`` becomes ∂loss/∂logits."""
    classes = logits.shape[0]
    T = logits.dtype.type
    loss = 0.0
    d_bias[:] = 0
    for i in range(n):
        top = logits[0, i] + bias[0]
        for k in range(classes):
            logits[k, i] += bias[k]
            top = max(top, logits[k, i])
        total = 0.0
        own = np.float64(logits[labels[i], i] - top)
        for k in range(classes):
            logits[k, i] = np.exp(logits[k, i] - top)
            total += logits[k, i]
        loss += np.log(total) - own
        for k in range(classes):
            p = logits[k, i] / total
            d = T((p - 1.0 if k == labels[i] else p) / n)
            logits[k, i] = d
            d_bias[k] += d
    return loss / n


@njit(nogil=True, cache=True)
def input_scale(product, weight, gamma, d_gamma, d_weight):
    """Gradients of the first weights and of the input's BatchNorm scale from ``product`` = ∂loss/∂h · x̂ᵀ.

    With a₀ = γ x̂ the chain rule gives ∂/∂W_kj = product_kj γ_j and ∂/∂γ_j = Σ_k W_kj product_kj: no third pass over the
    batch is needed.
    """
    d_gamma[:] = 0
    for k in range(product.shape[0]):
        for j in range(product.shape[1]):
            d_gamma[j] += weight[k, j] * product[k, j]
            d_weight[k, j] = product[k, j] * gamma[j]


@njit(nogil=True, cache=True)
def adam(p, g, first, second, learning_rate, t):
    """One step of Adam with PyTorch's defaults over all parameters at once; t counts from 1."""
    T = p.dtype.type
    b1, b2, eps = T(0.9), T(0.999), T(1e-8)
    one = T(1)
    size = T(learning_rate / (1 - 0.9**t))
    root = T(1 / np.sqrt(1 - 0.999**t))
    for i in range(p.shape[0]):
        first[i] = b1 * first[i] + (one - b1) * g[i]
        second[i] = b2 * second[i] + (one - b2) * g[i] * g[i]
        p[i] -= size * first[i] / (np.sqrt(second[i]) * root + eps)


@njit(nogil=True, cache=True)
def sgd(p, g, velocity, learning_rate, momentum):
    """One step of gradient descent with (heavy-ball) momentum, as torch.optim.SGD."""
    T = p.dtype.type
    rate, mu = T(learning_rate), T(momentum)
    for i in range(p.shape[0]):
        velocity[i] = mu * velocity[i] + g[i]
        p[i] -= rate * velocity[i]
