"""Nothing on the main path is used before it is defined: a term of the glossary is marked where it is first used."""

import re

from miniature import ROOT

from deepmech_book.press.sources import Checkout

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
