"""The vector operations of which a step of the convolutional network is made, as numba intrinsics.

The lanes of a vector are samples (a *block* of them), so that nothing depends on how many channels there are. A layer's
map is cut into *tiles* of 2×2 pixels, those of its pooling. By Winograd's minimal filtering a 3×3 convolution gives one
tile from 4×4 pixels with 16 products for each pair of channels in place of 36: along either axis, with pixels x₀ … x₃
and weights w₀, w₁, w₂,

    x₀ - x₂,  x₁ + x₂,  x₂ - x₁,  x₁ - x₃   times   w₀,  (w₀ + w₁ + w₂) / 2,  (w₀ - w₁ + w₂) / 2,  w₂

are m₀ … m₃, and y₀ = m₀ + m₁ + m₂ and y₁ = m₁ - m₂ - m₃ are the two outputs. Where upsampling has made every tile
constant, x₁ = x₂ and the third product is zero: 9 of the 16 are left. ``pixels`` says that it was not so, because of
dropout or because the map is the image. The 16 are numbered 4 · row + column; each has its own plane in an array.

Arrays are flat (:mod:`.tiles`), float32 or float64, all of one kind in a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from deepmech.trainers.engines.compiled.tiles import Vectors, choose

ROWS, COLUMNS = (5, 4, 1), (5, 1)
"""Of the tiles of a product: the largest one's 25 sums and what they are made of fill 32 registers."""
#: What is kept for every channel: gain and shift of h -> z, mean of h, the two constants of BatchNorm's gradient, sign
#: of the gain, and the number near the mean from which the moments are taken.
GAIN, SHIFT, MEAN, LEVEL, TILT, SIGN, NEAR = range(7)
CONSTANTS = 8
#: What holds everywhere: the slope, and the factor of what dropout keeps.
SLOPE, FACTOR = 0, 1


class Code(Vectors):
    """Vectors with the little arithmetic that is needed here; terms that are None are zero."""

    def at(self, place: Any, *shifts: tuple[int, Any]) -> Any:
        """``place`` plus Σ count · stride."""
        for count, stride in shifts:
            place = self.builder.add(place, self.builder.mul(stride, stride.type(count))) if count else place
        return place

    def plus(self, *terms: Any) -> Any:
        first, *others = [t for t in terms if t is not None]
        for term in others:
            first = self.builder.fadd(first, term)
        return first

    def minus(self, x: Any, *terms: Any) -> Any:
        for term in terms:
            x = x if term is None else self.builder.fsub(self.zero if x is None else x, term)
        return x

    def times(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y)

    def choice(self, x: Any, y: Any) -> Any:
        """Where x > y."""
        return self.builder.fcmp_ordered(">", x, y)

    def where(self, which: Any, x: Any, y: Any) -> Any:
        return self.builder.select(which, x, y)

    def bits(self, words: Any, place: Any) -> Any:
        """A truth value for each lane, from the low bits of a number."""
        word = self.builder.load(self.builder.gep(words, [place]))
        width = word.type.width
        low = word if self.lanes == width else self.builder.trunc(word, ir.IntType(self.lanes))
        return self.builder.bitcast(low, ir.VectorType(ir.IntType(1), self.lanes))


def _function(emit: Callable[..., None]) -> Any:
    """What ``emit(code, …)`` writes, as a function of arrays and whole numbers; the first array sets the precision."""

    def function(typing: Any, *given: Any) -> Any:
        kinds = [kind if isinstance(kind, types.Array) else types.intp for kind in given]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, signature.args[0].dtype)
            values = [
                code.pointer(kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            emit(code, *values)
            return context.get_dummy_value()

        return types.void(*kinds), generate

    # numba wants to know the arguments by name: those of ``emit``, but for what a partial function has already.
    names = [name for name, p in inspect.signature(emit).parameters.items() if p.kind is not p.KEYWORD_ONLY]
    places = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *names[1:])]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]
    return intrinsic(function)


def _product(
    code: Code, c, c0, c_row, c_column, a, a0, a_row, a_term, b, b0, b_column, b_term, terms, rows, columns,
    outer,
):  # fmt: skip
    c, a, b = (code.builder.gep(array, [start]) for array, start in ((c, c0), (a, a0), (b, b0)))

    def emit(width: int, height: int) -> None:
        places = [code.at(c_row.type(0), (r, c_row), (v, c_column)) for r in range(height) for v in range(width)]
        lefts = [code.at(a_row.type(0), (r, a_row)) for r in range(height)]
        rights = [code.at(b_term.type(0), (v, b_column)) for v in range(width)]

        def left(k: Any) -> list[Any]:
            at = code.builder.mul(k, a_term)
            return [(code.load if outer else code.number)(a, code.builder.add(at, place)) for place in lefts]

        def right(k: Any) -> list[Any]:
            at = code.builder.mul(k, b_term)
            return [code.load(b, code.builder.add(at, place)) for place in rights]

        start = [code.load(c, place) if outer else code.zero for place in places]
        for place, value in zip(places, code.tile(terms, start, left, right), strict=True):
            code.store(value, c, place)

    choose(code.builder, (columns, rows), product(COLUMNS, ROWS), emit)


