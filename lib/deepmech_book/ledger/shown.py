"""What the pages of tables share: records of claims, and how verdicts, texts and pages are written in a cell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from deepmech_book.ledger import registry
from deepmech_book.ledger.entry import CSS

#: What a notebook left in its outputs: ``{"figure": id}`` or ``{"claim": {...}}``, with its page, profile and seconds.
Record = Mapping[str, Any]
ABSENT = "not in this build"


def claim_records(records: Iterable[Record]) -> dict[str, Record]:
    """The records of claims by the claim's id, each with its page, profile and seconds."""
    return {registry.claim(r["claim"]["id"]).id: {**r["claim"], **r} for r in records if "claim" in r}


def badge(state: str) -> str:
    """A verdict as the coloured word of the pages."""
    return f'<span class="dm-verdict {CSS.get(state, "dm-unbuilt")}">{state}</span>'


def cell(text: str) -> str:
    """A text that does not end the cell of a table it stands in."""
    return text.replace("|", "\\|").replace("\n", " ")


def page_link(page: str, pages: Collection[str] | None = None) -> str:
    """A link to a page of the book, if it is among ``pages`` or prose, which has no chapter; else its name.

    Examples
    --------
    >>> page_link("glass/ageing"), page_link("springs", []), page_link("glass/ageing", [])
    ('[ageing](/generated/glass/ageing.ipynb)', '[springs](/springs.md)', 'glass/ageing, not in this build')
    """
    chapter, _, name = page.rpartition("/")
    if chapter and pages is not None and page not in pages:
        return f"{page}, {ABSENT}"
    address = f"/generated/{page}.ipynb" if chapter else f"/{page}.md"
    return f"[{name.replace('_', ' ')}]({address})"
