"""From chunks of cells to a labelled Dataset, or to an error that says what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import provenance
from deepmech.sweeps.spec import Sweep


class Incomplete(ValueError):
    """Cells of a grid are missing, so nothing can be said about the grid as a whole."""

    def __init__(self, sweep: Sweep, absent: Sequence[int], remedy: str) -> None:
        self.missing = list(absent)
        super().__init__(
            f"sweep {sweep.name!r} is incomplete: {len(absent)} of {sweep.n_cells} cells are missing: "
            f"{sweep.describe(absent)}. {remedy}"
        )


def missing(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> list[int]:
    """Flat indices of the cells that no chunk holds."""
    have = {int(i) for chunk in chunks for i in chunk["cell"].values}
    return [i for i in range(sweep.n_cells) if i not in have]


def join(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> xr.Dataset:
    """All cells along one dimension ``cell``, in order, each once; cells computed twice must agree to the bit."""
    first = chunks[0]
    for chunk in chunks:
        same = chunk.drop_dims("cell").equals(first.drop_dims("cell"))
        if set(chunk.data_vars) != set(first.data_vars) or not same:
            raise ValueError(
                f"sweep {sweep.name!r}: chunks have different variables or coordinates; {sweep.compute} must "
                f"return the same ones for all cells"
            )
    cells = xr.concat(chunks, "cell", data_vars="all", coords="minimal", compat="override", join="exact")
    numbers, once, of = np.unique(cells["cell"], return_index=True, return_inverse=True)
    if len(numbers) < len(of):
        for name, array in cells.data_vars.items():
            if not equal_bits(array.values, array.values[once[of]]):
                twice = numbers[np.bincount(of) > 1].tolist()
                raise ValueError(
                    f"sweep {sweep.name!r}: two computations of cells {sweep.describe(twice)} differ in {name!r}. Were "
                    f"they made on different machines, or does {sweep.compute} depend on its chunk? Check with "
                    f"sweeps.verify, and delete one of the chunk files"
                )
    return cells.isel(cell=once)


def equal_bits(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays are equal bit by bit; all not-a-numbers count as one value."""
    if one.shape != two.shape:
        return False
    # Words come back from a file as another kind of array; numbers never do.
    if one.dtype.kind != two.dtype.kind and not {one.dtype.kind, two.dtype.kind} <= set("UOT"):
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, two))
    # +0 and -0 compare equal but are different bits.
    signs = np.signbit(one) == np.signbit(two) if one.dtype.kind == "f" else np.True_
    return bool(np.all(np.isnan(one) & np.isnan(two) | ((one == two) & signs)))


def unfold(sweep: Sweep, cells: xr.Dataset) -> xr.Dataset:
    """The Dataset over the grid from one over ``cell`` (complete and in order), with labels and provenance."""
    grid = sweep.grid
    variables = {}
    for name, array in cells.data_vars.items():
        dims, values = grid.unflatten(array.values, *(str(d) for d in array.dims[1:]))
        if len(set(dims)) < len(dims):
            raise ValueError(
                f"sweep {sweep.name!r}: variable {name!r} has a dimension named like one of the grid, {grid.dims}"
            )
        variables[name] = (dims, values, array.attrs)
    coords: dict[Any, Any] = {k: v for k, v in cells.coords.items() if "cell" not in v.dims}
    coords |= dict(grid.coords)
    for name, varied in sweep.cells.items():
        if name not in coords and name not in variables:
            coords[name] = varied
    return xr.Dataset(variables, coords)


def fold(sweep: Sweep, whole: xr.Dataset) -> xr.Dataset:
    """What :func:`unfold` was given, from what it returned."""
    dims, variables = sweep.grid.dims, {}
    for name, array in whole.data_vars.items():
        wide = array.transpose(*dims, ...)
        own = wide.shape[len(dims) :]
        variables[name] = (("cell", *wide.dims[len(dims) :]), wide.values.reshape(-1, *own), array.attrs)
    coords = {k: v for k, v in whole.coords.items() if not set(v.dims) & set(dims) and k not in sweep.cells}
    return xr.Dataset(variables, coords, whole.attrs)


def attributes(sweep: Sweep, chunks: Sequence[xr.Dataset]) -> dict[str, Any]:
    """Provenance of a whole sweep from that of its chunks (made by :func:`deepmech.sweeps.runner.compute_chunk`)."""
    first = chunks[0].attrs
    attrs = provenance.attributes(
        spec=json.dumps(sweep.to_json()),
        seed=str(sweep.fixed.get("seed", "in cells" if "seed" in sweep.cells else "none")),
        device=_distinct(chunks, "device"),
        dtype=first.get("dtype", "as computed"),
        wall_seconds=sum(c.attrs.get("wall_seconds", 0.0) for c in chunks),
    )
    made = {name: _distinct(chunks, name) for name in ("code", "versions", "machine")}
    return {**attrs, **made, "sweep": sweep.name, "sweep_key": sweep.key, "data": sweep.data, "chunks": len(chunks)}


def _distinct(chunks: Sequence[xr.Dataset], name: str) -> str:
    return " | ".join(sorted({str(c.attrs.get(name, "unknown")) for c in chunks}))


def sweep_of(dataset: xr.Dataset) -> Sweep:
    """The sweep that a result came from, from its attributes."""
    try:
        spec = json.loads(dataset.attrs["spec"])
    except (KeyError, ValueError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec)
