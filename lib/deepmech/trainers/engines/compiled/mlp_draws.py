"""The random numbers of one epoch of a fully connected network, those of its stream, drawn before its steps.

Each kind is compiled when a network first wants it.
"""

import numpy as np

from deepmech.core.compiled import njit
from deepmech.core.philox import LOW, S32, fill_bits, fill_normal, philox
from deepmech.trainers.engines.compiled.tiles import OPTIONS


@njit(**OPTIONS)
def masks(keep, units, samples, size, drop, key, first, purposes, words):
    """Bit i % 32 of keep[step, layer, i // 32, j] := whether unit j is kept for the i-th sample of a step's batch.

    ``keep`` (steps, hidden layers, words for a batch, units) holds all steps, ``size`` samples in each but the last;
    the first has number ``first``. ``drop`` is a probability in units of 2⁻¹⁶; ``units``, ``purposes`` are the layers'.
    """
    below = np.uint16(drop - 1)
    k0, k1 = key & LOW, key >> S32
    for step in range(keep.shape[0]):
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
