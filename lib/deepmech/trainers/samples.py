"""The samples that trainers and walkers are given: arrays fit to be trained on, or a ValueError."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from deepmech.core.checks import FEW, listed, shown, unmasked, whole

CLASSES = "a whole number, at least 2, or 0 for real targets"


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
    data : Data
        Anything with ``fingerprint`` and either ``x_train``, ``y_train``, ``x_test``, ``y_test`` and ``n_classes``
        (whole numbers 0 … n_classes - 1 as labels; real targets if that is 0 or None), or, with ``signs``, ``x`` and
        ``y`` of -1 and 1. Samples have shape (n, numbers), targets (n,). NumPy arrays, lists or torch tensors, of any
        real type; labels of any integer type.
    dtype : str
        The least precision that samples have to fit into, ``"float32"`` or ``"float64"``.
    every_class : bool
        Whether each class must occur in both sets of samples.
    image : str
        Who asks for ``shape``, that of one image (channels, height, width); nobody if empty.

    Raises
    ------
    ValueError
        Naming what is not there, or is not finite, and where; labels out of range, of another type, or all alike;
        shapes that do not fit.
    """
    pairs = [("x", "y")] if signs else [("x_train", "y_train"), ("x_test", "y_test")]
    needed = [*(name for pair in pairs for name in pair), *["n_classes"] * (not signs), "fingerprint"]
    if lacking := [name for name in needed if not hasattr(data, name)]:
        raise ValueError(
            f"{caller}: data = {type(data).__name__}: has no {', '.join(lacking)}; give an object with arrays "
            f"{', '.join(needed)}" + ("" if signs else ", such as deepmech.data.load(name)")
        )
    found: dict[str, Any] = {"fingerprint": data.fingerprint}
    classes = 0
    if not signs and data.n_classes not in (None, 0):
        classes = whole(f"{caller}: data.n_classes", data.n_classes, 2, allowed=CLASSES)
    for x_name, y_name in pairs:
        x, y = (_numbers(f"{caller}: data.{name}", getattr(data, name)) for name in (x_name, y_name))
        what = f"{caller}: data.{y_name}"
        if x.ndim != 2 or 0 in x.shape:
            raise ValueError(
                f"{caller}: data.{x_name} has shape {x.shape}: must be (samples, numbers), at least one of each; "
                "flatten images first"
            )
        if y.shape != (len(x),) and (classes or signs or y.shape != (len(x), 1)):
            raise ValueError(
                f"{what} has shape {y.shape}, data.{x_name} {x.shape}: must be one number for each sample, shape "
                f"({len(x)},)"
            )
        y = y.reshape(len(x))
        _require_finite(f"{caller}: data.{x_name}", x, dtype)
        if classes:
            y = _labels(what, y, classes)
        else:
            _require_finite(what, y, dtype)
        if signs:
            neither = ~((y == 1) | (y == -1)) if y.dtype.kind != "b" else np.ones(len(y), bool)
            _refuse(
                what, y, neither, "labels are neither -1 nor 1", "; np.where(y > 0, 1.0, -1.0) makes them of 0 and 1"
            )
        if (signs or classes) and y_name != "y_test" and y.min() == y.max():
            two = "both classes, -1 and 1" if signs else "at least two classes"
            raise ValueError(f"{what}: all {len(y):,} labels are {y[0]:g}: must be of {two}")
        if classes and every_class:
            _require_every_class(what, y, classes)
        found |= {x_name: x, y_name: y}
    if not signs:
        width, other = (found[name].shape[1] for name in ("x_train", "x_test"))
        if width != other:
            raise ValueError(
                f"{caller}: data.x_train has {width} numbers in a sample, data.x_test {other}: must be equal"
            )
        shape = _shape(caller, getattr(data, "shape", (width,)), width, image) if image else (width,)
        found |= {"n_classes": classes, "shape": shape}
    return SimpleNamespace(**found)


def _numbers(what: str, value: Any) -> np.ndarray:
    """``value`` as an array of real numbers."""
    unmasked(what, value)
    try:
        array = np.asarray(value.detach().cpu() if torch.is_tensor(value) else value)
    except (TypeError, ValueError, RuntimeError):
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        of = f" of {array.dtype}" if array.ndim else ""
        raise ValueError(
            f"{what} is a {type(value).__name__}{of}: must be an array of real numbers (NumPy, a list of rows of one "
            "length, or a torch tensor)"
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _refuse(what: str, array: np.ndarray, bad: np.ndarray, things: str, remedy: str) -> None:
    """If any entry is ``bad`` say how many are, which is the first of them, and what to do."""
    if bad.any():
        first = np.argwhere(bad)[0]
        place = f"sample {first[0]}" + (f", number {first[1]}" if len(first) > 1 else "")
        raise ValueError(
            f"{what}: {int(bad.sum()):,} of {bad.size:,} {things}, the first at {place}: "
            f"{array[tuple(first)].item()!r}{remedy}"
        )


def _require_finite(what: str, array: np.ndarray, dtype: str) -> None:
    if array.dtype.kind != "f":
        return
    largest = np.finfo(dtype).max
    if -largest <= array.min() and array.max() <= largest:  # no for nan as well, and cheap
        return
    bad = ~(np.abs(array) <= largest)
    beyond = np.isfinite(array[bad][0])
    why = f"beyond {dtype}, whose largest is {largest:.2g}" if beyond else "not finite"
    _refuse(what, array, bad, f"numbers are {why}", "; leave such samples out, or replace the numbers")


def _labels(what: str, y: np.ndarray, classes: int) -> np.ndarray:
    """Labels as int64."""
    allowed = f"must be whole numbers 0 … {classes - 1:,} (data.n_classes = {classes:,})"
    if y.dtype.kind not in "iu":
        odd: Any = np.flatnonzero(y != np.round(y)) if y.dtype.kind == "f" else []
        hint = f", and {y[odd[0]]:g} at sample {odd[0]} is none" if len(odd) else "; y.astype(int) makes them"
        raise ValueError(f"{what}: labels of type {y.dtype}: {allowed}{hint}")
    _refuse(what, y, (y < 0) | (y >= classes), "labels are out of range", f": {allowed}; count classes from 0")
    return y.astype(np.int64, copy=False)


def _require_every_class(what: str, y: np.ndarray, classes: int) -> None:
    present = np.unique(y)
    if missing := classes - len(present):
        # The first few that are missing are among this many.
        first = np.setdiff1d(np.arange(min(classes, len(present) + FEW)), present)
        raise ValueError(
            f"{what}: {'class' if missing == 1 else 'classes'} {listed(first[:FEW], missing)} of {classes:,}: no "
            "sample, but load curves and class means need every class; take more samples, number the classes that "
            "occur from 0, or measure neither (metrics=())"
        )


def _shape(caller: str, shape: Any, width: int, image: str) -> tuple[int, ...]:
    try:
        array = np.asarray(shape)
    except (TypeError, ValueError):
        array = np.array(None)
    ok = array.shape == (3,) and array.dtype.kind in "iu" and min(array[1:]) >= 2
    if not ok or int(np.prod(array)) != width:
        given = tuple(shape) if isinstance(shape, list | tuple) else shown(shape)
        raise ValueError(
            f"{caller}: data.shape = {given}, samples of {width} numbers: {image} needs images, (channels, height, "
            "width) with sides of at least 2 pixels, flattened; use MLP for other data"
        )
    return tuple(int(n) for n in array)
