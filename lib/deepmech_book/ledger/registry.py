"""The registry: all figures of the three papers and every claim, read from the .yml files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from deepmech_book.ledger.rules import Rule

PAPERS = {
    "A": "A spring–block theory of feature learning (Shi, Pan, Dokmanić)",
    "B": "Imitating deep learning dynamics (Zhang, Wang, Su)",
    "C": "How glassy are neural networks? (Kerr Winter, Janssen)",
}
STEPS = {1: "chains and the first diagram", 2: "networks", 3: "elastic SDEs", 4: "glass"}


@dataclass(frozen=True)
class Figure:
    """One figure of a paper; ``page`` is the notebook that draws it, or None while it is not built."""

    id: str
    title: str
    shows: str
    page: str | None
    step: int
    part: str = ""

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def label(self) -> str:
        """The figure's name in its paper, e.g. ``Fig. S13``."""
        return f"Fig. {self.id.split('.')[1]}"

    @property
    def built(self) -> bool:
        return self.page is not None


@dataclass(frozen=True)
class Claim:
    """One statement that a machine can check; ``page`` is the notebook that measures it, or None."""

    id: str
    figure: str
    where: str
    statement: str
    measure: str
    kind: str
    rule: Rule
    page: str | None
    against: str | None = None
    better_than_null: bool = False
    expected: Any = None

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]

    @property
    def built(self) -> bool:
        return self.page is not None

    def __post_init__(self) -> None:
        if self.kind not in ("exact", "number", "order"):
            raise ValueError(f"claim {self.id}: kind {self.kind!r} must be exact, number or order")
        if self.better_than_null and (self.against is None or self.rule.direction == 0):
            raise ValueError(f"claim {self.id}: better_than_null needs a null (against) and a one-sided rule")


def entries(name: str, kind: type) -> list[dict[str, Any]]:
    """The entries of a registry's file beside this module, each with fields of ``kind`` only."""
    found = yaml.safe_load(files("deepmech_book.ledger").joinpath(name).read_text(encoding="utf-8"))
    known = {f.name for f in fields(kind)}
    for entry in found:
        unknown = set(entry) - known
        if unknown:
            raise ValueError(f"{name}, {entry.get('id')}: unknown field {sorted(unknown)[0]!r}; known: {sorted(known)}")
    return found


def by_id(items: list[Any]) -> Mapping[str, Any]:
    """A read-only table of entries by their id, which may stand in it once."""
    table = {item.id: item for item in items}
    if len(table) != len(items):
        ids = [item.id for item in items]
        raise ValueError(f"registry: {next(i for i in ids if ids.count(i) > 1)} stands in it twice")
    return MappingProxyType(table)


@cache
def figures() -> Mapping[str, Figure]:
    """All 53 figures by id, in the papers' order.

    Examples
    --------
    >>> len(figures()), figures()["A.S13"].label
    (53, 'Fig. S13')
    """
    return by_id([Figure(**entry) for entry in entries("figures.yml", Figure)])


@cache
def claims() -> Mapping[str, Claim]:
    """All claims by id: those of ``claims_*.yml`` paper by paper, then those of ``errata_*.yml``.

    Examples
    --------
    >>> claims()["A.5b.limit"].rule.words
    'within 2 % of the expected value'
    """
    found = []
    names = [entry.name for entry in files("deepmech_book.ledger").iterdir()]
    for name in sorted(n for n in names if n.startswith(("claims_", "errata_")) and n.endswith(".yml")):
        for entry in entries(name, Claim):
            claim = Claim(**{**entry, "rule": Rule.parse(entry["rule"])})
            if claim.figure not in figures():
                raise ValueError(f"{name}, {claim.id}: {unknown(claim.figure, figures(), 'figure')}")
            found.append(claim)
    return by_id(found)


def unknown(name: str, table: Mapping[str, Any], kind: str) -> str:
    """An error message for an id that is not in the registry, with the ids nearest to it."""
    near = get_close_matches(name, table, n=4, cutoff=0.4)
    hint = f"near names: {', '.join(near)}" if near else f"{kind}s look like {', '.join(list(table)[:3])}"
    return f"no {kind} {name!r} in the registry; {hint}"


def claim(name: str) -> Claim:
    """The claim with this id; a ValueError names near ids."""
    if name not in claims():
        raise ValueError(unknown(name, claims(), "claim"))
    return claims()[name]


def figure(name: str) -> Figure:
    """The figure with this id; a ValueError names near ids."""
    if name not in figures():
        raise ValueError(unknown(name, figures(), "figure"))
    return figures()[name]
