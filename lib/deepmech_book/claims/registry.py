"""The registry: what the .yml files beside this module say of the three papers: figures, claims and sections."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from deepmech_book.claims.rules import FAILS, TRIVIAL, UNDECIDED, Rule

PAPERS = {
    "A": "A spring–block theory of feature learning (Shi, Pan, Dokmanić)",
    "B": "Imitating deep learning dynamics (Zhang, Wang, Su)",
    "C": "How glassy are neural networks? (Kerr Winter, Janssen)",
}
CHAPTERS = ("spring_block", "elastic_sde", "glass", "beyond")
"""Folders of ``deepmech_book`` in which pages stand, each beside what its claims say: ``glass/displacement.yml``."""
SHORT = {"says": "statement", "rival": "against"}
"""What fields of a claim are called there."""
ALONE = ("id", "statement", "main", "answer", "history", "first_null", "range", "power")
"""Fields of a claim that its rows do not take over."""
FROZEN, OLDER, AFTER = "frozen before the data", "rule older than the number", "changed after"
"""How old a rule is beside its number: written down with all else before the data, before the number, or not so."""
_NUMBER = re.compile(r"(?<!\w)_(\S.*?\S)_(?!\w)")  # as Markdown writes emphasis
_ENTRY = re.compile(
    r"rule first( \(.+\))?|frozen: [0-9a-f]{8}( \(.+\))?|changed \d{4}-\d\d-\d\d: .+; numbers? .*known( \(.+\))?"
)


@dataclass(frozen=True)
class Numbered:
    """What stands in the registry under an id that begins with its paper."""

    id: str

    @property
    def paper(self) -> str:
        return self.id.split(".")[0]


@dataclass(frozen=True)
class Figure(Numbered):
    """One figure of a paper; ``page`` is the notebook that draws it."""

    title: str
    shows: str
    page: str
    part: str = ""

    @property
    def label(self) -> str:
        """The figure's name in its paper, e.g. ``Fig. S13``."""
        return f"Fig. {self.id.split('.')[1]}"


@dataclass(frozen=True)
class Claim(Numbered):
    """One statement that a machine can check; ``page`` is the notebook that measures it.

    A page's file says in our words what the paper ``says`` and ``where``, what is measured (``measure``, in which what
    cards call the ``number`` stands between underscores: ``per cell, the _rank correlation of a and b_``), how the
    verdict follows (``rule``, see rules.py), and which ``rival``, the null, has to be beaten: it makes the claim
    trivial by passing the rule itself, or, with ``better_than_null``, by doing as well as the measurement. A ``within``
    rule compares with ``expected``, where that does not depend on the run. ``kind`` is ``check`` where it says no more
    than that a program obeys its formula, ``finding`` where what it says is ours: shown with its number, without a sign
    of a verdict; and ``erratum``, which its id says, of errata and remarks of ours; all are counted apart from the
    papers' claims. ``figure`` is left out where the id begins with it. ``answer`` is what the
    authors could reply where it does not hold, shown beside that verdict. ``history`` says of its rule, null and
    interval what was chosen when: ``rule first``, ``frozen: commit``, or ``changed date: what; number known`` (or ``not
    known``), from which :attr:`status` follows.
    ``first_null`` is the null that was exchanged or dropped when it was known that the claim held only trivially.
    ``range`` are the ends of what its number can be, such as ``[-1, 1]`` of a correlation, ``~`` for none: with that of
    the rule they say how far inside of the rule a true number may lie. ``power`` is on how many made-up draws on which
    the claim is true as few runs as ship hold, ``46 of 60``, where the interval of one number does not say it.
    ``ours`` are claims that no sentence of a paper makes, counted apart. Pages show a ``main`` claim as a card, the
    others as rows of a table.

    Panels and sizes of one sentence are ``rows`` of one entry: claims with ids and verdicts of their own, which stand
    on the card of the entry, their ``family``. A row has the entry's fields but for :data:`ALONE`, unless it sets them
    (``rival: ~`` for none).
    """

    where: str
    statement: str
    measure: str
    rule: Rule
    figure: str = ""
    page: str = ""
    kind: str = "claim"
    against: str | None = None
    better_than_null: bool = False
    expected: Any = None
    answer: str = ""
    history: tuple[str, ...] = ()
    first_null: str = ""
    main: bool = False
    ours: bool = False
    family: str = ""
    range: tuple[float | None, float | None] = (None, None)
    power: str = ""
    number: str = ""

    def __post_init__(self) -> None:
        if self.family and self.main:
            raise ValueError(
                f"claim {self.id}: main = true: is a row of {self.family}, on whose card it stands; leave it out"
            )
        if marked := _NUMBER.search(self.measure):
            object.__setattr__(self, "number", self.number or marked[1])
            object.__setattr__(self, "measure", _NUMBER.sub(r"\1", self.measure))
        if isinstance(self.rule, dict):  # as it is written
            object.__setattr__(self, "rule", Rule.parse(self.rule))
        is_erratum = self.id.split(".")[1] in ("errata", "remark")
        if self.kind not in ("claim", "check", "finding") or (is_erratum and self.kind != "claim"):
            raise ValueError(f"claim {self.id}: kind {self.kind!r} must be claim, or check or finding if no erratum")
        if is_erratum and self.ours:
            raise ValueError(f"claim {self.id}: errata and remarks are counted apart already; leave out ours")
        if is_erratum:
            object.__setattr__(self, "kind", "erratum")
        if odd := [entry for entry in self.history if not _ENTRY.fullmatch(entry)]:
            raise ValueError(
                f"claim {self.id}: history {odd[0]!r}: write 'rule first', 'frozen: commit', or 'changed YYYY-MM-DD: "
                "what; number known', or 'not known'"
            )
        figure = self.figure or ".".join(self.id.split(".")[:2])
        if figure not in figures():
            raise ValueError(unknown(figure, figures(), "figure"))
        object.__setattr__(self, "figure", figure)
        object.__setattr__(self, "page", self.page or figures()[figure].page)
        if self.better_than_null and (self.against is None or self.rule.direction == 0):
            raise ValueError(f"claim {self.id}: better_than_null needs a null (against) and a one-sided rule")

    @property
    def head(self) -> str:
        """The id of the claim on whose card it stands: that of its family, or its own."""
        return self.family or self.id

    @property
    def status(self) -> str:
        """:data:`FROZEN`, :data:`OLDER` or :data:`AFTER`, by the last entry of the history that decides."""
        told = [entry for entry in self.history if "not known" not in entry] or ["rule first" if self.history else ""]
        return {"f": FROZEN, "r": OLDER}.get(told[-1][:1], AFTER)

    def answered(self, verdict: str) -> str:
        """What the authors could reply to this verdict; nothing to one that is theirs."""
        return self.answer if verdict in (FAILS, TRIVIAL, UNDECIDED) else ""


