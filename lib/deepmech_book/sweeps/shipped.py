"""Results that ship with the book, the one way to them, and the record beside them.

:func:`result` is the only door. A shipped file is taken by its key, which changes with spec, version and data, or
because its grid contains the one that is asked for, if its bytes are those of the record: one entry a file, under
version control with it, which says what a cell costs and which were ever computed again (:mod:`.verification`).
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock

from deepmech.core import provenance, specs
from deepmech.sweeps import Sweep, run, sweep_of
from deepmech.sweeps.files import JSON_BYTES, parse_json, read_bytes
from deepmech.sweeps.store import checksum, from_netcdf, read_netcdf, to_netcdf, write_whole

#: The record, beside the files.
RECORD = "record.json"


class StaleError(ValueError):
    """A shipped result is not what today's code computes, or nobody can say so."""


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
            entry = read_entry(path)
            dataset = _open(path, whole)
            words = recomputed_in_words(entry, whole.code)
            _log_access(whole, {"obtained": "shipped", "of": whole.n_cells, "source": path.stem, "words": words})
            _read[path] = dataset.assign_attrs(obtained=f"shipped with the book; {words}")
        return part_of(_read[path], sweep)
    stores = os.environ.get("DEEPMECH_STORES")
    store = Path(stores) / f"{sweep.name}-{sweep.key}-{sweep.code}" if stores else None
    _announce(sweep, where)
    runs = run(sweep, store)
    _log_access(sweep, {"obtained": "computed", "of": sweep.n_cells})
    return runs.assign_attrs(obtained="computed by this code")


def folder() -> Path | None:
    """Where shipped results lie: ``DEEPMECH_RESULTS``, else the checkout around the working directory, else the one
    that this library lies in, else the installed package; None if there are none."""
    if chosen := os.environ.get("DEEPMECH_RESULTS"):
        if not Path(chosen).is_dir():
            raise ValueError(f"DEEPMECH_RESULTS = {chosen!r}: is no folder; name that of the results, or unset it")
        return Path(chosen)
    here, package = Path.cwd(), Path(__file__).parents[1]
    for above in (here, *here.parents, *package.parents):
        if (above / "_toc.yml").is_file() and (above / "book" / "results").is_dir():
            return above / "book" / "results"
    packages = importlib.metadata.entry_points(group="deepmech.results")
    specs_of = (importlib.util.find_spec(entry.value) for entry in packages)
    folders = (Path(spec.origin).parent / "results" for spec in specs_of if spec is not None and spec.origin)
    return next((where for where in folders if where.is_dir()), None)


def filename(sweep: Sweep) -> str:
    """Name of a shipped result: it changes when spec, version or data change."""
    return f"{sweep.name}-{sweep.key}.nc"


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
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": sweep.name, "key": sweep.key, **what}, default=float) + "\n")


def publish(dataset: xr.Dataset, directory: str | Path, without: Collection[str] = ()) -> Path:
    """Write a sweep's whole result as one compressed, lossless netCDF file named by sweep and key; returns its path.

    ``dataset`` is what :func:`deepmech.sweeps.run` returned, of which the variables ``without`` are left out; one
    that is missing otherwise is a difference when the file is verified. The file holds the sweep itself; the record
    beside it gets its entry, in which no cell was computed again, and loses those of files that are gone.
    """
    dataset = dataset.drop_vars(list(without))
    sweep = sweep_of(dataset)
    sizes = {str(d): dataset.sizes.get(d) for d in sweep.grid.dims}
    if tuple(sizes.values()) != sweep.grid.shape:
        raise ValueError(f"publish: the dataset has grid {sizes}, its sweep {sweep.grid.shape}; publish the whole grid")
    path = Path(directory) / filename(sweep)
    entry = read_record(path.parent).get(path.name)
    if path.exists() and (entry is None or entry["file"] != checksum(path)):
        raise FileExistsError(f"publish: {path} is not the file that {RECORD} beside it lists: move it away")
    content = to_netcdf(dataset, compress=True)
    if not from_netcdf(content).identical(dataset):
        raise ValueError(f"publish: no file gives {sweep.name!r} back as it is: give its labels plain names")
    write_whole(path, content)
    add_entry(path, dataset, sweep.n_cells, without)
    _read.pop(path, None)
    return path


def read_record(folder: Path) -> dict[str, dict[str, Any]]:
    """All entries by file name; a :class:`StaleError` if the record is damaged."""
    try:
        entries = parse_json(read_bytes(folder / RECORD, JSON_BYTES))
        what = "no entries by name"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        entries, what = None, str(error)
    if isinstance(entries, dict):
        what = ", ".join(f"the entry of {name!r}" for name, entry in entries.items() if not _is_entry(entry))
    if what:
        raise StaleError(f"{folder / RECORD} is damaged ({what}); restore it from version control")
    return entries


def _is_entry(entry: Any) -> bool:
    """Whether it has the form of an entry; whether it is true, :func:`.verification.verify` says."""
    try:
        of, times, source = entry["of"], entry["recomputed"], entry.get("source", ["", ""])
        texts = [entry["file"], *entry["made"].values(), *entry["variables"].values(), *source]
        texts += [*entry.get("left_out", []), *(one[word] for one in times for word in ("code", "on"))]
        sizes = [
            entry["seconds"],
            entry.get("part_seconds", 0),
            *(gap for one in times for gap in one["largest"].values()),
        ]
        cells = [cell for one in times for cell in (*one["cells"], *one["parts"])]
        return (
            {*entry["made"]} == {"on", "versions"}
            and isinstance(source, list) and len(source) == 2
            and all(isinstance(text, str) for text in texts)
            and all(map(_is_number, sizes))
            and type(of) is int and all(type(cell) is int and 0 <= cell < of for cell in cells)
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError):
        return False


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < np.inf


