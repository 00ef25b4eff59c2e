"""Numbers in prose: what is measured comes from the result, what is typed has a reason that can be checked."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import prose
import pytest
from miniature import ROOT
from numerals import ALLOWED, Follows, Paper, Setting, Words

from deepmech.data import DataMissing
from deepmech_book.press.sources import Checkout

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
    "typed",
    [
        "reaches about 0.9.", "explains 7 % of it", "explains 7% of it", "some 40 networks", "two points and more",
        "about half of the runs", r"finds $1.6\cdot10^{-4}$", "of $10^{-4}$", "falls by 12 per cent", "a loss of 2e-5",
        "turns by 15 degrees", "is 3.67 in Fig. 3", r"$x \approx 3$", "Fig. 3, 0.9 of it", "95 % of the networks",
    ],
)  # fmt: skip
def test_a_typed_number_is_seen(typed):
    assert [m[0] for m in prose.numerals(prose.plain(f"Here it {typed}"))] != []


@pytest.mark.parametrize(
    "name",
    [
        "Section 4.1 and App. D.1.3", "Theorem 3.1", "Propositions 3.3 and 3.4", "Eqs. 4–6 and C.11", "CIFAR-10",
        "Figs. 4(b), 5(a)", "D.10 has it", "the rule `budget=0.05`", "```python\nx = 0.5\n```", "100 trials",
        "mean and 95 % interval", "layers 1 to 7", "width 784",
    ],
)  # fmt: skip
def test_names_levels_and_code_are_let_through(name):
    assert [m[0] for m in prose.numerals(prose.plain(name))] == []


#: What says nothing, or says it elsewhere: code, equations, pieces that are filled in, roles, addresses, titles, maps.
SILENT = (
    r"\A---\n.*?\n---\n",
    r"^(?P<fence>`{3,}|:{3,})[^\n]*\n.*?^(?P=fence)\n",
    r"\$\$.*?\$\$|\$[^$]*\$",
    r"`[^`]*`",
    r"\]\([^)]*\)",
    r"^#.*?$",
    r"^\| \{doc\}.*?$",
)
#: What "How to read this book" explains, which stands before the path.
KNOWN = {"claim", "verdict", "null", "profile"}


def path() -> list[str]:
    """The text of every page of the main path, in its order."""
    (part,) = (p for p in Checkout(ROOT).toc["parts"] if p["caption"] == "The main path")
    names = [e["file"] for chapter in part["chapters"] for e in (chapter, *chapter["sections"])]
    files = [ROOT / (f"notebooks{n[len('generated') :]}.md" if "/" in n else f"book/{n}.md") for n in names]
    return [f"{name}\n{file.read_text(encoding='utf-8')}" for name, file in zip(names, files, strict=True)]


def terms() -> list[str]:
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    return [
        line
        for block in re.findall(r"```\{glossary\}\n(.*?)```", text, re.S)
        for line in re.findall(r"^\w.*$", block, re.M)
    ]


def said(page: str) -> tuple[str, list[tuple[int, str]]]:
    """The prose of a page, and where it marks which terms."""
    _, _, text = page.partition("\n")
    marks = re.compile(r"\{term\}`(?:[^`<]*<)?([^`>]*)>?`")
    text = marks.sub(lambda m: f"\x01{' '.join(m[1].split()).lower()}\x02", text)
    for pattern in SILENT:
        text = re.sub(pattern, " ", text, flags=re.S | re.M)
    found = [(m.start(), m[1]) for m in re.finditer("\x01(.*?)\x02", text)]
    return re.sub("\x01.*?\x02", lambda m: "\x01" * len(m[0]), text), found


def unmarked(pages: list[str], words: list[str]) -> list[str]:
    """The terms whose first use on these pages is not marked, each with its page."""
    wrong, known = [], {word.lower() for word in KNOWN}
    for page in pages:
        text, marks = said(page)
        for word in (w for w in words if w.lower() not in known):
            used = re.search(rf"\b{re.escape(word)}(?:s|es)?\b", text, 0 if word.isupper() else re.I)
            first = min((at for at, term in marks if term == word.lower()), default=None)
            if used and (first is None or used.start() < first):
                wrong.append(f"{page.partition(chr(10))[0]}: {word}")
            if used or first is not None:
                known.add(word.lower())
    return wrong


def test_a_term_is_marked_where_the_main_path_first_uses_it():
    assert unmarked(path(), terms()) == []


def test_a_term_that_is_used_too_early_would_be_found():
    page = "a\n# Cages\nIn $cage$ a {term}`cage`, then a {term}`rest <quench>`: cages."
    assert unmarked([page], ["cage", "quench"]) == []
    assert unmarked(["a\nOf cages.", page], ["cage", "quench"]) == ["a: cage"]
