"""The record beside shipped results: their bytes, what a cell costs, and every cell that was ever computed again.

One entry a file, under version control with it. A build shows no file without its entry, and none whose bytes are
others. A changed library refuses nothing: builds and CI compute random cells again, a difference stops them, and each
page says how many cells of a result were ever recomputed, and how many of them by the code of the day.
"""

from __future__ import annotations

import datetime
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr
from filelock import FileLock

from deepmech.core import provenance
from deepmech.core.files import write_whole
from deepmech.core.specs import digest
from deepmech.sweeps.store import checksum

FILE = "record.json"


class Stale(ValueError):
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
        Whether only a part of each was, see :func:`~deepmech.sweeps.sweep.recomputed`.
    seconds
        What that took.
    largest
        The largest relative difference of a number (0: equal bits).
    wrong
        What is different and may not be, in words: numbers, dimensions, coordinates, names and units.
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
    wrong: tuple[str, ...] = ()
    reason: str = ""
    where: str = ""

    @property
    def passed(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if not self.cells:
            return f"{self.source}: not recomputed here: {self.reason}"
        whole = "a part of each of " if self.in_part else ""
        said = "equal" if self.largest == 0 else f"equal to {self.largest:.1g} of each number"
        said = f"DIFFERENT: {'; '.join(self.wrong)}" if self.wrong else said
        return f"{self.source}: recomputed {whole}{len(self.cells)} of {self.of} cells (seed {self.seed}): {said}"


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """All entries by file name; a :class:`Stale` if the record is damaged."""
    try:
        entries = json.loads((folder / FILE).read_text(encoding="utf-8"))
        sound = all({"file", "of", "seconds", "recomputed"} <= set(entry) for entry in entries.values())
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, TypeError):
        sound = False
    if not sound:
        raise Stale(f"{folder / FILE} is damaged; restore it from version control")
    return entries


def entry_of(path: Path) -> dict[str, Any]:
    """The entry of a shipped file; a :class:`Stale` if there is none, or if it, or its source, has other bytes."""
    entries = read(path.parent)
    entry = entries.get(path.name)
    if entry is None:
        raise Stale(f"{path.name} is not in {FILE} beside it: it was not shipped, or the record was lost; ship it anew")
    if entry["file"] != checksum(path):
        raise Stale(f"{path}: its bytes are not those of the record; restore the file, or ship the result anew")
    source, bytes_then = entry.get("source", ("", ""))
    if source and entries.get(source, {}).get("file") != bytes_then:
        raise Stale(f"{path.name} was made from {source}, which is another one now: compute and ship it again")
    return entry


def enter(path: Path, dataset: xr.Dataset, of: int) -> None:
    """A new entry for a file that was just written; entries of files that are gone go.

    Of a result of a shipped result the entry names the latter and its bytes.
    """
    fresh = {"file": checksum(path), "of": of, "seconds": round(float(dataset.attrs.get("wall_seconds", 0)) / of, 4)}
    if (key := dataset.attrs.get("data")) and (found := next(path.parent.glob(f"*-{key}.nc"), None)):
        fresh |= {"source": [found.name, checksum(found)]}
    _change(path, lambda old: {**fresh, "recomputed": []})


def add(path: Path, report: Report, code: str) -> None:
    """Note the cells of a report that passed; a ValueError of one that did not."""
    if not report.passed or not report.cells:
        raise ValueError(f"record: {path.name} did not pass, so there is nothing to note")
    kind, place = "parts" if report.in_part else "cells", provenance.processor()
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")

    def with_cells(entry: dict[str, Any]) -> dict[str, Any]:
        mine: dict[str, Any] = {"code": code, "on": place, "cells": [], "parts": [], "largest": 0.0}
        others = []
        for one in entry["recomputed"]:
            if (one["code"], one["on"]) == (code, place):
                mine = one
            else:
                others.append(one)
        mine = {**mine, kind: sorted({*mine[kind], *report.cells}), "largest": max(mine["largest"], report.largest)}
        took = {"part_seconds": round(report.seconds / len(report.cells), 2)} if report.in_part else {}
        return {**entry, **took, "recomputed": [*others, {**mine, "date": today}]}

    _change(path, with_cells)


def in_words(entry: dict[str, Any], code: str) -> str:
    """How much of a result was ever computed again.

    Examples
    --------
    >>> once = {"code": "c0de", "cells": [3, 7], "parts": [5]}
    >>> in_words({"of": 480, "recomputed": [once, {"code": "01d", "cells": [3], "parts": []}]}, "c0de")
    'recomputed so far: 3 of 480 cells (1 of them in part), 3 by today’s code'
    """
    whole = {cell for one in entry["recomputed"] for cell in one["cells"]}
    parts = {cell for one in entry["recomputed"] for cell in one["parts"]} - whole
    today = {cell for one in entry["recomputed"] if one["code"] == code for cell in (*one["cells"], *one["parts"])}
    some = f" ({len(parts)} of them in part)" if parts else ""
    return f"recomputed so far: {len(whole | parts)} of {entry['of']} cells{some}, {len(today)} by today’s code"


def _change(path: Path, change: Any) -> None:
    """Replace the entry of a file by what ``change`` makes of it; one process at a time."""
    folder = path.parent
    # The lock lies elsewhere, for the folder is under version control and travels with the package.
    with FileLock(Path(tempfile.gettempdir()) / f"deepmech-{digest(str(folder.resolve()))}.lock"):
        entries = {name: entry for name, entry in read(folder).items() if (folder / name).exists()}
        entries[path.name] = change(entries.get(path.name, {}))
        lines = (f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
        write_whole(folder / FILE, "{\n" + ",\n".join(lines) + "\n}\n")
