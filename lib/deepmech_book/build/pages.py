"""Pages that the build writes itself: how the book was made, what came of every claim, where everything of the papers
is; and the pieces of prose pages that follow from what the notebooks found."""

from __future__ import annotations

import json
import re
from typing import Any

from deepmech_book.build.sources import PageRun, format_duration
from deepmech_book.claims import PAPERS, registry, tables

STATUS_HEAD = """\
# How this book was made

Every page with code was executed by the build with the profile **{profile}**, and the table says when, where and for
how long. *This run* means that the page was executed for the build you are reading; *earlier run* means that nothing
it depends on (the notebook, its parameters, the library, the data, the stored results, the pinned packages) has
changed since it was. Each page offers its executed notebook as a download. *Results drawn* were stored, or computed
for the page; how many of their cells were ever computed again is said with each.
"""


def status(page_runs: list[PageRun], profile: str) -> str:
    """The status page in MyST markdown: time, date, parameters, versions and machine of each notebook."""
    ready = [(s, s.notebook["metadata"]["deepmech"]) for s in page_runs if s.notebook is not None]
    lines = [STATUS_HEAD.format(profile=profile)]
    if not ready:
        return "\n".join([*lines, "No notebook has been executed yet.", ""])
    took = format_duration(sum(made["seconds"] for _, made in ready))
    lines += [f"{len(ready)} pages, {took} of execution in all.", ""]
    lines += [":::{table} Execution of each page", ":name: tab-status", ""]
    lines += ["| page | time | executed | by | parameters | results drawn |", "| :-- | --: | :-- | :-- | :-- | :-- |"]
    # One line for all pages that were made alike; as a rule that is a single line.
    alike: dict[str, list[str]] = {}
    for s, made in ready:
        link = f"{{doc}}`/generated/{s.name}`"
        parameters = ", ".join(f"{k} = {v}" for k, v in made["parameters"].items() if k != "profile")
        parameters = _folded("show", as_code(parameters)) if parameters else ""
        drawn = _folded(str(len(made["results"])), "<br>".join(map(_said, made["results"]))) if made["results"] else ""
        when = "this run" if s.fresh else "earlier run"
        row = (link, format_duration(made["seconds"]), made["date"], when, parameters, drawn)
        lines.append(f"| {' | '.join(row)} |")
        alike.setdefault(f"{made['machine']}; {made['versions']}", []).append(link)
    lines += ["", ":::", "", "## Machine and versions", ""]
    lines += [f"- {'All pages' if len(alike) == 1 else ', '.join(of)}: {how}." for how, of in alike.items()]
    left = [s.source.title for s in page_runs if s.notebook is None]
    if left:
        lines += ["", "## Not part of this build", "", *(f"- {title}" for title in left)]
    return "\n".join([*lines, ""])


def _folded(words: str, inside: str) -> str:
    return f"<details><summary>{words}</summary>{inside}</details>"


def _said(one: dict[str, Any]) -> str:
    """One result of a page in words, with the command that computes cells of it again."""
    if one["obtained"] != "shipped":
        return tables.cell(f"{one['name']}: {one['of']} cells computed by this code")
    again = as_code(f"deepmech verify {one['source']} --cells 1")
    return f"{tables.cell(one['source'])}: {tables.cell(one['words'])}. Yourself: {again}"


def as_code(text: str) -> str:
    """Any text as code within a cell of a table in MyST markdown."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    inside = " ".join(text.split()).replace("|", r"\|")
    return f"{fence} {inside} {fence}" if "`" in text else f"`{inside}`"


SCOREBOARD = """\
{}

All rows of the claims, with every digit: {{download}}`CSV <scoreboard.csv>`, {{download}}`JSON <scoreboard.json>`.

<script src="../_static/scoreboard.js"></script>
"""  # the script's address is that of the page in the site
PAPER_AND_BOOK = """\
Every section and every figure of the three papers, main text and supplements, and the pages of this book that are about
it.

{}"""


def claims_pages(records: list[dict[str, Any]], profile: str, titles: dict[str, str]) -> dict[str, str]:
    """The pages of tables by file name, from what the notebooks showed.

    With them go the rows of the scoreboard as CSV and as JSON.
    """
    rows = tables.scoreboard_rows(records)
    filled = {
        "scoreboard": ("Scoreboard", SCOREBOARD, tables.scoreboard_markdown(records, profile, titles)),
        "papers": ("Paper and book", PAPER_AND_BOOK, tables.papers_markdown(titles)),
    }
    # Tables need the width of the page's own contents.
    wide = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n# {}\n\n{}\n"
    made = {f"{name}.md": wide.format(title, words.format(table)) for name, (title, words, table) in filled.items()}
    made["scoreboard.csv"] = tables.csv_text(rows)
    made["scoreboard.json"] = json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)
    return made


def pieces(page_runs: list[PageRun], records: list[dict[str, Any]]) -> dict[str, str]:
    """What pages of prose include, by file name: the findings of each chapter (``found-A.md``), of each paper for
    the front page (``front-A.md``), its errata (``errata-A.md``); a claim of a page; and what stands under titles."""
    titles = {s.name: s.source.title for s in page_runs}
    made = {
        "claim.html": _output(page_runs, "spring_block/dropout_diagram", 'id="claim-A.1.c.each_layer"'),
        "places.json": json.dumps({s.name: places(s.name, records) for s in page_runs}),
    }
    for paper in PAPERS:
        made[f"errata-{paper}.md"] = tables.errata_markdown(paper, titles)
        made[f"front-{paper}.md"] = f"{tables.findings_markdown(records, paper, titles, front=True)}\n"
    for chapter in (*PAPERS, "beyond"):
        made[f"found-{chapter}.md"] = f"{tables.findings_markdown(records, chapter, titles)}\n"
    return made


def places(page: str, records: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The figures of each paper that a page draws, if only a panel of them, and its sections, in words."""
    here, found = {r["figure"] for r in records if "figure" in r and r["page"] == page}, {}
    for paper in PAPERS:
        figures, sections = registry.figures().values(), registry.sections().values()
        shown = [f for f in figures if f.paper == paper and (f.page == page or f.id in here)]
        drawn = [f.label.removeprefix("Fig. ") for f in shown]
        about = [s.name for s in sections if s.paper == paper and page in s.pages]
        if drawn or about:
            figure = [f"Fig{'s' * (len(drawn) > 1)}. {', '.join(drawn)}"] if drawn else []
            found[paper] = figure + about
    return found


def _output(page_runs: list[PageRun], name: str, mark: str) -> str:
    """The HTML with ``mark`` in it that a notebook left in its outputs; without the notebook, a word in its place."""
    for notebook in (s.notebook for s in page_runs if s.name == name and s.notebook is not None):
        for output in (o for cell in notebook["cells"] for o in cell.get("outputs", [])):
            if mark in (text := "".join(output.get("data", {}).get("text/html", ""))):
                return text
    return f"<p>The page {name} is not part of this build.</p>\n"
