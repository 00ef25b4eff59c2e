"""The executed notebooks and the prose become a site, strictly: every Sphinx warning is an error.

A site is always built from nothing and sealed at the end: no page of an earlier build stays, no warning of an earlier
build is forgotten, and a build that was interrupted is not taken for a site.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import deepmech
from deepmech.core.files import write_whole
from deepmech.core.spec import digest
from deepmech_book.press import api, execution, gallery, keys, pages, verdicts
from deepmech_book.press.press import Say, Sheet
from deepmech_book.press.sources import REFERENCE, BookError, House, files_of

SEAL = ".deepmech-site"
# References into pages that a partial build leaves out.
_PARTIAL = ["ref.ref", "ref.numref", "ref.doc", "ref.eq", "ref.myst", "myst.xref_missing", "myst.xref_ambiguous"]


@contextlib.contextmanager
def only_press(house: House) -> Iterator[None]:
    """No two presses at work in one checkout. The lock goes with the process, however it ends."""
    house.generated.mkdir(parents=True, exist_ok=True)
    with open(house.generated / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BookError("another press is at work in this checkout; wait for it or stop it") from None
        yield


def harvest(sheets: list[Sheet]) -> list[dict[str, Any]]:
    """All records of all executed notebooks, in the order of the book."""
    return [r for s in sheets if s.notebook is not None for r in execution.records(s.name, s.notebook)]


def demand_complete(records: list[dict[str, Any]], pages: list[str] | None) -> None:
    """Figures and claims that the registry promises of ``pages`` (all pages, if None) must have been produced.

    Raises
    ------
    BookError
        Naming what is missing.
    """
    from deepmech_book import ledger

    if missing := ledger.missing(records, pages=pages):
        raise BookError("the registry promises what no notebook produced:\n" + "\n".join(f"- {m}" for m in missing))


def demand_verdicts(
    house: House,
    sheets: list[Sheet],
    profile: str,
    *,
    whole: bool = True,
    accept: bool = False,
    say: Say = lambda line: None,
) -> None:
    """What the notebooks found must be what the repository's table of verdicts says; ``accept`` writes it there.

    Raises
    ------
    BookError
        From :func:`deepmech_book.press.verdicts.demand`.
    """
    here = None if whole else {s.name for s in sheets if s.notebook is not None}
    verdicts.demand(house.book / verdicts.FILE, harvest(sheets), profile, here, accept=accept, say=say)


def build(
    house: House,
    sheets: list[Sheet],
    profile: str,
    *,
    whole: bool = True,
    accept: bool = False,
    say: Say = lambda line: None,
) -> Path:
    """Build the site from the sheets that have a result; returns the folder with ``index.html``.

    Nothing is done when the site there was built from the same pages, configuration and assets. The build of a
    ``whole`` book must produce every figure and claim that the registry names; otherwise only those of its own pages.
    Verdicts and numbers must be those of the table, before anything of the site is touched.

    Raises
    ------
    BookError
        When Jupyter Book fails or warns, with its messages; from :func:`demand_complete` and :func:`demand_verdicts`.
    """
    records = harvest(sheets)
    ready = [s for s in sheets if s.notebook is not None]
    names = [s.name for s in ready]
    demand_complete(records, None if whole else names)
    demand_verdicts(house, sheets, profile, whole=whole, accept=accept, say=say)
    wanted = {house.page(s.name): _printable(s) for s in ready}
    wanted |= {house.generated / name: text for name, text in pages.scoreboard(records, profile, names).items()}
    wanted[house.generated / "sentences.md"] = pages.sentences(records, names)
    wanted[house.generated / "papers.md"] = pages.papers(names)
    wanted[house.generated / "gallery.md"] = gallery.page(ready)
    reference = any(f.startswith(f"generated/{REFERENCE}") for f in files_of(house.toc))
    wanted[house.generated / "formulas.md"] = pages.formulas(names, reference)
    if reference:
        wanted |= {house.generated / REFERENCE / f"{name}.md": text for name, text in api.pages(house.book).items()}
    wanted |= {house.generated / name: text for name, text in pages.pieces(ready, records).items()}
    partial = len(ready) < len(sheets)
    config, toc = _config(house, partial), _toc(house, set(names))
    seal = _seal(house, config, toc, wanted)
    mark = house.html / SEAL
    if mark.is_file() and mark.read_text() == seal:
        say("the site is up to date")
        return house.html
    if partial:
        say(f"a partial build: {len(sheets) - len(ready)} of {len(sheets)} notebooks are left out")
    wanted[house.generated / "status.md"] = pages.status(sheets, profile)
    wanted[house.generated / ".site" / "_config.yml"] = config
    wanted[house.generated / ".site" / "_toc.yml"] = toc
    for path, text in wanted.items():
        write_whole(path, text)
    shutil.rmtree(house.html.parent, ignore_errors=True)
    _jupyter_book(house, house.generated / ".site")
    write_whole(mark, seal)
    return house.html


def _printable(sheet: Sheet) -> str:
    """The executed notebook as the site shows it.

    Its records are left out: Jupyter Book warns of a kind of output that it does not know. Cells that draw a figure or
    check a claim are folded, unless their tags say ``show-input``: a page is read for what they show.
    """
    notebook = copy.deepcopy(sheet.notebook)
    assert notebook is not None
    for cell in notebook["cells"]:
        checks = False
        for output in cell.get("outputs", []):
            checks |= output.get("data", {}).pop(execution.RECORD, None) is not None
        tags = cell["metadata"].setdefault("tags", [])
        if (checks or "figure" in cell["metadata"].get("mystnb", {})) and "show-input" not in tags:
            tags.append("hide-input")
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def _seal(house: House, config: str, toc: str, wanted: dict[Path, str]) -> str:
    """Digest of everything a site is made of, except the status page, which tells how the last build went."""
    other = ("_build/", "generated/", "results/", verdicts.FILE)
    prose = keys.tree_digest(house.book, lambda name: not name.startswith(other))
    package = keys.tree_digest(Path(__file__).parent)
    # The reference shows the library's own docstrings.
    library = keys.tree_digest(Path(deepmech.__file__).parent) if any("/api/" in p.as_posix() for p in wanted) else ""
    texts = {path.relative_to(house.book).as_posix(): text for path, text in wanted.items()}
    return digest([config, toc, prose, package, library, texts])


def _config(house: House, partial: bool) -> str:
    config = yaml.safe_load((house.root / "_config.yml").read_text(encoding="utf-8"))
    sphinx = config.setdefault("sphinx", {}).setdefault("config", {})
    if partial:
        sphinx["suppress_warnings"] = [*sphinx.get("suppress_warnings", []), *_PARTIAL]
        sphinx["nitpick_ignore_regex"] = [["myst", ".*"], ["std:.*", ".*"], ["py:.*", ".*"]]
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _toc(house: House, ready: set[str]) -> str:
    """The table of contents without notebooks that have no result; parts and chapters left empty go as well."""

    def stays(entry: Any) -> bool:
        name = entry.get("file", "").removeprefix("generated/")
        return name not in house.names or name in ready

    def prune(node: Any) -> Any:
        if isinstance(node, list):
            return [prune(e) for e in node if stays(e) or e.get("sections")]
        if isinstance(node, dict):
            pruned = {k: prune(v) for k, v in node.items()}
            return {k: v for k, v in pruned.items() if v != []}
        return node

    toc = prune(house.toc)
    if "parts" in toc:
        toc["parts"] = [p for p in toc["parts"] if p.get("chapters")]
    return yaml.safe_dump(toc, sort_keys=False, allow_unicode=True)


def _jupyter_book(house: House, made: Path) -> None:
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "book"]
    command += ["--path-output", "book", "--config", str(made / "_config.yml"), "--toc", str(made / "_toc.yml")]
    command += ["-n", "-W", "--keep-going"]
    done = subprocess.run(command, cwd=house.root, capture_output=True, text=True)
    log = f"{done.stdout}\n{done.stderr}"
    write_whole(house.book / "_build" / "sphinx.log", log)
    if done.returncode or not (house.html / "index.html").is_file():
        warnings = [line for line in log.splitlines() if "WARNING" in line or "ERROR" in line or "Error" in line]
        raise BookError("Jupyter Book does not accept the pages:\n" + "\n".join(warnings or log.splitlines()[-40:]))
