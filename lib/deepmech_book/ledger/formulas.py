"""The papers' formulas: what each says, where the library computes it, and on which page it is used."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from deepmech_book.ledger import registry
from deepmech_book.ledger.scoreboard import page_link

_NUMBER = r"[A-H]?\.?\d+"
_BAR = r"\vert "
_CITED = re.compile(rf"Eqs?\.\s*({_NUMBER}(?:(?:\s*[–-]\s*|,\s*|,?\s+and\s+){_NUMBER})*)")


@dataclass(frozen=True)
class Formula:
    """One numbered formula of a paper, read from ``formulas.yml``.

    ``code`` is the full name of the object that computes it; ``formula`` is LaTeX in the book's notation, ``note`` what
    differs from the print.
    """

    id: str
    says: str
    formula: str
    code: str
    page: str
    note: str = ""

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def number(self) -> str:
        """The number in its paper: ``3``, or ``D.8`` in an appendix (paper C writes ``F6``)."""
        n = self.id.split(".", 1)[1]
        return f"{n[0]}.{n[1:]}" if n[0].isalpha() and self.paper != "C" else n

    def implementation(self) -> Any:
        """The object that ``code`` names.

        Examples
        --------
        >>> formulas()["A.6"].implementation().__name__
        'friction'
        """
        parts = self.code.split(".")
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            try:
                found = importlib.import_module(name)
            except ModuleNotFoundError as error:
                if not name.startswith(error.name or name + "."):
                    raise
                continue
            for part in parts[length:]:
                found = getattr(found, part)
            return found
        raise ImportError(f"formula {self.id}: there is no {self.code}")


@cache
def formulas() -> Mapping[str, Formula]:
    """All formulas by id, in the papers' order.

    Examples
    --------
    >>> formulas()["B.D8"].number, formulas()["C.F6"].number
    ('D.8', 'F6')
    """
    return registry.by_id([Formula(**entry) for entry in registry.entries("formulas.yml", Formula)])


def cited(text: str) -> set[str]:
    """The numbers of equations that a text cites, as ids without their paper.

    Examples
    --------
    >>> sorted(cited("Chains (Eqs. 4–6 and 11; Fig. 3), directions (Eq. C.23)."))
    ['11', '4', '5', '6', 'C23']
    """
    found = set()
    for match in _CITED.finditer(text):
        for one in re.split(r",?\s+and\s+|,\s*", match[1]):
            ends = [n.replace(".", "") for n in re.split(r"\s*[–-]\s*", one)]
            letter = "".join(c for c in ends[0] if c.isalpha())
            first, last = (int("".join(c for c in n if c.isdigit())) for n in (ends[0], ends[-1]))
            found |= {f"{letter}{n}" for n in range(first, last + 1)}
    return found


def formulas_markdown(
    *,
    pages: Iterable[str] | None = None,
    link: Callable[[str], str] | None = None,
    entry: Callable[[str, str], str | None] | None = None,
) -> str:
    """The formulas as MyST Markdown, without a title: a table for each paper.

    ``pages`` and ``link`` are as for the scoreboard; ``entry`` makes a link to an object of the library, given its name
    and the words to show, or None if there is nothing to link to.
    """
    here = None if pages is None else set(pages)
    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", "", "| Eq. | says | formula | page, and object in the library |", "|--:|---|---|---|"]
        for f in formulas().values():
            if f.paper == paper:
                says = f"{f.says} ({f.note})" if f.note else f.says
                # A bar would end the cell of the table; a name may break after dots and underscores.
                where = f.code.removeprefix("deepmech.")
                linked = entry(f.code, where.replace(".", ".\u200b").replace("_", "_\u200b")) if entry else None
                where = linked or f"<code>{where.replace('.', '.<wbr>').replace('_', '_<wbr>')}</code>"
                where = f"{page_link(f.page, link, here)}<br>{where}"
                lines.append(f"| {f.number} | {says} | ${f.formula.replace('|', _BAR)}$ | {where} |")
        lines.append("")
    return "\n".join(lines)