#: c[r, v] = Σ_k a[r, k] b[k, v] for a tile, where c and b are vectors of samples, and a numbers.
product_tile = _function(partial(_product, outer=False))
#: c[r, v] += Σ_k a[r, k] b[k, v], lane by lane: all are vectors.
outer_tile = _function(partial(_product, outer=True))


def _planes(pixels: bool) -> tuple[int, ...]:
    """Along one axis, the products that are not zero."""
    return (0, 1, 2, 3) if pixels else (0, 1, 3)


def _filtered(code: Code, x: list[Any], pixels: bool) -> list[Any]:
    """What is multiplied along one axis, from four pixels, or from three tiles."""
    x0, x1, x2, x3 = x if pixels else (x[0], x[1], x[1], x[2])
    return [code.minus(x0, x2), code.plus(x1, x2), code.minus(x2, x1) if pixels else None, code.minus(x1, x3)]


def _unfiltered(code: Code, v: list[Any], pixels: bool) -> list[Any]:
    """The transpose of :func:`_filtered`."""
    v0, v1, v2, v3 = v
    if pixels:
        return [v0, code.plus(code.minus(v1, v2), v3), code.minus(code.plus(v1, v2), v0), code.minus(None, v3)]
    return [v0, code.minus(code.plus(v1, v1, v3), v0), code.minus(None, v3)]


def _both(along: Callable[[list[Any]], list[Any]], grid: list[list[Any]]) -> list[list[Any]]:
    """``along`` applied to the columns of a grid and then to its rows; rows of None stay."""
    columns = [along(list(column)) for column in zip(*grid, strict=True)]
    return [along(list(row)) if row[0] is not None else [None] * 4 for row in zip(*columns, strict=True)]


def _enter(code: Code, v, at, plane, x, x0, row, pixels):
    n = 4 if pixels else 3
    grid = [[code.load(x, code.at(x0, (r, row), (c, row.type(code.lanes)))) for c in range(n)] for r in range(n)]
    found = _both(lambda line: _filtered(code, line, pixels), grid)
    for i in _planes(pixels):
        for j in _planes(pixels):
            code.store(found[i][j], v, code.at(at, (4 * i + j, plane)))


#: The factors v (in their planes) of one tile, from the map x around it, from x0 on, where rows are ``row`` apart.
enter_pixels, enter_tile = (_function(partial(_enter, pixels=p)) for p in (True, False))


def _leave(code: Code, v, at, plane, x, x0, row, pixels):
    grid = [
        [code.load(v, code.at(at, (4 * i + j, plane))) if {i, j} <= {*_planes(pixels)} else None for j in range(4)]
        for i in range(4)
    ]
    across = [_unfiltered(code, line, pixels) if line[0] is not None else None for line in grid]
    n = 4 if pixels else 3
    for c in range(n):
        column = _unfiltered(code, [None if line is None else line[c] for line in across], pixels)
        for r in range(n):
            place = code.at(x0, (r, row), (c, row.type(code.lanes)))
            code.store(code.plus(code.load(x, place), column[r]), x, place)


#: The transpose of what enters: what belongs to one tile is added to the map x.
leave_pixels, leave_tile = (_function(partial(_leave, pixels=p)) for p in (True, False))


def _gather(code: Code, m, at, plane, h, h0, p, p0, count, k, k0, live, live0, sums, pixels):
    sign, near = (code.number(k, code.at(k0, (1, k0.type(i)))) for i in (SIGN, NEAR))
    alive, lanes = code.load(live, live0), code.lanes

    def outputs(x: list[Any]) -> list[Any]:
        return [code.plus(x[0], x[1], x[2]), code.minus(x[1], x[2], x[3])]

    def body(tile: Any, held: list[Any]) -> list[Any]:
        here = code.at(at, (lanes, tile))
        grid = [
            [code.load(m, code.at(here, (4 * i + j, plane))) if {i, j} <= {*_planes(pixels)} else None
             for j in range(4)]
            for i in range(4)
        ]  # fmt: skip
        across = [outputs(line) if line[0] is not None else [None, None] for line in grid]
        (a, c), (b, d) = (outputs([line[i] for line in across]) for i in (0, 1))
        total, square = held
        best = key = None
        for i, y in enumerate((a, b, c, d)):
            code.store(y, h, code.at(h0, (4 * lanes, tile), (i, tile.type(lanes))))
            e = code.times(code.minus(y, near), alive)
            total, square = code.plus(total, e), code.muladd(e, e, square)
            signed = code.times(y, sign)
            if i:
                higher = code.choice(signed, key)
                best, key = code.where(higher, y, best), code.where(higher, signed, key)
            else:
                best, key = y, signed
        code.store(best, p, code.at(p0, (lanes, tile)))
        return [total, square]

    for i, value in enumerate(code.loop(count, [code.zero, code.zero], body)):
        code.store(value, sums, i * lanes)


