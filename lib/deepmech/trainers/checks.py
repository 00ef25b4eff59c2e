"""What trainers and walkers ask of their arguments before anything is computed.

Every refusal is a ValueError that names the caller, the field, its value and the remedy, and lists a handful of values
at most, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import xarray as xr

from deepmech.core.spec import Spec

#: What an engine knows: for each type of spec that it takes every field, and of names also the values (None: whatever
#: the spec allows).
Known = Mapping[type, Mapping[str, tuple[str, ...] | None]]

_LISTED = 5


class Checked(Spec):
    """A spec of numbers and names, each of which may be a labelled array."""

    def require_finite(self, *names: str) -> None:
        """Every named field must hold finite numbers: no words, no None, and no True or False that count as 1 and 0."""
        for name in names:
            array = _array(getattr(self, name))
            if array.dtype.kind not in "iuf":
                raise ValueError(
                    f"{type(self).__name__}.{name} = {shown(getattr(self, name))}: must be a number or a labelled "
                    "array of numbers; use over(name, values)"
                )
        super().require_finite(*names)

    def require_whole(self, name: str, least: int) -> None:
        self.require_finite(name)
        values = np.asarray(getattr(self, name), dtype=float)
        self.require(name, (values >= least) & (values == np.round(values)), f"a whole number, at least {least}")

    def require_between(self, name: str, low: float, high: float, allowed: str) -> None:
        """From ``low`` to ``high``, which is excluded."""
        self.require_finite(name)
        values = np.asarray(getattr(self, name), dtype=float)
        self.require(name, (values >= low) & (values < high), allowed)

    def require_positive(self, name: str, allowed: str = "positive") -> None:
        self.require_between(name, np.nextafter(0, 1), np.inf, allowed)

    def require_one_of(self, name: str, *allowed: Any) -> None:
        words = f"one of {', '.join(map(repr, allowed))}"
        self.require(name, np.isin(np.asarray(getattr(self, name)), allowed), words)


def knows(numbers: str, **names: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
    """A spec's fields for :data:`Known`: ``numbers`` in one string, ``names`` with the values that are known."""
    return {**dict.fromkeys(numbers.split()), **names}


def unknown(known: Known, *specs: Spec) -> str:
    """What in the specs of one member is not ``known``, in words; empty if nothing.

    Types have to be the very types: what derives from a known spec may mean something else.

    Examples
    --------
    >>> from deepmech.trainers.specs import SingleSample
    >>> fields = "learning_rate iterations label_error class_weights"
    >>> unknown({SingleSample: knows(fields, dtype=("float64",))}, SingleSample())
    "SingleSample.dtype = 'float32'"
    """
    for spec in specs:
        name = type(spec).__name__
        if type(spec) not in known:
            return name
        values = known[type(spec)]
        for field in fields(spec):  # type: ignore[arg-type]
            value = getattr(spec, field.name)
            allowed = values.get(field.name, ())
            if allowed is not None and str(value) not in allowed:
                return f"{name}.{field.name}" + (f" = {value!r}" if field.name in values else "")
    return ""


def require_known(engine: str, known: Known, *specs: Spec) -> None:
    what = unknown(known, *specs)
    if what:
        raise ValueError(f"engine {engine!r} does not know {what}")


def require(caller: str, field: str, value: Any, ok: Any, allowed: str) -> None:
    """A ValueError that says what is allowed unless ``ok``."""
    if not ok:
        raise ValueError(f"{caller}: {field} = {shown(value)}: must be {allowed}")


def require_spec(caller: str, field: str, value: Any, *kinds: type[Spec]) -> None:
    """``value`` must be one of these specs."""
    require(caller, field, value, isinstance(value, kinds), " or ".join(f"{kind.__name__}(...)" for kind in kinds))


def require_switch(caller: str, field: str, value: Any) -> None:
    require(caller, field, value, isinstance(value, bool | np.bool_), "True or False")


