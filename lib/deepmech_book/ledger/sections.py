"""Paper beside book: every section and every figure of the three papers, and the pages that are about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from deepmech_book.ledger import registry
from deepmech_book.ledger.shown import cell, page_link


@dataclass(frozen=True)
class Section(registry.Numbered):
    """One section of a paper, read from ``sections.yml``: the pages about it, or ``why`` there are none."""

    name: str
    pages: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.pages) == bool(self.why):
            raise ValueError(f"section {self.id}: must have either pages or a reason (why) to have none")


@cache
def sections() -> Mapping[str, Section]:
    """All sections by id, in the papers' order."""
    return registry.by_id(registry.read("sections.yml", Section))


def papers_markdown(pages: Collection[str]) -> str:
    """Sections and figures as MyST Markdown, without a title: two tables for each paper; ``pages`` are this build's."""
    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", "", "| section | pages of this book |", "|---|---|"]
        for s in (s for s in sections().values() if s.paper == paper):
            where = ", ".join(page_link(page, pages) for page in s.pages) or f"none: {s.why}"
            lines.append(f"| {cell(s.name)} | {where} |")
        lines += ["", "| figure | shows | page |", "|---|---|---|"]
        for f in (f for f in registry.figures().values() if f.paper == paper):
            part = f" ({f.part})" if f.part else ""
            lines.append(f"| {f.label} | {cell(f.title)} | {page_link(f.page, pages)}{part} |")
        lines.append("")
    return "\n".join(lines)
