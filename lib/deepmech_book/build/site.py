"""The executed notebooks and the prose become a site, strictly: every Sphinx warning is an error.

Sphinx prints in a folder that it keeps, and there only what has changed, as long as pages were edited and nothing else,
and the last build went well; else it begins from nothing. A copy takes the place of the last site, once it is whole.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import yaml

from deepmech.core.specs import digest
from deepmech.sweeps.store import write_whole
from deepmech_book import RECORD
from deepmech_book.build import api, gallery, keys, pages, verdicts
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import REFERENCE, BookError, Checkout, PageRun, mapping
from deepmech_book.claims import registry, tables
from deepmech_book.claims.display import RAISED, fold, with_rows

#: The file that says, beside what Sphinx keeps of pages, what of it is not pages.
_LIKE = "deepmech-like"
#: What Jupyter Book may take for the pages; all of the book take it two, where nothing else runs.
MINUTES = 30.0
_CELL = re.compile(r"(<t[dh][^>]*>)([^<]*)(</t)")
_POWER = re.compile(r"(?<![\w.])(-?)(\d+(?:\.\d+)?)e([-+]?\d+)\b")
_NAME = re.compile(r"(?<=>)[a-z]+(?:_[a-z0-9]+)+(?=</th)")
_ROW = re.compile(r"(?s)<tr.*?</tr>")
_TITLE, _VALUE = re.compile(r"(?s)<th>(.*?)</th>"), re.compile(r"(?s)<td>(.*?)</td>")
#: What themes and MathJax bring along and nobody who reads asks for, by names below ``_static``: maps for debuggers,
#: fonts for old browsers, words of themes in other languages; of MathJax what it needs for other mathematics than TeX.
_UNASKED = re.compile(
    r".*\.(map|ttf)|locales/.*|mathjax/(?!tex-chtml\.js|a11y/|output/chtml/fonts/woff|sre/mathmaps/(base|en|nemeth)\.|input/tex/).*"
    r"|mathjax/input/tex/.*all-packages\.js"
)
#: An icon of Font Awesome: its name, its other names, its outline.
_ICON = re.compile(r'"?([\w-]+)"?:\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]*",(?:"[^"]*"|\["[^"]*","[^"]*"\])\],?')
_FIGURE = re.compile(rf"{gallery.FOLDER}/([\w.-]+)")
# References into pages that a partial build leaves out.
_PARTIAL = ["ref.ref", "ref.numref", "ref.doc", "ref.eq", "ref.myst", "myst.xref_missing", "myst.xref_ambiguous"]


@contextlib.contextmanager
def build_lock(checkout: Checkout) -> Iterator[None]:
    """No two builds at work in one checkout. The lock goes with the process, however it ends."""
    checkout.generated.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(filelock.FileLock(checkout.generated / ".lock", blocking=False))
        except filelock.Timeout:
            raise BookError("another build is at work in this checkout; wait for it or stop it") from None
        yield


def collect_records(page_runs: list[PageRun]) -> list[dict[str, Any]]:
    """All records of all executed notebooks, in the order of the book."""
    return [r for s in page_runs if s.notebook is not None for r in keys.records(s.name, s.notebook)]


def build(
    checkout: Checkout, page_runs: list[PageRun], profile: str, *, whole: bool = True, say: Say = lambda line: None
) -> Path:
    """Build the site from the page_runs that have a result; returns the folder with ``index.html``.

    Nothing is done when the site there was built from the same pages, configuration and assets, and every file of it
    is as it was built. The build of a ``whole`` book must produce every figure and claim that the registry names;
    otherwise only those of its own pages. A BookError if something is missing, before anything of the site is touched,
    and if Jupyter Book fails or warns.
    """
    records = collect_records(page_runs)
    ready = [s for s in page_runs if s.notebook is not None]
    names, partial = [s.name for s in ready], len(ready) < len(page_runs)
    if missing := tables.missing(records, None if whole else names):
        raise BookError("the registry promises what no notebook produced:\n" + "\n".join(f"- {m}" for m in missing))
    made, of, like = _made_of(checkout, ready, records, profile, partial)
    if keys.read_manifest(checkout.html) == {"": of, **keys.file_digests(checkout.html)}:  # none edited, lost or added
        say("the site is up to date")
        return checkout.html
    if os.path.lexists(checkout.html) and (other := _not_ours(checkout.html)):
        raise BookError(f"{other}: move it away, or remove the site with make clean")
    if partial:
        say(f"a partial build: {len(page_runs) - len(ready)} of {len(page_runs)} notebooks are left out")
    work, new = checkout.generated / ".sphinx", checkout.generated / ".new"
    kept = work / _LIKE
    if not (kept.is_file() and kept.read_text(encoding="utf-8") == like):
        from deepmech_book.explorers.shake import shake_page  # slow to import, and most builds do without

        keys.remove(work)
        made["shake.html"] = shake_page().html
        made |= {f"{REFERENCE}{name}.md": text for name, text in api.pages(checkout.book).items()}
    made["status.md"] = pages.status(page_runs, profile)
    for name, text in made.items():
        path = checkout.generated / name
        if not (path.is_file() and path.read_bytes() == text.encode()):  # what stays has its time, by which Sphinx goes
            write_whole(path, text)
    kept.unlink(missing_ok=True)  # what fails, or is killed, is not gone on from: Sphinx warns of a page only once
    # Sphinx brings what is static anew, and would read a file's checksum before it is there, or after.
    keys.remove(work / "_build" / "html" / "_static")
    _jupyter_book(checkout, checkout.generated / ".site", work)
    keys.remove(new)
    shutil.copytree(work / "_build" / "html", new)
    write_whole(kept, like)
    _lighten(new)
    keys.write_manifest(new, of)
    try:
        keys.remove(checkout.html)
        checkout.html.parent.mkdir(exist_ok=True)
        new.rename(checkout.html)
    except OSError as error:
        raise BookError(f"book/_build/html cannot be replaced ({error}): move it away") from None
    return checkout.html


def _lighten(html: Path) -> None:
    """Remove what no page asks for: parts of MathJax and of themes, icons, and figures that pages had before; and from
    notebooks that are taken away what was drawn for phones."""
    static, icons = html / "_static", html / "_static" / "scripts" / "fontawesome.js"
    for path in static.rglob("*"):
        if path.is_file() and _UNASKED.fullmatch(path.relative_to(static).as_posix()):
            path.unlink()
    asking = {path: path.read_text(encoding="utf-8") for kind in ("html", "js") for path in html.rglob(f"*.{kind}")}
    drawn = asking.pop(icons, "")  # all 2,000 of them, in a script that every page waits for
    figures = {name for text in asking.values() for name in _FIGURE.findall(text)}
    named = {name for text in asking.values() for name in re.findall(r"\bfa-([\w-]+)", text)}
    for path in (html / gallery.FOLDER).glob("*"):
        if path.name not in figures:
            path.unlink()
    for path in (html / "_sources").rglob("*.ipynb"):
        if " dm-both" not in (written := path.read_text(encoding="utf-8")):
            continue  # lightened before: Sphinx copies those alone that have changed
        notebook = json.loads(written)
        for output in (one for cell in notebook["cells"] for one in cell.get("outputs", [])):
            if " dm-both" in (text := "".join(output.get("data", {}).get("text/html", ""))):
                output["data"]["text/html"] = gallery.TALL.sub("", text).replace(" dm-both", "")
        write_whole(path, json.dumps(notebook, ensure_ascii=False))
    write_whole(icons, _ICON.sub(lambda icon: icon[0] if named & {icon[1], *icon[2].split('"')} else "", drawn))


def _printable(page_run: PageRun) -> str:
    """The executed notebook as the site shows it.

    Its records are left out: Jupyter Book warns of a kind of output that it does not know. Code is folded, unless the
    cell's tags say ``show-input``: a page is read for what cells show. Where a cell checks main claims, the others
    stand below them as the rows of a folded table.
    """
    notebook = copy.deepcopy(page_run.notebook)
    assert notebook is not None
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = _with_cards(cell["outputs"])
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            data.pop(RECORD, None)
            if 'class="dataframe"' in (table := "".join(data.get("text/html", ""))):
                data["text/html"] = in_words(table)
        tags = cell["metadata"].setdefault("tags", [])
        if "outputs" in cell and not {"show-input", "hide-cell", "parameters"} & {*tags}:
            tags.append("hide-input")
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def in_words(table: str) -> str:
    """A table of pandas as the book writes numbers: no nan, no 4.4e+02, and headings in words."""

    def plain(found: re.Match[str]) -> str:
        sign, factor, power = found[1], found[2], int(found[3])
        if -4 < power < 6:
            return f"{float(found[0]):g}".replace("-", "−")
        times = "" if factor == "1" else f"{factor}·"
        return f"{sign.replace('-', '−')}{times}10{str(power).translate(RAISED)}"

    def cell(found: re.Match[str]) -> str:
        words = {"nan": "–", "NaN": "–", "None": "–", "inf": "∞", "-inf": "−∞"}.get(found[2], found[2])
        return found[1] + re.sub(r"^-(?=\d)", "−", _POWER.sub(plain, words)) + found[3]

    head, ended, body = table.partition("</thead>")
    return _set_table(_CELL.sub(cell, _NAME.sub(lambda name: name[0].replace("_", " "), head) + ended + body))


def _set_table(table: str) -> str:
    """With the names of the index in the row of the columns' names, and columns of words marked, to be set left."""
    heads, rows = (_ROW.findall(part) for part in table.split("</thead>", 1))
    if not heads or not rows:
        return table
    index, names = rows[0].count("<th"), _TITLE.findall(heads[-1])
    if len(heads) > 1 and any(names[:index]) and not any(names[index:]):
        both = zip(names, _TITLE.findall(heads[-2]), strict=True)
        words = iter([f"{down} ↓ {right} →" if down and right else down or right for down, right in both])
        merged = _TITLE.sub(lambda _: f"<th>{next(words)}</th>", heads[-2])
        table = table.replace(heads[-1], "").replace(heads[-2], merged)
    columns = zip(*(_VALUE.findall(row) for row in rows), strict=True)
    left = [True] * index + [2 * sum(cell.strip()[:1].isalpha() for cell in one) > len(one) for one in columns]

    def marked(found: re.Match[str]) -> str:
        n = len(re.findall("<t[dh]", found[0]))
        each = iter(left[len(left) - n :])  # cells of the index that span rows stand in the first of these only
        # What is empty heads nothing; the extension of Sphinx makes plain cells of such headings.
        words = ' class="dm-words"'
        return re.sub("<t[dh](?=(></th>)?)", lambda cell: cell[0] + words * (next(each) and not cell[1]), found[0])

    return _ROW.sub(marked, table)


