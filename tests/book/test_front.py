"""The front page: its pictures are those that the book draws, and its pieces come from the notebooks."""

from docutils import nodes
from miniature import ROOT
from sphinx import addnodes

from deepmech_book.press import front, pages, press
from deepmech_book.press.extension import meanings
from deepmech_book.press.sources import House


def test_the_pictures_are_what_the_book_draws():
    for name, text in front.pictures().items():
        assert (ROOT / "book" / "assets" / "front" / name).read_text(encoding="utf-8") == text, (
            f"{name}: run python -m deepmech_book.press.front"
        )


def test_the_explorer_is_taken_from_its_page():
    source = House(ROOT).source("spring_block/explorer")
    output = {"output_type": "display_data", "data": {"text/html": ["<div data-deepmech-chain>", "x</div>"]}}
    sheet = press.Sheet(source, {}, "", {"cells": [{"cell_type": "markdown"}, {"outputs": [output]}]})
    assert pages.pieces([sheet], [])["explorer.html"] == "<div data-deepmech-chain>x</div>"
    assert "not part of this build" in pages.pieces([], [])["explorer.html"]


def test_a_term_means_the_first_sentence_of_its_definition():
    term = nodes.term("", "cage", ids=["term-cage"])
    said = nodes.definition("", nodes.paragraph("", "What holds\na particle. It shows as a plateau."))
    glossary = addnodes.glossary("", nodes.definition_list("", nodes.definition_list_item("", term, said)))
    assert meanings(nodes.section("", glossary)) == {"term-cage": "What holds a particle."}
