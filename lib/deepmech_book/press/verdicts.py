"""Every claim's verdict and numbers as a table in the repository, what a build finds beside it, and the ledger as data.

The table holds for the profile ``quick``. Verdicts are compared exactly, numbers within :func:`tolerance`: it is the
same table on another processor, and a change of code that moves a number or flips a verdict is a line of its diff.

``deepmech book --accept`` writes ``book/ledger/claims.jsonl``, too: every claim with its rule, null, numbers, verdict
and cell, one line of JSON each. Half of them are marked ``held out``: whoever predicts verdicts from the papers alone,
a person or a program, is scored on these (:func:`score`, ``deepmech bench PREDICTIONS.jsonl``).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from deepmech.core.files import write_whole
from deepmech.core.random import Stream
from deepmech_book import ledger
from deepmech_book.ledger.rules import VERDICTS
from deepmech_book.press.press import Say
from deepmech_book.press.sources import BookError, Checkout, Source

FILE = "verdicts.tsv"
PROFILE = "quick"
RELATIVE, OF_WIDTH, ROUNDING = 1e-4, 2e-3, 1e-9
SEEN = 5e-4  # the largest difference between processors so far, of an interval's width
NONE = "-"
HEAD = f"""\
# What the book finds at the profile {PROFILE}, one line per claim: its verdict, the number measured (of an array: of
# the element hardest to satisfy), the number expected, the ends of the interval, and the null. `deepmech book`
# compares what its notebooks find and fails on a difference; `deepmech book --accept` writes the differences down.
# Verdicts compare exactly. A number may be off by {OF_WIDTH:g} of its interval's width, or by {RELATIVE:g} of itself
# or of an end of its rule's region, whichever is largest; by {ROUNDING:g} in any case. Why at all: products of numpy
# and torch differ in their last bits from one processor to another, and training and fits amplify that. Measured
# between three families of processors: {SEEN:g} of the width of its interval (a fit on the page), 1.5e-05 of the number
# where a page trains networks itself, at most 1e-09 elsewhere. Compiled engines give equal bits.
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

    @property
    def as_expected(self) -> bool:
        """Whether what was measured equals what is expected to rounding."""
        return None not in (self.measured, self.expected) and abs(self.measured - self.expected) <= ROUNDING  # type: ignore[operator]

    def __str__(self) -> str:
        return "\t".join([self.claim, self.verdict, *(_text(getattr(self, name)) for name in NUMBERS)])


COLUMNS = tuple(field.name for field in fields(Row))
NUMBERS = COLUMNS[2:]


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
        rows[name] = Row(name, found["verdict"], found["measured"], found["expected"], low, high, found["null"])
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
            claim, verdict, *cells = line.split("\t")
            row = Row(claim, verdict, *(None if cell == NONE else float(cell) for cell in cells))
            sound = row.verdict in VERDICTS and all(x is None or math.isfinite(x) for x in astuple(row)[2:])
            if len(cells) != len(NUMBERS) or claim in rows or not sound:
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
    """How far a number of this row may be off: :data:`OF_WIDTH` of its interval, or :data:`RELATIVE` of the number
    itself or of a finite end of its rule's region, whichever is largest, and never less than :data:`ROUNDING`.

    A number near zero is often a difference of larger ones, so that its own size says nothing of its rounding.

    Examples
    --------
    >>> tolerance(Row("A.3.eq8", "holds", -0.05, -0.05), -0.05) < 1e-5
    True
    """
    width = row.high - row.low if row.low is not None and row.high is not None else 0.0
    expected = None if row.expected is None else np.array(row.expected)
    ends = [abs(float(end)) for end in ledger.claim(row.claim).rule.region(expected) if np.isfinite(end)]
    return max(OF_WIDTH * width, RELATIVE * max(abs(number), *ends), ROUNDING)


def difference(old: Row, new: Row) -> str:
    """What is new about a claim, in words; empty if that is nothing.

    Examples
    --------
    >>> difference(Row("A.3.eq8", "holds", -0.05, -0.05), Row("A.3.eq8", "fails", 0.3, -0.05))
    'A.3.eq8: holds → fails; measured -0.05 → 0.3 (±5.2e-06 is allowed)'
    >>> difference(Row("A.3.eq8", "holds", -0.05, -0.05), Row("A.3.eq8", "holds", -0.050001, -0.05))
    ''
    """
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
    return f"{old.claim}: {'; '.join(words)}" if words else ""


