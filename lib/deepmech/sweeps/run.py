"""How a sweep runs: cells that a store lacks are cut into chunks, computed here or on an executor's workers, joined.

Workers compute and hand results to this process, which alone writes the store: no worker needs to see its directory.
Data are not sent: the sweep's function loads them by name where it runs.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from deepmech.core import provenance, specs
from deepmech.sweeps.store import Store, from_netcdf, to_netcdf
from deepmech.sweeps.sweep import Sweep


class IncompleteError(ValueError):
    """Cells of a grid are missing, so nothing can be said about the grid as a whole."""


class CellsFailedError(RuntimeError):
    """Some chunks raised; all others were computed and, with a store, kept."""


@dataclass(frozen=True)
class Outcome:
    """What became of the cells of a chunk: a Dataset over ``cell``, or, if the function raised, the traceback."""

    indices: range
    dataset: xr.Dataset | None
    traceback: str = ""


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
        The grid and its function.
    store : path, optional
        Directory that keeps what is computed. Without it results live in memory only.
    chunk : int, optional
        Largest number of cells computed in one call, and lost by a kill. Default: a 32nd of the grid where a store or
        an executor is named, else all cells at once, which trainers and simulators compute side by side.
    executor : concurrent.futures.Executor, optional
        Where chunks are computed (a process pool, ``client.get_executor(pure=False)`` of Dask, ...); default: here, one
        after another. It is not shut down. Its workers only compute; the store is written by this process.
    progress : bool, optional
        A bar with an estimate on stderr; default: only if stderr is a terminal, or in words in the file
        that the variable ``DEEPMECH_PROGRESS`` names.

    Returns
    -------
    xarray.Dataset
        Variables of ``compute`` over the grid's dimensions, a boolean ``diverged``, the grid's labels, and provenance.

    Raises
    ------
    CellsFailedError
        Chunks that raised, by the parameters of their cells, with traceback; raised after all others were computed.
        At once, if the function returned what no file keeps, as it will for the other cells.
    OSError
        The disk did not take a chunk; those before it are kept.
    RuntimeError
        The executor broke down: a pool lost a process, say.
    ValueError
        The store belongs to another sweep or was made by other code, a worker runs other code, or chunks do not fit
        together: their variables differ, in types say.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.sweeps import Sweep, run
    >>> sweep = Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    >>> run(sweep, chunk=1)["power"].sel(base=2.0).values.tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    specs.check_type("run: sweep", sweep, Sweep)
    if chunk is not None:
        chunk = specs.check_int("run: chunk", chunk)
    specs.check("run: executor", executor, executor is None or hasattr(executor, "submit"), "an executor, or None")
    specs.check("run: store", store, store is None or isinstance(store, str | Path), "a path, or None")
    sweep.function()
    try:
        to_netcdf(unfold(sweep, xr.Dataset()))
    except Exception as error:  # whatever writers raise: known before the first cell, and not after the last
        raise ValueError(f"Sweep.cells of {sweep.name!r}: no file keeps their labels: {error}") from error
    if store is None:
        chunks: list[xr.Dataset] = []
        size = chunk or (sweep.n_cells if executor is None else ceil(sweep.n_cells / 32))
        _compute(sweep, [], chunks_of(range(sweep.n_cells), size), executor, progress, chunks.append)
        return _whole(sweep, chunks, "Run it again")
    place = Store(Path(store), sweep)
    with place.locked():
        done = place.read()
        if foreign := {str(made.attrs.get("code")) for made in done} - {sweep.code}:
            raise ValueError(
                f"{store} holds cells made by other code ({', '.join(foreign)}; this is {sweep.code}): use another "
                "directory"
            )
        todo = chunks_of(missing(sweep, done), chunk or ceil(sweep.n_cells / 32))
        _compute(sweep, done[:1], todo, executor, progress, place.write)
    return load(sweep, store)


def load(sweep: Sweep, store: str | Path) -> xr.Dataset:
    """The whole grid from a store, computing nothing; IncompleteError names what is missing and how to get it.

    Parameters
    ----------
    sweep : Sweep
        That of the store; a ValueError names what differs.
    store : path
        The folder that :func:`run` was given.

    Returns
    -------
    xarray.Dataset
        As of :func:`run`.

    Raises
    ------
    IncompleteError
        If cells are missing.
    ValueError
        If there is no store, or it belongs to another sweep.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from deepmech import over
    >>> from deepmech.sweeps import Sweep, load, run
    >>> sweep = Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    >>> with TemporaryDirectory() as folder:
    ...     run(sweep, folder).equals(load(sweep, folder))
    True
    """
    specs.check_type("load: sweep", sweep, Sweep)
    specs.check("load: store", store, isinstance(store, str | Path), "a path")
    place = Store(Path(store), sweep)
    place.require_sweep()
    return _whole(sweep, place.read(), "Run it again with this store")


def missing(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> list[int]:
    """Flat indices of the cells that no chunk holds."""
    have = {int(i) for chunk in chunks for i in chunk["cell"].values}
    return [i for i in range(sweep.n_cells) if i not in have]


def chunks_of(indices: Sequence[int], size: int) -> list[range]:
    """Ranges of at most ``size`` consecutive indices that together cover ``indices`` (sorted).

    Examples
    --------
    >>> chunks_of([0, 1, 2, 5, 6], 2)
    [range(0, 2), range(2, 3), range(5, 7)]
    """
    ranges: list[range] = []
    for i in indices:
        if ranges and i == ranges[-1].stop and len(ranges[-1]) < size:
            ranges[-1] = range(ranges[-1].start, i + 1)
        else:
            ranges.append(range(i, i + 1))
    return ranges


def _compute(
    sweep: Sweep,
    like: list[xr.Dataset],
    todo: list[range],
    executor: Executor | None,
    progress: bool | None,
    keep: Callable[[xr.Dataset], Any],
) -> None:
    """Have chunks computed, and ``keep`` each that is alike the first of ``like``, or else the first that comes."""
    failed: list[Outcome] = []
    left, quiet = sum(map(len, todo)), not sys.stderr.isatty() if progress is None else not progress
    how: dict[str, Any] = {"desc": sweep.name, "unit": "cell", "disable": quiet}
    watched = os.environ.get("DEEPMECH_PROGRESS") if progress is None else None
    if watched:
        told = "{desc}: {n_fmt} of {total_fmt} cells, {remaining} left"
        how |= {"disable": False, "mininterval": 0, "bar_format": told}
    with (
        open(watched, "a", encoding="utf-8") if watched else nullcontext(sys.stderr) as file,
        tqdm(total=sweep.n_cells, initial=sweep.n_cells - left, file=file, **how) as bar,
    ):
        for outcome in _outcomes(sweep, todo, executor):
            if outcome.dataset is None:
                failed.append(outcome)
            else:
                if (code := outcome.dataset.attrs["code"]) != sweep.code:
                    raise ValueError(
                        f"sweep {sweep.name!r}: a worker runs other code ({code}; this is {sweep.code}): install the "
                        "same version everywhere, and start the workers again"
                    )
                if not like:
                    like = [outcome.dataset]
                _require_alike(sweep, like[0], outcome.dataset)
                keep(outcome.dataset)
            bar.update(len(outcome.indices))
    if failed:
        cells = [i for outcome in failed for i in outcome.indices]
        raise CellsFailedError(
            f"sweep {sweep.name!r}: {len(cells)} of {sweep.n_cells} cells were in chunks that raised: "
            f"{sweep.describe(cells)}. All other cells are kept if a store was given. The first:\n{failed[0].traceback}"
        )


def _outcomes(sweep: Sweep, todo: list[range], executor: Executor | None) -> Iterator[Outcome]:
    if executor is None:
        yield from (compute_chunk(sweep, indices) for indices in todo)
        return
    waiting: dict[Future[Outcome], range] = {}
    try:
        for indices in todo:
            waiting[executor.submit(compute_chunk, sweep, indices)] = indices
        for future in as_completed(waiting):
            try:
                yield future.result()
            except (BrokenExecutor, CancelledError, CellsFailedError):
                raise
            except Exception:  # lost on the way: a worker died, or the result could not travel
                yield Outcome(waiting[future], None, traceback.format_exc())
    except (BrokenExecutor, CancelledError) as error:
        raise RuntimeError(
            f"sweep {sweep.name!r}: a worker process died (out of memory?) or the cluster was lost ({error}). Finished "
            "chunks are kept if a store was given; run again to go on"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


def compute_chunk(sweep: Sweep, indices: range) -> Outcome:
    """Compute some cells; runs in this process or on a worker, and raises only what would be raised for all cells."""
    start = time.perf_counter()
    try:
        dataset = compute_cells(sweep, indices, sweep.fixed)
    except CellsFailedError:
        raise
    except (Exception, SystemExit):
        return Outcome(indices, None, traceback.format_exc())
    origin = {
        "code": sweep.code,
        "versions": provenance.versions_in_words(),
        "machine": provenance.machine(),
        "device": dataset.attrs.get("device", "cpu"),
        "dtype": dataset.attrs.get("dtype", "as computed"),
        "wall_seconds": time.perf_counter() - start,
    }
    dataset = dataset.assign_coords(cell=np.asarray(indices))
    dataset.attrs = origin
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
    if wrong := _fault(sweep, dataset, indices):
        raise CellsFailedError(f"sweep {sweep.name!r}: {sweep.compute} returned {wrong}")
    dataset = dataset.drop_vars([k for k, v in dataset.coords.items() if "cell" in v.dims]).transpose("cell", ...)
    dataset.attrs = {name: str(dataset.attrs[name]) for name in ("device", "dtype") if name in dataset.attrs}
    try:
        dataset = from_netcdf(to_netcdf(dataset))
    except Exception as error:  # whatever writers raise, which they will for all cells
        raise CellsFailedError(f"sweep {sweep.name!r}: {sweep.compute} returned what no file keeps: {error}") from None
    if "diverged" in dataset:
        return dataset
    bad = np.zeros(len(indices), bool)
    for array in dataset.data_vars.values():
        if array.dtype.kind == "f":
            bad |= ~np.isfinite(array.values.reshape(len(indices), -1)).all(axis=1)
    return dataset.assign(diverged=("cell", bad))


def _fault(sweep: Sweep, dataset: Any, indices: Sequence[int]) -> str:
    """What is wrong with the result of a sweep's function, in words; nothing, if it is one."""
    if not isinstance(dataset, xr.Dataset):
        return f"a {type(dataset).__name__}; it must return an xarray.Dataset"
    if not dataset.data_vars:
        return "no variables"
    for name, array in dataset.data_vars.items():
        if array.sizes.get("cell") != len(indices):
            return f"{name!r} with dims {dict(array.sizes)}; one must be 'cell', of length {len(indices)}"
    if "cell" in dataset.coords and not np.array_equal(dataset["cell"], indices):
        return f"cells {dataset['cell'].values}; it was given {list(indices)}"
    of_cells = {name for name, values in dataset.coords.items() if "cell" in values.dims}  # the grid's take their place
    taken = ({*dataset.variables, *dataset.dims} - of_cells) & {*sweep.grid.coords}
    return f"{min(map(str, taken))!r}, which is the name of a label of the grid" if taken else ""


