"""Results that ship with the book: one way to get one, and what must be true of it before it is shown.

:func:`result` is the only door. A shipped file is taken by its key, which changes with spec, version and data, or
because its grid contains the one that is asked for, if its bytes are those of the record (:mod:`.record`), which says
how many of its cells were ever computed again (:mod:`.verification`).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import xarray as xr

from deepmech.sweeps import Sweep, run, sweep_of
from deepmech.sweeps.store import atomically, checksum, read_netcdf, write_netcdf
from deepmech_book.sweeps import record
from deepmech_book.sweeps.record import StaleError

#: Entry points of packages in which results ship, in their folder "results".
GROUP = "deepmech.results"


class NotShippedError(ValueError):
    """The folder of shipped results that is named is none."""


def publish(dataset: xr.Dataset, directory: str | Path, without: Collection[str] = ()) -> Path:
    """Write a sweep's whole result as one compressed, lossless netCDF file named by sweep and key; returns its path.

    ``dataset`` is what :func:`deepmech.sweeps.run` returned, of which the variables ``without`` are left out; one
    that is missing otherwise is a difference when the file is verified. The file holds the sweep itself, so it can be
    recomputed and verified from the file alone; the record beside it gets its entry.
    """
    dataset = dataset.drop_vars(list(without))
    sweep = sweep_of(dataset)
    sizes = {str(d): dataset.sizes.get(d) for d in sweep.grid.dims}
    if tuple(sizes.values()) != sweep.grid.shape:
        raise ValueError(f"publish: the dataset has grid {sizes}, its sweep {sweep.grid.shape}; publish the whole grid")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = place_of(sweep, directory)
    with atomically(path) as temporary:
        write_netcdf(dataset, temporary, compress=True)
    record.add_entry(path, dataset, sweep.n_cells, without)
    _read.pop(path, None)
    return path


def place_of(sweep: Sweep, directory: Path) -> Path:
    """Where a result is shipped to; a FileExistsError if something lies there that was not shipped."""
    path, entry = directory / filename(sweep), record.read_record(directory).get(filename(sweep))
    if path.exists() and (entry is None or entry["file"] != checksum(path)):
        raise FileExistsError(f"publish: {path} is not the file that {record.FILE} beside it lists: move it away")
    return path


def filename(sweep: Sweep) -> str:
    """Name of a shipped result: it changes when spec, version or data change."""
    return f"{sweep.name}-{sweep.key}.nc"


def folder() -> Path | None:
    """Where shipped results lie: ``DEEPMECH_RESULTS``, else the checkout around the working directory, else the one
    that this library lies in, else the installed package; None if there are none.

    A NotShippedError if ``DEEPMECH_RESULTS`` names no folder.
    """
    if chosen := os.environ.get("DEEPMECH_RESULTS"):
        if not Path(chosen).is_dir():
            raise NotShippedError(f"DEEPMECH_RESULTS = {chosen!r}: is no folder; name that of the results, or unset it")
        return Path(chosen)
    here, package = Path.cwd(), Path(__file__).parents[1]
    for above in (here, *here.parents, *package.parents):
        if (above / "_toc.yml").is_file() and (above / "book" / "results").is_dir():
            return above / "book" / "results"
    packages = (importlib.util.find_spec(entry.value) for entry in importlib.metadata.entry_points(group=GROUP))
    folders = (Path(spec.origin).parent / "results" for spec in packages if spec is not None and spec.origin)
    return next((where for where in folders if where.is_dir()), None)


_read: dict[Path, xr.Dataset] = {}


def result(sweep: Sweep) -> xr.Dataset:
    """The result of ``sweep``: shipped, or else from chunks that this code made, or else computed now.

    A shipped file counts if its sweep is this one, or one of which this is a part (three of ten seeds, say), and its
    bytes are those of the record beside it. What is computed is said in one line on standard error. The variable
    ``DEEPMECH_STORES`` names a folder in which an interrupted computation goes on where it stopped; without it nothing
    is kept. It is a copy of your own, whose attribute ``obtained`` says which way it came; a StaleError, if a shipped
    file is not the one of the record.
    """
    where = folder()
    if where is not None and (match := shipped(sweep, where)) is not None:
        path, whole = match
        if path not in _read:
            entry = record.read_entry(path)
            dataset = _open(path, whole)
            words = record.recomputed_in_words(entry, whole.code)
            _log_access(whole, {"obtained": "shipped", "of": whole.n_cells, "source": path.stem, "words": words})
            _read[path] = dataset.assign_attrs(obtained=f"shipped with the book; {words}")
        return part_of(_read[path], sweep)
    stores = os.environ.get("DEEPMECH_STORES")
    if stores and Path(stores).exists() and not Path(stores).is_dir():
        raise ValueError(f"DEEPMECH_STORES = {stores!r}: is no folder; name one for unfinished sweeps, or unset it")
    store = Path(stores) / f"{sweep.name}-{sweep.key}-{sweep.code}" if stores else None
    _announce(sweep, where)
    runs = run(sweep, store)
    _log_access(sweep, {"obtained": "computed", "of": sweep.n_cells})
    return runs.assign_attrs(obtained="computed by this code")


def shipped(sweep: Sweep, where: Path) -> tuple[Path, Sweep] | None:
    """The file in the folder ``where`` that holds a sweep, and the whole of which it is a part, if there is one."""
    if (path := where / filename(sweep)).exists():
        return path, sweep
    wholes = ((path, sweep_in(path)) for path in _files_of(sweep, where))
    return next(((path, whole) for path, whole in wholes if whole.contains(sweep)), None)


def part_of(dataset: xr.Dataset, sweep: Sweep) -> xr.Dataset:
    """A copy of what a file holds of a sweep, which is its own or a part of it."""
    if dataset.attrs["sweep_key"] == sweep.key:
        return dataset.copy(deep=True)
    mine = dataset.sel({d: sweep.grid.coords[d] for d in sweep.grid.dims}).copy(deep=True)
    return mine.assign_attrs(spec=json.dumps(sweep.to_json()), sweep_key=sweep.key)


def _files_of(sweep: Sweep, where: Path) -> list[Path]:
    """The shipped files of a sweep's name, whatever their grids."""
    return sorted(where.glob(f"{sweep.name}-{'[0-9a-f]' * 16}.nc"))


