"""Results that ship with the book, and the check that anybody can make: compute a random sample of cells again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance
from deepmech.core.random import Stream
from deepmech.sweeps.assemble import equal_bits
from deepmech.sweeps.runner import check_chunk, load, run
from deepmech.sweeps.spec import Sweep
from deepmech.sweeps.store import atomically, read_manifest, read_netcdf, write_netcdf


class NotShipped(ValueError):
    """No shipped result has this sweep's key."""


def ship(dataset: xr.Dataset, directory: str | Path) -> Path:
    """Write a sweep's whole result as one compressed, lossless netCDF file named by sweep and key; returns its path.

    ``dataset`` is what :func:`~deepmech.sweeps.run` returned; variables that need not ship may be dropped before. The
    file holds the sweep itself, so it can be recomputed and verified from the file alone.
    """
    sweep = sweep_of(dataset)
    if "computed" in dataset and not bool(dataset["computed"].all()):
        raise ValueError(
            f"ship: {int((~dataset['computed']).sum())} cells of sweep {sweep.name!r} are missing; run it first"
        )
    sizes = {str(d): dataset.sizes.get(d) for d in sweep.grid.dims}
    if tuple(sizes.values()) != sweep.grid.shape:
        raise ValueError(f"ship: the dataset has grid {sizes}, its sweep {sweep.grid.shape}; ship the whole grid")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / filename(sweep)
    with atomically(path) as temporary:
        write_netcdf(dataset, temporary, compress=True)
    return path


def filename(sweep: Sweep) -> str:
    """Name of a shipped result: it changes when spec, version or data change."""
    return f"{sweep.name}-{sweep.key}.nc"


def shipped(sweep: Sweep, directory: str | Path) -> xr.Dataset:
    """The shipped result of exactly this sweep; :class:`NotShipped` names near files and the way to compute it."""
    path = Path(directory) / filename(sweep)
    if path.exists():
        dataset = read_netcdf(path)
        if sweep_of(dataset).key != sweep.key:
            raise ValueError(f"{path} holds sweep {sweep_of(dataset).key}, not {sweep.key}: it was renamed or damaged")
        return dataset
    near = sorted(f.name for f in Path(directory).glob(f"{sweep.name}-*.nc")) if Path(directory).is_dir() else []
    have = (
        f"there is {', '.join(near)}, of another spec, version or data"
        if near
        else f"nothing in {directory} has its name"
    )
    raise NotShipped(
        f"no shipped result of sweep {sweep.name!r} with key {sweep.key}: {have}. Compute it with "
        f"sweeps.run(sweep, store) and sweeps.ship(result, {str(directory)!r})"
    )


def obtain(sweep: Sweep) -> xr.Dataset:
    """The result of ``sweep``: the shipped one if there is one, else computed now.

    The environment says where: ``DEEPMECH_RESULTS`` is the folder of shipped results, ``DEEPMECH_STORES`` a folder in
    which an interrupted computation goes on where it stopped; without it nothing is kept. The attribute ``obtained`` of
    the result says which way it came.
    """
    results, stores = os.environ.get("DEEPMECH_RESULTS"), os.environ.get("DEEPMECH_STORES")
    if results and (Path(results) / filename(sweep)).exists():
        return shipped(sweep, results).assign_attrs(obtained="shipped with the book")
    store = Path(stores) / filename(sweep).removesuffix(".nc") if stores else None
    return run(sweep, store).assign_attrs(obtained="computed for this page")


def stored(name: str) -> xr.Dataset:
    """The one shipped result of the sweep called ``name``, whatever its spec: to be drawn without its data at hand.

    It lies in the folder that ``DEEPMECH_RESULTS`` names. :class:`NotShipped` if there is none, or more than one.
    """
    directory = Path(os.environ.get("DEEPMECH_RESULTS", "book/results"))
    found = sorted(directory.glob(f"{name}-{'[0-9a-f]' * 16}.nc"))
    if len(found) != 1:
        have = ", ".join(f.name for f in found) or "none"
        raise NotShipped(f"stored({name!r}): {have} in {directory}; one is needed (sweeps.run, then sweeps.ship)")
    return shipped(sweep_of(read_netcdf(found[0])), directory)


def stored_or(name: str, otherwise: Callable[[], Sweep]) -> xr.Dataset:
    """What :func:`stored` finds under ``name``; if nothing, what :func:`obtain` makes of the sweep ``otherwise()``."""
    try:
        return stored(name)
    except NotShipped:
        return obtain(otherwise())


def sweep_of(dataset: xr.Dataset) -> Sweep:
    """The sweep that a result came from, from its attributes."""
    try:
        spec = json.loads(dataset.attrs["spec"])
    except (KeyError, ValueError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec)


