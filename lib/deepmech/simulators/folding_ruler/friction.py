"""One implicit time step of a chain with dry friction, solved exactly.

With velocities v before the step, the velocities w after it minimise

    Σ_i [½ (w_i − v_i)² + h f |w_i|]  +  Σ_i h R_i |w_i − w_{i−1}|,      w_0 = 0, w_n given,

subject to the stops lo_i <= w_i − w_{i−1} <= hi_i: sticking and sliding are the corners and slopes of this function, so
static friction needs no threshold velocity. The minimum over w_1, ..., w_{i−1} for given w_i is a convex, piecewise
quadratic function; its derivative is a rising polyline, carried from node to node as a list of corners (w, y). (The
method is the dynamic programme of Johnson (2013) for the fused lasso, with stops added.)
"""

import numpy as np

from deepmech.core.compiled import INSIDE, KERNEL, njit

WALL = 1e300
"""Stands for an unbounded force: a polyline that ends in it has a vertical end."""


@njit(**INSIDE)
def at_height(w, y, height):
    """Where the polyline first reaches ``height``."""
    j = 0
    while y[j] < height:
        j += 1
    if j == 0 or w[j] == w[j - 1]:
        return w[j]
    return w[j - 1] + (height - y[j - 1]) / (y[j] - y[j - 1]) * (w[j] - w[j - 1])


@njit(**INSIDE)
def last_at_height(w, y, size, height):
    """Where the polyline last is at ``height`` or below it."""
    j = size - 1
    while y[j] > height:
        j -= 1
    if j == size - 1 or w[j] == w[j + 1]:
        return w[j]
    return w[j] + (height - y[j]) / (y[j + 1] - y[j]) * (w[j + 1] - w[j])


@njit(**INSIDE)
def at_place(w, y, size, place):
    """Lowest and highest value of the polyline at ``place`` (they differ on a vertical piece)."""
    j = 0
    while j < size - 1 and w[j] < place:
        j += 1
    if w[j] != place:
        if j == 0 or w[j] < place:
            return y[j], y[j]
        value = y[j - 1] + (place - w[j - 1]) / (w[j] - w[j - 1]) * (y[j] - y[j - 1])
        return value, value
    k = j
    while k < size - 1 and w[k + 1] == place:
        k += 1
    return y[j], y[k]


@njit(**KERNEL)
def step(v, speed, bound, lo, hi, f, drag, out, lows, highs, w, y, w2, y2):
    """Velocities ``out`` after a step in which node n moves at ``speed``; returns the impulse of the hand.

    ``bound``, ``lo``, ``hi`` are indexed by pair 1..n, ``v`` and ``out`` by node 0..n; ``f`` is the impulse h f of dry
    friction on a node and ``drag`` that of viscous drag per velocity. The other arrays are working space.
    """
    n = len(v) - 1
    w[0], y[0], w[1], y[1], size = 0.0, -WALL, 0.0, WALL, 2
    for i in range(1, n + 1):
        # A pair: inside its bounds it is locked; at a bound it slides freely up to its stop.
        low = last_at_height(w, y, size, -bound[i])
        high = at_height(w, y, bound[i])
        lows[i], highs[i] = low, high
        m = 0
        for j in range(size):
            if y[j] <= -bound[i]:
                w2[m], y2[m] = w[j] + lo[i], y[j]
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = low + lo[i], -bound[i], low, -bound[i]
        m += 2
        for j in range(size):
            if -bound[i] < y[j] < bound[i]:
                w2[m], y2[m] = w[j], y[j]
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = high, bound[i], high + hi[i], bound[i]
        m += 2
        for j in range(size):
            if y[j] >= bound[i]:
                w2[m], y2[m] = w[j] + hi[i], y[j]
                m += 1
        size = m
        w, y, w2, y2 = w2, y2, w, y
        if i == n:
            break
        # A node: inertia and drag tilt the polyline, dry friction adds a jump at rest.
        below, above = at_place(w, y, size, 0.0)
        m = 0
        for j in range(size):
            if w[j] < 0.0:
                w2[m], y2[m] = w[j], y[j] + w[j] - v[i] + drag[i] * w[j] - f
                m += 1
        w2[m], y2[m], w2[m + 1], y2[m + 1] = 0.0, below - v[i] - f, 0.0, above - v[i] + f
        m += 2
        for j in range(size):
            if w[j] > 0.0:
                w2[m], y2[m] = w[j], y[j] + w[j] - v[i] + drag[i] * w[j] + f
                m += 1
        size = m
        w, y, w2, y2 = w2, y2, w, y
    below, above = at_place(w, y, size, speed)
    out[n] = speed
    for i in range(n, 0, -1):
        if out[i] > highs[i]:
            out[i - 1] = max(highs[i], out[i] - hi[i])
        elif out[i] < lows[i]:
            out[i - 1] = min(lows[i], out[i] - lo[i])
        else:
            out[i - 1] = out[i]
    return min(max(0.0, below), above)


@njit(**KERNEL, cache=True)
def pull(path, h, f, c, stop, frames, position, energy, x, nodes, lines, total):
    """Drive the chain along ``path`` (hand's position per step); fill (frame, node) positions, (frame, 5) energies.

    x : (n + 1,) where the nodes are, moved. nodes : (8, n + 1), lines : (4, 8n + 8), total : (5,); zero at first.
    """
    n = position.shape[1] - 1
    v, out, drag, bound, lo, hi, lows, highs = (
        nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5], nodes[6], nodes[7]
    )  # fmt: skip
    frame = 0
    for k in range(len(path)):
        if k == frames[frame]:
            for i in range(n + 1):
                position[frame, i] = x[i]
            for i in range(5):
                energy[frame, i] = total[i]
            frame += 1
        if k == len(path) - 1:
            break
        for i in range(1, n + 1):
            u = min(max(x[i] - x[i - 1], 0.0), stop)
            bound[i], lo[i], hi[i] = h / np.sqrt(1.0 - u * u), -u / h, (stop - u) / h
            # Sideways sliding turns dry friction along the pull into drag.
            drag[i] = h * f / np.sqrt(v[i] * v[i] + c * c) if c > 0.0 else 0.0
        dry = 0.0 if c > 0.0 else h * f
        speed = (path[k + 1] - x[n]) / h
        impulse = step(
            v, speed, bound, lo, hi, dry, drag, out, lows, highs, lines[0], lines[1], lines[2], lines[3]
        )  # fmt: skip
        total[0] += impulse * speed
        total[3] = 0.0
        for i in range(1, n + 1):
            total[1] += bound[i] * abs(out[i] - out[i - 1])
            x[i] += h * out[i]
        for i in range(1, n):
            total[2] += dry * abs(out[i]) + drag[i] * out[i] * out[i]
            total[3] += 0.5 * out[i] * out[i]
        total[4] = total[0] - total[1] - total[2] - total[3]
        for i in range(n + 1):
            v[i] = out[i]
