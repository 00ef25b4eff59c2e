"""Search: what pages are asked for beside their own words, and the words themselves where a site is opened from disk.

A page opened as a file may not read its neighbours, so what they say lies in a script, which the search page loads when
it was opened that way (``book/assets/search.js``).
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from docutils import nodes

from deepmech_book.ledger import figures
from deepmech_book.ledger.registry import formulas

TEXTS = "_static/texts.js"
#: Questions that lead to a page, by page; figures and equations of the papers come from the ledger.
ASKED = {
    "howto": "install, how to cite, cite, citation, bibtex, how do i, pdf, verify, gpu, watch training",
    "papermill": "parameters, my own parameters, grid of parameters, cost",
    "cluster": "slurm, dask, many machines",
    "generated/beyond/your_network": "my network, own model, measure my own model, measure my network, my own network",
    "generated/beyond/train_one": "train my network, train a network, train one",
    "generated/beyond/tuning": "does it help, tune, hyperparameters",
    "generated/elastic_sde/collapse": "neural collapse, simplex",
    "generated/elastic_sde/imbalance": "imbalance, minority classes, minority collapse",
    "generated/glass/ageing": "aging, ageing, waiting time, age",
    "generated/glass/relaxation": "tau90, tau_90, τ90, decorrelation time, overlap",
    "generated/glass/cifar": "cifar-10, cifar",
    "generated/glass/explorer": "temperature explorer",
    "generated/spring_block/cifar": "cifar-10, cifar",
    "generated/spring_block/chain": "friction, spring, block",
    "generated/spring_block/dropout_diagram": "dropout, nonlinearity",
    "generated/spring_block/noise_diagrams": "learning rate, batch size, label noise",
    "generated/spring_block/phase_diagram": "phase diagram",
    "generated/scoreboard": "claims, verdicts, what fails",
    "glossary": "glossary, words, definition",
}


def keywords() -> dict[str, list[str]]:
    """What is asked, in small letters, by page.

    Examples
    --------
    >>> [words for words in keywords()["generated/spring_block/phase_diagram"] if words[0] == "f"]
    ['fig. 3', 'figure 3', 'fig. s13', 'figure s13', 'fig. s14', 'figure s14']
    """
    found = {page: words.split(", ") for page, words in ASKED.items()}
    for figure in figures().values():
        found.setdefault(f"generated/{figure.page}", []).extend(_both(figure.label, "fig. ", "figure "))
    for formula in formulas().values():
        found.setdefault(f"generated/{formula.page}", []).extend(_both(f"eq. {formula.number}", "eq. ", "equation "))
    return found


def _both(label: str, short: str, long: str) -> list[str]:
    return [label.lower(), label.lower().replace(short, long)]


def take_scores(app: Any) -> None:
    """Sphinx puts our script between its own and the index; it finds the file wherever the build was started."""
    app.searched = {}
    script = Path(app.srcdir, "assets", "search.js").read_text(encoding="utf-8")
    made = Path(app.doctreedir, "search.js")
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(f"const KEYWORDS = {json.dumps(keywords())};\n{script}", encoding="utf-8")
    app.config.html_search_scorer = str(made)


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
