"""What public functions ask of their arguments, in one voice: the field, its value, and what is allowed."""

from __future__ import annotations

import operator
from contextlib import suppress
from importlib import import_module
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import xarray as xr

_MOST_NUMBERS = 2**37  # a TiB of them
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
    """Whether ``value`` is a single real number, and not a boolean."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


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


def fitting(what: str, value: int, numbers: float) -> int:
    """``value``, a size that makes ``numbers`` numbers (8 bytes each) be kept; no more than any machine holds."""
    if numbers > _MOST_NUMBERS:
        raise ValueError(
            f"{what} = {shown(value)}: {8 * numbers / 2**40:,.3g} TiB would have to be kept: must be smaller"
        )
    return value


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
