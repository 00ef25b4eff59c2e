"""The registry's tables are whole: sections and figures beside their pages, choices, and the papers' sentences."""

import pytest

from deepmech_book import ledger
from deepmech_book.ledger import figures
from deepmech_book.ledger.display import badge
from deepmech_book.ledger.registry import Section, Sentence, choices, formulas, ours, sections, sentences
from deepmech_book.ledger.rules import FAILS
from deepmech_book.ledger.tables import done_markdown, papers_markdown, sentences_markdown
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


@pytest.mark.parametrize(("paper", "least"), [("A", 34), ("B", 22), ("C", 24)])
def test_each_paper_is_read_from_end_to_end(paper, least):
    mine = [s for s in sentences() if s.paper == paper]
    assert len(mine) >= least, f"an outside reader counted {least} claims in paper {paper}"
    assert all(s.where and s.says.endswith(".") for s in mine)
    assert {ledger.claim(name).paper for s in mine for name in s.claims} == {paper}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Section("A.x", "nothing"), "either pages or a reason"),
        (lambda: Section("A.x", "both", pages=("springs",), why="because"), "either pages or a reason"),
        (lambda: Sentence("A", "Sec. 1", "Nothing."), "either claims or a reason"),
        (lambda: Sentence("A", "Sec. 1", "Nothing.", ("A.3.eq8",), "but why"), "either claims or a reason"),
        (lambda: Sentence("A", "Sec. 1", "Nothing.", ("A.3.eq9",)), r"no claim 'A.3.eq9'.*A.3.eq8"),
    ],
)
def test_a_section_has_pages_or_a_reason_and_a_sentence_claims_or_a_reason(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_every_claim_stands_among_the_sentences_once_as_the_papers_or_as_ours_with_its_verdict():
    said, own = {name for s in sentences() for name in s.claims}, {c.id for c in ours()}
    assert not said & own
    assert said | own | {c.id for c in ledger.claims().values() if c.kind == "aside"} == set(ledger.claims())
    one = next(s for s in sentences() if s.claims)
    record = {"claim": {"id": one.claims[0], "verdict": FAILS}, "page": ledger.claim(one.claims[0]).page}
    (row,) = (r for r in sentences_markdown([record], {}).splitlines() if one.says in r)
    assert badge(FAILS) in row
    assert "not in this build" in sentences_markdown([], {})
