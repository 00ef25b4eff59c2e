"""Counter-based random bits and normals as numba kernels that compilers turn into wide vector code.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11) maps a 64-bit key and
a 128-bit counter to 128 random bits. Normals follow by the Box-Muller transform. Logarithm, sine and cosine are written
as plain polynomials: a call into a vector maths library gives other last bits in the body of a loop than in its tail,
and then a member's numbers would depend on how many neighbours it has. Without fast-math, every operation here rounds
the same way in both, which is what makes results independent of batch sizes.
"""

from math import factorial, log, pi, sqrt

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from deepmech.core.compiled import njit

LOW = np.uint64(0xFFFFFFFF)
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
S32 = np.uint64(32)


@intrinsic
def _float_from_bits(typingctx, bits):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), codegen


@intrinsic
def _bits_from_float(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.uint64(types.float64), codegen


@njit(inline="always", error_model="numpy")
def philox(c0, c1, c2, c3, k0, k1):
    """Four random 32-bit words (held in uint64) for one counter (c0..c3) under one key (k0, k1); all inputs < 2^32."""
    for _ in range(10):
        p0 = M0 * c0
        p1 = M1 * c2
        c0 = (p1 >> S32) ^ c1 ^ k0
        c2 = (p0 >> S32) ^ c3 ^ k1
        c1 = p1 & LOW
        c3 = p0 & LOW
        k0 = (k0 + W0) & LOW
        k1 = (k1 + W1) & LOW
    return c0, c1, c2, c3


# artanh(s) = s + s^3/3 + s^5/5 + ...; |s| < 0.172 after reduction, so eleven terms reach 2e-18.
_A = tuple(1.0 / (2 * i + 1) for i in range(11))
# sin and cos on [-pi/4, pi/4].
_S = tuple((-1.0) ** i / factorial(2 * i + 1) for i in range(9))
_C = tuple((-1.0) ** i / factorial(2 * i) for i in range(9))
_LN2 = log(2.0)
_SQRT2 = sqrt(2.0)
_HALF_PI = pi / 2
_MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
_ONE = np.uint64(0x3FF0000000000000)


@njit(inline="always", error_model="numpy")
def log_positive(u):
    """Natural logarithm of a normal positive double, to about one unit in the last place."""
    b = _bits_from_float(u)  # type: ignore[call-arg,var-annotated]
    e = np.float64(np.int64(b >> np.uint64(52))) - 1023.0
    m = _float_from_bits((b & _MANTISSA) | _ONE)
    big = m > _SQRT2
    m = m * 0.5 if big else m
    e = e + 1.0 if big else e
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = _A[10]
    p = p * q + _A[9]
    p = p * q + _A[8]
    p = p * q + _A[7]
    p = p * q + _A[6]
    p = p * q + _A[5]
    p = p * q + _A[4]
    p = p * q + _A[3]
    p = p * q + _A[2]
    p = p * q + _A[1]
    p = p * q + 1.0
    return e * _LN2 + 2.0 * s * p


@njit(inline="always", error_model="numpy")
def box_muller(r0, r1):
    """Two independent standard normals from two random 32-bit words; |z| <= sqrt(66 ln 2) = 6.76."""
    u = (np.float64(np.int64(r0)) + 0.5) * 2.3283064365386963e-10
    radius = np.sqrt(-2.0 * log_positive(u))
    # The two high bits choose the quadrant, the other thirty the angle inside it.
    x = ((np.float64(np.int64(r1 & np.uint64(0x3FFFFFFF))) + 0.5) * 9.313225746154785e-10 - 0.5) * _HALF_PI
    q = x * x
    s = _S[8]
    s = s * q + _S[7]
    s = s * q + _S[6]
    s = s * q + _S[5]
    s = s * q + _S[4]
    s = s * q + _S[3]
    s = s * q + _S[2]
    s = s * q + _S[1]
    s = (s * q + 1.0) * x
    c = _C[8]
    c = c * q + _C[7]
    c = c * q + _C[6]
    c = c * q + _C[5]
    c = c * q + _C[4]
    c = c * q + _C[3]
    c = c * q + _C[2]
    c = c * q + _C[1]
    c = c * q + 1.0
    # Rotate by quadrant with arithmetic only: (c, s) -> (-s, c) -> (-c, -s) -> (s, -c).
    odd = (r1 >> np.uint64(30)) & np.uint64(1)
    half = (r1 >> np.uint64(31)) & np.uint64(1)
    sign = 1.0 - 2.0 * np.float64(np.int64(half))
    a = -s if odd == np.uint64(1) else c
    b = c if odd == np.uint64(1) else s
    return radius * sign * a, radius * sign * b


@njit(nogil=True, cache=True, error_model="numpy")
def fill_bits(out, key, step, purpose):
    """out[4 i : 4 i + 4] = the four words of counter (i, step, purpose); out: uint32, any length."""
    k0, k1 = key & LOW, key >> S32
    s0, s1 = step & LOW, step >> S32
    blocks = out.shape[0] // 4
    for i in range(blocks):
        a, b, c, d = philox(np.uint64(i), s0, s1, purpose, k0, k1)
        out[4 * i] = a
        out[4 * i + 1] = b
        out[4 * i + 2] = c
        out[4 * i + 3] = d
    if out.shape[0] > 4 * blocks:
        words = philox(np.uint64(blocks), s0, s1, purpose, k0, k1)
        for j in range(out.shape[0] - 4 * blocks):
            out[4 * blocks + j] = words[j]


@njit(nogil=True, cache=True, error_model="numpy")
def fill_normal(out, bits):
    """out[2 i], out[2 i + 1] = Box-Muller of bits[2 i], bits[2 i + 1]; out and bits of the same even length."""
    for i in range(out.shape[0] // 2):
        a, b = box_muller(np.uint64(bits[2 * i]), np.uint64(bits[2 * i + 1]))
        out[2 * i] = a
        out[2 * i + 1] = b
