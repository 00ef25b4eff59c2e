"""The compiled engine of fully connected networks: a whole epoch, forward and backward, in one call of machine code.

Kernels release Python's lock for the whole epoch, so that networks train beside one another on as many cores as there
are; they work in float32 and float64. Agreement with plain autograd is tested parameter by parameter.

Products. A library's product of 100 × 100 numbers with a few samples spends its time on being called, and with
thousands of samples it has to send the result to memory before anybody may look at it. The products here work on blocks
of samples that stay in the nearest caches. One *tile* of the result (:mod:`.tiles`), a few rows by a few vectors of 64
bytes, is held in registers while the sum runs. Each number is one sum in a fixed order (fused where the processor can).
Rows of results and of right factors are padded to :data:`PAD` numbers; what is in the padding comes out as the product
of the padding.

Steps. Arrays are sample-major, shape (samples, padded units), so batch statistics are sums of rows and every pass runs
along vectors of units. Sums over the batch are taken in the working precision within a block and in float64 from block
to block; their order depends on the shapes alone, so a network's bits do not depend on what is trained beside it. A
step works through blocks of samples that stay in the nearest caches. Only the pre-activations h of each layer are kept:
forward, a block of h is normalised, bent and thinned out (dropout) into a scratch block and multiplied at once;
backward, the same is done again, which is cheaper than to fetch what was stored.

The random numbers of an epoch are those of its network's stream, drawn before its steps (dropout: one bit for each
activation); each kind is compiled when a network first wants it.
"""

from __future__ import annotations

import operator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array
from torch import nn

from deepmech.core.compiled import Floats, Ints, Keys, Whole, Word, Words, intrinsic, njit
from deepmech.core.random import LOW, S32, fill_bits, fill_normal, philox, stream_id
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS, Vectors, select_size
from deepmech.trainers.modules import build_network
from deepmech.trainers.run import check_cancelled
from deepmech.trainers.specs import MLP, Member, Settings, Training

PAD = 16
"""Rows are padded to a multiple of this: one vector of float32, two of float64."""
ROWS = {1: 8, 2: 8, 3: 8, 4: 6}
"""Largest tile, in rows, for each number of vectors side by side: at most 24 sums, of 32 registers.

What is left over goes in tiles of 4, 2 and 1 rows.
"""
DEPTH = 256
"""Terms of a sum before the next piece of the right factor: what is used again and again stays in the caches."""


