"""What ``deepmech sweep`` and ``deepmech verify`` do, as plain functions; the book's room has the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import xarray as xr

from deepmech.core import provenance
from deepmech.core.lazy import named
from deepmech.sweeps.cluster import connect
from deepmech.sweeps.results import ship
from deepmech.sweeps.runner import run
from deepmech.sweeps.spec import Sweep
from deepmech.sweeps.store import read_manifest
from deepmech.sweeps.verification import Report, verify


def resolve(reference: str) -> Sweep:
    """The sweep that ``"module:name"`` stands for: a :class:`Sweep`, or a function without arguments that makes one."""
    found = named(reference, f"sweep {reference!r}: give 'module:name' of a Sweep or of a function that makes one")
    if callable(found):
        found = found()
    if not isinstance(found, Sweep):
        raise ValueError(f"sweep {reference!r} is a {type(found).__name__}, not a Sweep")
    return found


def cli_run(
    sweep: str | None = None,
    *,
    store: str | Path,
    chunk: int | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    results: str | Path | None = None,
    progress: bool | None = None,
) -> str:
    """Run a sweep (``"module:name"``), or complete the one whose store it is; returns a summary for the terminal.

    ``workers`` > 1 computes chunks in that many processes, ``scheduler`` on the Dask cluster of that address;
    ``results`` ships the whole result into that directory.
    """
    if workers < 1:
        raise ValueError(f"sweep: workers = {workers}: must be an integer >= 1")
    if workers > 1 and scheduler is not None:
        raise ValueError(f"sweep: workers = {workers}: a cluster has its own workers; leave it out with a scheduler")
    spec = Sweep.from_json(read_manifest(store)["sweep"]) if sweep is None else resolve(sweep)
    pool: AbstractContextManager[Executor | None] = nullcontext()
    if scheduler is not None:
        pool = connect(scheduler)
    elif workers > 1:
        # Fresh processes: threads of numerical libraries do not survive a fork.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), provenance.leave_with_parent)
    with provenance.shared_by(workers), pool as executor:
        dataset = run(spec, store, chunk=chunk, executor=executor, progress=progress)
    summary = [summarise(spec, dataset, store)]
    if results is not None:
        summary.append(f"shipped: {ship(dataset, results)}")
    return "\n".join(summary)


def summarise(sweep: Sweep, dataset: xr.Dataset, store: str | Path) -> str:
    """One line about a finished sweep."""
    grid = " × ".join(f"{n} {d}" for d, n in zip(sweep.grid.dims, sweep.grid.shape, strict=True))
    diverged = int(dataset["diverged"].sum())
    return (
        f"sweep {sweep.name} ({sweep.key}): {grid} = {sweep.n_cells} cells in {store}, {diverged} diverged, "
        f"{dataset.attrs['wall_seconds']:.1f} s of computing on {dataset.attrs['machine']}"
    )


def cli_verify(
    paths: Sequence[str | Path], *, say: Callable[[str], None] = lambda line: None, **how: Any
) -> tuple[str, bool]:
    """:func:`verify` stores, shipped files or directories, one line to ``say`` for each; returns the sum of it, and
    whether nothing differed."""
    reports: list[Report] = []
    if how.get("minutes") is not None:
        how["minutes"] /= len(paths)
    for path in paths:
        for report in verify(path, **how):
            reports.append(report)
            outcome = "skipped" if not report.cells else "verified" if report.passed else "FAILED"
            say(f"{outcome}: {report}")
    if not all(report.cells for report in reports):
        say("data sets that are not here: deepmech data says which they are, and fetches them")
    done = [r for r in reports if r.cells]
    bits = sum(len(r.cells) for r in done if r.largest == 0)
    worst = max((r.largest for r in done), default=0.0)
    return (
        f"{len(done)} of {len(reports)} results recomputed, {sum(len(r.cells) for r in done)} of "
        f"{sum(r.of for r in done)} cells: {bits} equal to the bit, largest difference otherwise {worst:.2g} of a "
        f"number; {sum(not r.passed for r in done)} results differ"
    ), all(r.passed for r in done)
