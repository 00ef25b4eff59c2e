"""Figures to take away: their files beside the pages, a line below each that offers them, and a page that shows all."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes

from deepmech_book.build import keys
from deepmech_book.build.sources import Checkout, PageRun

#: The folder of the site in which the files of all figures lie; the book gives no name to two figures.
FOLDER = "figures"
_IMAGE = re.compile(r'(<img class="dark-light)( dm-tall)?(" [^>]*)src="data:image/(svg|png)[^"]*"')
#: The end of a part of a caption, outside of brackets.
_END = re.compile(r"(?<!Fig)(?<!Figs)(?<!Eq)(?<!vs)(?<!al)[.:;] (?![^(]*\))")
TALL = re.compile('<img class="[^"]* dm-tall"(?:[^>"]|"[^"]*")*>')  # what is drawn for phones
_STYLE = re.compile(f"(?s)<style>.*?</style>|{TALL.pattern}")
_STEM = re.compile(r'class="deepmech-picture[^"]*" data-files="([^"]*)"')


def executed(app: Any, page: str) -> dict[str, Any] | None:
    """What the build noted in a page that it executed; None of other pages, and outside of HTML; a ValueError for a
    notebook that something else executed."""
    path = Path(app.env.doc2path(page))
    if path.suffix != ".ipynb" or app.builder.format != "html":
        return None
    made: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("deepmech")
    if made is None:
        raise ValueError(f"{page}: was never executed; run deepmech book")
    return made


def put_beside(app: Any, doctree: nodes.document, page: str) -> None:
    """The pictures of a page become files of the site, and a line below each offers it and its numbers."""
    if (made := executed(app, page)) is None:
        return
    checkout, out = Checkout(Path(app.srcdir).parent), Path(app.outdir) / FOLDER
    drawn = keys.figures(checkout.executed(made["parameters"]["profile"], page.removeprefix("generated/")))
    up = f"{'../' * page.count('/')}{FOLDER}"
    out.mkdir(exist_ok=True)
    for figure in list(doctree.findall(nodes.figure)):
        name = figure["ids"][0]
        for picture in [raw for raw in figure.findall(nodes.raw) if _STEM.search(raw.astext())]:
            text = picture.astext()
            stem = _STEM.findall(text)[0]
            for tall, data in re.findall('(dm-tall)?" [^>]*src="data:image/png;base64,([^"]*)', text):
                (out / f"{name}{'-narrow' * bool(tall)}.png").write_bytes(base64.b64decode(data))
            kinds = [kind for kind in ("svg", "csv") if (drawn / f"{stem}.{kind}").is_file()]
            for file in drawn.glob(f"{stem}*"):
                shutil.copyfile(file, out / file.name.replace(stem, name, 1))
            picture.parent.replace(picture, nodes.raw("", _with_file(text, f"{up}/{name}"), format="html"))
            number = ".".join(map(str, app.env.toc_fignumbers[page]["figure"][name]))
            unseen = f'<span class="visually-hidden"> of Figure {number}</span>'
            links = [f'<a href="{up}/{name}.{kind}" download>{kind.upper()}{unseen}</a>' for kind in kinds]
            line = nodes.raw("", f'<p class="dm-take">{" · ".join(links)}</p>', format="html")
            figure.parent.insert(figure.parent.index(figure) + 1, line)


def _with_file(text: str, address: str) -> str:
    """The HTML of a picture that takes its image from a file; ``address`` is that of the file without its ending."""
    return _IMAGE.sub(
        lambda i: f'{i[1]}{i[2] or ""}{i[3]}loading="lazy" src="{address}{"-narrow" * bool(i[2])}.{i[4]}"', text
    )


HEAD = """\
All figures of this book, page by page, with what they show. A click leads to the figure on its page. Below it there are
links to take it away as SVG, with the numbers drawn as CSV.
"""


def page(page_runs: list[PageRun], toc: dict[str, Any]) -> str:
    """The gallery in MyST markdown: every figure small, with its number, what it shows, and the paper's figure;
    chapters are those of the table of contents."""
    parts = ["---", "html_theme.sidebar_secondary.remove: true", "---", "", "# Gallery", "", HEAD]
    chapters = [one for part in toc.get("parts", []) for one in part["chapters"]]
    chapter_of = {page["file"]: one["file"] for one in chapters for page in one.get("sections", [])}
    above = ""
    for page_run in page_runs:
        file = f"generated/{page_run.name}"
        chapter = chapter_of.get(file, file)
        if cards := list(_cards(page_run)):
            if chapter not in (above, file):
                parts += [f"## {{doc}}`/{chapter}`", ""]
                above = chapter
            level = "##" if chapter == file else "###"
            parts += [f"{level} {{doc}}`/{file}`", "", "::::{grid} 2 2 3 3", ":gutter: 3", "", *cards, "::::", ""]
    return "\n".join(parts)


def _cards(page_run: PageRun) -> Iterator[str]:
    """A card for each figure of an executed notebook, in their order."""
    from deepmech_book.claims import PAPERS, figures  # slow to import, and Sphinx does without

    for cell in (page_run.notebook or {"cells": []})["cells"]:
        options = cell["metadata"].get("mystnb", {}).get("figure")
        for output in cell.get("outputs", []) if options else []:
            text = "".join(output.get("data", {}).get("text/html", ""))
            if stem := _STEM.search(text):
                says = _END.split(f"{' '.join(options['caption'].split())} ")[0]
                paper = figures().get(stem[1].partition("-")[2])
                after = f" *{PAPERS[paper.paper].partition(' (')[0]}, {paper.label}*" if paper else ""
                small = _STYLE.sub("", text).replace(" full-width", "")  # which the theme looks for beside contents
                image = _with_file(small, f"../{FOLDER}/{nodes.make_id(options['name'])}")
                yield f":::{{grid-item-card}}\n:class-item: dm-thumb\n\n```{{raw}} html\n{image}\n```\n"
                yield f"{{numref}}`{options['name']}`: {says}.{after}\n:::\n"
