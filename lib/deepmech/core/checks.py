"""What public functions ask of their arguments, in one voice: the field, its value, and what is allowed."""

from __future__ import annotations

import operator
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import xarray as xr


def refuse(what: str, value: Any, allowed: str) -> NoReturn:
    """Raise the ValueError that says so; a long value is cut short."""
    text = " ".join(repr(value).split())
    raise ValueError(f"{what} = {text if len(text) <= 80 else text[:77] + '…'}: must be {allowed}")


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
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        refuse(what, value, allowed)
    if found.dtype.kind not in "iuf":
        refuse(what, value, allowed)
    return found.astype(float, copy=False)


def instance(what: str, value: Any, kind: type) -> None:
    """``value`` must be a ``kind``; the class itself is a common slip."""
    if isinstance(value, type) and issubclass(value, kind):
        raise ValueError(f"{what} is the class {value.__name__} itself: make one first, {value.__name__}(…)")
    if not isinstance(value, kind):
        raise ValueError(f"{what} is of type {type(value).__name__}: must be a {kind.__name__}")
