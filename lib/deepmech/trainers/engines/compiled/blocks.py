"""What a fully connected network does to a block of samples, in vector registers: products, activations, statistics.

A library's product of 100 × 100 numbers with a few samples spends its time on being called, and with thousands of
samples it has to send the result to memory before anybody may look at it. Here samples go in blocks that stay in the
nearest caches. Arrays are sample-major, with rows padded to :data:`PAD` numbers; what is in the padding comes out as
the product of the padding.

- :func:`multiply` holds one *tile* of the result (:mod:`.tiles`), a few rows by a few vectors of 64 bytes, in registers
  while the sum runs. Each number is one sum in a fixed order (fused where the processor can).
- :func:`activate`, :func:`derivative` and :func:`norm_derivative` go down the rows, one vector of columns after
  another, with that vector's coefficients and sums in registers (:func:`_down_columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array

from deepmech.core.compiled import Floats, Whole, intrinsic, njit
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS, Lanes, Vectors, select_size

PAD = 16
"""Rows are padded to a multiple of this: one vector of float32, two of float64."""
ROWS = {1: 8, 2: 8, 3: 8, 4: 6}
"""Largest tile, in rows, for each number of vectors side by side: at most 24 sums, of 32 registers.

What is left over goes in tiles of 4, 2 and 1 rows.
"""
DEPTH = 256
"""Terms of a sum before the next piece of the right factor: what is used again and again stays in the caches."""
BLOCK = 64
"""Samples of a block; a multiple of the 32 bits of a word of a dropout mask."""
SCALE, SHIFT, MEAN, GRAD_MEAN, GRAD_SLOPE = range(5)
"""Rows of a hidden layer's coefficients: z = SCALE h + SHIFT is what its activation gets, and with MEAN that of h
∂loss/∂h = SCALE ∂loss/∂z - GRAD_MEAN - GRAD_SLOPE (h - MEAN)."""
#: Whether the left factor of a product is transposed. As plain integers: for every literal numba would compile anew.
AS_IS, TRANSPOSED = np.int64(0), np.int64(1)


def padded(n: int) -> int:
    return -(-n // PAD) * PAD


def matrix(rows: int, columns: int, dtype: Any) -> np.ndarray:
    """Zeros, with padded rows."""
    return np.zeros((rows, padded(columns)), dtype)


def _matrix(context: Any, builder: Any, signature: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
    data = builder.gep(context.make_array(signature.args[0])(context, builder, array).data, [start])
    size = columns.type(signature.return_type.dtype.bitwidth // 8)
    made = context.make_array(signature.return_type)(context, builder)
    stride = builder.mul(columns, size)
    shape, strides = cgutils.pack_array(builder, [rows, columns]), cgutils.pack_array(builder, [stride, size])
    populate_array(made, data, shape, strides, size, None)
    return made._getvalue()


@intrinsic
def view(typing: Any, array: Any, start: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """``array.ravel()[start:][:rows * columns]`` as a matrix, which nothing checks, and which keeps nothing alive."""
    i = types.intp
    return types.Array(array.dtype, 2, "C")(array, i, i, i), lambda *code: _matrix(*code[:3], *code[3])


@intrinsic
def block(typing: Any, matrix: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """``matrix[start:stop]`` as :func:`view` has it: numba's own slices take long to compile."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix, start, stop = arguments
        columns = builder.extract_value(context.make_array(signature.args[0])(context, builder, matrix).shape, 1)
        begin, rows = builder.mul(start, columns), builder.sub(stop, start)
        return _matrix(context, builder, signature, matrix, begin, rows, columns)

    return types.Array(matrix.dtype, 2, "C")(matrix, types.intp, types.intp), emit


@intrinsic
def _tile(typing: Any, c: Any, a: Any, b: Any, transposed: Any, corner: Any, size: Any) -> tuple[Any, Any]:
    """The tile of c (+)= a b that begins at row, column and term ``corner``, of ``size`` rows, vectors and terms.

    With ``transposed``, of c += aᵀ b.
    """
    i = types.UniTuple(types.intp, 3)
    return types.void(c, a, b, types.intp, i, i), _emit_tile


