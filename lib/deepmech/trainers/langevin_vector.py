"""Small matrix products in vector registers, written out for numba as LLVM code.

Two shapes of product make a network's step. In both, samples lie side by side in vectors of 64 bytes:

- :func:`rows`: out[j, b] = Σ_k w[j, k] a[k, b], the way forward (ReLU at the end) and back (zero where the unit below
  was silent). Up to six rows and four vectors of samples stay in registers while k runs.
- :func:`pairs`: g[j, i] += Σ_b d[j, b] a[i, b], the gradient. Up to four by four sums of vectors stay in registers
  while b runs; then the lanes are added, always in the same order.

Every product is a fused multiply-add and every sum has one order, so results do not depend on the processor's vector
width, nor on what else is computed. Compilers are not left to choose: at these sizes they take half the vector width,
and keep sums in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BYTES = 64
"""Length of a vector."""
ROWS, WIDE, SQUARE = 6, 4, 4
"""Largest tile of :func:`rows` (rows, vectors) and side of that of :func:`pairs`."""
LINEAR, RELU, WHERE_ACTIVE = 0, 1, 2
"""What happens to sums before they are stored."""


class _Code:
    """What both products need: vectors of the element type, loads, stores, splats and fused multiply-adds."""

    def __init__(self, context: Any, builder: Any, array_type: Any):
        self.context, self.b = context, builder
        self.element = context.get_value_type(array_type.dtype)
        self.size = context.get_abi_sizeof(self.element)
        self.lanes = BYTES // self.size
        self.vector = ir.VectorType(self.element, self.lanes)
        name = f"llvm.fma.v{self.lanes}f{8 * self.size}"
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        self._fma = cgutils.get_or_insert_function(builder.module, kind, name)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)

    def pointer(self, array_type: Any, array: Any) -> Any:
        return self.context.make_array(array_type)(self.context, self.b, array).data

    def load(self, base: Any, index: Any) -> Any:
        return self.b.load(self._at(base, index), align=self.size)

    def store(self, value: Any, base: Any, index: Any) -> None:
        self.b.store(value, self._at(base, index), align=self.size)

    def _at(self, base: Any, index: Any) -> Any:
        return self.b.bitcast(self.b.gep(base, [index]), self.vector.as_pointer())

    def splat(self, base: Any, index: Any) -> Any:
        one = self.b.load(self.b.gep(base, [index]))
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(undefined, one, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.b.shuffle_vector(first, undefined, everywhere)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return self.b.call(self._fma, [x, y, z])

    def positive(self, x: Any, then: Any) -> Any:
        """``then`` where x > 0, else 0."""
        return self.b.select(self.b.fcmp_ordered(">", x, self.zero), then, self.zero)

    def loop(self, count: Any, sums: int, body: Any) -> list[Any]:
        """``sums`` vectors, from zero, through ``body(i, sums)`` for i = 0 … count - 1 (count ≥ 1)."""
        before, inside = self.b.block, self.b.append_basic_block("sum")
        after = self.b.append_basic_block("summed")
        self.b.branch(inside)
        self.b.position_at_end(inside)
        i = self.b.phi(count.type)
        i.add_incoming(count.type(0), before)
        held = [self.b.phi(self.vector) for _ in range(sums)]
        new = body(i, held)
        more = self.b.add(i, count.type(1))
        i.add_incoming(more, inside)
        for phi, value in zip(held, new, strict=True):
            phi.add_incoming(self.zero, before)
            phi.add_incoming(value, inside)
        self.b.cbranch(self.b.icmp_signed("<", more, count), inside, after)
        self.b.position_at_end(after)
        return new

    def across(self, vectors: list[Any]) -> Any:
        """One vector that holds the sum over the lanes of each of the (at most ``lanes``) vectors."""
        vectors = vectors + [self.zero] * (self.lanes - len(vectors))
        numbers = ir.VectorType(ir.IntType(32), self.lanes)
        while len(vectors) > 1:
            # Of two vectors made of equal runs, the even and the odd entries: added, they are runs of half the length.
            even, odd = (ir.Constant(numbers, list(range(k, 2 * self.lanes, 2))) for k in (0, 1))
            vectors = [
                self.b.fadd(self.b.shuffle_vector(x, y, even), self.b.shuffle_vector(x, y, odd))
                for x, y in zip(vectors[::2], vectors[1::2], strict=True)
            ]
        return vectors[0]


@intrinsic
def _rows(typingctx, sizes, ending, out, o, s, w, w0, wj, wk, a, a0, count, active, c0):
    def emit(context: Any, b: Any, args: Any, n_rows: int, n_vectors: int) -> None:
        code = _Code(context, b, out)
        _, how, to, o_, s_, weights, w0_, wj_, wk_, below, a0_, count_, lit, c0_ = args
        to, weights, below = code.pointer(out, to), code.pointer(w, weights), code.pointer(a, below)
        lit = code.pointer(active, lit)
        number = o_.type

        def body(k: Any, sums: list[Any]) -> list[Any]:
            start = b.add(a0_, b.mul(k, s_))
            seen = [code.load(below, b.add(start, number(v * code.lanes))) for v in range(n_vectors)]
            new = []
            for j in range(n_rows):
                weight = code.splat(weights, b.add(b.add(w0_, b.mul(number(j), wj_)), b.mul(k, wk_)))
                new += [code.fma(weight, seen[v], sums[j * n_vectors + v]) for v in range(n_vectors)]
            return new

        sums = code.loop(count_, n_rows * n_vectors, body)
        plain, masked = (b.icmp_signed("==", how, how.type(k)) for k in (LINEAR, WHERE_ACTIVE))
        for j in range(n_rows):
            for v in range(n_vectors):
                value = sums[j * n_vectors + v]
                shift = b.add(b.mul(number(j), s_), number(v * code.lanes))
                test = b.select(masked, code.load(lit, b.add(c0_, shift)), value)
                code.store(b.select(plain, value, code.positive(test, value)), to, b.add(o_, shift))

    def codegen(context, builder, signature, args):
        chosen = [builder.extract_value(args[0], i) for i in range(2)]
        for n_rows in range(1, ROWS + 1):
            for n_vectors in (1, WIDE):
                with builder.if_then(_both(builder, chosen, (n_rows, n_vectors))):
                    emit(context, builder, args, n_rows, n_vectors)
        return context.get_dummy_value()

    word = types.int64
    pair = types.UniTuple(word, 2)
    return types.void(pair, word, out, word, word, w, word, word, word, a, word, word, active, word), codegen


@intrinsic
def _pairs(typingctx, sizes, out, d, d0, a, a0, s, vectors):
    def emit(context: Any, b: Any, args: Any, n_rows: int, n_columns: int) -> None:
        code = _Code(context, b, out)
        _, to, up, d0_, below, a0_, s_, vectors_ = args
        to, up, below = code.pointer(out, to), code.pointer(d, up), code.pointer(a, below)
        number = d0_.type

        def body(v: Any, sums: list[Any]) -> list[Any]:
            at = b.mul(v, number(code.lanes))
            x = [code.load(up, b.add(b.add(d0_, at), b.mul(number(j), s_))) for j in range(n_rows)]
            y = [code.load(below, b.add(b.add(a0_, at), b.mul(number(i), s_))) for i in range(n_columns)]
            return [code.fma(x[j], y[i], sums[j * n_columns + i]) for j in range(n_rows) for i in range(n_columns)]

        sums = code.loop(vectors_, n_rows * n_columns, body)
        for first in range(0, len(sums), code.lanes):
            code.store(code.across(sums[first : first + code.lanes]), to, number(first))

    def codegen(context, builder, signature, args):
        chosen = [builder.extract_value(args[0], i) for i in range(2)]
        for n_rows in range(1, SQUARE + 1):
            for n_columns in range(1, SQUARE + 1):
                with builder.if_then(_both(builder, chosen, (n_rows, n_columns))):
                    emit(context, builder, args, n_rows, n_columns)
        return context.get_dummy_value()

    word = types.int64
    return types.void(types.UniTuple(word, 2), out, d, word, a, word, word, word), codegen


def _both(builder: Any, chosen: Any, wanted: tuple[int, int]) -> Any:
    first, second = (builder.icmp_signed("==", c, c.type(n)) for c, n in zip(chosen, wanted, strict=True))
    return builder.and_(first, second)


@njit(nogil=True, cache=True, error_model="numpy")
def rows(ending, out, o, n_rows, w, w0, wj, wk, a, a0, count, active, c0, s, n):
    """out[o + j s + b] = Σ_k w[w0 + j wj + k wk] a[a0 + k s + b] for j < n_rows, k < count, b < n.

    Arrays are flat and of one type; rows of samples lie ``s`` apart, ``n`` and ``s`` are multiples of a vector's
    length. ``ending`` says what becomes of the sums: LINEAR, RELU, or WHERE_ACTIVE (0 unless active[c0 + j s + b] > 0);
    ``active`` is looked at in any case, so it has to hold as many numbers.
    """
    lanes = BYTES // out.itemsize
    tiles = -(-n_rows // ROWS)
    b = 0
    while b < n:
        wide = WIDE if n - b >= WIDE * lanes else 1
        first = 0
        for tile in range(tiles):
            last = (n_rows * (tile + 1)) // tiles
            sizes = (last - first, wide)
            to, weight, mask = o + first * s + b, w0 + first * wj, c0 + first * s + b
            _rows(  # type: ignore[call-arg]
                sizes, ending, out, to, s, w, weight, wj, wk, a, a0 + b, count, active, mask
            )
            first = last
        b += wide * lanes


@njit(nogil=True, cache=True, error_model="numpy")
def pairs(g, g0, d, d0, n_rows, a, a0, n_columns, s, n, small):
    """g[g0 + j n_columns + i] += Σ_b d[d0 + j s + b] a[a0 + i s + b], b < n; ``g`` is float64, ``small`` holds 16."""
    lanes = BYTES // small.itemsize
    down, across = -(-n_rows // SQUARE), -(-n_columns // SQUARE)
    top = 0
    for p in range(down):
        bottom = (n_rows * (p + 1)) // down
        left = 0
        for q in range(across):
            right = (n_columns * (q + 1)) // across
            sizes = (bottom - top, right - left)
            _pairs(  # type: ignore[call-arg]
                sizes, small, d, d0 + top * s, a, a0 + left * s, s, n // lanes
            )
            for j in range(sizes[0]):
                for i in range(sizes[1]):
                    g[g0 + (top + j) * n_columns + left + i] += small[j * sizes[1] + i]
            left = right
        top = bottom


def vectors(dtype: str) -> int:
    """Samples in a vector: 16 in float32, 8 in float64."""
    return BYTES // np.dtype(dtype).itemsize
