"""The streams of :mod:`deepmech.core.random`, many at once, on a device of torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from deepmech.core.random import M0, M1, W0, W1, stream_id

_LOW = 0xFFFFFFFF


class BatchedStream:
    """Streams with the given 64-bit keys, drawn on a device by integer operations of torch; one row per key.

    The same bits as :class:`~deepmech.core.random.Stream`; normals agree with it to rounding, since logarithm and
    cosine are the device's own. Words are held in int64 and no product exceeds 49 bits, so that nothing overflows. A
    step is a whole number, or where it says so several as an int64 tensor on the device.

    Examples
    --------
    >>> from deepmech.core.random import Stream
    >>> one, two = Stream.of("doctest", 0), Stream.of("doctest", 1)
    >>> both = BatchedStream([one.key, two.key], torch.device("cpu"))
    >>> bool((both.uniform("x", 3, 5)[1].numpy() == two.uniform("x", 3, 5)).all())
    True
    """

    def __init__(self, keys: Sequence[int], device: torch.device):
        self.device = device
        self.low = torch.tensor([[k & _LOW] for k in keys], dtype=torch.int64, device=device)
        self.high = torch.tensor([[k >> 32] for k in keys], dtype=torch.int64, device=device)

    def words(self, purpose: str, step: int | torch.Tensor, n: int, first: int = 0) -> torch.Tensor:
        """Uniform 32-bit words, int64: as ``Stream.bits``. Shape (keys, n), or (keys, steps, n) for several steps.

        ``first`` is the number of the first block of four words.
        """
        blocks, steps = -(-n // 4), torch.full((), step, device=self.device) if isinstance(step, int) else step
        c0 = torch.arange(first, first + blocks, device=self.device).expand(len(self.low), *steps.shape, blocks)
        c1, c2 = (part[..., None].expand_as(c0) for part in (steps & _LOW, steps >> 32))
        c3 = torch.full_like(c0, stream_id(purpose))
        k0, k1 = (key.view(-1, *[1] * (c0.dim() - 1)) for key in (self.low, self.high))
        for _ in range(10):
            (high0, low0), (high1, low1) = _product(c0, int(M0)), _product(c2, int(M1))
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
            k0, k1 = (k0 + int(W0)) & _LOW, (k1 + int(W1)) & _LOW
        return torch.stack([c0, c1, c2, c3], dim=-1).flatten(-2)[..., :n]

    def halves(self, purpose: str, step: int, n: int) -> torch.Tensor:
        """Uniform 16-bit numbers, shape (keys, n), int32: ``Stream.mask`` keeps where they are at least drop · 2¹⁶."""
        words = self.words(purpose, step, -(-n // 2))
        pairs = torch.stack([words & 0xFFFF, words >> 16], dim=2)
        return pairs.to(torch.int32).reshape(len(self.low), -1)[:, :n]

    def uniform(self, purpose: str, step: int, n: int) -> torch.Tensor:
        """Uniform numbers in (0, 1), shape (keys, n), float64: as ``Stream.uniform``."""
        return (self.words(purpose, step, n).double() + 0.5) * 2.0**-32

    def normal(self, purpose: str, step: int | torch.Tensor, n: int, first: int = 0) -> torch.Tensor:
        """Standard normal numbers, float64, in the shape of :meth:`words`: as ``Stream.normal``, to rounding."""
        words = self.words(purpose, step, n + n % 2, first).unflatten(-1, (-1, 2))
        radius = torch.sqrt(-2 * torch.log((words[..., 0].double() + 0.5) * 2.0**-32))
        # The two high bits choose the quadrant, the other thirty the angle inside it, from -π/4 to π/4.
        turn = (words[..., 1] & 0x3FFFFFFF).double().add(0.5).mul(2.0**-30).sub(0.5) + (words[..., 1] >> 30)
        angle = turn * (torch.pi / 2)
        return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=-1).flatten(-2)[..., :n]


def _product(c: torch.Tensor, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low 32 bits of c · m, both below 2³²."""
    upper, lower = c * (m >> 16), c * (m & 0xFFFF)
    return (upper + (lower >> 16)) >> 16, (((upper & 0xFFFF) << 16) + lower) & _LOW
