"""The ledger's pages as MyST Markdown without a title: the scoreboard, and five tables that stand beside the registry:
formulas, sections, choices, sentences and findings.

``pages`` are always those of the build: only they are linked. ``records`` are what its notebooks left in their outputs:
``{"figure": id}`` or ``{"claim": {...}}``, with page, profile and seconds.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from deepmech_book.ledger import registry
from deepmech_book.ledger.display import badge, number
from deepmech_book.ledger.rules import FAILS, HOLDS, TRIVIAL, UNDECIDED, VERDICTS

Record = Mapping[str, Any]
N = TypeVar("N", registry.Figure, registry.Claim, "Formula", "Section", "Choice", "Sentence")
ABSENT = "not in this build"
_BAR = r"\vert "


# --- what is read -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formula(registry.Numbered):
    """One numbered formula of a paper that the library computes, of ``formulas.yml``.

    ``code`` is the full name of the object that computes it; ``formula`` is LaTeX in the book's notation, ``note`` what
    differs from the print.
    """

    says: str
    formula: str
    code: str
    page: str
    note: str = ""

    @property
    def number(self) -> str:
        """The number in its paper: ``3``, or ``D.8`` in an appendix (paper C writes ``F6``)."""
        n = self.id.split(".", 1)[1]
        return f"{n[0]}.{n[1:]}" if n[0].isalpha() and self.paper != "C" else n


@dataclass(frozen=True)
class Section(registry.Numbered):
    """One section of a paper, of ``sections.yml``: the pages about it, or ``why`` there are none."""

    name: str
    pages: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.pages) == bool(self.why):
            raise ValueError(f"section {self.id}: must have either pages or a reason (why) to have none")


@dataclass(frozen=True)
class Choice:
    """One choice of an experiment, of ``done_a.yml`` and so on.

    ``text``, ``program`` and ``here`` say how it was made in each; ``changes`` what that alters in the results, if they
    differ. ``group`` is the heading under which it stands, ``page`` where it matters most.
    """

    paper: str
    group: str
    what: str
    text: str
    program: str
    here: str
    page: str
    changes: str = ""


@dataclass(frozen=True)
class Sentence:
    """One claim of a paper's text, in our words, of ``sentences.yml``.

    ``claims`` are the ids of the ledger that judge it; a sentence without any says in ``why`` what keeps it from being
    judged.
    """

    paper: str
    where: str
    says: str
    claims: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.claims) == bool(self.why):
            raise ValueError(f"sentence {self.says!r}: must have either claims or a reason (why) to have none")
        for name in self.claims:
            registry.claim(name)


@dataclass(frozen=True)
class Finding:
    """A sentence that rests on some claims of one paper, of ``findings.yml``; see there for the fields."""

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
        wordings = {HOLDS: self.holds, TRIVIAL: self.trivial, FAILS: self.fails, UNDECIDED: self.undecided}
        first = records[0]["verdict"]
        if all(r["verdict"] == first for r in records) and (written := wordings.get(first, "")):
            return [(first, written.format(*map(_numbers, records)), records[0]["page"])]
        measured = ("" if r.get("measured") is None else f" Measured: {number(r['measured'])}." for r in records)
        said = (f"{registry.claim(r['id']).statement}{words}" for r, words in zip(records, measured, strict=True))
        return [(r["verdict"], words, r["page"]) for r, words in zip(records, said, strict=True)]


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


@cache
def formulas() -> Mapping[str, Formula]:
    """All formulas by id, in the papers' order.

    Examples
    --------
    >>> formulas()["B.D8"].number, formulas()["C.F6"].number
    ('D.8', 'F6')
    """
    return registry.by_id(registry.read("formulas.yml", Formula))


@cache
def sections() -> Mapping[str, Section]:
    """All sections by id, in the papers' order."""
    return registry.by_id(registry.read("sections.yml", Section))


@cache
def choices() -> tuple[Choice, ...]:
    """All choices, in the order of the files."""
    of_file = [registry.read(f"done_{paper.lower()}.yml", Choice, "group", paper=paper) for paper in registry.PAPERS]
    return tuple(choice for each in of_file for choice in each)


@cache
def sentences() -> tuple[Sentence, ...]:
    """All sentences, in the papers' order."""
    return tuple(registry.read("sentences.yml", Sentence, "paper", "where"))


@cache
def findings() -> tuple[Finding, ...]:
    """All findings in the order of ``findings.yml``."""
    return tuple(registry.read("findings.yml", Finding))


