"""The compiled engine of fully connected networks: a whole epoch, forward and backward, in one call of machine code.

Kernels release Python's lock for the whole epoch, so that networks train beside one another on as many cores as there
are; they work in float32 and float64. Agreement with plain autograd is tested parameter by parameter.

Backpropagation, with layer l of a network of L layers, a₀ the inputs, and m the dropout mask over the share it keeps::

    forward    h_l = a_{l-1} W_l     z_l = BatchNorm(h_l), or h_l + bias     a_l = m_l LeakyReLU(z_l)
    backward   ∂W_l = a_{l-1}ᵀ ∂h_l     ∂a_{l-1} = ∂h_l W_lᵀ     ∂z = ∂a ∂a/∂z     ∂h = ∂z through BatchNorm

:func:`run_steps` is that, in :func:`forward`, :func:`output_derivative`, :func:`backward` and :func:`update`.

Cache traffic. A layer's activations of a whole batch fit into no near cache, so every line of the above runs through
blocks of samples that do (:mod:`.blocks`). Only h of each layer is kept: forward, a block of h becomes activations in a
scratch block, which is multiplied at once; backward, the same is done again, which is cheaper than to fetch what was
stored. The passes over a batch, L forward and L backward, go up and down by turns: each begins with the blocks that the
one before it left in the cache.

Sums over the batch are taken in the working precision within a block and in float64 from block to block; their order
depends on the shapes alone, so a network's bits do not depend on what is trained beside it.

The random numbers of an epoch are those of its network's stream, drawn before its steps (dropout: one bit for each
activation); each kind is compiled when a network first wants it.
"""

from __future__ import annotations

import operator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from deepmech.core.compiled import Floats, Ints, Keys, Word, Words, njit
from deepmech.core.random import LOW, S32, fill_bits, fill_normal, philox, stream_id
from deepmech.trainers.engines.compiled.blocks import (
    AS_IS,
    BLOCK,
    GRAD_MEAN,
    GRAD_SLOPE,
    MEAN,
    SCALE,
    SHIFT,
    TRANSPOSED,
    activate,
    block,
    derivative,
    matrix,
    multiply,
    norm_derivative,
    padded,
    transpose,
    view,
)
from deepmech.trainers.engines.compiled.tiles import INSIDE, OPTIONS
from deepmech.trainers.modules import build_network
from deepmech.trainers.run import check_cancelled
from deepmech.trainers.specs import MLP, Member, Settings, Training

#: PyTorch's BatchNorm constants.
EPSILON, MOMENTUM = 1e-5, 0.1
#: For what is compiled as if it stood where it is called: on its own it would be compiled once more for each caller.
PART = {**INSIDE, "inline": "always"}


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
    frozen_bias: np.ndarray
    """(layers, widest): biases that BatchNorm subtracts; they enter the running means only."""
    normed: bool
    bias: bool


class Workspace(NamedTuple):
    """Arrays for the steps of an epoch with batches of up to n samples; units are padded."""

    x: np.ndarray
    """(n, inputs): a batch; the whole training set where that is the batch, and has no noise."""
    h: np.ndarray
    """(n, units) of every layer from the first, flat: before BatchNorm and activation; the last are the outputs."""
    d: np.ndarray
    """(n, units) ∂loss/∂z, with z what an activation gets."""
    dh: np.ndarray
    """(BLOCK, units) ∂loss/∂h; ``a``: activations of the layer below."""
    a: np.ndarray
    scaled_weight: np.ndarray
    """(inputs, units): the first weight times the scale of the input's BatchNorm."""
    weight_T: np.ndarray
    """A weight, transposed, flat."""
    coefficients: np.ndarray
    """(layers, 5, units), see :data:`~.blocks.SCALE`."""
    partial: np.ndarray
    """(3, widest) sums over a block, in the working precision; ``sums`` (2, widest) over the batch, in float64."""
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
    decay_factor: float
    """Of the parameters, before each step: 1 - rate · weight decay."""


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


@njit(**PART)
def add_sums(s: Floats, first: bool, sums: Floats) -> None:
    """Add to ``sums`` over a batch those over a block."""
    for j in range(s.shape[1]):
        sums[0, j] = (0.0 if first else sums[0, j]) + s[0, j]
        sums[1, j] = (0.0 if first else sums[1, j]) + s[1, j]


