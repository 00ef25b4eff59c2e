"""Where walkers are computed: engine, device, and how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from deepmech.core import provenance
from deepmech.trainers.devices import batches, chosen, device_in_words, one_thread, products_in, require_device, room
from deepmech.trainers.langevin_batched import Batched
from deepmech.trainers.langevin_engines import ALONE
from deepmech.trainers.langevin_walker import Walker, sizes_of

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """``engine`` and ``device`` by name, bytes of ``memory`` for one batch, members at a time (``workers``)."""

    engine: str
    device: str
    memory: float
    workers: int
    tf32: bool

    @classmethod
    def of(cls, engine: str, device: str | None, memory: float | None, threads: int | None, tf32: bool) -> Place:
        """Checks, and what None and ``"auto"`` stand for; a ValueError names what is not there."""
        device = chosen(device)
        on_gpu = require_device(device)
        if engine not in ("auto", "batched", *ALONE):
            names = ", ".join(map(repr, ("batched", *ALONE)))
            raise ValueError(f"walk: engine = {engine!r}: must be 'auto' or one of {names}")
        if on_gpu and engine in ALONE:
            raise ValueError(f"walk: engine = {engine!r} knows no GPU; use engine='auto' or 'batched', or device='cpu'")
        if threads is not None and threads < 1:
            raise ValueError(f"walk: threads = {threads}: must be at least 1, or None for every core")
        engine = ("batched" if on_gpu else "blocked") if engine == "auto" else engine
        workers = 1 if engine == "batched" else threads or provenance.cores()
        return cls(engine, device, room(memory, device), workers, tf32)

    @property
    def in_words(self) -> str:
        return device_in_words(self.device)

    def run(self, work: Callable[[list[int]], list[T]], walkers: Sequence[Walker], data: Any) -> list[T]:
        """``work`` on groups of walkers, given by number; what it returns, in the order of ``walkers``."""
        groups = self._groups(walkers, data)
        done: dict[int, T] = {}
        with one_thread(), products_in(self.tf32), ThreadPoolExecutor(self.workers) as pool:
            for group, made in zip(groups, pool.map(work, groups), strict=True):
                done |= dict(zip(group, made, strict=True))
        return [done[i] for i in range(len(walkers))]

    def _groups(self, walkers: Sequence[Walker], data: Any) -> list[list[int]]:
        """One walker each, or as many of one shape as the memory holds."""
        if self.engine != "batched":
            return [[i] for i in range(len(walkers))]
        alike: dict[Any, list[int]] = {}
        for i, walker in enumerate(walkers):
            alike.setdefault(walker.shape, []).append(i)
        groups = []
        for members in alike.values():
            one = walkers[members[0]]
            batch = max(int(one.dynamics.batch_size), int(one.preparation.batch_size))
            need = Batched.bytes_per_member(sizes_of(one, data), len(data.x), batch, one.dynamics.dtype)
            groups += batches(members, need, self.memory, "walk")
        return groups
