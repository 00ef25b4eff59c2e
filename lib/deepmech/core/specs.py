"""Frozen specs: validated on construction, readable as JSON, comparable and hashable by content; and the checks of
arguments, theirs and of all public functions: each returns the value in the type that is computed with, or raises a
ValueError that names what was given, its value and what is allowed."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import operator
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from importlib import import_module
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import xarray as xr

MOST_STEPS = 10**12
"""So many steps, one after another, take eleven days at a microsecond each."""

FEW = 5
"""Of many values a message lists so many."""


def short_repr(value: Any) -> str:
    """``value`` for a message: a list by its first few entries, anything else cut short.

    Examples
    --------
    >>> short_repr(range(9)), short_repr(None)
    ('[0, 1, 2, 3, 4 and 4 more]', 'None')
    """
    value = value.values if isinstance(value, xr.DataArray) else value
    if isinstance(value, list | tuple | range | np.ndarray):
        with suppress(ValueError):  # rows of different lengths
            if np.ndim(value) == 1:
                return f"[{join_repr(value)}]"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "…"


def join_repr(values: Any, total: int | None = None) -> str:
    """The first few of ``values``, and how many more there are (of ``total``, if not all are in ``values``).

    Examples
    --------
    >>> join_repr(np.arange(2, 9)), join_repr([0, 1])
    ('2, 3, 4, 5, 6 and 2 more', '0, 1')
    """
    first = [repr(v.item() if isinstance(v, np.generic) else v) for v in list(values[:FEW])]
    more = (len(values) if total is None else total) - len(first)
    return ", ".join(first) + (f" and {more:,} more" if more else "")


def raise_invalid(what: str, value: Any, allowed: str) -> NoReturn:
    """Raise the ValueError that says so."""
    raise ValueError(f"{what} = {short_repr(value)}: must be {allowed}")


@contextmanager
def in_name_of(caller: str, called: str) -> Iterator[None]:
    """What ``called`` refuses in here is refused in the name of ``caller``, which is what the user called.

    Examples
    --------
    >>> with in_name_of("averaged", "simulate"):
    ...     check_int("simulate: n_runs", 0)
    Traceback (most recent call last):
    ValueError: averaged: n_runs = 0: must be a whole number, at least 1
    """
    try:
        yield
    except ValueError as error:
        error.args = tuple(str(text).replace(f"{called}: ", f"{caller}: ", 1) for text in error.args)
        raise


def check(what: str, value: Any, ok: Any, allowed: str) -> None:
    """:func:`raise_invalid` unless ``ok``."""
    if not ok:
        raise_invalid(what, value, allowed)


def check_bool(what: str, value: Any) -> None:
    """``value`` must be a boolean."""
    check(what, value, isinstance(value, bool | np.bool_), "True or False")


def check_int(what: str, value: Any, least: int = 1, most: int | None = None, allowed: str | None = None) -> int:
    """``value`` as an int: a whole number of any type, 5.0 too, as files and pandas give it, but no boolean.

    Examples
    --------
    >>> check_int("window", np.int16(5)), check_int("window", 5.0)
    (5, 5)
    >>> check_int("window", 5.5)
    Traceback (most recent call last):
    ValueError: window = 5.5: must be a whole number, at least 1
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        whole = whole_numbers(np.asarray(value)) if is_real(value) else None
        number = None if whole is None else int(whole)
    if number is None or number < least or (most is not None and number > most):
        bounds = f", at least {least}" if most is None else f" from {least} to {most}"
        raise_invalid(what, value, allowed or f"a whole number{bounds}")
    return number


def whole_numbers(values: np.ndarray) -> np.ndarray | None:
    """``values`` as integers if all are whole numbers, else None; floats from 2^53 on may stand for their neighbours.

    Examples
    --------
    >>> whole_numbers(np.array([2.0, 3.0])), whole_numbers(np.array([2.0, 3.5]))
    (array([2, 3]), None)
    """
    if values.dtype.kind == "f" and np.all((values == np.round(values)) & (np.abs(values) < 2**53)):
        return values.astype(np.int64)
    return values if values.dtype.kind in "iu" else None


