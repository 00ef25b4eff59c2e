"""How benchmarks take time: contenders in turns, so that whatever else happens on the machine meets all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

Run = Callable[[], object]


def in_turns(runs: Mapping[str, Run], rounds: int, unmeasured: int = 1) -> dict[str, list[float]]:
    """Seconds that each took in every round, after the unmeasured rounds, which compile and allocate."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(unmeasured + rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            if i >= unmeasured:
                taken[name].append(time.perf_counter() - began)
    return taken


def several(run: Run, rounds: int) -> list[float]:
    """Seconds that one run took in every round, after a first that is not measured."""
    return in_turns({"": run}, rounds)[""]


def beside(pool: ThreadPoolExecutor, pair: list[Callable[[], None]]) -> None:
    """All of ``pair`` at once, each on a thread of its own."""
    for future in [pool.submit(run) for run in pair]:
        future.result()
