"""Results that ship with the book: one way to get one, and the check that it answers to its code, spec and data.

:func:`result` is the only door. A shipped file is taken by its key, which changes with spec, version and data. It is
shown only if today's code makes the same numbers: because the same code made it, because somebody recomputed some of
its cells with this code (:func:`verify` notes it beside the files), or because a few are recomputed now.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance
from deepmech.core.files import atomically, write_whole
from deepmech.core.random import Stream
from deepmech.data import DataMissing
from deepmech.sweeps.assemble import equal_bits, fold
from deepmech.sweeps.runner import computed, load, run
from deepmech.sweeps.spec import Sweep, allowed
from deepmech.sweeps.store import checksum, read_manifest, read_netcdf, write_netcdf

NOTES = "verified.json"
#: Entry points of packages in which results ship, in their folder "results".
GROUP = "deepmech.results"
#: Seconds, by what cells took when they were made, that one process that draws results may spend on recomputing, and
#: about what it spends on one result; a cell dearer than DEAR is not recomputed while a page is made.
PAGE, ONE, DEAR = 4.0, 2.0, 6.0


class NotShipped(ValueError):
    """No shipped result has this sweep's key, and it may not be computed here."""


class Stale(ValueError):
    """A shipped result is not what today's code computes, or nobody can say so."""


def ship(dataset: xr.Dataset, directory: str | Path) -> Path:
    """Write a sweep's whole result as one compressed, lossless netCDF file named by sweep and key; returns its path.

    ``dataset`` is what :func:`~deepmech.sweeps.run` returned; variables that need not ship may be dropped before. The
    file holds the sweep itself, so it can be recomputed and verified from the file alone.
    """
    sweep = sweep_of(dataset)
    sizes = {str(d): dataset.sizes.get(d) for d in sweep.grid.dims}
    if tuple(sizes.values()) != sweep.grid.shape:
        raise ValueError(f"ship: the dataset has grid {sizes}, its sweep {sweep.grid.shape}; ship the whole grid")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / filename(sweep)
    with atomically(path) as temporary:
        write_netcdf(dataset, temporary, compress=True)
    if path.name in (kept := notes(directory)):  # what was verified were other bytes
        del kept[path.name]
        _write_notes(directory, kept)
    return path


def filename(sweep: Sweep) -> str:
    """Name of a shipped result: it changes when spec, version or data change."""
    return f"{sweep.name}-{sweep.key}.nc"


def sweep_of(dataset: xr.Dataset) -> Sweep:
    """The sweep that a result came from, from its attributes."""
    try:
        spec = json.loads(dataset.attrs["spec"])
    except (KeyError, ValueError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec)


def folder() -> Path | None:
    """Where shipped results lie: ``DEEPMECH_RESULTS``, else the checkout around the working directory, else the one
    that this library lies in, else the installed package; None if there are none.

    A NotShipped if ``DEEPMECH_RESULTS`` names no folder.
    """
    if chosen := os.environ.get("DEEPMECH_RESULTS"):
        if not Path(chosen).is_dir():
            raise NotShipped(f"DEEPMECH_RESULTS = {chosen!r}: is no folder; name that of the results, or unset it")
        return Path(chosen)
    here, package = Path.cwd(), Path(__file__).parents[1]
    for above in (here, *here.parents, *package.parents):
        if (above / "_toc.yml").is_file() and (above / "book" / "results").is_dir():
            return above / "book" / "results"
    packages = (importlib.util.find_spec(entry.value) for entry in importlib.metadata.entry_points(group=GROUP))
    folders = (Path(spec.origin).parent / "results" for spec in packages if spec is not None and spec.origin)
    return next((where for where in folders if where.is_dir()), None)


def required_folder() -> Path:
    """:func:`folder`; a NotShipped if there is none."""
    where = folder()
    if where is None:
        raise NotShipped("no shipped results here: name their folder with DEEPMECH_RESULTS, or work in a checkout")
    return where


