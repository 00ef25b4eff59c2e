"""The vector operations of which a LeNet step at batch one is made, as numba intrinsics of fixed length.

At batch one every loop of the network is short (5 taps, 40 numbers of a patch, 120 units). A compiler that meets such
loops through arrays must ask at each whether the arrays overlap, which costs more than the loop. These functions emit
the loads, fused multiply-adds and stores of eight numbers at a time directly (:mod:`.tiles`); sums that would be stored
and loaded again stay in registers. Arrays are float32 or float64, all of one kind in a call.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from deepmech.core.compiled import intrinsic
from deepmech.trainers.engines.compiled.tiles import Vectors

LANES = 8
"""Numbers in a vector; lengths are multiples of it."""


def _vectors(context: Any, builder: Any, dtype: Any) -> Vectors:
    return Vectors(context, builder, dtype, LANES)


def _total(v: Vectors, value: Any) -> Any:
    """Sum of the lanes, by halves."""
    width = LANES
    while width > 1:
        width //= 2
        value = v.builder.fadd(value, v.shuffle(value, None, ((i + width) % LANES for i in range(LANES))))
    return v.builder.extract_element(value, ir.IntType(32)(0))


_I = types.int64


def axpy(length: int) -> Any:
    """``y[j : j + length] += s * x[i : i + length]`` as a function (y, j, x, i, s)."""

    @intrinsic
    def function(typingctx: Any, y: Any, j: Any, x: Any, i: Any, s: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v = _vectors(context, builder, y.dtype)
            at_y, at_x = v.pointer(y, arguments[0], arguments[1]), v.pointer(x, arguments[2], arguments[3])
            factor = v.spread(arguments[4])
            shifts = range(0, length, LANES)
            new = [v.muladd(factor, v.load(at_x, k), v.load(at_y, k)) for k in shifts]
            for k, value in zip(shifts, new, strict=True):
                v.store(value, at_y, k)
            return context.get_dummy_value()

        return types.void(y, _I, x, _I, y.dtype), codegen

    return function


def conv5_rows(n_out: int, length: int, row: int, tap: tuple[int, int]) -> Any:
    """Five by five taps over a flattened image, for ``n_out`` filters at once.

    A function (out, j, out_stride, x, i, w, k, w_stride) that adds
    ``Σ_ab w[k + o·w_stride + a·tap[0] + b·tap[1]] · x[i + p + a·row + b]`` to ``out[j + o·out_stride + p]`` for every
    filter o below ``n_out`` and every pixel p below ``length``.
    """

    @intrinsic
    def function(
        typingctx: Any, out: Any, j: Any, out_stride: Any, x: Any, i: Any, w: Any, k: Any, w_stride: Any
    ) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v = _vectors(context, builder, out.dtype)
            a_out, a_j, a_stride, a_x, a_i, a_w, a_k, a_w_stride = arguments
            at_out, at_w = [v.pointer(out, a_out, a_j)], [v.pointer(w, a_w, a_k)]
            for _ in range(n_out - 1):
                at_out.append(builder.gep(at_out[-1], [a_stride]))
                at_w.append(builder.gep(at_w[-1], [a_w_stride]))
            at_x = v.pointer(x, a_x, a_i)
            shifts = range(0, length, LANES)

            def left(k: int) -> list[Any]:
                return [v.number(place, k // 5 * tap[0] + k % 5 * tap[1]) for place in at_w]

            def right(k: int) -> list[Any]:
                return [v.load(at_x, p + k // 5 * row + k % 5) for p in shifts]

            places = [(place, p) for place in at_out for p in shifts]
            sums = v.tile(25, [v.load(*place) for place in places], left, right)
            for (place, p), value in zip(places, sums, strict=True):
                v.store(value, place, p)
            return context.get_dummy_value()

        return types.void(out, _I, _I, x, _I, w, _I, _I), codegen

    return function


def rows(count: int, length: int) -> Any:
    """``y += Σ_r a[first + r] · w[index[first + r] · length :][: length]`` for r below ``count``.

    A function (y, a, index, first, w); ``y`` has ``length`` numbers, ``index`` is int64.
    """

    @intrinsic
    def function(typingctx: Any, y: Any, a: Any, index: Any, first: Any, w: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v = _vectors(context, builder, y.dtype)
            at_y = v.pointer(y, arguments[0])
            at_a, at_index = (
                v.pointer(t, value, arguments[3]) for t, value in ((a, arguments[1]), (index, arguments[2]))
            )
            shifts = range(0, length, LANES)

            def right(r: int) -> list[Any]:
                place = builder.load(builder.gep(at_index, [ir.IntType(64)(r)]))
                at_w = v.pointer(w, arguments[4], builder.mul(place, ir.IntType(64)(length)))
                return [v.load(at_w, k) for k in shifts]

            sums = v.tile(count, [v.load(at_y, k) for k in shifts], lambda r: [v.number(at_a, r)], right)
            for k, value in zip(shifts, sums, strict=True):
                v.store(value, at_y, k)
            return context.get_dummy_value()

        return types.void(y, a, index, _I, w), codegen

    return function


def dot_then_axpy(length: int) -> Any:
    """The product of ``w[j : j + length]`` with ``d``, and then ``w[j : j + length] += s * d``, in one visit.

    A function (w, j, d, s) that returns the product.
    """

    @intrinsic
    def function(typingctx: Any, w: Any, j: Any, d: Any, s: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v = _vectors(context, builder, w.dtype)
            at_w = v.pointer(w, arguments[0], arguments[1])
            at_d = v.pointer(d, arguments[2])
            factor = v.spread(arguments[3])
            shifts = range(0, length, LANES)
            old = [(v.load(at_w, k), v.load(at_d, k)) for k in shifts]
            sums: list[Any] = [None] * 4
            for n, (x, y) in enumerate(old):
                so_far = sums[n % 4]
                sums[n % 4] = builder.fmul(x, y) if so_far is None else v.muladd(x, y, so_far)
            for k, (x, y) in zip(shifts, old, strict=True):
                v.store(v.muladd(factor, y, x), at_w, k)
            left = [x for x in sums if x is not None]
            while len(left) > 1:
                left = [builder.fadd(left[0], left[1]), *left[2:]]
            return _total(v, left[0])

        return w.dtype(w, _I, d, w.dtype), codegen

    return function


def zero_or_nan(length: int) -> Any:
    """0 · x[0] + 0 · x[1] + … in any order: 0, or nan if a number is not finite.

    A function (x, count); ``x`` holds ``count`` times ``length`` numbers.
    """

    @intrinsic
    def function(typingctx: Any, x: Any, count: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v = _vectors(context, builder, x.dtype)
            start = v.pointer(x, arguments[0])

            def body(i: Any, sums: list[Any]) -> list[Any]:
                here = builder.gep(start, [builder.mul(i, ir.IntType(64)(length))])
                return [v.muladd(v.zero, v.load(here, n * LANES), total) for n, total in enumerate(sums)]

            sums = v.loop(arguments[1], [v.zero] * (length // LANES), body)
            while len(sums) > 1:
                sums = [builder.fadd(sums[0], sums[1]), *sums[2:]]
            return _total(v, sums[0])

        return x.dtype(x, _I), codegen

    return function
