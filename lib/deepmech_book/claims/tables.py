"""The pages of claims, as MyST Markdown without a title: scoreboard, findings, and the tables of the registry.

``pages`` are always those of the build, each with its title: only they are linked. ``records`` are what its notebooks
left in their outputs: ``{"figure": id}`` or ``{"claim": {...}}``, with page, profile and seconds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from string import Formatter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from deepmech_book.claims import registry
from deepmech_book.claims.display import (
    ABSENT,
    Record,
    badge,
    claim_line,
    doubtful,
    fold,
    half_widths,
    leading,
    number,
    surety,
    with_rows,
)
from deepmech_book.claims.registry import AFTER, FROZEN, OLDER, PAPERS, Claim
from deepmech_book.claims.rules import FAILS, HOLDS, NOT_TESTABLE, TRIVIAL, UNDECIDED, Rule, judge

Pages = Mapping[str, str]
LATE = "Rule, null or measure was changed after a number had been seen; the claim’s history says how and why."
"""What a dagger beside a verdict means."""


def missing(records: Iterable[Record], pages: Iterable[str] | None = None) -> list[str]:
    """Entries of the registry that ``pages`` promise (by default all pages) and that no record holds, in words."""
    records, wanted = list(records), None if pages is None else set(pages)
    drawn = {r["figure"] for r in records if "figure" in r}
    checked = {r["claim"]["id"] for r in records if "claim" in r}
    kinds = (("figure", registry.figures(), drawn, "drawn"), ("claim", registry.claims(), checked, "checked"))
    if unknown := [registry.unknown(i, of, kind) for kind, of, there, _ in kinds for i in sorted(there - set(of))]:
        raise ValueError("; ".join(unknown))
    return [
        f"{kind} {one.id}: not {done} by {one.page}"
        for kind, of, there, done in kinds
        for one in of.values()
        if one.id not in there and (wanted is None or one.page in wanted)
    ]


def claim_records(records: Iterable[Record]) -> dict[str, Record]:
    """The records of claims by the claim's id, each with its page, profile and seconds."""
    return {registry.claim(r["claim"]["id"]).id: {**r["claim"], **r} for r in records if "claim" in r}


def cell(text: str) -> str:
    """A text that does not end the cell of a table it stands in."""
    return text.replace("|", "\\|").replace("\n", " ")


def page_link(page: str, pages: Pages) -> str:
    """A link with the title of a page of the book, if it is among ``pages`` or prose, which has no chapter."""
    if "/" in page and page not in pages:
        return f"{page}, {ABSENT}"
    return f"{{doc}}`/generated/{page}`" if "/" in page else f"{{doc}}`/{page}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(head)} |", f"{'|---' * len(head)}|", *(f"| {' | '.join(map(cell, row))} |" for row in rows)]


def _by_paper(lines: Callable[[str], list[str]]) -> str:
    """Under the title of each paper its lines, by the paper's letter."""
    return "\n".join(line for paper, title in PAPERS.items() for line in (f"## {title}", "", *lines(paper), ""))


def _of(paper: str, entries: Iterable[Any]) -> list[Any]:
    return [one for one in entries if one.paper == paper]


def papers_markdown(pages: Pages) -> str:
    """Sections and figures: two tables for each paper."""

    def section(s: registry.Section) -> tuple[str, str]:
        return s.name, ", ".join(page_link(page, pages) for page in s.pages) or f"none: {s.why}"

    def figure(f: registry.Figure) -> tuple[str, str, str]:
        return f.label, f.title, page_link(f.page, pages) + (f" ({f.part})" if f.part else "")

    def tables(paper: str) -> list[str]:
        first = _table(("section", "pages of this book"), map(section, _of(paper, registry.sections().values())))
        return [*first, "", *_table(("figure", "shows", "page"), map(figure, _of(paper, registry.figures().values())))]

    return _by_paper(tables)


