"""Pieces of the front page that come from the book itself, and the chapters' maps of their pages."""

import re

import pytest
from docutils import nodes
from miniature import ROOT
from sphinx import addnodes

from deepmech_book.press import gallery, pages, press
from deepmech_book.press.extension import meanings
from deepmech_book.press.sources import Checkout

CHAPTERS = {
    entry["file"]: [page["file"] for page in entry["sections"]]
    for part in Checkout(ROOT).toc["parts"]
    for entry in part["chapters"]
    if "sections" in entry and not entry["file"].startswith("generated/")
}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_map_of_a_chapter_shows_all_its_pages_in_their_order(chapter):
    rows = re.findall(r"^\| (\{doc\}.*?) \|", (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8"), re.M)
    assert re.findall(r"\{doc\}`/([\w/]+)`", " ".join(rows)) == CHAPTERS[chapter]


def test_the_emblem_of_each_chapter_is_a_figure_of_the_book():
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*/*.md")]
    for name in gallery.EMBLEMS.values():
        assert sum(f"    name: {name}\n" in page for page in pages) == 1, name


def test_the_explorer_is_taken_from_its_page():
    source = Checkout(ROOT).source("spring_block/explorer")
    output = {"output_type": "display_data", "data": {"text/html": ["<div data-deepmech-chain>", "x</div>"]}}
    sheet = press.PageBuild(
        source, {}, "", {"cells": [{"cell_type": "markdown", "metadata": {}}, {"outputs": [output], "metadata": {}}]}
    )
    assert pages.pieces([sheet], [])["explorer.html"] == "<div data-deepmech-chain>x</div>"
    assert "not part of this build" in pages.pieces([], [])["explorer.html"]


def test_a_term_means_the_first_sentence_of_its_definition():
    term = nodes.term("", "cage", ids=["term-cage"])
    said = nodes.definition("", nodes.paragraph("", "What holds\na particle. It shows as a plateau."))
    glossary = addnodes.glossary("", nodes.definition_list("", nodes.definition_list_item("", term, said)))
    assert meanings(nodes.section("", glossary)) == {"term-cage": "What holds a particle."}
