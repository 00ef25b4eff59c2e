"""A sweep: a grid of cells, the function that computes them, and a key that changes when either does."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr

from deepmech.core import provenance, specs
from deepmech.core.labels import ParameterGrid, align, to_records
from deepmech.core.specs import Spec, canonical_text, decode, digest, encode, import_object
from deepmech.sweeps.files import parse_json

#: What every result has besides; no parameter may be called so.
OWN = {"cell", "diverged"}


@dataclass(frozen=True, eq=False)
class Sweep(Spec):
    """A grid of cells and the function that computes them.

    Parameters
    ----------
    name : str
        At most 200 letters, digits, ``_``, ``-`` and ``.``; it names stores and shipped files.
    compute : str
        ``"module:function"``, or a name from a package's table (:func:`named_functions`), which stays what it is when
        the function moves. It is called as ``function(cells, **fixed)`` with a slice of the grid, the varied
        parameters as a Dataset over ``cell`` (:meth:`slice`), and returns a Dataset of which all variables have the
        dimension ``cell`` too. What it returns for a cell must not depend on the other cells of the slice: that is
        what makes results the same under any chunking.
    cells : dict of labelled arrays
        Parameters that vary (:func:`deepmech.over`), broadcast to a grid. Arrays that share a dimension vary together.
    fixed : dict
        Parameters that do not vary: JSON values, passed on to ``compute``, which must not depend on a dict's order.
    version : int
        To be raised when results change: because of what ``compute`` imports, say. An edit of its own module is noticed
        (:attr:`code`), unless it is one of docstrings and comments.
    data : str
        Fingerprint of the data that ``compute`` uses, if any.
    from_file : bool
        Whether a file named ``compute`` (:meth:`from_json` sets it): then only a function is called that has a name in
        such a table. Not part of the key.

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
    from_file: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        plain = isinstance(self.name, str) and re.fullmatch(r"[\w-][\w.-]*", self.name)
        fits = plain and len(self.name.encode()) <= 200  # file systems take 255, and a key follows
        self.check("name", fits, "at most 200 letters, digits, '_', '-' and '.', the first of them no '.'")
        parts = self.compute.split(":") if isinstance(self.compute, str) else []
        ok = len(parts) == 2 and all(all(w.isidentifier() for w in p.split(".")) for p in parts)
        ok = ok or (len(parts) == 1 and self.compute in named_functions())
        self.check("compute", ok, "'module:function', so that workers can import it, or a name from a package's table")
        some = isinstance(self.cells, Mapping) and len(self.cells) > 0
        self.check("cells", some, "a non-empty dict of labelled arrays")
        cells = {}
        for key, value in self.cells.items():
            specs.check(
                f"Sweep.cells[{key!r}]", value, isinstance(value, xr.DataArray),
                f"a labelled array; use over({key!r}, values)",
            )  # fmt: skip
            cells[key] = _as_kept(key, value)
        self.check("fixed", isinstance(self.fixed, Mapping), "a dict of JSON values")
        same: dict[str, Any] = {}
        for key, value in self.fixed.items():
            try:
                same |= json.loads(json.dumps({key: value}, allow_nan=False, default=_as_python))
            except (TypeError, ValueError) as error:
                raise ValueError(f"Sweep.fixed[{key!r}]: must be a JSON value ({error})") from None
            if key in self.cells:
                raise ValueError(f"Sweep.fixed[{key!r}]: {key!r} varies in cells already; leave it out of one of them")
            kept = same.get(key) == value
            specs.check(f"Sweep.fixed[{key!r}]", value, kept, "what survives JSON unchanged (lists, no tuples)")
        object.__setattr__(self, "version", specs.check_int("Sweep.version", self.version))
        text = isinstance(self.data, str) and self.data.isprintable()
        self.check("data", text, "text on one line, as the fingerprint of a data set is")
        # A private copy: nobody can change a spec after its key was taken.
        object.__setattr__(self, "fixed", same)
        object.__setattr__(self, "cells", cells)
        self.check("cells", self.grid.n > 0, "arrays with at least one value")

    @cached_property
    def grid(self) -> ParameterGrid:
        """All cells, flat, with the labels of the grid."""
        return align("Sweep.cells", **self.cells)

    @property
    def n_cells(self) -> int:
        return self.grid.n

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits of all that decides results: one key, equal arguments of equal types."""
        return digest(self.to_json())

    def fingerprint(self) -> str:
        return self.key

    @property
    def code(self) -> str:
        """:func:`.provenance.code_hash` of the module of ``compute``; not part of the key."""
        return provenance.code_hash(self.target.partition(":")[0])

    @property
    def target(self) -> str:
        """``"module:function"``, where the function of ``compute`` lies today; not part of the key."""
        return self.compute if ":" in self.compute else named_functions()[self.compute]

    def function(self) -> Callable[..., xr.Dataset]:
        """The function that computes cells; a ValueError if a file named it, by no name that a package gave."""
        if self.from_file and ":" in self.compute:
            raise ValueError(
                f"only a file says that {self.compute!r} computes the cells of {self.name!r}, and what a file names is "
                "not called: name the sweep itself, as MODULE:NAME on the command line, or as a Sweep in Python"
            )
        otherwise = f"Sweep.compute = {self.compute!r}: cannot be imported"
        function: Callable[..., xr.Dataset] = import_object(self.target, otherwise)
        return function

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
        some = to_records(self.slice(indices[:most]))
        more = f" and {len(indices) - most} more" if len(indices) > most else ""
        return ", ".join(f"({'; '.join(f'{k}={v!r}' for k, v in cell.items())})" for cell in some) + more

    def differences(self, other: Sweep) -> list[str]:
        """Where two sweeps differ, in words: fields, and within ``fixed`` and ``cells`` their keys."""
        ours, theirs = self.to_json(), other.to_json()
        plain = [name for name in ("name", "compute", "version", "data") if ours[name] != theirs[name]]
        found = [f"{name} ({theirs[name]!r} there, {ours[name]!r} here)" for name in plain]
        for name in ("fixed", "cells"):
            for key in sorted({*ours[name], *theirs[name]}):
                one, two = ({key: side[name][key]} if key in side[name] else {} for side in (ours, theirs))
                if canonical_text(one) != canonical_text(two):
                    found.append(f"{name}[{key!r}]")
        return found

    def contains(self, other: Sweep) -> bool:
        """Whether ``other`` is a part of this sweep: it differs in its grid alone, and each of its cells is here.

        Examples
        --------
        >>> from deepmech import over
        >>> three, ten = (Sweep("s", "operator:add", {"x": over("x", range(n))}) for n in (3, 10))
        >>> ten.contains(three), three.contains(ten)
        (True, False)
        """
        if self.cells.keys() != other.cells.keys() or any(d[:6] != "cells[" for d in self.differences(other)):
            return False
        try:
            mine = {k: self.cells[k].sel({d: v[d] for d in v.dims}) for k, v in other.cells.items()}
            return canonical_text(mine) == canonical_text(dict(other.cells))
        except (KeyError, IndexError):  # a label or a dimension that is not here; booleans among labels
            return False

    def to_json(self) -> dict[str, Any]:
        """The sweep as plain JSON values; :meth:`from_json` turns it back."""
        return {name: value for name, value in super().to_json().items() if name != "from_file"}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The sweep of :meth:`to_json`. Whoever wrote ``data`` may have named any function: it is called only if it has
        a name in a table (:func:`named_functions`)."""
        try:
            cells = {k: decode(v) for k, v in data["cells"].items()}
            return super().from_json(data | {"cells": cells, "from_file": True})
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"this is no sweep ({type(error).__name__}: {error})") from None