def check_ints(
    what: str, values: Any, least: int, most: int | None = None, *, rising: bool = False, allowed: str = ""
) -> np.ndarray:
    """``values`` as int64: a list of whole numbers, none of them twice, in rising order if that is asked for.

    ``allowed`` says the bounds in other words.
    """
    try:
        array = whole_numbers(np.asarray(values))
    except (TypeError, ValueError):
        array = None
    ok = array is not None and array.ndim == 1 and array.size > 0
    if ok and array is not None:
        steps = np.diff(np.asarray(array if rising else np.sort(array), object))
        ok = array.min() >= least and (most is None or array.max() <= most) and bool(np.all(steps > 0))
    bounds = f"at least {least}" if most is None else f"between {least} and {most}"
    kind = "increasing" if rising else "different"
    check(what, values, ok, allowed or f"a list of {kind} whole numbers, {bounds}")
    return np.asarray(array, np.int64)


def is_real(value: Any) -> bool:
    """Whether ``value`` is a single number of Python's or NumPy's, and neither a boolean nor a span of time.

    Others that NumPy would take for one are not: a tensor, which no record holds, and what a mask hides.
    """
    if type(value) is float or (type(value) is int and abs(value) < 2**63):  # at once, since most are
        return True
    plain = isinstance(value, int | float | np.generic | np.ndarray) and not np.ma.is_masked(value)
    return plain and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"


def check_real(
    what: str, value: Any, least: float = -np.inf, most: float = np.inf, allowed: str = "a finite number"
) -> float:
    """``value`` as a finite float from ``least`` to ``most``."""
    if not is_real(value) or not np.isfinite(value) or not least <= value <= most:
        raise_invalid(what, value, allowed)
    return float(value)


ONE_OR_LABELLED = "a number or a labelled array of numbers; use over(name, values)"
Check = Callable[[str, Any], Any]
"""Of a name and a plain value: the value in the type that is computed with, or a ValueError that names it."""


def between(low: float = -np.inf, high: float = np.inf, allowed: str = "finite") -> Check:
    """A :data:`Check`: a real number from ``low`` to ``high``, which is excluded, as a float."""

    def checked(what: str, value: Any) -> float:
        check(what, value, is_real(value), ONE_OR_LABELLED)
        check(what, value, math.isfinite(value), "finite")
        check(what, value, low <= value < high, allowed)
        return float(value)

    return checked


def positive(allowed: str = "positive") -> Check:
    return between(5e-324, np.inf, allowed)


def not_negative(allowed: str = "zero or positive") -> Check:
    return between(0, np.inf, allowed)


def whole(least: int, most: int | None = None) -> Check:
    """A :data:`Check`: a whole number, as an int."""

    def checked(what: str, value: Any) -> int:
        check(what, value, is_real(value), ONE_OR_LABELLED)
        return check_int(what, value, least, most)

    return checked


def one_of(known: Collection[Any], otherwise: str = "") -> Check:
    """A :data:`Check`: one of ``known``, as it stands there; ``otherwise`` ends the sentence that refuses."""

    def checked(what: str, value: Any) -> Any:
        plain = isinstance(value, str | bool | int | float | np.generic)
        check(what, value, plain and value in known, f"one of {', '.join(map(repr, known))}{otherwise}")
        return next(one for one in known if one == value)

    return checked


def check_each(what: str, value: Any, one: Check) -> Any:
    """What ``one`` makes of ``value``; a labelled array stays as it is, once ``one`` has seen each of its values."""
    if not isinstance(value, xr.DataArray):
        return one(what, value)
    for entry in np.unique(value.values).tolist() if value.dtype.kind in "biufU" else value.values.flat:
        one(what, entry)
    return value


def check_array(what: str, value: Any, allowed: str = "an array of real numbers") -> np.ndarray:
    """``value`` as float64, of any shape: not text, booleans, complex numbers, or rows of different lengths."""
    check_unmasked(what, value)
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths, a tensor that learns
        raise_invalid(what, value, allowed)
    if found.dtype.kind not in "iuf":
        raise_invalid(what, value, allowed)
    return found.astype(float, copy=False)


