"""Steps of one bias-free ReLU network, samples in blocks that stay in the cache from the input to the gradient.

Weights lie in one flat vector, layer after layer, each (units above, units below). Activations are feature-major: the
samples of one unit lie side by side. Kernels release Python's lock and run as many steps as they are asked for, noise
included, without coming back.
"""

from typing import NamedTuple

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import fill_bits, fill_normal
from deepmech.trainers.engines.compiled.langevin_product import LINEAR, RELU, WHERE_ACTIVE, pairs, rows
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS


class Net(NamedTuple):
    """One network: units of its ``sizes``, weights ``w`` in float64 and ``v`` in the type of products, gradient ``g``.

    Weights are flat. With ``rounds`` they are rounded to the type of ``v`` after every step, as if kept in it.
    """

    sizes: np.ndarray
    w: np.ndarray
    v: np.ndarray
    g: np.ndarray
    rounds: bool


class Data(NamedTuple):
    """All samples in blocks of ``block``, filled up with zeros, flat, and as they are; all in the type of products."""

    x: np.ndarray
    """(blocks, inputs, block), and labels ``y`` (blocks, block)."""
    y: np.ndarray
    samples: np.ndarray
    """(inputs, n), and ``labels`` (n,)."""
    labels: np.ndarray
    block: int


class Room(NamedTuple):
    """Work space, flat."""

    a: np.ndarray
    """(hidden, widest, block) activations."""
    d: np.ndarray
    """(2, widest, block) derivatives of two layers by turns."""
    small: np.ndarray
    """Sums of one tile of the gradient."""
    x: np.ndarray
    """(inputs, block), and ``y`` (block,): a block of a batch."""
    y: np.ndarray
    bits: np.ndarray
    """Random words for all weights, or one more; ``z``: normal numbers made of them."""
    z: np.ndarray


@njit(**INSIDE)
def _block(net, room, x, x0, y, y0, n, s, scale):
    """Add to ``net.g`` the gradient of scale · Σ_b ½ max(0, 1 - y_b f_b)² over one block of samples.

    The block is x[x0 + i s + b], y[y0 + b] with b < n, ``n`` a multiple of a vector's length, padded with zeros.
    """
    w, g, sizes, a, d = net.v, net.g, net.sizes, room.a, room.d
    # As plain integers: for every literal number numba would compile the products once more.
    relu, linear, where_active = np.int64(RELU), np.int64(LINEAR), np.int64(WHERE_ACTIVE)
    none, one_by_one = np.int64(0), np.int64(1)
    last = sizes.shape[0] - 1
    widest = 1
    for i in range(1, last):
        widest = max(widest, sizes[i])
    layer = widest * s
    start = none
    for i in range(1, last + 1):
        m, k, below = sizes[i], sizes[i - 1], (i - 2) * layer
        # One call for all layers: wherever a product is called, it is compiled again.
        inputs, first = (x, x0) if i == 1 else (a, below)
        out, to = (a, below + layer) if i < last else (d, (i % 2) * layer)
        rows(relu if i < last else linear, out, to, m, w, start, k, one_by_one, inputs, first, k, a, none, s, n)
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
        inputs, first = (x, x0) if i == 1 else (a, below)
        pairs(g, start, d, up, m, inputs, first, k, s, n, room.small)
        if i > 1:
            rows(where_active, d, down, k, w, start, one_by_one, k, d, up, m, a, below, s, n)


@njit(**INSIDE)
def _gather(x, y, samples, labels, chosen, s, n):
    """A block of the ``chosen`` ``samples`` (inputs, …): x (inputs, s), flat, and y, filled up with zeros to ``n``."""
    held = chosen.shape[0]
    for b in range(held):
        y[b] = labels[chosen[b]]
    for b in range(held, n):
        y[b] = 0
    for i in range(samples.shape[0]):
        for b in range(held):
            x[i * s + b] = samples[i, chosen[b]]
        for b in range(held, n):
            x[i * s + b] = 0


@njit(**OPTIONS)
def advance(net, data, room, order, batch, rate, decay, noise, key, purpose, begin, end):
    """Steps ``begin`` … ``end`` - 1 of w -= rate (∂loss/∂w + decay · w) + noise · ξ (Eq. 3).

    With ``batch`` 0 the loss is that of all samples, and steps are numbered for their random numbers, which have this
    ``key`` and ``purpose``. Otherwise step i takes batch i of the epoch's ``order``. One function for both, because
    every compiled entry brings all products with it.
    """
    w, v, g, s = net.w, net.v, net.g, data.block
    V, lanes = v.dtype.type, BYTES // v.itemsize
    for step in range(begin, end):
        begun, held_by, x, y = 0, data.labels.shape[0], data.x, data.y
        if batch > 0:
            begun, x, y = step * batch, room.x, room.y
            held_by = min((step + 1) * batch, order.shape[0]) - begun
        for i in range(g.shape[0]):
            g[i] = 0.0
        for head in range(0, held_by, s):
            held = min(s, held_by - head)
            n = -(-held // lanes) * lanes
            x0, y0 = (0, 0) if batch > 0 else (head * net.sizes[0], head)
            if batch > 0:
                _gather(x, y, data.samples, data.labels, order[begun + head : begun + head + held], s, n)
            _block(net, room, x, x0, y, y0, n, s, 1.0 / held_by)
        if noise > 0:
            fill_bits(room.bits, key, np.uint64(step), purpose)
            fill_normal(room.z, room.bits)
        for i in range(w.shape[0]):
            new = w[i] - rate * (g[i] + decay * w[i])
            w[i] = new + noise * room.z[i] if noise > 0 else new
        for i in range(w.shape[0]):
            v[i] = V(w[i])
            w[i] = np.float64(v[i]) if net.rounds else w[i]
