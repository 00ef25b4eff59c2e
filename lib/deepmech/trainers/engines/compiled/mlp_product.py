"""Small matrix products in registers: the arithmetic of the compiled engine.

A library's product of 100 × 100 numbers with a few samples spends its time on being called, and with thousands of
samples it has to send the result to memory before anybody may look at it. The products here work on blocks of samples
that stay in the nearest caches. One *tile* of the result (:mod:`.tiles`), a few rows by a few vectors of 64 bytes, is
held in registers while the sum runs. Each number is one sum in a fixed order (fused where the processor can).

Rows of results and of right factors are padded to
:data:`PAD` numbers; what is in the padding comes out as the product of the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from deepmech.core.compiled import njit
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS, Vectors, choose

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
def _tile(typing, c, c0, c_row, a, a0, a_row, a_term, b, b0, b_term, terms, rows, vectors, add):
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
    choose(builder, (n_vectors, n_rows), sizes, emit)
    return context.get_dummy_value()


@intrinsic
def view(typing, flat, start, rows, columns):
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


@njit(**OPTIONS)
def multiply(c, a, a_row, a_term, b, terms, add, ahead):
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
                _tile(  # type: ignore[call-arg]
                    c, r * c_row + v * lanes, c_row, a, r * a_row + start * a_term, a_row, a_term,
                    b, start * b_row + v * lanes, b_row, depth, height, width, add != 0 or start > 0,
                )  # fmt: skip
                for line in range(place, min(place + share, ahead.size), lanes):
                    _fetch(ahead, line)
                place += share
                r += height
            v += width


@njit(**INSIDE)
def transpose(a, out, rows):
    """out = aᵀ for the first ``rows`` rows of a."""
    for j in range(out.shape[0]):
        for i in range(rows):
            out[j, i] = a[i, j]


def matrix(rows: int, columns: int, dtype: Any) -> np.ndarray:
    """Zeros, with padded rows."""
    return np.zeros((rows, padded(columns)), dtype)
