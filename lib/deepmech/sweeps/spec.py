"""What a sweep is: a grid of cells, the function that computes them, and a key that changes when either does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import xarray as xr

from deepmech.core import provenance, specs
from deepmech.core.specs import Batch, Spec, align, decode, digest, each, named

F = TypeVar("F", bound=Callable[..., xr.Dataset])

#: What the last bits of elementary functions and sums amount to, of an element.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Sweep(Spec):
    """A grid of cells and the function that computes them.

    Parameters
    ----------
    name : str
        Letters, digits, ``_``, ``-`` and ``.``; it names stores and shipped files.
    compute : str
        ``"module:function"``. It is called as ``function(cells, **fixed)`` with a slice of the grid, the varied
        parameters as a Dataset over ``cell`` (:meth:`slice`), and returns a Dataset of which all variables have the
        dimension ``cell`` too. What it returns for a cell must not depend on the other cells of the slice: that is
        what makes results the same under any chunking.
    cells : dict of labelled arrays
        Parameters that vary (:func:`deepmech.over`), broadcast to a grid. Arrays that share a dimension vary together.
    fixed : dict
        Parameters that do not vary: JSON values, passed on to ``compute``.
    version : int
        To be raised when ``compute`` changes in a way that changes results.
    data : str
        Fingerprint of the data that ``compute`` uses, if any.

    Examples
    --------
    >>> from deepmech import over
    >>> sweep = Sweep("squares", "operator:add", {"x": over("x", [1.0, 2.0]), "y": over("y", [0, 1, 2])})
    >>> sweep.grid.shape, sweep.n_cells
    ((2, 3), 6)
    """

    name: str
    compute: str
    cells: Mapping[str, xr.DataArray]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    data: str = ""

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and re.fullmatch(r"[\w-][\w.-]*", self.name)
        self.require("name", plain, "letters, digits, '_', '-' and '.'")
        parts = self.compute.split(":") if isinstance(self.compute, str) else []
        ok = len(parts) == 2 and all(all(w.isidentifier() for w in p.split(".")) for p in parts)
        self.require("compute", ok, "'module:function', so that workers can import it")
        some = isinstance(self.cells, Mapping) and len(self.cells) > 0
        self.require("cells", some, "a non-empty dict of labelled arrays")
        for key, value in self.cells.items():
            specs.require(
                f"Sweep.cells[{key!r}]", value, isinstance(value, xr.DataArray),
                f"a labelled array; use over({key!r}, values)",
            )  # fmt: skip
        try:
            same = json.loads(json.dumps(dict(self.fixed), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"Sweep.fixed: must hold JSON values only ({error})") from None
        for key, value in self.fixed.items():
            if key in self.cells:
                raise ValueError(f"Sweep.fixed[{key!r}]: {key!r} varies in cells already; leave it out of one of them")
            kept = same.get(key) == value
            specs.require(f"Sweep.fixed[{key!r}]", value, kept, "what survives JSON unchanged (lists, no tuples)")
        self.require("version", isinstance(self.version, int) and self.version >= 1, "an integer >= 1")
        # A private copy: nobody can change a spec after its key was taken.
        object.__setattr__(self, "fixed", same)
        object.__setattr__(self, "cells", {k: v.copy(deep=True) for k, v in self.cells.items()})
        self.require("cells", self.grid.n > 0, "arrays with at least one value")

    @cached_property
    def grid(self) -> Batch:
        """All cells, flat, with the labels of the grid."""
        return align("Sweep.cells", **self.cells)

    @property
    def n_cells(self) -> int:
        return self.grid.n

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits of everything that decides the results."""
        return digest(self.to_json())

    @property
    def code(self) -> str:
        """Sixteen hexadecimal digits of all code of ours that ``compute`` can reach, as it was imported, and of the
        versions of torch and numba; not part of the key."""
        return provenance.complete(self.compute.partition(":")[0])

    def function(self) -> Callable[..., xr.Dataset]:
        """The function that computes cells."""
        return named(self.compute, f"Sweep.compute = {self.compute!r}: cannot be imported")

    def slice(self, indices: Sequence[int]) -> xr.Dataset:
        """The parameters of some cells as labelled arrays over ``cell``, as specs take them.

        Examples
        --------
        >>> from deepmech import over
        >>> sweep = Sweep("squares", "operator:add", {"x": over("x", [1.0, 2.0]), "y": over("y", [0, 1, 2])})
        >>> sweep.slice([2, 3])["x"].values
        array([1., 2.])
        """
        chosen = np.asarray(indices, int)
        return xr.Dataset({k: ("cell", v[chosen]) for k, v in self.grid.flat.items()}, {"cell": chosen})

    def describe(self, indices: Sequence[int], most: int = 5) -> str:
        """Cells in words, for errors: at most ``most`` of them."""
        some = each(self.slice(indices[:most]))
        more = f" and {len(indices) - most} more" if len(indices) > most else ""
        return ", ".join(f"({'; '.join(f'{k}={v!r}' for k, v in cell.items())})" for cell in some) + more

    def differences(self, other: Sweep) -> list[str]:
        """Where two sweeps differ, in words: fields, and within ``fixed`` and ``cells`` their keys."""
        ours, theirs = self.to_json(), other.to_json()
        plain = [name for name in ("name", "compute", "version", "data") if ours[name] != theirs[name]]
        found = [f"{name} ({theirs[name]!r} there, {ours[name]!r} here)" for name in plain]
        for name in ("fixed", "cells"):
            keys = sorted({*ours[name], *theirs[name]})
            found += [f"{name}[{key!r}]" for key in keys if ours[name].get(key) != theirs[name].get(key)]
        return found

    def holds(self, other: Sweep) -> bool:
        """Whether ``other`` is a part of this sweep: it differs in its grid alone, and each of its cells is here.

        Examples
        --------
        >>> from deepmech import over
        >>> three, ten = (Sweep("s", "operator:add", {"x": over("x", range(n))}) for n in (3, 10))
        >>> ten.holds(three), three.holds(ten)
        (True, False)
        """
        if self.cells.keys() != other.cells.keys() or any(d[:6] != "cells[" for d in self.differences(other)):
            return False
        try:
            return all(self.cells[k].sel({d: v[d] for d in v.dims}).equals(v) for k, v in other.cells.items())
        except KeyError:  # a label or a dimension that is not here
            return False

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        cells = {k: decode(v) for k, v in data["cells"].items()}
        return super().from_json({k: v for k, v in data.items() if k != "tolerance"} | {"cells": cells})


