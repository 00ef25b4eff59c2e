"""Predictions as they were frozen: what ``book/laws`` said before the networks were trained, to be shown on a page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deepmech_book.claims.registry import written
from deepmech_book.sweeps.shipped import folder

__all__ = ["ASKED", "COMMITS", "Prediction", "book", "prediction"]

COMMITS = {
    "relaxation_forecast": "a3ddc27",
}
"""In which each prediction was committed, before anything was trained on which it is judged."""
ASKED = {"question": "Question", "law": "The law", "ours": "What we expected", "rival": "Simplest rival",
         "rule": "How it is judged"}  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """What one file of ``book/laws`` says; ``claims`` are as in the registry, ``commit`` is where it was frozen."""

    title: str
    papers: list[str]
    question: str
    law: str
    ours: str
    rival: str
    rule: str
    claims: list[dict[str, Any]]
    commit: str

    def _repr_html_(self) -> str:
        rows = "".join(f"<dt>{words}</dt><dd>{escape(getattr(self, name))}</dd>" for name, words in ASKED.items())
        told = f"What was foretold before anything was trained (frozen in commit <code>{self.commit}</code>)"
        return f"<details><summary>{told}</summary><dl>{rows}</dl></details>"

    def __repr__(self) -> str:
        told = [f"{words}: {getattr(self, name)}" for name, words in ASKED.items()]
        return "\n".join([*told, f"Frozen in: commit {self.commit}"])


def book() -> Path:
    """The folder ``book`` of the checkout; a ValueError if there are no results here."""
    if (where := folder()) is None:
        raise ValueError("no book here: work in a checkout, or name the folder of its results with DEEPMECH_RESULTS")
    return where.parent


def prediction(name: str) -> Prediction:
    """The prediction ``book/laws/<name>.yml``."""
    if name not in COMMITS:
        raise ValueError(f"prediction {name!r}: no such file; there are {', '.join(sorted(COMMITS))}")
    file = book() / "laws" / f"{name}.yml"
    return Prediction(**written(file.read_text(encoding="utf-8")), commit=COMMITS[name])
