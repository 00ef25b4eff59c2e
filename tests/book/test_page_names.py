"""A page's names: what it has imported stays what it was."""

import ast

import pytest

from deepmech_book.build.sources import Checkout

BOOK = Checkout.find()


def imported_and_bound(code: str) -> tuple[set[str], set[str]]:
    """Names that the cells of a page import, and names that they bind in any other way, outside functions."""
    imported: set[str] = set()
    bound: set[str] = set()

    class Bindings(ast.NodeVisitor):
        def visit_alias(self, node: ast.alias) -> None:
            imported.add((node.asname or node.name).split(".")[0])

        def visit_Name(self, node: ast.Name) -> None:
            if isinstance(node.ctx, ast.Store):
                bound.add(node.id)

        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            bound.add(node.name)

        visit_ClassDef = visit_FunctionDef

        def visit_Lambda(self, node: ast.Lambda) -> None:
            pass

        def visit_comprehension(self, node: ast.comprehension) -> None:
            self.visit(node.iter)

    Bindings().visit(ast.parse(code))
    return imported, bound


def test_bindings_are_seen():
    rebound = "for b in d: pass\ndef np(x):\n    d = 1\n[d for d in (d := 2, 3)]\n"
    assert imported_and_bound("import numpy as np\nfrom a import b, c as d\n" + rebound) == (
        {"np", "b", "d"},
        {"b", "np", "d"},
    )
    assert imported_and_bound("from a import b\nx = [b for b in y]\n") == ({"b"}, {"x"})


@pytest.mark.parametrize("name", BOOK.names)
def test_no_page_rebinds_what_it_imported_or_was_given(name):
    source = BOOK.source(name)
    cells = [cell for cell in source.notebook.cells if cell.cell_type == "code"]
    code = [cell.source for cell in cells if "parameters" not in cell.metadata.get("tags", [])]
    imported, bound = imported_and_bound("\n".join(code))
    assert not (imported | set(source.parameters)) & bound, (
        "give these another name: later cells want them as they were"
    )