def errata_markdown(paper: str, pages: Pages) -> str:
    """A paper's errata, then the remarks: what is printed, what this book finds, and what shows it."""

    def shown(name: str) -> str:
        if "::" not in name:
            return page_link(registry.claim(name).page, pages)
        return f"<code>{name.partition('::')[0].replace('/', '/<wbr>').replace('_', '_<wbr>')}</code>"

    def table(remark: bool) -> list[str]:
        of = [e for e in _of(paper, registry.errata().values()) if e.remark == remark]
        rows = [(e.where, e.printed, e.found, "<br>".join(dict.fromkeys(map(shown, e.shown))) or "–") for e in of]
        return _table(("where", "in print", "what we find", "shown by"), rows)

    apart = (
        "Worth knowing for whoever rebuilds the paper, and no errors: the text grants it, or says nothing against it."
    )
    return "\n".join([*table(False), "", "## Remarks", "", apart, "", *table(True), ""])


@dataclass(frozen=True)
class Finding:
    """A sentence that rests on some claims of one paper, of ``findings.yml``; see there for the fields."""

    claims: tuple[str, ...]
    chapter: str = ""
    front: bool = False
    main: bool = False
    holds: str = ""
    trivial: str = ""
    fails: str = ""
    undecided: str = ""

    def __post_init__(self) -> None:
        if len({registry.claim(name).paper for name in self.claims}) != 1:
            raise ValueError(f"finding on {', '.join(self.claims)}: must rest on claims of one paper")

    @property
    def of(self) -> str:
        """The chapter on whose first page it stands: the letter of its paper, unless it names another."""
        return self.chapter or registry.claim(self.claims[0]).paper

    def sentences(self, records: Sequence[Record]) -> list[tuple[str, str, list[Record]]]:
        """(verdict, sentence, its records) of these records, one for each claim: the written sentence if all have one
        verdict for which there is one, else of every claim its statement and number."""
        wordings = {HOLDS: self.holds, TRIVIAL: self.trivial, FAILS: self.fails, UNDECIDED: self.undecided}
        first = records[0]["verdict"]
        if all(r["verdict"] == first for r in records) and (written := wordings.get(first, "")):
            worst = max(records, key=lambda r: -registry.claim(r["id"]).rule.direction * (r.get("measured") or 0.0))
            return [(first, _Sentence().format(written, *map(_numbers, records), worst=_numbers(worst)), list(records))]
        told = ("" if r.get("measured") is None else f" Measured: {number(r['measured'])}." for r in records)
        said = (f"{registry.claim(r['id']).statement}{words}" for r, words in zip(records, told, strict=True))
        return [(r["verdict"], words, [r]) for r, words in zip(records, said, strict=True)]


class _Sentence(Formatter):
    """Writes numbers as the book does: a true minus sign, a space before per cent."""

    def format_field(self, value: Any, how: str) -> str:
        if value is None:
            raise ValueError("a finding names a number that its claim does not have")
        return format(value, how).replace("-", "−").replace("%", " %")


def _numbers(record: Record) -> SimpleNamespace:
    """The numbers of a record as a sentence's braces name them."""
    low, high = record.get("interval") or (None, None)
    names = ("measured", "expected", "null", "median", "detail")
    found = SimpleNamespace(low=low, high=high, **{name: record.get(name) for name in names})
    found.size, found.null_size = (None if x is None else abs(x) for x in (found.measured, found.null))
    return found


@cache
def findings() -> tuple[Finding, ...]:
    """All findings in the order of ``findings.yml``."""
    return tuple(registry.read("findings.yml", Finding))


def findings_markdown(records: Iterable[Record], chapter: str, pages: Pages, *, front: bool = False) -> str:
    """The findings of a chapter in the order of their story, each a sentence with its number and the verdict on the
    paper's claim. It unfolds to what more is to be said and to the claims it rests on; findings that are not among the
    main ones are in a fold. ``front``: those of the front page alone.

    For a page at the root of the book. Findings whose claims have not all been measured in this build are counted.
    """
    found = claim_records(records)
    wanted = [f for f in findings() if f.of == chapter and (f.front or not front)]
    there = [f for f in wanted if all(name in found for name in f.claims)]
    shown: list[str] = []
    folded: list[str] = []
    below: list[Record] = []
    for finding in there:
        first = front or finding.front or finding.main
        for verdict, words, of in finding.sentences([found[name] for name in finding.claims]):
            (shown if first else folded).append(_finding_line(verdict, words, of, pages))
            below += [] if first else [{**of[0], "verdict": _shown(of, verdict)}]
    lines = [*shown, *([fold(f"{len(folded)} findings more", below, "\n".join(folded))] if folded else [])]
    if not front and any(">†<" in one for one in shown):
        lines += ["", f"<small>† {LATE}</small>"]
    if absent := len(wanted) - len(there):
        lines += ["", f"{absent} findings rest on pages that are not part of this build."]
    return "\n".join(lines)


