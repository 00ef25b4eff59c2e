"""Parameters: a number or a labelled array, so that a phase diagram is one call, and frozen specs that hold them.

``over("noise", values)`` makes a one-dimensional :class:`xarray.DataArray` whose dimension carries its own values.
:func:`align` broadcasts any mixture of numbers and labelled arrays into one flat batch of members and remembers the
labels, so that results can be given back with :meth:`Batch.unflatten`. A :class:`Spec` is validated on construction,
readable as JSON, comparable and hashable by content.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import xarray as xr

from deepmech.core import checks

Number = float | xr.DataArray


def over(name: str, values: Any) -> xr.DataArray:
    """A labelled one-dimensional array to put in place of a number.

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
        checks.refuse("over: name", name, "text that names the dimension, for example over('noise', values)")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        checks.refuse(f"over({name!r}): values", values, "a one-dimensional sequence")
    if array.ndim != 1 or array.dtype.kind not in "biufUS":
        checks.refuse(f"over({name!r}): values", values, "a one-dimensional sequence of real numbers or texts")
    found = xr.DataArray(array, dims=(name,), coords={name: array}, name=name)
    _require_labels(f"over({name!r})", found)
    return found


def _require_labels(owner: str, array: xr.DataArray) -> None:
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
        return each(self.flat)


def each(columns: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """One dictionary of plain values per member, or cell of a sweep, from arrays of one length by name.

    Examples
    --------
    >>> each(xr.Dataset({"slope": ("cell", [0.0, 0.5]), "seed": ("cell", [3, 4])}))[1]
    {'slope': 0.5, 'seed': 4}
    """
    values = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(map(str, columns), row, strict=True)) for row in zip(*values, strict=True)]


def with_dims(what: str, values: Any, *last: str) -> xr.DataArray:
    """``values`` with the dimensions ``last`` at its end: a labelled array that has them, or a plain one, whose leading
    axes are then numbered. What it was called is not what is made of it, so its attributes stay behind.

    Examples
    --------
    >>> with_dims("points", np.zeros((2, 5, 3)), "sample", "feature").dims
    ('lead_0', 'sample', 'feature')
    """
    expected = f"expected (…, {', '.join(last)})"
    if isinstance(values, xr.DataArray):
        if not set(last) <= set(values.dims):
            raise ValueError(f"{what} have dimensions {values.dims}: {expected}")
        found = values.transpose(..., *last)
        found.attrs = {}
        return found
    plain = checks.array(what, values)
    if plain.ndim < len(last):
        raise ValueError(f"{what} have shape {plain.shape}: {expected}")
    return xr.DataArray(plain, dims=[f"lead_{i}" for i in range(plain.ndim - len(last))] + list(last))


def described(result: xr.Dataset, words: Mapping[str, tuple[str, str]]) -> xr.Dataset:
    """``result`` with the ``long_name`` and ``units`` that ``words`` has for its variables, so that a picture can name
    its axes; ``"1"`` are the units of pure numbers.

    Examples
    --------
    >>> described(xr.Dataset({"x": 0.0}), {"x": ("position", "1"), "t": ("time", "steps")}).x.attrs
    {'long_name': 'position', 'units': '1'}
    """
    for name in result.variables.keys() & words.keys():
        result[name].attrs = dict(zip(("long_name", "units"), words[str(name)], strict=True))
    return result


def align(owner: str = "parameters", /, **fields: Any) -> Batch:
    """Broadcast numbers and labelled arrays against one another.

    Two arrays that share a dimension must carry the same labels along it, and two that share a further coordinate the
    same values of it; otherwise a ValueError names the fields.
    """
    if not fields:
        raise ValueError(f"{owner}: nothing to align; give at least one number or labelled array")
    arrays = {k: _as_array(f"{owner}.{k}", v) for k, v in fields.items()}
    for k, a in arrays.items():
        _require_labels(f"{owner}.{k}", a)
    coords = _joined(owner, arrays)
    wide = xr.broadcast(*xr.align(*arrays.values(), join="exact", copy=False))
    first = wide[0]
    flat = {k: np.ascontiguousarray(w.transpose(*first.dims).values.ravel()) for k, w in zip(arrays, wide, strict=True)}
    return Batch(tuple(first.dims), first.shape, coords, flat)


def _as_array(what: str, value: Any) -> xr.DataArray:
    if isinstance(value, xr.DataArray):
        return value
    plain = None if isinstance(value, xr.Dataset) else np.asarray(value)
    if plain is None or plain.dtype.kind not in "biufUS":
        checks.refuse(what, value, "a number or a labelled array; use over(name, values)")
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


class Spec:
    """Mixin for frozen dataclasses (declare them with ``@dataclass(frozen=True, eq=False)``).

    Subclasses validate themselves in ``__post_init__`` with the methods below: what does not fit is refused with a
    ValueError that names the field, its value and what is allowed.
    """

    def require(self, field: str, ok: Any, allowed: str) -> None:
        """Raise a ValueError that names the field, its value and what is allowed, unless ``ok`` holds everywhere."""
        value = getattr(self, field)
        if isinstance(ok, xr.DataArray):
            ok = ok.values
        if not np.all(ok):
            if isinstance(value, xr.DataArray):
                bad = np.broadcast_to(~np.asarray(ok, bool), value.shape)
                value = value.values[bad].ravel()[0].item()
            checks.refuse(f"{type(self).__name__}.{field}", value, allowed)

    def require_numbers(self, *fields: str) -> None:
        """Every named field must be a finite number, or a labelled array of them."""
        checks.numbers(type(self).__name__, **{field: getattr(self, field) for field in fields})
        for field in fields:
            self.require(field, np.isfinite(np.asarray(getattr(self, field), float)), "finite")

    def require_between(self, field: str, low: float, high: float, allowed: str) -> None:
        """From ``low`` to ``high``, which is excluded."""
        self.require_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.require(field, (values >= low) & (values < high), allowed)

    def require_positive(self, *fields: str, allowed: str = "positive") -> None:
        for field in fields:
            self.require_between(field, np.nextafter(0, 1), np.inf, allowed)

    def require_not_negative(self, *fields: str, allowed: str = "zero or positive") -> None:
        for field in fields:
            self.require_between(field, 0, np.inf, allowed)

    def require_whole(self, field: str, least: int) -> None:
        self.require_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.require(field, (values >= least) & (values == np.round(values)), f"a whole number, at least {least}")

    def require_one_of(self, field: str, *allowed: Any) -> None:
        words = f"one of {', '.join(map(repr, allowed))}"
        self.require(field, np.isin(np.asarray(getattr(self, field)), allowed), words)

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; :meth:`from_json` turns it back."""
        fields = {f.name: encode(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"spec": type(self).__name__, **fields}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.get("spec", cls.__name__) != cls.__name__:
            raise ValueError(f"{cls.__name__}.from_json: this is a {data['spec']}")
        return cls(**{k: decode(v) for k, v in data.items() if k != "spec"})

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change whenever any field changes."""
        return digest(self.to_json())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return int(self.fingerprint(), 16)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of the canonical JSON of ``value``."""
    text = json.dumps(encode(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, xr.DataArray):
        coords = {str(k): v.values.tolist() for k, v in value.coords.items()}
        return {"labelled": {"dims": list(value.dims), "coords": coords, "values": value.values.tolist()}}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    return value


def decode(value: Any) -> Any:
    if isinstance(value, dict) and "labelled" in value:
        a = value["labelled"]
        return xr.DataArray(np.asarray(a["values"]), dims=a["dims"], coords=a["coords"])
    return value
