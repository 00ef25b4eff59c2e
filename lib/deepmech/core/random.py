"""Random numbers that depend on what they are for, never on what was drawn before.

Every number is a pure function of (experiment, member seed, purpose, step, index): there is no generator state. A
network trained alone, in a chunk of 7 or in a chunk of 500 therefore draws the same numbers, and a sweep may be cut,
resumed or spread over workers without changing a result.

Bits come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11), which
maps a 64-bit key and a 128-bit counter to 128 random bits; normals by the Box-Muller transform. Logarithm, sine and
cosine are written as plain polynomials: a call into a vector maths library gives other last bits in the body of a loop
than in its tail, and then a member's numbers would depend on how many neighbours it has. Without fast-math, every
operation here rounds the same way in both.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, log, pi, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from deepmech.core.compiled import Word, njit

if TYPE_CHECKING:
    import torch


def stream_id(purpose: str) -> int:
    """The 32-bit counter word that stands for a purpose such as ``"dropout 3"``."""
    if not isinstance(purpose, str):
        raise ValueError(f"Stream: purpose = {purpose!r}: must be text that says what the numbers are for")
    return _stream_id(purpose)


@lru_cache(maxsize=1024)
def _stream_id(purpose: str) -> int:
    return int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=4).digest(), "little")


def _index(what: str, value: Any, allowed: str, least: int | None = None) -> int:
    """``value`` as an int, from ``least`` on and below 2^64 if that is given; 5.0 is 5. Rounded, a number would stand
    for another, as a float from 2^53 on may do; a boolean is a slip."""
    number = value if type(value) is int else None  # which costs nothing where millions of draws are made
    if isinstance(value, float | np.floating) and float(value).is_integer() and -(2**53) < float(value) < 2**53:
        number = int(value)
    if number is None and not isinstance(value, bool | np.bool_):
        with suppress(TypeError):
            number = operator.index(value)
    if number is None or (least is not None and not least <= number < 2**64):
        raise ValueError(f"{what} = {value!r}: must be {allowed}")
    return number


def _step(step: Any) -> np.uint64:
    return np.uint64(_index("Stream: step", step, "a whole number from 0 to 2^64 - 1", 0))


def _size(shape: Any) -> int:
    """How many numbers a shape holds."""
    if isinstance(shape, tuple | list):
        return prod(map(_size, shape))
    return _index("Stream: shape", shape, "whole numbers from 0 on", 0)


@dataclass(frozen=True)
class Stream:
    """All random numbers of one member of one experiment.

    ``Stream.of(experiment, seed, ...)`` hashes its words into a 64-bit key. Each method returns the numbers of one
    purpose at one step; asking for more numbers only appends to them.

    Examples
    --------
    >>> s = Stream.of("doctest", 0)
    >>> bool(np.array_equal(s.normal("noise", 3, 5), s.normal("noise", 3, 9)[:5]))
    True
    """

    key: int

    def __post_init__(self) -> None:
        if type(self.key) is not int or not 0 <= self.key < 2**64:
            raise ValueError(f"Stream.key = {self.key!r}: must be a whole number below 2^64; use Stream.of(words)")

    @classmethod
    def of(cls, *words: str | int) -> Stream:
        """The stream that these words name: text, or whole numbers of any size."""
        plain = [w if isinstance(w, str) else _index("Stream.of: a word", w, "text or a whole number") for w in words]
        # Every part begins with the name of a type, so that a doubled separator can only be one within a word.
        text = "\x1f".join(f"{type(w).__name__}:{w}".replace("\x1f", "\x1f\x1f") for w in plain)
        return cls(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))

    def bits(self, purpose: str, step: int, n: int) -> np.ndarray:
        """``n`` uniform 32-bit words, shape (n,), uint32."""
        out = np.empty(_size(n), np.uint32)
        fill_bits(out, np.uint64(self.key), _step(step), np.uint64(stream_id(purpose)))
        return out

    def uniform(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Uniform numbers in the open interval (0, 1), float64, with 32 random bits each."""
        return ((self.bits(purpose, step, _size(shape)) + 0.5) * 2.0**-32).reshape(shape)

    def normal(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard normal numbers, float64 (Box-Muller on 32-bit words: no value beyond 6.76 standard deviations)."""
        n = _size(shape)
        out = np.empty(n + n % 2)
        fill_normal(out, self.bits(purpose, step, len(out)))
        return out[:n].reshape(shape)

    def mask(self, purpose: str, step: int, shape: int | tuple[int, ...], drop: float) -> np.ndarray:
        """Boolean mask, False with probability ``drop`` (resolved to 2^-16), for dropout and label noise."""
        if not (isinstance(drop, float | int | np.floating | np.integer) and 0 <= drop <= 1):
            raise ValueError(f"Stream.mask: drop = {drop!r}: must be a probability, from 0 to 1")
        n = _size(shape)
        halves = self.bits(purpose, step, (n + 1) // 2).view(np.uint16)[:n]
        return (halves >= round(drop * 65536)).reshape(shape)

    def permutation(self, purpose: str, step: int, n: int) -> np.ndarray:
        """A uniformly random order of ``range(n)``, int64."""
        words = self.bits(purpose, step, 2 * _size(n)).view(np.uint64)
        return np.argsort(words, kind="stable")


LOW = np.uint64(0xFFFFFFFF)
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
S32 = np.uint64(32)


@njit(inline="always", error_model="numpy")
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
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
def log_positive(u: float) -> float:
    """Natural logarithm of a normal positive double, to about one unit in the last place."""
    b = np.float64(u).view(np.uint64)
    e = np.float64(np.int64(b >> np.uint64(52))) - 1023.0
    m = np.uint64((b & _MANTISSA) | _ONE).view(np.float64)
    big = m > _SQRT2
    m = m * 0.5 if big else m
    e = e + 1.0 if big else e
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = _A[10]
    for i in range(9, -1, -1):
        p = p * q + _A[i]
    return e * _LN2 + 2.0 * s * p


@njit(inline="always", error_model="numpy")
def box_muller(r0: Word, r1: Word) -> tuple[float, float]:
    """Two independent standard normals from two random 32-bit words; |z| <= sqrt(66 ln 2) = 6.76."""
    u = (np.float64(np.int64(r0)) + 0.5) * 2.3283064365386963e-10
    radius = np.sqrt(-2.0 * log_positive(u))
    # The two high bits choose the quadrant, the other thirty the angle inside it.
    x = ((np.float64(np.int64(r1 & np.uint64(0x3FFFFFFF))) + 0.5) * 9.313225746154785e-10 - 0.5) * _HALF_PI
    q = x * x
    s = _S[8]
    for i in range(7, -1, -1):
        s = s * q + _S[i]
    s = s * x
    c = _C[8]
    for i in range(7, -1, -1):
        c = c * q + _C[i]
    # Rotate by quadrant with arithmetic only: (c, s) -> (-s, c) -> (-c, -s) -> (s, -c).
    odd = (r1 >> np.uint64(30)) & np.uint64(1)
    half = (r1 >> np.uint64(31)) & np.uint64(1)
    sign = 1.0 - 2.0 * np.float64(np.int64(half))
    a = -s if odd == np.uint64(1) else c
    b = c if odd == np.uint64(1) else s
    return radius * sign * a, radius * sign * b


@njit(nogil=True, cache=True, error_model="numpy")
def fill_bits(out: np.ndarray, key: Word, step: Word, purpose: Word) -> None:
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
def fill_normal(out: np.ndarray, bits: np.ndarray) -> None:
    """out[2 i], out[2 i + 1] = Box-Muller of bits[2 i], bits[2 i + 1]; out and bits of the same even length."""
    for i in range(out.shape[0] // 2):
        a, b = box_muller(np.uint64(bits[2 * i]), np.uint64(bits[2 * i + 1]))
        out[2 * i] = a
        out[2 * i + 1] = b


class BatchedStream:
    """:class:`Stream` many at once, drawn on a device by integer operations of torch; one row per 64-bit key.

    The same bits as :class:`Stream`; normals agree with it to rounding, since logarithm and
    cosine are the device's own. Words are held in int64 and no product exceeds 49 bits, so that nothing overflows. A
    step is a whole number, or where it says so several as an int64 tensor on the device.

    Examples
    --------
    >>> import torch
    >>> one, two = Stream.of("doctest", 0), Stream.of("doctest", 1)
    >>> both = BatchedStream([one.key, two.key], torch.device("cpu"))
    >>> bool((both.uniform("x", 3, 5)[1].numpy() == two.uniform("x", 3, 5)).all())
    True
    """

    def __init__(self, keys: Sequence[int], device: torch.device):
        import torch  # slow to import: whoever draws on a device has it, and nobody else needs it

        self.device = device
        self.low = torch.tensor([[k & int(LOW)] for k in keys], dtype=torch.int64, device=device)
        self.high = torch.tensor([[k >> 32] for k in keys], dtype=torch.int64, device=device)

    def words(self, purpose: str, step: int | torch.Tensor, n: int, first: int = 0) -> torch.Tensor:
        """Uniform 32-bit words, int64: as ``Stream.bits``. Shape (keys, n), or (keys, steps, n) for several steps.

        ``first`` is the number of the first block of four words.
        """
        import torch

        blocks, steps = -(-n // 4), torch.full((), step, device=self.device) if isinstance(step, int) else step
        c0 = torch.arange(first, first + blocks, device=self.device).expand(len(self.low), *steps.shape, blocks)
        c1, c2 = (part[..., None].expand_as(c0) for part in (steps & int(LOW), steps >> 32))
        c3 = torch.full_like(c0, stream_id(purpose))
        k0, k1 = (key.view(-1, *[1] * (c0.dim() - 1)) for key in (self.low, self.high))
        for _ in range(10):
            (high0, low0), (high1, low1) = _product(c0, int(M0)), _product(c2, int(M1))
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
            k0, k1 = (k0 + int(W0)) & int(LOW), (k1 + int(W1)) & int(LOW)
        return torch.stack([c0, c1, c2, c3], dim=-1).flatten(-2)[..., :n]

    def halves(self, purpose: str, step: int, n: int) -> torch.Tensor:
        """Uniform 16-bit numbers, shape (keys, n), int32: ``Stream.mask`` keeps where they are at least drop · 2¹⁶."""
        import torch

        words = self.words(purpose, step, -(-n // 2))
        pairs = torch.stack([words & 0xFFFF, words >> 16], dim=2)
        return pairs.to(torch.int32).reshape(len(self.low), -1)[:, :n]

    def uniform(self, purpose: str, step: int, n: int) -> torch.Tensor:
        """Uniform numbers in (0, 1), shape (keys, n), float64: as ``Stream.uniform``."""
        return (self.words(purpose, step, n).double() + 0.5) * 2.0**-32

    def normal(self, purpose: str, step: int | torch.Tensor, n: int, first: int = 0) -> torch.Tensor:
        """Standard normal numbers, float64, in the shape of :meth:`words`: as ``Stream.normal``, to rounding."""
        import torch

        words = self.words(purpose, step, n + n % 2, first).unflatten(-1, (-1, 2))
        radius = torch.sqrt(-2 * torch.log((words[..., 0].double() + 0.5) * 2.0**-32))
        # The two high bits choose the quadrant, the other thirty the angle inside it, from -π/4 to π/4.
        turn = (words[..., 1] & 0x3FFFFFFF).double().add(0.5).mul(2.0**-30).sub(0.5) + (words[..., 1] >> 30)
        angle = turn * (torch.pi / 2)
        return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=-1).flatten(-2)[..., :n]


def _product(c: torch.Tensor, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low 32 bits of c · m, both below 2³²."""
    upper, lower = c * (m >> 16), c * (m & 0xFFFF)
    return (upper + (lower >> 16)) >> 16, (((upper & 0xFFFF) << 16) + lower) & int(LOW)