def _shown(records: Sequence[Record], verdict: str) -> str:
    """The verdict beside what was found: where all have this one, that which leads on the line of the first."""
    return leading(records[0]) if all(r["verdict"] == verdict for r in records) else verdict


def _finding_line(verdict: str, words: str, records: Sequence[Record], pages: Pages) -> str:
    """The first line of what was found, and the verdict on what the paper says; below, the rest, what authors could
    answer, and the claims."""
    asked = [registry.claim(r["id"]) for r in records]
    answers = dict.fromkeys(c.answered(r["verdict"]) for c, r in zip(asked, records, strict=True))
    sentence, _, rest = words.partition("\n")
    told = [*([rest] if rest else []), *(f"The authors could answer: {a}" for a in answers if a)]
    lines = (claim_line(c, r, "", _address(c, pages, "generated/"), False) for c, r in zip(asked, records, strict=True))
    verdict = _shown(records, verdict)
    whose = "our claim" if asked[0].ours or asked[0].kind == "finding" else f"paper {asked[0].paper}’s claim"
    whose += f", put to the test: “{escape(asked[0].statement)}”" if asked[0].ours or verdict != HOLDS else ":"
    doubts = [doubt for c, r in zip(asked, records, strict=True) if (doubt := doubtful(c, r))]
    said = f"{whose} {badge(verdict, '', asked[0].kind, *doubts[:1])}"
    said += f' <abbr title="{LATE}">†</abbr>' if any(c.status == AFTER for c in asked) else ""
    head = f'<span class="dm-statement">{escape(sentence)}</span> <span class="dm-said">{said}</span>'
    below = "".join([*(f'<p class="dm-detail">{escape(one)}</p>' for one in told), *lines])
    return f'<details class="dm-claim dm-found"><summary>{head}</summary>{below}</details>'


def _address(claim: Claim, pages: Pages, root: str = "") -> tuple[str, str] | None:
    """Address and title of the line of a claim on its page, if that is in this build."""
    return (f"{root}{claim.page}.html#claim-{claim.id}", pages[claim.page]) if claim.page in pages else None


