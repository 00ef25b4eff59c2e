"""The registry's tables are whole: sections and figures beside their pages, and choices."""

import ast
import pkgutil
import re
import sys
from pathlib import Path

import pytest

from deepmech_book.ledger import claim, claims, figures
from deepmech_book.ledger.display import badge
from deepmech_book.ledger.registry import Section, choices, formulas, sections
from deepmech_book.ledger.rules import FAILS, HOLDS
from deepmech_book.ledger.tables import (
    Finding,
    done_markdown,
    findings,
    findings_markdown,
    formulas_markdown,
    papers_markdown,
)
from deepmech_book.press import verdicts
from deepmech_book.press.sources import Checkout

HOUSE = Checkout.find()


def test_every_page_named_is_a_page_of_the_book_and_every_notebook_is_named_or_ours():
    there = {name.removeprefix("generated/") for name in HOUSE.pages}
    named = {page for s in sections().values() for page in s.pages}
    assert named | {c.page for c in choices()} | {f.page for f in formulas().values()} <= there
    # No paper asks what scaling down keeps, nor about other networks.
    ours = {f"beyond/{name}" for name in ("your_network", "samples", "pretrained", "train_one")} | {"glass/scaling"}
    ours |= {name for name in HOUSE.names if name.startswith("laws/")}  # laws of other papers
    assert set(HOUSE.names) - named == ours, "name the page under its section in sections.yml, or count it among ours"


def test_figures_and_formulas_stand_on_pages_of_their_paper():
    for one in [*figures().values(), *formulas().values()]:
        assert one.page in {page for s in sections().values() if s.paper == one.paper for page in s.pages}, one.id


def test_the_papers_have_every_section_and_every_figure_once():
    rows = [r for r in papers_markdown({}).splitlines() if r.startswith("| ")]
    assert len(rows) == len(sections()) + len(figures()) + 6
    assert len({(f.paper, f.label) for f in figures().values()}) == len(figures())
    assert any("not in this build" in r for r in rows) and any("none: " in r for r in rows)


def test_every_choice_is_told_three_times_in_the_table_of_its_group():
    assert all(c.what and c.text and c.program and c.here for c in choices())
    text = done_markdown({})
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| choice")]
    assert len(rows) == len(choices()) and {row.replace("\\|", "").count("|") for row in rows} == {6}
    heads = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert heads == list(dict.fromkeys(c.group for c in choices()))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Section("A.x", "nothing"), "either pages or a reason"),
        (lambda: Section("A.x", "both", pages=("springs",), why="because"), "either pages or a reason"),
    ],
)
def test_a_section_has_pages_or_a_reason(make, told):
    with pytest.raises(ValueError, match=told):
        make()


ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib"
#: Which papers a room of the library speaks of, by words of its path.
PAPERS = {
    "A": "spring_block metrics/load_curve metrics/separation metrics/moments trainers sketches chain",
    "B": "elastic metrics/separability",
    "C": "glass brownian langevin trainers/specs",
}


NUMBER = r"[A-H]?\.?\d+"
CITED = re.compile(rf"Eqs?\.\s*({NUMBER}(?:(?:\s*[–-]\s*|,\s*|,?\s+and\s+){NUMBER})*)")


def cited(text: str) -> set[str]:
    """The numbers of equations that a text cites, as ids without their paper."""
    found = set()
    for match in CITED.finditer(text):
        for one in re.split(r",?\s+and\s+|,\s*", match[1]):
            ends = [n.replace(".", "") for n in re.split(r"\s*[–-]\s*", one)]
            letter = "".join(c for c in ends[0] if c.isalpha())
            first, last = (int("".join(c for c in n if c.isdigit())) for n in (ends[0], ends[-1]))
            found |= {f"{letter}{n}" for n in range(first, last + 1)}
    return found


