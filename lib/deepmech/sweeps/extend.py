"""More seeds, or a finer grid, without computing again what is known."""

from __future__ import annotations

import secrets
from itertools import groupby
from pathlib import Path

import xarray as xr

from deepmech.sweeps.assemble import fold, missing, sweep_of
from deepmech.sweeps.spec import Sweep
from deepmech.sweeps.store import Store
from deepmech.sweeps.verification import compare


def adopt(sweep: Sweep, store: str | Path, result: xr.Dataset) -> int:
    """Put the cells that ``result`` and ``sweep`` share into the store of ``sweep``, which :func:`run`
    then completes.

    A cell's result depends on its own parameters alone, so a grid of three seeds is a part of the grid of ten. What was
    computed on another machine keeps that machine's rounding; the provenance of the whole names both.

    Parameters
    ----------
    sweep : the larger sweep.
    store : directory that keeps its cells.
    result : what :func:`run`, :func:`result` returned for a sweep that differs in its grid only.

    Returns
    -------
    int
        Number of cells that were put into the store; those that it held before stay as they are.

    Raises
    ------
    ValueError
        If the two sweeps differ in more than name, tolerance and grid, or share no cell; or if other code made the
        result and some of its cells (one in fifty, at least three), computed again, come out different.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from deepmech import over
    >>> few, more = (
    ...     Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", b)}, {"highest": 3})
    ...     for b in ([1.0, 2.0], [1.0, 2.0, 3.0])
    ... )
    >>> from deepmech.sweeps import run
    >>> with TemporaryDirectory() as store:
    ...     adopt(more, store, run(few))
    2
    """
    small = sweep_of(result)
    if other := [where for where in sweep.differences(small) if not where.startswith(("name", "cells"))]:
        raise ValueError(f"adopt: the result and sweep {sweep.name!r} differ in {', '.join(other)}; only grids may")
    known = {_label(cell): i for i, cell in enumerate(small.parameters(range(small.n_cells)))}
    wanted = [_label(cell) for cell in sweep.parameters(range(sweep.n_cells))]
    if not any(label in known for label in wanted):
        raise ValueError(f"adopt: no cell of sweep {small.name!r} is in the grid of {sweep.name!r}")
    if result.attrs.get("code") != small.code:
        count, seed = max(3, small.n_cells // 50), secrets.randbelow(10**6)
        report = compare(f"adopt: the result of {small.name!r}", small, result, count, seed)
        if not report.cells or not report.passed:
            raise ValueError(f"{report}. Compute the cells anew")
    place = Store.open(store, sweep)
    todo = [i for i in missing(sweep, place.read()) if wanted[i] in known]
    flat = fold(small, result)
    flat.attrs = {k: v for k, v in result.attrs.items() if k in ("code", "versions", "machine", "device", "dtype")}
    for _, group in groupby(enumerate(todo), key=lambda pair: pair[1] - pair[0]):
        piece = [i for _, i in group]
        part = flat.isel(cell=[known[wanted[i]] for i in piece])
        share = float(result.attrs.get("wall_seconds", 0.0)) * len(piece) / small.n_cells
        place.write(piece[0], part.assign_attrs(wall_seconds=share))
    return len(todo)


def _label(cell: dict[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(cell.items()))
