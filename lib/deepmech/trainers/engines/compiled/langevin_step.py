"""Steps of one bias-free ReLU network, samples in blocks that stay in the cache from the input to the gradient.

Weights lie in one flat vector, layer after layer, each (units above, units below). Activations are feature-major: the
samples of one unit lie side by side. Kernels release Python's lock and run as many steps as they are asked for, noise
included, without coming back.
"""

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import fill_bits, fill_normal
from deepmech.trainers.langevin_vector import LINEAR, RELU, WHERE_ACTIVE, pairs, rows


@njit(inline="always", error_model="numpy")
def _block(w, sizes, x, x0, y, y0, n, s, a, d, small, g, scale):
    """Add to ``g`` the gradient of scale · Σ_b ½ max(0, 1 - y_b f_b)² over one block of samples.

    The block is x[x0 + i s + b], y[y0 + b] with b < n, ``n`` a multiple of a vector's length, padded with zeros. ``a``
    holds (layers, widest, s) activations, ``d`` two layers of derivatives by turns.
    """
    last = sizes.shape[0] - 1
    widest = 1
    for i in range(1, last):
        widest = max(widest, sizes[i])
    layer = widest * s
    start = 0
    for i in range(1, last + 1):
        m, k, below = sizes[i], sizes[i - 1], (i - 2) * layer
        if i == 1:
            rows(RELU, a, 0, m, w, start, k, 1, x, x0, k, a, 0, s, n)
        elif i < last:
            rows(RELU, a, below + layer, m, w, start, k, 1, a, below, k, a, 0, s, n)
        else:
            rows(LINEAR, d, (i % 2) * layer, m, w, start, k, 1, a, below, k, a, 0, s, n)
        start += m * k
    up = (last % 2) * layer
    zero, one, factor = d.dtype.type(0), d.dtype.type(1), d.dtype.type(scale)
    for b in range(n):
        gap = one - y[y0 + b] * d[up + b]
        gap = gap if gap > zero else zero
        d[up + b] = -y[y0 + b] * gap * factor
    for i in range(last, 0, -1):
        m, k, below = sizes[i], sizes[i - 1], (i - 2) * layer
        up, down = (i % 2) * layer, ((i - 1) % 2) * layer
        start -= m * k
        if i > 1:
            pairs(g, start, d, up, m, a, below, k, s, n, small)
            rows(WHERE_ACTIVE, d, down, k, w, start, 1, k, d, up, m, a, below, s, n)
        else:
            pairs(g, start, d, up, m, x, x0, k, s, n, small)


@njit(inline="always", error_model="numpy")
def _whole(v, sizes, blocked, samples, s, a, d, small, g, lanes):
    """Gradient of the mean loss over all samples; ``blocked`` is x (blocks, inputs, s), y (blocks, s), flat, padded."""
    x, y = blocked
    g[:] = 0.0
    for k in range(y.shape[0] // s):
        held = min(s, samples - k * s)
        n = -(-held // lanes) * lanes
        _block(v, sizes, x, k * s * sizes[0], y, k * s, n, s, a, d, small, g, 1.0 / samples)


@njit(inline="always", error_model="numpy")
def _batch(v, sizes, plain, chosen, s, one, a, d, small, g, lanes):
    """Gradient of the mean loss over some samples: ``plain`` is x (inputs, n), y (n,); ``one`` has room for a block."""
    samples, labels = plain
    xb, yb = one
    g[:] = 0.0
    head, tail = 0, chosen.shape[0]
    while head < tail:
        held = min(s, tail - head)
        n = -(-held // lanes) * lanes
        for b in range(held):
            yb[b] = labels[chosen[head + b]]
        for b in range(held, n):
            yb[b] = 0
        for i in range(samples.shape[0]):
            for b in range(held):
                xb[i * s + b] = samples[i, chosen[head + b]]
            for b in range(held, n):
                xb[i * s + b] = 0
        _block(v, sizes, xb, 0, yb, 0, n, s, a, d, small, g, 1.0 / tail)
        head += held


@njit(nogil=True, cache=True, error_model="numpy")
def advance(w, v, sizes, blocked, plain, one, samples, s, a, d, small, g, lanes, order, batch, rate, decay, noise, stream, bits, z, rounds, begin, end):  # fmt: skip  # noqa: E501
    """Steps ``begin`` … ``end`` - 1 of w -= rate (∂loss/∂w + decay · w) + noise · ξ (Eq. 3).

    With ``batch`` 0 the loss is that of all samples, and steps are numbered for their random numbers, of which
    ``stream`` holds key and purpose. Otherwise step i takes batch i of the epoch's ``order``. ``w`` are the weights
    in float64, ``v`` the same in the type of the products; with ``rounds`` they are rounded to that type after every
    step, as if they were kept in it. One function for both, because every compiled entry brings all products with it.
    """
    V = v.dtype.type
    key, purpose = stream
    for step in range(begin, end):
        if batch == 0:
            _whole(v, sizes, blocked, samples, s, a, d, small, g, lanes)
        else:
            chosen = order[step * batch : min((step + 1) * batch, order.shape[0])]
            _batch(v, sizes, plain, chosen, s, one, a, d, small, g, lanes)
        if noise > 0:
            fill_bits(bits, key, np.uint64(step), purpose)
            fill_normal(z, bits)
        for i in range(w.shape[0]):
            old = np.float64(w[i])
            new = old - rate * (g[i] + decay * old)
            w[i] = new + noise * z[i] if noise > 0 else new
        for i in range(w.shape[0]):
            v[i] = V(w[i])
            w[i] = np.float64(v[i]) if rounds else w[i]
