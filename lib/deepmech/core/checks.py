"""Checks of arguments: each returns the value in the type that is computed with, or raises a ValueError that names
what was given, its value and what is allowed."""

from __future__ import annotations

import functools
import operator
import os
from contextlib import suppress
from typing import Any, NoReturn

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


def check(what: str, value: Any, ok: Any, allowed: str) -> None:
    """:func:`raise_invalid` unless ``ok``."""
    if not ok:
        raise_invalid(what, value, allowed)


def check_bool(what: str, value: Any) -> None:
    """``value`` must be a boolean."""
    check(what, value, isinstance(value, bool | np.bool_), "True or False")


def check_int(what: str, value: Any, least: int = 1, most: int | None = None, allowed: str | None = None) -> int:
    """``value`` as an int: of any integer type, but neither a boolean nor a number with a decimal point.

    Examples
    --------
    >>> check_int("window", np.int16(5))
    5
    >>> check_int("window", 5.0)
    Traceback (most recent call last):
    ValueError: window = 5.0: must be a whole number (an int) of at least 1
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise_invalid(what, value, allowed or f"a whole number (an int) {bounds}")
    return number


def check_ints(
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
    check(what, values, ok, allowed or f"a list of {kind} whole numbers, {bounds}")
    return array.astype(np.int64)


def is_real(value: Any) -> bool:
    """Whether ``value`` is a single number of Python's or NumPy's, and neither a boolean nor a span of time.

    Others that NumPy would take for one are not: a tensor, which no record holds, and what a mask hides.
    """
    plain = isinstance(value, int | float | np.generic | np.ndarray) and not np.ma.is_masked(value)
    return plain and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"


def check_real(
    what: str, value: Any, least: float = -np.inf, most: float = np.inf, allowed: str = "a finite number"
) -> float:
    """``value`` as a finite float from ``least`` to ``most``."""
    if not is_real(value) or not np.isfinite(value) or not least <= value <= most:
        raise_invalid(what, value, allowed)
    return float(value)


def check_numbers(owner: str, **fields: Any) -> None:
    """Every field must be a real number, or a labelled array of real numbers."""
    for name, value in fields.items():
        if not (value.dtype.kind in "iuf" if isinstance(value, xr.DataArray) else is_real(value)):
            raise_invalid(f"{owner}.{name}", value, "a number or a labelled array of numbers; use over(name, values)")


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
