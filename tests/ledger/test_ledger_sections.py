"""Paper beside book is whole: every figure, every page, and no section without pages or a reason."""

from pathlib import Path

import pytest

from deepmech_book.ledger import figures
from deepmech_book.ledger.registry import Section, formulas, sections
from deepmech_book.ledger.tables import papers_markdown
from deepmech_book.press.sources import Checkout, files_of

ROOT = Path(__file__).parents[2]
HOUSE = Checkout(ROOT)


def test_every_page_named_is_a_page_of_the_book():
    there = {name.removeprefix("generated/") for name in files_of(HOUSE.toc)}
    assert {page for s in sections().values() for page in s.pages} <= there


def test_every_notebook_belongs_to_a_section_or_says_that_it_is_ours():
    named = {page for s in sections().values() for page in s.pages}
    ours = {
        "glass/scaling",
        "beyond/your_network",
        "beyond/train_one",
    }  # no paper asks what scaling down keeps, nor about other networks
    assert set(HOUSE.names) - named == ours, "name the page under its section in sections.yml, or count it among ours"


def test_a_figure_is_drawn_on_a_page_of_its_paper():
    for f in figures().values():
        assert f.page in {page for s in sections().values() if s.paper == f.paper for page in s.pages}, f.id


def test_a_formula_is_used_on_a_page_of_its_paper():
    for f in formulas().values():
        assert f.page in {page for s in sections().values() if s.paper == f.paper for page in s.pages}, f.id


def test_the_page_has_every_section_and_every_figure_once():
    rows = [r for r in papers_markdown({}).splitlines() if r.startswith("| ")]
    assert len(rows) == len(sections()) + len(figures()) + 6
    for paper in "ABC":
        labels = [f.label for f in figures().values() if f.paper == paper]
        assert len(labels) == len(set(labels))
    assert any("not in this build" in r for r in rows)
    assert any("none: " in r for r in rows)


def test_a_section_has_pages_or_a_reason():
    with pytest.raises(ValueError, match="either pages or a reason"):
        Section("A.x", "nothing")
    with pytest.raises(ValueError, match="either pages or a reason"):
        Section("A.x", "both", pages=("springs",), why="because")