def _emit_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    dtype = signature.args[0].dtype
    c, a, b = (context.make_array(t)(context, builder, v) for t, v in zip(signature.args, arguments[:3], strict=False))
    c_row, a_row, b_row = (builder.extract_value(array.shape, 1) for array in (c, a, b))
    row, column, term = cgutils.unpack_tuple(builder, arguments[4], 3)
    n_rows, n_vectors, n_terms = cgutils.unpack_tuple(builder, arguments[5], 3)
    number, transposed = c_row.type, builder.icmp_signed("!=", arguments[3], arguments[3].type(0))
    steps = [number(1), a_row]
    by_row, by_term = (builder.select(transposed, *pair) for pair in (steps, steps[::-1]))

    def place(array: Any, r: Any, step: Any, k: Any, other: Any) -> Any:
        return builder.gep(array.data, [builder.add(builder.mul(r, step), builder.mul(k, other))])

    add = builder.or_(transposed, builder.icmp_signed(">", term, number(0)))
    at = place(c, row, c_row, column, number(1)), place(a, row, by_row, term, by_term)
    passed = [*at, place(b, term, b_row, column, number(1)), c_row, by_row, by_term, b_row, n_rows, n_vectors, n_terms]
    # A function of its own, which stands once in each program and not wherever a product is called.
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in (*passed, add)])
    tile = cgutils.get_or_insert_function(builder.module, kind, f"tile.{dtype}")
    if tile.is_declaration:
        tile.linkage = "internal"
        tile.attributes.add("noinline")
        _define_tile(Vectors(context, ir.IRBuilder(tile.append_basic_block()), dtype), *tile.args)
    builder.call(tile, [*passed, add])
    return context.get_dummy_value()


def _define_tile(
    vectors: Vectors, c: Any, a: Any, b: Any, c_row: Any, by_row: Any, by_term: Any, b_row: Any, n_rows: Any,
    n_vectors: Any, n_terms: Any, add: Any,
) -> None:  # fmt: skip
    builder, number = vectors.builder, c_row.type

    def emit(width: int, height: int) -> None:
        cells = [(r, v) for r in range(height) for v in range(width)]
        places = [builder.add(builder.mul(c_row, number(r)), number(vectors.lanes * v)) for r, v in cells]
        rows = [builder.gep(a, [builder.mul(by_row, number(r))]) for r in range(height)]
        new = builder.block
        with builder.if_then(add):
            loaded = [vectors.load(c, place) for place in places]
            old = builder.block
        start = [builder.phi(vectors.vector) for _ in cells]
        for phi, value in zip(start, loaded, strict=True):
            phi.add_incoming(vectors.zero, new)
            phi.add_incoming(value, old)

        def left(k: Any) -> list[Any]:
            return [vectors.number(row, builder.mul(k, by_term)) for row in rows]

        def right(k: Any) -> list[Any]:
            at = builder.mul(k, b_row)
            return [vectors.load(b, builder.add(at, number(vectors.lanes * v))) for v in range(width)]

        for place, value in zip(places, vectors.tile(n_terms, start, left, right), strict=True):
            vectors.store(value, c, place)

    sizes = [(width, height) for width, most in ROWS.items() for height in (most, 4, 2, 1)]
    select_size(builder, (n_vectors, n_rows), sizes, emit)
    builder.ret_void()


@njit(**OPTIONS)
def multiply(c: Floats, a: Floats, b: Floats, transposed: Whole) -> None:
    """c = a b, or c += aᵀ b with ``transposed``; of a's padded columns (rows) as many count as b has rows."""
    n_rows, terms, lanes = c.shape[0], b.shape[0], BYTES // c.itemsize
    n_vectors = b.shape[1] // lanes
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
                _tile(c, a, b, transposed, (r, v * lanes, start), (height, width, depth))
                r += height
            v += width


@njit(**INSIDE)
def transpose(a: Floats, out: Floats) -> None:
    for j in range(out.shape[0]):
        for i in range(a.shape[0]):
            out[j, i] = a[i, j]