def require_free(caller: str, dims: Sequence[Any], own: Sequence[str]) -> None:
    """No labelled field may have a dimension that results use themselves."""
    for name in own:
        if name in dims:
            raise ValueError(f"{caller}: a field has the dimension {name!r}, which results use themselves; rename it")


def whole(caller: str, field: str, value: Any, least: int, more: str = "") -> int:
    """``value`` if it is a whole number; ``more`` says what else is allowed."""
    require(caller, field, value, _is_whole(value) and value >= least, f"a whole number, at least {least}{more}")
    return int(value)


def wholes(
    caller: str, field: str, values: Any, least: int, most: tuple[int, str] | None, rising: bool, instead: str = ""
) -> np.ndarray:
    """``values`` as int64 if they are whole numbers, none of them twice; ``most`` is the largest, and its name."""
    array = _array(values)
    ok = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if ok:
        steps = np.diff(np.asarray(array if rising else np.sort(array), object))
        ok = array.min() >= least and (most is None or array.max() <= most[0]) and bool(np.all(steps > 0))
    kind = "increasing" if rising else "different"
    reach = f", at least {least}" if most is None else f" between {least} and {most[1]} = {most[0]}"
    require(caller, field, values, ok, f"{instead}a list of {kind} whole numbers{reach}")
    return array.astype(np.int64)


def moments(caller: str, record: Any, last: int, name: str = "", least: int = 0) -> np.ndarray:
    """When to record: rising whole numbers from ``least`` to ``last``; or every so many up to it.

    ``name`` is what ``last`` is called; without one, what lies beyond is allowed.

    Examples
    --------
    >>> moments("train", 4, 10, "Training.epochs").tolist(), moments("train", [0, 10], 10, "Training.epochs").tolist()
    ([0, 4, 8, 10], [0, 10])
    """
    if _is_whole(record):
        every = whole(caller, "record", record, 1)
        return np.unique(np.append(np.arange(0, last, every), last))[least:]
    reach = (last, name) if name else None
    return wholes(caller, "record", record, least, reach, rising=True, instead="a whole number, or ")


def shown(value: Any) -> str:
    """``value`` for a message: whole if it is short.

    Examples
    --------
    >>> shown(range(9)), shown(None)
    ('[0, 1, 2, 3, 4 and 4 more]', 'None')
    """
    value = value.values if isinstance(value, xr.DataArray) else value
    if isinstance(value, list | tuple | range | np.ndarray) and _array(value).ndim == 1:
        return f"[{listed(value)}]"
    plain = isinstance(value, str | int | float | type | None | np.generic)
    text = repr(value) if plain else f"{type(value).__name__}(...)"
    return text if len(text) <= 60 else f"{text[:57]}..."


def listed(values: Any, total: int | None = None) -> str:
    """The first few of ``values``, and how many more there are (of ``total``, if not all are in ``values``)."""
    first = [repr(v.item() if isinstance(v, np.generic) else v) for v in list(values[:_LISTED])]
    more = (len(values) if total is None else total) - len(first)
    return ", ".join(first) + (f" and {more:,} more" if more else "")


