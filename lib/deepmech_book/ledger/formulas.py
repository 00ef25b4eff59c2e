"""The papers' formulas: what each says, where the library computes it, and on which page it is used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

from deepmech_book.ledger import registry
from deepmech_book.ledger.shown import page_link

_BAR = r"\vert "


@dataclass(frozen=True)
class Formula(registry.Numbered):
    """One numbered formula of a paper, read from ``formulas.yml``.

    ``code`` is the full name of the object that computes it; ``formula`` is LaTeX in the book's notation, ``note`` what
    differs from the print.
    """

    says: str
    formula: str
    code: str
    page: str
    note: str = ""

    @property
    def number(self) -> str:
        """The number in its paper: ``3``, or ``D.8`` in an appendix (paper C writes ``F6``)."""
        n = self.id.split(".", 1)[1]
        return f"{n[0]}.{n[1:]}" if n[0].isalpha() and self.paper != "C" else n


@cache
def formulas() -> Mapping[str, Formula]:
    """All formulas by id, in the papers' order.

    Examples
    --------
    >>> formulas()["B.D8"].number, formulas()["C.F6"].number
    ('D.8', 'F6')
    """
    return registry.by_id(registry.read("formulas.yml", Formula))


def formulas_markdown(pages: Collection[str], entry: Callable[[str, str], str | None]) -> str:
    """The formulas as MyST Markdown, without a title: a table for each paper.

    ``pages`` are those of this build; ``entry`` makes a link to an object of the library, given its name and the words
    to show, or None if there is nothing to link to.
    """
    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", "", "| Eq. | says | formula | page, and object in the library |", "|--:|---|---|---|"]
        for f in (f for f in formulas().values() if f.paper == paper):
            says = f"{f.says} ({f.note})" if f.note else f.says
            # A bar would end the cell of the table; a name may break after dots and underscores.
            where = f.code.removeprefix("deepmech.")
            linked = entry(f.code, where.replace(".", ".\u200b").replace("_", "_\u200b"))
            where = linked or f"<code>{where.replace('.', '.<wbr>').replace('_', '_<wbr>')}</code>"
            where = f"{page_link(f.page, pages)}<br>{where}"
            lines.append(f"| {f.number} | {says} | ${f.formula.replace('|', _BAR)}$ | {where} |")
        lines.append("")
    return "\n".join(lines)