def _down_columns(row: Callable[..., Any], read: Sequence[int], table: int, mask: int = 0, sums: int = 0) -> Any:
    """Code that goes down the rows of a block (n, units), one vector of columns after another.

    The numbers say which arguments are what. ``row(c, *read)``, with c those of the ``table`` of coefficients, gives
    what is written to the first argument and two terms, which are added up into the rows of ``sums``. With a ``mask``,
    after which come whether anything is dropped and two slopes, it gets these and where a bit of the mask is set, too.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature.args[0].dtype)
        arrays = {
            k: context.make_array(kind)(context, builder, value)
            for k, (kind, value) in enumerate(zip(signature.args, arguments, strict=True))
            if isinstance(kind, types.Array)
        }
        (n, units), word = cgutils.unpack_tuple(builder, arrays[0].shape, 2), ir.IntType(32)
        number, words = units.type, ir.VectorType(word, v.lanes)

        def columns(dropped: bool) -> None:
            slopes = [Lanes(v, v.spread(slope)) for slope in arguments[mask + 2 : mask + 4]] if mask else []

            def column(which: Any, _: Any) -> list[Any]:
                at = builder.mul(which, number(v.lanes))

                def place(k: int, i: Any) -> Any:
                    start = builder.mul(i, builder.extract_value(arrays[k].shape, 1))
                    return builder.gep(arrays[k].data, [builder.add(start, at)])

                def is_kept(i: Any) -> Any:
                    line = builder.bitcast(place(mask, builder.lshr(i, number(5))), words.as_pointer())
                    bit = builder.shl(word(1), builder.trunc(builder.and_(i, number(31)), word))
                    bits = builder.and_(builder.load(line, align=4), v.spread(bit))
                    return builder.icmp_unsigned("!=", bits, ir.Constant(words, None))

                def down(i: Any, totals: list[Any]) -> list[Any]:
                    x = [Lanes(v, v.load(place(k, i))) for k in read]
                    kept = [is_kept(i) if dropped else None] if mask else []
                    new, *terms = row(c, *x, *slopes, *kept)
                    v.store(new.value, place(0, i))
                    return [(Lanes(v, total) + term).value for total, term in zip(totals, terms, strict=True)]

                c = [Lanes(v, v.load(place(table, number(k)))) for k in range(5)]
                for k, total in enumerate(v.loop(n, [v.zero, v.zero] if sums else [], down)):
                    v.store(total, place(sums, number(k)))
                return []

            v.loop(builder.sdiv(units, number(v.lanes)), [], column)

        if mask:
            with builder.if_else(arguments[mask + 1]) as (dropping, keeping):
                with dropping:
                    columns(True)
                with keeping:
                    columns(False)
        else:
            columns(False)
        return context.get_dummy_value()

    return emit


@intrinsic
def activate(typing: Any, a: Any, h: Any, c: Any, mask: Any, dropped: Any, up: Any, down: Any) -> tuple[Any, Any]:
    """a = LeakyReLU(z) with z = SCALE h + SHIFT and slopes ``up`` and ``down``, times 0 where dropped.

    A product with 0 keeps what is not finite.
    """

    def row(c: list[Lanes], h: Lanes, up: Lanes, down: Lanes, kept: Any) -> tuple[Lanes]:
        z = h * c[SCALE] + c[SHIFT]
        a = (z * up).where(z > 0, z * down)
        return (a.where(kept, a * 0),)

    return types.void(a, h, c, mask, dropped, h.dtype, h.dtype), _down_columns(row, [1], 2, mask=3)


@intrinsic
def derivative(
    typing: Any, d: Any, h: Any, c: Any, mask: Any, dropped: Any, up: Any, down: Any, sums: Any
) -> tuple[Any, Any]:
    """From d = ∂loss/∂a to d = ∂loss/∂z, of which ``sums`` become Σ d and Σ d (h - MEAN) over the block."""

    def row(c: list[Lanes], d: Lanes, h: Lanes, up: Lanes, down: Lanes, kept: Any) -> tuple[Lanes, ...]:
        dz = (d * up.where(h * c[SCALE] + c[SHIFT] > 0, down)).where(kept, 0)
        return dz, dz, dz * (h - c[MEAN])

    return types.void(d, h, c, mask, dropped, h.dtype, h.dtype, sums), _down_columns(row, [0, 1], 2, mask=3, sums=7)


@intrinsic
def norm_derivative(typing: Any, dh: Any, d: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """dh = ∂loss/∂h from d = ∂loss/∂z, through BatchNorm."""

    def row(c: list[Lanes], d: Lanes, h: Lanes) -> tuple[Lanes]:
        return (d * c[SCALE] - c[GRAD_MEAN] - (h - c[MEAN]) * c[GRAD_SLOPE],)

    return types.void(dh, d, h, c), _down_columns(row, [1, 2], 3)
