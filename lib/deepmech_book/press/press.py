"""All notebooks are executed that have to be, two at a time; one that fails does not spoil the others."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepmech.core import provenance
from deepmech_book.press import execution, kernels, keys
from deepmech_book.press.sources import BookError, House, Source, clock

Say = Callable[[str], None]
#: Seconds that a page of the profile quick may spend on one result that does not ship.
PATIENCE = 120
#: Minutes that a cell of a page of the profile quick may take; in other profiles a cell may compute for days.
CELL_MINUTES = 30.0


@dataclass(frozen=True)
class Sheet:
    """One notebook of one pressing: what it takes and, once there, its executed form.

    ``notebook`` is None as long as no trustworthy result is there; ``fresh`` says that this run executed it.
    """

    source: Source
    parameters: dict[str, Any]
    key: str
    notebook: dict[str, Any] | None = None
    fresh: bool = False
    failure: str = ""

    @property
    def name(self) -> str:
        return self.source.name


def sheets(house: House, profile: str) -> list[Sheet]:
    """Every notebook of the book, with its executed form where that may be reused."""
    parameters = house.profile(profile)
    shared = keys.surroundings(house)
    found = []
    for name in house.names:
        source = house.source(name)
        key = keys.key(source, parameters[name], shared)
        found.append(Sheet(source, parameters[name], key, keys.trusted(house.executed(profile, name), key)))
    return found


def press(
    house: House,
    profile: str = "quick",
    chapters: list[str] | None = None,
    *,
    jobs: int = 2,
    anew: bool = False,
    cell_minutes: float | None = None,
    say: Say = lambda line: None,
) -> list[Sheet]:
    """Execute the notebooks of ``chapters`` (all, if None) whose results are missing or out of date.

    Parameters
    ----------
    jobs : int
        How many notebooks may run at the same time; never more than there are cores, which they share evenly.
    anew : bool
        Execute the chosen notebooks even if their results are up to date.
    cell_minutes : float
        How long a cell may take; if None, as long as it wants, in the profile quick ``CELL_MINUTES``.
    say : callable
        Takes lines of progress.

    Returns
    -------
    list of Sheet
        All notebooks of the book in its order. Of those outside ``chapters``, the ones with a result that is up to
        date carry it.

    Raises
    ------
    BookError
        For faults in what is written (before anything runs), and after all notebooks have run, if any failed; the
        results of the others are kept.
    """
    chosen = set(house.select(chapters))
    found = [Sheet(s.source, s.parameters, s.key) if anew and s.name in chosen else s for s in sheets(house, profile)]
    waiting = [s for s in found if s.name in chosen and s.notebook is None]
    runner = Runner(jobs, len(waiting), cell_minutes)
    jobs = runner.jobs
    expected = {s.name: earlier_seconds(house.executed(profile, s.name)) for s in waiting}
    say(f"{len(found)} notebooks, {len(waiting)} to execute{_about(list(expected.values()), jobs)}, profile {profile}")

    # Long ones first, so that none is left alone at the end; those without an estimate count as long. Among equals the
    # chapters take turns: their first pages compile different functions, which later pages then find compiled.
    before: Counter[str] = Counter()
    turn: dict[str, int] = {}
    for one in waiting:
        chapter = one.name.partition("/")[0]
        turn[one.name], before[chapter] = before[chapter], before[chapter] + 1
    waiting.sort(key=lambda s: (-(expected[s.name] or float("inf")), turn[s.name]))
    done: dict[str, Sheet] = {}
    with runner:
        targets = {s.name: house.executed(profile, s.name) for s in waiting}
        for future in as_completed([runner.submit(house, s, targets[s.name], limits(profile), say) for s in waiting]):
            sheet, seconds, chatter = future.result()
            done[sheet.name] = sheet
            left = [runner.left(expected[s.name], targets[s.name]) for s in waiting if s.name not in done]
            how = "FAILED after" if sheet.failure else "executed in"
            progress = f"[{len(done)}/{len(waiting)}]"
            say(f"{progress} {sheet.name} {how} {clock(seconds)}{_about(left, jobs) if any(left) else ''}")
            if sheet.notebook and sheet.notebook["metadata"]["deepmech"]["key"] != sheet.key:
                say(f"{sheet.name}: something it depends on changed while it ran; the next run executes it again")
            if chatter:
                say(f"{sheet.name} wrote to standard error (left out of the page):\n{chatter.rstrip()}")

    if failed := [s for s in done.values() if s.failure]:
        reports = "\n\n".join(f"notebook {s.name}, {s.failure}" for s in failed)
        raise BookError(f"{len(failed)} of {len(waiting)} notebooks failed; the others' results are kept\n\n{reports}")
    return [done.get(s.name, s) for s in found]


class Runner:
    """Executes notebooks, each in a kernel of its own; leaving it, for whatever reason, ends them.

    At most ``jobs`` run at a time, never more than there are cores, which they share; ``notebooks`` are to come.
    """

    def __init__(self, jobs: int, notebooks: int, cell_minutes: float | None = None) -> None:
        cores = provenance.cores()
        self.jobs = max(1, min(jobs, cores, notebooks))
        self._threads, self._notebooks, self._minutes = thread_limits(cores // self.jobs), notebooks, cell_minutes
        self._since: dict[Path, float] = {}
        self._futures: list[Future[tuple[Sheet, float, str]]] = []

    def __enter__(self) -> Runner:
        if self._notebooks:
            kernels.warm(self._threads, self._notebooks)
        self._pool = ThreadPoolExecutor(self.jobs)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in self._futures):
            execution.stop()
            time.sleep(0.1)

    def left(self, expected: float | None, target: Path) -> float | None:
        """What remains of the expected seconds of a notebook that may have started."""
        spent = time.monotonic() - self._since[target] if target in self._since else 0.0
        return None if expected is None else max(0.0, expected - spent)

    def submit(
        self, house: House, sheet: Sheet, target: Path, environment: dict[str, str], say: Say
    ) -> Future[tuple[Sheet, float, str]]:
        """Execute one notebook into the file ``target``: (sheet with result or failure, seconds, standard error)."""
        self._futures.append(self._pool.submit(self._execute, house, sheet, target, environment, say))
        return self._futures[-1]

    def _execute(
        self, house: House, sheet: Sheet, target: Path, environment: dict[str, str], say: Say
    ) -> tuple[Sheet, float, str]:
        earlier = earlier_seconds(target)
        say(f"{sheet.name} starts{f' (took {clock(earlier)} last time)' if earlier else ''}")
        start = self._since[target] = time.monotonic()
        minutes = self._minutes or (CELL_MINUTES if sheet.parameters["profile"] == "quick" else None)
        seconds = max(1, round(60 * minutes)) if minutes else None
        environment = {**self._threads, **places(house), **environment}
        failure = chatter = ""
        try:
            what = House(house.root), sheet.source, sheet.parameters, sheet.key, target
            chatter = execution.execute(*what, environment, seconds)
        except execution.NotebookFailed as failed:
            failure = str(failed)
        notebook = None if failure else keys.trusted(target)
        return replace(sheet, notebook=notebook, fresh=True, failure=failure), time.monotonic() - start, chatter


def thread_limits(threads: int) -> dict[str, str]:
    """Environment in which BLAS, OpenMP, Numba and torch use at most ``threads`` threads."""
    return dict.fromkeys(provenance.THREADS, str(threads))


def places(house: House) -> dict[str, str]:
    """Environment that tells notebooks where stored results lie and where long sweeps keep what they have computed."""
    return {"DEEPMECH_RESULTS": str(house.book / "results"), "DEEPMECH_STORES": str(house.generated / ".stores")}


def limits(profile: str) -> dict[str, str]:
    """Environment that has shipped results checked on cells drawn anew in every build, and that keeps the profile quick
    from computing at length what an edit has made unlike everything that ships."""
    patience = {"DEEPMECH_PATIENCE": str(PATIENCE)} if profile == "quick" else {}
    return {"DEEPMECH_CHECK": str(secrets.randbelow(10**6)), **patience}


def earlier_seconds(executed: Path) -> float | None:
    """How long the notebook took whose executed form this is."""
    notebook = keys.trusted(executed)
    return notebook["metadata"]["deepmech"]["seconds"] if notebook else None


def _about(seconds: list[float | None], jobs: int) -> str:
    """An estimate from earlier runs, in words; it says how many notebooks it knows nothing about."""
    known = [s for s in seconds if s is not None]
    if not seconds:
        return ""
    if not known:
        return " (no earlier run to estimate from)"
    longest = max(max(known), sum(known) / jobs)
    new = f", and {len(seconds) - len(known)} that never ran" if len(known) < len(seconds) else ""
    return f" (about {clock(longest)} left{new})"
