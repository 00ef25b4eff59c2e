"""Cells of stored results computed again, and compared with what is stored: numbers, types, names, units and labels."""

from __future__ import annotations

import difflib
import itertools
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance, specs
from deepmech.core.random import Stream
from deepmech.data import DataMissingError
from deepmech.sweeps import Sweep, load, sweep_of
from deepmech.sweeps.run import compute_cells, layout, seed_in_words, unfold
from deepmech.sweeps.store import equal_bits, read_netcdf, sweep_at
from deepmech_book.sweeps import shipped
from deepmech_book.sweeps.policy import ROUNDING, CellFunction, Policy
from deepmech_book.sweeps.shipped import StaleError


@dataclass(frozen=True)
class Report:
    """How a stored result compares with what today's code computes."""

    #: What was checked, and how many cells it has.
    source: str
    of: int
    #: Numbers of the cells that were computed again, and the seed that chose them; none if ``reason`` says why not.
    cells: tuple[int, ...] = ()
    seed: int = 0
    #: Whether only a part of each was, see :class:`.policy.Policy`.
    in_part: bool = False
    seconds: float = 0.0
    #: The largest relative difference of a number by variable, of those that differ.
    differences: Mapping[str, float] = field(default_factory=dict)
    #: What is different and may not be, in words: numbers, types, dimensions, coordinates, names and units, and what
    #: the file or its entry say of themselves.
    wrong: tuple[str, ...] = ()
    reason: str = ""

    @property
    def largest(self) -> float:
        """The largest of the differences (0: equal bits). What is smaller cannot be told."""
        return max(self.differences.values(), default=0.0)

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


def verify(
    *paths: str | Path,
    n: int = 3,
    seed: int | None = None,
    whole: bool = False,
    minutes: float | None = None,
    sweep: Sweep | None = None,
    accept: bool = False,
) -> Iterator[Report]:
    """Compute randomly chosen cells again, compare them with what is stored, and note in the record what passed.

    A path is a file, a folder of files or a store; else it is how names of shipped results begin (``""``: of all).
    Where the entry of the record says that a result was made on this kind of processor with these versions, bits are
    equal. Elsewhere, and for a function that states a tolerance (:class:`.policy.Policy`), a variable may differ by
    :data:`NEAR` times the largest difference that the record has ever seen of it, and never by more than is stated.
    With ``minutes`` it goes round the results in random order, each time with other cells, until the time is up. In a
    round each result has the same share of it; where that is less than a cell takes, one is drawn in some rounds only.
    The other arguments are the options of ``deepmech verify``; of results that are not the book's, only ``sweep`` is
    computed. A difference is no error: see :attr:`Report.passed`.
    """
    n = specs.check_int("verify: n", n)
    if minutes is not None:
        specs.check_real("verify: minutes", minutes, 0, 1e6, "a number from 0 to a million")
    files = [file for path in paths for file in files_at(path)]
    if minutes is None:
        for file in files:
            yield _verify(file, n, seed, whole, sweep, accept)
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
                yield _verify(files[i], count, None, whole, sweep, accept)


def _entry(file: Path) -> dict[str, Any]:
    """How many cells a file or a store has, and what one costs."""
    if not file.is_dir():
        return shipped.read_entry(file)
    sweep = sweep_at(file)
    return {"of": sweep.n_cells, "seconds": load(sweep, file).attrs["wall_seconds"] / sweep.n_cells}


def _verify(file: Path, n: int, seed: int | None, whole: bool, named: Sweep | None, accept: bool) -> Report:
    store = file.is_dir()
    entry = {} if store else shipped.read_entry(file)
    try:
        dataset = load(sweep_at(file), file) if store else read_netcdf(file)
        sweep = sweep_of(dataset)
        if named is not None and named.key == sweep.key:
            sweep = replace(sweep, from_file=False)
        sweep.function()
    except (OSError, KeyError, ValueError) as error:
        raise StaleError(f"{file}: cannot be verified: {error}") from None
    chosen = secrets.randbelow(10**6) if seed is None else seed
    if not store and (wrong := wrong_words(file.name, sweep, dataset, entry)):
        return Report(file.name, sweep.n_cells, seed=chosen, wrong=wrong)
    report = compare(file.name, sweep, dataset, n, chosen, part=not whole, entry=entry, accept=accept)
    if report.cells and report.passed and not store:
        shipped.add_cells(file, sweep.code, report.cells, report.in_part, report.seconds, report.differences)
    return report


#: The attributes of a result, and their types in Python; files of old do without ``code``.
KINDS = {"chunks": "int", "wall_seconds": "float"} | dict.fromkeys(
    ("code", "data", "device", "dtype", "machine", "seed", "spec", "sweep", "sweep_key", "versions"), "str"
)


