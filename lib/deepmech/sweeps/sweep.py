"""Sweeps: a grid of cells, the function that computes them, and a key that changes when either does; and how they run.

:func:`run` cuts the cells that a store does not hold yet into chunks, has them computed somewhere, seals them and
assembles the grid. On a Dask cluster (:func:`connect`; Dask is imported only there) workers compute and hand results to
the client, which alone writes the store: no worker needs to see its directory, and a chunk that the scheduler had
computed twice, because a worker died over it, is written once. Data are not sent: the sweep's function loads them by
name where it runs. A worker that dies costs nothing but time; only a chunk over which several workers died counts as
one that raised.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import ceil
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from deepmech.core import checks, provenance
from deepmech.core.labels import Batch, align, to_records
from deepmech.core.specs import Spec, canonical_text, decode, digest, encode, import_object
from deepmech.sweeps.store import Store, plain, read_manifest, unkept

F = TypeVar("F", bound=Callable[..., xr.Dataset])

#: What the last bits of elementary functions and sums amount to, of an element.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Sweep(Spec):
    """A grid of cells and the function that computes them.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``-`` and ``.``; it names stores and shipped files.
    compute : str
        ``"module:function"``, or a name from the table ``CELLS`` of ``deepmech_book.cells``, which stays what it
        is when the function moves. It is called as ``function(cells, **fixed)`` with a slice of the grid, the varied
        parameters as a Dataset over ``cell`` (:meth:`slice`), and returns a Dataset of which all variables have the
        dimension ``cell`` too. What it returns for a cell must not depend on the other cells of the slice: that is
        what makes results the same under any chunking.
    cells : dict of labelled arrays
        Parameters that vary (:func:`deepmech.over`), broadcast to a grid. Arrays that share a dimension vary together.
    fixed : dict
        Parameters that do not vary: JSON values, passed on to ``compute``.
    version : int
        To be raised when ``compute`` changes in a way that changes results.
    data : str
        Fingerprint of the data that ``compute`` uses, if any.
    from_file : bool
        Whether a file named ``compute`` (:meth:`from_json` sets it): then only such a function is called as
        :func:`recomputed` marks, of this library or of its book. Not part of the key.

    Examples
    --------
    >>> from deepmech import over
    >>> sweep = Sweep("squares", "operator:add", {"x": over("x", [1.0, 2.0]), "y": over("y", [0, 1, 2])})
    >>> sweep.grid.shape, sweep.n_cells
    ((2, 3), 6)
    """

    name: str
    compute: str
    cells: Mapping[str, xr.DataArray]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    data: str = ""
    from_file: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and re.fullmatch(r"[\w-][\w.-]*", self.name)
        self.check("name", plain, "letters, digits, '_', '-' and '.'")
        parts = self.compute.split(":") if isinstance(self.compute, str) else []
        ok = len(parts) == 2 and all(all(w.isidentifier() for w in p.split(".")) for p in parts)
        ok = ok or (len(parts) == 1 and self.compute in named_functions())
        self.check("compute", ok, "'module:function', so that workers can import it, or a name that the book gave")
        some = isinstance(self.cells, Mapping) and len(self.cells) > 0
        self.check("cells", some, "a non-empty dict of labelled arrays")
        cells = {}
        for key, value in self.cells.items():
            checks.check(
                f"Sweep.cells[{key!r}]", value, isinstance(value, xr.DataArray),
                f"a labelled array; use over({key!r}, values)",
            )  # fmt: skip
            cells[key] = _as_kept(key, value)
        self.check("fixed", isinstance(self.fixed, Mapping), "a dict of JSON values")
        fixed = _with_plain_numbers(dict(self.fixed))
        try:
            same = json.loads(json.dumps(fixed, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"Sweep.fixed: must hold JSON values only ({error})") from None
        for key, value in fixed.items():
            if key in self.cells:
                raise ValueError(f"Sweep.fixed[{key!r}]: {key!r} varies in cells already; leave it out of one of them")
            kept = same.get(key) == value
            checks.check(f"Sweep.fixed[{key!r}]", value, kept, "what survives JSON unchanged (lists, no tuples)")
        self.check("version", type(self.version) is int and self.version >= 1, "an integer >= 1")
        text = isinstance(self.data, str) and self.data.isprintable()
        self.check("data", text, "text on one line, as the fingerprint of a data set is")
        # A private copy: nobody can change a spec after its key was taken.
        object.__setattr__(self, "fixed", same)
        object.__setattr__(self, "cells", cells)
        self.check("cells", self.grid.n > 0, "arrays with at least one value")

    @cached_property
    def grid(self) -> Batch:
        """All cells, flat, with the labels of the grid."""
        return align("Sweep.cells", **self.cells)

    @property
    def n_cells(self) -> int:
        return self.grid.n

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits of everything that decides the results."""
        return digest(self.to_json())

    @property
    def code(self) -> str:
        """Sixteen hexadecimal digits of the library, of the modules of its own that ``compute`` imports, as they were
        imported, and of the versions of torch and numba; not part of the key."""
        return provenance.code_hash(self.target.partition(":")[0])

    @property
    def target(self) -> str:
        """``"module:function"``, where the function of ``compute`` lies today; not part of the key."""
        return self.compute if ":" in self.compute else named_functions()[self.compute]

    def function(self) -> Callable[..., xr.Dataset]:
        """The function that computes cells; a ValueError if a file named it, and it is none that a file may name."""
        otherwise = f"Sweep.compute = {self.compute!r}: cannot be imported"
        if not self.from_file:
            return import_object(self.target, otherwise)
        found: Any = import_object(self.target, otherwise) if _is_ours(self.target) else None
        if not hasattr(found, "tolerance"):
            raise ValueError(
                f"a file names {self.compute!r} as the function to call, which is no function of deepmech that "
                f"computes a sweep's cells. If you trust it, name it: --trust {self.compute} on the command line, "
                f"trust=[{self.compute!r}] in Python"
            )
        return found

    def slice(self, indices: Sequence[int]) -> xr.Dataset:
        """The parameters of some cells as labelled arrays over ``cell``, as specs take them.

        Examples
        --------
        >>> from deepmech import over
        >>> sweep = Sweep("squares", "operator:add", {"x": over("x", [1.0, 2.0]), "y": over("y", [0, 1, 2])})
        >>> sweep.slice([2, 3])["x"].values
        array([1., 2.])
        """
        chosen = np.asarray(indices, int)
        return xr.Dataset({k: ("cell", v[chosen]) for k, v in self.grid.flat.items()}, {"cell": chosen})

    def describe(self, indices: Sequence[int], most: int = 5) -> str:
        """Cells in words, for errors: at most ``most`` of them."""
        some = to_records(self.slice(indices[:most]))
        more = f" and {len(indices) - most} more" if len(indices) > most else ""
        return ", ".join(f"({'; '.join(f'{k}={v!r}' for k, v in cell.items())})" for cell in some) + more

    def differences(self, other: Sweep) -> list[str]:
        """Where two sweeps differ, in words: fields, and within ``fixed`` and ``cells`` their keys."""
        ours, theirs = self.to_json(), other.to_json()
        plain = [name for name in ("name", "compute", "version", "data") if ours[name] != theirs[name]]
        found = [f"{name} ({theirs[name]!r} there, {ours[name]!r} here)" for name in plain]
        for name in ("fixed", "cells"):
            for key in sorted({*ours[name], *theirs[name]}):
                one, two = ({key: side[name][key]} if key in side[name] else {} for side in (ours, theirs))
                if canonical_text(one) != canonical_text(two):
                    found.append(f"{name}[{key!r}]")
        return found

    def holds(self, other: Sweep) -> bool:
        """Whether ``other`` is a part of this sweep: it differs in its grid alone, and each of its cells is here.

        Examples
        --------
        >>> from deepmech import over
        >>> three, ten = (Sweep("s", "operator:add", {"x": over("x", range(n))}) for n in (3, 10))
        >>> ten.holds(three), three.holds(ten)
        (True, False)
        """
        if self.cells.keys() != other.cells.keys() or any(d[:6] != "cells[" for d in self.differences(other)):
            return False
        try:
            return all(self.cells[k].sel({d: v[d] for d in v.dims}).equals(v) for k, v in other.cells.items())
        except KeyError:  # a label or a dimension that is not here
            return False

    def to_json(self) -> dict[str, Any]:
        """The sweep as plain JSON values; :meth:`from_json` turns it back."""
        return {name: value for name, value in super().to_json().items() if name != "from_file"}

    @classmethod
    def from_json(cls, data: dict[str, Any], trust: Collection[str] = ()) -> Self:
        """The sweep of :meth:`to_json`. Whoever wrote ``data`` may have named any function: of those that are not
        deepmech's own, only those in ``trust`` (``"module:function"``) are ever called."""
        try:
            cells = {k: decode(v) for k, v in data["cells"].items()}
            fields = {k: v for k, v in data.items() if k != "tolerance"}
            return super().from_json(fields | {"cells": cells, "from_file": data.get("compute") not in trust})
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"this is no sweep ({type(error).__name__}: {error})") from None