@njit(**INSIDE)
def add_moments(block: Floats, first: bool, s: Floats, sums: Floats) -> None:
    """Add Σ (x - c) and Σ (x - c)² of a block to ``sums``, where c, in s[MEAN], is the mean of the first block.

    So near to the mean of all, the sums lose no digits, and one visit to each block is enough.
    """
    n, units = block.shape
    T = block.dtype.type
    if first:
        for j in range(units):
            s[MEAN, j] = 0
        for i in range(n):
            for j in range(units):
                s[MEAN, j] += block[i, j] * T(1.0 / n)
    for j in range(units):
        s[0, j] = s[1, j] = 0
    for i in range(0, n - 1, 2):
        for j in range(units):
            e, f = block[i, j] - s[MEAN, j], block[i + 1, j] - s[MEAN, j]
            s[0, j] += e + f
            s[1, j] += e * e + f * f
    for i in range(n - n % 2, n):
        for j in range(units):
            e = block[i, j] - s[MEAN, j]
            s[0, j] += e
            s[1, j] += e * e
    add_sums(s, first, sums)


@njit(**INSIDE)
def mean_and_variance(s: Floats, sums: Floats, n: int, mean: Floats, variance: Floats) -> None:
    """Mean and variance over all n samples, from the sums of their blocks; nan where those overflow.

    An infinite variance would make a unit constant, and a maximum would lose what is not a number.
    """
    for j in range(mean.shape[0]):
        offset = sums[0, j] / n
        spread = sums[1, j] / n - offset * offset
        mean[j], variance[j] = s[MEAN, j] + offset, 0.0 if spread <= 0.0 else spread if spread < np.inf else np.nan


@njit(**PART)
def track(net: Net, layer: int, n: int) -> None:
    """Running statistics of BatchNorm: averages with weight 0.1, of the unbiased variance."""
    for j in range(net.units[layer]):
        mean, variance = net.mean[layer, j] + net.frozen_bias[layer, j], net.variance[layer, j] * n / (n - 1)
        net.running_mean[layer, j] += MOMENTUM * (mean - net.running_mean[layer, j])
        net.running_var[layer, j] += MOMENTUM * (variance - net.running_var[layer, j])


@njit(**OPTIONS)
def standardise(x: Floats, mean: Floats, variance: Floats, s: Floats, sums: Floats) -> None:
    """BatchNorm of the inputs, without its scale, in place."""
    T, units = x.dtype.type, x.shape[1]
    for start in range(0, x.shape[0], BLOCK):
        add_moments(block(x, start, min(start + BLOCK, x.shape[0])), start == 0, s, sums)
    mean_and_variance(s, sums, x.shape[0], mean[:units], variance[:units])
    for j in range(units):
        s[0, j] = T(mean[j])
        s[1, j] = T(1 / np.sqrt(variance[j] + EPSILON))
    for i in range(x.shape[0]):
        for j in range(units):
            x[i, j] = (x[i, j] - s[0, j]) * s[1, j]


@njit(**PART)
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


@njit(**PART)
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


@njit(**PART)
def adam(p: Floats, g: Floats, first: Floats, second: Floats, rate: float, t: int) -> None:
    """One step of Adam with PyTorch's defaults over all parameters at once; t counts from 1."""
    T = p.dtype.type
    b1, b2, eps, one = T(0.9), T(0.999), T(1e-8), T(1)
    size, root = T(rate / (1 - 0.9**t)), T(1 / np.sqrt(1 - 0.999**t))
    for i in range(p.shape[0]):
        first[i] = b1 * first[i] + (one - b1) * g[i]
        second[i] = b2 * second[i] + (one - b2) * g[i] * g[i]
        p[i] -= size * first[i] / (np.sqrt(second[i]) * root + eps)


@njit(**PART)
def sgd(p: Floats, g: Floats, velocity: Floats, rate: float, momentum: float) -> None:
    """One step of gradient descent with (heavy-ball) momentum, as torch.optim.SGD."""
    T = p.dtype.type
    size, mu = T(rate), T(momentum)
    for i in range(p.shape[0]):
        velocity[i] = mu * velocity[i] + g[i]
        p[i] -= size * velocity[i]


