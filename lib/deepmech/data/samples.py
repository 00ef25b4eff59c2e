"""Samples that networks are trained on: :class:`Data`, made of whatever holds them, or refused by name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from deepmech.core import specs
from deepmech.core.labels import LABELS

__all__ = ["Data", "validate_data", "validate_signs"]


@dataclass(frozen=True, eq=False)
class Data:
    """Samples to train and to test on: what :func:`~deepmech.data.load` gives, or :meth:`Data.of` makes of arrays.

    Attributes
    ----------
    x_train, x_test : ndarray
        Of data sets by name float32, shapes (n_train, d) and (n_test, d), in [0, 1] (GEOMNIST: about that); images are
        flattened channel by channel, row by row. ``x_test`` and ``y_test`` are None where there are no others to test.
    y_train, y_test : ndarray
        Classes 0 … n_classes − 1 as int64, or, for regression, real targets; shapes (n_train,) and (n_test,).
    n_classes : int
        Number of classes; 0 for regression.
    shape : tuple of int
        Shape of one sample before flattening: (channels, height, width), or (d,).
    fingerprint : str
        Which data these are. Of data sets by name, sixteen hexadecimal digits of the recipe: name, checksums of the raw
        content, size, split and seed. It does not see the rounding of the resampling, so it is the same on every
        machine. Of others :attr:`numbers`.
    name : str
        The name they were loaded by.
    note : str
        One sentence on where the numbers come from, to be shown beside results.

    Examples
    --------
    >>> from deepmech.data import load
    >>> load("digits").shape
    (1, 8, 8)
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: Any = None
    y_test: Any = None
    n_classes: int = 0
    shape: tuple[int, ...] = ()
    fingerprint: str = ""
    name: str = ""
    note: str = ""

    @classmethod
    def of(
        cls, x: Any, y: Any = None, x_test: Any = None, y_test: Any = None, *, name: str = "", note: str = ""
    ) -> Data:
        """Samples and their labels or targets, and others to test on, if there are any.

        Parameters
        ----------
        x, y : array_like, (n, …) and (n,)
            Whole numbers and words are labels, as many classes as the largest number says, or as there are words, which
            are numbered in alphabetical order; other numbers are real targets. Or, without ``y``, a dictionary of
            samples and labels, or torch's ``Dataset`` or ``DataLoader`` of pairs (x, y) or of such dictionaries.
        x_test, y_test : array_like
            So the samples to test on.
        name, note : str
            As they are to be told.

        Returns
        -------
        Data

        Raises
        ------
        ValueError
            As :func:`validate_data`.

        Examples
        --------
        >>> data = Data.of(np.eye(4), ["cat", "dog", "cat", "eel"])
        >>> data.y_train.tolist(), data.n_classes, data.shape
        ([0, 1, 0, 2], 3, (4,))
        """
        given = (x, x_test) if y is None else (x, y) if x_test is None and y_test is None else (x, y, x_test, y_test)
        found = validate_data("Data.of", x if y is None and x_test is None else given, "float64", any_shape=True)
        return replace(found, name=name, note=note)

    @cached_property
    def numbers(self) -> str:
        """Sixteen hexadecimal digits of all arrays: equal if and only if their numbers, as float64, and shapes are.

        Examples
        --------
        >>> Data.of([[0.0], [1.0]], [0, 1]).numbers == Data.of(np.array([[-0.0], [1.0]], "float32"), [0, 1]).numbers
        True
        """
        digest = hashlib.blake2b(digest_size=8)
        for name in ("n_classes", "shape", "x_test", "x_train", "y_test", "y_train"):
            value = getattr(self, name)
            if not isinstance(value, np.ndarray):
                digest.update(repr((name, value)).encode())
                continue
            digest.update(repr((name, value.shape)).encode())
            for start in range(0, len(value), 1024):
                # Whole numbers are floats as well, and 0.0 is -0.0.
                digest.update((value[start : start + 1024].astype("<f8") + 0.0).tobytes())
        return digest.hexdigest()


CLASSES = "a whole number, at least 2, or 0 for real targets"
NAMES = ("x_train", "y_train", "x_test", "y_test")