def _whole(sweep: Sweep, chunks: Sequence[xr.Dataset], remedy: str) -> xr.Dataset:
    """The labelled grid with its provenance; an error that says which cells are missing."""
    if absent := missing(sweep, chunks):
        raise IncompleteError(
            f"sweep {sweep.name!r} is incomplete: {len(absent)} of {sweep.n_cells} cells are missing: "
            f"{sweep.describe(absent)}. {remedy}"
        )

    def of_chunks(name: str) -> str:
        return " | ".join(sorted({str(chunk.attrs.get(name, "unknown")) for chunk in chunks}))

    if " | " in of_chunks("code"):
        raise ValueError(f"sweep {sweep.name!r}: cells were made by different code: {of_chunks('code')}")
    origin = provenance.attributes(
        spec=json.dumps(sweep.to_json()),
        seed=seed_in_words(sweep),
        device=of_chunks("device"),
        dtype=chunks[0].attrs.get("dtype", "as computed"),
        wall_seconds=sum(chunk.attrs.get("wall_seconds", 0.0) for chunk in chunks),
    )
    origin |= {name: of_chunks(name) for name in ("code", "versions", "machine")}
    origin |= {"sweep": sweep.name, "sweep_key": sweep.key, "data": sweep.data, "chunks": len(chunks)}
    return unfold(sweep, join(chunks)).assign_attrs(origin)


