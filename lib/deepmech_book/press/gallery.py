"""Figures to take away: their files beside the pages, a line below each that offers them, and a page that shows all."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes

import deepmech
from deepmech_book.press import keys
from deepmech_book.press.press import Sheet
from deepmech_book.press.sources import House

#: The folder of the site in which the files of all figures lie; the book gives no name to two figures.
FOLDER = "figures"
#: What can be taken away, in the order of the line below a figure.
KINDS = {"svg": "SVG", "pdf": "PDF", "png": "PNG", "csv": "numbers as CSV", "nc": "as netCDF"}
_IMAGE = re.compile(r'<img class="only-(light|dark)"([^>]*?) src="data:image/(svg|png)[^,"]*,([^"]*)">')
_STEM = re.compile(r'class="deepmech-picture" data-files="([^"]*)"')


def image(theme: str, name: str, kind: str) -> str:
    """The file of the site in which a figure is drawn for light or for dark pages."""
    return f"{FOLDER}/{name}{'-dark' if theme == 'dark' else ''}.{kind}"


def put_beside(app: Any, doctree: nodes.document, page: str) -> None:
    """The pictures of a page become files of the site, and a line below each offers it and its numbers."""
    path = Path(app.env.doc2path(page))
    if path.suffix != ".ipynb" or app.builder.format != "html":
        return
    made = json.loads(path.read_text(encoding="utf-8"))["metadata"]["deepmech"]
    house, out = House(Path(app.srcdir).parent), Path(app.outdir)
    kept = keys.figures(house.executed(made["parameters"]["profile"], page.removeprefix("generated/")))
    (out / FOLDER).mkdir(exist_ok=True)
    for figure in list(doctree.findall(nodes.figure)):
        name = figure["ids"][0]
        for picture in [raw for raw in figure.findall(nodes.raw) if _STEM.search(raw.astext())]:
            text = picture.astext()
            stem = _STEM.findall(text)[0]
            for theme, _, kind, data in _IMAGE.findall(text):
                (out / image(theme, name, kind)).write_bytes(base64.b64decode(data))
            there = [kind for kind in KINDS if (kept / f"{stem}.{kind}").is_file()]
            for kind in there:
                shutil.copyfile(kept / f"{stem}.{kind}", out / FOLDER / f"{name}.{kind}")
            up = "../" * page.count("/")
            picture.parent.replace(picture, nodes.raw("", _with_files(text, name, up), format="html"))
            number = ".".join(map(str, app.env.toc_fignumbers[page]["figure"][name]))
            said = _line(name, f"Figure {number}", up, there) + _citation(
                name, number, app.env.titles[page], made, stem
            )
            line = nodes.raw("", f'<div class="dm-take">{said}</div>', format="html")
            figure.parent.insert(figure.parent.index(figure) + 1, line)


def _with_files(text: str, name: str, up: str) -> str:
    """The HTML of a picture, or of the thumbnail of one, that takes its images from files."""
    return _IMAGE.sub(
        lambda i: f'<img class="only-{i[1]}"{i[2]} loading="lazy" src="{up}{image(i[1], name, i[3])}">', text
    )


def _line(name: str, figure: str, up: str, kinds: list[str]) -> str:
    unseen = f'<span class="visually-hidden"> of {figure}</span>'
    links = [f'<a href="{up}{FOLDER}/{name}.{kind}" download>{KINDS[kind]}{unseen}</a>' for kind in kinds]
    return f"<span>{' · '.join(links)}</span>"


def _citation(name: str, number: str, title: nodes.title, made: dict[str, Any], stem: str) -> str:
    """How to cite a figure, in words and as BibTeX, folded."""
    from deepmech_book import ledger

    year, day = made["date"][:4], made["date"][:10]
    shown = ledger.figures().get(stem.partition("-")[2])
    after = f"; after {shown.label} of: {ledger.PAPERS[shown.paper]}" if shown else ""
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


@dataclass(frozen=True)
class Shown:
    """One numbered figure of an executed notebook: its label, what its caption says first, and its picture in HTML."""

    label: str
    says: str
    picture: str
    reproduces: str


def shown(notebook: dict[str, Any]) -> Iterator[Shown]:
    """The figures of an executed notebook, in their order."""
    for cell in notebook["cells"]:
        options = cell["metadata"].get("mystnb", {}).get("figure")
        for output in cell.get("outputs", []) if options else []:
            text = "".join(output.get("data", {}).get("text/html", ""))
            if found := _STEM.search(text):
                says = " ".join(options["caption"].split())
                yield Shown(options["name"], _first(says), text, found[1].partition("-")[2])


def _first(caption: str) -> str:
    """What stands before the first full stop, colon or semicolon that ends a part of a caption.

    Examples
    --------
    >>> _first("Loads as in Fig. 3(b), at $T = 1$: mean of ten. Dashed: theory.")
    'Loads as in Fig. 3(b), at $T = 1$'
    """
    return re.split(r"(?<!Fig)(?<!Figs)(?<!Eq)(?<!vs)(?<!al)[.:;](?=\s|$)", caption, maxsplit=1)[0]


HEAD = """\
All figures of this book, page by page. Below each, where it stands on its page, are links to take it away as SVG, PDF
or PNG, with the numbers drawn, and the words to cite it with.
"""


def page(sheets: list[Sheet]) -> str:
    """The gallery in MyST markdown: every figure small, with its number, what it shows, and the paper's figure."""
    from deepmech_book import ledger

    parts = ["---", "html_theme.sidebar_secondary.remove: true", "---", "", "# Gallery", "", HEAD]
    for sheet in sheets:
        figures = list(shown(sheet.notebook)) if sheet.notebook is not None else []
        if not figures:
            continue
        parts += [f"## {{doc}}`/generated/{sheet.name}`", "", ":::::{div} dm-gallery", ""]
        for figure in figures:
            images = "".join(
                f'<img class="only-{theme}"{_unsized(rest)} loading="lazy" '
                f'src="../{image(theme, nodes.make_id(figure.label), kind)}">'
                for theme, rest, kind, _ in _IMAGE.findall(figure.picture)
            )
            paper = ledger.figures().get(figure.reproduces)
            after = f" *{ledger.PAPERS[paper.paper].partition(' (')[0]}, {paper.label}*" if paper else ""
            parts += ["::::{div} dm-thumb", "```{raw} html", images, "```", ""]
            parts += [f"{{numref}}`{figure.label}`: {figure.says}.{after}", "::::", ""]
        parts += [":::::", ""]
    return "\n".join(parts)


def _unsized(attributes: str) -> str:
    """Of an image's attributes, those that say what it shows and its proportions."""
    return "".join(re.findall(r' (?:alt|width|height)="[^"]*"', attributes))