def validate_data(caller: str, data: Any, dtype: str, *, image: str = "", any_shape: bool = False) -> Data:
    """The samples in ``data``, if they are fit to be trained on, as arrays in this machine's byte order.

    Parameters
    ----------
    data : Data or tuple
        Anything with ``x_train``, ``y_train``, ``x_test``, ``y_test`` (the last two may be None) and ``n_classes``
        (whole numbers 0 … n_classes - 1 as labels; real targets if that is 0 or None), as attributes or entries. Or a
        tuple (x, y), with test samples (x, y, x_test, y_test), or a ``TensorDataset`` of these: whole numbers are then
        labels, as many classes as the largest says, and other numbers real targets. Words are labels, too, numbered in
        alphabetical order. Samples have shape (n, numbers), or images where ``image`` asks for them their own, targets
        (n,) or (n, 1). NumPy arrays, lists or torch tensors, of any real type; labels of any integer type. Or a
        dictionary of samples and labels (:data:`~deepmech.core.labels.LABELS`); or torch's ``Dataset`` or
        ``DataLoader`` of pairs (x, y) or of such dictionaries, read once and in its order; or two of these, the second
        with the test samples. ``fingerprint`` says which samples they are; without it, it is computed: equal for equal
        numbers, whatever holds them.
    dtype : str
        The least precision that samples have to fit into, ``"float32"`` or ``"float64"``.
    image : str
        Who asks for ``shape``, that of one image (channels, height, width); nobody if empty.
    any_shape : bool
        Whether samples keep whatever shape they have.

    Raises
    ------
    ValueError
        Naming what is not there, or is not finite, and where; labels out of range, of another type, or all alike;
        shapes that do not fit.
    """
    given = _fields(caller, data, NAMES, "n_classes")
    untested = given["x_test"] is None and given["y_test"] is None
    splits = [NAMES[:2]] if untested else [NAMES[:2], NAMES[2:]]
    arrays = {
        name: _numbers(f"{caller}: data.{name}", given[name], words=name.startswith("y"))
        for names in splits
        for name in names
    }
    if all(arrays[y].dtype.kind == "U" for _, y in splits):
        words, numbers = np.unique(np.concatenate([arrays[y] for _, y in splits]), return_inverse=True)
        cut = np.split(numbers, [len(arrays["y_train"])])
        arrays |= {y: part for (_, y), part in zip(splits, cut, strict=False)}
        given["n_classes"] = len(words)
    if "n_classes" not in given:  # of whole numbers as many as the largest says
        labels = [arrays[y] for _, y in splits]
        counted = all(y.dtype.kind in "iub" and y.size for y in labels)
        given["n_classes"] = max(2, *(int(y.max()) + 1 for y in labels)) if counted else 0
    found: dict[str, Any] = {}
    classes = 0
    if given["n_classes"] not in (None, 0):
        classes = specs.check_int(f"{caller}: data.n_classes", given["n_classes"], 2, allowed=CLASSES)
    for x_name, y_name in splits:
        x, y = _pair(caller, x_name, y_name, arrays, dtype, image, any_shape)
        if arrays[x_name].ndim == 4 and image:
            given.setdefault("shape", arrays[x_name].shape[1:])
        what = f"{caller}: data.{y_name}"
        if classes:
            y = _labels(what, y, classes, both=y_name == "y_train")
        else:
            _require_finite(what, y, dtype)
        found |= {x_name: x, y_name: y}
    one, other = (found.get(x, found["x_train"]).shape[1:] for x in ("x_train", "x_test"))
    if one != other:
        raise ValueError(f"{caller}: data.x_train has samples of shape {one}, data.x_test {other}: must be equal")
    shape = _shape(caller, given.get("shape", one), one[0], image) if image else one
    return _named(Data(**found, n_classes=classes, shape=shape), data)


def validate_signs(caller: str, data: Any, dtype: str) -> Data:
    """As :func:`validate_data`, of ``data`` with ``x`` and ``y`` of -1 and 1, both of them there, or a tuple (x, y)."""
    given = _fields(caller, (data.x_train, data.y_train) if isinstance(data, Data) else data, ("x", "y"))
    arrays = {name: _numbers(f"{caller}: data.{name}", given[name]) for name in ("x", "y")}
    x, y = _pair(caller, "x", "y", arrays, dtype)
    _require_finite(f"{caller}: data.y", y, dtype)
    neither = ~((y == 1) | (y == -1)) if y.dtype.kind != "b" else np.ones(len(y), bool)
    remedy = "; np.where(y > 0, 1.0, -1.0) makes them of 0 and 1"
    _raise_first(f"{caller}: data.y", y, neither, "labels are neither -1 nor 1", remedy)
    if y.min() == y.max():
        raise ValueError(f"{caller}: data.y: all {len(y):,} labels are {y[0]:g}: must be of both classes, -1 and 1")
    return _named(Data(x, y, shape=x.shape[1:]), data)


def _named(found: Data, data: Any) -> Data:
    """With the fingerprint that ``data`` has, or that of the numbers."""
    own = data.get("fingerprint") if isinstance(data, Mapping) else getattr(data, "fingerprint", None)
    object.__setattr__(found, "fingerprint", str(own) if own else found.numbers)
    return found


