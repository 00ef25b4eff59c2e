"""Vectors in registers: what the pieces do, lane by lane."""

from fractions import Fraction

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.tiles import BYTES, Vectors, select_size


@intrinsic
def powers(typingctx, out, x, first, second, count):
    """The first size: out[k] = Σ_{i < count} x[k]^i by Horner's rule. The second: out = x, its halves exchanged."""

    def codegen(context, builder, signature, arguments):
        v = Vectors(context, builder, out.dtype)
        to, of = (v.pointer(signature.args[n], arguments[n]) for n in (0, 1))

        def emit(a: int, b: int) -> None:
            value = v.load(of)
            if a == 1:
                one = v.spread(context.get_constant(out.dtype, 1.0))
                (value,) = v.loop(arguments[4], [v.zero], lambda i, sums: [v.fma(sums[0], v.load(of), one)])
            else:
                value = v.shuffle(value, None, [(k + v.lanes // 2) % v.lanes for k in range(v.lanes)])
            v.store(value, to)

        select_size(builder, arguments[2:4], [(1, 2), (2, 1)], emit)
        return context.get_dummy_value()

    return types.void(out, x, types.int64, types.int64, types.int64), codegen


@intrinsic
def fused(typingctx, out, x, y, z, shift):
    """out = x y + z; x from ``shift`` on, y one number in every lane."""

    def codegen(context, builder, signature, arguments):
        v = Vectors(context, builder, out.dtype, 8)
        to, a, b, c = (v.pointer(signature.args[n], arguments[n]) for n in range(4))
        v.store(v.fma(v.load(a, arguments[4]), v.number(b, 1), v.load(c)), to, 1)
        return context.get_dummy_value()

    return types.void(out, x, y, z, types.int64), codegen


@njit
def call_powers(out, x, first, second, count):
    powers(out, x, first, second, count)


@njit
def call_fused(out, x, y, z, shift):
    fused(out, x, y, z, shift)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_holds_its_vector_and_one_size_is_chosen(dtype):
    lanes = BYTES // np.dtype(dtype).itemsize
    x = np.linspace(0.1, 0.9, lanes).astype(dtype)
    out = np.zeros(lanes + 1, dtype)
    call_powers(out, x, 1, 2, 60)
    np.testing.assert_allclose(out[:-1], (1 - x.astype(float) ** 60) / (1 - x), rtol=1e3 * np.finfo(dtype).eps)
    assert out[-1] == 0  # a store ends where the vector does
    call_powers(out, x, 2, 1, 60)
    np.testing.assert_array_equal(out[:-1], np.roll(x, lanes // 2))
    before = out.copy()
    call_powers(out, x, 1, 1, 60)  # no such size
    np.testing.assert_array_equal(out, before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fused_products_are_rounded_once(dtype):
    """Of numbers whose product nearly cancels the third, two roundings would lose most digits."""
    stream = Stream.of("test vectors", 0)
    x, y = (stream.uniform(name, 0, 10).astype(dtype) + np.dtype(dtype).type(1) for name in "xy")
    z = -(x[2:] * y[1])
    out = np.zeros(9, dtype)
    call_fused(out, x, y, z, 2)
    exact = [
        float(Fraction(float(a)) * Fraction(float(y[1])) + Fraction(float(c))) for a, c in zip(x[2:], z, strict=True)
    ]
    np.testing.assert_array_equal(out[1:], np.array(exact, dtype))
    assert np.abs(out[1:]).max() > 0 and out[0] == 0
