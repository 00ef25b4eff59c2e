"""Frozen specs: validated on construction, readable as JSON, comparable and hashable by content."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr

from deepmech.core import checks


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

    Subclasses validate themselves in ``__post_init__`` with the methods below: what does not fit is refused with a
    ValueError that names the field, its value and what is allowed.
    """

    WHOLE: ClassVar[frozenset[str]] = frozenset()
    """Fields that count something."""

    def check(self, field: str, ok: Any, allowed: str) -> None:
        """Raise a ValueError that names the field, its value and what is allowed, unless ``ok`` holds everywhere."""
        value = getattr(self, field)
        if isinstance(ok, xr.DataArray):
            ok = ok.values
        if not np.all(ok):
            if isinstance(value, xr.DataArray):
                bad = np.broadcast_to(~np.asarray(ok, bool), value.shape)
                value = value.values[bad].ravel().tolist()[0]
            checks.raise_invalid(f"{type(self).__name__}.{field}", value, allowed)

    def check_numbers(self, *fields: str) -> None:
        """Every named field must be a finite number, or a labelled array of them."""
        checks.check_numbers(type(self).__name__, **{field: getattr(self, field) for field in fields})
        for field in fields:
            self.check(field, np.isfinite(np.asarray(getattr(self, field), float)), "finite")

    def check_between(self, field: str, low: float, high: float, allowed: str) -> None:
        """From ``low`` to ``high``, which is excluded."""
        self.check_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.check(field, (values >= low) & (values < high), allowed)

    def check_positive(self, *fields: str, allowed: str = "positive") -> None:
        for field in fields:
            self.check_between(field, np.nextafter(0, 1), np.inf, allowed)

    def check_not_negative(self, *fields: str, allowed: str = "zero or positive") -> None:
        for field in fields:
            self.check_between(field, 0, np.inf, allowed)

    def check_int(self, field: str, least: int) -> None:
        self.check_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.check(field, (values >= least) & (values == np.round(values)), f"a whole number, at least {least}")

    def check_in(self, field: str, *allowed: Any) -> None:
        words = f"one of {', '.join(map(repr, allowed))}"
        self.check(field, np.isin(np.asarray(getattr(self, field)), allowed), words)

    def broadcast_fields(self, prefix: str = "") -> dict[str, Any]:
        """The fields that are broadcast: numbers, names and labelled arrays, no None and no tuple."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {prefix + name: v for name, v in values.items() if v is not None and not isinstance(v, tuple)}

    def replace_fields(self, row: Mapping[str, Any], prefix: str = "") -> Self:
        """The spec of one member: plain values from a row of a grid in place of its labelled arrays."""
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
        """The spec of :meth:`to_json`; a ValueError names what is no field of it."""
        if not isinstance(data, dict) or data.get("spec", cls.__name__) != cls.__name__:
            what = f"a {data['spec']}" if isinstance(data, dict) else checks.short_repr(data)
            raise ValueError(f"{cls.__name__}.from_json: this is {what}")
        fields = {k: v for k, v in data.items() if k != "spec"}
        if foreign := fields.keys() - {f.name for f in dataclasses.fields(cls)}:  # type: ignore[arg-type]
            raise ValueError(f"{cls.__name__}.from_json: no such field: {', '.join(map(repr, sorted(foreign)))}")
        return cls(**{k: decode(v) for k, v in fields.items()})

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
        try:
            a = value["labelled"]
            coords = {
                name: (one["dims"], np.asarray(one["values"]), one.get("attrs")) if isinstance(one, dict) else one
                for name, one in a["coords"].items()
            }
            return xr.DataArray(np.asarray(a["values"]), coords, a["dims"], attrs=a.get("attrs"))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no labelled array ({type(error).__name__}: {error})") from None
    return value
