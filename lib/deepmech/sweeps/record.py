"""The record beside shipped results: their bytes, what a cell costs, and every cell that was ever computed again.

One entry a file, under version control with it. A build shows no file without its entry, and none whose bytes are
others. A changed library refuses nothing: builds and CI compute random cells again, a difference stops them, and each
page says how many cells of a result were ever recomputed, and how many of them by the code of the day.
:func:`verify` computes cells again and compares all that a result holds.
"""

from __future__ import annotations

import datetime
import itertools
import json
import secrets
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock

from deepmech.core import provenance, specs
from deepmech.core.files import write_whole
from deepmech.core.random import Stream
from deepmech.data import DataMissing
from deepmech.sweeps.store import checksum, read_netcdf, sweep_at
from deepmech.sweeps.sweep import Sweep, allowed, compute_cells, equal_bits, load, sweep_of

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
    with FileLock(Path(tempfile.gettempdir()) / f"deepmech-{specs.digest(str(folder.resolve()))}.lock"):
        entries = {name: entry for name, entry in read(folder).items() if (folder / name).exists()}
        entries[path.name] = change(entries.get(path.name, {}))
        lines = (f"{json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
        write_whole(folder / FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def verify(
    path: str | Path,
    *,
    n: int = 3,
    seed: int | None = None,
    whole: bool = False,
    minutes: float | None = None,
    trust: Collection[str] = (),
) -> Iterator[Report]:
    """Compute randomly chosen cells again, compare them with what is stored, and note in the record what passed.

    Allowed is what the function itself states (:func:`~deepmech.sweeps.sweep.recomputed`); if it states nothing, bits
    are equal on the kind of processor and with the versions that made the result, and numbers to rounding elsewhere.

    Parameters
    ----------
    path : path
        A shipped file, a directory of shipped files, or a store.
    n : int
        Cells per result; all of them, if it has no more.
    seed : int, optional
        Which cells are chosen; another one in each call if it is left out. One in four choices begins with a corner
        of the grid.
    whole : bool
        Compute also such cells wholly of which a part would do.
    minutes : float, optional
        Go round the results in random order, each time with other cells, until the time is up. In a round each result
        has the same share of the time; where that is less than a cell takes, one is drawn in some rounds only.
    trust : list of str
        Functions, as ``"module:function"``, that may be called if a result names them. Those of deepmech and its book
        that compute sweeps always may.

    Yields
    ------
    Report
        Of one result after the other.

    Raises
    ------
    ValueError
        If there is nothing to verify at ``path``, or a result names a function that it may not.
        A difference is no error: see :attr:`Report.passed`.
    """
    specs.whole("verify: n", n)
    files = found_at(path)
    if minutes is None:
        for file in files:
            yield _verified(file, n, seed, whole, trust)
        return
    end, share = time.monotonic() + 60 * minutes, 60 * minutes / len(files)
    entries = {file: _entry(file) for file in files}
    costs = {file: max(min(e["seconds"], e.get("part_seconds", np.inf)), 0.05) for file, e in entries.items()}
    draw = Stream.of("verify", secrets.randbelow(10**6))
    for turn in itertools.count():
        if end - time.monotonic() < max(share / 2, min(costs.values())):
            return
        chances = draw.uniform("chance", turn, len(files))
        for i in draw.permutation("files", turn, len(files)):
            # Of dear cells a share is less than one, and one is taken as often as that says.
            count = min(int(share / costs[files[i]] + chances[i]), entries[files[i]]["of"])
            if count and count * costs[files[i]] <= end - time.monotonic():
                yield _verified(files[i], count, None, whole, trust)


def _entry(file: Path) -> dict[str, Any]:
    """How many cells a file or a store has, and what one costs."""
    if not file.is_dir():
        return entry_of(file)
    whole = load(sweep_at(file), file)
    cells = int(whole["diverged"].size)
    return {"of": cells, "seconds": float(whole.attrs["wall_seconds"]) / cells}


def _verified(file: Path, n: int, seed: int | None, whole: bool, trust: Collection[str]) -> Report:
    store = file.is_dir()
    if not store:
        entry_of(file)
    dataset = load(sweep_at(file), file) if store else read_netcdf(file)
    sweep = sweep_of(dataset, trust)
    chosen = secrets.randbelow(10**6) if seed is None else seed
    report = compare(file.name, sweep, dataset, n, chosen, part=not whole)
    if report.cells and report.passed and not store:
        add(file, report, sweep.code)
    return report


def found_at(path: str | Path) -> list[Path]:
    """The store or the shipped files at ``path``; a ValueError if there are none."""
    path = Path(path)
    if (path / "manifest.json").exists():
        return [path]
    files = sorted(path.glob("*.nc")) if path.is_dir() else [path] if path.exists() else []
    if not files:
        raise ValueError(f"verify: {path}: neither a shipped result, nor a directory of them, nor a sweep's store")
    return files


def sample(sweep: Sweep, count: int, seed: int) -> list[int]:
    """``count`` different cells of a grid; one choice in four begins with a corner of it."""
    stream = Stream.of("verify", sweep.key, seed)
    order = stream.permutation("cells", 0, sweep.n_cells).tolist()
    sides = stream.uniform("corner", 0, 1 + len(sweep.grid.shape))
    if sides[0] < 0.25:
        ends = [int(side < 0.5) * (size - 1) for side, size in zip(sides[1:], sweep.grid.shape, strict=True)]
        corner = int(np.ravel_multi_index(ends, sweep.grid.shape))
        order = [corner, *(cell for cell in order if cell != corner)]
    return sorted(order[:count])


def compare(source: str, sweep: Sweep, dataset: xr.Dataset, count: int, seed: int, *, part: bool = False) -> Report:
    """Compute ``count`` cells drawn at random again (with ``part``, what their function names of each); compare."""
    cells, function, fixed = sample(sweep, count, seed), sweep.function(), sweep.fixed
    names = [str(name) for name in dataset.data_vars]
    part = part and getattr(function, "part", None) is not None
    report, here = Report(source, sweep.n_cells, (), seed, part), made_here(dataset)
    if getattr(function, "chaotic", False) and not here:
        return replace(report, reason=f"its last bits grow, and it was made on {dataset.attrs.get('machine')}")
    if part:
        fixed, comparable = function.part(**sweep.fixed)  # type: ignore[attr-defined]
        names = [name for name in names if name in comparable]
    started = time.perf_counter()
    try:
        again = compute_cells(sweep, cells, fixed)
    except DataMissing as missing:  # the folder that it names is nobody's business on a published page
        return replace(report, reason=f"{str(missing).split(':')[0]} is not on this machine")
    seconds = time.perf_counter() - started
    stored = dataset.stack(cell=sweep.grid.dims, create_index=False).transpose("cell", ...)
    stored = stored.drop_vars([name for name, values in stored.coords.items() if "cell" in values.dims])
    wrong, largest = _wrong_labels(sweep, dataset, stored, again, part), 0.0
    for name in names:
        if name not in again or set(stored[name].dims) != set(again[name].dims):
            made = list(again[name].dims) if name in again else "nothing"
            wrong.append(f"{name!r} has dimensions {list(stored[name].dims)}, computed is {made}")
            continue
        old, new = stored[name].isel(cell=cells), again[name]
        if old.attrs != new.attrs:
            wrong.append(f"{name!r} is said to be {old.attrs}, computed is {new.attrs}")
        if part:
            labelled = {d: new[d] for d in old.dims[1:] if d in new.coords and d in old.coords}
            old = old.sel(labelled).isel({d: slice(new.sizes[d]) for d in old.dims[1:] if d not in labelled})
        one, two, scale = old.values, new.transpose(*old.dims).values, _typical(stored[name].values)
        gaps = [_difference(a, b, scale) for a, b in zip(one, two, strict=True)]
        rounding = float(np.finfo(one.dtype).eps) if one.dtype.kind == "f" and not here else 0.0
        limit, worst = max(allowed(function, name, here), rounding), int(np.argmax(gaps))
        largest = max(largest, gaps[worst])
        if gaps[worst] > limit:
            where = f"in cell {sweep.describe([cells[worst]])}"
            wrong.append(f"{name!r} by {gaps[worst]:.3g} of a number, allowed {limit:g}, {where}")
    where = f"cell {sweep.describe(cells[:1])}"
    return replace(report, cells=tuple(cells), seconds=seconds, largest=largest, wrong=tuple(wrong), where=where)


def _wrong_labels(sweep: Sweep, dataset: xr.Dataset, stored: xr.Dataset, again: xr.Dataset, part: bool) -> list[str]:
    """Coordinates that are not those of the grid or of the cells computed again, and variables that nobody computes."""
    grid = xr.Dataset(coords={**sweep.cells, **sweep.grid.coords}).coords
    wrong = []
    for name, values in dataset.coords.items():
        expected = grid.get(name, again.coords.get(name))
        if expected is None:
            if not part:
                wrong.append(f"nobody computes the coordinate {name!r}")
        elif part and name not in grid:
            if not np.isin(expected.values, values.values).all():
                wrong.append(f"coordinate {name!r} lacks values that are computed")
        elif values.dims != expected.dims or not equal_bits(values.values, expected.values):
            wrong.append(f"coordinate {name!r} is not as computed")
        if expected is not None and values.attrs != expected.attrs:
            wrong.append(f"coordinate {name!r} is said to be {values.attrs}, computed is {expected.attrs}")
    if not part:
        of_these = {name for name, one in again.coords.items() if one.dims and set(one.dims) <= set(stored.dims)}
        wrong += [f"the coordinate {name!r} is missing" for name in sorted(of_these - set(dataset.coords), key=str)]
        wrong += [f"nobody computes the variable {name!r}" for name in stored.data_vars if name not in again]
    return wrong


def made_here(dataset: xr.Dataset) -> bool:
    """Whether a result was made on such a processor with these versions: then bits must be equal."""
    made = {one.partition(",")[0] for one in str(dataset.attrs.get("machine")).split(" | ")}
    return made == {provenance.processor()} and dataset.attrs.get("versions") == provenance.versions_in_words()


def _typical(everything: np.ndarray) -> float:
    """The median size of a variable's numbers that are not zero; what is smaller is compared on this scale."""
    if everything.dtype.kind not in "fiu":
        return 0.0
    sizes = np.abs(everything[np.isfinite(everything) & (everything != 0)].astype(float))
    return float(np.median(sizes)) if sizes.size else 0.0


def _difference(stored: Any, again: Any, scale: float) -> float:
    """Largest difference relative to an element, or to ``scale`` where that is more; infinite if words or
    not-a-numbers differ."""
    one, two = np.asarray(stored), np.asarray(again)
    if equal_bits(one, two):
        return 0.0
    if one.shape != two.shape:
        return float("inf")
    if one.dtype.kind not in "fiu" or two.dtype.kind not in "fiu":
        return 0.0 if np.array_equal(one, two) else float("inf")
    one, two = one.astype(float), two.astype(float)
    both = np.isfinite(one) & np.isfinite(two)
    if not np.all(both | (one == two) | (np.isnan(one) & np.isnan(two))):
        return float("inf")
    one, two = one[both], two[both]
    size = np.maximum(np.maximum(np.abs(one), np.abs(two)), scale)
    gaps = np.divide(np.abs(one - two), size, out=np.zeros_like(size), where=size > 0)
    # Bits differ (signed zeros, say) although the numbers do not: still no equality of bits.
    return max(float(gaps.max(initial=0.0)), float(np.finfo(float).tiny))
