"""What the papers' texts claim, sentence by sentence, and what became of each: its entries, or why it has none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from deepmech_book.ledger import registry
from deepmech_book.ledger.shown import ABSENT, Record, badge, cell, claim_records, page_link


@dataclass(frozen=True)
class Sentence(registry.Numbered):
    """One claim of a paper's text, in our words, read from ``sentences.yml``.

    ``claims`` are the ids of the ledger that judge it; a sentence without any says in ``why`` what keeps it from being
    judged.
    """

    where: str
    says: str
    claims: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.claims) == bool(self.why):
            raise ValueError(f"sentence {self.id}: must have either claims or a reason (why) to have none")
        for name in self.claims:
            registry.claim(name)


@cache
def sentences() -> Mapping[str, Sentence]:
    """All sentences by id, in the papers' order."""
    return registry.by_id(registry.read("sentences.yml", Sentence))


def ours() -> list[registry.Claim]:
    """The claims of the ledger that no sentence of a paper makes: consequences that this book draws, no errata."""
    said = {name for sentence in sentences().values() for name in sentence.claims}
    return [c for c in registry.claims().values() if c.id not in said and not c.aside]


def sentences_markdown(records: Iterable[Record], pages: Collection[str]) -> str:
    """The sentences as MyST Markdown, without a title: a table for each paper, then the claims that are ours.

    ``records`` and ``pages`` are those of the build, as for the scoreboard.
    """
    found = claim_records(records)

    def judged(name: str) -> str:
        verdict = found[name]["verdict"] if name in found else ABSENT
        return f"{badge(verdict)} {name} ({page_link(registry.claim(name).page, pages)})"

    lines: list[str] = []
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", "", "| where | what the text says | what became of it |", "|---|---|---|"]
        for s in (s for s in sentences().values() if s.paper == paper):
            became = "<br>".join(map(judged, s.claims)) or f"no entry: {s.why}"
            lines.append(f"| {cell(s.where)} | {cell(s.says)} | {cell(became)} |")
        own = [c for c in ours() if c.paper == paper]
        if own:
            lines += ["", "Entries of the ledger that no sentence of this paper makes, consequences that we draw:", ""]
            lines += [f"- {cell(c.statement)} {judged(c.id)}" for c in own]
        lines.append("")
    return "\n".join(lines)
