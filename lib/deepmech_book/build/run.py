"""One notebook with parameters of one's own: ``deepmech run``.

Papermill executes it as it does for the book, with the same checks. What comes of it is a folder, named after the
notebook: the executed notebook, its figures (SVG, and the numbers drawn), its claims (``.claims.json``, and
``summary.csv`` with the parameters) and its parameters as a profile that makes all this again.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import filelock
import yaml

from deepmech.sweeps.store import write_whole
from deepmech_book.build import keys, notebooks
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import BookError, Checkout, PageRun, Source, assignments, checked, kind
from deepmech_book.claims.tables import csv_text

#: Bytes that a folder has to take before a notebook runs whose result goes there; those of the book take a tenth.
ROOM = 2**24


def notebook_of(path: str | Path) -> tuple[Checkout, Source]:
    """The notebook at ``path``, wherever that is, and its book; or the one of that name (``glass/relaxation``, or
    ``notebooks/glass/relaxation.md``) of the book around the current folder."""
    name = str(path).removesuffix(".md")
    if (file := Path(f"{name}.md").resolve()).exists():
        root = file.parents[:3][-1]
        if file.parent.parent != root / "notebooks" or not (root / "_toc.yml").is_file():
            raise BookError(f"{path} is no page of a book, which lie in its folder notebooks: name one of these")
        return (checkout := Checkout(root)), checkout.source(f"{file.parent.name}/{file.stem}")
    *above, chapter, page = ("", "", *Path(name).parts)
    if [one for one in above if one] not in ([], ["notebooks"]) or not chapter:
        raise BookError(f"{path} is not there: name a page as notebooks/glass/relaxation.md, or glass/relaxation")
    return (checkout := Checkout.find()), checkout.source(f"{chapter}/{page}")


def describe(source: Source) -> str:
    """The notebook's title and its parameters: name, kind, default and what the notebook says of it."""
    code, rows = source.cells[0].source, []
    for name, default, node in list(assignments(source.name, code))[1:]:  # the first is the profile
        said = code.split("\n")[(node.end_lineno or 1) - 1].encode()[node.end_col_offset :].decode().strip(" #")
        rows.append((f"  {name}", "anything" if default is None else kind(default), repr(default), said))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([f"{source.name}: {source.title}", *(lines or ["  it has no parameters"])])


def value(text: str) -> Any:
    """A parameter's value as written on a command line: a Python literal, or else a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parameters_of(
    checkout: Checkout, source: Source, profile: str = "quick", given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """All parameters of an execution: the profile's (a name, or a file of the same form: ``chapter/notebook:
    {parameter: value}``), then ``given``; each must be known."""
    chosen = checkout.parameters(profile, source.name, checkout.written(profile))
    return {"profile": Path(profile).stem, **chosen, **checked(f"notebook {source.name}", source, dict(given or {}))}


def run(
    checkout: Checkout,
    source: Source,
    parameters: dict[str, Any],
    folder: Path,
    *,
    cell_minutes: float | None = None,
    say: Say = lambda line: None,
) -> Path:
    """Execute a notebook, and put what comes of it into a folder of its own in ``folder``, in place of an earlier
    execution of it; returns the former.

    A BookError if it fails; before it runs, an OSError if the folder takes no files, or has some of others. Whatever
    was in its way meanwhile, what it made is kept.
    """
    stem = Path(source.name).name
    target = folder / stem
    demand_own(target)
    for place in (folder, Path(tempfile.gettempdir())):
        demand_room(place)
    made = Path(tempfile.mkdtemp(prefix="deepmech-"))
    try:
        page_run = PageRun(source, parameters, keys.parts(source, parameters, keys.surroundings(checkout)))
        todo = {source.name: (made / f"{stem}.ipynb", page_run)}
        with closing(notebooks.executions(checkout, todo, 1, cell_minutes, say)) as executed:
            (done,) = executed
    except BaseException:
        shutil.rmtree(made)
        raise
    try:
        assert done.notebook is not None
        write_summaries(source, parameters, keys.records(source.name, done.notebook), made)
        hand_over(made, target)
    except OSError as error:
        why = error.args[0][0][-1] if isinstance(error, shutil.Error) else error  # of the first file of several
        raise OSError(f"{why}; what the notebook made is kept in {made}") from None
    shutil.rmtree(made)
    return target


def write_summaries(source: Source, parameters: dict[str, Any], found: list[dict[str, Any]], folder: Path) -> None:
    """What a notebook was made with, as a profile, and what it found of claims, beside it in ``folder``."""
    stem, full = Path(source.name).name, json.loads(json.dumps({**source.parameters, **parameters}))
    claims = [{"parameters": full, **record["claim"]} for record in found if "claim" in record]
    write_whole(folder / f"{stem}.claims.json", json.dumps(claims, indent=1, ensure_ascii=False))
    plain = {name: value for name, value in full.items() if name != "profile"}
    write_whole(folder / "parameters.yml", yaml.safe_dump({source.name: plain}, sort_keys=False, allow_unicode=True))
    rows, listed = [], {name: json.dumps(value) if isinstance(value, list) else value for name, value in full.items()}
    for claim in claims or [{}]:  # a page without claims has a row of parameters
        low, high = claim.get("interval") or (None, None)
        numbers = {"measured": claim.get("measured"), "low": low, "high": high, "null": claim.get("null")}
        told = {"claim": claim.get("id"), "verdict": claim.get("verdict"), **numbers}
        rows.append({"page": source.name, **listed, **told})
    write_whole(folder / "summary.csv", csv_text(rows))


def demand_room(folder: Path) -> None:
    """An OSError if ``folder``, which is made where it is missing, does not take :data:`ROOM` bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(ROOM))
    except OSError as error:
        raise OSError(f"{folder} cannot take the result ({error}): name another folder, or make room") from None


def demand_own(folder: Path) -> None:
    """A FileExistsError if ``folder`` is there and anything in it is not as :func:`hand_over` wrote it, such as a file
    that somebody edited."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise FileExistsError(f"{folder} is in the way, no folder of deepmech's: move it away, or name another folder")
    listed = keys.read_manifest(folder)
    for name, digest in keys.file_digests(folder).items():
        if not digest or listed.get(name) != digest:
            raise FileExistsError(
                f"{folder / name} is in the way: deepmech did not write it, or it was changed since. Move it away, or "
                "name another folder"
            )


def hand_over(made: Path, target: Path) -> None:
    """Put a copy of the folder ``made`` at ``target`` by one rename, in place of what an earlier call put there, and of
    nothing else (:func:`demand_own`): whatever ends this early, a whole folder is there, or none."""
    new, old, lock = (target.with_name(f".deepmech-{target.name}.{word}") for word in ("new", "old", "lock"))
    with filelock.FileLock(lock):
        demand_own(target)
        keys.remove(new)  # of one that was killed here
        try:
            shutil.copytree(made, new)
            keys.write_manifest(new)
            if target.exists():
                keys.remove(old)
                target.rename(old)
            new.rename(target)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            if old.exists() and not os.path.lexists(target):
                old.rename(target)
            keys.remove(old)