def seed_in_words(sweep: Sweep) -> str:
    """The seed of all cells, or where it is found."""
    return str(sweep.fixed.get("seed", "in cells" if "seed" in sweep.cells else "none"))


def join(chunks: Sequence[xr.Dataset]) -> xr.Dataset:
    """All cells along one dimension ``cell``, in order; one that two chunks hold, which is the same in both, once."""
    cells = xr.concat(chunks, "cell", data_vars="all", coords="minimal", compat="override", join="exact")
    return cells.drop_duplicates("cell").sortby("cell")


def _require_alike(sweep: Sweep, one: xr.Dataset, two: xr.Dataset) -> None:
    """A ValueError unless two chunks differ in the numbers of their cells alone: joined, they would be other numbers,
    and which depended on how cells were cut into chunks."""
    a, b = layout(one), layout(two)
    if differ := {name for name in {*a, *b} if a.get(name) != b.get(name)}:
        name = min(differ)
        raise ValueError(
            f"sweep {sweep.name!r}: {name!r} is {a.get(name, 'missing'):.300} in cells "
            f"{sweep.describe(one['cell'].values.tolist())}, and {b.get(name, 'missing'):.300} in cells "
            f"{sweep.describe(two['cell'].values.tolist())}. {sweep.compute} must return the same variables, of "
            "the same types, for all cells"
        )


def layout(chunk: xr.Dataset) -> dict[str, str]:
    """What all chunks of a sweep have in common: all of a variable but the numbers of cells, as text."""
    found = {}
    for name, one in chunk.variables.items():
        kind = "text" if one.dtype.kind == "U" else one.dtype
        sizes = {dim: size for dim, size in one.sizes.items() if dim != "cell"}
        values = "" if "cell" in one.dims else f", {one.values.tolist()}"
        found[str(name)] = f"of type {kind} over {sizes or 'cells alone'} with {one.attrs}{values}"
    return found


def unfold(sweep: Sweep, cells: xr.Dataset) -> xr.Dataset:
    """The Dataset over the grid from one over ``cell`` (complete and in order), with the grid's labels."""
    variables = {}
    for name, array in cells.data_vars.items():
        dims, values = sweep.grid.unflatten(array.values, *map(str, array.dims[1:]))
        variables[name] = (dims, values, array.attrs)
    coords: dict[Any, Any] = {k: v for k, v in cells.coords.items() if "cell" not in v.dims} | dict(sweep.grid.coords)
    coords |= {name: varied for name, varied in sweep.cells.items() if name not in coords and name not in variables}
    return xr.Dataset(variables, coords)
