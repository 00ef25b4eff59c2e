"""The index of formulas is whole: what it names exists and cites the formula, and what the library cites is in it."""

import ast
import pkgutil
import re
import sys
from pathlib import Path

import pytest

from deepmech_book.ledger.registry import formulas
from deepmech_book.ledger.tables import formulas_markdown

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib"
#: Which papers a room of the library speaks of, by words of its path.
PAPERS = {
    "A": "spring_block metrics/load_curve metrics/separation metrics/moments trainers sketches chain",
    "B": "elastic metrics/collapse metrics/separability metrics/tails",
    "C": "glass brownian langevin trainers/specs",
}


NUMBER = r"[A-H]?\.?\d+"
CITED = re.compile(rf"Eqs?\.\s*({NUMBER}(?:(?:\s*[–-]\s*|,\s*|,?\s+and\s+){NUMBER})*)")


def cited(text: str) -> set[str]:
    """The numbers of equations that a text cites, as ids without their paper."""
    found = set()
    for match in CITED.finditer(text):
        for one in re.split(r",?\s+and\s+|,\s*", match[1]):
            ends = [n.replace(".", "") for n in re.split(r"\s*[–-]\s*", one)]
            letter = "".join(c for c in ends[0] if c.isalpha())
            first, last = (int("".join(c for c in n if c.isdigit())) for n in (ends[0], ends[-1]))
            found |= {f"{letter}{n}" for n in range(first, last + 1)}
    return found


def test_citations_are_understood():
    assert cited("Chains (Eqs. 4–6 and 11; Fig. 3), directions (Eq. C.23).") == {"4", "5", "6", "11", "C23"}


def documented():
    """(module's path, docstring) of every object of the library."""
    for path in sorted(LIBRARY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (text := ast.get_docstring(node)):
                yield path.relative_to(LIBRARY).as_posix(), text


@pytest.mark.parametrize("formula", formulas().values(), ids=lambda f: f.id)
def test_the_code_exists_and_cites_the_formula(formula):
    found = pkgutil.resolve_name(formula.code)
    module = sys.modules[(found.fget if isinstance(found, property) else found).__module__]
    assert formula.id.split(".")[1] in cited(f"{found.__doc__}\n{module.__doc__}"), formula.code


def test_every_formula_that_the_library_cites_is_in_the_index():
    known = set(formulas())
    absent = set()
    for path, text in documented():
        numbers = cited(text) if "ledger/" not in path and "explorers/widget" not in path else set()
        if numbers:
            papers = [p for p, words in PAPERS.items() if any(w in path for w in words.split())]
            absent |= {(path, n) for n in numbers if not any(f"{p}.{n}" in known for p in papers)}
    assert absent == set()


def test_a_table_has_four_cells_in_each_row_and_links_to_the_pages_of_the_build():
    text = formulas_markdown({"glass/relaxation": "x"}, lambda name, words: None)
    rows = [r for r in text.splitlines() if r[:1] == "|"]
    assert {r.count("|") for r in rows} == {5}
    assert len(rows) == len(formulas()) + 6
    (overlap,) = [r for r in rows if r.startswith("| 6 | Overlap of a free walk")]
    assert "{doc}`/generated/glass/relaxation`" in overlap
    assert any("not in this build" in r for r in rows)
