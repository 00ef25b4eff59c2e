"""Copies of the notebooks: the words and the code of the originals, which nobody touches."""

import nbformat
import pytest

from deepmech import cli
from deepmech_book.build import lab
from deepmech_book.build.sources import BookError


def test_a_copy_that_is_there_stays_and_the_originals_are_refused(checkout, monkeypatch, capsys):
    monkeypatch.chdir(checkout.root)
    originals = {path: path.read_bytes() for path in checkout.root.glob("notebooks/*/*")}
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "2 notebooks are copied into lab" in capsys.readouterr().err
    for name in checkout.names:
        copy = nbformat.read(checkout.root / "lab" / f"{name}.ipynb", as_version=4)
        nbformat.validate(copy)
        written = checkout.source(name).notebook.cells
        assert [(c.cell_type, c.source) for c in copy.cells] == [(c.cell_type, c.source) for c in written]
    mine = checkout.root / "lab" / "springs" / "one.ipynb"
    mine.write_text("mine")
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "2 copies in lab stay as they are" in capsys.readouterr().err and mine.read_text() == "mine"
    with pytest.raises(BookError, match="holds the originals"):
        lab.write(checkout, checkout.root / "notebooks" / "springs")
    assert originals == {path: path.read_bytes() for path in originals}
