"""What public functions take: numbers or labelled arrays, frozen specs that hold them, and what is asked of each.

``over("noise", values)`` makes a one-dimensional :class:`xarray.DataArray` whose dimension carries its own values.
:func:`align` broadcasts any mixture of numbers and labelled arrays into one flat batch of members and remembers the
labels, so that results can be given back with :meth:`Batch.unflatten`. A :class:`Spec` is validated on construction,
readable as JSON, comparable and hashable by content. What does not fit is refused in one voice: the field, its value,
and what is allowed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import operator
import os
import sys
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import xarray as xr

MOST_STEPS = 10**12
"""So many steps, one after another, take eleven days at a microsecond each."""
FEW = 5
"""Of many values a message lists so many."""


def shown(value: Any) -> str:
    """``value`` for a message: a list by its first few entries, anything else cut short.

    Examples
    --------
    >>> shown(range(9)), shown(None)
    ('[0, 1, 2, 3, 4 and 4 more]', 'None')
    """
    value = value.values if isinstance(value, xr.DataArray) else value
    if isinstance(value, list | tuple | range | np.ndarray):
        with suppress(ValueError):  # rows of different lengths
            if np.ndim(value) == 1:
                return f"[{listed(value)}]"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "…"


def listed(values: Any, total: int | None = None) -> str:
    """The first few of ``values``, and how many more there are (of ``total``, if not all are in ``values``).

    Examples
    --------
    >>> listed(np.arange(2, 9)), listed([0, 1])
    ('2, 3, 4, 5, 6 and 2 more', '0, 1')
    """
    first = [repr(v.item() if isinstance(v, np.generic) else v) for v in list(values[:FEW])]
    more = (len(values) if total is None else total) - len(first)
    return ", ".join(first) + (f" and {more:,} more" if more else "")


def refuse(what: str, value: Any, allowed: str) -> NoReturn:
    """Raise the ValueError that says so."""
    raise ValueError(f"{what} = {shown(value)}: must be {allowed}")


def require(what: str, value: Any, ok: Any, allowed: str) -> None:
    """:func:`refuse` unless ``ok``."""
    if not ok:
        refuse(what, value, allowed)


def switch(what: str, value: Any) -> None:
    """``value`` must be a boolean."""
    require(what, value, isinstance(value, bool | np.bool_), "True or False")


def whole(what: str, value: Any, least: int = 1, most: int | None = None, allowed: str | None = None) -> int:
    """``value`` as an int: of any integer type, but neither a boolean nor a number with a decimal point.

    Examples
    --------
    >>> whole("window", np.int16(5))
    5
    >>> whole("window", 5.0)
    Traceback (most recent call last):
    ValueError: window = 5.0: must be a whole number (an int) of at least 1
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        refuse(what, value, allowed or f"a whole number (an int) {bounds}")
    return number


def wholes(
    what: str, values: Any, least: int, most: int | None = None, *, rising: bool = False, allowed: str = ""
) -> np.ndarray:
    """``values`` as int64: a list of whole numbers, none of them twice, in rising order if that is asked for.

    ``allowed`` says the bounds in other words.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.array(None)
    ok = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if ok:
        steps = np.diff(np.asarray(array if rising else np.sort(array), object))
        ok = array.min() >= least and (most is None or array.max() <= most) and bool(np.all(steps > 0))
    bounds = f"at least {least}" if most is None else f"between {least} and {most}"
    kind = "increasing" if rising else "different"
    require(what, values, ok, allowed or f"a list of {kind} whole numbers, {bounds}")
    return array.astype(np.int64)


def is_real(value: Any) -> bool:
    """Whether ``value`` is a single real number that a float can hold, and neither a boolean nor a span of time."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_ | np.timedelta64):
        return False
    with suppress(OverflowError):
        float(value)
        return True
    return False


def real(
    what: str, value: Any, least: float = -np.inf, most: float = np.inf, allowed: str = "a finite number"
) -> float:
    """``value`` as a finite float from ``least`` to ``most``."""
    if not is_real(value) or not np.isfinite(value) or not least <= value <= most:
        refuse(what, value, allowed)
    return float(value)


def numbers(owner: str, **fields: Any) -> None:
    """Every field must be a real number, or a labelled array of real numbers."""
    for name, value in fields.items():
        if not (value.dtype.kind in "iuf" if isinstance(value, xr.DataArray) else is_real(value)):
            refuse(f"{owner}.{name}", value, "a number or a labelled array of numbers; use over(name, values)")


def array(what: str, value: Any, allowed: str = "an array of real numbers") -> np.ndarray:
    """``value`` as float64, of any shape: not text, booleans, complex numbers, or rows of different lengths."""
    unmasked(what, value)
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        refuse(what, value, allowed)
    if found.dtype.kind not in "iuf":
        refuse(what, value, allowed)
    return found.astype(float, copy=False)


def unmasked(what: str, value: Any) -> None:
    """``value`` must have no masked entries: as a plain array it would show what the mask hides."""
    if np.ma.is_masked(value):
        hidden = int(np.ma.getmaskarray(value).sum())
        raise ValueError(f"{what}: {hidden:,} entries are masked: leave them out, or fill them: x.filled(…)")


