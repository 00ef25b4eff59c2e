"""Where the library computes an equation of the papers: read from docstrings, which cite it by its number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from deepmech import core

_NUMBER = r"[A-H]?\.?\d+"
_CITED = re.compile(rf"Eqs?\.\s*({_NUMBER}(?:(?:\s*[–-]\s*|,\s*|,?\s+and\s+){_NUMBER})*)")
#: Which paper a module speaks of: the first part of its path that is found here.
_PAPERS = {
    "langevin": "C", "brownian": "C", "harmonic": "C", "glass": "C", "elastic": "B", "separability": "B",
    "spring_block": "A", "separation": "A", "load_curve": "A", "sketches": "A", "trainers": "A",
}  # fmt: skip

Equation = tuple[str, int]
"""Its letter in an appendix, else an empty text, and its number."""


def equations(text: str) -> list[Equation]:
    """The equations that a text cites, each once.

    Examples
    --------
    >>> equations("Eqs. 4–6 and D.8; Eq. 4")
    [('', 4), ('', 5), ('', 6), ('D', 8)]
    """
    found = []
    for match in _CITED.finditer(text):
        for one in re.split(r",?\s+and\s+|,\s*", match[1]):
            first, last = (re.split(r"\s*[–-]\s*", one) * 2)[:2]
            letter = first[0] if first[0].isalpha() else ""
            ends = [int(end.lstrip("ABCDEFGH.")) for end in (first, last)]
            found += [(letter, n) for n in range(ends[0], ends[1] + 1)]
    return list(dict.fromkeys(found))


def citations() -> dict[str, dict[Equation, list[str]]]:
    """By paper and equation, in the papers' order, the full names of the library's objects that cite it; a ValueError
    for a module that cites one and belongs to no paper."""
    found: dict[str, dict[Equation, list[str]]] = {"A": {}, "B": {}, "C": {}}
    library = Path(core.__file__).parents[1]
    for path in sorted(library.rglob("*.py")):
        module = path.relative_to(library.parent).with_suffix("").as_posix()
        for name, text in _documented(ast.parse(path.read_text(encoding="utf-8")), module.replace("/", ".")):
            for one in equations(text):
                paper = next((paper for word, paper in _PAPERS.items() if word in module), None)
                if paper is None:
                    raise ValueError(f"{module}.py cites an equation: name its paper in claims/citations.py")
                found[paper].setdefault(one, []).append(name)
    return {paper: dict(sorted(of.items())) for paper, of in found.items()}


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """(name, docstring) of all public classes and functions below a node."""
    for inside in ast.iter_child_nodes(node):
        if isinstance(inside, ast.ClassDef | ast.FunctionDef) and not inside.name.startswith("_"):
            full = f"{name.removesuffix('.__init__')}.{inside.name}"
            yield full, ast.get_docstring(inside) or ""
            yield from _documented(inside, full)