def ours() -> list[registry.Claim]:
    """The claims of the ledger that no sentence of a paper makes: consequences that this book draws, no errata."""
    said = {name for sentence in sentences() for name in sentence.claims}
    return [c for c in registry.claims().values() if c.id not in said and not c.aside]


def missing(records: Iterable[Record], pages: Iterable[str] | None = None) -> list[str]:
    """Entries of the registry that ``pages`` promise (by default all pages) and that no record holds, in words.

    Examples
    --------
    >>> missing([{"figure": "A.S1"}], pages=["spring_block/folding_ruler"])[0]
    'claim A.S1.slow: not checked by spring_block/folding_ruler'
    """
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


# --- how it is shown --------------------------------------------------------------------------------------------------


def claim_records(records: Iterable[Record]) -> dict[str, Record]:
    """The records of claims by the claim's id, each with its page, profile and seconds."""
    return {registry.claim(r["claim"]["id"]).id: {**r["claim"], **r} for r in records if "claim" in r}


def cell(text: str) -> str:
    """A text that does not end the cell of a table it stands in."""
    return text.replace("|", "\\|").replace("\n", " ")


def page_link(page: str, pages: Collection[str] | None = None) -> str:
    """A link to a page of the book, if it is among ``pages`` or prose, which has no chapter; else its name.

    Examples
    --------
    >>> page_link("glass/ageing"), page_link("springs", []), page_link("glass/ageing", [])
    ('[ageing](/generated/glass/ageing.ipynb)', '[springs](/springs.md)', 'glass/ageing, not in this build')
    """
    chapter, _, name = page.rpartition("/")
    if chapter and pages is not None and page not in pages:
        return f"{page}, {ABSENT}"
    address = f"/generated/{page}.ipynb" if chapter else f"/{page}.md"
    return f"[{name.replace('_', ' ')}]({address})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], first: str = "---") -> list[str]:
    """The lines of a table; ``first`` is the rule below its first column."""
    rule = f"|{'|'.join([first, *['---'] * (len(head) - 1)])}|"
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)]


def _by_paper(table: Callable[[str], list[str]]) -> str:
    """Under the title of each paper its lines, by the paper's letter."""
    return "\n".join(
        line for paper, title in registry.PAPERS.items() for line in (f"## {title}", "", *table(paper), "")
    )


def _of(paper: str, entries: Iterable[N]) -> list[N]:
    return [one for one in entries if one.paper == paper]


def _figures(paper: str, pages: Collection[str], shows: bool = False) -> list[str]:
    rows = []
    for f in _of(paper, registry.figures().values()):
        title, part = f"{cell(f.title)}: {cell(f.shows)}" if shows else cell(f.title), f" ({f.part})" if f.part else ""
        rows.append((f.label, title, f"{page_link(f.page, pages)}{part}"))
    return _table(("figure", "shows", "page"), rows)


def formulas_markdown(pages: Collection[str], entry: Callable[[str, str], str | None]) -> str:
    """The formulas; ``entry`` makes a link to an object of the library, given its name and the words to show, or None
    if there is nothing to link to."""

    def row(f: Formula) -> tuple[str, ...]:
        # A bar would end the cell of the table; a name may break after dots and underscores.
        where = f.code.removeprefix("deepmech.")
        linked = entry(f.code, where.replace(".", ".\u200b").replace("_", "_\u200b"))
        where = linked or f"<code>{where.replace('.', '.<wbr>').replace('_', '_<wbr>')}</code>"
        says = f"{f.says} ({f.note})" if f.note else f.says
        return f.number, says, f"${f.formula.replace('|', _BAR)}$", f"{page_link(f.page, pages)}<br>{where}"

    head = ("Eq.", "says", "formula", "page, and object in the library")
    return _by_paper(lambda paper: _table(head, map(row, _of(paper, formulas().values())), "--:"))


def papers_markdown(pages: Collection[str]) -> str:
    """Sections and figures: two tables for each paper."""

    def table(paper: str) -> list[str]:
        rows = []
        for s in _of(paper, sections().values()):
            where = ", ".join(page_link(page, pages) for page in s.pages) or f"none: {s.why}"
            rows.append((cell(s.name), where))
        return [*_table(("section", "pages of this book"), rows), "", *_figures(paper, pages)]

    return _by_paper(table)


