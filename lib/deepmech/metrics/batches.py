"""What people measure on, as batches of one kind: arrays, several inputs by name, data sets and loaders."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from deepmech.core import checks
from deepmech.metrics.moments import class_labels, count_classes, real_numbers, require_classes

LABELS = ("labels", "label", "y", "targets", "target")
"""Where a batch with names may have its labels; the first that is there counts."""

_MOST_KEPT = 2**31  # bytes
# How torch's layers say that an input is not for them.
_UNFIT = re.compile(
    r"shapes cannot be multiplied|expected .* (input|channels|dtype|scalar type)|size of tensor|out of range"
)


@dataclass(frozen=True)
class Batch:
    """A batch as it was given, what of it the model is called with, and its labels (or targets)."""

    whole: Any
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    labels: Any

    def tensors(self) -> list[torch.Tensor]:
        return [v for v in (*self.args, *self.named.values()) if isinstance(v, torch.Tensor)]

    def main(self, model: nn.Module) -> torch.Tensor | None:
        """The tensor that counts as the input: what the model calls its main input, else the first."""
        main = self.named.get(getattr(model, "main_input_name", ""))
        return main if isinstance(main, torch.Tensor) else next(iter(self.tensors()), None)

    def moved(self, device: torch.device, dtype: torch.dtype | None) -> Batch:
        """A copy on ``device``, floating point numbers in the precision ``dtype`` (None: as they are)."""
        whole, args, named = _moved((self.whole, self.args, dict(self.named)), device, dtype)
        return Batch(whole, args, named, self.labels)

    def through(self, model: nn.Module, forward: Callable[[nn.Module, Any], Any] | None) -> Any:
        """What the model returns for this batch."""
        if forward is not None:
            return forward(model, self.whole)
        try:
            inspect.signature(model.forward).bind(*self.args, **self.named)
        except TypeError as error:
            given = ", ".join([*(type(v).__name__ for v in self.args), *(f"{name}=…" for name in self.named)])
            raise ValueError(
                f"load_curve: the model's forward cannot be called with ({given}): {error}. Say how to call it: "
                "forward=lambda model, batch: …"
            ) from None
        except ValueError:  # there is no signature to ask
            pass
        try:
            return model(*self.args, **self.named)
        except (RuntimeError, IndexError) as error:
            if not _UNFIT.search(str(error)):  # the model's own fault
                raise
            given = ", ".join(f"{tuple(v.shape)} {str(v.dtype).removeprefix('torch.')}" for v in self.tensors())
            raise ValueError(
                f"load_curve: the model does not take this batch, {given}: {str(error).strip().splitlines()[0]}. Give "
                "x in the shape that it was made for, or say how to call it: forward=lambda model, batch: …"
            ) from error


class Arrays:
    """Samples and labels that lie in memory, or in a file that is mapped into it; only one batch is copied at a time.

    ``x`` is an array or tensor (n, ...), or several of them by name.
    """

    def __init__(self, x: Any, y: Any, batch_size: int, target: str, n_samples: int | None) -> None:
        self.like = x
        if isinstance(x, Mapping) and (y is None or isinstance(y, str)):
            split = _split(x, y)
            x, y = split.named, split.labels
        if y is None:
            raise ValueError("load_curve: y = None: give the class of each sample (a loader's batches hold them)")
        self.inputs = {k: _array(f"x[{k!r}]", v) for k, v in x.items()} if isinstance(x, Mapping) else _array("x", x)
        self.labels = numbered(y) if target == "classes" else targets(y)
        self.batch_size = batch_size
        for name, one in self._named().items():
            if len(one.shape) == 0 or self.labels.shape[:1] != tuple(one.shape)[:1]:
                raise ValueError(
                    f"load_curve: {name} {tuple(one.shape)} and y {self.labels.shape}: expected (n, ...) and (n,)"
                )
        self.n = len(self.labels) if n_samples is None else min(n_samples, len(self.labels))

    def _named(self) -> Mapping[str, Any]:
        return self.inputs if isinstance(self.inputs, Mapping) else {"x": self.inputs}

    def numbering(self, n_classes: int | None) -> Numbering:
        most = count_classes(self.labels[: self.n])
        classes = most if n_classes is None else checks.whole("load_curve: n_classes", n_classes, most)
        require_classes(self.labels[: self.n], classes)
        return Numbering(classes, counted=True)

    def __iter__(self) -> Iterator[Batch]:
        for start in range(0, self.n, self.batch_size):
            rows = slice(start, min(start + self.batch_size, self.n))
            parts = {k: _tensor(v[rows]) for k, v in self._named().items()}
            if isinstance(self.inputs, Mapping):
                whole = copy.copy(self.like)  # of the same class: people write batch.input_ids, too
                for name, part in parts.items():
                    whole[name] = part
                yield Batch(whole, (), parts, self.labels[rows])
            else:
                yield Batch(parts["x"], (parts["x"],), {}, self.labels[rows])


class Stream:
    """A loader, a data set or any other source of batches that hold their labels, read batch by batch.

    ``place`` says where in a batch the labels are: a name, the number of an entry, or a function of the batch; None
    looks for one of :data:`LABELS`, or takes the last entry.
    """

    def __init__(self, source: Any, place: Any, batch_size: int, n_samples: int | None, forward: Any) -> None:
        if not (place is None or isinstance(place, str | int) or callable(place)):
            raise ValueError(
                f"load_curve: y is a {type(place).__name__}, but x is a {type(source).__name__}, whose batches hold "
                "the labels: leave y out, or say where they are by the name or the number of an entry"
            )
        if callable(place) and forward is None:
            raise ValueError("load_curve: y is a function; say also what of a batch the model gets, forward=…")
        self.source, self.place, self.n_samples = source, place, n_samples
        self.loader = source if isinstance(source, Iterable) else DataLoader(source, batch_size=batch_size)
        self.kept: list[Batch] | None = None

    def numbering(self, n_classes: int | None) -> Numbering:
        return Numbering(n_classes)

    def __iter__(self) -> Iterator[Batch]:
        if self.kept is not None:
            yield from self.kept
            return
        n = 0
        for whole in self.loader:
            batch = _split(whole, self.place)
            yield batch
            n += len(batch.labels)
            if self.n_samples is not None and n >= self.n_samples:
                return
        if not n:
            raise ValueError("load_curve: x gave no samples; an iterator gives its batches once only, a loader always")

    def keep(self) -> None:
        """Read the batches now and keep them, so that the same samples come every time."""
        kept, size = [], 0
        with drawn_apart(self.loader):
            for batch in self:
                kept.append(batch.moved(torch.device("cpu"), None))
                size += sum(t.nbytes for t in kept[-1].tensors())
                if size > _MOST_KEPT:
                    raise ValueError(
                        "LoadCurveMonitor: the loader gives more than 2 GiB to keep: give n_samples=500, say"
                    )
        self.kept = kept


def batches_of(x: Any, y: Any, batch_size: int, target: str, n_samples: int | None, forward: Any) -> Arrays | Stream:
    """``x`` and ``y`` of a load curve as a source of batches.

    Examples
    --------
    >>> [len(b.labels) for b in batches_of(np.zeros((5, 2)), [0, 1, 0, 1, 1], 2, "classes", None, None)]
    [2, 2, 1]
    """
    array = hasattr(x, "__array__") or (hasattr(x, "shape") and hasattr(x, "dtype"))
    rows = hasattr(x, "__getitem__") and hasattr(x, "__len__")
    if array or isinstance(x, Mapping | list | tuple | str) or not (rows or isinstance(x, Iterable)):
        return Arrays(x, y, batch_size, target, n_samples)
    return Stream(x, y, batch_size, n_samples, forward)


class Numbering:
    """Numbers the classes of batches that come one after the other, as they come: whole numbers, too.

    There is room for the classes that have been seen, not for the numbers below the largest label. With ``counted`` it
    is known that ``classes`` whole numbers from 0 on all occur, and labels stay as they are.

    Examples
    --------
    >>> names = Numbering()
    >>> names(["cat", "dog"]).tolist(), names(["dog", "eel"]).tolist(), names.classes
    ([0, 1], [1, 2], 3)
    """

    def __init__(self, classes: int | None = None, counted: bool = False) -> None:
        self.given, self.counted = classes, counted
        self.classes = classes if counted and classes else 2  # a single class is told at the end
        self.seen: dict[Any, int] = {}

    def __call__(self, labels: Any) -> torch.Tensor:
        found = _labels(labels)
        if self.counted:
            return torch.tensor(found)
        if found.dtype.kind in "iu" and len(found):
            self._require(count_classes(found))
        for name in found.tolist():
            self.seen.setdefault(name, len(self.seen))
        self._require(len(self.seen))
        self.classes = max(self.classes, len(self.seen))
        return torch.tensor([self.seen[name] for name in found.tolist()], dtype=torch.int64)

    def _require(self, classes: int) -> None:
        if self.given is not None and classes > self.given:
            raise ValueError(f"load_curve: n_classes = {self.given}, but there are {classes} classes or more")

    def demand_all(self) -> None:
        """Raise a ValueError unless every class has samples, and there are two of them."""
        if self.counted:
            return
        numbers = [name for name in self.seen if isinstance(name, int) and not isinstance(name, bool)]
        if numbers:
            require_classes(np.array(numbers), self.given or max(numbers) + 1)
        if len(self.seen) < 2:
            raise ValueError(f"load_curve: all samples are of class {next(iter(self.seen))!r}: separation needs two")
        require_classes(np.arange(len(self.seen)), self.given or 2)


def numbered(labels: Any) -> np.ndarray:
    """Labels as numbers 0 … K − 1: whole numbers as they are, words in alphabetical order.

    Examples
    --------
    >>> numbered(["dog", "cat", "dog"]).tolist()
    [1, 0, 1]
    """
    found = _labels(labels)
    return found if found.dtype.kind in "iu" else np.unique(found, return_inverse=True)[1]


def targets(values: Any) -> np.ndarray:
    """Targets of a regression, (n,) or (n, m): real numbers, or booleans as 0 and 1."""
    found = real_numbers("load_curve: y", values.cpu() if isinstance(values, torch.Tensor) else values).astype(float)
    if found.ndim not in (1, 2):
        raise ValueError(f"load_curve: y has shape {found.shape}: expected targets (n,), or several a sample, (n, m)")
    return found


@contextmanager
def drawn_apart(loader: Any) -> Iterator[None]:
    """Generators that a loader shuffles by are put back afterwards: who looks draws from nobody's numbers."""
    owners = (
        loader,
        getattr(loader, "sampler", None),
        getattr(getattr(loader, "batch_sampler", None), "sampler", None),
    )
    found = [g for owner in owners if isinstance(g := getattr(owner, "generator", None), torch.Generator)]
    with ExitStack() as stack:
        for generator in {id(g): g for g in found}.values():
            stack.callback(generator.set_state, generator.get_state())
        stack.enter_context(torch.random.fork_rng(devices=[]))
        yield


