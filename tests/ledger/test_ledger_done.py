"""How it was done: whole rows, pages that exist, and every choice in its table once."""

from pathlib import Path

from deepmech_book.ledger.registry import choices
from deepmech_book.ledger.tables import done_markdown

ROOT = Path(__file__).parents[2]


def test_every_choice_is_told_three_times_and_has_a_page_of_its_paper_or_beyond():
    assert {c.paper for c in choices()} == set("ABC")
    for c in choices():
        assert c.what and c.text and c.program and c.here, c
        assert (ROOT / "notebooks" / f"{c.page}.md").is_file(), c


def test_the_page_has_every_choice_once_under_its_paper_and_group():
    text = done_markdown({})
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| choice")]
    assert len(rows) == len(choices())
    assert {row.replace("\\|", "").count("|") for row in rows} == {6}
    heads = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert heads == list(dict.fromkeys(c.group for c in choices()))