def fitting(what: str, value: Any, numbers: float) -> Any:
    """``value``, a size that makes ``numbers`` numbers (8 bytes each) be kept; no more than this machine holds."""
    numbers = min(numbers, 1e300)  # whole numbers may be larger than any float
    if not 8 * numbers <= memory():
        raise ValueError(
            f"{what} = {shown(value)}: {_bytes(8 * numbers)} would have to be kept, and this machine has "
            f"{_bytes(memory())}: must be smaller"
        )
    return value


def _bytes(number: float) -> str:
    return f"{number / 2**40:,.3g} TiB" if number >= 2**40 else f"{number / 2**30:,.3g} GiB"


@functools.cache
def memory() -> float:
    """Bytes of memory in this machine; a TiB where it does not tell."""
    with suppress(AttributeError, ValueError, OSError):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return 2.0**40


def steps(what: str, value: Any, number: float) -> int:
    """``number`` as an int: of steps that ``value`` makes be taken one after another; no more than anybody waits for.

    Examples
    --------
    >>> steps("t_end", 1e99, 1e101)
    Traceback (most recent call last):
    ValueError: t_end = 1e+99: 1e+101 steps, one after another, take 1.16e+90 days, a microsecond each: ask for fewer
    """
    number = min(number, 1e300)
    if not number <= MOST_STEPS:
        raise ValueError(
            f"{what} = {shown(value)}: {number:.3g} steps, one after another, take {number / 86.4e9:.3g} days, "
            "a microsecond each: ask for fewer"
        )
    return round(number)


def instance(what: str, value: Any, *kinds: type) -> None:
    """``value`` must be of one of these kinds; the class itself is a common slip."""
    if isinstance(value, type) and issubclass(value, kinds):
        raise ValueError(f"{what} is the class {value.__name__} itself: make one first, {value.__name__}(…)")
    if not isinstance(value, kinds):
        names = [kind.__name__ for kind in kinds]
        wanted = f"a {names[0]}" if len(names) == 1 else f"one of {', '.join(names)}"
        raise ValueError(f"{what} is of type {type(value).__name__}: must be {wanted}")


def named(reference: str, otherwise: str) -> Any:
    """What ``"module:name"`` stands for; if there is no such thing, a ValueError: ``otherwise``, and why.

    Examples
    --------
    >>> named("math:factorial", "a function is needed")(5)
    120
    """
    where, _, name = reference.partition(":")
    try:
        found = import_module(where)
    except ValueError as error:  # no name of a module
        raise ValueError(f"{otherwise} ({error})") from None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # it is there, and lacks something itself
        raise ValueError(f"{otherwise} ({error})") from None
    if not hasattr(found, name):
        raise ValueError(f"{otherwise} (module {where!r} has no {name!r})")
    return getattr(found, name)


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
        refuse("over: name", name, "text that names the dimension, for example over('noise', values)")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        refuse(f"over({name!r}): values", values, "a one-dimensional sequence")
    listed = array.ndim == 1 and array.dtype.kind in "fO" and isinstance(values, list | tuple)
    if listed and all(isinstance(one, int) for one in values):
        try:  # NumPy would round them
            array = np.asarray(values, np.uint64)
        except (OverflowError, TypeError):
            refuse(f"over({name!r}): values", values, "whole numbers of which one type of 64 bits holds all")
    if array.ndim != 1 or array.dtype.kind not in "biufU" or len(kinds := _kinds(values)) > 1 or "\0" in kinds:
        refuse(
            f"over({name!r}): values", values,
            "a one-dimensional sequence of real numbers, of texts (without NUL), or of booleans, not mixed",
        )  # fmt: skip
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    found = xr.DataArray(array, dims=(name,), coords={name: array}, name=name)
    _require_labels(f"over({name!r})", found)
    return found


