"""What ``deepmech sweep`` and ``deepmech verify`` do, as plain functions; :mod:`deepmech.cli` has the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from deepmech.core import provenance
from deepmech.core.specs import named, whole
from deepmech.sweeps.results import ship
from deepmech.sweeps.store import read_manifest
from deepmech.sweeps.sweep import Sweep, connect, run
from deepmech.sweeps.verification import verify


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
    """Run a sweep (``"module:name"`` of a :class:`Sweep` or of a function that makes one), or complete the one whose
    store it is; returns a summary for the terminal.

    ``workers`` > 1 computes chunks in that many processes, ``scheduler`` on the Dask cluster of that address;
    ``results`` ships the whole result into that directory.
    """
    if whole("sweep: workers", workers) > 1 and scheduler is not None:
        raise ValueError(f"sweep: workers = {workers}: a cluster has its own workers; leave it out with a scheduler")
    if sweep is None:
        spec = Sweep.from_json(read_manifest(store)["sweep"])
    else:
        spec = named(sweep, f"sweep {sweep!r}: give 'module:name' of a Sweep or of a function that makes one")
        spec = spec() if callable(spec) else spec
    if not isinstance(spec, Sweep):
        raise ValueError(f"sweep {sweep!r} is a {type(spec).__name__}, not a Sweep")
    pool: AbstractContextManager[Executor | None] = nullcontext()
    if scheduler is not None:
        pool = connect(scheduler)
    elif workers > 1:
        # Fresh processes: threads of numerical libraries do not survive a fork.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), provenance.leave_with_parent)
    with provenance.shared_by(workers), pool as executor:
        dataset = run(spec, store, chunk=chunk, executor=executor, progress=progress)
    grid = " × ".join(f"{n} {d}" for d, n in zip(spec.grid.dims, spec.grid.shape, strict=True))
    shipped = f"\nshipped: {ship(dataset, results)}" if results is not None else ""
    return (
        f"sweep {spec.name} ({spec.key}): {grid} = {spec.n_cells} cells in {store}, {int(dataset['diverged'].sum())} "
        f"diverged, {dataset.attrs['wall_seconds']:.1f} s of computing on {dataset.attrs['machine']}{shipped}"
    )


def cli_verify(
    paths: Sequence[str | Path], *, say: Callable[[str], None] = lambda line: None, **how: Any
) -> tuple[str, bool]:
    """:func:`verify` stores, shipped files or directories, one line to ``say`` for each; returns the sum of it, and
    whether nothing differed."""
    if how.get("minutes") is not None:
        how["minutes"] /= len(paths)
    done, skipped = [], 0
    for report in (report for path in paths for report in verify(path, **how)):
        outcome = "skipped" if not report.cells else "verified" if report.passed else "FAILED"
        say(f"{outcome}: {report}")
        if report.cells:
            done.append(report)
        else:
            skipped += 1
    if skipped:
        say("data sets that are not here: deepmech data says which they are, and fetches them")
    bits = sum(len(r.cells) for r in done if r.largest == 0)
    worst = max((r.largest for r in done), default=0.0)
    return (
        f"{len(done)} of {len(done) + skipped} results recomputed, {sum(len(r.cells) for r in done)} of "
        f"{sum(r.of for r in done)} cells: {bits} equal to the bit, largest difference otherwise {worst:.2g} of a "
        f"number; {sum(not r.passed for r in done)} results differ"
    ), all(r.passed for r in done)
