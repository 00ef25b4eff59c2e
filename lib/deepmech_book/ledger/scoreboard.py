"""The scoreboard page, and what a build promised but did not produce."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from deepmech_book.ledger import registry
from deepmech_book.ledger.entry import number
from deepmech_book.ledger.rules import HOLDS, VERDICTS
from deepmech_book.ledger.sentences import ours
from deepmech_book.ledger.shown import ABSENT, Record, badge, cell, claim_records, page_link


def missing(records: Iterable[Record], pages: Iterable[str] | None = None) -> list[str]:
    """Entries of the registry that ``pages`` promise (by default all pages) and that no record holds, in words.

    Examples
    --------
    >>> missing([{"figure": "A.S1"}], pages=["spring_block/folding_ruler"])[0]
    'claim A.S1.slow: not checked by spring_block/folding_ruler'
    """
    records = list(records)
    made: dict[str, tuple[Mapping[str, Any], set[str], str]] = {
        "figure": (registry.figures(), {r["figure"] for r in records if "figure" in r}, "drawn"),
        "claim": (registry.claims(), {r["claim"]["id"] for r in records if "claim" in r}, "checked"),
    }
    unknown = [registry.unknown(i, of, kind) for kind, (of, there, _) in made.items() for i in sorted(there - set(of))]
    if unknown:
        raise ValueError("; ".join(unknown))
    wanted = None if pages is None else set(pages)
    return [
        f"{kind} {one.id}: not {done} by {one.page}"
        for kind, (of, there, done) in made.items()
        for one in of.values()
        if one.id not in there and (wanted is None or one.page in wanted)
    ]


def scoreboard_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The claims as data, one row each, in the order of the registry.

    ``low`` and ``high`` are the ends of the interval; what was not measured is None.
    """
    found, rows = claim_records(records), []
    for c in registry.claims().values():
        told = {"paper": c.paper, "figure": c.figure, "statement": c.statement, "page": c.page}
        r = found.get(c.id, {"verdict": ABSENT, "rule": c.rule.words})
        low, high = r.get("interval") or (None, None)
        measured = {name: r.get(name) for name in ("verdict", "measured", "null", "rule", "seeds", "profile")}
        rest = {"low": low, "high": high, "reason": r.get("reason"), "answer": c.answered(r["verdict"])}
        rows.append({"claim": c.id, **told, **measured, **rest})
    return rows


def csv_text(rows: Iterable[Record]) -> str:
    """Rows of equal names as a table for spreadsheets; empty without rows."""
    rows, text = list(rows), io.StringIO()
    table = csv.DictWriter(text, rows[0] if rows else [], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def scoreboard_markdown(records: Iterable[Record], profile: str, pages: Collection[str]) -> str:
    """The scoreboard as MyST Markdown, without a title: a count of verdicts, then per paper its claims and figures.

    ``pages`` are the pages of this build. Every claim and every figure of the registry appears, measured or not.
    """
    found = claim_records(records)
    own = {c.id for c in ours()}
    errata = [r for name, r in found.items() if registry.claim(name).aside]
    claimed = [r for name, r in found.items() if not registry.claim(name).aside]
    said, own_said = ([r for r in claimed if (r["id"] in own) == mine] for mine in (False, True))
    drawn = sum(f.page in pages for f in registry.figures().values())
    lines = [
        f"Profile `{profile}`. Claims of the papers: {_counts(said)}. Consequences that this book draws, "
        f"which no sentence of a paper makes: {_counts(own_said)}. "
        f"Errata and remarks, counted apart: {_counts(errata)}. "
        f"{len(registry.claims()) - len(found)} not measured in this build. "
        f"Figures: {drawn} of {len(registry.figures())} drawn in this build.",
        "",
        *_by_chance(claimed),
    ]
    head = ["### Claims", "", "| claim | statement | ours | rule | null | verdict | seeds | page |", f"|{'---|' * 8}"]
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", "", *head]
        for c in (c for c in registry.claims().values() if c.paper == paper):
            if (r := found.get(c.id)) is None:
                words = [c.statement, "–", c.rule.words, c.against or "–", badge(ABSENT), "–", page_link(c.page, pages)]
            else:
                null, seeds = number(r["null"]), str(r.get("seeds") or "–")
                where = f"{page_link(r['page'])} ({r['seconds']:.0f} s)"
                answer = c.answered(r["verdict"])
                statement = f"{c.statement} *The authors could answer:* {answer}" if answer else c.statement
                words = [statement, _ours(r), r["rule"], null, badge(r["verdict"]), seeds, where]
            lines.append(f"| {c.id} | {' | '.join(map(cell, words))} |")
        lines += ["", "### Figures", "", "| figure | shows | page |", "|---|---|---|"]
        for f in (f for f in registry.figures().values() if f.paper == paper):
            part = f" ({f.part})" if f.part else ""
            lines.append(f"| {f.label} | {cell(f.title)}: {cell(f.shows)} | {page_link(f.page, pages)}{part} |")
        lines.append("")
    return "\n".join(lines)


def _counts(records: list[Record]) -> str:
    """How often each verdict was given."""
    verdicts = Counter(r["verdict"] for r in records)
    return ", ".join(f"{verdicts[v]} {badge(v)}" for v in VERDICTS if verdicts[v]) or "none measured"


def _by_chance(records: list[Record]) -> list[str]:
    """How many of the claims that hold would do so by chance, as a paragraph."""
    judged = [r for r in records if r.get("interval")]
    if not judged:
        return []
    holding = sum(r["verdict"] == HOLDS for r in judged)
    return [
        f"{len(judged)} of these verdicts rest on a 95 % interval, {holding} of them hold. If the truth lay just "
        f"outside the region of each claim, an interval would by chance lie inside it in at most 2.5 % of them: "
        f"{number(0.025 * len(judged))} of {len(judged)}. The other {len(records) - len(judged)} are exact results, "
        "single simulations or curves without an interval, for which no such number can be given.",
        "",
    ]


def _ours(record: Record) -> str:
    if record["measured"] is None:
        return record["reason"] or "–"
    ends = f" [{number(record['interval'][0])}, {number(record['interval'][1])}]" if record["interval"] else ""
    return number(record["measured"]) + ends
