"""Small matrix products in vector registers.

Two shapes of product make a network's step. In both, samples lie side by side in vectors of 64 bytes:

- :func:`rows`: out[j, b] = Σ_k w[j, k] a[k, b], the way forward (ReLU at the end) and back (zero where the unit below
  was silent). Up to six rows and four vectors of samples stay in registers while k runs.
- :func:`pairs`: g[j, i] += Σ_b d[j, b] a[i, b], the gradient. Up to four by four sums of vectors stay in registers
  while b runs; then the lanes are added, always in the same order.

Every product is a fused multiply-add and every sum has one order (:mod:`.tiles`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from deepmech.core.compiled import njit
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, Vectors, choose

ROWS, WIDE, SQUARE = 6, 4, 4
"""Largest tile of :func:`rows` (rows, vectors) and side of that of :func:`pairs`. Every size is compiled, so there are
few: fours and threes make every number from six on, and small tiles wait for their own sums."""
LINEAR, RELU, WHERE_ACTIVE = 0, 1, 2
"""What happens to sums before they are stored."""


def _across(code: Vectors, vectors: list[Any]) -> Any:
    """One vector that holds the sum over the lanes of each of the (at most ``lanes``) vectors."""
    vectors = vectors + [code.zero] * (code.lanes - len(vectors))
    while len(vectors) > 1:
        # Of two vectors made of equal runs, the even and the odd entries: added, they are runs of half the length.
        even, odd = (range(k, 2 * code.lanes, 2) for k in (0, 1))
        vectors = [
            code.builder.fadd(code.shuffle(x, y, even), code.shuffle(x, y, odd))
            for x, y in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


@intrinsic
def _rows(typingctx, sizes, ending, out, o, s, w, w0, wj, wk, a, a0, count, active, c0):
    def codegen(context, b, signature, args):
        code = Vectors(context, b, out.dtype)
        chosen, how, _, o_, s_, _, w0_, wj_, wk_, _, a0_, count_, _, c0_ = args
        to, weights, below, lit = (code.pointer(signature.args[n], args[n]) for n in (2, 5, 9, 12))
        number = o_.type

        def emit(n_rows: int, n_vectors: int) -> None:
            def left(k: Any) -> list[Any]:
                places = [b.add(b.add(w0_, b.mul(number(j), wj_)), b.mul(k, wk_)) for j in range(n_rows)]
                return [code.number(weights, place) for place in places]

            def right(k: Any) -> list[Any]:
                start = b.add(a0_, b.mul(k, s_))
                return [code.load(below, b.add(start, number(v * code.lanes))) for v in range(n_vectors)]

            sums = code.tile(count_, [code.zero] * (n_rows * n_vectors), left, right, fused=True)
            plain, masked = (b.icmp_signed("==", how, how.type(k)) for k in (LINEAR, WHERE_ACTIVE))
            for j in range(n_rows):
                for v in range(n_vectors):
                    value = sums[j * n_vectors + v]
                    shift = b.add(b.mul(number(j), s_), number(v * code.lanes))
                    test = b.select(masked, code.load(lit, b.add(c0_, shift)), value)
                    kept = b.select(b.fcmp_ordered(">", test, code.zero), value, code.zero)
                    code.store(b.select(plain, value, kept), to, b.add(o_, shift))

        tiles = [(n_rows, n_vectors) for n_rows in (ROWS, 4, 3, 1) for n_vectors in (1, WIDE)]
        choose(b, [b.extract_value(chosen, i) for i in range(2)], tiles, emit)
        return context.get_dummy_value()

    word = types.int64
    pair = types.UniTuple(word, 2)
    return types.void(pair, word, out, word, word, w, word, word, word, a, word, word, active, word), codegen


@intrinsic
def _pairs(typingctx, sizes, out, d, d0, a, a0, s, vectors):
    def codegen(context, b, signature, args):
        code = Vectors(context, b, out.dtype)
        chosen, _, _, d0_, _, a0_, s_, vectors_ = args
        to, up, below = (code.pointer(signature.args[n], args[n]) for n in (1, 2, 4))
        number = d0_.type

        def emit(n_rows: int, n_columns: int) -> None:
            def side(pointer: Any, begin: Any, n: int) -> Any:
                def of(v: Any) -> list[Any]:
                    at = b.add(begin, b.mul(v, number(code.lanes)))
                    return [code.load(pointer, b.add(at, b.mul(number(j), s_))) for j in range(n)]

                return of

            zeros = [code.zero] * (n_rows * n_columns)
            sums = code.tile(vectors_, zeros, side(up, d0_, n_rows), side(below, a0_, n_columns), fused=True)
            for first in range(0, len(sums), code.lanes):
                code.store(_across(code, sums[first : first + code.lanes]), to, first)

        tiles = [(n_rows, n_columns) for n_rows in (SQUARE, 3, 1) for n_columns in (SQUARE, 3, 1)]
        choose(b, [b.extract_value(chosen, i) for i in range(2)], tiles, emit)
        return context.get_dummy_value()

    word = types.int64
    return types.void(types.UniTuple(word, 2), out, d, word, a, word, word, word), codegen


@njit(**INSIDE)
def _next(left, largest):
    """How many of ``left`` rows the next tile takes, so that no tile of one is needed if it can be helped."""
    if left >= largest and left - largest not in (1, 2, 5):
        return largest
    if left >= 4 and left not in (6, 9):
        return 4
    return 3 if left >= 3 else 1


@njit(**INSIDE)
def rows(ending, out, o, n_rows, w, w0, wj, wk, a, a0, count, active, c0, s, n):
    """out[o + j s + b] = Σ_k w[w0 + j wj + k wk] a[a0 + k s + b] for j < n_rows, k < count, b < n.

    Arrays are flat and of one type; rows of samples lie ``s`` apart, ``n`` and ``s`` are multiples of a vector's
    length. ``ending`` says what becomes of the sums: LINEAR, RELU, or WHERE_ACTIVE (0 unless active[c0 + j s + b] > 0);
    ``active`` is looked at in any case, so it has to hold as many numbers.
    """
    lanes = BYTES // out.itemsize
    b = 0
    while b < n:
        wide = WIDE if n - b >= WIDE * lanes else 1
        first = 0
        while first < n_rows:
            sizes = (_next(n_rows - first, ROWS), wide)
            to, weight, mask = o + first * s + b, w0 + first * wj, c0 + first * s + b
            _rows(  # type: ignore[call-arg]
                sizes, ending, out, to, s, w, weight, wj, wk, a, a0 + b, count, active, mask
            )
            first += sizes[0]
        b += wide * lanes


@njit(**INSIDE)
def pairs(g, g0, d, d0, n_rows, a, a0, n_columns, s, n, small):
    """g[g0 + j n_columns + i] += Σ_b d[d0 + j s + b] a[a0 + i s + b], b < n; ``g`` is float64, ``small`` holds 16."""
    lanes = BYTES // small.itemsize
    top = 0
    while top < n_rows:
        down = _next(n_rows - top, SQUARE)
        left = 0
        while left < n_columns:
            across = _next(n_columns - left, SQUARE)
            _pairs(  # type: ignore[call-arg]
                (down, across), small, d, d0 + top * s, a, a0 + left * s, s, n // lanes
            )
            for j in range(down):
                for i in range(across):
                    g[g0 + (top + j) * n_columns + left + i] += small[j * across + i]
            left += across
        top += down


def vectors(dtype: str) -> int:
    """Samples in a vector: 16 in float32, 8 in float64."""
    return BYTES // np.dtype(dtype).itemsize