@dataclass(frozen=True)
class Report:
    """Outcome of :func:`verify` for one result.

    ``differences`` holds per variable the largest difference found, as a fraction of the variable's range over the grid
    (0: equal bits); ``tolerance`` is what was allowed (0: bits had to be equal).
    """

    source: str
    sweep: Sweep
    cells: tuple[int, ...]
    differences: Mapping[str, float]
    tolerance: float
    same_machine: bool

    @property
    def passed(self) -> bool:
        return all(d <= self.tolerance for d in self.differences.values())

    def __str__(self) -> str:
        worst = max(self.differences, key=lambda k: self.differences[k])
        largest = self.differences[worst]
        found = "bits equal" if largest == 0 else f"largest difference {largest:.2g} of the range, in {worst!r}"
        rule = "bits must be equal" if self.tolerance == 0 else f"allowed {self.tolerance:g}"
        where = "same machine and versions" if self.same_machine else "another machine or other versions"
        verdict = "verified" if self.passed else "FAILED"
        return (
            f"{verdict}: {self.source}: {len(self.cells)} of {self.sweep.n_cells} cells recomputed ({where}; {rule}): "
            f"{found}; cells {self.sweep.describe(self.cells)}"
        )


def verify(
    path: str | Path, *, n: int = 3, fraction: float | None = None, seed: int = 0, tolerance: float | None = None
) -> list[Report]:
    """Compute randomly chosen cells again, each alone, and compare them with what is stored.

    Parameters
    ----------
    path : path
        A shipped file, a directory of shipped files, or a store.
    n : int
        Cells per result; ``fraction`` (of all cells, rounded up) takes its place if given.
    seed : int
        Which cells are chosen.
    tolerance : float, optional
        Allowed difference as a fraction of each variable's range over the grid. Default: 0 (equal bits) on the machine
        and versions that made the result, the sweep's own ``tolerance`` elsewhere.

    Raises
    ------
    ValueError
        If there is nothing to verify at ``path``. A difference is no error: see :attr:`Report.passed`.
    """
    if fraction is not None and not 0 < fraction <= 1:
        raise ValueError(f"verify: fraction = {fraction!r}: must be in (0, 1]")
    if n < 1:
        raise ValueError(f"verify: n = {n!r}: must be an integer >= 1")
    path = Path(path)
    if (path / "manifest.json").exists():
        found = {str(path): load(Sweep.from_json(read_manifest(path)["sweep"]), path)}
    else:
        files = sorted(path.glob("*.nc")) if path.is_dir() else [path] if path.exists() else []
        if not files:
            raise ValueError(f"verify: {path}: neither a shipped result, nor a directory of them, nor a sweep's store")
        found = {str(f): read_netcdf(f) for f in files}
    reports = []
    for source, dataset in found.items():
        sweep = sweep_of(dataset)
        count = n if fraction is None else int(np.ceil(fraction * sweep.n_cells))
        order = Stream.of("verify", sweep.key, seed).permutation("cells", 0, sweep.n_cells)
        chosen = tuple(sorted(int(i) for i in order[:count]))
        reports.append(_compare(source, sweep, dataset, chosen, tolerance))
    return reports


def _compare(
    source: str, sweep: Sweep, dataset: xr.Dataset, chosen: tuple[int, ...], tolerance: float | None
) -> Report:
    here = {
        "machine": provenance.machine(),
        "versions": provenance.versions_in_words(),
    }
    same = all(dataset.attrs.get(k) == v for k, v in here.items())
    grid = sweep.grid
    differences = {str(name): 0.0 for name in dataset.data_vars}
    for index in chosen:
        alone = check_chunk(sweep, sweep.function()(sweep.parameters([index]), **sweep.fixed), 1)
        for name in differences:
            stored = dataset[name].transpose(*grid.dims, ...).values.reshape(grid.n, *alone[name].shape[1:])
            difference = _difference(stored[index], alone[name].values[0], stored)
            differences[name] = max(differences[name], difference)
    allowed = tolerance if tolerance is not None else 0.0 if same else sweep.tolerance
    return Report(source, sweep, chosen, differences, allowed, same)


def _difference(stored: Any, again: Any, everything: np.ndarray) -> float:
    """Largest difference as a fraction of the variable's range; infinite if words or not-a-numbers differ."""
    one, two = np.asarray(stored), np.asarray(again)
    if equal_bits(one, two):
        return 0.0
    if one.dtype.kind not in "fiub" or two.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(one, two) else float("inf")
    one, two = one.astype(float), two.astype(float)
    both = np.isfinite(one) & np.isfinite(two)
    if not np.all(both | (one == two) | (np.isnan(one) & np.isnan(two))):
        return float("inf")
    finite = everything[np.isfinite(everything)].astype(float)
    spread = float(np.ptp(finite)) if finite.size else 0.0
    gap = float(np.max(np.abs(one - two)[both], initial=0.0))
    # Bits differ (signed zeros, say) although the numbers do not: still no equality of bits.
    return max(gap / spread if spread > 0 else gap and float("inf"), np.finfo(float).tiny)
