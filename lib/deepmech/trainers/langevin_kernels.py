"""Steps of one bias-free ReLU network, samples in blocks that stay in the cache from the input to the gradient.

Weights lie in one flat vector, layer after layer, each (units above, units below). Activations are feature-major: the
samples of one unit lie side by side. Kernels release Python's lock and run as many steps as they are asked for, noise
included, without coming back.
"""

import numpy as np
from numba import njit

from deepmech.core.philox import fill_bits, fill_normal
from deepmech.trainers.langevin_vector import LINEAR, RELU, WHERE_ACTIVE, pairs, rows


@njit(nogil=True, cache=True, error_model="numpy")
def block_gradient(w, sizes, x, x0, y, y0, n, s, a, d, small, g, scale):
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


@njit(nogil=True, cache=True, error_model="numpy")
def whole_gradient(w, sizes, x, y, samples, s, a, d, small, g, lanes):
    """Gradient of the mean loss over all samples: x is (blocks, inputs, s), y (blocks, s), both flat and padded."""
    g[:] = 0.0
    blocks = y.shape[0] // s
    for k in range(blocks):
        held = min(s, samples - k * s)
        n = -(-held // lanes) * lanes
        block_gradient(w, sizes, x, k * s * sizes[0], y, k * s, n, s, a, d, small, g, 1.0 / samples)


@njit(nogil=True, cache=True, error_model="numpy")
def follow(w, v, sizes, x, y, samples, s, a, d, small, g, lanes, steps, first, rate, decay, noise, stream, bits, z):
    """``steps`` steps w -= rate (∂loss/∂w + decay · w) + noise · ξ over the whole data set (Langevin, Eq. 3).

    ``stream`` is the key and the purpose of the random numbers. ``w`` are the weights, ``v`` the same in the type of
    the products (which may be ``w`` itself); ``first`` numbers the steps, for their random numbers. Updates are
    computed in float64 and rounded once.
    """
    W, V = w.dtype.type, v.dtype.type
    key, purpose = stream
    for t in range(steps):
        whole_gradient(v, sizes, x, y, samples, s, a, d, small, g, lanes)
        if noise > 0:
            fill_bits(bits, key, np.uint64(first + t), purpose)
            fill_normal(z, bits)
            for i in range(w.shape[0]):
                old = np.float64(w[i])
                w[i] = W(old - rate * (g[i] + decay * old) + noise * z[i])
        else:
            for i in range(w.shape[0]):
                old = np.float64(w[i])
                w[i] = W(old - rate * (g[i] + decay * old))
        for i in range(w.shape[0]):
            v[i] = V(w[i])


@njit(nogil=True, cache=True, error_model="numpy")
def epoch(w, v, sizes, samples, labels, order, batch, s, xb, yb, a, d, small, g, lanes, rate, decay, begin, end):
    """Stochastic gradient steps ``begin`` … ``end`` - 1 of one epoch: batch after batch of ``order``.

    ``samples`` (inputs, n) and ``labels`` (n,) are the whole set; ``xb`` and ``yb`` hold one block.
    """
    W, V = w.dtype.type, v.dtype.type
    inputs, total = samples.shape[0], order.shape[0]
    for step in range(begin, end):
        head, tail = step * batch, min((step + 1) * batch, total)
        g[:] = 0.0
        while head < tail:
            held = min(s, tail - head)
            n = -(-held // lanes) * lanes
            for b in range(held):
                yb[b] = labels[order[head + b]]
            for b in range(held, n):
                yb[b] = 0
            for i in range(inputs):
                for b in range(held):
                    xb[i * s + b] = samples[i, order[head + b]]
                for b in range(held, n):
                    xb[i * s + b] = 0
            block_gradient(v, sizes, xb, 0, yb, 0, n, s, a, d, small, g, 1.0 / (tail - step * batch))
            head += held
        for i in range(w.shape[0]):
            old = np.float64(w[i])
            w[i] = W(old - rate * (g[i] + decay * old))
            v[i] = V(w[i])
