"""Run a sweep: cells that a store does not hold yet are cut into chunks, computed somewhere, sealed and assembled."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from deepmech.core import provenance
from deepmech.sweeps.spec import Sweep
from deepmech.sweeps.store import Store, read_manifest

#: About how long one call may take, if nobody says how many cells it gets.
SECONDS = 20.0
#: After so many seconds without a chunk the connection to a cluster is looked at.
PULSE = 5.0
#: Attributes and kinds of numbers that netCDF would decode into other numbers, or cannot hold.
DECODED = {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned"}
KINDS = "fiubU"


class Incomplete(ValueError):
    """Cells of a grid are missing, so nothing can be said about the grid as a whole."""


class TooLong(RuntimeError):
    """To finish would take longer than the patience given; its text says how long."""


class CellsFailed(RuntimeError):
    """Some chunks raised; all others were computed and, with a store, kept."""


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: a Dataset over ``cell``, or a traceback."""

    indices: range
    dataset: xr.Dataset | None
    traceback: str = ""


def compute_chunk(sweep: Sweep, indices: range) -> Outcome:
    """Compute some cells; runs in this process or on a worker, and never raises because of the cells."""
    start = time.perf_counter()
    try:
        dataset = compute_cells(sweep, indices, sweep.fixed)
    except (Exception, SystemExit):
        return Outcome(indices, None, traceback.format_exc())
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
    if wrong := _unfit(dataset, indices):
        raise ValueError(f"{sweep.compute} returned {wrong}")
    dataset = dataset.drop_vars([k for k, v in dataset.coords.items() if "cell" in v.dims]).transpose("cell", ...)
    if "diverged" in dataset:
        return dataset
    bad = np.zeros(len(indices), bool)
    for array in dataset.data_vars.values():
        if array.dtype.kind == "f":
            bad |= ~np.isfinite(array.values.reshape(len(indices), -1)).all(axis=1)
    return dataset.assign(diverged=("cell", bad))


def _unfit(dataset: Any, indices: Sequence[int]) -> str:
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
    for name, values in dataset.variables.items():
        words = values.dtype.kind in "OT" and all(isinstance(v, str) for v in values.values.ravel())
        if values.dtype.kind not in KINDS and not words:
            return f"{name!r} of type {values.dtype}, which a file does not keep: give real numbers, booleans or texts"
        if decoded := DECODED & values.attrs.keys():
            return f"{name!r} with the attribute {min(decoded)!r}, which means another number"
    return ""


def chunks_of(indices: Sequence[int], chunk: int) -> list[range]:
    """Ranges of at most ``chunk`` consecutive indices that together cover ``indices`` (sorted).

    Examples
    --------
    >>> chunks_of([0, 1, 2, 5, 6], 2)
    [range(0, 2), range(2, 3), range(5, 7)]
    """
    ranges: list[range] = []
    for i in indices:
        if ranges and ranges[-1].stop == i and len(ranges[-1]) < chunk:
            ranges[-1] = range(ranges[-1].start, i + 1)
        else:
            ranges.append(range(i, i + 1))
    return ranges


def run(
    sweep: Sweep,
    store: str | Path | None = None,
    *,
    chunk: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    patience: float = float("inf"),
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
    patience : float
        Seconds that all of it may take, by what the chunks so far took.

    Returns
    -------
    xarray.Dataset
        Variables of ``compute`` over the grid's dimensions, a boolean ``diverged``, the grid's labels, and provenance.

    Raises
    ------
    CellsFailed
        Chunks that raised, by the parameters of their cells, with traceback; raised after all others were computed.
    StoreError
        The disk did not take a chunk.
    TooLong
        It would take more than ``patience``; what a store holds by then is kept.
    RuntimeError
        The executor broke down: a pool lost a process, or a cluster its scheduler.
    ValueError
        The store belongs to another sweep or was made by other code, or chunks do not fit together.

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
        return _whole(sweep, _run(sweep, None, chunk, executor, progress, patience), "Run it again")
    place.require_code()
    with place.alone():
        _run(sweep, place, chunk, executor, progress, patience)
    return load(sweep, place.path)


def _run(
    sweep: Sweep, place: Store | None, chunk: int | None, executor: Executor | None, progress: bool | None,
    patience: float,
) -> list[xr.Dataset]:  # fmt: skip
    """Compute what is missing; all chunks, where no store keeps them."""
    done = [] if place is None else place.read()
    todo = missing(sweep, done)
    failed: list[Outcome] = []
    quiet = not sys.stderr.isatty() if progress is None else not progress
    started, count = time.perf_counter(), 0
    how: Any = {"desc": sweep.name, "unit": "cell", "disable": quiet, "file": sys.stderr}
    with tqdm(total=sweep.n_cells, initial=sweep.n_cells - len(todo), **how) as bar:
        for outcome in _outcomes(sweep, todo, chunk, executor):
            if outcome.dataset is None:
                failed.append(outcome)
            elif place is not None:
                place.write(outcome.indices.start, outcome.dataset)
            else:
                done.append(outcome.dataset)
            bar.update(len(outcome.indices))
            count += len(outcome.indices)
            needed = (time.perf_counter() - started) / count * len(todo)
            if needed > patience and count < len(todo):
                raise TooLong(f"about {needed:.0f} s")
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
        while todo:
            start = time.perf_counter()
            indices = chunks_of(todo, size)[0]
            yield compute_chunk(sweep, indices)
            todo = todo[len(indices) :]
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
        seed=str(sweep.fixed.get("seed", "in cells" if "seed" in sweep.cells else "none")),
        device=of_chunks("device"),
        dtype=chunks[0].attrs.get("dtype", "as computed"),
        wall_seconds=sum(chunk.attrs.get("wall_seconds", 0.0) for chunk in chunks),
    )
    made |= {name: of_chunks(name) for name in ("code", "versions", "machine")}
    made |= {"sweep": sweep.name, "sweep_key": sweep.key, "data": sweep.data, "chunks": len(chunks)}
    return unfold(sweep, join(sweep, chunks)).assign_attrs(made)


def missing(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> list[int]:
    """Flat indices of the cells that no chunk holds."""
    have = {int(i) for chunk in chunks for i in chunk["cell"].values}
    return [i for i in range(sweep.n_cells) if i not in have]


def join(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> xr.Dataset:
    """All cells along one dimension ``cell``, in order, each once; cells computed twice must agree to the bit."""
    first = chunks[0]
    for chunk in chunks:
        same = chunk.drop_dims("cell").equals(first.drop_dims("cell"))
        if set(chunk.data_vars) != set(first.data_vars) or not same:
            raise ValueError(
                f"sweep {sweep.name!r}: chunks have different variables or coordinates; {sweep.compute} must "
                f"return the same ones for all cells"
            )
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
        if len(set(dims)) < len(dims):
            raise ValueError(
                f"sweep {sweep.name!r}: variable {name!r} has a dimension named like one of the grid, {sweep.grid.dims}"
            )
        variables[name] = (dims, values, array.attrs)
    coords: dict[Any, Any] = {k: v for k, v in cells.coords.items() if "cell" not in v.dims} | dict(sweep.grid.coords)
    coords |= {name: varied for name, varied in sweep.cells.items() if name not in coords and name not in variables}
    return xr.Dataset(variables, coords)