def recomputed(
    tolerance: Mapping[str, float] | None = None,
    part: Callable[..., tuple[dict[str, Any], Sequence[str]]] | None = None,
    chaotic: bool = False,
) -> Callable[[F], F]:
    """Say of a function that computes cells how its results are compared with those of a recomputation.

    Parameters
    ----------
    tolerance : dict, optional
        By variable, the largest relative difference of an element; ``"*"`` stands for all others. State it of torch's
        sums, which follow the processor, the versions and the number of threads. What is left out must have equal
        bits where it was made, and agree to :data:`ROUNDING` elsewhere.
    part : callable, optional
        Of a function whose cells are dear: ``part(**fixed)`` gives the fixed parameters of a smaller task, and the
        variables of its result that under equal labels equal those of the whole: the first trials of many, say.
    chaotic : bool
        Whether the last bits of a sum grow into other results: then they are compared only where they were made.

    Examples
    --------
    >>> @recomputed(tolerance={"loss": 1e-6})
    ... def compute(cells): ...
    >>> allowed(compute, "loss"), allowed(compute, "curve"), allowed(compute, "curve", here=True)
    (1e-06, 1e-09, 0.0)
    """
    for name, value in (tolerance or {}).items():
        if not 0 <= value < 0.1:
            raise ValueError(f"recomputed: tolerance[{name!r}] = {value!r}: more than a tenth proves nothing")

    def mark(function: F) -> F:
        function.tolerance, function.part = dict(tolerance or {}), part  # type: ignore[attr-defined]
        function.chaotic = chaotic  # type: ignore[attr-defined]
        return function

    return mark


def allowed(function: Callable[..., xr.Dataset], variable: str, here: bool = False) -> float:
    """The tolerance of one variable of a function's results, ``here`` where it was made; see :func:`recomputed`."""
    stated = getattr(function, "tolerance", {})
    return float(stated.get(variable, stated.get("*", 0.0 if here else ROUNDING)))


def sweep_of(dataset: xr.Dataset) -> Sweep:
    """The sweep that a result came from, from its attributes."""
    try:
        spec = json.loads(dataset.attrs["spec"])
    except (KeyError, ValueError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec)