def documented():
    """(module's path, docstring) of every object of the library."""
    for path in sorted(LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (text := ast.get_docstring(node)):
                yield path.relative_to(LIBRARY).as_posix(), text


@pytest.mark.parametrize("formula", formulas().values(), ids=lambda f: f.id)
def test_the_code_exists_and_cites_the_formula(formula):
    found = pkgutil.resolve_name(formula.code)
    module = sys.modules[(found.fget if isinstance(found, property) else found).__module__]
    assert formula.id.split(".")[1] in cited(f"{found.__doc__}\n{module.__doc__}"), formula.code


def test_every_formula_that_the_library_cites_is_in_the_index():
    known = set(formulas())
    absent = set()
    for path, text in documented():
        numbers = cited(text) if "ledger/" not in path and "explorers/widget" not in path else set()
        if numbers:
            papers = [p for p, words in PAPERS.items() if any(w in path for w in words.split())]
            absent |= {(path, n) for n in numbers if not any(f"{p}.{n}" in known for p in papers)}
    assert absent == set()


def test_a_table_has_four_cells_in_each_row_and_links_to_the_pages_of_the_build():
    text = formulas_markdown({"glass/relaxation": "x"}, lambda name, words: None)
    rows = [r for r in text.splitlines() if r[:1] == "|"]
    assert {r.count("|") for r in rows} == {5}
    assert len(rows) == len(formulas()) + 6
    (overlap,) = [r for r in rows if r.startswith("| 6 | Overlap of a free walk")]
    assert "{doc}`/generated/glass/relaxation`" in overlap
    assert any("not in this build" in r for r in rows)


TABLE = verdicts.read(Checkout.find().book / verdicts.FILE)
PAGES = {c.page: c.page for c in claims().values()}


def record(name, **more):
    row = TABLE[name]
    interval = None if row.low is None else [row.low, row.high]
    numbers = {"measured": row.measured, "expected": row.expected, "null": row.null, "interval": interval}
    return {"claim": {"id": name, "verdict": row.verdict, **numbers, **more}, "page": claim(name).page}


def heads(text):
    return [line.partition("</summary>")[0] for line in text.splitlines() if "dm-finding" in line]


@pytest.mark.parametrize("finding", findings(), ids=lambda f: f.claims[0])
def test_a_sentence_is_written_for_the_verdict_that_the_book_finds(finding):
    said = finding.sentences([record(name)["claim"] for name in finding.claims])
    assert len(said) == 1, "the claims of a finding have different verdicts: split it"
    assert said[0][0] == TABLE[finding.claims[0]].verdict
    assert "{" not in said[0][1] and "Measured:" not in said[0][1], "no sentence is written for this verdict"


def test_another_verdict_never_gets_the_sentence_of_this_one():
    one = findings()[0]
    flipped = [record(name) for name in one.claims]
    flipped[1]["claim"]["verdict"] = FAILS
    lines = heads(findings_markdown(flipped, "A", PAGES))
    assert len([line for line in lines if badge(FAILS) in line]) == 1
    assert all(claim(name).statement in "".join(lines) for name in one.claims), "each claim speaks for itself"
    assert "whether it comes from" not in "".join(lines)


def test_the_front_page_shows_six_findings_what_stands_and_what_falls():
    front = [f for f in findings() if f.front]
    assert [f.paper for f in front] == list("AABBCC")
    assert {HOLDS, FAILS} <= {TABLE[f.claims[0]].verdict for f in front}
    for f in front:
        text = findings_markdown([record(name) for name in f.claims], f.paper, PAGES, front=True)
        (head,) = heads(text)
        assert head.count("[") == 1, "one number with its interval"
        assert all(claim(name).answered(TABLE[name].verdict) in text.replace("&quot;", '"') for name in f.claims)
        assert all(f'href="generated/{claim(name).page}.html#claim-{name}"' in text for name in f.claims)
        if TABLE[f.claims[0]].verdict != HOLDS:
            assert "The authors could answer" in text


def test_a_finding_rests_on_one_paper_and_names_only_numbers_that_there_are():
    with pytest.raises(ValueError, match="one paper"):
        Finding(("A.3.eq8", "B.3.below"))
    with pytest.raises(ValueError, match="does not have"):
        Finding(("A.3.convex",), holds="{0.null:.2f}").sentences([record("A.3.convex")["claim"]])
