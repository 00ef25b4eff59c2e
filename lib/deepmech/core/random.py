"""Random numbers that depend on what they are for, never on what was drawn before.

Every number is a pure function of (experiment, member seed, purpose, step, index): there is no generator state. A
network trained alone, in a chunk of 7 or in a chunk of 500 therefore draws the same numbers, and a sweep may be cut,
resumed or spread over workers without changing a result.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from deepmech.core import philox


def purpose_word(purpose: str) -> int:
    """The 32-bit counter word that stands for a purpose such as ``"dropout 3"``."""
    return int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=4).digest(), "little")


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

    @classmethod
    def of(cls, *words: str | int) -> Stream:
        text = "\x1f".join(f"{type(w).__name__}:{w}" for w in (w if isinstance(w, str) else int(w) for w in words))
        return cls(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))

    def bits(self, purpose: str, step: int, n: int) -> np.ndarray:
        """``n`` uniform 32-bit words, shape (n,), uint32."""
        out = np.empty(n, np.uint32)
        philox.fill_bits(out, np.uint64(self.key), np.uint64(step), np.uint64(purpose_word(purpose)))
        return out

    def uniform(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Uniform numbers in the open interval (0, 1), float64, with 32 random bits each."""
        n = int(np.prod(shape))
        return ((self.bits(purpose, step, n) + 0.5) * 2.0**-32).reshape(shape)

    def normal(self, purpose: str, step: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """Standard normal numbers, float64 (Box-Muller on 32-bit words: no value beyond 6.76 standard deviations)."""
        n = int(np.prod(shape))
        out = np.empty(n + n % 2)
        philox.fill_normal(out, self.bits(purpose, step, len(out)))
        return out[:n].reshape(shape)

    def keep(self, purpose: str, step: int, shape: int | tuple[int, ...], drop: float) -> np.ndarray:
        """Boolean mask, False with probability ``drop`` (resolved to 2^-16), for dropout and label noise."""
        n = int(np.prod(shape))
        halves = self.bits(purpose, step, (n + 1) // 2).view(np.uint16)[:n]
        return (halves >= round(drop * 65536)).reshape(shape)

    def permutation(self, purpose: str, step: int, n: int) -> np.ndarray:
        """A uniformly random order of ``range(n)``, int64."""
        words = self.bits(purpose, step, 2 * n).view(np.uint64)
        return np.argsort(words, kind="stable")