def check_arrays(caller: str, **values: Any) -> list[Any]:
    """Every value as float64: a DataArray stays one, anything else becomes an ndarray (:func:`check_array`).

    Examples
    --------
    >>> check_arrays("friction", force=[1, 2])
    [array([1., 2.])]
    """
    arrays = [(value, check_array(f"{caller}: {name}", value)) for name, value in values.items()]
    return [value.astype(float) if isinstance(value, xr.DataArray) else plain for value, plain in arrays]


def check_unmasked(what: str, value: Any) -> None:
    """``value`` must have no masked entries: as a plain array it would show what the mask hides."""
    if np.ma.is_masked(value):
        hidden = int(np.ma.getmaskarray(value).sum())
        raise ValueError(f"{what}: {hidden:,} entries are masked: leave them out, or fill them: x.filled(…)")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library."""
    frame, depth = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("deepmech.", "contextlib")):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def check_memory(what: str, value: Any, numbers: float) -> Any:
    """``value``, a size that makes ``numbers`` numbers (8 bytes each) be kept; no more than this machine holds."""
    numbers = min(numbers, 1e300)  # whole numbers may be larger than any float
    if not 8 * numbers <= total_memory():
        raise ValueError(
            f"{what} = {short_repr(value)}: {_bytes(8 * numbers)} would have to be kept, and this machine has "
            f"{_bytes(total_memory())}: must be smaller"
        )
    return value


def _bytes(number: float) -> str:
    return f"{number / 2**40:,.3g} TiB" if number >= 2**40 else f"{number / 2**30:,.3g} GiB"


@functools.cache
def total_memory() -> float:
    """Bytes of memory in this machine; a TiB where it does not tell."""
    with suppress(AttributeError, ValueError, OSError):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return 2.0**40


def check_steps(what: str, value: Any, number: float) -> int:
    """``number`` as an int: of steps that ``value`` makes be taken one after another; no more than anybody waits for.

    Examples
    --------
    >>> check_steps("t_end", 1e99, 1e101)
    Traceback (most recent call last):
    ValueError: t_end = 1e+99: 1e+101 steps, one after another, take 1.16e+90 days, a microsecond each: ask for fewer
    """
    number = min(number, 1e300)
    if not number <= MOST_STEPS:
        raise ValueError(
            f"{what} = {short_repr(value)}: {number:.3g} steps, one after another, take {number / 86.4e9:.3g} days, "
            "a microsecond each: ask for fewer"
        )
    return round(number)


def check_type(what: str, value: Any, *kinds: type) -> None:
    """``value`` must be of one of these kinds; the class itself is a common slip."""
    if isinstance(value, type) and issubclass(value, kinds):
        raise ValueError(f"{what} is the class {value.__name__} itself: make one first, {value.__name__}(…)")
    if not isinstance(value, kinds):
        names = [kind.__name__ for kind in kinds]
        wanted = f"a {names[0]}" if len(names) == 1 else f"one of {', '.join(names)}"
        raise ValueError(f"{what} is of type {type(value).__name__}: must be {wanted}")


def unit_scale(values: Any, axis: int | tuple[int, ...] | None = None, power: int = 2) -> np.ndarray:
    """The factor that brings values to about 1 where their squares are no numbers of double precision; else 1.

    It is a power of two, so that a product with it is exact. Measures that do not depend on scale multiply by it first.

    Parameters
    ----------
    values : array of real numbers, any shape.
    axis : one or more axes that share a factor; by default all do.
    power : the highest power of values that is formed.

    Returns
    -------
    ndarray
        One factor for each entry of the other axes; ``axis`` is kept with length 1.

    Examples
    --------
    >>> unit_scale([3.0, -2.0]).item(), unit_scale([2.0**-700, 0.0]).item() == 2.0**699
    (1.0, True)
    """
    size = np.abs(np.asarray(values, float))
    largest = size.max(axis, initial=0.0, where=np.isfinite(size), keepdims=True)
    reach = 10.0 ** (200 / power)
    usual = (largest == 0) | ((largest > 1 / reach) & (largest < reach))
    return np.where(usual, 1.0, np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000)))


def import_object(reference: str, otherwise: str) -> Any:
    """What ``"module:name"`` stands for; if there is no such thing, a ValueError: ``otherwise``, and why.

    Examples
    --------
    >>> import_object("math:factorial", "a function is needed")(5)
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


