"""What stands and what falls: one plain sentence for a few claims each, chosen by the verdicts that a build found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from deepmech_book.ledger import registry
from deepmech_book.ledger.entry import number
from deepmech_book.ledger.rules import FAILS, HOLDS, TRIVIAL, UNDECIDED, VERDICTS
from deepmech_book.ledger.shown import Record, badge, cell, claim_records, page_link

_FIELDS = {HOLDS: "holds", TRIVIAL: "trivial", FAILS: "fails", UNDECIDED: "undecided"}


@dataclass(frozen=True)
class Finding:
    """A sentence that rests on some claims of one paper, read from ``findings.yml``; see there for the fields."""

    claims: tuple[str, ...]
    front: bool = False
    holds: str = ""
    trivial: str = ""
    fails: str = ""
    undecided: str = ""

    def __post_init__(self) -> None:
        if len({registry.claim(name).paper for name in self.claims}) != 1:
            raise ValueError(f"finding on {', '.join(self.claims)}: must rest on claims of one paper")

    @property
    def paper(self) -> str:
        return registry.claim(self.claims[0]).paper

    def sentences(self, records: list[Record]) -> list[tuple[str, str, str]]:
        """(verdict, sentence, page) of these records, one for each claim: the written sentence if all have one verdict
        for which there is one, else every claim by itself.

        Examples
        --------
        >>> one = Finding(("A.3.eq8",), holds="Predicted {0.expected:.2f}, found {0.measured:.2f}.")
        >>> record = {"id": "A.3.eq8", "verdict": "holds", "measured": -0.1, "expected": -0.1, "page": "a/b"}
        >>> one.sentences([record])
        [('holds', 'Predicted −0.10, found −0.10.', 'a/b')]
        >>> one.sentences([record | {"verdict": "fails"}])[0][1]  # doctest: +ELLIPSIS
        'Under strong noise every spring ... over the stiffness. Measured: −0.1.'
        """
        verdicts = {r["verdict"] for r in records}
        written = getattr(self, _FIELDS.get(next(iter(verdicts)), ""), "") if len(verdicts) == 1 else ""
        if written:
            return [(verdicts.pop(), written.format(*map(_numbers, records)), records[0]["page"])]
        return [(r["verdict"], f"{registry.claim(r['id']).statement}{_measured(r)}", r["page"]) for r in records]


@dataclass(frozen=True)
class _Number:
    """A number that is written as the book writes numbers: a true minus sign, a space before per cent."""

    value: float | None

    def __format__(self, how: str) -> str:
        if self.value is None:
            raise ValueError("a finding names a number that its claim does not have")
        return format(self.value, how).replace("-", "−").replace("%", " %")


def _numbers(record: Record) -> SimpleNamespace:
    """The numbers of a record as a sentence's braces name them."""
    found: dict[str, Any] = {name: record.get(name) for name in ("measured", "expected", "null")}
    found["low"], found["high"] = record.get("interval") or (None, None)
    for name, of in (("size", "measured"), ("null_size", "null")):
        found[name] = None if found[of] is None else abs(found[of])
    return SimpleNamespace(**{name: _Number(value) for name, value in found.items()})


def _measured(record: Record) -> str:
    return "" if record.get("measured") is None else f" Measured: {number(record['measured'])}."


@cache
def findings() -> tuple[Finding, ...]:
    """All findings in the order of ``findings.yml``."""
    return tuple(registry.read("findings.yml", Finding))


def findings_markdown(records: Iterable[Record], paper: str, *, front: bool = False) -> str:
    """The findings of a paper as a list in MyST Markdown, what holds first; ``front``: those of the front page alone.

    Findings whose claims have not all been measured in this build are counted and left out.
    """
    found = claim_records(records)
    said, absent = [], 0
    for one in (f for f in findings() if f.paper == paper and (f.front or not front)):
        if all(name in found for name in one.claims):
            said += one.sentences([found[name] for name in one.claims])
        else:
            absent += 1
    said.sort(key=lambda line: VERDICTS.index(line[0]))
    lines = [f"- {badge(verdict)} {cell(text)} ({page_link(page)})" for verdict, text, page in said]
    if absent:
        lines.append(f"- {absent} findings rest on pages that are not part of this build.")
    return "\n".join(lines)
