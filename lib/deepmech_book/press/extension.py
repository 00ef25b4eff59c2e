"""Sphinx extension of the book: every executed page says how it was made and offers its notebook."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes

from deepmech_book.press import api
from deepmech_book.press.press import clock


def stamp(made: dict[str, Any], download: str) -> str:
    """The line below a page's title: profile, time, date, and the executed notebook to take away."""
    profile = html.escape(made["parameters"]["profile"])
    details = f"executed in {clock(made['seconds'])} on {html.escape(made['date'])}"
    hover = html.escape(f"{made['machine']}; {made['versions']}")
    results = "".join(f"<li>{html.escape(_said(one))}</li>" for one in made["results"])
    listed = f"<details><summary>{_counted(made['results'])}</summary><ul>{results}</ul></details>" if results else ""
    return (
        f'<p class="dm-stamp"><span class="dm-profile dm-{profile}">{profile} profile</span> '
        f'<span title="{hover}">{details}</span> '
        f'<a class="dm-download" href="{html.escape(download)}" download>executed notebook</a></p>'
        f"{f'<div class=dm-results>{listed}</div>' if listed else ''}"
    )


def _said(one: dict[str, Any]) -> str:
    """One result of a page in words."""
    return one["words"] if one["obtained"] == "shipped" else f"{one['name']}: {one['of']} cells computed by this code"


def _counted(results: list[dict[str, Any]]) -> str:
    """How many results a page draws, and what was recomputed of those that ship, in words."""
    shipped = [one for one in results if one["obtained"] == "shipped"]
    parts = [f"{len(results) - len(shipped)} computed for this page"] if len(shipped) < len(results) else []
    if shipped:
        cells, of = sum(len(one["cells"]) for one in shipped), sum(one["of"] for one in shipped)
        equal = ": equal" if cells else ""
        parts.append(f"{len(shipped)} shipped with the book (recomputed {cells} of {of} cells in this build{equal})")
    return f"Results drawn here: {', '.join(parts)}"


def add_stamp(app: Any, doctree: nodes.document) -> None:
    """Put the stamp below the title of a page that the press executed."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb" or app.builder.format != "html":
        return
    made = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("deepmech")
    title = next(iter(doctree.findall(nodes.title)), None)
    if made is None or title is None:
        raise ValueError(f"{app.env.docname}: was not executed by the press; run deepmech book")
    name = app.env.docname
    download = "../" * name.count("/") + f"_sources/{name}.ipynb"
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", stamp(made, download), format="html"))


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-read", add_stamp)
    app.connect("env-updated", api.add_addresses)
    app.connect("missing-reference", api.leave_inside)
    if "sphinx.ext.autodoc" in app.extensions:
        app.connect("autodoc-process-docstring", api.plain_bars)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