class Spec:
    """Mixin for frozen dataclasses (declare them with ``@dataclass(frozen=True, eq=False)``).

    A field may be a labelled array in place of a number. What does not fit is refused with a ValueError that names the
    field, its value and what is allowed.
    """

    CHECKS: ClassVar[Mapping[str, Check]] = {}
    """What a field may be, as a plain value; where None is the default, None too."""
    SINGLE: ClassVar[tuple[str, ...]] = ()
    """Fields that all members of a call have in common: no labelled arrays."""
    TOGETHER: ClassVar[tuple[str, ...]] = ()
    """Fields of which some forbid what others have."""

    def __post_init__(self) -> None:
        kind = type(self)
        for field, one in self.CHECKS.items():
            value = getattr(self, field)
            labelled = field in self.SINGLE and isinstance(value, xr.DataArray)
            self.check(field, not labelled, "one value for all members of a call: make a call for each value")
            if value is not None or getattr(kind, field, value) is not None:
                object.__setattr__(self, field, check_each(f"{kind.__name__}.{field}", value, one))
        arrays = {name: value for name, value in self.labelled_fields().items() if name in self.TOGETHER}
        if not arrays:
            self.check_together()
            return
        with suppress(xr.AlignmentError):  # said where members are made
            wide = xr.broadcast(*xr.align(*arrays.values(), join="exact"))
            for row in set(zip(*(one.values.ravel().tolist() for one in wide), strict=True)):
                plain = copy(self)
                vars(plain).update(zip(arrays, row, strict=True))
                plain.check_together()

    def check_together(self) -> None:
        """What the fields in :data:`TOGETHER`, as plain values, must be beside one another."""

    def check(self, field: str, ok: Any, allowed: str) -> None:
        """Raise a ValueError that names the field, its value and what is allowed, unless ``ok``."""
        check(f"{type(self).__name__}.{field}", getattr(self, field), ok, allowed)

    def labelled_fields(self) -> dict[str, xr.DataArray]:
        return {name: value for name, value in vars(self).items() if isinstance(value, xr.DataArray)}

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        """The same but for these, checked."""
        return dataclasses.replace(self, **fields)  # type: ignore[type-var]

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; :meth:`from_json` turns it back."""
        fields = {f.name: encode(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"spec": type(self).__name__, **fields}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The spec of :meth:`to_json`; a ValueError names what is no field of it."""
        if data.get("spec", cls.__name__) != cls.__name__:
            raise ValueError(f"{cls.__name__}.from_json: this is a {data['spec']}")
        fields = {k: v for k, v in data.items() if k != "spec"}
        if foreign := fields.keys() - {f.name for f in dataclasses.fields(cls)}:  # type: ignore[arg-type]
            raise ValueError(f"{cls.__name__}.from_json: no such field: {', '.join(map(repr, sorted(foreign)))}")
        return cls(**{k: decode(v) for k, v in fields.items()})

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change whenever any field changes."""
        return digest(json.loads(canonical_text(self.to_json()), parse_int=_as_real, parse_float=_as_real))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.fingerprint() == self.fingerprint()

    def __hash__(self) -> int:
        return int(self.fingerprint(), 16)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of :func:`canonical_text`."""
    return hashlib.sha256(canonical_text(value).encode()).hexdigest()[:16]


def canonical_text(value: Any) -> str:
    """JSON with names in order and numbers as they are: 1, 1.0, True and "1" are four things, as to a function.

    Examples
    --------
    >>> canonical_text({"n": 3.0, "dims": ("x",)}), canonical_text([1, True, float("nan")])
    ('{"dims":["x"],"n":3.0}', '[1,true,NaN]')
    """
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"))


def _as_real(text: str) -> float:
    """A number of JSON as a float where it is one, without the sign of zero: specs are equal if their numbers are."""
    number: float = json.loads(text)
    return number + 0.0 if abs(number) < sys.float_info.max and number + 0.0 == number else number


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
