"""Every claim's verdict and numbers as a table in the repository, and what a build finds beside it.

The table holds for the profile ``quick``. Verdicts are compared exactly, numbers within :func:`tolerance`: it is the
same table on another processor, and a change of code that moves a number or flips a verdict is a line of its diff.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from deepmech.sweeps.store import write_whole
from deepmech_book import claims
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import BookError
from deepmech_book.claims.rules import VERDICTS

FILE = "verdicts.tsv"
PROFILE = "quick"
RELATIVE, OF_WIDTH, OF_END, ROUNDING = 1e-4, 2e-3, 1e-6, 1e-9
SEEN = 5e-4  # the largest difference between processors so far, of an interval's width
NONE = "-"
HEAD = f"""\
# What the book finds at the profile {PROFILE}, one line per claim: its verdict, the number measured (of an array: of
# the element hardest to satisfy), the number expected, the ends of the interval, and the null. `deepmech book`
# compares what its notebooks find and fails on a difference; `deepmech book --accept` writes the differences down.
# Verdicts compare exactly. A number may be off by {OF_WIDTH:g} of its interval's width, by {RELATIVE:g} of itself or by
# {OF_END:g} of an end of its rule's region, whichever is largest; by {ROUNDING:g} in any case. Why at all: products
# of numpy and torch differ in their last bits from one processor to another; training and fits amplify that. Measured
# between three families of processors: {SEEN:g} of the width of its interval (a fit on the page), 1.5e-05 of the number
# where a page trains networks itself, at most 1e-09 elsewhere. Compiled engines give equal bits.
# Then how many entries the claim's history has, and digests of its rule and of how it is measured (words and code, see
# claims/digests.py). A rule that changes, and a measure that changes and moves a number, need an entry of the history.
"""


@dataclass(frozen=True)
class Row:
    """One line of the table. Numbers that a claim does not have are None."""

    claim: str
    verdict: str
    measured: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    null: float | None = None
    history: int | None = None
    rule: str = NONE
    measure: str = NONE

    @property
    def as_expected(self) -> bool:
        """Whether what was measured equals what is expected to rounding."""
        return None not in (self.measured, self.expected) and abs(self.measured - self.expected) <= ROUNDING  # type: ignore[operator]

    def __str__(self) -> str:
        numbers = (_text(getattr(self, name)) for name in (*NUMBERS, "history"))
        return "\t".join([self.claim, self.verdict, *numbers, self.rule, self.measure])


COLUMNS = tuple(field.name for field in fields(Row))
NUMBERS = COLUMNS[2:7]


def _text(number: float | None) -> str:
    return NONE if number is None else f"{number + 0.0:.6g}"  # + 0.0: no sign before zero


def of_records(records: Iterable[Mapping[str, Any]]) -> dict[str, Row]:
    """The rows of what notebooks left in their outputs; a BookError for a claim that two checks judge."""
    rows: dict[str, Row] = {}
    pages: dict[str, str] = {}
    for record in (record for record in records if "claim" in record):
        found, page = record["claim"], record.get("page", "?")
        name = found["id"]
        if name in rows:
            raise BookError(f"claim {name} is checked twice, on {pages[name]} and on {page}; one page may judge it")
        low, high = found["interval"] or (None, None)
        decided = (found.get("history"), found.get("rule_is", NONE), found.get("measure_is", NONE))
        measured, expected, null = (found[what] for what in ("measured", "expected", "null"))
        rows[name] = Row(name, found["verdict"], measured, expected, low, high, null, *decided)
        pages[name] = page
    return rows


def read(path: Path) -> dict[str, Row]:
    """The table at ``path``; a BookError if there is none, or for a line that is no row of it."""
    if not path.is_file():
        raise BookError(f"book/{path.name} is not there: no verdict to compare with; deepmech book --accept writes it")
    rows: dict[str, Row] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line[:1] == "#" or line == "\t".join(COLUMNS):
            continue
        try:
            claim, verdict, *cells, history, rule, measure = line.split("\t")
            numbers = {name: None if cell == NONE else float(cell) for name, cell in zip(NUMBERS, cells, strict=True)}
            entries = None if history == NONE else int(history)
            row = Row(claim, verdict, **numbers, history=entries, rule=rule, measure=measure)
            sound = row.verdict in VERDICTS and all(x is None or math.isfinite(x) for x in numbers.values())
            if claim in rows or not sound:
                raise ValueError
        except (TypeError, ValueError):
            raise BookError(
                f"book/{path.name}, line {number}: {line[:60]!r} is not a row of {', '.join(COLUMNS)}, or its claim "
                "stands there already; mend the line, or delete the file and let deepmech book --accept write it"
            ) from None
        rows[claim] = row
    return rows


def write(path: Path, rows: Mapping[str, Row]) -> None:
    """Write the table, sorted by claim."""
    lines = ["\t".join(COLUMNS), *(str(rows[name]) for name in sorted(rows))]
    write_whole(path, HEAD + "\n".join(lines) + "\n")


def tolerance(row: Row, number: float) -> float:
    """How far a number of this row may be off: :data:`OF_WIDTH` of its interval, :data:`RELATIVE` of the number itself
    or :data:`OF_END` of a finite end of its rule's region, whichever is largest, and never less than :data:`ROUNDING`.

    A number near zero is often a difference of larger ones, so that its own size says nothing of its rounding. But one
    that lies far within its region, such as a loss of 1e-5 below 0.01, may not be off by a share of that bound which
    matters to it.
    """
    width = row.high - row.low if row.low is not None and row.high is not None else 0.0
    expected = None if row.expected is None else np.array(row.expected)
    rule = claims.claim(row.claim).rule
    # A row from before its rule came to compare has no region; that it lacks an expected number is a difference itself.
    region = () if rule.kind == "within" and expected is None else rule.region(expected)
    ends = [abs(float(end)) for end in region if np.isfinite(end)]
    return max(OF_WIDTH * width, RELATIVE * abs(number), OF_END * max(ends, default=0.0), ROUNDING)


def difference(old: Row, new: Row) -> str:
    """What is new about a claim, in words; empty if that is nothing."""
    words = [*moved(old, new), *["another rule"] * (old.rule != new.rule)]
    words += [*["measured otherwise"] * (old.measure != new.measure), *["history"] * (old.history != new.history)]
    return f"{old.claim}: {'; '.join(words)}" if words else ""


def moved(old: Row, new: Row) -> list[str]:
    """What of verdict and numbers is new, in words."""
    words = [f"{old.verdict} → {new.verdict}"] if old.verdict != new.verdict else []
    # Of an array that equals what is expected to rounding, the last bits decide which element is shown here.
    skipped = ("measured", "expected", "null") if old.as_expected and new.as_expected else ()
    for name in (n for n in NUMBERS if n not in skipped):
        was, now = getattr(old, name), getattr(new, name)
        if was is None or now is None:
            if was is not now:
                words.append(f"{name} {_text(was)} → {_text(now)}")
        elif abs(now - was) > (allowed := tolerance(old, was)):
            words.append(f"{name} {_text(was)} → {_text(now)} (±{allowed:.2g} is allowed)")
    return words


def unsaid(old: Row, new: Row) -> str:
    """What changed of how a claim is decided since its row was written, if its history has no entry more, and what to
    do; empty if nothing did."""
    what = ["rule"] * (old.rule != new.rule) + ["measure, null or code"] * (old.measure != new.measure)
    if not what or NONE in (old.rule, new.rule) or (new.history or 0) > (old.history or 0):
        return ""
    entry = "'changed YYYY-MM-DD: what, before what; number known' (or 'not known')"
    said = f"{old.claim}: its {' and its '.join(what)} changed; add {entry} to its history in "
    said += f"lib/deepmech_book/{claims.claim(old.claim).page}.yml"
    return said + ("" if "rule" in what else ". If no number moves, deepmech book --accept writes it down without")


def differences(known: Mapping[str, Row], found: Mapping[str, Row], pages: Collection[str] | None) -> dict[str, str]:
    """Claims that differ between the table and a build of ``pages`` (of the whole book, if None), with words for each.

    Claims of the table that belong to other pages are left alone; those that the registry no longer has are not.
    """
    words = {}
    for name in sorted({*known, *found}):
        claim = claims.claims().get(name)
        if name not in known:
            words[name] = f"{name}: not in the table; {found[name].verdict}"
        elif name in found:
            words[name] = difference(known[name], found[name])
        elif claim is None:
            words[name] = f"{name}: in the table, but not in the registry"
        elif pages is None or claim.page in pages:
            words[name] = f"{name}: in the table ({known[name].verdict}), but no page of this build checks it"
    return {name: said for name, said in words.items() if said}


def demand(
    path: Path,
    records: Iterable[Mapping[str, Any]],
    profile: str,
    pages: Collection[str] | None = None,
    *,
    accept: bool = False,
    say: Say = lambda line: None,
) -> None:
    """Compare the records of a build with the table at ``path``, or write what differs into it (``accept``); a
    BookError names each claim that differs, with old and new.

    Lines of which nothing differs stay as they are, so that the table of one machine is not rewritten on another.
    Profiles other than :data:`PROFILE` are neither compared nor written.
    """
    found = of_records(records)
    if profile != PROFILE or not (found or path.exists()):
        return
    known = {} if accept and not path.exists() else read(path)
    words = differences(known, found, pages)
    lines = "\n".join(f"- {line}" for line in words.values())
    pairs = [(known[name], found[name]) for name in words if name in known and name in found]
    silent = [said for old, new in pairs if (old.rule != new.rule or moved(old, new)) and (said := unsaid(old, new))]
    if silent:
        how = "what decides claims changed, and their histories do not say so:\n- "
        raise BookError(how + "\n- ".join(silent) + f"\nWhat differs from book/{path.name}:\n{lines}")
    if accept:
        kept = {name: row for name, row in known.items() if name not in words}
        write(path, kept | {name: found[name] for name in words if name in found})
        say(f"book/{path.name}: {len(words) or 'no'} changes\n{lines}".rstrip())
    elif words:
        raise BookError(
            f"what the notebooks found differs from book/{path.name}, the verdicts under version control:\n{lines}\n"
            "if that is meant, deepmech book --accept writes it down (with --chapters: of those pages)"
        )
    elif found:
        say(f"verdicts: {len(found)} claims as in book/{path.name}")