@njit(**PART)
def weight_of(net: Net, vector: Floats, layer: int) -> Floats:
    """A layer's weight (units below, padded units) in ``vector``, which is ``p`` or ``g``."""
    return view(vector, net.weight[layer], net.units[layer - 1], net.padded[layer])


@njit(**PART)
def h_of(net: Net, work: Workspace, layer: int, n: int) -> Floats:
    """A layer's h (n, padded units), from the first layer; the hidden ones are of one width."""
    return view(work.h, (layer - 1) * n * net.padded[1], n, net.padded[layer])


@njit(**PART)
def bounds(number: int, n: int, upwards: bool) -> tuple[int, int]:
    """Where a pass's block of samples begins and ends."""
    begin = BLOCK * (number if upwards else (n - 1) // BLOCK - number)
    return begin, min(n, begin + BLOCK)


@njit(**PART)
def take_batch(net: Net, work: Workspace, data: Data, steps: Steps, index: Ints, step: int) -> Floats:
    """The batch with its noise, normalised but not yet scaled if there is BatchNorm."""
    n = index.shape[0]
    x = block(work.x, 0, n)
    if steps.noise != 0 or n != data.x.shape[0]:
        for i in range(n):
            for j in range(x.shape[1]):
                x[i, j] = data.x[index[i], j]
        if steps.noise > 0:
            T = x.dtype.type
            for i in range(n):
                for j in range(net.units[0]):
                    x[i, j] += T(work.normals[step, j * n + i]) * T(steps.noise)
        if net.normed:
            standardise(x, net.mean[0], net.variance[0], work.partial, work.sums)
    if net.normed:
        track(net, 0, n)
    return x


@njit(**PART)
def coefficients_of(work: Workspace, layer: int) -> Floats:
    """A hidden layer's coefficients (5, padded units), see :data:`~.blocks.SCALE`."""
    wide = work.coefficients.shape[2]
    return view(work.coefficients, 5 * layer * wide, 5, wide)


@njit(**PART)
def mask_of(work: Workspace, layer: int, drawn: int, start: int) -> Words:
    """A hidden layer's mask from a sample on, the first of a block."""
    _, hidden, words, wide = work.mask.shape
    return view(work.mask, ((drawn * hidden + layer - 1) * words + start // 32) * wide, 1, wide)


@njit(**PART)
def activations(
    net: Net, work: Workspace, steps: Steps, x: Floats, layer: int, drawn: int, start: int, stop: int
) -> Floats:
    """What the samples of a block are in ``layer``: inputs, or activations, which are made anew."""
    a = block(x, start, stop)
    if layer > 0:
        a, h = block(work.a, 0, stop - start), block(h_of(net, work, layer, x.shape[0]), start, stop)
        mask, c = mask_of(work, layer, drawn, start), coefficients_of(work, layer)
        activate(a, h, c, mask, steps.dropped, steps.positive, steps.negative)
    return a


@njit(**PART)
def set_coefficients(net: Net, layer: int, c: Floats) -> None:
    """By which h becomes what an activation gets: BatchNorm of this batch, or the bias."""
    T, gain, shift = c.dtype.type, net.gain[layer], net.shift[layer]
    for j in range(net.units[layer]):
        c[SCALE, j], c[SHIFT, j], c[MEAN, j] = T(1), net.p[shift + j], T(0)
        if net.normed:
            mean, scale = net.mean[layer, j], net.p[gain + j] / np.sqrt(net.variance[layer, j] + EPSILON)
            c[SCALE, j], c[SHIFT, j], c[MEAN, j] = T(scale), T(net.p[shift + j] - mean * scale), T(mean)


@njit(**PART)
def norm_gradient(net: Net, layer: int, n: int, sums: Floats, c: Floats) -> None:
    """Gradients of gain and shift from Σ ∂z and Σ ∂z (h - mean), and the coefficients of :func:`.norm_derivative`."""
    T, gain, shift = c.dtype.type, net.gain[layer], net.shift[layer]
    for j in range(net.units[layer]):
        net.g[shift + j] = T(sums[0, j]) if net.normed or net.bias else T(0)
        if net.normed:
            inverse = 1 / np.sqrt(net.variance[layer, j] + EPSILON)
            net.g[gain + j] = T(sums[1, j] * inverse)
            # ∂h = g (∂z - mean(∂z) - ĥ mean(∂z ĥ)) with ĥ = (h - mean) · inverse and g = γ · inverse.
            g = net.p[gain + j] * inverse
            c[GRAD_MEAN, j], c[GRAD_SLOPE, j] = T(g * sums[0, j] / n), T(g * inverse * inverse * sums[1, j] / n)


@njit(**PART)
def forward(net: Net, work: Workspace, steps: Steps, x: Floats, drawn: int) -> None:
    """h_l = a_{l-1} W_l of every layer, and the coefficients that make activations of it; the last are the outputs."""
    n, last = x.shape[0], net.units.shape[0] - 1
    for layer in range(1, last + 1):
        weight, h = weight_of(net, net.p, layer), h_of(net, work, layer, n)
        hidden, upwards = layer < last, layer % 2 > 0
        if layer == 1 and net.normed:
            for k in range(weight.shape[0]):
                for j in range(weight.shape[1]):
                    work.scaled_weight[k, j] = weight[k, j] * net.p[net.gain[0] + k]
            weight = work.scaled_weight
        for number in range((n + BLOCK - 1) // BLOCK):
            start, stop = bounds(number, n, upwards)
            a = activations(net, work, steps, x, layer - 1, drawn, start, stop)
            h_block = block(h, start, stop)
            multiply(h_block, a, weight, AS_IS)
            if hidden and net.normed:
                add_moments(h_block, number == 0, work.partial, work.sums)
        if hidden and net.normed:
            units = net.padded[layer]
            mean_and_variance(work.partial, work.sums, n, net.mean[layer, :units], net.variance[layer, :units])
            track(net, layer, n)
        if hidden:
            set_coefficients(net, layer, coefficients_of(work, layer))


@njit(**PART)
def output_derivative(net: Net, data: Data, output: Floats, labels: Ints, index: Ints) -> float:
    """The batch's loss, summed; ``output`` becomes ∂loss/∂output, and the gradient zero but for the last bias."""
    n, last = output.shape[0], net.units.shape[0] - 1
    bias = net.p[net.shift[last] :]
    if data.squared:
        loss = squared_error(output, net.units[last], bias, labels, data.targets, index, n)
    else:
        loss = cross_entropy(output, net.units[last], bias, labels, n)
    for i in range(net.g.shape[0]):
        net.g[i] = 0
    if net.bias:
        for i in range(n):
            for k in range(net.units[last]):
                net.g[net.shift[last] + k] += output[i, k]
    return loss


@njit(**PART)
def backward(net: Net, work: Workspace, steps: Steps, x: Floats, drawn: int) -> None:
    """Fill ``net.g`` but for the last bias, from ∂loss/∂output and what :func:`forward` left."""
    n, last = x.shape[0], net.units.shape[0] - 1
    for layer in range(last, 0, -1):
        h, d_weight, upwards = h_of(net, work, layer, n), weight_of(net, net.g, layer), layer % 2 == 0
        h_below, c_below = h_of(net, work, max(1, layer - 1), n), coefficients_of(work, layer - 1)
        weight_T = view(work.weight_T, 0, net.units[layer], net.padded[layer - 1])
        if layer > 1:
            transpose(weight_of(net, net.p, layer), weight_T)
        for number in range((n + BLOCK - 1) // BLOCK):
            start, stop = bounds(number, n, upwards)
            dh, d = block(h, start, stop), block(work.d, start, stop)
            if layer < last:
                dh = block(work.dh, 0, stop - start)
                norm_derivative(dh, d, block(h, start, stop), coefficients_of(work, layer))
            a = activations(net, work, steps, x, layer - 1, drawn, start, stop)
            multiply(d_weight, a, dh, TRANSPOSED)
            if layer > 1:
                mask, below = mask_of(work, layer - 1, drawn, start), block(h_below, start, stop)
                multiply(d, dh, weight_T, AS_IS)
                derivative(d, below, c_below, mask, steps.dropped, steps.positive, steps.negative, work.partial)
                add_sums(work.partial, number == 0, work.sums)
        if layer > 1:
            norm_gradient(net, layer - 1, n, work.sums, c_below)
    if net.normed:
        # With a₀ = γ x̂ and P = x̂ᵀ ∂h, which d_weight is now, ∂W_kj = γ_k P_kj and ∂γ_k = Σ_j W_kj P_kj: no third pass.
        weight, product = weight_of(net, net.p, 1), weight_of(net, net.g, 1)
        for k in range(weight.shape[0]):
            total = 0.0
            for j in range(net.units[1]):
                total += weight[k, j] * product[k, j]
                product[k, j] *= net.p[net.gain[0] + k]
            net.g[net.gain[0] + k] = net.g.dtype.type(total)


@njit(**PART)
def update(net: Net, steps: Steps, t: int) -> None:
    """The ``t``-th step, from 1, of the optimiser, after weight decay."""
    if steps.decay_factor != 1:
        for i in range(net.p.shape[0]):
            net.p[i] *= net.p.dtype.type(steps.decay_factor)
    if steps.adam:
        adam(net.p, net.g, net.optimizer_state[0], net.optimizer_state[1], steps.rate, t)
    else:
        sgd(net.p, net.g, net.optimizer_state[0], steps.rate, steps.momentum)


@njit(**OPTIONS)
def run_steps(net: Net, work: Workspace, data: Data, steps: Steps, learns: bool, total: float) -> float:
    """Steps of an epoch; returns ``total`` and the loss of every sample, taken before its step's update.

    Leaves the last batch's gradient in ``net.g``; unless it ``learns``, parameters stay as they are.
    """
    last = net.units.shape[0] - 1
    for begin in range(0, steps.order.shape[0], steps.size):
        index, labels = steps.order[begin : begin + steps.size], steps.labels[begin : begin + steps.size]
        step, n = begin // steps.size, index.shape[0]
        drawn = step if steps.dropped else 0
        x = take_batch(net, work, data, steps, index, step)
        forward(net, work, steps, x, drawn)
        loss = output_derivative(net, data, h_of(net, work, last, n), labels, index)
        backward(net, work, steps, x, drawn)
        # Sums are made in float64, but a loss beyond the working precision is none: so it is in the other engines.
        finite = np.isfinite(net.p.dtype.type(loss * (net.units[last] if data.squared else 1)))
        total += (loss / n if finite else np.inf) * n
        if learns:
            update(net, steps, steps.first + step + 1)
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
            frozen_bias=np.zeros(vectors),
            normed=self.normed,
            bias=bool(spec.bias),
        )
        for i, size in enumerate(sizes):
            net.p[starts["gain"][i] :][:size] = 1
        for i, (weight, bias) in enumerate(self.member.weights(sizes), start=1):
            self.part(net, net.p, "weight", i)[...] = weight
            if self.normed and i < len(sizes) - 1:
                # Biases whose gradient is zero because BatchNorm follows; they enter the running means only.
                net.frozen_bias[i, : sizes[i]] = bias.astype(self.dtype)
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
            h=zeros(n * sum(wide[1:])),
            d=zeros(n, wide[1]),
            dh=zeros(BLOCK, wide[1]),
            a=zeros(BLOCK, wide[1]),
            scaled_weight=zeros(self.sizes[0], wide[1]),
            weight_T=zeros(max(units * below for units, below in zip(self.sizes[1:], wide, strict=False))),
            coefficients=zeros(hidden + 1, 5, wide[1]),
            partial=zeros(3, most),
            sums=np.zeros((2, most)),
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
            momentum=float(spec.momentum), decay_factor=1 - now.learning_rate * float(spec.weight_decay),
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
            multiply(h, below, weight, AS_IS)
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
            bias = net.frozen_bias[i, : self.sizes[i]] if inner else self.part(net, net.p, "shift", i)
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
        mean = net.running_mean[i, :units] - net.frozen_bias[i, :units]
        g = self.part(net, net.p, "gain", i) / np.sqrt(net.running_var[i, :units] + EPSILON)
        b = self.part(net, net.p, "shift", i) - mean * g
        h[:, :units] *= g.astype(self.dtype)
        h[:, :units] += b.astype(self.dtype)