def done_markdown(pages: Collection[str]) -> str:
    """The choices: a table for each group."""
    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        of_paper = _of(paper, choices())
        lines += [f"## {title}", ""] if of_paper else []
        for group in dict.fromkeys(c.group for c in of_paper):
            rows = []
            for c in (c for c in of_paper if c.group == group):
                told = (c.text, c.program, f"{c.here} ({page_link(c.page, pages)})", c.changes or "–")
                rows.append((c.what, *map(cell, told)))
            lines += [f"### {group}", "", *_table(("choice", "text", "program", "here", "what changes"), rows), ""]
    return "\n".join(lines)


def sentences_markdown(records: Iterable[Record], pages: Collection[str]) -> str:
    """The sentences: a table for each paper, then the claims that are ours."""
    found = claim_records(records)

    def judged(name: str) -> str:
        verdict = found[name]["verdict"] if name in found else ABSENT
        return f"{badge(verdict)} {name} ({page_link(registry.claim(name).page, pages)})"

    def table(paper: str) -> list[str]:
        rows = []
        for s in _of(paper, sentences()):
            became = "<br>".join(map(judged, s.claims)) or f"no entry: {s.why}"
            rows.append((cell(s.where), cell(s.says), cell(became)))
        lines = _table(("where", "what the text says", "what became of it"), rows)
        if drawn := [c for c in ours() if c.paper == paper]:
            lines += ["", "Entries of the ledger that no sentence of this paper makes, consequences that we draw:", ""]
            lines += [f"- {cell(c.statement)} {judged(c.id)}" for c in drawn]
        return lines

    return _by_paper(table)


def findings_markdown(records: Iterable[Record], paper: str, *, front: bool = False) -> str:
    """The findings of a paper as a list, what holds first; ``front``: those of the front page alone.

    Findings whose claims have not all been measured in this build are counted and left out.
    """
    found = claim_records(records)
    wanted = [f for f in findings() if f.paper == paper and (f.front or not front)]
    there = [f for f in wanted if all(name in found for name in f.claims)]
    said = [line for f in there for line in f.sentences([found[name] for name in f.claims])]
    said.sort(key=lambda line: VERDICTS.index(line[0]))
    lines = [f"- {badge(verdict)} {cell(text)} ({page_link(page)})" for verdict, text, page in said]
    if absent := len(wanted) - len(there):
        lines.append(f"- {absent} findings rest on pages that are not part of this build.")
    return "\n".join(lines)


# --- the scoreboard ---------------------------------------------------------------------------------------------------


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
    """The scoreboard: a count of verdicts, then per paper its claims and figures, measured or not."""
    found = claim_records(records)
    drawn_by_us = {c.id for c in ours()}
    errata = [r for name, r in found.items() if registry.claim(name).aside]
    claimed = [r for name, r in found.items() if not registry.claim(name).aside]
    said, own = ([r for r in claimed if (r["id"] in drawn_by_us) == mine] for mine in (False, True))
    drawn = sum(f.page in pages for f in registry.figures().values())
    counts = [
        f"Profile `{profile}`. Claims of the papers: {_counts(said)}. Consequences that this book draws, "
        f"which no sentence of a paper makes: {_counts(own)}. "
        f"Errata and remarks, counted apart: {_counts(errata)}. "
        f"{len(registry.claims()) - len(found)} not measured in this build. "
        f"Figures: {drawn} of {len(registry.figures())} drawn in this build.",
        "",
        *_by_chance(claimed),
    ]

    def row(c: registry.Claim) -> tuple[str, ...]:
        if (r := found.get(c.id)) is None:
            words = [c.statement, "–", c.rule.words, c.against or "–", badge(ABSENT), "–", page_link(c.page, pages)]
            return c.id, *map(cell, words)
        where = f"{page_link(r['page'])} ({r['seconds']:.0f} s)"
        answer = c.answered(r["verdict"])
        statement = f"{c.statement} *The authors could answer:* {answer}" if answer else c.statement
        words = [statement, _measured(r), r["rule"], number(r["null"]), badge(r["verdict"]), str(r.get("seeds") or "–")]
        return c.id, *map(cell, [*words, where])

    head = ("claim", "statement", "ours", "rule", "null", "verdict", "seeds", "page")

    def table(paper: str) -> list[str]:
        claims = _table(head, map(row, _of(paper, registry.claims().values())))
        return ["### Claims", "", *claims, "", "### Figures", "", *_figures(paper, pages, shows=True)]

    return "\n".join([*counts, _by_paper(table)])


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


def _measured(record: Record) -> str:
    if record["measured"] is None:
        return record["reason"] or "–"
    ends = f" [{number(record['interval'][0])}, {number(record['interval'][1])}]" if record["interval"] else ""
    return number(record["measured"]) + ends