def _with_cards(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a claim stand inside it; where there are cards of main claims, other claims become the rows of a folded
    table below them."""
    outputs, claims = _with_rows(outputs)
    rows = [i for i, claim in enumerate(claims) if claim and not registry.claim(claim["id"]).main]
    if len(rows) < 2 or len(rows) == sum(map(bool, claims)):
        return outputs
    inside = "".join(line for i in rows for line in outputs[i]["data"]["text/html"])
    table = fold(f"{len(rows)} more, in a table", [claims[i] for i in rows], inside)
    folded = {"output_type": "display_data", "metadata": {}, "data": {"text/html": table}}
    return [*(output for i, output in enumerate(outputs) if i not in rows), folded]


def _with_rows(outputs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The outputs of a cell with rows of its claims inside these, and the claim of each, or None."""
    records = [output.get("data", {}).get(RECORD) for output in outputs]
    claims: list[Any] = [record.get("claim") if isinstance(record, dict) else None for record in records]
    at = {claim["id"]: i for i, claim in enumerate(claims) if claim}
    heads = {i: at.get(registry.claim(name).family) for name, i in at.items()}
    kept = [i for i in range(len(outputs)) if heads.get(i) is None]
    shown = []
    for i in kept:
        if rows := [k for k, head in heads.items() if head == i]:
            line, *inside = ("".join(outputs[k]["data"]["text/html"]) for k in (i, *rows))
            whole = with_rows(line, inside, [claims[k] for k in rows])
            shown.append({**outputs[i], "data": {**outputs[i]["data"], "text/html": whole}})
        else:
            shown.append(outputs[i])
    return shown, [claims[i] for i in kept]


def _made_of(
    checkout: Checkout, ready: list[PageRun], records: list[dict[str, Any]], profile: str, partial: bool
) -> tuple[dict[str, str], str, str]:
    """What the build writes for a site, by file name; a digest of that and of all else that a site is made of; and one
    of all of it but pages. The status page is not there, which tells how the last build went, nor are the library's
    reference and what opens the book, which follow from the library and its results."""
    made = pages.claims_pages(records, profile, {s.name: s.source.title for s in ready})
    made |= pages.pieces(ready, records) | {"gallery.md": gallery.page(ready, checkout.toc)}
    made |= {f"{s.name}.ipynb": _printable(s) for s in ready}
    names = {s.name for s in ready}
    made |= {".site/_config.yml": _config(checkout, partial), ".site/_toc.yml": _toc(checkout, names)}
    other = ("_build/", "generated/", "results/", verdicts.FILE)
    prose = keys.tree_digest(checkout.book, lambda name: not name.startswith(other) and name.endswith(".md"))
    rest = keys.tree_digest(checkout.book, lambda name: not name.startswith(other) and not name.endswith(".md"))
    package = keys.tree_digest(Path(__file__).parent)
    results = keys.tree_digest(checkout.book / "results")  # what opens the book draws one
    shared = [keys.surroundings(checkout), package, results, rest]
    like = digest([*shared, *(made[f".site/{name}.yml"] for name in ("_config", "_toc"))])
    return made, digest([prose, made, like]), like


def _not_ours(html: Path) -> str:
    """What stands in the place of the next site and was not made for the last one, in words; empty if nothing does."""
    listed = {} if html.is_symlink() else keys.read_manifest(html)
    strange = [f"/{name}" for name in keys.file_digests(html) if name not in listed] if listed else [""]
    return f"book/_build/html{strange[0]} was not made by deepmech book" if strange else ""


def _config(checkout: Checkout, partial: bool) -> str:
    sphinx = config = mapping(checkout.root / "_config.yml")
    for name in ("sphinx", "config"):
        sphinx[name] = sphinx = sphinx.get(name) or {}
        if not isinstance(sphinx, dict):
            raise BookError(f"_config.yml: {name}: must set names to values")
    if partial:
        sphinx["suppress_warnings"] = [*(sphinx.get("suppress_warnings") or []), *_PARTIAL]
        sphinx["nitpick_ignore_regex"] = [["myst", ".*"], ["std:.*", ".*"], ["py:.*", ".*"]]
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _toc(checkout: Checkout, ready: set[str]) -> str:
    """The table of contents without notebooks that have no result; parts and chapters left empty go as well."""

    def prune(entry: dict[str, Any]) -> dict[str, Any]:
        name = entry.get("file", "").removeprefix("generated/")
        nested = ("parts", "chapters", "sections")
        entry = {key: [*filter(None, map(prune, of))] if key in nested else of for key, of in entry.items()}
        if entry.get("chapters") == [] or (name in checkout.names and name not in ready):
            return {}
        return {key: of for key, of in entry.items() if of != []}

    return yaml.safe_dump(prune(checkout.toc), sort_keys=False, allow_unicode=True)


#: Jupyter Book, which ends when its standard input does: as soon as the build has gone, however it went. It does
#: without a grammar of addresses, as :func:`.sources.read`, and looks for no garbage: pages are made of very many
#: objects that stay, and to go through them all again and again took two fifths of its time.
_PRINT = """\
import gc, os, sys, threading
sys.modules["rfc3987_syntax"] = None
gc.disable()
threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start()
from jupyter_book.cli.main import main
main()
"""


def _jupyter_book(checkout: Checkout, made: Path, new: Path) -> None:
    """Print the pages by the configuration in ``made``, into ``new``."""
    command = [sys.executable, "-c", _PRINT, "build", "book", "-n", "-W", "--keep-going"]
    command += ["--path-output", str(new), "--config", str(made / "_config.yml"), "--toc", str(made / "_toc.yml")]
    utf8 = {**os.environ, "PYTHONUTF8": "1"}  # whatever the language of this terminal can write
    heard, held = os.pipe()
    how: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
    try:
        with open(heard, "rb"), open(held, "wb"):
            done = subprocess.run(command, cwd=checkout.root, env=utf8, stdin=heard, timeout=60 * MINUTES, **how)
    except subprocess.TimeoutExpired:
        raise BookError(f"Jupyter Book was stopped: it took more than {MINUTES:g} minutes for the pages") from None
    log = f"{done.stdout}\n{done.stderr}"
    write_whole(checkout.generated / "sphinx.log", log)
    if done.returncode or not (new / "_build" / "html" / "index.html").is_file():
        warnings = [line for line in log.splitlines() if "WARNING" in line or "ERROR" in line or "Error" in line]
        raise BookError("Jupyter Book does not accept the pages:\n" + "\n".join(warnings or log.splitlines()[-40:]))