def samples(
    caller: str,
    data: Any,
    dtype: str,
    *,
    signs: bool = False,
    every_class: bool = False,
    image: str = "",
) -> SimpleNamespace:
    """The samples in ``data`` as arrays in this machine's byte order, if they are fit to be trained on.

    Parameters
    ----------
    data : anything with ``fingerprint`` and either ``x_train``, ``y_train``, ``x_test``, ``y_test`` and ``n_classes``
        (whole numbers 0 … n_classes - 1 as labels; real targets if that is 0 or None), or, with ``signs``, ``x`` and
        ``y`` of -1 and 1. Samples have shape (n, numbers), targets (n,). NumPy arrays, lists or torch tensors, of any
        real type; labels of any integer type.
    dtype : the least precision that samples have to fit into, ``"float32"`` or ``"float64"``.
    every_class : whether each class must occur in both sets of samples.
    image : who asks for ``shape``, that of one image (channels, height, width); nobody if empty.

    Raises
    ------
    ValueError
        Naming what is not there, or is not finite, and where; labels out of range, of another type, or all alike;
        shapes that do not fit.
    """
    pairs = [("x", "y")] if signs else [("x_train", "y_train"), ("x_test", "y_test")]
    needed = [name for pair in pairs for name in pair] + ["n_classes"] * (not signs)
    lacking = [name for name in [*needed, "fingerprint"] if not hasattr(data, name)]
    if lacking:
        raise ValueError(
            f"{caller}: data = {type(data).__name__}: has no {', '.join(lacking)}; give an object with arrays "
            f"{', '.join([*needed, 'fingerprint'])}" + ("" if signs else ", such as deepmech.data.load(name)")
        )
    found: dict[str, Any] = {"fingerprint": data.fingerprint}
    classes = 0 if signs else _n_classes(caller, data.n_classes)
    for x_name, y_name in pairs:
        x = found[x_name] = _numbers(caller, x_name, getattr(data, x_name))
        y = found[y_name] = _numbers(caller, y_name, getattr(data, y_name))
        if x.ndim != 2 or 0 in x.shape:
            raise ValueError(
                f"{caller}: data.{x_name} has shape {x.shape}: must be (samples, numbers), at least one of each; "
                "flatten images first"
            )
        if y.shape != (len(x),) and (classes or signs or y.shape != (len(x), 1)):
            raise ValueError(
                f"{caller}: data.{y_name} has shape {y.shape}, data.{x_name} {x.shape}: must be one number for each "
                f"sample, shape ({len(x)},)"
            )
        found[y_name] = y = y.reshape(len(x))
        _require_finite(caller, x_name, x, dtype)
        if classes:
            found[y_name] = _labels(caller, y_name, y, classes, alike=y_name == "y_test")
            if every_class:
                _require_every_class(caller, y_name, found[y_name], classes)
        else:
            _require_finite(caller, y_name, y, dtype)
            if signs:
                _require_signs(caller, y_name, y)
    if not signs:
        widths = [found[name].shape[1] for name in ("x_train", "x_test")]
        if widths[0] != widths[1]:
            raise ValueError(
                f"{caller}: data.x_train has {widths[0]} numbers in a sample, data.x_test {widths[1]}: must be equal"
            )
        found["n_classes"] = classes
        found["shape"] = (widths[0],)
        if image:
            found["shape"] = _shape(caller, getattr(data, "shape", (widths[0],)), widths[0], image)
    return SimpleNamespace(**found)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any) -> np.ndarray:
    """``value`` as an array; of objects where it cannot be one of numbers."""
    try:
        return np.asarray(value.detach().cpu() if torch.is_tensor(value) else value)
    except (TypeError, ValueError, RuntimeError):
        return np.array(None)


