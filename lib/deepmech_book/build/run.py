"""One notebook with parameters of one's own: ``deepmech run``.

Papermill executes it as it does for the book, with the same checks. What comes of it lies in a folder, named after the
notebook: the executed notebook, its figures (SVG, and the numbers drawn) and its claims (``.claims.json``).
"""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from deepmech.core.files import demand_own, hand_over, write_whole
from deepmech_book.build import keys, notebooks
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import Checkout, Source, aligned, assignments, checked, kind, remark

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