def scoreboard_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The claims as data, one row each, in the order of the registry; :func:`verdict_of` a row is its verdict.

    ``family`` is the claim on whose card it stands, its own id where it is no row of another.
    ``low`` and ``high`` are the ends of the interval, ``less_null_low`` and ``less_null_high`` those of measured less
    null, and ``criterion`` is the rule as the registry writes it; what was not measured is None, and ``untestable``
    says that a number lacks the interval that it takes to judge it. A ValueError if a verdict does not follow from its
    row.
    """
    found, rows = claim_records(records), []
    for c in registry.claims().values():
        r = found.get(c.id, {"verdict": ABSENT, "rule": c.rule.words})
        row: dict[str, Any] = {"claim": c.id, "family": c.head}
        row |= {name: getattr(c, name) for name in ("paper", "figure", "statement", "page", "kind")}
        row["history"] = "; ".join(c.history)
        row["status"] = c.status
        names = ("verdict", "measured", "null", "rule", "seeds", "profile", "first_null", "first_verdict")
        row |= {name: r.get(name) for name in names}
        row["low"], row["high"] = r.get("interval") or (None, None)
        row |= {"reason": r.get("reason"), "answer": c.answered(r["verdict"]), "expected": r.get("expected")}
        row["less_null_low"], row["less_null_high"] = r.get("difference") or (None, None)
        row |= {"untestable": r["verdict"] == NOT_TESTABLE, "criterion": c.rule.to_json()}
        sure = surety(c, r) if c.id in found else None
        rows.append(row | {"better_than_null": c.better_than_null, "again": sure and sure[0]})
        if c.id in found and (verdict := verdict_of(rows[-1])) != r["verdict"]:
            raise ValueError(f"claim {c.id}: its row of the scoreboard says {verdict!r}, its page {r['verdict']!r}")
    return rows


def verdict_of(row: Mapping[str, Any]) -> str:
    """The verdict that follows from the numbers of one row of the scoreboard, and from nothing else."""
    if row["measured"] is None or row.get("untestable"):
        return NOT_TESTABLE
    names = ("measured", "expected", "null", "low", "high", "less_null_low", "less_null_high")
    x: dict[str, Any] = {name: None if row[name] is None else np.array(row[name]) for name in names}
    return judge(
        Rule.parse(row["criterion"]), x["measured"], expected=x["expected"], null=x["null"],
        interval=None if x["low"] is None else (x["low"], x["high"]), better_than_null=row["better_than_null"],
        difference=None if x["less_null_low"] is None else (x["less_null_low"], x["less_null_high"]),
    ).verdict  # fmt: skip


def csv_text(rows: Iterable[Record]) -> str:
    """Rows of equal names as a table for spreadsheets, the criterion as JSON."""
    plain = [{name: json.dumps(v) if isinstance(v, dict) else v for name, v in row.items()} for row in rows]
    return pd.DataFrame(plain, dtype=object).to_csv(index=False, lineterminator="\n")


def scoreboard_markdown(records: Iterable[Record], profile: str, pages: Pages) -> str:
    """The scoreboard: how old rules are and what numbers rest on, a dot for each number by its distance from the limit,
    then paper by paper and figure by figure a fold of claims."""
    found, claims = claim_records(records), registry.claims()
    groups = {f"Paper {paper}": [c for c in _of(paper, claims.values()) if _kind(c) == "claim"] for paper in PAPERS}
    groups |= {name: [c for c in claims.values() if _kind(c) == kind] for name, kind in _APART.items()}
    checks = [r for name, r in found.items() if claims[name].kind == "check"]
    drawn = sum(f.page in pages for f in registry.figures().values())
    counts = [
        f"- Checks that a program obeys its formula are counted apart: {sum(r['verdict'] == HOLDS for r in checks)} of "
        f"{len(checks)} pass. So are findings of ours, which have a number and no verdict: "
        f"{sum(claims[name].kind == 'finding' for name in found)}.",
        f"- In this build, of the profile `{profile}`: {drawn} of {len(registry.figures())} figures are drawn, "
        f"{len(claims) - len(found)} claims not measured.",
        "",
    ]

    def folds(paper: str) -> list[str]:
        of_paper, lines = _of(paper, claims.values()), []
        for figure in _of(paper, registry.figures().values()):
            title = pages.get(figure.page)
            where = f'<a href="{figure.page}.html">{escape(title)}</a>' if title else f"{figure.page}, {ABSENT}"
            shows = f"<p>{escape(figure.shows)} ({where}{f', {escape(figure.part)}' if figure.part else ''})</p>"
            inside = [c for c in of_paper if claims[c.head].figure == figure.id and c.kind != "erratum"]
            lines.append(of_claims(f"{figure.label}: {figure.title}", inside, shows))
        return [*lines, of_claims("Errata and remarks", [c for c in of_paper if c.kind == "erratum"])]

    def of_claims(title: str, inside: list[Claim], before: str = "") -> str:
        lines = {c.id: claim_line(c, found.get(c.id), "", _address(c, pages)) for c in inside}
        families = {c.id: [r.id for r in inside if r.family == c.id] for c in inside if not c.family}
        for head, of in families.items():
            if of:
                lines[head] = with_rows(lines[head], (lines[r] for r in of), (found[r] for r in of if r in found))
        shown = before + "".join(lines[head] for head in families)
        return fold(title, (found[c.id] for c in inside if c.id in found), shown)

    return "\n".join([*_status_table(groups, found), "", _dots(groups, found), "", *counts, _by_paper(folds)])


_APART = {"Ours, no sentence of a paper": "ours", "Errata and remarks": "erratum"}
STATUSES = {FROZEN: "dm-frozen", OLDER: "dm-older", AFTER: "dm-after"}
"""How old rules are, each with the class of its dots."""
OUTCOMES = ("holds beside a rival", "holds, no rival", "as its rival", "contradicted", "open")


def _kind(claim: Claim) -> str:
    return "ours" if claim.ours and claim.kind == "claim" else claim.kind


def outcome(claim: Claim, record: Record) -> str:
    """What came of a claim, one of :data:`OUTCOMES`; its first null leads, where that was exchanged."""
    verdict = leading(record)
    if verdict == HOLDS:
        return OUTCOMES[0 if claim.against else 1]
    return {TRIVIAL: OUTCOMES[2], FAILS: OUTCOMES[3]}.get(verdict, OUTCOMES[4])


def _status_table(groups: Mapping[str, list[Claim]], found: Mapping[str, Record]) -> list[str]:
    """How many claims came out how, by how old their rules are and whether their numbers have intervals."""
    rows = []
    for name, claims in groups.items():
        for status in STATUSES:
            there = [(c, found[c.id]) for c in claims if c.status == status and c.id in found]
            of = Counter((outcome(c, r), bool(r.get("interval"))) for c, r in there)
            both = [(of[o, True], of[o, False]) for o in OUTCOMES]
            cells = (f"{sure}\u00a0+\u00a0{alone}" if sure + alone else "·" for sure, alone in both)
            rows += [(name, status, *cells)] if of else []
    said = (
        "Each cell: claims whose number has an interval over independent runs + claims without one; rows of a claim "
        "count by themselves. A *rival* is an explanation that knows no theory; where it was exchanged with the number "
        "known, the first one counts. *Changed after*: rule, measure, rival or interval were changed, or panels "
        "joined, when a number was known; the claim's history says which. *Open*: undecided, or not testable."
    )
    return [*_table(("", "the rule", *OUTCOMES), rows), "", said]


def _dots(groups: Mapping[str, list[Claim]], found: Mapping[str, Record]) -> str:
    """A dot for each number with an interval, by how many half-widths of it lie between the number and its limit, to
    the right where the claim holds; of numbers alike dots lie on one another. SVG, its colours are the page's."""
    parts, y, near, count = [], 0, 0, 0
    for name, claims in groups.items():
        stacks: dict[int, list[tuple[Claim, float]]] = {}
        for c in sorted(claims, key=lambda c: list(STATUSES).index(c.status)):
            if c.id in found and (off := half_widths(c, found[c.id])) is not None:
                stacks.setdefault(round(4 * float(np.clip(np.arcsinh(off), -6, 6))), []).append((c, off))
        parts.append(f'<text x="4" y="{y + 26}">{escape(name)}</text>')
        y += 34 + 9 * max(map(len, stacks.values()), default=0)
        parts.append(f'<path d="M20 {y}h680"/>')
        for at, (k, (c, off)) in ((at, one) for at, dots in stacks.items() for one in enumerate(dots)):
            count, near = count + 1, near + (abs(off) < 1)
            told = f"<title>{c.id}: {number(off)} half-widths; {c.status}</title>"
            place = f'cx="{_x(at / 4)}" cy="{y - 6 - 9 * k}" r="4"'
            parts.append(f'<circle class="{STATUSES[c.status]}" {place}>{told}</circle>')
    ticks = [f'<path d="M{_x(float(np.arcsinh(t)))} 0V{y}"/>' for t in (-1, 1)]
    ticks += [f'<path class="dm-limit" d="M{_x(0)} 0V{y}"/>']
    for t in (-100, -10, -3, -1, 0, 1, 3, 10, 100):
        ticks += [f'<text x="{_x(float(np.arcsinh(t)))}" y="{y + 16}" text-anchor="middle">{number(t)}</text>']
    ticks += [f'<text x="20" y="{y + 34}">← outside the rule</text>']
    ticks += [f'<text x="700" y="{y + 34}" text-anchor="end">half-widths of the interval; inside the rule →</text>']
    alt = (
        f"{count} numbers by their distance from the limit of their rule, in half-widths of their intervals, by paper: "
        f"{near} lie within one half-width of it, where intervals straddle. Colours say how old the rule is."
    )
    signs = {status: "○" if status == AFTER else "●" for status in STATUSES}
    keys = "".join(f'<span class="{css}">{signs[status]} {status}</span> ' for status, css in STATUSES.items())
    svg = f'<svg viewBox="0 0 720 {y + 40}" role="img" aria-label="{alt}">{"".join([*ticks, *parts])}</svg>'
    return f'<figure class="dm-dots">{svg}<figcaption>{keys}</figcaption></figure>'


def _x(of: float) -> str:
    """Where a distance, as its inverse hyperbolic sine, lies on the axis of :func:`_dots`."""
    return f"{360 + 56 * of:.0f}"