_read: dict[Path, xr.Dataset] = {}


def result(sweep: Sweep) -> xr.Dataset:
    """The result of ``sweep``: shipped, or else from chunks that this code made, or else computed now.

    A shipped file counts if its key is the sweep's, and if today's code makes its numbers (:class:`Report`): that is
    checked on a few cells if ``DEEPMECH_CHECK`` holds a seed to choose them by, and where no note of an earlier check
    with this code lies beside the files. What is computed is said in one line on standard error. The variable
    ``DEEPMECH_STORES`` names a folder in which an interrupted computation goes on where it stopped (without it nothing
    is kept), ``DEEPMECH_PATIENCE`` the seconds that may be spent on it.

    Returns
    -------
    xarray.Dataset
        With the attribute ``obtained``: which way it came, in words.

    Raises
    ------
    NotShipped
        If it would have to be computed and that takes longer than allowed; it names near files and what differs.
    Stale
        If recomputed cells differ from a shipped file, or if it was made by other code and cannot be checked here.
    """
    where = folder()
    path = None if where is None else where / filename(sweep)
    if path is not None and path in _read:
        return _read[path].copy()
    if path is not None and path.exists():
        dataset = _opened(path, sweep)
        report = answer(path, sweep, dataset)
        _note_down(sweep, {"obtained": "shipped", **asdict(report), "words": str(report)})
        _read[path] = dataset.assign_attrs(obtained=f"shipped with the book; {report}")
        return _read[path].copy()
    stores = os.environ.get("DEEPMECH_STORES")
    store = Path(stores) / f"{sweep.name}-{sweep.key}-{sweep.code}" if stores else None
    _say_what_is_computed(sweep, where)
    made = run(sweep, store)
    _note_down(sweep, {"obtained": "computed", "of": sweep.n_cells})
    return made.assign_attrs(obtained="computed by this code")


def _opened(path: Path, sweep: Sweep) -> xr.Dataset:
    dataset = read_netcdf(path)
    found = sweep_of(dataset)
    if found.key != sweep.key or dataset.attrs.get("data", sweep.data) != sweep.data:
        raise Stale(f"{path} holds sweep {found.key}, not {sweep.key}: it was renamed or damaged")
    noted = notes(path.parent).get(path.name)
    if noted is not None and noted["file"] != checksum(path):
        raise Stale(f"{path}: its bytes are not those that were verified; restore the file, or run deepmech verify")
    return dataset


def _say_what_is_computed(sweep: Sweep, where: Path | None) -> None:
    """One line to the reader; a NotShipped where it would take longer than ``DEEPMECH_PATIENCE`` seconds."""
    near = sorted(where.glob(f"{sweep.name}-{'[0-9a-f]' * 16}.nc")) if where is not None else []
    words, seconds = "no shipped result has its name", None
    if near:
        other = read_netcdf(near[0])
        what = ", ".join(sweep.differences(sweep_of(other)))
        words = f"{', '.join(f.name for f in near)} differs in {what}"
        seconds = float(other.attrs["wall_seconds"]) / sweep_of(other).n_cells * sweep.n_cells
    about = "for how long is not known" if seconds is None else f"about {max(1, round(seconds))} s"
    patience = float(os.environ.get("DEEPMECH_PATIENCE", "inf"))
    if (seconds or 0) > patience:
        raise NotShipped(
            f"sweep {sweep.name!r} ({sweep.key}, {sweep.n_cells} cells) does not ship: {words}. To compute it takes "
            f"{about}, more than DEEPMECH_PATIENCE = {patience:g}. Compute it with sweeps.run(sweep, store) and "
            f"sweeps.ship(result, folder), or give back the spec that ships"
        )
    if near or sweep.n_cells > 1:
        sys.stderr.write(f"deepmech: computing {sweep.n_cells} cells of {sweep.name!r}, {about} ({words})\n")