def _as_python(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is none")


def _as_kept(key: Any, value: xr.DataArray) -> xr.DataArray:
    """A varied parameter as JSON gives it back, so that a sweep that was read is the one that was written."""
    if taken := OWN & {key, *value.dims, *value.coords}:
        raise ValueError(f"Sweep.cells[{key!r}]: takes a name of ours, {min(taken)!r}")
    try:
        return decode(json.loads(json.dumps(encode(value))))
    except TypeError as error:
        raise ValueError(f"Sweep.cells[{key!r}]: must hold numbers, booleans or texts ({error})") from None


@cache
def named_functions() -> Mapping[str, str]:
    """``"module:function"`` of every function that has a name in keys: from the tables ``cells.CELLS`` of the packages
    whose results ship, those of the entry points ``deepmech.results``."""
    found = [find_spec(entry.value) for entry in entry_points(group="deepmech.results")]
    # One wheel holds library and book: a folder of that name beside a file that was sent to somebody is not the book.
    home = Path(__file__).parents[2]
    packages = [one.name for one in found if one is not None and one.origin and Path(one.origin).parents[1] == home]
    return ChainMap(
        *(import_object(f"{package}.cells:CELLS", f"{package} ships results without a table") for package in packages)
    )


def sweep_of(dataset: xr.Dataset) -> Sweep:
    """The sweep that a result came from, from its attributes.

    Parameters
    ----------
    dataset : xarray.Dataset
        What :func:`deepmech.sweeps.run` or :func:`deepmech.sweeps.load` returned, or a file of it.

    Returns
    -------
    Sweep

    Raises
    ------
    ValueError
        If the dataset does not say which sweep it came from.

    Examples
    --------
    >>> from deepmech import over
    >>> from deepmech.sweeps import run
    >>> sweep = Sweep("doc", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    >>> sweep_of(run(sweep)).key == sweep.key
    True
    """
    try:
        spec = parse_json(dataset.attrs["spec"])
    except (KeyError, ValueError, AttributeError, TypeError):
        raise ValueError(
            "this dataset does not say which sweep it came from (attribute 'spec'); use the result of sweeps.run"
        ) from None
    return Sweep.from_json(spec)
