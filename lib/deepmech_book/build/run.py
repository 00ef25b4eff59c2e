"""One notebook with parameters of one's own: ``deepmech run``.

Papermill executes it as it does for the book, with the same checks. What comes of it lies in a folder, named after the
notebook: the executed notebook, its figures (SVG, and the numbers drawn) and its claims (``.claims.json``).
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from deepmech.sweeps.store import write_whole
from deepmech_book.build import keys, notebooks
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import Checkout, Source, aligned, assignments, checked, kind, remark

#: The list of files that :func:`hand_over` wrote into a folder.
LIST = ".deepmech-wrote.json"

__all__ = ["describe", "notebook_of", "parameters_of", "run", "value"]


def notebook_of(checkout: Checkout, path: str | Path) -> Source:
    """The notebook of the book at ``path`` (``notebooks/glass/relaxation.md``, or ``glass/relaxation``)."""
    return checkout.source("/".join(Path(path).with_suffix("").parts[-2:]))


def describe(source: Source) -> str:
    """The notebook's title and its parameters: name, kind, default and what the notebook says of it."""
    code = source.cells[0].source
    rows = [
        (f"  {name}", "anything" if default is None else kind(default), repr(default), remark(code, node).strip(" #"))
        for name, default, node in list(assignments(source.name, code))[1:]  # the first is the profile
    ]
    return "\n".join([f"{source.name}: {source.title}", *(aligned(rows) or ["  it has no parameters"])])


def value(text: str) -> Any:
    """A parameter's value as written on a command line: a Python literal, or else a word.

    Examples
    --------
    >>> value("1e-3"), value("[0.0, 0.1]"), value("mnist"), value("None")
    (0.001, [0.0, 0.1], 'mnist', None)
    """
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
) -> None:
    """Execute a notebook, and put what comes of it into ``folder``, in place of an earlier execution of it.

    A BookError if it fails, and, before it runs, a FileExistsError for files in the way that are not of an earlier one.
    """
    stem = Path(source.name).name
    demand_own(folder, stem)
    with tempfile.TemporaryDirectory(prefix="deepmech-") as temporary:
        made = Path(temporary)
        page_run = notebooks.PageRun(source, parameters, keys.parts(source, parameters, keys.surroundings(checkout)))
        todo = {source.name: (made / f"{stem}.ipynb", page_run)}
        with closing(notebooks.executions(checkout, todo, 1, cell_minutes, say)) as executed:
            for done in executed:
                assert done.notebook is not None
                found = keys.records(source.name, done.notebook)
                claims = [{"parameters": parameters, **record["claim"]} for record in found if "claim" in record]
                write_whole(made / f"{stem}.claims.json", json.dumps(claims, indent=1, ensure_ascii=False))
        hand_over(made, folder, stem)


def demand_own(folder: Path, stem: str) -> dict[str, str]:
    """What :func:`hand_over` wrote into ``folder``: the checksum of every file, by its name.

    A FileExistsError if anything else stands at names that begin with ``stem`` and a dot, such as a file that somebody
    edited, and if there is a list that is none.
    """
    listed: dict[str, str] = {}
    if (folder / LIST).exists():
        with suppress(OSError, ValueError):
            listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        if not isinstance(listed, dict) or not listed or not all(isinstance(sum, str) for sum in listed.values()):
            raise FileExistsError(f"{folder / LIST} is not the list that deepmech keeps there: name another folder")
    if os.path.lexists(folder) and not folder.is_dir():
        raise FileExistsError(f"{folder} is no folder: name another")
    for path in _below(folder, stem):
        ours = path.is_file() and not path.is_symlink() and listed.get(_name(path, folder)) == _checksum(path)
        if not ours:
            raise FileExistsError(
                f"{path} is in the way: deepmech did not write it, or it was changed since. Move it away, or name "
                "another folder"
            )
    return listed


def hand_over(source: Path, folder: Path, stem: str) -> None:
    """Move all files below ``source``, whose names begin with ``stem`` and a dot, to ``folder``, in place of those that
    an earlier call put there. Nothing that was not written by this function is changed (:func:`demand_own`)."""
    listed, old = demand_own(folder, stem), _below(folder, stem)
    new = {_name(path, source): path.read_bytes() for path in _below(source, stem)}
    for path in old:
        if (name := _name(path, folder)) not in new:
            path.unlink()
        del listed[name]
    for name, content in new.items():
        write_whole(folder / name, content)
    listed |= {name: hashlib.sha256(content).hexdigest() for name, content in new.items()}
    write_whole(folder / LIST, json.dumps(listed, indent=1, sort_keys=True))


def _below(folder: Path, stem: str) -> list[Path]:
    """All that is no folder at names that begin with ``stem`` and a dot, or in folders there."""
    tops = [path for path in folder.iterdir() if path.name.startswith(f"{stem}.")] if folder.is_dir() else []
    return [p for top in tops for p in (top, *top.rglob("*")) if p.is_symlink() or not p.is_dir()]


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
