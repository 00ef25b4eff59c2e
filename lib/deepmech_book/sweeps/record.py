"""The record beside shipped results: their bytes, what a cell costs, and every cell that was ever computed again.

One entry a file, under version control with it. A build shows no file without its entry, and none whose bytes are
others. A changed library refuses nothing: CI and users compute random cells again (:func:`.verification.verify`), a
difference stops them, and each page says how many cells of a result were ever recomputed, and how many of them by the
code of the day.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock

from deepmech.core import provenance, specs
from deepmech.sweeps.files import JSON_BYTES, parse_json, read_bytes
from deepmech.sweeps.store import checksum, write_whole

#: The record, beside the files.
FILE = "record.json"


class StaleError(ValueError):
    """A shipped result is not what today's code computes, or nobody can say so."""


@dataclass(frozen=True)
class Report:
    """How a stored result compares with what today's code computes.

    Attributes
    ----------
    source, of
        What was checked, and how many cells it has.
    cells, seed
        Numbers of the cells that were computed again, and the seed that chose them; none if ``reason`` says why not.
    in_part
        Whether only a part of each was, see :class:`.policy.Policy`.
    seconds
        What that took.
    largest
        The largest relative difference of a number (0: equal bits). What is smaller cannot be told.
    differences
        The same by variable, of those that differ.
    wrong
        What is different and may not be, in words: numbers, types, dimensions, coordinates, names and units, and what
        the file or its entry say of themselves.
    where
        The first of the cells.
    """

    source: str
    of: int
    cells: tuple[int, ...] = ()
    seed: int = 0
    in_part: bool = False
    seconds: float = 0.0
    largest: float = 0.0
    differences: Mapping[str, float] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()
    reason: str = ""
    where: str = ""

    @property
    def passed(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.reason:
            return f"{self.source}: not recomputed here: {self.reason}"
        whole = "a part of each of " if self.in_part else ""
        words = "equal" if self.largest == 0 else f"equal to {self.largest:.1g} of each number"
        words = f"DIFFERENT: {'; '.join(self.wrong)}" if self.wrong else words
        if not self.cells:
            return f"{self.source}: {words}"
        return f"{self.source}: recomputed {whole}{len(self.cells)} of {self.of} cells (seed {self.seed}): {words}"


def read_record(folder: Path) -> dict[str, dict[str, Any]]:
    """All entries by file name; a :class:`StaleError` if the record is damaged."""
    try:
        entries = parse_json(read_bytes(folder / FILE, JSON_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StaleError(f"{folder / FILE} is damaged ({error}); restore it from version control") from None
    if not isinstance(entries, dict):
        raise StaleError(f"{folder / FILE} is damaged (no entries by name); restore it from version control")
    for name, entry in entries.items():
        if not _is_entry(entry):
            raise StaleError(f"{folder / FILE} is damaged (the entry of {name}); restore it from version control")
    return entries


def _is_entry(entry: Any) -> bool:
    """Whether it has the form of an entry; whether it is true, :func:`verify` says."""
    try:
        origin, source = entry.get("made", {"on": "", "versions": ""}), entry.get("source", ["", ""])
        of = entry["of"]
        return (
            isinstance(entry["file"], str)
            and isinstance(source, list)
            and type(of) is int
            and all(_is_number(entry.get(name, 0)) for name in ("seconds", "part_seconds"))
            and all(isinstance(word, str) for word in (origin["on"], origin["versions"], *source, *_texts_of(entry)))
            and len(source) == 2
            and all(
                all(isinstance(one[word], str) for word in ("code", "on"))
                and all(type(cell) is int and 0 <= cell < of for cell in (*one["cells"], *one["parts"]))
                and all(map(_is_number, by_variable(one.get("largest", 0.0)).values()))
                for one in entry["recomputed"]
            )
            and "seconds" in entry
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _texts_of(entry: Mapping[str, Any]) -> list[Any]:
    types = entry.get("variables", {})
    return [*types.keys(), *types.values(), *entry.get("left_out", [])]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < np.inf


def by_variable(largest: float | dict[str, float]) -> dict[str, float]:
    """Largest differences by variable; entries of old have one for all, under ``"*"``."""
    return largest if isinstance(largest, dict) else {"*": largest}


def read_entry(path: Path) -> dict[str, Any]:
    """The entry of a shipped file; a :class:`StaleError` if there is none, or if it, or its source, has other bytes."""
    entries = read_record(path.parent)
    entry = entries.get(path.name)
    if entry is None:
        raise StaleError(
            f"{path.name} is not in {FILE} beside it: it was not published, or the record was lost; publish it anew"
        )
    if entry["file"] != checksum(path):
        raise StaleError(f"{path}: its bytes are not those of the record; restore the file, or publish the result anew")
    source, bytes_then = entry.get("source", ("", ""))
    if source and entries.get(source, {}).get("file") != bytes_then:
        raise StaleError(f"{path.name} was made from {source}, which is another one now: compute and publish it again")
    return entry


def add_entry(path: Path, dataset: xr.Dataset, of: int, left_out: Collection[str] = ()) -> None:
    """A new entry for a file that was just written; entries of files that are gone go.

    It says on what the result was made, with which versions, and which variables of which types it holds; ``left_out``
    are computed and not kept. Of a result of a shipped result the entry names the latter and its bytes.
    """
    fresh: dict[str, Any] = {
        "file": checksum(path),
        "of": of,
        "seconds": cell_seconds(dataset, of),
        **describe(dataset),
    }
    if left_out:
        fresh["left_out"] = sorted(left_out)
    if (key := dataset.attrs.get("data")) and (file := next(path.parent.glob(f"*-{key}.nc"), None)):
        fresh |= {"source": [file.name, checksum(file)]}
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


def add_report(path: Path, report: Report, code: str) -> None:
    """Note the cells of a report that passed; a ValueError of one that did not."""
    if not report.passed or not report.cells:
        raise ValueError(f"record: {path.name} did not pass, so there is nothing to note")
    kind, place = "parts" if report.in_part else "cells", provenance.processor()
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")

    def with_cells(entry: dict[str, Any]) -> dict[str, Any]:
        mine: dict[str, Any] = {"code": code, "on": place, "cells": [], "parts": [], "largest": {}}
        others = []
        for one in entry["recomputed"]:
            if (one["code"], one["on"]) == (code, place):
                mine = one
            else:
                others.append(one)
        largest = dict(by_variable(mine["largest"]))
        for name, gap in report.differences.items():
            largest[name] = max(gap, largest.get(name, 0.0))
        mine = {**mine, kind: sorted({*mine[kind], *report.cells}), "largest": largest}
        took = {"part_seconds": round(report.seconds / len(report.cells), 2)} if report.in_part else {}
        return {**entry, **took, "recomputed": [*others, {**mine, "date": today}]}

    _change(path, with_cells)


def recomputed_in_words(entry: dict[str, Any], code: str) -> str:
    """How much of a result was ever computed again.

    Examples
    --------
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
        write_whole(folder / FILE, "{\n" + ",\n".join(lines) + "\n}\n")