def _note_down(sweep: Sweep, what: dict[str, Any]) -> None:
    """A line in the file that ``DEEPMECH_DRAWN`` names, for whoever prints what this process draws."""
    if path := os.environ.get("DEEPMECH_DRAWN"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": sweep.name, "key": sweep.key, **what}, default=float) + "\n")


@dataclass(frozen=True)
class Report:
    """How a shipped or stored result compares with what today's code computes.

    Attributes
    ----------
    source, of
        What was checked, and how many cells it has.
    cells
        Numbers of the cells that were computed again; none if ``reason`` says why not.
    in_part
        Whether only a part of each was, see :func:`~deepmech.sweeps.spec.recomputed`.
    differences
        By variable, the largest difference as a fraction of the variable's range over the grid (0: equal bits);
        ``allowed``: what was allowed (0: bits had to be equal).
    made_by
        ``"this code"``, ``"other code"``, or ``"other code, verified"``: a note beside the files says so.
    """

    source: str
    of: int
    cells: tuple[int, ...] = ()
    seed: int = 0
    in_part: bool = False
    differences: Mapping[str, float] = field(default_factory=dict)
    allowed: Mapping[str, float] = field(default_factory=dict)
    made_by: str = "this code"
    reason: str = ""
    where: str = ""

    @property
    def passed(self) -> bool:
        return all(d <= self.allowed[name] for name, d in self.differences.items())

    @property
    def largest(self) -> float:
        """The largest difference of all variables."""
        return max(self.differences.values(), default=0.0)

    def __str__(self) -> str:
        if not self.cells:
            return f"{self.source}: made by {self.made_by}; not recomputed in this build: {self.reason}"
        whole = "a part of each of " if self.in_part else ""
        count = f"recomputed {whole}{len(self.cells)} of {self.of} cells (seed {self.seed})"
        if self.passed:
            equal = "equal" if self.largest == 0 else f"equal to {self.largest:.1g} of the range"
            return f"{self.source}: made by {self.made_by}; {count}: {equal}"
        name = max(self.differences, key=lambda k: self.differences[k] - self.allowed[k])
        return (
            f"{self.source}: made by {self.made_by}; {count}: DIFFERENT: {name!r} by {self.differences[name]:.3g} of "
            f"its range, allowed {self.allowed[name]:g}; {self.where}"
        )


_spent = 0.0


def answer(path: Path, sweep: Sweep, dataset: xr.Dataset) -> Report:
    """What can be said for a shipped result here and now; raises :class:`Stale` if that is not enough to show it."""
    global _spent
    noted = notes(path.parent).get(path.name, {})
    ours = own(sweep, dataset)
    proven = ours or noted.get("code") == sweep.code
    made_by = "this code" if ours else "other code, verified" if proven else "other code"
    seed = os.environ.get("DEEPMECH_CHECK")
    if seed is None and proven:
        return Report(path.stem, sweep.n_cells, made_by=made_by, reason="only the press does")
    costly = getattr(sweep.function(), "dear", False)
    if proven and costly:
        dear = "even a part of a cell takes longer than a page may (deepmech verify does it)"
        return Report(path.stem, sweep.n_cells, made_by=made_by, reason=dear)
    count, part, cost, reason = _affordable(sweep, dataset, PAGE - _spent if proven else DEAR)
    _spent += cost
    if costly and count:
        sys.stderr.write(
            f"deepmech: {path.name} was made by other code; a part of it is computed again before it is shown, which "
            f"can take minutes (once for all: deepmech verify --note {path.name})\n"
        )
    number = int(seed) if seed else secrets.randbelow(10**6)
    report = compare(path.stem, sweep, dataset, count, number, part=part) if count else Report(path.stem, sweep.n_cells)
    report = replace(report, made_by=made_by, reason=report.reason or reason)
    if not report.passed:
        raise Stale(f"{report}. The result is not what today's code computes: mend the code, or compute it again")
    if not proven and not report.cells:
        raise Stale(
            f"{path.name} was made by other code ({dataset.attrs.get('code', 'not noted which')}; this is {sweep.code})"
            f" and cannot be checked here: {report.reason}. Run deepmech verify --note {path.name} where it can be"
        )
    return report


def _affordable(sweep: Sweep, dataset: xr.Dataset, left: float) -> tuple[int, bool, float, str]:
    """How many cells may be recomputed in the seconds left, whether only in part, what that costs; if none, why."""
    cost = provenance.cores() * float(dataset.attrs["wall_seconds"]) / sweep.n_cells
    part = getattr(sweep.function(), "part", None) is not None and cost > ONE
    cost = ONE if part else cost
    if cost > DEAR:
        return 0, False, 0.0, f"a cell takes {cost:.0f} s (deepmech verify does it)"
    if left < cost:
        return 0, False, 0.0, "the seconds for this page were spent on other results"
    count = 1 if part else int(np.clip(min(ONE, left) / cost, 1, 3))
    return count, part, count * cost, ""


def verify(
    path: str | Path,
    *,
    n: int = 3,
    fraction: float | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    whole: bool = False,
    noted: bool = False,
) -> Iterator[Report]:
    """Compute randomly chosen cells again and compare them with what is stored.

    Parameters
    ----------
    path : path
        A shipped file, a directory of shipped files, or a store.
    n : int
        Cells per result; ``fraction`` (of all cells, rounded up) takes its place if given.
    seed : int
        Which cells are chosen.
    tolerance : float, optional
        Allowed difference as a fraction of each variable's range over the grid. Default: 0 (equal bits) on the kind of
        processor and the versions that made the result, what the function itself states elsewhere (:func:`recomputed`).
    whole : bool
        Compute also such cells wholly of which a part would do (:func:`recomputed`).
    noted : bool
        Note beside shipped files that pass that this code makes their numbers.

    Yields
    ------
    Report
        Of one result after the other.

    Raises
    ------
    ValueError
        If there is nothing to verify at ``path``. A difference is no error: see :attr:`Report.passed`.
    """
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"verify: fraction = {fraction!r}: must be in (0, 1]")
    if n < 1:
        raise ValueError(f"verify: n = {n!r}: must be an integer >= 1")
    for file in found_at(path):
        store = file.is_dir()
        dataset = load(Sweep.from_json(read_manifest(file)["sweep"]), file) if store else read_netcdf(file)
        sweep = sweep_of(dataset)
        count, part = n if fraction is None else int(np.ceil(fraction * sweep.n_cells)), not whole
        report = compare(file.name, sweep, dataset, count, seed, tolerance=tolerance, part=part)
        if noted and report.cells and report.passed and not store:
            note(file, report)
        yield report


