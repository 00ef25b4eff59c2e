"""Which sweeps a page asks for, found without computing any.

The page's own code says it: of its statements those are run that ask for a result, and those that they need; figures,
claims and live computations are not. The one door to results, :func:`deepmech.sweeps.result`, is left as it is, but
what it would compute is noted and answered with stand-ins: what ships is read, anything else is one cell of a shipped
result of the same function, repeated over the grid that was asked for. So a sweep that depends on an earlier result is
found too, under any parameters. A statement that asks and then stumbles over a stand-in is named, since it may have
asked for more.
"""

from __future__ import annotations

import ast
import json
import os
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import xarray as xr

from deepmech.data import files
from deepmech.sweeps import Sweep, results
from deepmech.sweeps.store import read_netcdf
from deepmech_book.press.sources import BookError, Source

#: What a page may compute live, without a sweep: these functions of these rooms.
ROOMS, LIVE = ("deepmech.simulators", "deepmech.trainers"), ("simulate", "train", "walk", "settle")


@dataclass
class Asked:
    """What a page asks for.

    Attributes
    ----------
    sweeps : each once; ``shipped`` holds the keys of those that ship.
    live : statements that compute without a sweep, by their beginnings.
    unsure : statements that ask, and stumbled over a stand-in: they may ask for more.
    missing : files of data that are not on this machine.
    """

    sweeps: list[Sweep] = field(default_factory=list)
    shipped: set[str] = field(default_factory=set)
    live: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)

    def add(self, sweep: Sweep, ships: bool) -> None:
        if sweep.key not in {s.key for s in self.sweeps}:
            self.sweeps.append(sweep)
        if ships:
            self.shipped.add(sweep.key)


def asked(source: Source, parameters: dict[str, Any]) -> Asked:
    """The sweeps that a page asks for under ``parameters``; see the module's text for how they are found.

    Raises
    ------
    BookError
        If the page's imports fail, or its code cannot be read.
    """
    statements = list(_statements(source))
    space: dict[str, Any] = {"__name__": "__main__", "display": lambda *shown: None}
    space |= source.parameters | parameters
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            try:
                _run(node, space)
            except Exception as error:
                raise BookError(f"notebook {source.name}: {ast.unparse(node)!r} failed ({error})") from error
    found, needed = Asked(), set()
    asking = _that_reach(statements, space, _asks)
    for at in asking:
        needed |= _slice(statements, at)
    first = ""
    with _door(found):
        for at in sorted(needed):
            before = len(found.sweeps)
            try:
                _run(statements[at], space)
            except Exception as error:
                words = f"{ast.unparse(statements[at]).splitlines()[0][:60]!r}"
                said = f"{type(error).__name__}: {error}"
                if at in asking:
                    count = len(found.sweeps) - before
                    found.unsure.append(f"{words} stopped after {count} sweeps ({said}){first}")
                first = first or f"; before it {words} ({said})"
    calls = _that_reach(statements, space, _computes)
    found.live = [ast.unparse(statements[at]).splitlines()[0][:60] for at in calls if at not in asking]
    return found


def _statements(source: Source) -> Iterator[ast.stmt]:
    for cell in source.notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            try:
                yield from ast.parse(cell.source).body
            except SyntaxError as error:
                raise BookError(f"notebook {source.name}: a cell is not Python ({error})") from None


def _run(node: ast.stmt, space: dict[str, Any]) -> None:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        exec(compile(ast.Module([node], []), "<page>", "exec"), space)


