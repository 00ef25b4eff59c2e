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
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from filelock import FileLock

from deepmech.core import checks, provenance, specs
from deepmech.core.files import write_whole
from deepmech.core.random import Stream
from deepmech.data import DataMissingError
from deepmech.sweeps.store import checksum, read_netcdf, sweep_at
from deepmech.sweeps.sweep import Sweep, allowed, compute_cells, equal_bits, load, seed_in_words, sweep_of

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
        said = "equal" if self.largest == 0 else f"equal to {self.largest:.1g} of each number"
        said = f"DIFFERENT: {'; '.join(self.wrong)}" if self.wrong else said
        if not self.cells:
            return f"{self.source}: {said}"
        return f"{self.source}: recomputed {whole}{len(self.cells)} of {self.of} cells (seed {self.seed}): {said}"


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """All entries by file name; a :class:`Stale` if the record is damaged."""
    try:
        entries = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Stale(f"{folder / FILE} is damaged ({error}); restore it from version control") from None
    if not isinstance(entries, dict):
        raise Stale(f"{folder / FILE} is damaged (no entries by name); restore it from version control")
    for name, entry in entries.items():
        if not _is_entry(entry):
            raise Stale(f"{folder / FILE} is damaged (the entry of {name}); restore it from version control")
    return entries


