"""Random numbers that depend on what they are for, never on what was drawn before.

Every number is a pure function of (experiment, member seed, purpose, step, index): there is no generator state. A
network trained alone, in a chunk of 7 or in a chunk of 500 therefore draws the same numbers, and a sweep may be cut,
resumed or spread over workers without changing a result.
"""

from __future__ import annotations

import hashlib
import operator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from deepmech.core import philox


def purpose_word(purpose: str) -> int:
    """The 32-bit counter word that stands for a purpose such as ``"dropout 3"``."""
    if not isinstance(purpose, str):
        raise ValueError(f"Stream: purpose = {purpose!r}: must be text that says what the numbers are for")
    return _purpose_word(purpose)


@lru_cache(maxsize=1024)
def _purpose_word(purpose: str) -> int:
    return int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=4).digest(), "little")


def _index(what: str, value: Any, allowed: str, least: int | None = None) -> int:
    """``value`` as an int, from ``least`` on and below 2^64 if that is given. Rounded, a number would stand for
    another; a boolean is a slip."""
    number = value if type(value) is int else None  # which costs nothing where millions of draws are made
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
        text = "\x1f".join(f"{type(w).__name__}:{w}" for w in plain)
        return cls(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))

    def bits(self, purpose: str, step: int, n: int) -> np.ndarray:
        """``n`` uniform 32-bit words, shape (n,), uint32."""
        out = np.empty(_size(n), np.uint32)
        philox.fill_bits(out, np.uint64(self.key), _step(step), np.uint64(purpose_word(purpose)))
        return out

    def uniform(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Uniform numbers in the open interval (0, 1), float64, with 32 random bits each."""
        return ((self.bits(purpose, step, _size(shape)) + 0.5) * 2.0**-32).reshape(shape)

    def normal(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard normal numbers, float64 (Box-Muller on 32-bit words: no value beyond 6.76 standard deviations)."""
        n = _size(shape)
        out = np.empty(n + n % 2)
        philox.fill_normal(out, self.bits(purpose, step, len(out)))
        return out[:n].reshape(shape)

    def keep(self, purpose: str, step: int, shape: int | tuple[int, ...], drop: float) -> np.ndarray:
        """Boolean mask, False with probability ``drop`` (resolved to 2^-16), for dropout and label noise."""
        if not (isinstance(drop, float | int | np.floating | np.integer) and 0 <= drop <= 1):
            raise ValueError(f"Stream.keep: drop = {drop!r}: must be a probability, from 0 to 1")
        n = _size(shape)
        halves = self.bits(purpose, step, (n + 1) // 2).view(np.uint16)[:n]
        return (halves >= round(drop * 65536)).reshape(shape)

    def permutation(self, purpose: str, step: int, n: int) -> np.ndarray:
        """A uniformly random order of ``range(n)``, int64."""
        words = self.bits(purpose, step, 2 * _size(n)).view(np.uint64)
        return np.argsort(words, kind="stable")
