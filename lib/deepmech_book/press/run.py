"""One notebook with parameters of one's own, or a grid of them: ``deepmech run``.

Papermill executes it as it does for the book, with the same checks. What comes of it lies in a folder: the executed
notebook, its figures (SVG, PDF, PNG, and the data drawn), the results it drew (netCDF) and its claims (claims.json).
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from deepmech.core.files import write_whole
from deepmech.sweeps import Sweep, load, ship
from deepmech.sweeps.store import read_manifest
from deepmech_book.ledger import tables
from deepmech_book.press import keys, press
from deepmech_book.press.press import Say
from deepmech_book.press.sources import BookError, Checkout, Source, aligned, assignments, checked, kind, remark


class Point(NamedTuple):
    """One execution: the parameters that differ from those of the other points, all of them, and its folder."""

    varied: dict[str, Any]
    parameters: dict[str, Any]
    folder: Path


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


def values(text: str) -> tuple[str, list[Any]]:
    """``"name=a,b,c"`` as the name and its values.

    Examples
    --------
    >>> values("dropout=0,0.1"), values("slopes=[0, 1],[0.5]"), values("dataset=mnist,digits")
    (('dropout', [0, 0.1]), ('slopes', [[0, 1], [0.5]]), ('dataset', ['mnist', 'digits']))
    """
    name, equals, given = text.partition("=")
    if not equals or not given:
        raise BookError(f"--grid {text}: must be name=value,value,…")
    found = value(f"[{given}]")
    return name, found if isinstance(found, list) else [value(one) for one in given.split(",")]


def parameters_of(
    checkout: Checkout, source: Source, profile: str = "quick", given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """All parameters of an execution: the profile's (a name, or a file of the same form: ``chapter/notebook:
    {parameter: value}``), then ``given``; each must be known."""
    chosen = checkout.parameters(profile, source.name, checkout.written(profile))
    return {"profile": Path(profile).stem, **chosen, **checked(f"notebook {source.name}", source, dict(given or {}))}


def points(source: Source, base: Mapping[str, Any], grid: Mapping[str, Sequence[Any]], out: Path) -> list[Point]:
    """Every combination of the grid's values with its own folder below ``out``; without a grid, ``out`` itself."""
    for name, several in grid.items():
        for one in several:
            checked(f"--grid: notebook {source.name}", source, {name: one})
    made = []
    for combination in itertools.product(*grid.values()):
        varied = dict(zip(grid, combination, strict=True))
        words = ",".join(f"{k}={re.sub(r'[^A-Za-z0-9.+-]+', '_', str(v)).strip('_')}" for k, v in varied.items())
        made.append(Point(varied, {**base, **varied}, out / words if varied else out))
    if len({p.folder for p in made}) < len(made):
        raise BookError("--grid: two of its points have one name; each value may stand in it once")
    return made


def run(
    checkout: Checkout,
    source: Source,
    several: Sequence[Point],
    *,
    jobs: int = 2,
    cell_minutes: float | None = None,
    say: Say = lambda line: None,
) -> None:
    """Execute a notebook at every point whose folder does not hold that yet; after all have run a BookError, if any
    failed; the folders of the others are kept."""
    shared, todo, folders = keys.surroundings(checkout), {}, {}
    for point in several:
        sheet = press.PageBuild(source, point.parameters, keys.key(source, point.parameters, shared))
        target = point.folder.resolve() / f"{Path(source.name).name}.ipynb"
        if keys.trusted(target, sheet.key) is None:
            todo[point.folder.name if point.varied else source.name] = target, sheet
            folders[sheet.key] = point.folder
            shutil.rmtree(point.folder / "data", ignore_errors=True)
    say(f"{source.name}: {len(several)} to have, {len(todo)} to execute")
    with closing(press.executions(checkout, todo, {}, jobs, cell_minutes, say)) as executed:
        for sheet in executed:
            take_away(checkout, sheet, folders[sheet.key])


def take_away(checkout: Checkout, sheet: press.PageBuild, folder: Path) -> None:
    """Put the results that a notebook drew (``data/``) and its claims (``claims.json``) beside it."""
    assert sheet.notebook is not None
    for drawn in sheet.notebook["metadata"]["deepmech"]["results"]:
        name = f"{drawn['name']}-{drawn['key']}"
        (folder / "data").mkdir(exist_ok=True)
        if drawn["obtained"] == "shipped":
            shutil.copy2(checkout.book / "results" / f"{name}.nc", folder / "data")
        else:
            for store in (checkout.generated / ".stores").glob(f"{name}-*"):
                sweep = Sweep.from_json(read_manifest(store)["sweep"])
                if store.name.endswith(f"-{sweep.code}"):  # others hold what earlier code computed
                    ship(load(sweep, store), folder / "data")
    found = keys.records(sheet.name, sheet.notebook)
    claims = [{"parameters": sheet.parameters, **record["claim"]} for record in found if "claim" in record]
    write_whole(folder / "claims.json", json.dumps(claims, indent=1, ensure_ascii=False))


def gather(several: Sequence[Point], path: Path) -> int:
    """All claims of the points, one line each with the point's parameters, as a CSV table; returns their number."""
    rows = []
    for point in several:
        for claim in json.loads((point.folder / "claims.json").read_text(encoding="utf-8")):
            low, high = claim["interval"] or (None, None)
            numbers = {name: claim[name] for name in ("id", "verdict", "measured", "expected", "null")}
            rows.append({**point.varied, **numbers, "low": low, "high": high})
    write_whole(path, tables.csv_text(rows))
    return len(rows)