def padded(n: int) -> int:
    return -(-n // PAD) * PAD


@intrinsic
def _tile(
    typing: Any, c: Any, c0: Any, c_row: Any, a: Any, a0: Any, a_row: Any, a_term: Any, b: Any, b0: Any, b_term: Any,
    terms: Any, rows: Any, vectors: Any, add: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """c[r, :] (+)= Σ_k a[r, k] b[k, :] for a tile of ``rows`` × ``vectors``; flat arrays with offsets and strides."""
    i = types.intp
    return types.void(c, i, i, a, i, i, i, b, i, i, i, i, i, types.boolean), _emit_tile


def _emit_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vectors = Vectors(context, builder, signature.args[0].dtype)
    c, a, b = (vectors.pointer(signature.args[n], arguments[n], arguments[n + 1]) for n in (0, 3, 7))
    c_row, a_row, a_term, b_term, terms, n_rows, n_vectors, add = (arguments[n] for n in (2, 5, 6, 9, 10, 11, 12, 13))
    number = c_row.type

    def emit(width: int, height: int) -> None:
        cells = [(r, v) for r in range(height) for v in range(width)]
        places = [builder.add(builder.mul(c_row, number(r)), number(vectors.lanes * v)) for r, v in cells]
        rows = [builder.gep(a, [builder.mul(a_row, number(r))]) for r in range(height)]
        new = builder.block
        with builder.if_then(add):
            loaded = [vectors.load(c, place) for place in places]
            old = builder.block
        start = [builder.phi(vectors.vector) for _ in cells]
        for phi, value in zip(start, loaded, strict=True):
            phi.add_incoming(vectors.zero, new)
            phi.add_incoming(value, old)

        def left(k: Any) -> list[Any]:
            return [vectors.number(row, builder.mul(k, a_term)) for row in rows]

        def right(k: Any) -> list[Any]:
            at = builder.mul(k, b_term)
            return [vectors.load(b, builder.add(at, number(vectors.lanes * v))) for v in range(width)]

        for place, value in zip(places, vectors.tile(terms, start, left, right), strict=True):
            vectors.store(value, c, place)

    sizes = [(width, height) for width, most in ROWS.items() for height in (most, 4, 2, 1)]
    select_size(builder, (n_vectors, n_rows), sizes, emit)
    return context.get_dummy_value()


@intrinsic
def view(typing: Any, flat: Any, start: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """``flat[start:][:rows * columns]`` as a matrix, which nothing checks and which keeps ``flat`` not alive."""
    i = types.intp

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flat, start, rows, columns = arguments
        data = builder.gep(context.make_array(signature.args[0])(context, builder, flat).data, [start])
        size = columns.type(signature.return_type.dtype.bitwidth // 8)
        made = context.make_array(signature.return_type)(context, builder)
        stride = builder.mul(columns, size)
        shape, strides = cgutils.pack_array(builder, [rows, columns]), cgutils.pack_array(builder, [stride, size])
        populate_array(made, data, shape, strides, size, None)
        return made._getvalue()

    return types.Array(flat.dtype, 2, "C")(flat, i, i, i), emit


@intrinsic
def _fetch(typing: Any, array: Any, place: Any) -> tuple[Any, Any]:
    """Ask for the cache line at a place of a flat array, to be written or read soon."""
    return types.void(array, types.intp), _emit_fetch


def _emit_fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    for_writing, second_cache, of_data = number(1), number(2), number(1)
    line = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
    builder.call(prefetch, [line, for_writing, second_cache, of_data])
    return context.get_dummy_value()


@njit(**OPTIONS)
def multiply(
    c: Floats, a: Floats, a_row: Whole, a_term: Whole, b: Floats, terms: Whole, add: Whole, ahead: Floats
) -> None:
    """c[r] = Σ_k a(r, k) b[k] over k < ``terms``, with a(r, k) number r · a_row + k · a_term of ``a``.

    With ``add`` 1, and not 0, that is added to c.

    ``ahead`` is what will be needed next: after each tile a share of it is asked for, to arrive during the products.
    """
    n_rows = c.shape[0]
    lanes = BYTES // c.itemsize
    c_row, b_row = c.shape[1], b.shape[1]
    n_vectors = b_row // lanes
    n_tiles = n_rows * n_vectors // 24 + 1
    share, place = lanes * (ahead.size // (lanes * n_tiles) + 1), 0
    for start in range(0, terms, DEPTH):
        depth = min(DEPTH, terms - start)
        v = 0
        while v < n_vectors:
            # Five vectors are 3 + 2 rather than 4 + 1: a tile of one vector waits for its loads.
            width = 3 if n_vectors - v == 5 else min(4, n_vectors - v)
            r, height = 0, 6 if width == 4 else 8
            while r < n_rows:
                while height > n_rows - r:
                    height = 4 if height > 4 else height // 2
                _tile(
                    c, r * c_row + v * lanes, c_row, a, r * a_row + start * a_term, a_row, a_term,
                    b, start * b_row + v * lanes, b_row, depth, height, width, add != 0 or start > 0,
                )  # fmt: skip
                for line in range(place, min(place + share, ahead.size), lanes):
                    _fetch(ahead, line)
                place += share
                r += height
            v += width


@njit(**INSIDE)
def transpose(a: Floats, out: Floats, rows: Whole) -> None:
    """out = aᵀ for the first ``rows`` rows of a."""
    for j in range(out.shape[0]):
        for i in range(rows):
            out[j, i] = a[i, j]


def matrix(rows: int, columns: int, dtype: Any) -> np.ndarray:
    """Zeros, with padded rows."""
    return np.zeros((rows, padded(columns)), dtype)


#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1
#: Samples of a block; a multiple of the 32 bits of a word.
BLOCK = 64
#: Rows of the coefficients of a hidden layer: its activation is LeakyReLU(TIMES h + PLUS), and the derivative with
#: respect to h is TIMES d - LEVEL - TILT (h - CENTRE), where d is that with respect to what LeakyReLU gets.
TIMES, PLUS, CENTRE, LEVEL, TILT = range(5)
#: For what is compiled as if it stood where it is called.
PART = {**INSIDE, "inline": "always"}
#: As plain integers: for every literal number numba would compile what it is given to once more.
NO, ONE = np.int64(0), np.int64(1)


@njit(**OPTIONS)
def masks(
    mask: Words, units: Ints, samples: int, size: int, drop: int, key: Word, first: int, purposes: Keys, words: Words
) -> None:
    """Bit i % 32 of mask[step, layer, i // 32, j] := whether unit j is kept for the i-th sample of a step's batch.

    ``mask`` (steps, hidden layers, words for a batch, units) holds all steps, ``size`` samples in each but the last;
    the first has number ``first``. ``drop`` is a probability in units of 2⁻¹⁶; ``units``, ``purposes`` are the layers'.
    """
    k0, k1, below = key & LOW, key >> S32, np.uint16(drop - 1)
    for step in range(mask.shape[0]):
        n = min(size, samples - step * size)
        s0, s1 = np.uint64(first + step) & LOW, np.uint64(first + step) >> S32
        at_once = max(1, (2 * words.shape[0] - 16) // n)
        for layer in range(units.shape[0]):
            width, purpose = units[layer], purposes[layer]
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
                        mask[step, layer, group, j] = word


@njit(**OPTIONS)
def normals(
    out: Floats, units: int, samples: int, size: int, key: Word, first: int, purpose: Word, words: Words
) -> None:
    """out[step, j n + i] := the standard normal number of input j of the i-th of n samples of a step's batch."""
    for step in range(out.shape[0]):
        count = min(size, samples - step * size) * units
        count += count % 2
        fill_bits(words[:count], key, np.uint64(first + step), purpose)
        fill_normal(out[step, :count], words[:count])


@njit(**OPTIONS)
def relabel(
    labels: Ints, size: int, share: int, n_classes: int, key: Word, first: int, replaced: Word, other: Word,
    words: Words,
) -> None:  # fmt: skip
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
def add_moments(block: Floats, first: bool, s: Floats, sums: Floats) -> None:
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
def mean_and_variance(s: Floats, sums: Floats, n: int, mean: Floats, variance: Floats) -> None:
    """Mean and variance over all n samples, from the sums of their blocks; nan where those overflow.

    An infinite variance would make a unit constant, and a maximum would lose what is not a number.
    """
    for j in range(s.shape[1]):
        offset = sums[0, j] / n
        spread = sums[1, j] / n - offset * offset
        mean[j], variance[j] = s[CENTRE, j] + offset, 0.0 if spread <= 0.0 else spread if spread < np.inf else np.nan


@njit(**INSIDE)
def track(mean: Floats, variance: Floats, n: int, bias: Floats, running_mean: Floats, running_var: Floats) -> None:
    """Running statistics of BatchNorm: averages with weight 0.1, of the unbiased variance."""
    for j in range(mean.shape[0]):
        running_mean[j] += MOMENTUM * (mean[j] + bias[j] - running_mean[j])
        running_var[j] += MOMENTUM * (variance[j] * n / (n - 1) - running_var[j])


@njit(**OPTIONS)
def standardise(x: Floats, mean: Floats, variance: Floats, s: Floats, sums: Floats) -> None:
    """BatchNorm of the inputs, without its scale, in place."""
    T = x.dtype.type
    for start in range(0, x.shape[0], BLOCK):
        add_moments(x[start : start + BLOCK], start == 0, s, sums)
    mean_and_variance(s, sums, x.shape[0], mean, variance)
    for j in range(x.shape[1]):
        s[0, j] = T(mean[j])
        s[1, j] = T(1 / np.sqrt(variance[j] + EPSILON))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = (x[i, j] - s[0, j]) * s[1, j]


@njit(**INSIDE)
def activate(
    h: Floats, out: Floats, c: Floats, positive: float, negative: float, mask: Words, first: int, dropped: bool
) -> None:
    """out = LeakyReLU(TIMES h + PLUS), with its two slopes, times 0 where dropped: that keeps what is not finite."""
    zero = h.dtype.type(0)
    for i in range(h.shape[0]):
        if dropped:
            bits, place = mask[(first + i) >> 5], np.uint32((first + i) & 31)
            for j in range(h.shape[1]):
                z = h[i, j] * c[TIMES, j] + c[PLUS, j]
                z = z * positive if z > zero else z * negative
                out[i, j] = z if (bits[j] >> place) & np.uint32(1) else z * zero
        else:
            for j in range(h.shape[1]):
                z = h[i, j] * c[TIMES, j] + c[PLUS, j]
                out[i, j] = z * positive if z > zero else z * negative


@njit(**INSIDE)
def derivative(
    d: Floats, h: Floats, c: Floats, positive: float, negative: float, mask: Words, first: int, dropped: bool, s: Floats
) -> None:
    """d := d · ∂a/∂z; s becomes Σ d and Σ d (h - mean) over the block."""
    zero = h.dtype.type(0)
    for j in range(h.shape[1]):
        s[0, j] = s[1, j] = 0
    for i in range(h.shape[0]):
        if dropped:
            bits, place = mask[(first + i) >> 5], np.uint32((first + i) & 31)
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
def norm_derivative(d: Floats, h: Floats, out: Floats, c: Floats) -> None:
    """out = ∂loss/∂h from d = ∂loss/∂z."""
    for i in range(d.shape[0]):
        for j in range(d.shape[1]):
            out[i, j] = d[i, j] * c[TIMES, j] - c[LEVEL, j] - (h[i, j] - c[CENTRE, j]) * c[TILT, j]


@njit(**INSIDE)
def cross_entropy(output: Floats, classes: int, bias: Floats, labels: Ints, n: int) -> float:
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
def squared_error(
    output: Floats, units: int, bias: Floats, labels: Ints, targets: Floats, index: Ints, n: int
) -> float:
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
def adam(p: Floats, g: Floats, first: Floats, second: Floats, rate: float, t: int) -> None:
    """One step of Adam with PyTorch's defaults over all parameters at once; t counts from 1."""
    T = p.dtype.type
    b1, b2, eps, one = T(0.9), T(0.999), T(1e-8), T(1)
    size, root = T(rate / (1 - 0.9**t)), T(1 / np.sqrt(1 - 0.999**t))
    for i in range(p.shape[0]):
        first[i] = b1 * first[i] + (one - b1) * g[i]
        second[i] = b2 * second[i] + (one - b2) * g[i] * g[i]
        p[i] -= size * first[i] / (np.sqrt(second[i]) * root + eps)


@njit(**INSIDE)
def sgd(p: Floats, g: Floats, velocity: Floats, rate: float, momentum: float) -> None:
    """One step of gradient descent with (heavy-ball) momentum, as torch.optim.SGD."""
    T = p.dtype.type
    size, mu = T(rate), T(momentum)
    for i in range(p.shape[0]):
        velocity[i] = mu * velocity[i] + g[i]
        p[i] -= size * velocity[i]


@njit(**INSIDE)
def _coefficients(
    c: Floats, gain: Floats, shift: Floats, mean: Floats, variance: Floats, units: int, normed: bool
) -> None:
    """The coefficients by which a block of h becomes activations, and its mean."""
    T = c.dtype.type
    for j in range(units):
        if normed:
            g = gain[j] / np.sqrt(variance[j] + EPSILON)
            c[TIMES, j], c[PLUS, j], c[CENTRE, j] = T(g), T(shift[j] - mean[j] * g), T(mean[j])
        else:
            c[TIMES, j], c[PLUS, j], c[CENTRE, j] = T(1), shift[j], T(0)


@njit(**INSIDE)
def _finish_layer(
    c: Floats, gain: Floats, d_gain: Floats, d_shift: Floats, variance: Floats, units: int, n: int, sums: Floats,
    normed: bool, biased: bool,
) -> None:  # fmt: skip
    """Gradients of gain and shift, and the coefficients of :func:`.norm_derivative`."""
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
def _block(q: int, n: int, forward: bool) -> tuple[int, int]:
    """The samples of a pass's q-th block; none after the last."""
    block = q if forward else (n - 1) // BLOCK - q
    return min(n, max(0, block * BLOCK)), min(n, max(0, block * BLOCK + BLOCK))


@njit(**INSIDE)
def _scale_inputs(weight: Floats, product: Floats, gain: Floats, d_gain: Floats, units: int) -> None:
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
def _gather(x: Floats, samples: Floats, index: Ints, normals: Floats, step: int, inputs: int, noise: float) -> None:
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
def _fold(weight: Floats, folded: Floats, gain: Floats) -> None:
    """The scale of the input's BatchNorm folded into the first weights."""
    for k in range(weight.shape[0]):
        for j in range(weight.shape[1]):
            folded[k, j] = weight[k, j] * gain[k]


@njit(**INSIDE)
def _loss(out: Floats, net: Net, data: Data, labels: Ints, index: Ints, last: int) -> float:
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


@njit(**PART)
def _weight(net: Net, vector: Floats, layer: int) -> Floats:
    """A layer's weight (units below, padded units) in ``vector``, which is ``p`` or ``g``."""
    return view(vector, net.weight[layer], net.units[layer - 1], net.padded[layer])


@njit(**PART)
def _inputs(net: Net, work: Workspace, data: Data, steps: Steps, index: Ints, step: int) -> Floats:
    """The batch with its noise, normalised but not yet scaled if there is BatchNorm."""
    n = index.shape[0]
    x = work.x[:n]
    if steps.noise != 0 or n != data.x.shape[0]:
        _gather(x, data.x, index, work.normals, step, net.units[0], steps.noise)
        if net.normed:
            wide = x.shape[1]
            standardise(x, net.mean[0], net.variance[0], view(work.partial, 0, 3, wide), view(work.sums, 0, 2, wide))
    if net.normed:
        mean, variance = net.mean[0, : net.units[0]], net.variance[0, : net.units[0]]
        track(mean, variance, n, net.unlearnt[0], net.running_mean[0], net.running_var[0])
    return x


@njit(**PART)
def _activations(work: Workspace, steps: Steps, x: Floats, layer: int, drawn: int, start: int, stop: int) -> Floats:
    """What the samples of a block are below ``layer``: inputs, or activations, which are made anew."""
    lower = x[start:stop]
    if layer > 1:
        lower = work.lower[: stop - start]
        activate(
            work.h[layer - 2, start:stop], lower, work.coefficients[layer - 2], steps.positive, steps.negative,
            work.mask[drawn, layer - 2], start, steps.dropped,
        )  # fmt: skip
    return lower


@njit(**PART)
def _forward(net: Net, work: Workspace, steps: Steps, x: Floats, drawn: int, partial: Floats, sums: Floats) -> bool:
    """Fill ``work.h``, its coefficients and ``work.out``; whether the last pass went from the first block on."""
    n, last = x.shape[0], net.units.shape[0] - 1
    forward = False
    for layer in range(1, last + 1):
        weight, below = _weight(net, net.p, layer), net.units[layer - 1]
        if layer == 1 and net.normed:
            _fold(weight, work.folded, net.p[net.gain[0] :])
            weight = work.folded
        # Every pass begins with the blocks that the one before it left in the cache.
        forward = not forward
        for q in range((n + BLOCK - 1) // BLOCK):
            start, stop = _block(q, n, forward)
            lower = _activations(work, steps, x, layer, drawn, start, stop)
            if layer == last:
                multiply(work.out[start:stop], lower, lower.shape[1], ONE, weight, below, NO, lower[:0])
                continue
            h, (after, end) = work.h[layer - 1, start:stop], _block(q + 1, n, forward)
            multiply(h, lower, lower.shape[1], ONE, weight, below, NO, work.h[layer - 1, after:end])
            if net.normed:
                add_moments(h, q == 0, partial, sums)
        if layer < last:
            units, mean, variance = net.units[layer], net.mean[layer], net.variance[layer]
            if net.normed:
                mean_and_variance(partial, sums, n, mean, variance)
                average = net.running_mean[layer], net.running_var[layer]
                track(mean[:units], variance[:units], n, net.unlearnt[layer], average[0], average[1])
            gain, shift = net.p[net.gain[layer] :], net.p[net.shift[layer] :]
            _coefficients(work.coefficients[layer - 1], gain, shift, mean, variance, units, net.normed)
    return forward


@njit(**PART)
def _backward(
    net: Net, work: Workspace, steps: Steps, x: Floats, drawn: int, partial: Floats, sums: Floats, forward: bool
) -> None:
    """Fill ``net.g`` but for the last bias, from the derivatives in ``work.out`` and what :func:`_forward` left."""
    n, last = x.shape[0], net.units.shape[0] - 1
    for layer in range(last, 0, -1):
        units, below = net.units[layer], net.units[layer - 1]
        turned = view(work.turned, 0, units, net.padded[layer - 1])
        if layer > 1:
            transpose(_weight(net, net.p, layer), turned, below)
        for j in range(sums.shape[1]):
            sums[0, j] = sums[1, j] = 0
        forward = not forward
        for q in range((n + BLOCK - 1) // BLOCK):
            start, stop = _block(q, n, forward)
            after, end = _block(q + 1, n, forward)
            upper = work.out[start:stop]
            if layer < last:
                upper = work.upper[: stop - start]
                norm_derivative(work.d[start:stop], work.h[layer - 1, start:stop], upper, work.coefficients[layer - 1])
            lower = _activations(work, steps, x, layer, drawn, start, stop)
            d_weight = _weight(net, net.g, layer)
            multiply(d_weight, lower, ONE, lower.shape[1], upper, stop - start, ONE, work.d[after:end])
            if layer > 1:
                d, ahead = work.d[start:stop], work.h[layer - 2, after:end]
                multiply(d, upper, upper.shape[1], ONE, turned, units, NO, ahead)
                derivative(
                    d, work.h[layer - 2, start:stop], work.coefficients[layer - 2], steps.positive, steps.negative,
                    work.mask[drawn, layer - 2], start, steps.dropped, partial,
                )  # fmt: skip
                for j in range(sums.shape[1]):
                    sums[0, j] += partial[0, j]
                    sums[1, j] += partial[1, j]
        if layer > 1:
            gain, shift = net.gain[layer - 1], net.shift[layer - 1]
            _finish_layer(
                work.coefficients[layer - 2], net.p[gain:], net.g[gain:], net.g[shift:], net.variance[layer - 1], below,
                n, sums, net.normed, net.bias,
            )  # fmt: skip
    if net.normed:
        gain = net.gain[0]
        _scale_inputs(_weight(net, net.p, 1), _weight(net, net.g, 1), net.p[gain:], net.g[gain:], net.units[1])


@njit(**PART)
def _update(net: Net, steps: Steps, t: int) -> None:
    """The ``t``-th step, from 1, of the optimiser, after weight decay."""
    if steps.kept != 1:
        kept = net.p.dtype.type(steps.kept)
        for i in range(net.p.shape[0]):
            net.p[i] *= kept
    if steps.adam:
        adam(net.p, net.g, net.optimizer_state[0], net.optimizer_state[1], steps.rate, t)
    else:
        sgd(net.p, net.g, net.optimizer_state[0], steps.rate, steps.momentum)


@njit(**OPTIONS)
def run_steps(net: Net, work: Workspace, data: Data, steps: Steps, learns: bool, total: float) -> float:
    """Steps of an epoch; returns ``total`` and the loss of every sample, taken before its step's update.

    Leaves the last batch's gradient in ``net.g``; unless it ``learns``, parameters stay as they are. Its parts are
    inlined: whatever is compiled on its own is compiled again wherever it is called.
    """
    last, first = net.units.shape[0] - 1, net.padded[1]
    partial = view(work.partial, 0, 3, first)
    sums = view(work.sums, 0, 2, first)
    for begin in range(0, steps.order.shape[0], steps.size):
        index, labels = steps.order[begin : begin + steps.size], steps.labels[begin : begin + steps.size]
        step, n = begin // steps.size, index.shape[0]
        drawn = step if steps.dropped else 0
        x = _inputs(net, work, data, steps, index, step)
        forward = _forward(net, work, steps, x, drawn, partial, sums)
        loss = _loss(work.out[:n], net, data, labels, index, last)
        _backward(net, work, steps, x, drawn, partial, sums, forward)
        # Sums are made in float64, but a loss beyond the working precision is none: so it is in the other engines.
        finite = np.isfinite(net.p.dtype.type(loss * (net.units[last] if data.squared else 1)))
        total += (loss / n if finite else np.inf) * n
        if learns:
            _update(net, steps, steps.first + step + 1)
    return total


#: What of the specs this engine can do: each field it reads, and of names the values. All else is torch's.
_NUMBERS = (
    "depth width slope dropout batch_norm scale bias learning_rate momentum batch_size epochs data_noise label_noise "
    "schedule stop_loss stop_change weight_decay"
)
KNOWN: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(_NUMBERS.split(), ()),
    "init": ("torch", "orthogonal"),
    "optimizer": ("adam", "sgd"),
    "loss": ("cross_entropy", "mse"),
    "dtype": ("float32", "float64"),
}
NUMBERS = 2**16
"""Of noise, drawn at a time; but all of a step."""
PRODUCTS = 10**9
"""Weights times samples after which an interrupt is looked for: about a second."""


class Net(NamedTuple):
    """Parameters of one network, and where they lie; layer 0 is the input, the last one the output.

    ``p`` and ``g`` (parameters and gradient) hold for each layer gain, shift and, from layer 1, the weight with shape
    (units below, padded units). With BatchNorm gain and shift are γ and β, without it the shift is the bias.
    """

    units: np.ndarray
    """(layers,), and ``padded`` to whole vectors."""
    padded: np.ndarray
    weight: np.ndarray
    """(layers,): where each layer's weight begins in ``p``; so with ``gain`` and ``shift``."""
    gain: np.ndarray
    shift: np.ndarray
    p: np.ndarray
    g: np.ndarray
    optimizer_state: np.ndarray
    """(2, parameters): what Adam remembers; of it SGD uses the first row, as velocity."""
    mean: np.ndarray
    """(layers, widest), of the last batch, before gain and shift; so with ``variance``. Float64, as all to the end."""
    variance: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    unlearnt: np.ndarray
    """(layers, widest): biases that BatchNorm subtracts; they enter the running means only."""
    normed: bool
    bias: bool


class Workspace(NamedTuple):
    """Arrays for the steps of an epoch with batches of up to n samples; units are padded."""

    x: np.ndarray
    """(n, inputs): a batch; the whole training set where that is the batch, and has no noise."""
    h: np.ndarray
    """(hidden, n, units) before BatchNorm and activation."""
    d: np.ndarray
    """(n, units) derivatives with respect to what an activation gets."""
    out: np.ndarray
    """(n, outputs), then derivatives with respect to them."""
    upper: np.ndarray
    """(BLOCK, units) derivatives with respect to h; ``lower``: activations of the layer below."""
    lower: np.ndarray
    folded: np.ndarray
    """(inputs, units): the first weight times the scale of the input's BatchNorm."""
    turned: np.ndarray
    """A weight, transposed, flat."""
    coefficients: np.ndarray
    """(hidden, 5, units), see :data:`TIMES`."""
    partial: np.ndarray
    """(3, widest), flat, in the working precision: what :func:`add_moments` sums; ``sums`` (2, widest)."""
    sums: np.ndarray
    mask: np.ndarray
    """(steps, hidden, n / 32, units): a bit for each activation (:func:`masks`), or one step."""
    normals: np.ndarray
    """(steps, n · inputs) (:func:`normals`); (0, 0) without noise."""
    words: np.ndarray
    """Random words on their way into one of these."""


class Data(NamedTuple):
    """The training set, padded: x (samples, inputs); real targets (samples, 1), none if there are classes."""

    x: np.ndarray
    targets: np.ndarray
    squared: bool


class Steps(NamedTuple):
    """Steps of one epoch: ``order`` of their samples, the ``labels`` in that order, ``size`` of a batch."""

    order: np.ndarray
    labels: np.ndarray
    size: int
    first: int
    """Number of its first step."""
    dropped: bool
    positive: float
    """The slope of activations for positive arguments, over the share that dropout keeps, in the working precision."""
    negative: float
    noise: float
    adam: bool
    rate: float
    momentum: float
    kept: float
    """Of the parameters, before each step: 1 - rate · weight decay."""


def unsupported(network: Any, training: Training) -> str:
    """What in the specs of one member this engine does not know, in words; empty if nothing.

    Types have to be the very types: what derives from a known spec may mean something else. A field that is not in
    :data:`KNOWN` may have its default and no other value. For a field that joins a spec has a default under which
    networks are what they were without it, as the records of all results so far rely on; that both engines train the
    same network by default is tested.

    Examples
    --------
    >>> from deepmech.trainers import CNN
    >>> unsupported(CNN(), Training())
    'CNN'
    """
    for spec, kind in ((network, MLP), (training, Training)):
        name = type(spec).__name__
        if type(spec) is not kind:
            return name
        for field in fields(spec):
            value = getattr(spec, field.name)
            known = KNOWN.get(field.name, (field.default,))
            if known and value not in known:
                return f"{name}.{field.name} = {value!r}"
    return ""


class CompiledMLP:
    """Trains one member; as :class:`~deepmech.trainers.engines.torch_func.TorchEnsemble` does many."""

    #: Its products are made for weights that stay in the cache; with wider layers torch's own are faster. Of the
    #: plain torch's processor time it took 0.8 at width 400, 1.0 to 1.1 at 700, 1.3 at 1,200 (full and batches of 160).
    WIDEST = 700

    @staticmethod
    def prepare(data: Any, dtype: str) -> dict[str, Any]:
        """What all members share: the training set, raw, and normalised over the whole of it."""
        x = np.asarray(data.x_train, dtype=dtype)
        n, n_inputs = x.shape
        raw, normed = matrix(n, n_inputs, dtype), matrix(n, n_inputs, dtype)
        raw[:, :n_inputs] = normed[:, :n_inputs] = x
        mean, variance = np.zeros((2, raw.shape[1]))
        standardise(normed, mean, variance, matrix(3, n_inputs, dtype), matrix(2, n_inputs, "float64"))
        y, classes = np.asarray(data.y_train), int(data.n_classes or 0)
        return {
            "raw": raw, "normed": normed, "statistics": (mean, variance), "n_inputs": n_inputs, "n_classes": classes,
            "y": y.astype(np.int64) if classes else np.zeros(0, np.int64),
            "targets": np.zeros((0, 1), dtype) if classes else y.astype(dtype).reshape(-1, 1),
            "std": float(np.std(data.x_train, dtype=np.float64)),
        }  # fmt: skip

    def __init__(self, member: Member, shared: dict[str, Any]):
        assert isinstance(member.network, MLP)
        self.member, self.spec, self.shared = member, member.network, shared
        self.sizes = member.sizes(shared["n_inputs"], shared["n_classes"] or 1)
        self.normed, self.scale = bool(self.spec.batch_norm), member.scale
        self.dtype = member.training.dtype
        self.net = self._net()
        self.data = Data(shared["raw"], shared["targets"], str(member.training.loss) == "mse")
        self.work, self._made_for = self._buffers(0, 0, False, False), tuple[Any, ...]((0, 0, False, False))
        self.masked = np.array([stream_id(f"dropout {i}") for i in range(1, len(self.sizes) - 1)], np.uint64)

    def _net(self) -> Net:
        sizes, spec = self.sizes, self.spec
        wide = [padded(s) for s in sizes]
        starts: dict[str, list[int]] = {"gain": [], "shift": [], "weight": []}
        end = 0
        for i, size in enumerate(wide):
            for name, length in (("gain", size), ("shift", size), ("weight", sizes[i - 1] * size if i else 0)):
                starts[name].append(end)
                end += length
        vectors = (len(sizes), max(wide))
        net = Net(
            units=np.array(sizes),
            padded=np.array(wide),
            **{name: np.array(start) for name, start in starts.items()},
            p=np.zeros(end, self.dtype),
            g=np.zeros(end, self.dtype),
            optimizer_state=np.zeros((2, end), self.dtype),
            mean=np.zeros(vectors),
            variance=np.zeros(vectors),
            running_mean=np.zeros(vectors),
            running_var=np.ones(vectors),
            unlearnt=np.zeros(vectors),
            normed=self.normed,
            bias=bool(spec.bias),
        )
        for i, size in enumerate(sizes):
            net.p[starts["gain"][i] :][:size] = 1
        for i, (weight, bias) in enumerate(self.member.weights(sizes), start=1):
            self.part(net, net.p, "weight", i)[...] = weight
            if self.normed and i < len(sizes) - 1:
                # Biases whose gradient is zero because BatchNorm follows; they enter the running means only.
                net.unlearnt[i, : sizes[i]] = bias.astype(self.dtype)
            else:
                self.part(net, net.p, "shift", i)[...] = bias
        return net

    @staticmethod
    def part(net: Net, vector: np.ndarray, name: str, layer: int) -> np.ndarray:
        """The gain, shift or weight (out, in) of a layer as a view of ``vector``, which is ``p``, ``g`` or a moment."""
        units, below = net.units[layer], net.units[layer - 1]
        start = getattr(net, name)[layer]
        if name != "weight":
            return vector[start : start + units]
        return vector[start : start + below * net.padded[layer]].reshape(below, -1)[:, :units].T

    def _buffers(self, n: int, steps: int, dropped: bool, noisy: bool) -> Workspace:
        wide, hidden = [int(s) for s in self.net.padded], len(self.sizes) - 2
        numbers = n * self.sizes[0]
        most = max(wide)

        def zeros(*shape: int) -> np.ndarray:
            return np.zeros(shape, self.dtype)

        return Workspace(
            x=zeros(n, wide[0]),
            h=zeros(hidden, n, wide[1]),
            d=zeros(n, wide[1]),
            out=zeros(n, wide[-1]),
            upper=zeros(BLOCK, wide[1]),
            lower=zeros(BLOCK, wide[1]),
            folded=zeros(self.sizes[0], wide[1]),
            turned=zeros(max(units * below for units, below in zip(self.sizes[1:], wide, strict=False))),
            coefficients=zeros(hidden, 5, wide[1]),
            partial=zeros(3 * most),
            sums=np.zeros(2 * most),
            mask=np.zeros((steps if dropped else 1, hidden, -(-n // 32), wide[1]), np.uint32),
            normals=np.zeros((steps, numbers + numbers % 2) if noisy else (0, 0)),
            words=np.zeros(max(numbers + 1 if noisy else 0, 2048 + n), np.uint32),
        )

    def _begin(self, now: Settings, first: int, size: int, order: np.ndarray) -> tuple[Workspace, Steps]:
        """Workspace, and what holds in the steps over the samples in ``order``; their random numbers are drawn."""
        n, spec, shared, stream = len(self.data.x), self.member.training, self.shared, self.member.stream
        need = size, -(-len(order) // size), now.dropout > 0, now.data_noise > 0
        if any(map(operator.gt, need, self._made_for)):
            self._made_for = tuple(map(max, need, self._made_for))
            self.work = self._buffers(*self._made_for)
        work, steps, classes, key = self.work, need[1], shared["n_classes"], np.uint64(stream.key)
        drop, wrong = round(now.dropout * 65536), round(now.label_noise * 65536)
        labels = shared["y"][order] if classes else shared["y"]
        if drop:
            units = self.net.units[1:-1]
            masks(work.mask[:steps], units, len(order), size, drop, key, first, self.masked, work.words)
        if now.data_noise > 0:
            noise = np.uint64(stream_id("input noise"))
            normals(work.normals[:steps], self.sizes[0], len(order), size, key, first, noise, work.words)
        if wrong and classes:
            replaced, other = np.uint64(stream_id("label noise")), np.uint64(stream_id("random label"))
            relabel(labels, size, wrong, classes, key, first, replaced, other, work.words)
        positive, number = 1 / (1 - now.dropout) * self.scale, np.dtype(self.dtype).type
        if now.data_noise == 0 and size == n:
            work = work._replace(x=shared["normed" if self.normed else "raw"])
            if self.normed:
                mean, variance = shared["statistics"]
                self.net.mean[0, : len(mean)], self.net.variance[0, : len(mean)] = mean, variance
        return work, Steps(
            order=order, labels=labels, size=size, first=first, dropped=drop > 0,
            positive=number(positive), negative=number(positive * self.spec.slope),
            noise=now.data_noise * shared["std"], adam=str(spec.optimizer) == "adam", rate=now.learning_rate,
            momentum=float(spec.momentum), kept=1 - now.learning_rate * float(spec.weight_decay),
        )  # fmt: skip

    def step(self, epoch: int) -> np.ndarray:
        """One pass over the training set; the mean loss over its steps, each taken before its update, (1,)."""
        now, n = self.member.settings(epoch), len(self.data.x)
        first, size, order = self.member.order(epoch, n)
        # Of noise no more is drawn at a time than stays in the cache until it is used.
        piece = size * max(1, NUMBERS // (size * self.sizes[0])) if now.data_noise > 0 else n
        piece = min(piece, size * max(1, PRODUCTS // (size * len(self.net.p))))
        total = 0.0
        for begin in range(0, n, piece):
            check_cancelled()
            work, steps = self._begin(now, first + begin // size, size, order[begin : begin + piece])
            total = float(run_steps(self.net, work, self.data, steps, True, total))
        return np.array([total / n])

    def gradient(self, now: Settings, step: int, index: np.ndarray) -> float:
        """Loss of one batch; leaves the gradient of every parameter in ``self.net.g``."""
        work, constants = self._begin(now, step, len(index), index)
        return float(run_steps(self.net, work, self.data, constants, False, 0.0)) / len(index)

    @np.errstate(over="ignore", invalid="ignore")
    def features(self, x: np.ndarray, member: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
        """Evaluation mode: features of the input and every hidden layer, each (n, units), and the output."""
        net, sizes, last = self.net, self.sizes, len(self.sizes) - 1
        below = matrix(len(x), sizes[0], self.dtype)
        below[:, : sizes[0]] = x
        if self.normed:
            self._evaluate_norm(0, below)
        features = [below[:, : sizes[0]]]
        slope, scale = (np.dtype(self.dtype).type(v) for v in (self.spec.slope, self.scale))
        for i in range(1, last + 1):
            h = matrix(len(x), sizes[i], self.dtype)
            rows = net.p[net.weight[i] : net.weight[i] + sizes[i - 1] * net.padded[i]]
            weight = rows.reshape(sizes[i - 1], -1)
            multiply(h, below, below.shape[1], 1, weight, sizes[i - 1], 0, h[:0])
            if self.normed and i < last:
                self._evaluate_norm(i, h)
            else:
                h[:, : sizes[i]] += self.part(net, net.p, "shift", i)
            if i < last:
                np.multiply(h, slope, out=h, where=h < 0)
                h *= scale
            below = h
            features.append(h[:, : sizes[i]])
        return features[:-1], features[-1]

    @torch.no_grad()
    def model(self, member: int = 0) -> nn.Module:
        """The member as a module, in evaluation mode."""
        net, n_classes = self.net, self.shared["n_classes"]
        module: Any = build_network(self.member, (self.sizes[0],), n_classes or 1)
        for i, linear in enumerate(module.linear, start=1):
            linear.weight.copy_(torch.from_numpy(self.part(net, net.p, "weight", i).copy()))
            inner = self.normed and i < len(self.sizes) - 1
            bias = net.unlearnt[i, : self.sizes[i]] if inner else self.part(net, net.p, "shift", i)
            if linear.bias is not None:
                linear.bias.copy_(torch.from_numpy(bias))
        for i, norm in enumerate(module.norm):
            gain, shift = (self.part(net, net.p, name, i) for name in ("gain", "shift"))
            of = {
                norm.weight: gain,
                norm.bias: shift,
                norm.running_mean: net.running_mean[i],
                norm.running_var: net.running_var[i],
            }
            for tensor, values in of.items():
                tensor.copy_(torch.from_numpy(values[: self.sizes[i]]))
        return module.eval()

    def _evaluate_norm(self, i: int, h: np.ndarray) -> None:
        net, units = self.net, self.sizes[i]
        mean = net.running_mean[i, :units] - net.unlearnt[i, :units]
        g = self.part(net, net.p, "gain", i) / np.sqrt(net.running_var[i, :units] + EPSILON)
        b = self.part(net, net.p, "shift", i) - mean * g
        h[:, :units] *= g.astype(self.dtype)
        h[:, :units] += b.astype(self.dtype)
