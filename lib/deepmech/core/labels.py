"""Numbers with labels: arrays that take the place of a number, and batches of members made from them.

``over("noise", values)`` makes a one-dimensional :class:`xarray.DataArray` whose dimension carries its own values.
:func:`align` broadcasts any mixture of numbers and labelled arrays into one flat batch of members and remembers the
labels, so that results can be given back with :meth:`ParameterGrid.unflatten`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core import specs

Number = float | xr.DataArray
LABELS = ("labels", "label", "y", "targets", "target")
"""Where a batch with names may have its labels; the first that is there counts."""


def over(name: str, values: Any) -> xr.DataArray:
    """A labelled one-dimensional array to put in place of a number.

    Parameters
    ----------
    name : str
        Of the dimension, which results have too.
    values : array_like, (n,)
        Numbers, texts or booleans, at least one, none of them twice.

    Returns
    -------
    DataArray, (n,)
        With its values as labels.

    Raises
    ------
    ValueError
        For a name that is not text, and values that are none, not one-dimensional, not numbers or text, nan, or
        repeated: a result is selected by its labels.

    Examples
    --------
    >>> over("slope", [0.0, 0.5, 1.0]).dims
    ('slope',)
    """
    if not isinstance(name, str) or not name:
        specs.raise_invalid("over: name", name, "text that names the dimension, for example over('noise', values)")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        specs.raise_invalid(f"over({name!r}): values", values, "a one-dimensional sequence")
    listed = array.ndim == 1 and array.dtype.kind in "fO" and isinstance(values, list | tuple)
    if listed and all(isinstance(one, int) for one in values):
        try:  # NumPy would round them
            array = np.asarray(values, np.uint64)
        except (OverflowError, TypeError):
            specs.raise_invalid(
                f"over({name!r}): values", values, "whole numbers of which one type of 64 bits holds all"
            )
    texts = values if array.ndim == 1 and array.dtype.kind == "U" else ()
    nul = any(isinstance(one, str) and "\0" in one for one in texts)  # of which NumPy cuts the last
    if array.ndim != 1 or array.dtype.kind not in "biufU" or _mixed(values) or nul:
        specs.raise_invalid(
            f"over({name!r}): values", values,
            "a one-dimensional sequence of real numbers, of texts without NUL, or of booleans, not mixed",
        )  # fmt: skip
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    found = xr.DataArray(array, dims=(name,), coords={name: array}, name=name)
    _check_labels(f"over({name!r})", found)
    return found


def _mixed(values: Any) -> bool:
    """Whether a list mixes kinds of values of which NumPy would make one: all texts, say."""
    if isinstance(values, np.ndarray | xr.DataArray):
        return False
    kinds = {type(one.item() if isinstance(one, np.generic) else one) for one in values}
    return len({"text" if issubclass(k, str) else "boolean" if k is bool else "number" for k in kinds}) > 1


def _check_labels(owner: str, array: xr.DataArray) -> None:
    """Every dimension must carry labels by which an element can be told from the others."""
    for d in array.dims:
        if d not in array.coords:
            raise ValueError(f"{owner}: dimension {d!r} has no labels; make the array with over(name, values)")
        labels = array.indexes[d]
        if len(labels) == 0:
            raise ValueError(f"{owner}: dimension {d!r} has no labels at all; give at least one value")
        if labels.hasnans:
            raise ValueError(f"{owner}: a label along {d!r} is nan, which cannot be selected; leave it out")
        if not labels.is_unique:
            twice = labels[labels.duplicated()][0]
            raise ValueError(f"{owner}: label {twice} stands twice along {d!r}; give every value once")


@dataclass(frozen=True)
class ParameterGrid:
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
        return to_records(self.flat)


def to_records(columns: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """One dictionary of plain values per member, or cell of a sweep, from arrays of one length by name.

    Parameters
    ----------
    columns : mapping of str to array_like, (n,)
        A Dataset, too.

    Returns
    -------
    list of dict, n

    Examples
    --------
    >>> to_records(xr.Dataset({"slope": ("cell", [0.0, 0.5]), "seed": ("cell", [3, 4])}))[1]
    {'slope': 0.5, 'seed': 4}
    """
    values = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(map(str, columns), row, strict=True)) for row in zip(*values, strict=True)]


def as_labelled(what: str, values: Any, *last: str) -> xr.DataArray:
    """``values`` as real numbers, float64, with the dimensions ``last`` at the end: a labelled array that has them, or
    a plain one, whose leading axes are then numbered. What it was called is not what is made of it, so its attributes
    stay behind. A ValueError for dimensions of ``last`` that are missing or empty.

    Examples
    --------
    >>> as_labelled("points", np.zeros((2, 5, 3)), "sample", "feature").dims
    ('lead_0', 'sample', 'feature')
    """
    expected = f"expected (…, {', '.join(last)})"
    if isinstance(values, xr.DataArray):
        if not set(last) <= set(values.dims):
            raise ValueError(f"{what} have dimensions {values.dims}: {expected}")
        found = values.transpose(..., *last)
        found.attrs = {}
        found = found.copy(data=specs.check_array(what, found.values))
    else:
        plain = specs.check_array(what, values)
        if plain.ndim < len(last):
            raise ValueError(f"{what} have shape {plain.shape}: {expected}")
        found = xr.DataArray(plain, dims=[f"lead_{i}" for i in range(plain.ndim - len(last))] + list(last))
    if empty := [name for name in last if not found.sizes[name]]:
        raise ValueError(f"{what}: dimension {empty[0]!r} has no entries: give at least one")
    return found


#: What results hold: of each variable its ``long_name``, its ``units`` (``"1"`` for pure numbers) and the dimensions
#: that come after those of the grid; of a coordinate the first two.
Words = Mapping[str, tuple[str, ...]]


def with_attrs(result: xr.Dataset, words: Words) -> xr.Dataset:
    """``result`` with the ``long_name`` and ``units`` that ``words`` has for its variables, so that a picture can name
    its axes.

    Examples
    --------
    >>> with_attrs(xr.Dataset({"x": 0.0}), {"x": ("position", "1"), "t": ("time", "steps")}).x.attrs
    {'long_name': 'position', 'units': '1'}
    """
    for name in result.variables.keys() & words.keys():
        result[name].attrs = dict(zip(("long_name", "units"), words[str(name)], strict=False))
    return result


def labelled(
    grid: ParameterGrid, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]], words: Words,
    coords: Mapping[Any, Any], attrs: Mapping[str, Any],
) -> xr.Dataset:  # fmt: skip
    """The numbers of all members with the labels of their grid: variables by name, of ``words``.

    ``rows`` has arrays with a first axis of members, or for every member its own arrays; where those are of several
    lengths, shorter ones end in nan.
    """
    if not isinstance(rows, Mapping):
        rows = {name: _stacked([row[name] for row in rows]) for name in rows[0]}
    variables = {name: grid.unflatten(rows[name], *words[name][2:]) for name in words if name in rows}
    return with_attrs(xr.Dataset(variables, {**grid.coords, **coords}, attrs), words)


def _stacked(values: Sequence[Any]) -> np.ndarray:
    """Along a first axis; each padded to the longest in every axis."""
    arrays = [np.asarray(value) for value in values]
    if len({array.shape for array in arrays}) > 1:
        longest = np.max([array.shape for array in arrays], axis=0)
        pads = [[(0, most - n) for n, most in zip(array.shape, longest, strict=True)] for array in arrays]
        arrays = [np.pad(array, pad, constant_values=np.nan) for array, pad in zip(arrays, pads, strict=True)]
    return np.stack(arrays)


def align(owner: str = "parameters", taken: Iterable[str] = (), /, **fields: Any) -> ParameterGrid:
    """Broadcast numbers and labelled arrays against one another.

    Two arrays that share a dimension must carry the same labels along it, and two that share a further coordinate the
    same values of it; otherwise a ValueError names the fields. So it does where labels have one of the names in
    ``taken``, those of all variables and dimensions of the result: it could not hold both.
    """
    if not fields:
        raise ValueError(f"{owner}: nothing to align; give at least one number or labelled array")
    arrays = {k: _as_array(f"{owner}.{k}", v) for k, v in fields.items()}
    for k, a in arrays.items():
        _check_labels(f"{owner}.{k}", a)
    coords = _joined(owner, arrays)
    for name in coords.keys() & {*taken}:
        k, a = next((k, a) for k, a in arrays.items() if name in a.coords)
        kind = "dimension" if name in a.dims else "coordinate"
        raise ValueError(f"{owner}.{k} has the {kind} {name!r}, a name that results use themselves: give it another")
    n = math.prod({d: size for a in arrays.values() for d, size in a.sizes.items()}.values())
    specs.check_memory(f"{owner}: number of members", n, n * len(arrays))
    wide = xr.broadcast(*xr.align(*arrays.values(), join="exact", copy=False))
    first = wide[0]
    flat = {k: np.ascontiguousarray(w.transpose(*first.dims).values.ravel()) for k, w in zip(arrays, wide, strict=True)}
    return ParameterGrid(tuple(first.dims), first.shape, coords, flat)


def expand(
    owner: str, *parts: specs.Spec, taken: Iterable[str] = (), **numbers: Any
) -> tuple[ParameterGrid, list[tuple[Any, ...]]]:
    """The grid of all labels in specs and in further ``numbers``, and its members.

    A member is (spec, …, number, …) of plain values. Each spec is made, and so checked, of its own values; members that
    have the same ones share it.

    Parameters
    ----------
    owner : str
        Who asks, as errors name it.
    *parts : Spec
    taken : iterable of str
        Names that results use themselves.
    **numbers : number or DataArray
        Those of the grid's dimensions come after those of the specs.

    Raises
    ------
    ValueError
        If labels clash or have a name in ``taken``, or values of a member do not fit one another.
    """
    own = [{f"{type(part).__name__}.{name}": a for name, a in part.labelled_fields().items()} for part in parts]
    grid = align(owner, taken, **{name: a for fields in own for name, a in fields.items()}, **numbers)
    plain = {name: values.tolist() for name, values in grid.flat.items()}
    columns: list[Sequence[Any]] = []
    for part, fields in zip(parts, own, strict=True):
        names = [name.partition(".")[2] for name in fields]
        rows = list(zip(*(plain[name] for name in fields), strict=True)) or [()] * grid.n
        made = {row: part.with_fields(dict(zip(names, row, strict=True))) for row in dict.fromkeys(rows)}
        columns.append([made[row] for row in rows])
    return grid, list(zip(*columns, *(plain[name] for name in numbers), strict=True))


def _as_array(what: str, value: Any) -> xr.DataArray:
    if isinstance(value, xr.DataArray):
        return value
    plain = None if isinstance(value, xr.Dataset) else np.asarray(value)
    if plain is None or plain.dtype.kind not in "biufUS":
        specs.raise_invalid(what, value, "a number or a labelled array; use over(name, values)")
    return xr.DataArray(plain)


def _joined(owner: str, arrays: Mapping[str, xr.DataArray]) -> dict[Hashable, Any]:
    """The coordinates of all arrays; of two of one name that differ, one would be lost."""
    coords: dict[Hashable, Any] = {}
    of: dict[Hashable, str] = {}
    for k, a in arrays.items():
        for name, values in a.coords.items():
            if name in coords and not coords[name].variable.equals(values.variable):
                both = f"{owner}.{of[name]} and {owner}.{k} both have"
                if name in a.dims and name in coords[name].dims:
                    raise ValueError(
                        f"{both} dimension {name!r} but different labels along it ({coords[name].size} and "
                        f"{values.size} values): use the same values, or another dimension name"
                    )
                raise ValueError(
                    f"{both} a coordinate {name!r} but different values of it: rename one of them, or leave it out "
                    f"with .drop_vars({name!r})"
                )
            coords[name], of[name] = values, k
    return coords