#: One channel's outputs h and, of each tile, the one that pooling takes, p; sums become Σ (h - near) and its squares.
gather_pixels, gather_tile = (_function(partial(_gather, pixels=p)) for p in (True, False))


def _scatter(code: Code, m, at, plane, h, h0, d, d0, count, k, k0, live, live0, pixels):
    gain, mean, level, tilt, sign = (
        code.number(k, code.at(k0, (1, k0.type(i)))) for i in (GAIN, MEAN, LEVEL, TILT, SIGN)
    )
    alive, lanes = code.load(live, live0), code.lanes

    def inputs(y0: Any, y1: Any) -> list[Any]:
        return [y0, code.plus(y0, y1), code.minus(y0, y1), code.minus(None, y1)]

    def body(tile: Any, held: list[Any]) -> list[Any]:
        hs = [code.load(h, code.at(h0, (4 * lanes, tile), (i, tile.type(lanes)))) for i in range(4)]
        key, higher = code.times(hs[0], sign), []
        for y in hs[1:]:
            signed = code.times(y, sign)
            higher.append(code.choice(signed, key))
            key = code.where(higher[-1], signed, key)
        rest, parts = code.times(gain, code.load(d, code.at(d0, (lanes, tile)))), []
        for which in reversed(higher):
            parts.append(code.where(which, rest, code.zero))
            rest = code.where(which, code.zero, rest)
        parts = [rest, *reversed(parts)]
        a, b, c, e = (
            code.minus(part, code.times(code.muladd(code.minus(y, mean), tilt, level), alive))
            for y, part in zip(hs, parts, strict=True)
        )
        rows = zip(inputs(a, c), inputs(b, e), strict=True)
        here = code.at(at, (lanes, tile))
        for i, (left, right) in enumerate(rows):
            for j, value in enumerate(inputs(left, right)):
                if {i, j} <= {*_planes(pixels)}:
                    code.store(value, m, code.at(here, (4 * i + j, plane)))
        return []

    code.loop(count, [], body)


#: The transpose of what :data:`gather_tile` does to m, from ∂loss/∂z at the pixels that pooling took, d, through
#: BatchNorm.
scatter_pixels, scatter_tile = (_function(partial(_scatter, pixels=p)) for p in (True, False))


def _bent(code: Code, p, p0, k, k0, now):
    """The number that pooling took, the slope of LeakyReLU at it, and the activation."""
    gain, shift = (code.number(k, code.at(k0, (1, k0.type(i)))) for i in (GAIN, SHIFT))
    taken, slope = code.load(p, p0), code.number(now, SLOPE)
    z = code.muladd(taken, gain, shift)
    positive = code.choice(z, code.zero)
    one = code.spread(ir.Constant(code.vector.element, 1.0))
    return taken, code.where(positive, one, slope), code.where(positive, z, code.times(z, slope))


def _pixels(code: Code, x0, row, keep0, keep_row, keep_column):
    """Of a tile's pixels, the places in the map and in the mask."""
    lanes = row.type(code.lanes)
    for i in (0, 1):
        for j in (0, 1):
            yield code.at(x0, (i, row), (j, lanes)), code.at(keep0, (i, keep_row), (j, keep_column))


@_function
def bend_tile(code, p, p0, k, k0, now, x, x0):
    """The activation of a tile, x."""
    code.store(_bent(code, p, p0, k, k0, now)[2], x, x0)


@_function
def bend_pixels(code, p, p0, k, k0, now, x, x0, row, keep, keep0, keep_row, keep_column):
    """The same for each of its pixels, with dropout."""
    value = code.times(_bent(code, p, p0, k, k0, now)[2], code.number(now, FACTOR))
    for place, bit in _pixels(code, x0, row, keep0, keep_row, keep_column):
        code.store(code.where(code.bits(keep, bit), value, code.zero), x, place)


def _unbend(code: Code, total, p, p0, k, k0, now, d, d0, sums):
    taken, slope, _ = _bent(code, p, p0, k, k0, now)
    value = code.times(total, slope)
    code.store(value, d, d0)
    code.store(code.plus(code.load(sums), value), sums)
    away = code.minus(taken, code.number(k, code.at(k0, (1, k0.type(MEAN)))))
    code.store(code.muladd(value, away, code.load(sums, code.lanes)), sums, code.lanes)


@_function
def unbend_tile(code, p, p0, k, k0, now, x, x0, d, d0, sums):
    """∂loss/∂z of a tile, d, from that of its activation, x; ``sums`` grow by Σ d and Σ d (h - mean)."""
    _unbend(code, code.load(x, x0), p, p0, k, k0, now, d, d0, sums)


@_function
def unbend_pixels(code, p, p0, k, k0, now, x, x0, row, keep, keep0, keep_row, keep_column, d, d0, sums):
    """The same from its pixels, with dropout."""
    kept = [
        code.where(code.bits(keep, bit), code.load(x, place), code.zero)
        for place, bit in _pixels(code, x0, row, keep0, keep_row, keep_column)
    ]
    _unbend(code, code.times(code.plus(*kept), code.number(now, FACTOR)), p, p0, k, k0, now, d, d0, sums)
