"""Copies of the notebooks: words that any Jupyter shows, links that lead to copies, originals that nobody touches."""

import os
import re

import nbformat
import pytest
from miniature import ROOT

from deepmech import cli
from deepmech_book.press import lab
from deepmech_book.press.sources import BookError, Checkout

HOUSE = Checkout(ROOT)


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """All copies of the real book, by name."""
    folder = tmp_path_factory.mktemp("lab")
    lab.write(HOUSE, folder)
    return {name: nbformat.read(folder / f"{name}.ipynb", as_version=4) for name in HOUSE.names}


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_no_role_label_or_directive_is_left(copies):
    left = {
        name: found
        for name, notebook in copies.items()
        if (found := re.findall(r"\{[a-z:-]+\}`|^\(\S+\)=$|^(?:`{3,}|:{3,})\{.*", prose(notebook), re.M))
    }
    assert left == {}
    text = prose(copies["glass/relaxation"])
    assert "[Kerr Winter and Janssen (2024)](https://arxiv.org/abs/2405.13098)" in text and "\\tag{3}" in text


def test_links_lead_to_copies_or_out(copies):
    broken = [
        f"{name}: {target}"
        for name, notebook in copies.items()
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`|\$[^$]*\$", "", prose(notebook)))
        if not target.startswith("http")
        and os.path.normpath(f"{name}/../{target}").removesuffix(".ipynb") not in copies
    ]
    assert broken == []


def test_code_is_that_of_the_originals(copies):
    for name, notebook in copies.items():
        written = [c.source for c in HOUSE.source(name).notebook.cells if c.cell_type == "code"]
        assert [c.source for c in notebook.cells if c.cell_type == "code"] == written
        nbformat.validate(notebook)


def test_a_copy_that_is_there_stays_and_the_originals_are_refused(checkout, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(checkout.root)
    originals = {path: path.read_bytes() for path in checkout.root.glob("notebooks/*/*")}
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "2 notebooks are copied into lab" in capsys.readouterr().err
    mine = checkout.root / "lab" / "springs" / "one.ipynb"
    mine.write_text("mine")
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "2 copies in lab stay as they are" in capsys.readouterr().err and mine.read_text() == "mine"
    with pytest.raises(BookError, match="holds the originals"):
        lab.write(checkout, checkout.root / "notebooks" / "springs")
    assert originals == {path: path.read_bytes() for path in originals}
