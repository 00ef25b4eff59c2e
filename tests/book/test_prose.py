"""Numbers in prose: what is measured comes from the result, what is typed has a reason that can be checked."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import prose
import pytest
from numerals import ALLOWED, Follows, Paper, Setting, Words

from deepmech.data import DataMissing

PAGES = prose.pages()
NOTES = [pytest.param(page, note, id=f"{page}: {note.text}") for page, notes in ALLOWED.items() for note in notes]


def notes_of(kind: type) -> list:
    return [p for p in NOTES if isinstance(p.values[1], kind)]


def pattern(note: Paper | Setting | Follows | Words) -> str:
    """The phrase of a note as a regular expression; the numbers of :class:`Follows` may be any."""
    if not isinstance(note, Follows):
        return re.escape(note.text)
    return re.sub(r"%\\\.\d+f", r"[-\\d.]+", re.escape(note.text).replace("%%", "%"))


def spans(page: str, note: Paper | Setting | Follows | Words) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(pattern(note), PAGES[page])]


@pytest.mark.parametrize("page", PAGES)
def test_no_number_is_typed_without_a_reason(page):
    covered = [span for note in ALLOWED.get(page, []) for span in spans(page, note)]
    typed = [
        PAGES[page][max(0, m.start() - 60) : m.end() + 40]
        for m in prose.numerals(PAGES[page])
        if not any(start <= m.start() and m.end() <= end for start, end in covered)
    ]
    assert typed == [], "compute what is measured (a claim's detail, a table), or give it a reason in numerals.py"


@pytest.mark.parametrize(("page", "note"), NOTES)
def test_no_reason_outlives_its_number(page, note):
    assert spans(page, note), "the page has no such phrase"
    held = [m for m in prose.numerals(PAGES[page]) for s, e in spans(page, note) if s <= m.start() and m.end() <= e]
    assert held or isinstance(note, Follows), "the phrase has no number that needs a reason"


def sources(page: str, modules: tuple[str, ...]) -> Iterator[str]:
    """The code cells of a page, and the modules of the library that it imports or that are named."""
    code = prose.code(page)
    yield code
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("deepmech.", "deepmech_book.")):
            modules += (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    for name in modules:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:  # a name within a module that is no package
            continue
        if spec is not None and spec.origin:
            yield Path(spec.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "note"), notes_of(Setting))
def test_a_setting_stands_in_the_code_that_the_page_runs(page, note):
    known = set().union(*map(prose.literals, sources(page, note.modules)))
    known |= {round(100 * v, 9) for v in known} if "%" in note.text else set()
    assert prose.values(note.text), "no number to look for"
    assert [v for v in prose.values(note.text) if v not in known] == []


@pytest.mark.parametrize(("page", "note"), notes_of(Follows))
def test_what_follows_from_settings_and_definitions_does(page, note):
    try:
        numbers = note.numbers()
    except DataMissing as missing:
        pytest.skip(str(missing).splitlines()[0])
    assert note.text % numbers in PAGES[page]


@pytest.mark.parametrize(
    "name",
    [
        "Section 4.1 and App. D.1.3", "Theorem 3.1", "Propositions 3.3 and 3.4", "Eqs. 4–6 and C.11", "CIFAR-10",
        "Figs. 4(b), 5(a)", "D.10 has it", "the rule `budget=0.05`", "```python\nx = 0.5\n```", "100 trials",
        "mean and 95 % interval", "layers 1 to 7", "width 784",
    ],
)  # fmt: skip
def test_names_levels_and_code_are_let_through_and_a_typed_number_is_seen(name):
    assert [m[0] for m in prose.numerals(prose.plain(name))] == []
    for typed in ("reaches about 0.9.", "explains 7% of it", "two points and more", "of $10^{-4}$", "95 % of networks"):
        assert [m[0] for m in prose.numerals(prose.plain(f"{name}. Here it {typed}"))] != []