def _uses(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _defines(node: ast.stmt) -> set[str]:
    """Names that a statement binds, or whose objects it changes by assigning to a part of them."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    loops = [n.target for n in ast.walk(node) if isinstance(n, ast.comprehension)]
    inside = {id(n) for target in loops for n in ast.walk(target)}  # a comprehension's variable ends with it
    names = {n.id for n in stored if id(n) not in inside}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    for target in targets:
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


def _slice(statements: list[ast.stmt], at: int) -> set[int]:
    """Statement ``at`` and all before it that define what it needs, directly or not."""
    wanted, waiting = {at}, [at]
    while waiting:
        uses = _uses(statements[waiting.pop()])
        for i in range(at):
            if i not in wanted and _defines(statements[i]) & uses:
                wanted.add(i)
                waiting.append(i)
    return wanted


def _that_reach(statements: list[ast.stmt], space: dict[str, Any], target: Callable[[Any], bool]) -> list[int]:
    """Numbers of the statements that call what reaches a target; a function of the page counts where it is called."""
    functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
    own: set[str] = set()
    while more := {f.name for f in functions if f.name not in own and _calls(f, space, own, target)}:
        own |= more
    return [i for i, node in enumerate(statements) if node not in functions and _calls(node, space, own, target)]


def _calls(node: ast.AST, space: dict[str, Any], own: set[str], target: Callable[[Any], bool]) -> bool:
    nodes = list(ast.walk(node))
    if any(isinstance(n, ast.Name) and n.id in own and isinstance(n.ctx, ast.Load) for n in nodes):
        return True
    return any(isinstance(n, ast.Call) and _reaches(_resolved(n.func, space), target) for n in nodes)


def _resolved(node: ast.expr, space: dict[str, Any]) -> Any:
    """The object that a dotted name stands for, if its beginning is imported."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(above := _resolved(node.value, space), types.ModuleType):
        return getattr(above, node.attr, None)
    return None


def _asks(function: Any) -> bool:
    return function is results.result


def _computes(function: Any) -> bool:
    where = getattr(function, "__module__", None) or ""
    return where.startswith(ROOMS) and getattr(function, "__name__", "") in LIVE


@cache
def _reaches(function: Any, target: Callable[[Any], bool]) -> bool:
    """Whether this is a target, or a function of the book's experiments that calls one, directly or through others."""
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if target(one):
            return True
        if id(one) in seen or not isinstance(one, types.FunctionType):
            continue
        seen.add(id(one))
        if (one.__module__ or "").startswith("deepmech_book.experiments"):
            names = set(_names(one.__code__))
            known = [one.__globals__[n] for n in names if n in one.__globals__]
            waiting += known
            waiting += [vars(m)[n] for m in known if isinstance(m, types.ModuleType) for n in names & vars(m).keys()]
    return False


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


@contextmanager
def _door(found: Asked) -> Iterator[None]:
    """What :func:`deepmech.sweeps.result` would verify or compute is noted in ``found`` instead."""

    def ships(path: Path, sweep: Sweep, *_: Any) -> results.Report:
        found.add(sweep, True)
        return results.Report(path.stem, sweep.n_cells, reason="it was only planned")

    def computed(sweep: Sweep, *_: Any, **how: Any) -> xr.Dataset:
        found.add(sweep, False)
        return stand_in(sweep)

    def fingerprinted(path: Path, file: Any) -> str:
        try:
            return checksum(path, file)
        except files.DataMissing:
            found.missing.add(path.name)
            return "not on this machine"

    checksum = files.checksum
    environment = {k: v for k, v in os.environ.items() if k not in ("DEEPMECH_STORES", "DEEPMECH_DRAWN")}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, environment, clear=True))
        for name, value in (
            ("_read", {}), ("_opened", lambda path, sweep: read(path)), ("_checked", ships), ("run", computed),
            ("_say_what_is_computed", lambda sweep, where: ""),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(results, name, value))
        stack.enter_context(mock.patch.object(files, "checksum", fingerprinted))
        yield


@cache
def read(path: Path) -> xr.Dataset:
    """A file that ships, read once."""
    return read_netcdf(path)


@cache
def shipped() -> dict[Path, Sweep]:
    """All files that ship, and the sweeps that they hold."""
    where = results.folder()
    return {} if where is None else {path: results.sweep_of(read(path)) for path in sorted(where.glob("*.nc"))}


def stand_in(sweep: Sweep) -> xr.Dataset:
    """A dataset of the sweep's grid: one cell of a shipped result of the same function everywhere, else only labels."""
    dims, coords = sweep.grid.dims, _labels(sweep)
    for path, other in shipped().items():
        if other.compute == sweep.compute:
            cell = read(path).isel(dict.fromkeys(other.grid.dims, 0), drop=True)
            cell = cell.drop_vars([name for name in coords if name in cell.variables])
            grown = cell.expand_dims({d: n for d, n in zip(dims, sweep.grid.shape, strict=True)}).assign_coords(coords)
            return grown.assign_attrs(spec=_spec(sweep))
    calm = xr.DataArray(np.zeros(sweep.grid.shape, bool), dims=dims)
    return xr.Dataset({"diverged": calm}, coords, {"spec": _spec(sweep)})


def _labels(sweep: Sweep) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, values in sweep.cells.items():
        named |= {str(k): v.variable for k, v in values.coords.items()}
        if name not in named:
            named[name] = values.variable
    return named


def _spec(sweep: Sweep) -> str:
    return json.dumps(sweep.to_json())
