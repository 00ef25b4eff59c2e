"""The registry's tables are whole: sections and figures beside their pages."""

import html
import re

import pytest

from deepmech_book.build import verdicts
from deepmech_book.build.sources import Checkout
from deepmech_book.claims import claim, claims, figures
from deepmech_book.claims.registry import AFTER, Section, sections
from deepmech_book.claims.rules import FAILS, HOLDS
from deepmech_book.claims.tables import Finding, findings, findings_markdown, papers_markdown

HOUSE = Checkout.find()


def test_every_page_named_is_a_page_of_the_book_and_every_notebook_is_named_or_ours():
    there = {name.removeprefix("generated/") for name in HOUSE.pages}
    named = {page for s in sections().values() for page in s.pages}
    assert named <= there
    # No paper asks about other networks, foretells, or looks at kinks.
    ours = {f"beyond/{name}" for name in ("your_network", "train_one")}
    ours |= {"glass/forecast", "glass/kinks"}
    assert set(HOUSE.names) - named == ours, "name the page under its section in sections.yml, or count it among ours"


def test_figures_stand_on_pages_of_their_paper():
    for one in figures().values():
        assert one.page in {page for s in sections().values() if s.paper == one.paper for page in s.pages}, one.id


def test_the_papers_have_every_section_and_every_figure_once():
    rows = [r for r in papers_markdown({}).splitlines() if r.startswith("| ")]
    assert len(rows) == len(sections()) + len(figures()) + 6
    assert len({(f.paper, f.label) for f in figures().values()}) == len(figures())
    assert any("not in this build" in r for r in rows) and any("none: " in r for r in rows)


@pytest.mark.parametrize("more", [{}, {"pages": ("springs",), "why": "because"}], ids=["nothing", "both"])
def test_a_section_has_pages_or_a_reason(more):
    with pytest.raises(ValueError, match="either pages or a reason"):
        Section("A.x", "name", **more)


TABLE = verdicts.read(Checkout.find().book / verdicts.FILE)
PAGES = {c.page: c.page for c in claims().values()}


def record(name, **more):
    row = TABLE[name]
    interval = None if row.low is None else [row.low, row.high]
    numbers = {
        "measured": row.measured,
        "median": row.measured,
        "expected": row.expected,
        "null": row.null,
        "interval": interval,
    }
    found = {"id": name, "verdict": row.verdict, "detail": "In words.", **numbers, **more}
    return {"claim": found, "page": claim(name).page}


def heads(text):
    return [line.partition("</summary>")[0] for line in text.splitlines() if "dm-found" in line]


@pytest.mark.parametrize("finding", findings(), ids=lambda f: f.claims[0])
def test_a_sentence_is_written_for_the_verdict_that_the_book_finds(finding):
    said = finding.sentences([record(name)["claim"] for name in finding.claims])
    assert len(said) == 1, "the claims of a finding have different verdicts: split it"
    assert said[0][0] == TABLE[finding.claims[0]].verdict
    assert "{" not in said[0][1] and "Measured:" not in said[0][1], "no sentence is written for this verdict"


def test_another_verdict_never_gets_the_sentence_of_this_one():
    one = next(finding for finding in findings() if finding.of == "A" and len(finding.claims) > 1)
    words = one.sentences([record(name)["claim"] for name in one.claims])[0][1]
    flipped = [record(name) for name in one.claims]
    flipped[1]["claim"]["verdict"] = FAILS
    lines = heads(findings_markdown(flipped, "A", PAGES))
    assert len([line for line in lines if re.search("✗</span> fails", line)]) == 1
    assert all(claim(name).statement in "".join(lines) for name in one.claims), "each claim speaks for itself"
    assert words[:40] not in "".join(lines)


def test_the_front_page_shows_a_finding_of_each_paper():
    front = [f for f in findings() if f.front]
    assert [f.of for f in front] == list("ABC")
    assert {HOLDS, FAILS} <= {TABLE[f.claims[0]].verdict for f in front}
    for f in front:
        text = findings_markdown([record(name) for name in f.claims], f.of, PAGES, front=True)
        (head,) = heads(text)
        found, said = head.split('<span class="dm-said">')
        late = any(claim(name).status == AFTER for name in f.claims)
        assert (">†<" in said) == late, "how old its rule is"
        assert re.search(rf"</span> {TABLE[f.claims[0]].verdict}", said)
        assert "dm-verdict" not in found, "a verdict is on the claim"
        assert all(claim(name).answered(TABLE[name].verdict) in html.unescape(text) for name in f.claims)
        assert all(f'href="generated/{claim(name).page}.html#claim-{name}"' in text for name in f.claims)
        if TABLE[f.claims[0]].verdict != HOLDS:
            assert "The authors could answer" in text


@pytest.mark.parametrize("chapter", ["A", "B", "C", "beyond"])
def test_a_chapter_shows_three_findings_in_the_order_of_its_story_and_folds_the_rest(chapter):
    of = [f for f in findings() if f.of == chapter]
    text = findings_markdown([record(name) for f in of for name in f.claims], chapter, PAGES)
    shown, _, folded = text.partition('<details class="dm-group">')
    main = [f for f in of if f.main or f.front]
    assert len(main) == 3 and [head.count("[") for head in heads(shown)] == [1, 1, 1], "each has its number"
    for part, inside in ((shown, main), (folded, [f for f in of if f not in main])):
        names = re.findall(r"claim-([\w.]+)\"", part)
        assert names == [name for f in inside for name in f.claims]


def test_a_finding_rests_on_one_paper_and_names_only_numbers_that_there_are():
    with pytest.raises(ValueError, match="one paper"):
        Finding(("A.3.eq8", "B.3.below"))
    with pytest.raises(ValueError, match="does not have"):
        Finding(("A.3.convex",), holds="{0.null:.2f}").sentences([record("A.3.convex")["claim"]])
