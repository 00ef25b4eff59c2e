"""What a profile asks for and what it costs, page by page, before anything is executed: ``deepmech plan``.

The page's own code says it: of its statements those run that ask for a result, and those that they need; figures,
claims and live computations do not. The one door to results, :func:`deepmech.sweeps.result`, is replaced by one that
records: what ships is read, anything else is one cell of a shipped result of the same function, repeated over the grid
that was asked for, so that a sweep which depends on an earlier result is found, too. A statement that stumbles over
such a stand-in is named, since it may ask for more.

The price of a cell is the time that a cell of the most similar result of the same function took, as it ships. Where
the sweep that is asked for is larger, that is the least it can cost, and the plan says in what it is larger.
"""

from __future__ import annotations

import ast
import json
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import xarray as xr

from deepmech.sweeps import Sweep, results
from deepmech.sweeps.store import read_netcdf
from deepmech_book.press.press import Say
from deepmech_book.press.sources import BookError, Checkout, Source, clock


@dataclass(frozen=True)
class Row:
    """One sweep of one page.

    ``left`` are its cells that do not ship; ``shared`` names the page above that asks for the sweep, too; ``seconds``
    is what as many cells of the most similar shipped result took (None without one), and ``larger`` what is larger
    here.
    """

    page: str
    key: str
    cells: int
    left: int
    shared: str = ""
    seconds: float | None = None
    larger: str = ""


def plan(
    checkout: Checkout, profile: str = "quick", chapters: list[str] | None = None, say: Say = lambda line: None
) -> list[Row]:
    """Ask every page what it needs; ``profile`` is a name or a file of the same form. What is not sure is said."""
    written, chosen = checkout.written(profile), checkout.select(chapters)
    rows: list[Row] = []
    owners: dict[str, str] = {}
    for number, page in enumerate(chosen, 1):
        parameters = {"profile": Path(profile).stem, **checkout.parameters(profile, page, written)}
        found = asked(checkout.source(page), parameters)
        say(f"[{number}/{len(chosen)}] {page}: {len(found.sweeps)} sweeps")
        for words in found.unsure:
            say(f"{page}: not sure of all: {words}")
        rows += rows_of(page, found, owners)
    return rows


def rows_of(page: str, found: Asked, owners: dict[str, str]) -> Iterator[Row]:
    """The rows of a page; ``owners`` are the pages that asked for a sweep first, by its key."""
    for key, sweep in found.sweeps.items():
        owner = owners.setdefault(key, page)
        if owner != page or key in found.shipped:
            yield Row(page, key, sweep.n_cells, 0, "" if owner == page else owner)
        else:
            yield Row(page, key, sweep.n_cells, sweep.n_cells, "", *price(sweep))