def _is_entry(entry: Any) -> bool:
    """Whether it has the form of an entry; whether it is true, :func:`verify` says."""
    try:
        made, source = entry.get("made", {"on": "", "versions": ""}), entry.get("source", ["", ""])
        of = entry["of"]
        return (
            isinstance(entry["file"], str)
            and isinstance(source, list)
            and type(of) is int
            and all(_is_number(entry.get(name, 0)) for name in ("seconds", "part_seconds"))
            and all(isinstance(word, str) for word in (made["on"], made["versions"], *source, *_texts_of(entry)))
            and len(source) == 2
            and all(
                all(isinstance(one[word], str) for word in ("code", "on"))
                and all(type(cell) is int and 0 <= cell < of for cell in (*one["cells"], *one["parts"]))
                and all(map(_is_number, _by_variable(one.get("largest", 0.0)).values()))
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


def _by_variable(largest: float | dict[str, float]) -> dict[str, float]:
    """Largest differences by variable; entries of old have one for all, under ``"*"``."""
    return largest if isinstance(largest, dict) else {"*": largest}


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


def enter(path: Path, dataset: xr.Dataset, of: int, left_out: Collection[str] = ()) -> None:
    """A new entry for a file that was just written; entries of files that are gone go.

    It says on what the result was made, with which versions, and which variables of which types it holds; ``left_out``
    are computed and not kept. Of a result of a shipped result the entry names the latter and its bytes.
    """
    fresh: dict[str, Any] = {"file": checksum(path), "of": of, "seconds": _cost(dataset, of), **described(dataset)}
    if left_out:
        fresh["left_out"] = sorted(left_out)
    if (key := dataset.attrs.get("data")) and (found := next(path.parent.glob(f"*-{key}.nc"), None)):
        fresh |= {"source": [found.name, checksum(found)]}
    _change(path, lambda old: {**fresh, "recomputed": []})


def described(dataset: xr.Dataset) -> dict[str, Any]:
    """What an entry says of a result besides its bytes: where it was made, and the types of its variables."""
    kinds = {one.partition(",")[0] for one in str(dataset.attrs.get("machine", "unknown")).split(" | ")}
    versions = str(dataset.attrs.get("versions", "unknown"))
    types = {str(name): _type(array.dtype) for name, array in sorted(dataset.data_vars.items(), key=str)}
    return {"made": {"on": " | ".join(sorted(kinds)), "versions": versions}, "variables": types}


def _type(dtype: np.dtype) -> str:
    return "text" if dtype.kind in "OTU" else str(dtype)


def _cost(dataset: xr.Dataset, of: int) -> float:
    """Seconds that a cell took."""
    wall = dataset.attrs.get("wall_seconds", 0)
    return round(float(wall) / of, 4) if _is_number(wall) and of > 0 else 0.0


def add(path: Path, report: Report, code: str) -> None:
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
        largest = dict(_by_variable(mine["largest"]))
        for name, gap in report.differences.items():
            largest[name] = max(gap, largest.get(name, 0.0))
        mine = {**mine, kind: sorted({*mine[kind], *report.cells}), "largest": largest}
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
    accept: bool = False,
) -> Iterator[Report]:
    """Compute randomly chosen cells again, compare them with what is stored, and note in the record what passed.

    Where the entry of the record says that a result was made on this kind of processor with these versions, bits are
    equal. Elsewhere, and for a function that states a tolerance (:func:`~deepmech.sweeps.sweep.recomputed`), a
    variable may differ by :data:`NEAR` times the largest difference that the record has ever seen of it, and never by
    more than is stated. What a file and its entry say of themselves is checked too: key and name, numbers of cells,
    types, variables, origin.

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
    accept : bool
        Let also pass, and note, what is more than was ever seen but not more than the function states: on a processor
        that sums in another order, say, after a look at it.

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
    checks.check_int("verify: n", n)
    files = found_at(path)
    if minutes is None:
        for file in files:
            yield _verified(file, n, seed, whole, trust, accept)
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
                yield _verified(files[i], count, None, whole, trust, accept)


def _entry(file: Path) -> dict[str, Any]:
    """How many cells a file or a store has, and what one costs."""
    if not file.is_dir():
        return entry_of(file)
    whole = load(sweep_at(file), file)
    cells = int(whole["diverged"].size)
    return {"of": cells, "seconds": float(whole.attrs["wall_seconds"]) / cells}


def _verified(file: Path, n: int, seed: int | None, whole: bool, trust: Collection[str], accept: bool) -> Report:
    store = file.is_dir()
    entry = {} if store else entry_of(file)
    try:
        dataset = load(sweep_at(file), file) if store else read_netcdf(file)
        sweep = sweep_of(dataset, trust)
        sweep.function()
    except (OSError, KeyError, ValueError) as error:
        raise Stale(f"{file}: cannot be verified: {error}") from None
    chosen = secrets.randbelow(10**6) if seed is None else seed
    if not store and (wrong := wrong_words(file.name, sweep, dataset, entry)):
        return Report(file.name, sweep.n_cells, seed=chosen, wrong=wrong)
    report = compare(file.name, sweep, dataset, n, chosen, part=not whole, entry=entry, accept=accept)
    if report.cells and report.passed and not store:
        add(file, report, sweep.code)
    return report


def wrong_words(name: str, sweep: Sweep, dataset: xr.Dataset, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What a shipped file or its entry say of themselves that is not so, in words; no cell is computed for it.

    Parameters
    ----------
    name : str
        The name of the file.
    sweep, dataset, entry : Sweep, xarray.Dataset, dict
        What the file holds, and its entry in the record.
    """
    said = described(dataset)
    true: dict[str, tuple[Any, Any]] = {
        "the file's name": (name, f"{sweep.name}-{sweep.key}.nc"),
        "attribute 'sweep'": (dataset.attrs.get("sweep"), sweep.name),
        "attribute 'sweep_key'": (dataset.attrs.get("sweep_key"), sweep.key),
        "attribute 'data'": (dataset.attrs.get("data"), sweep.data),
        "attribute 'seed'": (dataset.attrs.get("seed"), seed_in_words(sweep)),
        "the grid": (tuple(dataset.sizes.get(d) for d in sweep.grid.dims), sweep.grid.shape),
        "the record's number of cells": (entry["of"], sweep.n_cells),
        "the record's seconds a cell": (entry["seconds"], _cost(dataset, sweep.n_cells)),
        "where it was made": (said["made"], entry.get("made", said["made"])),
        "the types of variables": (said["variables"], entry.get("variables", said["variables"])),
    }
    wrong = [f"{what} is {is_so!r}, not {should!r}" for what, (is_so, should) in true.items() if is_so != should]
    needed = ("device", "dtype", "wall_seconds", "machine", "versions")
    wrong += [f"the attribute {one!r} is missing" for one in needed if one not in dataset.attrs]
    return tuple(wrong)


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


def compare(
    source: str,
    sweep: Sweep,
    dataset: xr.Dataset,
    count: int,
    seed: int,
    *,
    part: bool = False,
    entry: Mapping[str, Any] | None = None,
    accept: bool = False,
) -> Report:
    """Compute ``count`` cells drawn at random again (with ``part``, what their function names of each); compare.

    ``entry`` is that of the record; without one, a store's say, the dataset's own words count for where it was made.
    """
    cells, function, fixed = sample(sweep, count, seed), sweep.function(), sweep.fixed
    names = {str(name) for name in dataset.data_vars}
    part = part and getattr(function, "part", None) is not None
    entry = {**described(dataset), **(entry or {})}
    report, here = Report(source, sweep.n_cells, (), seed, part), _made_here(entry)
    if getattr(function, "chaotic", False) and not here:
        return replace(report, reason=f"its last bits grow, and it was made on {entry['made']['on']}")
    started = time.perf_counter()
    try:
        if part:
            fixed, comparable = function.part(**sweep.fixed)  # type: ignore[attr-defined]
        again = compute_cells(sweep, cells, fixed)
    except DataMissingError as missing:  # the folder that it names is nobody's business on a published page
        return replace(report, reason=f"{str(missing).split(':')[0]} is not on this machine")
    except Exception as error:  # whatever a function raises: it did not compute what is stored
        return replace(report, wrong=(f"computing it again raised {type(error).__name__}: {error}",))
    seconds, computed = time.perf_counter() - started, {str(name) for name in again.data_vars}
    if part:
        names, computed = names & set(comparable), computed & set(comparable)
    stored = dataset.stack(cell=sweep.grid.dims, create_index=False).transpose("cell", ...)
    stored = stored.drop_vars([name for name, values in stored.coords.items() if "cell" in values.dims])
    wrong, differences = _wrong_labels(sweep, dataset, stored, again, part), {}
    wrong += [f"{name!r} is computed and missing" for name in sorted(computed - names - {*entry.get("left_out", [])})]
    for name in sorted(names & computed):
        old, new = stored[name], again[name]
        if words := _otherwise(old, new):
            wrong.append(f"{name!r} {words}")
            continue
        old, scale = old.isel(cell=cells), _typical(old.values)
        if part:
            labelled = {d: new[d] for d in old.dims[1:] if d in new.coords and d in old.coords}
            if not all(np.isin(values, old[d]).all() for d, values in labelled.items()):
                continue  # which the coordinates' own lines say
            old = old.sel(labelled).isel({d: slice(new.sizes[d]) for d in old.dims[1:] if d not in labelled})
        one, two = old.values, new.transpose(*old.dims).values
        gaps = [_difference(a, b, scale) for a, b in zip(one, two, strict=True)]
        worst = int(np.argmax(gaps))
        if gaps[worst] > 0:
            differences[name] = gaps[worst]
        limit, most, words = _limits(function, name, one.dtype, here, entry)
        if gaps[worst] > (most if accept else limit):
            can = f", and up to {most:g} can be noted with --accept after a look at it" if gaps[worst] <= most else ""
            where = f"in cell {sweep.describe([cells[worst]])}"
            wrong.append(f"{name!r} by {gaps[worst]:.3g} of a number, allowed {limit:g}{words}{can}, {where}")
    return replace(
        report, cells=tuple(cells), seconds=seconds, largest=max(differences.values(), default=0.0),
        differences=differences, wrong=tuple(wrong), where=f"cell {sweep.describe(cells[:1])}",
    )  # fmt: skip


#: So many times the largest difference that was ever seen of a variable it may differ where it was not made.
NEAR = 8.0
#: What counts as rounding once a result was recomputed somewhere: of what our engines compute, and of torch's sums.
LAST_BITS, LAST_BITS_OF_TORCH = 1e-12, 2.5e-7


def _limits(
    function: Any, name: str, dtype: np.dtype, here: bool, entry: Mapping[str, Any]
) -> tuple[float, float, str]:
    """How much a variable may differ, how much it may at the very most, and a word on the former."""
    stated = set(getattr(function, "tolerance", {})) & {name, "*"}
    most = allowed(function, name, here)
    if not stated and here:
        return most, most, ""
    if dtype.kind == "f":
        most = max(most, float(np.finfo(dtype).eps))
    seen = [_by_variable(one.get("largest", 0.0)) for one in entry.get("recomputed", [])]
    if not stated and not seen:
        return most, most, ""
    largest = max((one.get(name, one.get("*", 0.0)) for one in seen), default=0.0)
    near = max(NEAR * largest, LAST_BITS_OF_TORCH if stated else LAST_BITS)
    if dtype.kind == "f":
        near = max(near, float(np.finfo(dtype).eps))
    return min(near, most), most, f" (the largest ever seen is {largest:.2g})"


def _otherwise(old: xr.DataArray, new: xr.DataArray) -> str:
    """What a variable or a coordinate is said to be otherwise than computed: its dimensions, type or attributes."""
    if set(old.dims) != set(new.dims):
        return f"has dimensions {list(old.dims)}, computed is {list(new.dims)}"
    if _type(old.dtype) != _type(new.dtype):
        return f"is of type {_type(old.dtype)}, computed is {_type(new.dtype)}"
    return f"is said to be {old.attrs}, computed is {new.attrs}" if old.attrs != new.attrs else ""


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
        if expected is not None and (words := _otherwise(values, expected)):
            wrong.append(f"coordinate {name!r} {words}")
    if not part:
        of_these = {name for name, one in again.coords.items() if one.dims and set(one.dims) <= set(stored.dims)}
        wrong += [f"the coordinate {name!r} is missing" for name in sorted(of_these - set(dataset.coords), key=str)]
        wrong += [f"nobody computes the variable {name!r}" for name in stored.data_vars if name not in again]
    return wrong


def _made_here(entry: Mapping[str, Any]) -> bool:
    """Whether a result was made on such a processor with these versions: then bits must be equal."""
    return bool(entry["made"] == {"on": provenance.processor(), "versions": provenance.versions_in_words()})


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
