"""A page's names: what it has imported stays what it was."""

import symtable

import pytest

from deepmech_book.build.sources import Checkout

BOOK = Checkout.find()


def imported_and_bound(code: str) -> tuple[set[str], set[str]]:
    """Names that the cells of a page import, and names that they bind in any other way, outside functions."""
    names = symtable.symtable(code, "page", "exec").get_symbols()
    bound = {s.get_name() for s in names if s.is_assigned() or s.is_declared_global()}  # the latter by a walrus
    return {s.get_name() for s in names if s.is_imported()}, bound


def test_bindings_are_seen():
    rebound = "for b in d: pass\ndef np(x):\n    d = 1\n[e for e in a if (d := e)]\n"
    names = {"np", "b", "d"}
    assert imported_and_bound("import numpy as np\nfrom a import b, c as d\n" + rebound) == (names, names)
    assert imported_and_bound("from a import b\nx = [b for b in y]\n") == ({"b"}, {"x"})


@pytest.mark.parametrize("name", BOOK.names)
def test_no_page_rebinds_what_it_imported_or_was_given(name):
    source = BOOK.source(name)
    cells = [cell for cell in source.notebook.cells if cell.cell_type == "code"]
    code = [cell.source for cell in cells if "parameters" not in cell.metadata.get("tags", [])]
    imported, bound = imported_and_bound("\n".join(code))
    again = (imported | set(source.parameters)) & bound
    assert not again, "give these another name: later cells want them as they were"