def _as_kept(key: Any, value: xr.DataArray) -> xr.DataArray:
    """A varied parameter as JSON and files give it back, so that a sweep that was read is the one that was written."""
    for name, one in [(key, value.variable), *((k, v.variable) for k, v in value.coords.items())]:
        if wrong := unkept(name, one, aside=name not in value.dims) or ("takes a name of ours" if name in OWN else ""):
            raise ValueError(f"Sweep.cells[{key!r}]: {name!r} {wrong}")
    if {*value.dims} & OWN:
        raise ValueError(f"Sweep.cells[{key!r}]: a dimension takes a name of ours, {min(OWN & {*value.dims})!r}")
    return decode(json.loads(json.dumps(encode(value))))


def _with_plain_numbers(value: Any) -> Any:
    """NumPy's numbers as Python's, in lists and dicts too."""
    if isinstance(value, dict):
        return {key: _with_plain_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_plain_numbers(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


#: Packages whose functions a file may name, if they are marked (:func:`recomputed`); one wheel holds both.
OURS = ("deepmech", "deepmech_book")


def _is_ours(compute: str) -> bool:
    """Whether ``"module:function"`` lies in this library or its book, which is found without importing anything."""
    package = compute.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(package) if package in OURS else None
    # A folder of that name elsewhere, beside a file that was sent to somebody, say, is not the book.
    return spec is not None and spec.origin is not None and Path(spec.origin).parents[1] == Path(__file__).parents[2]


@cache
def named_functions() -> Mapping[str, str]:
    """``"module:function"`` of every function that has a name in keys; none without the book."""
    table = "deepmech_book.cells:CELLS"
    return dict(import_object(table, "this library's book is damaged")) if _is_ours(table) else {}


def recomputed(
    tolerance: Mapping[str, float] | None = None,
    part: Callable[..., tuple[dict[str, Any], Sequence[str]]] | None = None,
    chaotic: bool = False,
) -> Callable[[F], F]:
    """Say of a function that it computes a sweep's cells, and how they are compared with those of a recomputation.

    A function of this library or its book that is marked so may be named by a file (:meth:`Sweep.from_json`); it is
    then called with whatever arguments the file holds, so that it must not run code that its arguments name.

    Parameters
    ----------
    tolerance : dict, optional
        By variable, the largest relative difference of an element; ``"*"`` stands for all others. State it of torch's
        sums, which follow the processor, the versions and the number of threads. What is left out must have equal
        bits where it was made, and agree to :data:`ROUNDING` elsewhere.
    part : callable, optional
        Of a function whose cells are dear: ``part(**fixed)`` gives the fixed parameters of a smaller task, and the
        variables of its result that under equal labels equal those of the whole: the first trials of many, say.
    chaotic : bool
        Whether the last bits of a sum grow into other results: then they are compared only where they were made.

    Examples
    --------
    >>> @recomputed(tolerance={"loss": 1e-6})
    ... def compute(cells): ...
    >>> allowed(compute, "loss"), allowed(compute, "curve"), allowed(compute, "curve", here=True)
    (1e-06, 1e-09, 0.0)
    """
    for name, value in (tolerance or {}).items():
        if not 0 <= value < 0.1:
            raise ValueError(f"recomputed: tolerance[{name!r}] = {value!r}: more than a tenth proves nothing")

    def mark(function: F) -> F:
        function.tolerance, function.part = dict(tolerance or {}), part  # type: ignore[attr-defined]
        function.chaotic = chaotic  # type: ignore[attr-defined]
        return function

    return mark


def allowed(function: Callable[..., xr.Dataset], variable: str, here: bool = False) -> float:
    """The tolerance of one variable of a function's results, ``here`` where it was made; see :func:`recomputed`."""
    stated = getattr(function, "tolerance", {})
    return float(stated.get(variable, stated.get("*", 0.0 if here else ROUNDING)))


def sweep_of(dataset: xr.Dataset, trust: Collection[str] = ()) -> Sweep:
    """The sweep that a result came from, from its attributes; ``trust`` as for :meth:`Sweep.from_json`."""
    try:
        spec = json.loads(dataset.attrs["spec"])
    except (KeyError, ValueError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec, trust)


#: About how long one call may take, if nobody says how many cells it gets.
SECONDS = 20.0
#: After so many seconds without a chunk the connection to a cluster is looked at.
PULSE = 5.0
#: What every result has besides; no parameter may be called so.
OWN = {"cell", "diverged"}


class Incomplete(ValueError):
    """Cells of a grid are missing, so nothing can be said about the grid as a whole."""


class CellsFailed(RuntimeError):
    """Some chunks raised; all others were computed and, with a store, kept."""


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: a Dataset over ``cell``, or a traceback; ``unfit`` if nothing of its kind can be kept."""

    indices: range
    dataset: xr.Dataset | None
    traceback: str = ""
    unfit: bool = False


class _Unfit(ValueError):
    """A sweep's function returned what no file keeps, and will do so for the other cells."""


def compute_chunk(sweep: Sweep, indices: range) -> Outcome:
    """Compute some cells; runs in this process or on a worker, and never raises because of the cells."""
    start = time.perf_counter()
    try:
        dataset = compute_cells(sweep, indices, sweep.fixed)
    except (Exception, SystemExit) as error:
        unfit = isinstance(error, _Unfit)
        return Outcome(indices, None, str(error) if unfit else traceback.format_exc(), unfit)
    made = {
        "code": sweep.code,
        "versions": provenance.versions_in_words(),
        "machine": provenance.machine(),
        "device": str(dataset.attrs.get("device", "cpu")),
        "dtype": str(dataset.attrs.get("dtype", "as computed")),
        "wall_seconds": time.perf_counter() - start,
    }
    dataset = dataset.assign_coords(cell=np.asarray(indices))
    dataset.attrs = made
    return Outcome(indices, dataset)


def compute_cells(sweep: Sweep, indices: Sequence[int], fixed: Mapping[str, Any]) -> xr.Dataset:
    """What the sweep's function makes of some cells, with ``diverged`` for each.

    A function that knows better returns its own ``diverged``; otherwise a cell counts as diverged if any of its numbers
    is not finite. Such cells are kept like all others.

    The library behind NumPy's products has one thread meanwhile: it cuts its sums by their number, and what follows
    would depend on it (a long descent by 0.18 of its range). What is computed from a variable loses its name and units:
    they would be those of another quantity.
    """
    with threadpool_limits(1, "blas"), xr.set_options(keep_attrs=False):
        dataset = sweep.function()(sweep.slice(indices), **fixed)
    if wrong := _unfit(sweep, dataset, indices):
        raise _Unfit(f"{sweep.compute} returned {wrong}")
    dataset = dataset.drop_vars([k for k, v in dataset.coords.items() if "cell" in v.dims]).transpose("cell", ...)
    dataset = plain(dataset)
    if "diverged" in dataset:
        return dataset
    bad = np.zeros(len(indices), bool)
    for array in dataset.data_vars.values():
        if array.dtype.kind == "f":
            bad |= ~np.isfinite(array.values.reshape(len(indices), -1)).all(axis=1)
    return dataset.assign(diverged=("cell", bad))


def _unfit(sweep: Sweep, dataset: Any, indices: Sequence[int]) -> str:
    """What is wrong with the result of a sweep's function, in words; nothing, if a file keeps it as it is."""
    if not isinstance(dataset, xr.Dataset):
        return f"a {type(dataset).__name__}; it must return an xarray.Dataset"
    if not dataset.data_vars:
        return "no variables"
    for name, array in dataset.data_vars.items():
        if array.sizes.get("cell") != len(indices):
            return f"{name!r} with dims {dict(array.sizes)}; one must be 'cell', of length {len(indices)}"
    if "cell" in dataset.coords and not np.array_equal(dataset["cell"], indices):
        return f"cells {dataset['cell'].values}; it was given {list(indices)}"
    if isinstance(dataset.indexes.get(name := next(iter(dataset.indexes), ""), None), pd.MultiIndex):
        return f"the coordinate {name!r} of several levels, which a file does not keep: reset_index it"
    for name, variable in dataset.variables.items():
        if name in dataset.coords and "cell" in variable.dims:
            continue  # the grid's own labels take its place
        if wrong := unkept(name, variable, aside=name in dataset.coords and name not in variable.dims):
            return f"a variable that {wrong}" if "name" in wrong[:12] else f"{name!r}, which {wrong}"
        if name in sweep.grid.coords:
            return f"{name!r}, which is the name of a label of the grid"
        if taken := {*variable.dims} & {*sweep.grid.dims}:
            return f"{name!r} with a dimension named like one of the grid, {min(map(str, taken))!r}"
    return ""


def chunks_of(indices: Sequence[int], chunk: int) -> list[range]:
    """Ranges of at most ``chunk`` consecutive indices that together cover ``indices`` (sorted).

    Examples
    --------
    >>> chunks_of([0, 1, 2, 5, 6], 2)
    [range(0, 2), range(2, 3), range(5, 7)]
    """
    ranges: list[range] = []
    position = 0
    while position < len(indices):
        ranges.append(_next_range(indices, position, chunk))
        position += len(ranges[-1])
    return ranges


def _next_range(indices: Sequence[int], position: int, chunk: int) -> range:
    """The consecutive indices from a position on, at most ``chunk``."""
    start = indices[position]
    most = min(chunk, len(indices) - position)
    count = next((k for k in range(1, most) if indices[position + k] != start + k), most)
    return range(start, start + count)


def run(
    sweep: Sweep,
    store: str | Path | None = None,
    *,
    chunk: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Compute every cell that is not in the store, and return the whole grid.

    May be stopped anywhere (Ctrl-C, kill -9, power) and run again, with other chunks and another executor, without
    changing a bit of the result. One process at a time works on a store: another waits, and finds what the first made.

    Parameters
    ----------
    sweep : Sweep
    store : path, optional
        Directory that keeps what is computed. Without it results live in memory only.
    chunk : int, optional
        Largest number of cells computed in one call. By default an executor gets about 32 chunks; in this process
        calls grow until one takes some ten seconds, and a GPU, which is filled best by all members at once, gets all.
    executor : concurrent.futures.Executor, optional
        Where chunks are computed (a process pool, ``client.get_executor(pure=False)`` of Dask, ...); default: here, one
        after another. It is not shut down. Its workers only compute; the store is written by this process.
    progress : bool, optional
        A bar with an estimate on stderr; default: only if stderr is a terminal.

    Returns
    -------
    xarray.Dataset
        Variables of ``compute`` over the grid's dimensions, a boolean ``diverged``, the grid's labels, and provenance.

    Raises
    ------
    CellsFailed
        Chunks that raised, by the parameters of their cells, with traceback; raised after all others were computed.
        At once, if the function returned what no file keeps.
    StoreError
        The disk did not take a chunk.
    RuntimeError
        The executor broke down: a pool lost a process, or a cluster its scheduler.
    ValueError
        The store belongs to another sweep or was made by other code, or chunks do not fit together: their variables
        differ, in types say.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.sweeps import Sweep, run
    >>> sweep = Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    >>> run(sweep, chunk=1)["power"].sel(base=2.0).values.tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise ValueError(f"run: chunk = {chunk!r}: must be an integer >= 1, or None to leave it to the run")
    sweep.function()
    place = None if store is None else Store.open(store, sweep)
    if place is None:
        return _whole(sweep, _run(sweep, None, chunk, executor, progress), "Run it again")
    with place.alone():
        place.require_code()
        _run(sweep, place, chunk, executor, progress)
    return load(sweep, place.path)


def _run(
    sweep: Sweep, place: Store | None, chunk: int | None, executor: Executor | None, progress: bool | None
) -> list[xr.Dataset]:
    """Compute what is missing; all chunks, where no store keeps them."""
    done = [] if place is None else place.read()
    todo = missing(sweep, done)
    failed: list[Outcome] = []
    first = done[0] if done else None
    quiet = not sys.stderr.isatty() if progress is None else not progress
    how: Any = {"desc": sweep.name, "unit": "cell", "disable": quiet, "file": sys.stderr}
    with tqdm(total=sweep.n_cells, initial=sweep.n_cells - len(todo), **how) as bar:
        for outcome in _outcomes(sweep, todo, chunk, executor):
            if outcome.dataset is not None:
                first = outcome.dataset if first is None else first
                _require_alike(sweep, first, outcome.dataset)
            if outcome.unfit:
                raise CellsFailed(f"sweep {sweep.name!r}: {outcome.traceback}")
            if outcome.dataset is None:
                failed.append(outcome)
            elif place is not None:
                place.write(outcome.indices.start, outcome.dataset)
            else:
                done.append(outcome.dataset)
            bar.update(len(outcome.indices))
    if failed:
        cells = [i for outcome in failed for i in outcome.indices]
        raise CellsFailed(
            f"sweep {sweep.name!r}: {len(cells)} of {sweep.n_cells} cells were in chunks that raised: "
            f"{sweep.describe(cells)}. All other cells are kept if a store was given. The first:\n{failed[0].traceback}"
        )
    return done


def _outcomes(sweep: Sweep, todo: list[int], chunk: int | None, executor: Executor | None) -> Iterator[Outcome]:
    size = chunk or ceil(sweep.n_cells / 32)
    if executor is None:
        if chunk is None and os.environ.get("DEEPMECH_DEVICE", "cpu") != "cpu":
            size = sweep.n_cells
        position = 0
        while position < len(todo):
            start = time.perf_counter()
            indices = _next_range(todo, position, size)
            yield compute_chunk(sweep, indices)
            position += len(indices)
            # What a kill may cost is bounded, and whoever computes members side by side gets as many as that allows.
            if chunk is None and len(indices) == size and time.perf_counter() - start < SECONDS / 2:
                size *= 2
        return
    waiting: dict[Future[Outcome], range] = {}
    try:
        for indices in chunks_of(todo, size):
            future = executor.submit(compute_chunk, sweep, indices)
            waiting[future] = indices
            if future.done():  # at once, of an executor that computes in this process
                yield _outcome(future, waiting.pop(future))
        while waiting:
            done, _ = wait(waiting, PULSE, FIRST_COMPLETED)
            for future in done:
                yield _outcome(future, waiting.pop(future))
            # Dask's executor may wait for ever for a chunk that was under way when its scheduler went.
            if not done and getattr(getattr(executor, "_client", None), "status", "running") != "running":
                raise CancelledError("the connection to the Dask scheduler was lost")
    except (BrokenExecutor, CancelledError) as error:
        raise RuntimeError(
            f"sweep {sweep.name!r}: a worker process died (out of memory?) or the cluster was lost ({error}). Finished "
            "chunks are kept if a store was given; run again to go on"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


def _outcome(future: Future[Outcome], indices: range) -> Outcome:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError):
        raise
    except Exception:  # lost on the way: a worker died, or the result could not travel
        return Outcome(indices, None, traceback.format_exc())


def load(sweep: Sweep, store: str | Path) -> xr.Dataset:
    """The whole grid from a store, computing nothing; :class:`Incomplete` names what is missing and how to get it."""
    read_manifest(store)
    place = Store.open(store, sweep)
    return _whole(sweep, place.read(), f"Complete it with: deepmech sweep --store {store}")


def _whole(sweep: Sweep, chunks: Sequence[xr.Dataset], remedy: str) -> xr.Dataset:
    """The labelled grid with its provenance; an error that says which cells are missing."""
    if absent := missing(sweep, chunks):
        raise Incomplete(
            f"sweep {sweep.name!r} is incomplete: {len(absent)} of {sweep.n_cells} cells are missing: "
            f"{sweep.describe(absent)}. {remedy}"
        )

    def of_chunks(name: str) -> str:
        return " | ".join(sorted({str(chunk.attrs.get(name, "unknown")) for chunk in chunks}))

    made = provenance.attributes(
        spec=json.dumps(sweep.to_json()),
        seed=seed_in_words(sweep),
        device=of_chunks("device"),
        dtype=chunks[0].attrs.get("dtype", "as computed"),
        wall_seconds=sum(chunk.attrs.get("wall_seconds", 0.0) for chunk in chunks),
    )
    made |= {name: of_chunks(name) for name in ("code", "versions", "machine")}
    made |= {"sweep": sweep.name, "sweep_key": sweep.key, "data": sweep.data, "chunks": len(chunks)}
    return unfold(sweep, join(sweep, chunks)).assign_attrs(made)


def seed_in_words(sweep: Sweep) -> str:
    """The seed of all cells, or where it is found."""
    return str(sweep.fixed.get("seed", "in cells" if "seed" in sweep.cells else "none"))


def missing(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> list[int]:
    """Flat indices of the cells that no chunk holds."""
    have = {int(i) for chunk in chunks for i in chunk["cell"].values}
    return [i for i in range(sweep.n_cells) if i not in have]


def join(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> xr.Dataset:
    """All cells along one dimension ``cell``, in order, each once; cells computed twice must agree to the bit."""
    for chunk in chunks:
        _require_alike(sweep, chunks[0], chunk)
    cells = xr.concat(chunks, "cell", data_vars="all", coords="minimal", compat="override", join="exact")
    numbers, once, of = np.unique(cells["cell"], return_index=True, return_inverse=True)
    for name, array in cells.data_vars.items() if len(numbers) < len(of) else ():
        if not equal_bits(array.values, array.values[once[of]]):
            twice = numbers[np.bincount(of) > 1].tolist()
            raise ValueError(
                f"sweep {sweep.name!r}: two computations of cells {sweep.describe(twice)} differ in {name!r}. Were "
                f"they made on different machines, or does {sweep.compute} depend on its chunk? Check with "
                f"sweeps.verify, and delete one of the chunk files"
            )
    return cells.isel(cell=once)


def _require_alike(sweep: Sweep, one: xr.Dataset, two: xr.Dataset) -> None:
    """A ValueError unless two chunks differ in the numbers of their cells alone: joined, they would be other numbers,
    and which depended on how cells were cut into chunks."""
    for name in sorted({*one.variables, *two.variables} - {"cell"}, key=str):
        said = [_in_words(chunk, name) for chunk in (one, two)]
        if said[0] == said[1] and "cell" not in one[name].dims and not equal_bits(one[name].values, two[name].values):
            said = ["some values", "others"]
        if said[0] != said[1]:
            raise ValueError(
                f"sweep {sweep.name!r}: {name!r} is {said[0]} in cells {sweep.describe(one['cell'].values.tolist())}, "
                f"and {said[1]} in cells {sweep.describe(two['cell'].values.tolist())}. {sweep.compute} must return "
                f"the same variables, of the same types, for all cells"
            )


def _in_words(chunk: xr.Dataset, name: Any) -> str:
    """All about a variable but the numbers of cells."""
    if name not in chunk.variables:
        return "missing"
    variable = chunk.variables[name]
    kind = "text" if variable.dtype.kind in "OTU" else str(variable.dtype)
    sizes = ", ".join(f"{d}: {n}" if d != "cell" else "cell" for d, n in variable.sizes.items())
    said = "; ".join(f"{key} = {value!r}" for key, value in sorted(variable.attrs.items()))
    return f"{'a coordinate ' * (name in chunk.coords)}of type {kind} ({sizes}{'; ' * bool(said)}{said})"


def equal_bits(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays are equal bit by bit; all not-a-numbers count as one value."""
    # Words come back from a file as another kind of array; numbers never do.
    kinds = {one.dtype.kind, two.dtype.kind}
    if one.shape != two.shape or (len(kinds) > 1 and not kinds <= set("UOT")):
        return False
    if kinds != {"f"}:
        return bool(np.array_equal(one, two))
    # +0 and -0 compare equal but are different bits.
    return bool(np.all(np.isnan(one) & np.isnan(two) | (one == two) & (np.signbit(one) == np.signbit(two))))


def unfold(sweep: Sweep, cells: xr.Dataset) -> xr.Dataset:
    """The Dataset over the grid from one over ``cell`` (complete and in order), with the grid's labels."""
    variables = {}
    for name, array in cells.data_vars.items():
        dims, values = sweep.grid.unflatten(array.values, *map(str, array.dims[1:]))
        variables[name] = (dims, values, array.attrs)
    coords: dict[Any, Any] = {k: v for k, v in cells.coords.items() if "cell" not in v.dims} | dict(sweep.grid.coords)
    coords |= {name: varied for name, varied in sweep.cells.items() if name not in coords and name not in variables}
    return xr.Dataset(variables, coords)


@contextmanager
def connect(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """An executor on a Dask cluster, for :func:`deepmech.sweeps.run`; the connection is closed at the end.

    With a client of your own it is ``client.get_executor(pure=False)``: pure tasks would be remembered by Dask,
    failures included. Each worker should compute one chunk at a time (``--nthreads 1``): trainers and simulators spread
    a chunk over all cores that their process may use.

    Parameters
    ----------
    address : str
        Where the scheduler listens, as it prints it, for example ``tcp://10.0.0.1:8786``.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    ValueError
        Without the extra ``cluster``, or if no scheduler answers.

    Examples
    --------
    >>> with connect("tcp://127.0.0.1:1", timeout=0.1) as executor:
    ...     pass
    Traceback (most recent call last):
    ValueError: scheduler = 'tcp://127.0.0.1:1': no Dask scheduler answers there...
    """
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError as error:
        raise ValueError(f"scheduler = {address!r}: needs Dask ({error}): pip install 'distributed'") from error
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"scheduler = {address!r}: no Dask scheduler answers there ({error}). Start one with: dask scheduler"
        ) from error
    try:
        yield client.get_executor(pure=False)
    finally:
        # A client that lost its scheduler logs its attempts to find it again; the error says so already.
        with silence_logging_cmgr(logging.CRITICAL):
            client.close()