def sweep_in(path: Path) -> Sweep:
    """The sweep that a shipped file holds; its numbers are not read."""
    try:
        return sweep_of(read_netcdf(path, values=False))
    except ValueError as error:
        raise StaleError(f"{path}: is no shipped result ({error}); restore the file") from None


def _open(path: Path, sweep: Sweep) -> xr.Dataset:
    try:
        dataset = read_netcdf(path)
        inside = sweep_of(dataset)
    except (OSError, KeyError, ValueError) as error:
        raise StaleError(f"{path}: is no shipped result ({error}); restore the file") from None
    if inside.key != sweep.key or dataset.attrs.get("data", sweep.data) != sweep.data:
        raise StaleError(f"{path} holds sweep {inside.key}, not {sweep.key}: it was renamed or damaged")
    return dataset


def _announce(sweep: Sweep, where: Path | None) -> None:
    """Say on standard error that a sweep is computed, and how shipped files of its name differ from it."""
    near = [] if where is None else _files_of(sweep, where)
    words = "no shipped result has its name"
    if near:
        words = f"{', '.join(f.name for f in near)} differs in {', '.join(sweep.differences(sweep_in(near[0])))}"
    if near or sweep.n_cells > 1:
        sys.stderr.write(f"deepmech: computing {sweep.n_cells} cells of {sweep.name!r} ({words})\n")


def _log_access(sweep: Sweep, what: dict[str, Any]) -> None:
    """A line in the file that ``DEEPMECH_DRAWN`` names, for whoever prints what this process draws."""
    if path := os.environ.get("DEEPMECH_DRAWN"):
        line = json.dumps({"name": sweep.name, "key": sweep.key, **what}, default=float) + "\n"
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise ValueError(
                f"DEEPMECH_DRAWN = {path!r}: cannot be written ({error}); name a file, or unset it"
            ) from None
