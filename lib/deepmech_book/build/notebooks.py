"""All notebooks are executed that have to be, side by side; one that fails does not spoil the others."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from deepmech.cli import Passing
from deepmech.core import provenance
from deepmech_book.build import keys
from deepmech_book.build.sources import BookError, Checkout, PageRun, format_duration

Say = Callable[[str], None]
#: Minutes that a cell of a page of the profile quick may take; in other profiles a cell may compute for days.
CELL_MINUTES = 30.0
#: Seconds between lines that say how far pages are: at least these, and a tenth of what has passed up to a minute.
OFTEN = 5.0
#: Bytes that a page may need; most need a third of that.
MEMORY = 2 * 2**30


def page_runs(checkout: Checkout, profile: str) -> list[PageRun]:
    """Every notebook of the book, with its executed form where that may be reused."""
    parameters = checkout.profile(profile)
    shared = keys.surroundings(checkout)
    found = []
    for name in checkout.names:
        source = checkout.source(name)
        parts = keys.parts(source, parameters[name], shared)
        path = checkout.executed(profile, name)
        notebook = keys.executed(path)
        damaged = ("its executed form, or a figure",) if path.exists() else ()
        why = tuple(keys.changed(checkout, notebook, parts)) if notebook else damaged
        found.append(PageRun(source, parameters[name], parts, None if why else notebook, why=why))
    return found


def execute_notebooks(
    checkout: Checkout,
    profile: str = "quick",
    chapters: list[str] | None = None,
    *,
    jobs: int | None = None,
    anew: bool = False,
    cell_minutes: float | None = None,
    say: Say = lambda line: None,
) -> list[PageRun]:
    """Execute the notebooks of ``chapters`` (all, if None) whose results are missing or out of date, or all chosen ones
    ``anew``; returns all notebooks of the book in its order, with the results that are up to date.

    At most ``jobs`` notebooks run at the same time, if None as many as memory has room for, and never more than there
    are cores, which they share evenly. A cell may take ``cell_minutes``; if None, as long as it wants, in the profile
    quick ``CELL_MINUTES``. A BookError for faults in what is written (before anything runs), and after all have run,
    if any failed; the results of the others are kept.
    """
    chosen = set(checkout.select(chapters))
    found = [replace(s, notebook=None) if anew and s.name in chosen else s for s in page_runs(checkout, profile)]
    waiting = [s for s in found if s.name in chosen and s.notebook is None]
    before = {s.name: keys.executed(checkout.executed(profile, s.name)) for s in waiting}
    earlier = {name: old["metadata"]["deepmech"]["seconds"] for name, old in before.items() if old is not None}
    # Long ones first, so that none is left alone at the end; those without an estimate count as long.
    waiting.sort(key=lambda s: -earlier.get(s.name, float("inf")))
    new = f", and {len(waiting) - len(earlier)} never ran" if len(earlier) < len(waiting) else ""
    took = f" (they took {format_duration(sum(earlier.values()))} in all last time{new})" if earlier else ""
    say(f"{len(found)} notebooks, {len(waiting)} to execute{took}, profile {profile}")
    for words, many in Counter(", ".join(s.why) for s in waiting if s.why).items():
        say(f"changed since {many} of them were executed: {words}")

    todo = {s.name: (checkout.executed(profile, s.name), s) for s in waiting}
    with closing(executions(checkout, todo, jobs, cell_minutes, say)) as executed:
        done = {page_run.name: page_run for page_run in executed}
    return [done.get(s.name, s) for s in found]


def executions(
    checkout: Checkout,
    todo: Mapping[str, tuple[Path, PageRun]],
    jobs: int | None,
    cell_minutes: float | None,
    say: Say,
) -> Generator[PageRun, None, None]:
    """Execute notebooks into files, each in a kernel of its own; ``todo`` has both by the words that lines of progress
    have for them. Yields what is made as it comes; at the end a BookError if any failed. Closing it ends those that
    run.
    """
    if not todo:
        return
    room = psutil.virtual_memory().available // MEMORY
    jobs = max(1, min(room if jobs is None else jobs, provenance.cores(), len(todo)))
    # Where stored results lie, and where long sweeps keep what they have computed.
    where = {"DEEPMECH_RESULTS": checkout.book / "results", "DEEPMECH_STORES": checkout.generated / ".stores"}
    # BLAS, OpenMP, Numba and torch share the cores.
    limits = dict.fromkeys(provenance.THREADS, str(provenance.cores() // jobs))
    environment = {**limits, **{k: str(v) for k, v in where.items()}}
    from deepmech_book.build import kernels  # slow to import, and a book that is up to date does without

    # What all pages share takes longer to import than what one needs.
    server = kernels.Server(environment) if kernels.FORKS and len(todo) > 1 else None

    watched = tempfile.TemporaryDirectory(prefix="deepmech-", ignore_cleanup_errors=True)
    progress = {words: Path(watched.name) / str(number) for number, words in enumerate(todo)}

    def execute(words: str, target: Path, page_run: PageRun) -> PageRun:
        say(f"{words} starts")
        own = {**environment, "DEEPMECH_PROGRESS": str(progress[words])}
        minutes = cell_minutes or (CELL_MINUTES if page_run.parameters["profile"] == "quick" else 0)
        seconds = max(1, round(60 * minutes)) if minutes else None
        if stderr := execution.execute(Checkout(checkout.root), page_run, target, own, seconds, server):
            say(f"{words} wrote to standard error (left out of the page):\n{stderr.rstrip()}")
        return replace(page_run, notebook=keys.executed(target), fresh=True)

    pool, failures = ThreadPoolExecutor(jobs), []
    futures: dict[Future[PageRun], str] = {}
    try:
        from deepmech_book.build import execution  # papermill, while the server imports what pages need

        futures = {pool.submit(execute, words, *what): words for words, what in todo.items()}
        for number, future in enumerate(completed(futures, teller(progress, say)), 1):
            words = futures[future]
            progress.pop(words)
            place = f"[{number}/{len(todo)}] {words}"
            try:
                page_run = future.result()
            except execution.NotebookFailed as failed:
                failures.append(f"notebook {words}, {failed}")
                say(f"{place} FAILED: {str(failed).strip().splitlines()[-1][:200]}")
                continue
            assert page_run.notebook is not None
            say(f"{place} executed in {format_duration(page_run.notebook['metadata']['deepmech']['seconds'])}")
            if keys.changed(checkout, page_run.notebook, page_run.parts):
                say(f"{words}: something it depends on changed while it ran; the next run executes it again")
            yield page_run
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in futures):
            execution.stop()
            time.sleep(0.1)
        if server is not None:
            server.close()
        watched.cleanup()
    if failures:
        many, reports = f"{len(failures)} of {len(todo)} notebooks", "\n\n".join(failures)
        raise BookError(f"{many} failed; the others' results are kept\n\n{reports}")


def teller(progress: Mapping[str, Path], say: Say) -> Callable[[], None]:
    """A function to be called often, which says now and then how far each page is, by the file that it tells."""
    began = said = time.monotonic()

    def tell() -> None:
        nonlocal said
        passed = time.monotonic() - began
        pause = 1 if sys.stderr.isatty() else min(60, max(OFTEN, passed / 10))
        if began + passed < said + pause:
            return
        said, told = began + passed, []
        for words, file in progress.items():
            # The place of a cell, and then what tqdm wrote of each of its sweeps, which ends lines as a terminal does.
            text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            told += [", ".join([words, *dict.fromkeys([lines[0], lines[-1]])])] if lines else []
        if told:
            say(Passing(f"{format_duration(passed)}: {'; '.join(told)}"))

    return tell


def completed(futures: Iterable[Future[Any]], tell: Callable[[], None]) -> Iterator[Future[Any]]:
    """Futures as they are done; ``tell`` is called about once a second meanwhile. Python hears of an interrupt that
    comes just before a wait only when the wait is over, so that none here is long."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
        yield from done
        tell()
