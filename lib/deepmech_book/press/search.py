"""Search from disk. A page opened as a file may not read its neighbours, so what they say lies in a script, which the
search page loads when it was opened that way (``book/assets/search.js``)."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes

TEXTS = "_static/texts.js"


def take_scores(app: Any) -> None:
    """Sphinx puts our script between its own and the index; it finds the file wherever the build was started."""
    app.config.html_search_scorer = str(Path(app.srcdir) / "assets" / "search.js")
    app.searched = {}


def keep_text(app: Any, doctree: nodes.document, page: str) -> None:
    app.searched[f"{page}.html"] = f'<div role="main">{_text(doctree)}</div>'


def _text(node: nodes.Element) -> str:
    """The words of a page in its sections, without what is raw in it."""
    parts = []
    for child in node.children:
        if isinstance(child, nodes.section):
            parts.append(f'<section id="{child["ids"][0]}">{_text(child)}</section>')
        elif isinstance(child, nodes.Element):
            said = (text.astext() for text in child.findall(nodes.Text) if not isinstance(text.parent, nodes.raw))
            parts.append(html.escape(" ".join(" ".join(said).split())))
    return " ".join(parts)


def write_texts(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        pages = json.dumps(app.searched, ensure_ascii=False)
        (Path(app.outdir) / TEXTS).write_text(f"window.deepmechTexts = {pages};\n", encoding="utf-8")
