"""How it was done: every choice of an experiment as its paper's text has it, as the public program has it, and here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from deepmech_book.ledger import registry
from deepmech_book.ledger.shown import cell, page_link


@dataclass(frozen=True)
class Choice(registry.Numbered):
    """One choice, read from ``done_a.yml`` and so on, whose ids begin with the paper.

    ``text``, ``program`` and ``here`` say how it was made in each; ``changes`` what that alters in the results, if they
    differ. ``group`` is the heading under which it stands, ``page`` where it matters most.
    """

    group: str
    what: str
    text: str
    program: str
    here: str
    page: str
    changes: str = ""


@cache
def choices() -> Mapping[str, Choice]:
    """All choices by id, in the order of the files."""
    names = sorted(entry.name for entry in files("deepmech_book.ledger").iterdir())
    found = [registry.read(name, Choice) for name in names if name.startswith("done_") and name.endswith(".yml")]
    return registry.by_id([choice for of_paper in found for choice in of_paper])


def done_markdown(pages: Collection[str]) -> str:
    """The choices as MyST Markdown, without a title: a table for each group; ``pages`` are this build's."""
    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        of_paper = [c for c in choices().values() if c.paper == paper]
        lines += [f"## {title}", ""] if of_paper else []
        for group in dict.fromkeys(c.group for c in of_paper):
            lines += [f"### {group}", "", "| choice | text | program | here | what changes |", f"|{'---|' * 5}"]
            for c in (c for c in of_paper if c.group == group):
                told = (c.text, c.program, f"{c.here} ({page_link(c.page, pages)})", c.changes or "–")
                lines.append(f"| {c.what} | {' | '.join(map(cell, told))} |")
            lines.append("")
    return "\n".join(lines)