def found_at(path: str | Path) -> list[Path]:
    """The store or the shipped files at ``path``; a ValueError if there are none."""
    path = Path(path)
    if (path / "manifest.json").exists():
        return [path]
    files = sorted(path.glob("*.nc")) if path.is_dir() else [path] if path.exists() else []
    if not files:
        raise ValueError(f"verify: {path}: neither a shipped result, nor a directory of them, nor a sweep's store")
    return files


def notes(directory: Path) -> dict[str, dict[str, Any]]:
    """What is noted beside shipped files: by name, checksum, the code that was verified, how many cells, and when."""
    try:
        return json.loads((directory / NOTES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def note(path: Path, report: Report) -> None:
    """Note beside a shipped file that cells of it were computed again with this code and passed."""
    if not report.passed or not report.cells:
        raise ValueError(f"note: {path.name} did not pass, so there is nothing to note")
    entry = {
        "file": checksum(path),
        "code": sweep_of(read_netcdf(path)).code,
        "cells": len(report.cells),
        "of": report.of,
        "largest_difference": report.largest,
        "machine": provenance.machine(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }
    kept = {name: e for name, e in notes(path.parent).items() if (path.parent / name).exists()} | {path.name: entry}
    _write_notes(path.parent, kept)


def _write_notes(directory: Path, kept: Mapping[str, dict[str, Any]]) -> None:
    write_whole(directory / NOTES, json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def compare(
    source: str, sweep: Sweep, dataset: xr.Dataset, count: int, seed: int, *, tolerance: float | None = None,
    part: bool = False,
) -> Report:  # fmt: skip
    """Compute ``count`` cells drawn at random again (with ``part``, what their function names of each); compare."""
    order = Stream.of("verify", sweep.key, seed).permutation("cells", 0, sweep.n_cells)
    cells = sorted(order[:count].tolist())
    function, fixed, names = sweep.function(), sweep.fixed, [str(name) for name in dataset.data_vars]
    part = part and getattr(function, "part", None) is not None
    report = Report(source, sweep.n_cells, (), seed, part, made_by="this code" if own(sweep, dataset) else "other code")
    if part:
        fixed, comparable = function.part(**sweep.fixed)  # type: ignore[attr-defined]
        names = [name for name in names if name in comparable]
    try:
        again = computed(sweep, cells, fixed)
    except DataMissing as missing:  # the folder that it names is nobody's business on a published page
        return replace(report, reason=f"{str(missing).split(':')[0]} is not on this machine")
    stored, here = fold(sweep, dataset), made_here(dataset)
    differences, limits, worst = {}, {}, ("", -1.0)
    for name in names:
        old, new = stored[name].isel(cell=cells), again[name]
        if part:
            labelled = {d: new[d] for d in old.dims[1:] if d in new.coords and d in old.coords}
            old = old.sel(labelled).isel({d: slice(new.sizes[d]) for d in old.dims[1:] if d not in labelled})
        one, two, everything = old.values, new.transpose(*old.dims).values, stored[name].values
        differences[name] = _difference(one, two, everything)
        limits[name] = tolerance if tolerance is not None else 0.0 if here else allowed(function, name)
        if differences[name] - limits[name] > worst[1]:
            each = [_difference(a, b, everything) for a, b in zip(one, two, strict=True)]
            worst = sweep.describe([cells[int(np.argmax(each))]]), differences[name] - limits[name]
    return replace(report, cells=tuple(cells), differences=differences, allowed=limits, where=f"cell {worst[0]}")


def own(sweep: Sweep, dataset: xr.Dataset) -> bool:
    """Whether this code made a result."""
    return dataset.attrs.get("code") == sweep.code


def made_here(dataset: xr.Dataset) -> bool:
    """Whether a result was made on such a machine with these versions: then bits must be equal."""
    here = provenance.machine(), provenance.versions_in_words()
    return (dataset.attrs.get("machine"), dataset.attrs.get("versions")) == here


def _difference(stored: Any, again: Any, everything: np.ndarray) -> float:
    """Largest difference as a fraction of the variable's range; infinite if words or not-a-numbers differ."""
    one, two = np.asarray(stored), np.asarray(again)
    if equal_bits(one, two):
        return 0.0
    if one.shape != two.shape:
        return float("inf")
    if one.dtype.kind not in "fiub" or two.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(one, two) else float("inf")
    one, two = one.astype(float), two.astype(float)
    both = np.isfinite(one) & np.isfinite(two)
    if not np.all(both | (one == two) | (np.isnan(one) & np.isnan(two))):
        return float("inf")
    finite = everything[np.isfinite(everything)].astype(float)
    spread = float(np.ptp(finite)) if finite.size else 0.0
    gap = float(np.max(np.abs(one[both] - two[both]), initial=0.0))
    # Bits differ (signed zeros, say) although the numbers do not: still no equality of bits.
    return max(gap / spread if spread > 0 else gap and float("inf"), np.finfo(float).tiny)