def _kinds(values: Any) -> set[str]:
    """Which kinds of values a list mixes, of which NumPy would make one: all texts, say."""
    if isinstance(values, np.ndarray | xr.DataArray):
        values = values[:0].tolist() if values.dtype.kind != "U" else values.tolist()
    kinds = {type(one.item() if isinstance(one, np.generic) else one) for one in values}
    named = {"text" if issubclass(k, str) else "boolean" if k is bool else "number" for k in kinds}
    # NumPy cuts a text's last NULs, and a file cuts a text at its first.
    return named | {"\0"} if "text" in named and any("\0" in str(one) for one in values) else named


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
    plain = array(what, values)
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
    if isinstance(value, int) and plain is not None and plain.dtype.kind == "O":
        refuse(what, value, "a whole number that 64 bits hold, below 2^63, or 2^64 without a sign")
    if plain is None or plain.dtype.kind not in "biufUS":
        refuse(what, value, "a number or a labelled array; use over(name, values)")
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

    WHOLE: ClassVar[frozenset[str]] = frozenset()
    """Fields that count something."""

    def require(self, field: str, ok: Any, allowed: str) -> None:
        """Raise a ValueError that names the field, its value and what is allowed, unless ``ok`` holds everywhere."""
        value = getattr(self, field)
        if isinstance(ok, xr.DataArray):
            ok = ok.values
        if not np.all(ok):
            if isinstance(value, xr.DataArray):
                bad = np.broadcast_to(~np.asarray(ok, bool), value.shape)
                value = value.values[bad].ravel().tolist()[0]
            refuse(f"{type(self).__name__}.{field}", value, allowed)

    def require_numbers(self, *fields: str) -> None:
        """Every named field must be a finite number, or a labelled array of them."""
        numbers(type(self).__name__, **{field: getattr(self, field) for field in fields})
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

    def labelled(self, prefix: str = "") -> dict[str, Any]:
        """The fields that are broadcast: numbers, names and labelled arrays, no None and no tuple."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {prefix + name: v for name, v in values.items() if v is not None and not isinstance(v, tuple)}

    def with_values(self, row: Mapping[str, Any], prefix: str = "") -> Self:
        """The spec of one member: plain values from a row of an aligned batch in place of its labelled arrays."""
        one = copy(self)  # what its labelled arrays may hold was looked at when it was made
        names = [f.name for f in dataclasses.fields(self) if prefix + f.name in row]  # type: ignore[arg-type]
        vars(one).update({n: int(row[prefix + n]) if n in self.WHOLE else row[prefix + n] for n in names})
        return one

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
        return type(other) is type(self) and canonical_text(other.to_json()) == canonical_text(self.to_json())

    def __hash__(self) -> int:
        return int(self.fingerprint(), 16)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of :func:`canonical_text`."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()[:16]


def canonical_text(value: Any) -> str:
    """JSON in which equal numbers are written alike: 1, 1.0 and ``np.float32(1)``, 0 and −0.0; True is no number.

    Examples
    --------
    >>> canonical_text({"n": 3.0, "share": [0, 0.5], "noise": -0.0}), canonical_text([1, True, float("nan")])
    ('{"n":3,"noise":0.0,"share":[0.0,0.5]}', '[1,true,NaN]')
    """
    return json.dumps(_canonical(encode(value)), sort_keys=True, separators=(",", ":"))


#: Fields whose whole numbers are written with a decimal point, and not without: so the keys of results that shipped
#: before numbers were written alike stay what they were.
_REAL = frozenset(
    {
        "chi", "dropout", "gain", "label_error", "learning_rate", "noise", "patience", "ratio", "regularisation",
        "slope", "stop_change", "truth",
    }
)  # fmt: skip


def _canonical(value: Any, name: str = "") -> Any:
    """``value`` with its numbers in one form; those of a list are all whole, or all with a decimal point."""
    if isinstance(value, dict):
        inside = ("labelled", "dims", "coords", "values")  # of a labelled array, which is a value of the field itself
        return {key: _canonical(one, name if key in inside else key) for key, one in value.items()}
    if not isinstance(value, list):
        return _as_numbers(value, name in _REAL) if _is_number(value) else value
    plain = [one for one in _leaves(value) if _is_number(one)]
    if len(plain) < sum(1 for _ in _leaves(value)):  # words, say, or specs: each on its own
        return [_canonical(one, name) for one in value]
    return _as_numbers(value, name in _REAL or not all(isinstance(one, int) or one.is_integer() for one in plain))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _as_numbers(value: Any, real: bool) -> Any:
    """Numbers, in lists or alone, with a decimal point (``real``) or, where they are whole, without."""
    if isinstance(value, list):
        return [_as_numbers(one, real) for one in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and not real else value + 0.0
    return float(value) if real and abs(value) < sys.float_info.max else value


def encode(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, xr.DataArray):
        coords = {str(k): _of_variable(v.variable, plain=v.dims in ((), (k,))) for k, v in value.coords.items()}
        return {"labelled": {"coords": coords, **_of_variable(value.variable)}}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value)
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    return value


def _of_variable(variable: xr.Variable, plain: bool = False) -> Any:
    """Values alone of a dimension's own labels (``plain``) without attributes; else dimensions and attributes too."""
    values = _plain(variable.values)
    if plain and not variable.attrs:
        return values
    attrs = {"attrs": encode(dict(variable.attrs))} if variable.attrs else {}
    return {"dims": list(map(str, variable.dims)), "values": values, **attrs}


def _plain(values: np.ndarray | np.generic) -> Any:
    """As numbers of Python, or lists of them; JSON knows no longer floats than those of 64 bits."""
    return (values.astype(float) if values.dtype == np.longdouble else values).tolist()


def decode(value: Any) -> Any:
    if isinstance(value, dict) and "labelled" in value:
        a = value["labelled"]
        coords = {
            name: (one["dims"], np.asarray(one["values"]), one.get("attrs")) if isinstance(one, dict) else one
            for name, one in a["coords"].items()
        }
        return xr.DataArray(np.asarray(a["values"]), coords, a["dims"], attrs=a.get("attrs"))
    return value