def differences(known: Mapping[str, Row], found: Mapping[str, Row], pages: Collection[str] | None) -> dict[str, str]:
    """Claims that differ between the table and a build of ``pages`` (of the whole book, if None), with words for each.

    Claims of the table that belong to other pages are left alone; those that the registry no longer has are not.
    """
    words = {}
    for name in sorted({*known, *found}):
        claim = ledger.claims().get(name)
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


SPLITS = OPEN, HELD_OUT = "open", "held out"


def entries(checkout: Checkout) -> list[dict[str, Any]]:
    """All claims that a checkout judged, as ``book/ledger/schema.json`` describes them, in the order of their ids."""
    cells = {page: _checked(checkout.source(page)) for page in checkout.names}
    made = []
    for name, row in sorted(read(checkout.book / FILE).items()):
        claim = ledger.claim(name)
        made.append({
            "id": name, "paper": claim.paper, "kind": claim.kind, "split": split_of(name), "where": claim.where,
            "statement": claim.statement, "measure": claim.measure, "rule": claim.rule.words, "null": claim.against,
            "better_than_null": claim.better_than_null, "verdict": row.verdict, "number": row.measured,
            "expected": row.expected, "interval": None if row.low is None else [row.low, row.high],
            "null_number": row.null, "notebook": f"notebooks/{claim.page}.md",
            "cell": cells.get(claim.page, {}).get(name),
        })  # fmt: skip
    return made


def _checked(source: Source) -> dict[str, int]:
    """For every claim that a notebook checks the number of the code cell that does, from 1."""
    cells = [cell.source for cell in source.notebook.cells if cell.cell_type == "code"]
    return {
        name: i for i, cell in enumerate(cells, start=1) for name in re.findall(r"check\(\s*\"([A-C]\.[^\"]+)\"", cell)
    }


def write_entries(checkout: Checkout) -> None:
    """Write all claims into the book of a checkout, a line each."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries(checkout)]
    write_whole(checkout.book / "ledger" / "claims.jsonl", "\n".join([*lines, ""]))


def split_of(name: str) -> str:
    """The half that a claim belongs to, by its id alone."""
    return SPLITS[int(Stream.of("held out", name).bits("claim", 0, 1)[0]) % 2]


def score(predictions: Path, checkout: Checkout) -> str:
    """How good predictions of verdicts are, on the half that is held out.

    ``predictions`` has a line of JSON for each claim: its ``id`` and a ``verdict``, or ``probabilities`` by verdict. A
    claim without a line counts as wrong. Beside it stands who always says the verdict most frequent in the open half.
    A ValueError names the line that is no such prediction.
    """
    known = {entry["id"]: entry for entry in entries(checkout)}
    said: dict[str, dict[str, float]] = {}
    for i, line in enumerate(predictions.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            one = json.loads(line)
            shares = one.get("probabilities") or {one["verdict"]: 1.0}
            if one["id"] not in known or not set(shares) <= set(VERDICTS) or abs(sum(shares.values()) - 1) > 1e-6:
                raise ValueError
        except (ValueError, TypeError, AttributeError, KeyError):
            raise ValueError(
                f"{predictions.name}, line {i}: must be an id of the ledger with a verdict ({', '.join(VERDICTS)}), or "
                "with their probabilities, which add up to 1"
            ) from None
        said[one["id"]] = shares
    held = [e for e in known.values() if e["split"] == HELD_OUT]
    usual = Counter(e["verdict"] for e in known.values() if e["split"] == OPEN).most_common(1)[0][0]
    truth = np.array([[v == e["verdict"] for v in VERDICTS] for e in held], float)
    lines = [f"{len(held)} claims held out, {sum(e['id'] in said for e in held)} of them predicted:"]
    for name, those in {"predictions": said, f"always {usual!r}": {e["id"]: {usual: 1.0} for e in held}}.items():
        p = np.array([[those.get(e["id"], {}).get(v, 0.0) for v in VERDICTS] for e in held])
        right = (p.max(1) > 0) & (truth[np.arange(len(held)), p.argmax(1)] == 1)
        far = np.square(p - truth).sum(1)
        lines.append(f"  {name}: {right.mean():.1%} right, Brier score {far.mean():.3f} (0 is best)")
    return "\n".join(lines)