def by_page(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Pages that do not draw only what ships: the sums of their own sweeps, and the pages above whose unfinished
    sweeps they ask for, too; at the end the sums of these pages."""
    unfinished = {row.key for row in rows if row.left}
    pages = dict.fromkeys(row.page for row in rows if row.key in unfinished)
    for page in [*pages, "whole book"] if pages else []:
        asked = [row for row in rows if row.page == page or (page == "whole book" and row.page in pages)]
        own = [row for row in asked if not row.shared]
        left = [row for row in own if row.left]
        larger, others = [], []
        if page in pages:
            larger = [row.larger for row in left if row.larger]
            others = [row.shared for row in asked if row.shared and row.key in unfinished]
        yield {
            "page": page,
            "cells": sum(row.cells for row in own),
            "left": sum(row.left for row in own),
            "as such cells took": span(sum(row.seconds or 0.0 for row in left)) if left else "",
            "but larger": "; ".join(dict.fromkeys(larger)),
            "and those of": " and ".join(dict.fromkeys(others)),
        }


def span(seconds: float) -> str:
    """A duration in words, also a long one.

    Examples
    --------
    >>> span(75), span(3 * 3600 + 60), span(30 * 24 * 3600)
    ('1 min 15 s', '3 h 1 min', '30 days')
    """
    return clock(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:,.0f} days"


# --- what it costs ----------------------------------------------------------------------------------------------------


@cache
def read(path: Path) -> xr.Dataset:
    """A file that ships, read once."""
    return read_netcdf(path)


@cache
def shipped() -> dict[Path, Sweep]:
    """All files that ship, and the sweeps that they hold."""
    where = results.folder()
    return {} if where is None else {path: results.sweep_of(read(path)) for path in sorted(where.glob("*.nc"))}


def leaves(fixed: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested parameters as flat ones.

    Examples
    --------
    >>> leaves({"data": {"name": "mnist", "n_data": 60}, "steps": 5})
    {'data.name': 'mnist', 'data.n_data': 60, 'steps': 5}
    """
    found: dict[str, Any] = {}
    for name, value in fixed.items():
        found |= leaves(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def similar(sweep: Sweep) -> Path | None:
    """The shipped result of the same function whose name and parameters are most like those of ``sweep``."""
    here = leaves(sweep.fixed)

    def unlike(path: Path) -> tuple[bool, int]:
        there = leaves(shipped()[path].fixed)
        differ = sum(here.get(name) != there.get(name) for name in here.keys() | there.keys())
        return shipped()[path].name != sweep.name, differ

    return min((path for path, other in shipped().items() if other.compute == sweep.compute), key=unlike, default=None)


def price(sweep: Sweep) -> tuple[float | None, str]:
    """Seconds of a sweep at the price of the most similar cells that ship, and the whole numbers that it has fixed
    larger than those, with theirs in brackets: ``"n_data 60 (2)"``."""
    path = similar(sweep)
    if path is None:
        return None, ""
    here, there = leaves(sweep.fixed), leaves(shipped()[path].fixed)
    whole = (name for name in here if type(here[name]) is type(there.get(name)) is int and here[name] > there[name])
    words = dict.fromkeys(f"{name.rpartition('.')[2]} {here[name]} ({there[name]})" for name in whole)
    each = float(read(path).attrs["wall_seconds"]) / shipped()[path].n_cells
    return each * sweep.n_cells, ", ".join(words)


# --- what a page asks for ---------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """The sweeps that a page asks for, by key; which of them ship; statements that may ask for more, in words."""

    sweeps: dict[str, Sweep] = field(default_factory=dict)
    shipped: set[str] = field(default_factory=set)
    unsure: list[str] = field(default_factory=list)


def asked(source: Source, parameters: Mapping[str, Any]) -> Asked:
    """The sweeps that a page asks for under ``parameters``; see the module's text for how they are found.

    Raises
    ------
    BookError
        If the page's imports fail, or its code cannot be read.
    """
    cells = [c.source for c in source.notebook.cells if c.cell_type == "code" and c.source != source.cell.source]
    space: dict[str, Any] = {"__name__": "__main__", "display": lambda *shown: None}
    space |= {**source.parameters, **parameters}
    try:
        statements = [node for cell in cells for node in ast.parse(cell).body]
        for node in statements:
            if isinstance(node, ast.Import | ast.ImportFrom):
                _run(node, space)
    except Exception as error:
        raise BookError(f"notebook {source.name}: its imports failed, or a cell is not Python ({error})") from error
    asking = _that_ask(statements, space)
    found, first = Asked(), ""
    with _recorded(found, space):
        for at in sorted(set().union(*(_needs(statements, at) for at in asking))):
            before = len(found.sweeps)
            try:
                _run(statements[at], space)
            except Exception as error:
                words = f"{ast.unparse(statements[at]).splitlines()[0][:60]!r} ({type(error).__name__}: {error})"
                if at in asking:
                    found.unsure.append(f"{words} stopped after {len(found.sweeps) - before} sweeps{first}")
                first = first or f"; before it {words}"
    return found


def _run(node: ast.stmt, space: dict[str, Any]) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        exec(compile(ast.Module([node], []), "<page>", "exec"), space)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _defines(node: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose objects it changes by assigning to a part of them."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    nodes = list(ast.walk(node))
    inside = {id(n) for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    found = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in inside}
    for part in (n for n in nodes if isinstance(n, ast.Subscript | ast.Attribute) and isinstance(n.ctx, ast.Store)):
        found |= _names(part.value, ast.Load)
    return found


def _needs(statements: list[ast.stmt], at: int) -> set[int]:
    """Statement ``at`` and all before it that define what it needs, directly or not."""
    wanted, waiting = {at}, [at]
    while waiting:
        uses = _names(statements[waiting.pop()], ast.Load)
        more = {i for i in range(at) if i not in wanted and _defines(statements[i]) & uses}
        wanted |= more
        waiting += more
    return wanted


def _that_ask(statements: list[ast.stmt], space: Mapping[str, Any]) -> list[int]:
    """Numbers of the statements that ask for a result; a function of the page counts where it is called."""

    def object_of(node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute) and isinstance(above := object_of(node.value), types.ModuleType):
            return getattr(above, node.attr, None)
        return space.get(node.id) if isinstance(node, ast.Name) else None

    def asks(node: ast.AST) -> bool:
        calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
        return bool(_names(node, ast.Load) & asking) or any(_asks(object_of(function)) for function in calls)

    asking: set[str] = set()
    functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
    while more := {f.name for f in functions if f.name not in asking and asks(f)}:
        asking |= more
    return [i for i, node in enumerate(statements) if node not in functions and asks(node)]


#: Where functions are looked into.
OURS = ("deepmech_book.experiments", "deepmech_book.bench")


@cache
def _asks(function: Any) -> bool:
    """Whether this is the door to results, or a function of the book's experiments or bench that goes through it."""
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if one is results.result:
            return True
        ours = isinstance(one, types.FunctionType) and one.__module__.startswith(OURS)
        if ours and id(one) not in seen:
            names = _of_code(one.__code__)
            known = [one.__globals__[name] for name in names if name in one.__globals__]
            waiting += known
            waiting += [vars(m)[n] for m in known if isinstance(m, types.ModuleType) for n in names & vars(m).keys()]
        seen.add(id(one))
    return False


def _of_code(code: types.CodeType) -> set[str]:
    return set(code.co_names).union(*(_of_code(c) for c in code.co_consts if isinstance(c, types.CodeType)))


@contextmanager
def _recorded(found: Asked, space: dict[str, Any]) -> Iterator[None]:
    """Whoever asks :func:`deepmech.sweeps.result` meanwhile is answered at once, and recorded in ``found``."""
    door = results.result

    def recorded(sweep: Sweep) -> xr.Dataset:
        where = results.folder()
        there = None if where is None else results.shipped(sweep, where)
        found.sweeps.setdefault(sweep.key, sweep)
        if there is None:
            return stand_in(sweep)
        found.shipped.add(sweep.key)
        return results.part_of(read(there[0]), sweep)

    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("deepmech")]
    doors = [(names, name) for names in (space, *modules) for name, value in list(names.items()) if value is door]
    try:
        for names, name in doors:
            names[name] = recorded
        yield
    finally:
        for names, name in doors:
            names[name] = door


def stand_in(sweep: Sweep) -> xr.Dataset:
    """A dataset of the sweep's grid: everywhere the last cell of the shipped result that is most similar."""
    path = similar(sweep)
    if path is None:
        raise LookupError(f"nothing that ships was computed by {sweep.compute}")
    coords: dict[str, Any] = {}
    for name, values in sweep.cells.items():
        coords |= {str(k): v.variable for k, v in values.coords.items()}
        coords.setdefault(name, values.variable)
    cell = read(path).isel(dict.fromkeys(shipped()[path].grid.dims, -1), drop=True)
    cell = cell.drop_vars([name for name in coords if name in cell.variables])
    grown = cell.expand_dims(dict(zip(sweep.grid.dims, sweep.grid.shape, strict=True))).assign_coords(coords)
    return grown.assign_attrs(spec=json.dumps(sweep.to_json()))
