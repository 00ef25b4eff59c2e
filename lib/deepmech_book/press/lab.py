"""Copies of the notebooks for Jupyter, in words that any Jupyter shows: ``deepmech lab``.

The notebooks are written for Sphinx, which knows roles, labels, terms and citations. A copy has links and words in
their place, and captions below figures. Copies can be edited, run and broken; the originals stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4
from pybtex.database import parse_file

from deepmech.core.files import write_whole
from deepmech_book.press.press import Say
from deepmech_book.press.sources import BookError, Checkout

_ROLE = re.compile(r"\{([a-z:]+)\}`(?:([^`<]*?)\s*<([^`>]+)>|([^`]+))`")
_FENCE = re.compile(r"^(:::+|```+)\{(\w+)\}[ ]*(.*)\n((?:.*\n)*?)\1[ ]*$", re.M)


class Words:
    """What the pages of a checkout call things: titles, figures and equations by label, references."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.titles = {name: checkout.source(name).title for name in checkout.names}
        self.labels: dict[str, tuple[str, str]] = {}  # of a label: its page, and what stands there
        for name in checkout.names:
            figures = equations = 0
            for cell in checkout.source(name).notebook.cells:
                if figure := cell.metadata.get("mystnb", {}).get("figure"):
                    figures += 1
                    self.labels[figure["name"]] = name, f"Figure {figures}"
                if cell.cell_type == "markdown":
                    for label in re.findall(r"^:label: (\S+)$", cell.source, re.M):
                        equations += 1
                        self.labels[label] = name, f"Eq. ({equations})"
                    for label, heading in re.findall(r"^\((\S+)\)=\n+#+ (.+)$", cell.source, re.M):
                        self.labels[label] = name, heading
        self.references = dict(_references(checkout.book / "references.bib"))

    def link(self, words: str, target: str, here: str) -> str:
        """A link from the copy of ``here`` to that of another page; words alone for a page that is no notebook."""
        path = os.path.relpath(f"{target}.ipynb", Path(here).parent).replace(os.sep, "/")
        return f"[{words}]({path})" if target in self.titles else f"*{words}*"

    def at(self, label: str, here: str, words: str = "") -> str:
        """What stands at a label, with a link to its page if that is another."""
        page, what = self.labels.get(label, ("", label))
        if page == here or not page:
            return words or what
        return self.link(words or f"{what} of “{self.titles[page]}”", page, here)

    def plain(self, text: str, here: str) -> str:
        """Markdown that any Jupyter shows."""

        def role(m: re.Match[str]) -> str:
            kind, words, target = m[1], (m[2] or "").strip(), m[3] or m[4]
            if kind.startswith("cite"):
                return ", ".join(self.references[key.strip()] for key in target.split(","))
            if kind == "term":
                return f"*{words or target}*"
            if kind == "doc":
                page = target.removeprefix("/generated/").strip("/")
                return self.link(words or self.titles.get(page, page), page, here)
            return self.at(target, here, words)

        def directive(m: re.Match[str]) -> str:
            kind, told = m[2], m[3].strip()
            body = re.sub(r"^:\w+:.*\n", "", m[4], flags=re.M).strip()
            if kind == "math":
                labels = re.findall(r"^:label: (\S+)$", m[4], re.M)
                number = [re.sub(r"Eq. \((\d+)\)", r"\\tag{\1}", self.labels[label][1]) for label in labels]
                return "\n".join(["$$", body, *number, "$$"])
            if kind == "dropdown":
                return f"<details><summary>{told}</summary>\n\n{_FENCE.sub(directive, body)}\n\n</details>"
            return f"*{told}*" if kind == "answer" else f"**{told}**\n\n{body}" if kind == "rubric" else m[0]

        text = _FENCE.sub(directive, f"{text}\n").rstrip()
        text = re.sub(r"^\(\S+\)=\n*", "", text, flags=re.M)
        text = re.sub(r"\[([^][]+)\]\(([\w./-]+)\)", lambda m: self._leads(m[1], m[2], here), text)
        return _ROLE.sub(role, text)

    def _leads(self, words: str, target: str, here: str) -> str:
        """A link that the notebook writes as ``[words](target)``: to a page beside it, or to a label."""
        page = os.path.normpath(f"{Path(here).parent}/{target}").replace(os.sep, "/")
        return self.link(words, page if page in self.titles else self.labels.get(target, ("", ""))[0], here)


def _references(bibliography: Path) -> Iterator[tuple[str, str]]:
    """Authors and year of each reference as people cite it, with a link where there is an address."""
    for key, entry in parse_file(str(bibliography)).entries.items():
        names, told = [" ".join(one.last_names) for one in entry.persons["author"]], entry.fields
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        known = {"doi": "https://doi.org/", "url": "", "eprint": "https://arxiv.org/abs/"}
        address = next((start + told[name] for name, start in known.items() if name in told), "")
        cited = re.sub(r"\\.|[{}]", "", f"{who} ({told['year']})")
        yield key, f"[{cited}]({address})" if address else cited


def copy(words: Words, name: str) -> Any:
    """The notebook ``name`` in plain words."""
    made = v4.new_notebook(metadata=dict(words.checkout.source(name).notebook.metadata))
    made.metadata.pop("jupytext", None)
    for cell in words.checkout.source(name).notebook.cells:
        if cell.cell_type == "markdown":
            made.cells.append(v4.new_markdown_cell(words.plain(cell.source, name)))
        else:
            figure = cell.metadata.get("mystnb", {}).get("figure")
            made.cells.append(v4.new_code_cell(cell.source, metadata={"tags": cell.metadata.get("tags", [])}))
            if figure:
                label = words.labels[figure["name"]][1]
                made.cells.append(v4.new_markdown_cell(f"*{label}.* {words.plain(figure['caption'], name)}"))
    for i, cell in enumerate(made.cells):
        cell["id"] = f"cell-{i}"  # the same at every copy
    return made


def write(checkout: Checkout, folder: Path, say: Say = lambda line: None) -> list[Path]:
    """Copy all notebooks into ``folder``; those that are there stay as they are. Returns the paths of the new ones. A
    BookError if the folder is that of the originals."""
    originals = (checkout.root / "notebooks").resolve()
    if originals in (folder.resolve(), *folder.resolve().parents):
        raise BookError(f"lab: {folder} holds the originals; name another folder (-o)")
    words, new = Words(checkout), []
    for name in checkout.names:
        path = folder / f"{name}.ipynb"
        if not path.exists():
            write_whole(path, nbformat.writes(copy(words, name)) + "\n")
            new.append(path)
    if kept := len(checkout.names) - len(new):
        say(f"{kept} copies in {folder} stay as they are; remove one to get it anew")
    return new