def read_entry(path: Path) -> dict[str, Any]:
    """The entry of a shipped file; a :class:`StaleError` if there is none, or if it, or its source, has other bytes."""
    entries = read_record(path.parent)
    if (entry := entries.get(path.name)) is None:
        raise StaleError(
            f"{path.name} is not in {RECORD} beside it: it was not published, or the record was lost; publish it anew"
        )
    if entry["file"] != checksum(path):
        raise StaleError(f"{path}: its bytes are not those of the record; restore the file, or publish the result anew")
    source, bytes_then = entry.get("source", ("", ""))
    if source and entries.get(source, {}).get("file") != bytes_then:
        raise StaleError(f"{path.name} was made from {source}, which is another one now: compute and publish it again")
    return entry


def add_entry(path: Path, dataset: xr.Dataset, of: int, left_out: Collection[str] = ()) -> None:
    """A new entry for a file that was just written, which says what was ``left_out`` of what is computed, and from
    which shipped result this one was made."""
    fresh = {"file": checksum(path), "of": of, "seconds": cell_seconds(dataset, of), **describe(dataset)}
    if left_out:
        fresh["left_out"] = sorted(left_out)
    if (key := dataset.attrs.get("data")) and (file := next(path.parent.glob(f"*-{key}.nc"), None)):
        fresh["source"] = [file.name, checksum(file)]
    _change(path, lambda old: {**fresh, "recomputed": []})


def describe(dataset: xr.Dataset) -> dict[str, Any]:
    """What an entry says of a result besides its bytes: where it was made, and the types of its variables."""
    kinds = {one.partition(",")[0] for one in str(dataset.attrs.get("machine", "unknown")).split(" | ")}
    versions = str(dataset.attrs.get("versions", "unknown"))
    types = {str(name): type_name(array.dtype) for name, array in sorted(dataset.data_vars.items(), key=str)}
    return {"made": {"on": " | ".join(sorted(kinds)), "versions": versions}, "variables": types}


def type_name(dtype: np.dtype) -> str:
    return "text" if dtype.kind in "OTU" else str(dtype)


def cell_seconds(dataset: xr.Dataset, of: int) -> float:
    """Seconds that a cell took."""
    wall = dataset.attrs.get("wall_seconds", 0)
    return round(float(wall) / of, 4) if _is_number(wall) and of > 0 else 0.0


def add_cells(
    path: Path, code: str, cells: Collection[int], in_part: bool, seconds: float, differences: Mapping[str, float]
) -> None:
    """Note cells that were computed again by a code, or a part of each, in so many seconds, and the largest differences
    by variable."""
    kind, place = "parts" if in_part else "cells", provenance.processor()
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")

    def with_cells(entry: dict[str, Any]) -> dict[str, Any]:
        mine: dict[str, Any] = {"code": code, "on": place, "cells": [], "parts": [], "largest": {}}
        others = []
        for one in entry["recomputed"]:
            if (one["code"], one["on"]) == (code, place):
                mine = one
            else:
                others.append(one)
        largest = mine["largest"] | {n: max(gap, mine["largest"].get(n, 0.0)) for n, gap in differences.items()}
        mine = {**mine, kind: sorted({*mine[kind], *cells}), "largest": largest, "date": today}
        took = {"part_seconds": round(seconds / len(cells), 2)} if in_part else {}
        return {**entry, **took, "recomputed": [*others, mine]}

    _change(path, with_cells)


def recomputed_in_words(entry: dict[str, Any], code: str) -> str:
    """How much of a result was ever computed again.

    >>> once = {"code": "c0de", "cells": [3, 7], "parts": [5]}
    >>> recomputed_in_words({"of": 480, "recomputed": [once, {"code": "01d", "cells": [3], "parts": []}]}, "c0de")
    'checked: 3 of 480 cells (1 of them in part) were computed again and agreed, 3 since the last edit of the code'
    """
    whole = {cell for one in entry["recomputed"] for cell in one["cells"]}
    parts = {cell for one in entry["recomputed"] for cell in one["parts"]} - whole
    today = {cell for one in entry["recomputed"] if one["code"] == code for cell in (*one["cells"], *one["parts"])}
    some = f" ({len(parts)} of them in part)" if parts else ""
    if not whole | parts:
        return f"not checked: none of {entry['of']} cells was computed again"
    since = f"{len(today)} since the last edit of the code" if today else "all before the last edit of the code"
    return f"checked: {len(whole | parts)} of {entry['of']} cells{some} were computed again and agreed, {since}"


def _change(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace the entry of a file by what ``change`` makes of it; one process at a time."""
    folder = path.parent
    # The lock lies elsewhere, for the folder is under version control and travels with the package.
    with FileLock(Path(tempfile.gettempdir()) / f"deepmech-{specs.digest(str(folder.resolve()))}.lock"):
        entries = {name: entry for name, entry in read_record(folder).items() if (folder / name).exists()}
        entries[path.name] = change(entries.get(path.name, {}))
        lines = (f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
        write_whole(folder / RECORD, "{\n" + ",\n".join(lines) + "\n}\n")
