"""Small matrix products in registers: the arithmetic of the fused engine.

A library's product of 100 × 100 numbers with a few samples spends its time on being called, and with thousands of
samples it has to send the result to memory before anybody may look at it. The products here work on blocks of samples
that stay in the nearest caches, inside one compiled training step. One *tile* of the result, a few rows by a few
vectors of numbers, is held in registers while the sum runs; tiles are emitted as LLVM vector code (a vector is 64
bytes: one AVX-512 register, two of AVX2, four of NEON). Each number is one sum in a fixed order, so results depend on
nothing but the factors and their shapes (products are fused with sums where the processor can).

Offsets and lengths are in numbers and are not checked. Rows of results and of right factors are padded to
:data:`PAD` numbers; what is in the padding comes out as the product of the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

PAD = 16
"""Rows are padded to a multiple of this: one vector of float32, two of float64."""
ROWS = {1: 8, 2: 8, 3: 8, 4: 6}
"""Largest tile, in rows, for each number of vectors side by side: at most 24 sums, of 32 registers."""
DEPTH = 256
"""Terms of a sum before the next piece of the right factor: what is used again and again stays in the caches."""


def padded(n: int) -> int:
    return -(-n // PAD) * PAD


@intrinsic
def _tile(typing, c, c0, c_row, a, a0, a_row, a_term, b, b0, b_term, terms, rows, vectors, add):
    """c[r, :] (+)= Σ_k a[r, k] b[k, :] for a tile of ``rows`` × ``vectors``; flat arrays with offsets and strides."""
    i = types.intp
    return types.void(c, i, i, a, i, i, i, b, i, i, i, i, i, types.boolean), _emit_tile


def _emit_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]).data for n in (0, 3, 7)]
    c0, c_row, a0, a_row, a_term, b0, b_term, terms, rows, vectors, add = (
        arguments[n] for n in (1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13)
    )
    number = context.get_value_type(signature.args[0].dtype)
    size = 4 if number == ir.FloatType() else 8
    lanes, index = 64 // size, ir.IntType(64)
    vector = ir.VectorType(number, lanes)
    first_lane = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
    undefined = ir.Constant(vector, ir.Undefined)

    def wide(pointer: Any) -> Any:
        return builder.bitcast(pointer, vector.as_pointer())

    def spread(scalar: Any) -> Any:
        one = builder.insert_element(undefined, scalar, ir.IntType(32)(0))
        return builder.shuffle_vector(one, undefined, first_lane)

    def emit(height: int, width: int, entry: Any) -> None:
        cells = [(r, v) for r in range(height) for v in range(width)]
        builder.position_at_end(entry)
        row = [builder.add(c0, builder.mul(c_row, index(r))) for r in range(height)]
        target = [wide(builder.gep(arrays[0], [builder.add(row[r], index(lanes * v))])) for r, v in cells]
        left = [builder.gep(arrays[1], [builder.add(a0, builder.mul(a_row, index(r)))]) for r in range(height)]
        right = builder.gep(arrays[2], [b0])
        old, loop, out = (builder.append_basic_block(name) for name in ("old", "loop", "out"))
        builder.cbranch(add, old, loop)
        builder.position_at_end(old)
        loaded = [builder.load(t, align=size) for t in target]
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(index)
        sums = [builder.phi(vector) for _ in cells]
        b = [
            builder.load(wide(builder.gep(right, [builder.add(builder.mul(k, b_term), index(lanes * v))])), align=size)
            for v in range(width)
        ]
        a = [spread(builder.load(builder.gep(p, [builder.mul(k, a_term)]))) for p in left]
        once = ("contract",)
        new = [
            builder.fadd(s, builder.fmul(a[r], b[v], flags=once), flags=once)
            for s, (r, v) in zip(sums, cells, strict=True)
        ]
        following = builder.add(k, index(1))
        for phi, start, before, after in zip(
            [k, *sums], [index(0)] + [ir.Constant(vector, None)] * len(cells), [index(0), *loaded], [following, *new],
            strict=True,
        ):  # fmt: skip
            phi.add_incoming(start, entry)
            phi.add_incoming(before, old)
            phi.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", following, terms), loop, out)
        builder.position_at_end(out)
        for t, value in zip(target, new, strict=True):
            builder.store(value, t, align=size)
        builder.branch(end)

    end = builder.append_basic_block("end")
    choice = builder.switch(builder.add(builder.mul(rows, index(8)), vectors), end)
    for width, most in ROWS.items():
        for height in range(1, most + 1):
            entry = builder.append_basic_block("tile")
            choice.add_case(index(8 * height + width), entry)
            emit(height, width, entry)
    builder.position_at_end(end)
    return context.get_dummy_value()


@intrinsic
def _fetch(typing, array, place):
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


@njit(nogil=True, cache=True, error_model="numpy")
def _tiles(c, c_row, n_rows, a, a_row, a_term, b, b_row, terms, add, ahead):
    """All tiles of c (+)= a b: ``n_rows`` rows as long as b's.

    ``ahead`` is what will be needed next: after each tile a share of it is asked for, to arrive during the products.
    """
    lanes = 64 // c.itemsize
    n_vectors = b_row // lanes
    n_tiles = n_rows * n_vectors // 24 + 1
    share, place = lanes * (ahead.shape[0] // (lanes * n_tiles) + 1), 0
    for start in range(0, terms, DEPTH):
        depth = min(DEPTH, terms - start)
        v = 0
        while v < n_vectors:
            # Five vectors are 3 + 2 rather than 4 + 1: a tile of one vector waits for its loads.
            width = 3 if n_vectors - v == 5 else min(4, n_vectors - v)
            count = -(-n_rows // (6 if width == 4 else 8))
            for t in range(count):
                r, after = n_rows * t // count, n_rows * (t + 1) // count
                _tile(  # type: ignore[call-arg]
                    c, r * c_row + v * lanes, c_row, a, r * a_row + start * a_term, a_row, a_term,
                    b, start * b_row + v * lanes, b_row, depth, after - r, width, add or start > 0,
                )  # fmt: skip
                for line in range(place, min(place + share, ahead.shape[0]), lanes):
                    _fetch(ahead, line)
                place += share
            v += width


@njit(nogil=True, cache=True, error_model="numpy")
def multiply(c, a, b, terms, ahead):
    """c = a[:, :terms] b[:terms]; meanwhile ``ahead`` comes nearer."""
    _tiles(
        c.reshape(-1), c.shape[1], c.shape[0], a.reshape(-1), a.shape[1], 1, b.reshape(-1), b.shape[1], terms, False,
        ahead.reshape(-1),
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def accumulate(c, a, b, ahead):
    """c += aᵀ b, of as many rows as c has; a and b have one row for each sample; meanwhile ``ahead`` comes nearer."""
    _tiles(
        c.reshape(-1), c.shape[1], c.shape[0], a.reshape(-1), 1, a.shape[1], b.reshape(-1), b.shape[1], len(a), True,
        ahead.reshape(-1),
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def transpose(a, out, rows):
    """out = aᵀ for the first ``rows`` rows of a."""
    for j in range(out.shape[0]):
        for i in range(rows):
            out[j, i] = a[i, j]


def matrix(rows: int, columns: int, dtype: Any) -> np.ndarray:
    """Zeros, with padded rows."""
    return np.zeros((rows, padded(columns)), dtype)
