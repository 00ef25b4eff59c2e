"""Numbers with labels: a parameter is a number or a labelled array, and a phase diagram is one call.

``over("noise", values)`` makes a one-dimensional :class:`xarray.DataArray` whose dimension carries its own values.
:func:`align` broadcasts any mixture of numbers and labelled arrays into one flat batch of members and remembers the
labels, so that results can be given back with :meth:`Batch.unflatten`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

Number = float | xr.DataArray


def over(name: str, values: Any) -> xr.DataArray:
    """A labelled one-dimensional array to put in place of a number.

    Examples
    --------
    >>> over("slope", [0.0, 0.5, 1.0]).dims
    ('slope',)
    """
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"over({name!r}): values have {values.ndim} dimensions; give a one-dimensional sequence")
    return xr.DataArray(values, dims=(name,), coords={name: values}, name=name)


@dataclass(frozen=True)
class Batch:
    """Parameters broadcast to ``n`` members: ``flat[name]`` has shape (n,); ``dims`` and ``coords`` keep the labels."""

    dims: tuple[Hashable, ...]
    shape: tuple[int, ...]
    coords: Mapping[Hashable, Any]
    flat: Mapping[str, np.ndarray]

    @property
    def n(self) -> int:
        return int(np.prod(self.shape))

    def unflatten(self, values: np.ndarray, *extra: str) -> tuple[tuple[Hashable, ...], np.ndarray]:
        """``values`` of shape (n, ...) as (dims, array) for a Dataset; ``extra`` names the axes after the first."""
        return self.dims + extra, np.asarray(values).reshape(self.shape + np.shape(values)[1:])

    def members(self) -> list[dict[str, float]]:
        """One plain dictionary of parameters per member."""
        return [{k: v[i].item() for k, v in self.flat.items()} for i in range(self.n)]


def align(owner: str = "parameters", /, **fields: Any) -> Batch:
    """Broadcast numbers and labelled arrays against one another.

    Two arrays that share a dimension must carry the same labels along it; otherwise a ValueError names the fields.
    """
    arrays = {k: v if isinstance(v, xr.DataArray) else xr.DataArray(np.asarray(v)) for k, v in fields.items()}
    for k, a in arrays.items():
        unlabelled = [d for d in a.dims if d not in a.coords]
        if unlabelled:
            raise ValueError(
                f"{owner}.{k}: dimension {unlabelled[0]!r} has no labels; make the array with over(name, values)"
            )
    try:
        wide = xr.broadcast(*xr.align(*arrays.values(), join="exact", copy=False))
    except ValueError:
        raise ValueError(_clash(owner, arrays)) from None
    first = wide[0]
    flat = {k: np.ascontiguousarray(w.transpose(*first.dims).values.ravel()) for k, w in zip(arrays, wide, strict=True)}
    coords: dict[Hashable, Any] = {}
    for a in arrays.values():
        coords.update(a.coords)
    return Batch(tuple(first.dims), first.shape, coords, flat)


def _clash(owner: str, arrays: Mapping[str, xr.DataArray]) -> str:
    seen: dict[Hashable, tuple[str, np.ndarray]] = {}
    for k, a in arrays.items():
        for d in a.dims:
            values = a.coords[d].values
            if d in seen and not np.array_equal(seen[d][1], values):
                return (
                    f"{owner}.{seen[d][0]} and {owner}.{k} both have dimension {d!r} but different labels along it "
                    f"({len(seen[d][1])} and {len(values)} values): use the same values, or another dimension name"
                )
            seen.setdefault(d, (k, values))
    return f"{owner}: labelled arrays do not broadcast: { {k: a.dims for k, a in arrays.items()} }"
