"""Where walkers are computed: engine, device, and how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from deepmech.core import provenance
from deepmech.core.spec import Spec
from deepmech.trainers import checks
from deepmech.trainers.devices import batches, chosen, device_in_words, one_thread, products_in, room
from deepmech.trainers.langevin_batched import Batched
from deepmech.trainers.langevin_engines import ALONE
from deepmech.trainers.langevin_walker import Walker, sizes_of

T = TypeVar("T")
ENGINES: dict[str, Any] = {**ALONE, "batched": Batched}


@dataclass(frozen=True)
class Place:
    """``engine`` and ``device`` by name, bytes of ``memory`` for one batch, members at a time (``workers``)."""

    engine: str
    device: str
    memory: float
    workers: int
    tf32: bool

    @classmethod
    def of(
        cls, caller: str, engine: str, device: str | None, memory: float | None, threads: int | None, tf32: bool,
        *specs: Spec,
    ) -> Place:  # fmt: skip
        """Checks, and what None and ``"auto"`` stand for; a ValueError names what is not there, or not known."""
        device, on_gpu = chosen(device, caller)
        checks.require_threads(caller, threads)
        checks.require_switch(caller, "tf32", tf32)
        if engine not in ("auto", *ENGINES):
            names = ", ".join(map(repr, ENGINES))
            raise ValueError(f"{caller}: engine = {checks.shown(engine)}: must be 'auto' or one of {names}")
        if on_gpu and engine in ALONE:
            raise ValueError(
                f"{caller}: engine = {engine!r} knows no GPU; use engine='auto' or 'batched', or device='cpu'"
            )
        here = [name for name in ENGINES if not on_gpu or name not in ALONE]
        able = [name for name in here if not checks.unknown(ENGINES[name].KNOWN, *specs)]
        if engine not in able and not (engine == "auto" and able):
            asked = here[0] if engine == "auto" else engine
            what = checks.unknown(ENGINES[asked].KNOWN, *specs)
            others = f"; use engine={' or '.join(map(repr, able))}" if able else ", nor does another one here"
            raise ValueError(f"{caller}: engine = {asked!r} does not know {what}{others}")
        engine = able[0] if engine == "auto" else engine
        workers = 1 if engine == "batched" else threads or provenance.cores()
        return cls(engine, device, room(memory, device, caller), workers, tf32)

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