def _fields(caller: str, data: Any, names: Sequence[str], *needed: str) -> dict[str, Any]:
    """What ``data`` has by these names: its attributes or entries, the arrays of a tuple, or all that a loader yields.

    Test samples that a tuple lacks are None. Of an object come what is ``needed``, and its ``shape``, if it has one.
    """
    from torch.utils.data import DataLoader, Dataset, TensorDataset  # slow to import; data sets by name need no torch

    arrays = data.tensors if isinstance(data, TensorDataset) else data
    several = "(x, y)" if len(names) == 2 else "(x, y) or (x, y, x_test, y_test)"
    pair = isinstance(data, tuple | list) and len(data) == 2 and len(names) > 2
    named = isinstance(data, Mapping) and names[0] in data
    if not isinstance(data, TensorDataset) and not named:
        sources = data if pair else [data]
        if all(isinstance(one, Dataset | DataLoader | Mapping) for one in sources):
            arrays = [array for one in sources for array in _collected(f"{caller}: data", one)]
    if isinstance(arrays, tuple | list):
        if len(arrays) not in (2, len(names)):
            counts = " or ".join(map(str, sorted({2, len(names)})))
            raise ValueError(
                f"{caller}: data = {type(data).__name__} of {len(arrays)} arrays: must be {counts}, {several}"
            )
        return dict.fromkeys(names) | dict(zip(names, arrays, strict=False))
    of = SimpleNamespace(**data) if named else data
    if lacking := [name for name in (*names, *needed) if not hasattr(of, name)]:
        such = ", such as deepmech.data.load(name)" if needed else ""
        raise ValueError(
            f"{caller}: data = {type(data).__name__}: has no {', '.join(lacking)}; give arrays {several}, a Dataset or "
            f"DataLoader of pairs (x, y), or an object with {', '.join((*names, *needed))}{such}"
        )
    return {name: getattr(of, name) for name in (*names, *needed, "shape") if hasattr(of, name)}


def _collected(what: str, data: Any) -> tuple[Any, Any]:
    """(x, y) of a dictionary, or of all samples or batches of torch's own loader; a ValueError if there are no such."""
    import torch
    from torch.utils.data import DataLoader

    if isinstance(data, Mapping):
        return _entries(what, data)
    batches, size = list[tuple[Any, Any]](), 0.0
    own = torch.Generator()  # of which a loader draws, in place of torch's
    try:
        for batch in data if isinstance(data, DataLoader) else DataLoader(data, batch_size=256, generator=own):
            parts = _entries(what, batch) if isinstance(batch, Mapping) else batch
            parts = parts if isinstance(parts, tuple | list) else [parts]
            words = len(parts) == 2 and isinstance(parts[1], tuple | list) and all(isinstance(y, str) for y in parts[1])
            if len(parts) != 2 or not all(map(torch.is_tensor, parts[: 1 if words else 2])):
                raise TypeError(f"a batch is ({', '.join(type(part).__name__ for part in parts)})")
            batches.append((parts[0], np.array(parts[1]) if words else parts[1]))
            size += sum(part.nbytes for part in batches[-1])
            specs.check_memory(f"{what}: number of batches", len(batches), size / 4)  # twice: in pieces and as a whole
        if not batches:
            raise TypeError("there is no sample")
        x, y = zip(*batches, strict=True)
        return torch.cat(x), torch.cat(y) if torch.is_tensor(y[0]) else np.concatenate(y)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"{what} = {type(data).__name__}: must yield pairs (x, y) of tensors, or of numbers, of one shape: {error}"
        ) from error


def _entries(what: str, entries: Mapping[Any, Any]) -> tuple[Any, Any]:
    """(x, y) of a dictionary with labels by a name for them, and one other entry."""
    label = next((name for name in LABELS if name in entries), None)
    inputs = [name for name in entries if name != label]
    if label is None or len(inputs) != 1:
        raise ValueError(
            f"{what} = {type(entries).__name__}: has {', '.join(map(str, entries))}: must have labels, by one of the "
            f"names {', '.join(LABELS)}, and one entry with the samples, or be pairs (x, y)"
        )
    return entries[inputs[0]], entries[label]