def wrong_words(name: str, sweep: Sweep, dataset: xr.Dataset, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What a shipped file or its entry say of themselves that is not so, in words; no cell is computed for it."""
    origin = shipped.describe(dataset)
    true: dict[str, tuple[Any, Any]] = {
        "the file's name": (name, shipped.filename(sweep)),
        "attribute 'sweep'": (dataset.attrs.get("sweep"), sweep.name),
        "attribute 'sweep_key'": (dataset.attrs.get("sweep_key"), sweep.key),
        "attribute 'data'": (dataset.attrs.get("data"), sweep.data),
        "attribute 'seed'": (dataset.attrs.get("seed"), seed_in_words(sweep)),
        "the grid": (tuple(dataset.sizes.get(d) for d in sweep.grid.dims), sweep.grid.shape),
        "the record's number of cells": (entry["of"], sweep.n_cells),
        "the record's seconds a cell": (entry["seconds"], shipped.cell_seconds(dataset, sweep.n_cells)),
        "where it was made": (origin["made"], entry["made"]),
        "the types of variables": (origin["variables"], entry["variables"]),
    }
    wrong = [f"{what} is {is_so!r}, not {should!r}" for what, (is_so, should) in true.items() if is_so != should]
    kinds = {"code": "str"} | {str(name): type(value).__name__ for name, value in dataset.attrs.items()}
    for name in sorted({name for name, _ in kinds.items() ^ KINDS.items()}):
        wrong.append(f"attribute {name!r} is of type {kinds.get(name)}, not {KINDS.get(name)}")
    return tuple(wrong)


def files_at(given: str | Path) -> list[Path]:
    """The store or the shipped files at a path, or those that ship whose names begin so."""
    path = Path(given or ".")
    if given and path.exists():
        files = [path] if not path.is_dir() or (path / "manifest.json").exists() else sorted(path.glob("*.nc"))
        if not files:
            raise ValueError(f"verify: {path}: neither a shipped result, nor a directory of them, nor a sweep's store")
        return files
    if (where := shipped.folder()) is None:
        raise ValueError("no shipped results here: name their folder with DEEPMECH_RESULTS, or work in a checkout")
    ships = sorted(where.glob("*.nc"))
    if not (files := [file for file in ships if file.name.startswith(str(given))]):
        near = difflib.get_close_matches(str(given), {file.stem.rpartition("-")[0] for file in ships})
        raise ValueError(f"verify: {given}: no file, and no shipped result; near: {', '.join(near) or 'none'}")
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
    policy = function.policy if isinstance(function, CellFunction) else Policy()
    part = part and policy.part is not None
    entry = {**shipped.describe(dataset), **(entry or {})}
    report = Report(source, sweep.n_cells, (), seed, part)
    # On such a processor with these versions bits must be equal.
    here = entry["made"] == {"on": provenance.processor(), "versions": provenance.versions_in_words()}
    if policy.platform_dependent and not here:
        return replace(report, reason=f"its last bits grow, and it was made on {entry['made']['on']}")
    started = time.perf_counter()
    try:
        if part and policy.part is not None:
            fixed, comparable = policy.part(**sweep.fixed)
        again = compute_cells(sweep, cells, fixed)
    except DataMissingError as missing:  # the folder that it names is nobody's business on a published page
        return replace(report, reason=f"{str(missing).split(':')[0]} is not on this machine")
    except Exception as error:  # whatever a function raises: it did not compute what is stored
        return replace(report, wrong=(f"computing it again raised {type(error).__name__}: {error}",))
    seconds = time.perf_counter() - started
    if part:
        again = again[[name for name in comparable if name in again]]
    again = again.drop_vars([name for name in entry.get("left_out", []) if name not in dataset], errors="ignore")
    again = again.transpose(*again.dims)
    # Labels of the grid are compared whole; all else of the chosen cells, and of these what was computed.
    grid = unfold(sweep, xr.Dataset()).drop_vars(again.data_vars, errors="ignore")
    stored = dataset.stack(cell=sweep.grid.dims, create_index=False).drop_vars(grid.variables, errors="ignore")
    stored = stored.isel(cell=cells)
    if part:
        stored = stored[[name for name in again if name in stored]]
        labels = {d: again[d].values for d in again.dims if d in again.coords and d in stored.coords}
        try:
            stored = stored.sel(labels).isel({d: slice(again.sizes[d]) for d in {*stored.dims} - labels.keys()})
        except KeyError as error:
            return replace(report, cells=tuple(cells), wrong=(f"labels that are computed are missing: {error}",))
    # With a variable that was left out went labels that no other has.
    again = again.drop_vars([name for name, one in again.coords.items() if not {*one.dims} <= {*stored.dims}])
    stored = stored.transpose(*again.dims, ..., missing_dims="ignore")
    labelled = _unlike(dataset.drop_vars(dataset.variables.keys() - grid.variables.keys()), grid)
    unlike, differences = _unlike(stored, again), {}
    wrong = [*labelled.values(), *unlike.values()]
    for name, otherwise in {"device": "cpu", "dtype": "as computed"}.items() if here else ():
        if (said := dataset.attrs.get(name)) != (is_so := again.attrs.get(name, otherwise)):
            wrong.append(f"attribute {name!r} is {said!r}, computed is {is_so!r}")
    for name in sorted(set(map(str, again.data_vars)) - unlike.keys()):
        one, two, scale = stored[name].values, again[name].values, _typical(dataset[name].values)
        gaps = [_difference(a, b, scale) for a, b in zip(one, two, strict=True)]
        worst = int(np.argmax(gaps))
        if gaps[worst] > 0:
            differences[name] = gaps[worst]
        limit, most, words = _limits(policy, name, one.dtype, here, entry)
        if gaps[worst] > (most if accept else limit):
            can = f", and up to {most:g} can be noted with --accept after a look at it" if gaps[worst] <= most else ""
            where = f"in cell {sweep.describe([cells[worst]])}"
            wrong.append(f"{name!r} by {gaps[worst]:.3g} of a number, allowed {limit:g}{words}{can}, {where}")
    return replace(report, cells=tuple(cells), seconds=seconds, differences=differences, wrong=tuple(wrong))


#: So many times the largest difference that was ever seen of a variable it may differ where it was not made.
NEAR = 8.0
#: What counts as rounding once a result was recomputed somewhere: of what our engines compute, and of torch's sums.
LAST_BITS, LAST_BITS_OF_TORCH = 1e-12, 2.5e-7


def _limits(
    policy: Policy, name: str, dtype: np.dtype, here: bool, entry: Mapping[str, Any]
) -> tuple[float, float, str]:
    """How much a variable may differ, how much it may at the very most, and a word on the former."""
    stated = policy.tolerance.get(name, policy.tolerance.get("*"))
    if stated is None and here:
        return 0.0, 0.0, ""
    seen = [one["largest"] for one in entry.get("recomputed", [])]
    last_bit = float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
    most = max(ROUNDING if stated is None else stated, last_bit)
    if stated is None and not seen:
        return most, most, ""
    largest = max((one.get(name, one.get("*", 0.0)) for one in seen), default=0.0)
    near = max(NEAR * largest, LAST_BITS if stated is None else LAST_BITS_OF_TORCH, last_bit)
    return min(near, most), most, f" (the largest ever seen is {largest:.2g})"


def _unlike(stored: xr.Dataset, again: xr.Dataset) -> dict[str, str]:
    """What is stored otherwise than computed, by name: types, sizes, labels and attributes, not numbers of cells."""
    old, new = layout(stored), layout(again)
    return {
        name: f"{name!r} is {old.get(name, 'missing'):.300}, computed is {new.get(name, 'missing'):.300}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    }


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
    if one.dtype.kind not in "fiu":
        return float("inf")
    one, two = one.astype(float), two.astype(float)
    both = np.isfinite(one) & np.isfinite(two)
    if not np.all(both | (one == two) | (np.isnan(one) & np.isnan(two))):
        return float("inf")
    one, two = one[both], two[both]
    size = np.maximum(np.maximum(np.abs(one), np.abs(two)), scale)
    gaps = np.divide(np.abs(one - two), size, out=np.zeros_like(size), where=size > 0)
    # Bits differ (signed zeros, say) although the numbers do not: still no equality of bits.
    return max(float(gaps.max(initial=0.0)), float(np.finfo(float).tiny))


def verify_all(
    paths: Sequence[str | Path], *, say: Callable[[str], None] = lambda line: None, **how: Any
) -> tuple[str, bool]:
    """:func:`verify` results, one line to ``say`` for each; returns the sum of it, and whether something was computed
    again, and nothing differed."""
    done, skipped = [], 0
    for report in verify(*paths, **how):
        outcome = "skipped" if report.reason else "verified" if report.passed else "FAILED"
        say(f"{outcome}: {report}")
        if report.reason:
            skipped += 1
        else:
            done.append(report)
    if skipped:
        say("data sets that are not here: deepmech data says which they are, and fetches them")
    if not done:
        why = "no result could be computed here" if skipped else "give more minutes"
        return f"nothing was verified: {why}", False
    bits = sum(len(r.cells) for r in done if r.largest == 0)
    worst = max((r.largest for r in done), default=0.0)
    return (
        f"{len(done)} of {len(done) + skipped} results recomputed, {sum(len(r.cells) for r in done)} of "
        f"{sum(r.of for r in done)} cells: {bits} equal to the bit, largest difference otherwise {worst:.2g} of a "
        f"number; {sum(not r.passed for r in done)} results differ; words on code, machine, versions and time are not "
        "computed again"
    ), all(r.passed for r in done)