@dataclass(frozen=True)
class Erratum(Numbered):
    """One slip or silent assumption of a paper, of ``errata_a.yml`` and so on.

    ``printed`` and ``found`` are MyST. ``shown`` are the tests (``file::name``) or claims that show it; there are none
    where to read is to see. A ``remark`` is no error: the text grants it, or says nothing against it.
    """

    where: str
    printed: str
    found: str
    shown: tuple[str, ...] = ()
    remark: bool = False


@dataclass(frozen=True)
class Section(Numbered):
    """One section of a paper, of ``sections.yml``: the pages about it, or ``why`` there are none."""

    name: str
    pages: tuple[str, ...] = ()
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.pages) == bool(self.why):
            raise ValueError(f"section {self.id}: must have either pages or a reason (why) to have none")


class _Once(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a name that is set twice, of which YAML would keep the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is set twice{node.start_mark}")
        return super().construct_mapping(node, deep)


# YAML 1.1 took 1e-3 for words, as it has no point; YAML 1.2, and everybody who writes it, means the number.
_Once.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789"))


def written(text: str) -> Any:
    """What a text in YAML says; a ValueError if it cannot be read, or sets a name twice."""
    try:
        return yaml.load(text, _Once)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"cannot be read as YAML ({error})") from None


def read(name: str, kind: Any, room: str = __package__, **told: Any) -> list[Any]:
    """The entries of a registry's file in a room, each with fields of ``kind`` only; lists become tuples.

    Claims stand under their ids, where words of :data:`SHORT` are fields, too; all else in a list. ``told`` are fields
    that all have. A ValueError names the file, and the entry that does not fit.
    """
    known = {f.name: f.type for f in fields(kind)}
    place, made = name, []
    try:
        for entry in _entries(written(files(room).joinpath(name).read_text(encoding="utf-8")), told):
            place = f"{name}, {entry.get('id', next(iter(entry.values())))}"
            if strange := sorted(set(entry) - set(known)):
                raise ValueError(f"unknown field {strange[0]!r}; known: {sorted(known)}")
            if odd := [k for k, v in entry.items() if known[k] == "str" and not isinstance(v, str)]:
                raise ValueError(f"{odd[0]} must be words")
            made.append(kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}))
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise ValueError(f"{place}: {error}") from None
    return made


def _entries(listed: Any, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Entries, and behind each its rows, with the fields that they take over."""
    if not isinstance(listed, dict):
        yield from ({**one, **told} for one in listed)
        return
    for name, one in listed.items():
        entry = {"id": name} | {SHORT.get(word, word): said for word, said in {**one, **told}.items()}
        rows = entry.pop("rows", {})
        yield entry
        like = {word: said for word, said in entry.items() if word not in ALONE}
        yield from ({**like, **row, "family": name} for row in _entries(rows, {}))


def by_id(items: list[Any]) -> Mapping[str, Any]:
    """A read-only table of entries by their id, which may stand in it once."""
    ((most, times),) = Counter(item.id for item in items).most_common(1)
    if times > 1:
        raise ValueError(f"registry: {most} stands in it twice")
    return MappingProxyType({item.id: item for item in items})


@cache
def figures() -> Mapping[str, Figure]:
    """All 53 figures by id, in the papers' order."""
    return by_id(read("figures.yml", Figure))


@cache
def claims() -> Mapping[str, Claim]:
    """All claims by id, figure by figure, each page's in a file of its chapter's folder."""
    found, house = [], __package__.rpartition(".")[0]
    for chapter in CHAPTERS:
        pages = (e.name.removesuffix(".yml") for e in files(f"{house}.{chapter}").iterdir() if e.name.endswith(".yml"))
        for page in sorted(pages):
            found += read(f"{page}.yml", Claim, f"{house}.{chapter}", page=f"{chapter}/{page}")
    order = list(figures())
    return by_id(sorted(found, key=lambda claim: order.index(claim.figure)))


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


@cache
def errata() -> Mapping[str, Erratum]:
    """All errata and remarks by id, in the papers' order."""
    return by_id([e for paper in PAPERS for e in read(f"errata_{paper.lower()}.yml", Erratum)])


@cache
def sections() -> Mapping[str, Section]:
    """All sections by id, in the papers' order."""
    return by_id(read("sections.yml", Section))