def _pair(
    caller: str, x_name: str, y_name: str, arrays: Mapping[str, np.ndarray], dtype: str, image: str = "",
    any_shape: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Samples and their targets, (n, numbers) and (n,), of shapes that fit; samples are finite."""
    x, y = arrays[x_name], arrays[y_name]
    kept = any_shape and x.ndim > 2
    if (x.ndim != 2 and not kept and not (image and x.ndim == 4)) or 0 in x.shape:
        remedy = "x.reshape(len(x), -1) flattens them"
        if x.ndim == 1:
            remedy = "x[:, None] makes samples of one number, x[None] one sample"
        elif image and x.ndim == 3:
            remedy = "x[:, None] gives images their one channel"
        raise ValueError(
            f"{caller}: data.{x_name} has shape {x.shape}: must be (samples, numbers), at least one of each; {remedy}"
        )
    x = x if kept else x.reshape(len(x), -1)
    if y.shape not in ((len(x),), (len(x), 1)):
        hot = "; y.argmax(1) makes labels of rows with a 1" if y.ndim == 2 and y.shape[1] > 1 else ""
        raise ValueError(
            f"{caller}: data.{y_name} has shape {y.shape}, data.{x_name} {x.shape}: must be one number for each "
            f"sample, shape ({len(x)},){hot}"
        )
    _require_finite(f"{caller}: data.{x_name}", x, dtype)
    return x, y.reshape(len(x))


def _numbers(what: str, value: Any, words: bool = False) -> np.ndarray:
    """``value`` as an array of real numbers that torch takes too: of its types, writable, not reversed.

    With ``words`` it may be one of words, as labels are.
    """
    import torch

    specs.check_unmasked(what, value)
    try:
        if torch.is_tensor(value):
            value = value.detach().cpu()
            value = value.float() if value.dtype == torch.bfloat16 else value
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        array = np.array(None)
    if words and array.ndim == 1 and len(array) and all(isinstance(one, str) for one in array):
        return array.astype(str)
    if array.dtype.kind not in "biuf":
        of = f" ({value.layout}, {value.dtype}, {value.device})" if torch.is_tensor(value) else ""
        of = f" of {array.dtype}" if array.ndim else of
        raise ValueError(
            f"{what} is a {type(value).__name__}{of}: must be an array of real numbers (NumPy, a list of rows of one "
            "length, or a torch tensor, not on the device 'meta'); x.to_dense() or x.toarray() makes one of what is "
            "sparse"
        )
    dtype = float if array.dtype.kind == "f" and array.itemsize > 8 else array.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # what is beyond float64 is looked at as all that is not finite
        return np.require(array, dtype, ["C", "W"])


def _raise_first(what: str, array: np.ndarray, bad: np.ndarray, things: str, remedy: str) -> None:
    """If any entry is ``bad`` say how many are, which is the first of them, and what to do."""
    if bad.any():
        first = np.argwhere(bad)[0]
        inner = first[1] if len(first) == 2 else tuple(first[1:].tolist())
        place = f"sample {first[0]}" + (f", number {inner}" if len(first) > 1 else "")
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
    _raise_first(what, array, bad, f"numbers are {why}", "; leave such samples out, or replace the numbers")


def _labels(what: str, y: np.ndarray, classes: int, both: bool) -> np.ndarray:
    """Labels as int64; with ``both`` of at least two classes."""
    allowed = f"must be whole numbers 0 … {classes - 1:,} (data.n_classes = {classes:,})"
    if y.dtype.kind not in "iu":
        odd: Any = np.flatnonzero(y != np.round(y)) if y.dtype.kind == "f" else []
        hint = f", and {y[odd[0]]:g} at sample {odd[0]} is none" if len(odd) else "; y.astype(int) makes them"
        raise ValueError(f"{what}: labels of type {y.dtype}: {allowed}{hint}")
    _raise_first(what, y, (y < 0) | (y >= classes), "labels are out of range", f": {allowed}; count classes from 0")
    if both and y.min() == y.max():
        raise ValueError(f"{what}: all {len(y):,} labels are {y[0]}: must be of at least two classes")
    return y.astype(np.int64, copy=False)


def _shape(caller: str, shape: Any, width: int, image: str) -> tuple[int, ...]:
    try:
        array = np.asarray(shape)
    except (TypeError, ValueError):
        array = np.array(None)
    ok = array.shape == (3,) and array.dtype.kind in "iu" and min(array[1:]) >= 2
    if not ok or int(np.prod(array)) != width:
        given = tuple(shape) if isinstance(shape, list | tuple) else specs.short_repr(shape)
        other = "np.moveaxis(x, -1, 1) puts channels first" if array.shape == (3,) else "use MLP for other data"
        raise ValueError(
            f"{caller}: data.shape = {given}, samples of {width} numbers: {image} needs images, (channels, height, "
            f"width) with sides of at least 2 pixels; {other}"
        )
    return tuple(int(n) for n in array)