def _labels(labels: Any) -> np.ndarray:
    """One label a sample: whole numbers, words or booleans."""
    checks.unmasked("load_curve: y", labels)
    try:
        found = np.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    except ValueError:
        checks.refuse("load_curve: y", labels, "one label for each sample")
    if found.ndim != 1:
        several = "; several yes-or-no labels a sample are read as target='regression'" if found.ndim == 2 else ""
        raise ValueError(f"load_curve: y has shape {found.shape}: expected one label for each sample, (n,){several}")
    if found.dtype.kind == "O" and len(found) and all(isinstance(v, str) for v in found):
        found = found.astype(str)
    if found.dtype.kind == "f":
        raise ValueError(
            f"load_curve: labels have type {found.dtype}: expected classes, as whole numbers or words; "
            "targets that are real numbers need target='regression'"
        )
    return found if found.dtype.kind in "Ub" else class_labels(found)


def _split(whole: Any, place: Any) -> Batch:
    """A batch, with what the model is called with and the labels told apart."""
    if callable(place):
        parts = whole.values() if isinstance(whole, Mapping) else whole if isinstance(whole, tuple | list) else [whole]
        return Batch(whole, tuple(v for v in parts if isinstance(v, torch.Tensor)), {}, place(whole))
    if isinstance(whole, Mapping):
        name = place if place is not None else next((k for k in LABELS if k in whole), None)
        if name not in whole:
            raise ValueError(
                f"load_curve: {'no labels' if place is None else f'no {place!r}'} among {', '.join(map(str, whole))}: "
                "name the entry that holds them, y='…'"
            )
        return Batch(whole, (), {k: v for k, v in whole.items() if k != name}, whole[name])
    if isinstance(whole, tuple | list) and len(whole) > 1 and not isinstance(place, str):
        at = (len(whole) - 1 if place is None else place) % len(whole)
        inputs = tuple(v for i, v in enumerate(whole) if i != at)
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return Batch(whole, (), inputs[0], whole[at])
        return Batch(whole, inputs, {}, whole[at])
    raise ValueError(
        f"load_curve: a batch is a {type(whole).__name__}, without labels that can be told: let it be (x, y) or a "
        "dict, or give y=lambda batch: … and forward=lambda model, batch: …"
    )


def _array(what: str, x: Any) -> Any:
    """``x`` as something with a shape whose slices are real numbers; what is mapped from a file stays there."""
    if isinstance(x, torch.Tensor):
        return x.detach()
    checks.unmasked(f"load_curve: {what}", x)
    if hasattr(x, "shape") and hasattr(x, "dtype") and getattr(np.dtype(x.dtype), "kind", "") in "biuf":
        return x
    return real_numbers(f"load_curve: {what}", x)


def _tensor(part: Any) -> torch.Tensor:
    return part if isinstance(part, torch.Tensor) else torch.tensor(np.asarray(part))


def _moved(value: Any, device: torch.device, dtype: torch.dtype | None) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = torch.from_numpy(value)
    if isinstance(value, torch.Tensor):
        kind = dtype if dtype is not None and value.is_floating_point() else value.dtype
        return value.detach().to(device=device, dtype=kind, copy=True)  # a copy: the model may work in place
    if isinstance(value, Mapping):
        out: Any = copy.copy(value)
        for name, part in value.items():
            out[name] = _moved(part, device, dtype)
        return out
    if isinstance(value, tuple | list):
        parts = [_moved(part, device, dtype) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value.to(device) if callable(getattr(value, "to", None)) else value
