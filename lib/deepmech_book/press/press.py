"""All notebooks are executed that have to be, two at a time; one that fails does not spoil the others."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepmech.core import provenance
from deepmech_book.press import kernels, keys
from deepmech_book.press.sources import BookError, Checkout, Source, clock

Say = Callable[[str], None]
#: Seconds that a page of the profile quick may spend on one result that does not ship.
PATIENCE = 120
#: Minutes that a cell of a page of the profile quick may take; in other profiles a cell may compute for days.
CELL_MINUTES = 30.0


@dataclass(frozen=True)
class PageBuild:
    """One notebook of one pressing: what it takes and, once there, its executed form.

    ``notebook`` is None as long as no trustworthy result is there; ``fresh`` says that this run executed it.
    """

    source: Source
    parameters: dict[str, Any]
    key: str
    notebook: dict[str, Any] | None = None
    fresh: bool = False

    @property
    def name(self) -> str:
        return self.source.name


def sheets(checkout: Checkout, profile: str) -> list[PageBuild]:
    """Every notebook of the book, with its executed form where that may be reused."""
    parameters = checkout.profile(profile)
    shared = keys.surroundings(checkout)
    found = []
    for name in checkout.names:
        source = checkout.source(name)
        key = keys.key(source, parameters[name], shared)
        found.append(PageBuild(source, parameters[name], key, keys.trusted(checkout.executed(profile, name), key)))
    return found


def press(
    checkout: Checkout,
    profile: str = "quick",
    chapters: list[str] | None = None,
    *,
    jobs: int = 2,
    anew: bool = False,
    cell_minutes: float | None = None,
    say: Say = lambda line: None,
) -> list[PageBuild]:
    """Execute the notebooks of ``chapters`` (all, if None) whose results are missing or out of date, or all chosen ones
    ``anew``; returns all notebooks of the book in its order, with the results that are up to date.

    At most ``jobs`` notebooks run at the same time, never more than there are cores, which they share evenly. A cell
    may take ``cell_minutes``; if None, as long as it wants, in the profile quick ``CELL_MINUTES``. A BookError for
    faults in what is written (before anything runs), and after all have run, if any failed; the results of the others
    are kept.
    """
    chosen = set(checkout.select(chapters))
    found = [replace(s, notebook=None) if anew and s.name in chosen else s for s in sheets(checkout, profile)]
    waiting = [s for s in found if s.name in chosen and s.notebook is None]
    before = {s.name: keys.trusted(checkout.executed(profile, s.name)) for s in waiting}
    earlier = {name: old["metadata"]["deepmech"]["seconds"] for name, old in before.items() if old is not None}
    # Long ones first, so that none is left alone at the end; those without an estimate count as long.
    waiting.sort(key=lambda s: -earlier.get(s.name, float("inf")))
    new = f", and {len(waiting) - len(earlier)} never ran" if len(earlier) < len(waiting) else ""
    took = f" (they took {clock(sum(earlier.values()))} in all last time{new})" if earlier else ""
    say(f"{len(found)} notebooks, {len(waiting)} to execute{took}, profile {profile}")

    todo = {s.name: (checkout.executed(profile, s.name), s) for s in waiting}
    # Shipped results are checked on cells drawn anew in every build, and the profile quick does not compute at length
    # what an edit has made unlike everything that ships.
    limits = {"DEEPMECH_CHECK": str(secrets.randbelow(10**6))}
    limits |= {"DEEPMECH_PATIENCE": str(PATIENCE)} if profile == "quick" else {}
    with closing(executions(checkout, todo, limits, jobs, cell_minutes, say)) as executed:
        done = {sheet.name: sheet for sheet in executed}
    return [done.get(s.name, s) for s in found]


def executions(
    checkout: Checkout,
    todo: Mapping[str, tuple[Path, PageBuild]],
    environment: Mapping[str, str],
    jobs: int,
    cell_minutes: float | None,
    say: Say,
) -> Generator[PageBuild, None, None]:
    """Execute notebooks into files, each in a kernel of its own; ``todo`` has both by the words that lines of progress
    have for them. Yields what is made as it comes; at the end a BookError if any failed. Closing it ends those that
    run.
    """
    if not todo:
        return
    from deepmech_book.press import execution  # papermill takes a second, and a book that is up to date does without

    jobs = max(1, min(jobs, provenance.cores(), len(todo)))
    # Where stored results lie, and where long sweeps keep what they have computed.
    where = {"DEEPMECH_RESULTS": checkout.book / "results", "DEEPMECH_STORES": checkout.generated / ".stores"}
    environment = {**thread_limits(provenance.cores() // jobs), **{k: str(v) for k, v in where.items()}, **environment}

    def execute(words: str, target: Path, sheet: PageBuild) -> PageBuild:
        say(f"{words} starts")
        minutes = cell_minutes or (CELL_MINUTES if sheet.parameters["profile"] == "quick" else 0)
        seconds = max(1, round(60 * minutes)) if minutes else None
        what = Checkout(checkout.root), sheet.source, sheet.parameters, sheet.key, target
        if chatter := execution.execute(*what, environment, seconds):
            say(f"{words} wrote to standard error (left out of the page):\n{chatter.rstrip()}")
        return replace(sheet, notebook=keys.trusted(target), fresh=True)

    kernels.warm(environment, len(todo))
    pool, failures = ThreadPoolExecutor(jobs), []
    futures = {pool.submit(execute, words, *what): words for words, what in todo.items()}
    try:
        for number, future in enumerate(as_completed(futures), 1):
            words = futures[future]
            place = f"[{number}/{len(todo)}] {words}"
            try:
                sheet = future.result()
            except execution.NotebookFailed as failed:
                failures.append(f"notebook {words}, {failed}")
                say(f"{place} FAILED: {str(failed).strip().splitlines()[-1][:200]}")
                continue
            made = sheet.notebook["metadata"]["deepmech"] if sheet.notebook else {}
            say(f"{place} executed in {clock(made.get('seconds', 0.0))}")
            if made.get("key") != sheet.key:
                say(f"{words}: something it depends on changed while it ran; the next run executes it again")
            yield sheet
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in futures):
            execution.stop()
            time.sleep(0.1)
    if failures:
        many, reports = f"{len(failures)} of {len(todo)} notebooks", "\n\n".join(failures)
        raise BookError(f"{many} failed; the others' results are kept\n\n{reports}")


def thread_limits(threads: int) -> dict[str, str]:
    """Environment in which BLAS, OpenMP, Numba and torch use at most ``threads`` threads."""
    return dict.fromkeys(provenance.THREADS, str(threads))
