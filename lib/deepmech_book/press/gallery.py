"""Figures to take away: their files beside the pages, a line below each that offers them, and a page that shows all."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes

import deepmech
from deepmech_book.ledger import PAPERS, figures
from deepmech_book.press import keys
from deepmech_book.press.press import PageBuild
from deepmech_book.press.sources import Checkout

#: The folder of the site in which the files of all figures lie; the book gives no name to two figures.
FOLDER = "figures"
#: What can be taken away, in the order of the line below a figure.
KINDS = {"svg": "SVG", "pdf": "PDF", "png": "PNG", "csv": "numbers as CSV", "nc": "as netCDF"}
_IMAGE = re.compile(r'<img class="only-(light|dark)"([^>]*?) src="data:image/(svg|png)[^,"]*,([^"]*)">')
#: The end of a part of a caption, outside of brackets.
_END = re.compile(r"(?<!Fig)(?<!Figs)(?<!Eq)(?<!vs)(?<!al)[.:;] (?![^(]*\))")
_STEM = re.compile(r'class="deepmech-picture" data-files="([^"]*)"')


def executed(app: Any, page: str) -> dict[str, Any] | None:
    """What the press noted in a page that it executed; None of other pages, and outside of HTML; a ValueError for a
    notebook that something else executed."""
    path = Path(app.env.doc2path(page))
    if path.suffix != ".ipynb" or app.builder.format != "html":
        return None
    made: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("deepmech")
    if made is None:
        raise ValueError(f"{page}: was not executed by the press; run deepmech book")
    return made


def put_beside(app: Any, doctree: nodes.document, page: str) -> None:
    """The pictures of a page become files of the site, and a line below each offers it and its numbers."""
    if (made := executed(app, page)) is None:
        return
    checkout, out = Checkout(Path(app.srcdir).parent), Path(app.outdir) / FOLDER
    drawn = keys.figures(checkout.executed(made["parameters"]["profile"], page.removeprefix("generated/")))
    up = "../" * page.count("/")
    out.mkdir(exist_ok=True)
    for figure in list(doctree.findall(nodes.figure)):
        name = figure["ids"][0]
        for picture in [raw for raw in figure.findall(nodes.raw) if _STEM.search(raw.astext())]:
            text = picture.astext()
            stem = _STEM.findall(text)[0]
            for theme, _, kind, data in _IMAGE.findall(text):
                (out / _file(theme, name, kind)).write_bytes(base64.b64decode(data))
            kinds = [kind for kind in KINDS if (drawn / f"{stem}.{kind}").is_file()]
            for kind in kinds:
                shutil.copyfile(drawn / f"{stem}.{kind}", out / f"{name}.{kind}")
            picture.parent.replace(picture, nodes.raw("", _with_files(text, name, up), format="html"))
            number = ".".join(map(str, app.env.toc_fignumbers[page]["figure"][name]))
            unseen = f'<span class="visually-hidden"> of Figure {number}</span>'
            links = [f'<a href="{up}{FOLDER}/{name}.{kind}" download>{KINDS[kind]}{unseen}</a>' for kind in kinds]
            cite = _citation(name, number, app.env.titles[page], made, stem)
            line = nodes.raw("", f'<div class="dm-take"><span>{" · ".join(links)}</span>{cite}</div>', format="html")
            figure.parent.insert(figure.parent.index(figure) + 1, line)


def _file(theme: str, name: str, kind: str) -> str:
    return f"{name}{'-dark' if theme == 'dark' else ''}.{kind}"


def _with_files(text: str, name: str, up: str, kept: str = "(?s).*") -> str:
    """The HTML of a picture that takes its images from files; of their attributes those that match ``kept`` stay."""

    def image(found: re.Match[str]) -> str:
        attributes = "".join(re.findall(kept, found[2]))
        address = f"{up}{FOLDER}/{_file(found[1], name, found[3])}"
        return f'<img class="only-{found[1]}"{attributes} loading="lazy" src="{address}">'

    return _IMAGE.sub(image, text)


def with_links(notebook: str) -> str:
    """The text of a notebook in the site, whose pictures are links to the files of its figures in place of copies."""
    found = json.loads(notebook)
    for cell in found["cells"]:
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        for output in cell.get("outputs", []) if "name" in figure else []:
            if "text/html" in output.get("data", {}):
                text = "".join(output["data"]["text/html"])
                output["data"]["text/html"] = _with_files(text, nodes.make_id(figure["name"]), "../../../")
    return json.dumps(found, indent=1, ensure_ascii=False)


def _citation(name: str, number: str, title: nodes.title, made: dict[str, Any], stem: str) -> str:
    """How to cite a figure, in words and as BibTeX, folded."""
    year, day = made["date"][:4], made["date"][:10]
    shown = figures().get(stem.partition("-")[2])
    after = f"; after {shown.label} of: {PAPERS[shown.paper]}" if shown else ""
    what = f"Figure {number} of “{title.astext()}”"
    where = "The Mechanics of Feature Learning, an executable book"
    how = f"deepmech {deepmech.__version__}, profile {made['parameters']['profile']}, executed {day}{after}"
    entry = (
        f"@misc{{deepmech-{name},\n  author = {{{{The deepmech authors}}}},\n  title  = {{{{{what}}}}},\n"
        f"  howpublished = {{{where}}},\n  note   = {{{how}}},\n  year   = {{{year}}}\n}}"
    )
    words = html.escape(f"The deepmech authors ({year}). {what}. In: {where} ({how}).")
    unseen = f'<span class="visually-hidden"> Figure {number}</span>'
    box = f'<div class="highlight"><pre tabindex="0">{html.escape(entry)}</pre></div>'
    return f"<details><summary>cite{unseen}</summary><p>{words}</p>{box}</details>"


HEAD = """\
All figures of this book, page by page, with what they show.
A click leads to the figure on its page. Below it there are links to take it away as SVG, PDF or PNG, with the numbers
drawn, and the words to cite it with.
"""


def page(sheets: list[PageBuild], toc: dict[str, Any]) -> str:
    """The gallery in MyST markdown: every figure small, with its number, what it shows, and the paper's figure;
    chapters are those of the table of contents."""
    parts = ["---", "html_theme.sidebar_secondary.remove: true", "---", "", "# Gallery", "", HEAD]
    drawn = {sheet.name: list(_drawn(sheet)) for sheet in sheets}
    chapters = [one for part in toc.get("parts", []) for one in part["chapters"]]
    chapter_of = {page["file"]: one["file"] for one in chapters for page in one.get("sections", [])}
    above = ""
    for name, each in drawn.items():
        file = f"generated/{name}"
        chapter = chapter_of.get(file, file)
        if each and chapter not in (above, file):
            parts += [f"## {{doc}}`/{chapter}`", ""]
            above = chapter
        if each:
            level, thumbs = "##" if chapter == file else "###", [thumb for *_, thumb in each]
            parts += [f"{level} {{doc}}`/{file}`", "", ":::::{div} dm-gallery", "", *thumbs, ":::::", ""]
    return "\n".join(parts)


def _drawn(sheet: PageBuild) -> Iterator[tuple[str, str, str]]:
    """The figures of an executed notebook, in their order: label, images for pages in ``generated/``, and thumb."""
    for cell in (sheet.notebook or {"cells": []})["cells"]:
        options = cell["metadata"].get("mystnb", {}).get("figure")
        for output in cell.get("outputs", []) if options else []:
            text = "".join(output.get("data", {}).get("text/html", ""))
            if stem := _STEM.search(text):
                caption, label = " ".join(options["caption"].split()), nodes.make_id(options["name"])
                says = _END.split(f"{caption} ")[0]
                images = "".join(image[0] for image in _IMAGE.finditer(text))
                images = _with_files(images, label, "../", r' (?:alt|width|height)="[^"]*"')
                paper = figures().get(stem[1].partition("-")[2])
                after = f" *{PAPERS[paper.paper].partition(' (')[0]}, {paper.label}*" if paper else ""
                said = f"{{numref}}`{options['name']}`: {says}.{after}"
                thumb = f"::::{{div}} dm-thumb\n```{{raw}} html\n{images}\n```\n\n{said}\n::::\n"
                yield label, images, thumb
