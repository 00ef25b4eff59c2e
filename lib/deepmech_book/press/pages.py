"""Pages that the press writes itself: how the book was made, what came of every claim, where everything of the papers
is; and the pieces of prose pages that follow from what the notebooks found."""

from __future__ import annotations

import json
from typing import Any

from deepmech_book.press import api
from deepmech_book.press.press import Sheet, clock

STATUS_HEAD = """\
# How this book was made

Every page with code was executed by the press with the profile **{profile}**, and the table says when, where and for
how long. *This run* means that the page was executed for the build you are reading; *earlier run* means that nothing
it depends on (the notebook, its parameters, the library, the data, the stored results, the pinned packages) has
changed since it was. Each page offers its executed notebook as a download.
"""


def _made(sheet: Sheet) -> dict[str, Any]:
    assert sheet.notebook is not None
    return sheet.notebook["metadata"]["deepmech"]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def status(sheets: list[Sheet], profile: str) -> str:
    """The status page in MyST markdown: time, date, parameters, versions and machine of each notebook."""
    ready = [s for s in sheets if s.notebook is not None]
    lines = [STATUS_HEAD.format(profile=profile)]
    if not ready:
        return "\n".join([*lines, "No notebook has been executed yet.", ""])
    total = sum(_made(s)["seconds"] for s in ready)
    lines += [f"{len(ready)} pages, {clock(total)} of execution in all.", ""]
    lines += [":::{table} Execution of each page", ":name: tab-status", ""]
    lines += ["| page | time | executed | by | parameters |", "| :-- | --: | :-- | :-- | :-- |"]
    for s in ready:
        made = _made(s)
        parameters = ", ".join(f"{k} = {v}" for k, v in made["parameters"].items() if k != "profile")
        when = "this run" if s.fresh else "earlier run"
        link = f"{{doc}}`/generated/{s.name}`"
        cells = [link, clock(made["seconds"]), made["date"], when, _code(parameters.replace("|", "/"))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", ":::", ""]
    # One line for all pages that were made alike; as a rule that is a single line.
    alike: dict[tuple[str, str], list[str]] = {}
    for s in ready:
        alike.setdefault((_made(s)["machine"], _made(s)["versions"]), []).append(s.name)
    lines += ["## Machine and versions", ""]
    for (machine, versions), names in alike.items():
        which = "All pages" if len(alike) == 1 else ", ".join(f"{{doc}}`/generated/{n}`" for n in names)
        lines += [f"- {which}: {machine}; {versions}."]
    left = [s.source.title for s in sheets if s.notebook is None]
    if left:
        lines += ["", "## Not part of this build", "", *(f"- {title}" for title in left)]
    return "\n".join([*lines, ""])


SCOREBOARD_HEAD = """\
All rows of the claims, with every digit: {download}`CSV <scoreboard.csv>`, {download}`JSON <scoreboard.json>`.
"""
# The address is that of the page in the site.
SCOREBOARD_FOOT = '<script src="../_static/scoreboard.js"></script>\n'


def scoreboard(records: list[dict[str, Any]], profile: str, names: list[str]) -> dict[str, str]:
    """The scoreboard page by file name, from what the notebooks ``names`` showed, and its rows as CSV and as JSON."""
    from deepmech_book import ledger

    table = ledger.scoreboard_markdown(records, profile, pages=names, link="{}.ipynb".format)
    rows = ledger.scoreboard_rows(records)
    return {
        "scoreboard.md": _wide("Scoreboard", f"{SCOREBOARD_HEAD}\n{table}\n{SCOREBOARD_FOOT}"),
        "scoreboard.csv": ledger.scoreboard_csv(rows),
        "scoreboard.json": json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False),
    }


SENTENCES_HEAD = """\
What the texts of the three papers claim, in their order and in our words, and what became of each: the entries of the
ledger that judge it, or why it has none. At the end of each paper stand the entries that none of its sentences makes.
"""


def sentences(records: list[dict[str, Any]], names: list[str]) -> str:
    """The claims of the papers' texts one by one, with what the notebooks ``names`` found."""
    from deepmech_book import ledger

    text = ledger.sentences_markdown(records, pages=names, link="{}.ipynb".format)
    return _wide("Sentence by sentence", f"{SENTENCES_HEAD}\n{text}")


FORMULAS_HEAD = """\
The numbered formulas of the three papers that the library computes: what each says, the object in the library that
computes it and cites it, and the page of this book where it is at work. Steps of proofs are left out. A remark in
brackets tells where we depart from the print; the pages of errata say why.
"""


def formulas(names: list[str], reference: bool) -> str:
    """The index of the papers' formulas, with links to the pages ``names`` and to the library's ``reference``."""
    from deepmech_book import ledger

    entry = api.entry if reference else None
    return _wide(
        "Formulas", f"{FORMULAS_HEAD}\n{ledger.formulas_markdown(pages=names, link='{}.ipynb'.format, entry=entry)}"
    )


PAPERS_HEAD = """\
Every section and every figure of the three papers, main text and supplements, and the pages of this book that are about
it. What each paper's sentences claim, and what became of them, is listed {doc}`sentence by sentence
</generated/sentences>`; the numbered equations stand under {doc}`/generated/formulas`.
"""


def papers(names: list[str]) -> str:
    """Paper beside book: sections and figures with links to the pages ``names``."""
    from deepmech_book import ledger

    text = ledger.papers_markdown(pages=names, link=lambda page: f"{page}.ipynb" if "/" in page else f"../{page}.md")
    return _wide("Paper and book", f"{PAPERS_HEAD}\n{text}")


def pieces(sheets: list[Sheet], records: list[dict[str, Any]]) -> dict[str, str]:
    """What pages of prose include, by file name: the findings of each paper, whole (``found-A.md``) and for the front
    page (``front-A.md``), and the chain explorer, taken from its page (``explorer.html``)."""
    from deepmech_book import ledger

    link = "/generated/{}.ipynb".format
    made = {}
    for paper in ("A", "B", "C"):
        for name, front in (("found", False), ("front", True)):
            text = ledger.findings_markdown(records, paper, front=front, link=link)
            made[f"{name}-{paper}.md"] = f"{text}\n"
    made["explorer.html"] = _output(sheets, "spring_block/explorer", "data-deepmech-chain")
    return made


def _output(sheets: list[Sheet], name: str, mark: str) -> str:
    """The HTML with ``mark`` in it that a notebook left in its outputs; without the notebook, a word in its place."""
    for sheet in sheets:
        if sheet.name == name and sheet.notebook is not None:
            for cell in sheet.notebook["cells"]:
                for output in cell.get("outputs", []):
                    text = output.get("data", {}).get("text/html", "")
                    if mark in (joined := "".join(text)):
                        return joined
    return f"<p>The page {name} is not part of this build.</p>\n"


def _wide(title: str, text: str) -> str:
    """A page whose tables need the width of the page's own contents."""
    return f"---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n# {title}\n\n{text}\n"