def _numbers(caller: str, name: str, value: Any) -> np.ndarray:
    array = _array(value)
    if array.dtype.kind not in "biuf":
        of = f" of {array.dtype}" if array.ndim else ""
        raise ValueError(
            f"{caller}: data.{name} is a {type(value).__name__}{of}: must be an array of real numbers (NumPy, a list "
            "of rows of one length, or a torch tensor)"
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _n_classes(caller: str, value: Any) -> int:
    if value is None:
        return 0
    ok = _is_whole(value) and value >= 0 and value != 1
    require(caller, "data.n_classes", value, ok, "a whole number, at least 2, or 0 for real targets")
    return int(value)


def _place(index: np.ndarray) -> str:
    """Where the first of some entries is, from its index in a vector or matrix."""
    return f"sample {index[0]}" + (f", number {index[1]}" if len(index) > 1 else "")


def _require_finite(caller: str, name: str, array: np.ndarray, dtype: str) -> None:
    if array.dtype.kind != "f":
        return
    largest = np.finfo(dtype).max
    if -largest <= array.min() and array.max() <= largest:  # no for nan as well, and cheap
        return
    bad = ~(np.abs(array) <= largest)
    first = np.argwhere(bad)[0]
    value = array[tuple(first)]
    what = f"beyond {dtype}, whose largest is {largest:.2g}" if np.isfinite(value) else "not finite"
    raise ValueError(
        f"{caller}: data.{name}: {int(bad.sum()):,} of {bad.size:,} numbers are {what}, the first at "
        f"{_place(first)}: {float(value):g}; leave such samples out, or replace the numbers"
    )


def _labels(caller: str, name: str, y: np.ndarray, classes: int, alike: bool) -> np.ndarray:
    """Labels as int64; with ``alike`` they may all be the same."""
    allowed = f"must be whole numbers 0 … {classes - 1:,} (data.n_classes = {classes:,})"
    if y.dtype.kind not in "iu":
        odd = np.argwhere(y != np.round(y)) if y.dtype.kind == "f" else np.zeros((0, 1))
        hint = f", and {y[tuple(odd[0])]:g} at {_place(odd[0])} is none" if len(odd) else "; y.astype(int) makes them"
        raise ValueError(f"{caller}: data.{name}: labels of type {y.dtype}: {allowed}{hint}")
    bad = (y < 0) | (y >= classes)
    if bad.any():
        first = np.argwhere(bad)[0]
        raise ValueError(
            f"{caller}: data.{name}: {int(bad.sum()):,} of {len(y):,} labels are out of range, the first at "
            f"{_place(first)}: {y[tuple(first)]}: {allowed}; count classes from 0"
        )
    if not alike and y.min() == y.max():
        raise ValueError(f"{caller}: data.{name}: all {len(y):,} labels are {y[0]}: must be of at least two classes")
    return y.astype(np.int64, copy=False)


def _require_every_class(caller: str, name: str, y: np.ndarray, classes: int) -> None:
    present = np.unique(y)
    missing = classes - len(present)
    if missing:
        # The first few that are missing are among this many.
        first = np.setdiff1d(np.arange(min(classes, len(present) + _LISTED)), present)
        raise ValueError(
            f"{caller}: data.{name}: {'class' if missing == 1 else 'classes'} {listed(first[:_LISTED], missing)} of "
            f"{classes:,}: no sample, but load curves and class means need every class; take more samples, number the "
            "classes that occur from 0, or measure neither (metrics=())"
        )


def _require_signs(caller: str, name: str, y: np.ndarray) -> None:
    bad = ~((y == 1) | (y == -1)) if y.dtype.kind != "b" else np.ones(len(y), bool)
    if bad.any():
        first = np.argwhere(bad)[0]
        raise ValueError(
            f"{caller}: data.{name}: {int(bad.sum()):,} of {len(y):,} labels are neither -1 nor 1, the first at "
            f"{_place(first)}: {y[tuple(first)].item()!r}; np.where(y > 0, 1.0, -1.0) makes them of 0 and 1"
        )
    if y.min() == y.max():
        raise ValueError(
            f"{caller}: data.{name}: all {len(y):,} labels are {y[0]:g}: must be of both classes, -1 and 1"
        )


def _shape(caller: str, shape: Any, width: int, image: str) -> tuple[int, ...]:
    array = _array(shape)
    ok = array.shape == (3,) and array.dtype.kind in "iu" and min(array[1:]) >= 2
    if not ok or int(np.prod(array)) != width:
        given = tuple(shape) if isinstance(shape, list | tuple) else shown(shape)
        raise ValueError(
            f"{caller}: data.shape = {given}, samples of {width} numbers: {image} needs images, (channels, height, "
            "width) with sides of at least 2 pixels, flattened; use MLP for other data"
        )
    return tuple(int(n) for n in array)
