"""Samples as batches of one kind, and a model that they go through and leave as it was.

Samples are what people have: arrays, several inputs by name, data sets and loaders. Every state that a forward pass may
change is put back afterwards.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler, Subset

from deepmech.core import specs
from deepmech.core.labels import LABELS
from deepmech.core.random import Stream
from deepmech.metrics.separation import as_tensor, real_numbers, require_classes

Forward = Callable[[nn.Module, Any], Any]


@dataclass(frozen=True)
class SampleBatch:
    """A batch as it was given, what of it the model is called with, and its labels.

    Labels are one for each sample, or a function of the model's output and the batch; ``groups`` are the objects that
    samples show, one for each, or None. Samples lie along ``axis`` of tensors; None: the first of their number.
    """

    whole: Any
    args: tuple[Any, ...]
    named: Mapping[str, Any]
    labels: Any
    groups: Any = None
    axis: int | None = None

    def __len__(self) -> int:
        if not callable(self.labels):
            return len(self.labels)
        given = self.tensors()
        return given[0].shape[self.axis or 0] if given else 0

    def digest(self) -> bytes:
        """A few numbers of every sample, by which the same samples in the same order are known again."""
        rows = next((t.detach().reshape(len(t), -1) for t in self.tensors() if t.ndim and t.numel()), torch.zeros(0, 1))
        rows = torch.view_as_real(rows).flatten(1) if rows.is_complex() else rows
        return rows[:, :: max(1, rows.shape[1] // 16)][:, :16].double().cpu().numpy().tobytes()

    def tensors(self) -> list[torch.Tensor]:
        """The tensors that the model is called with."""
        return [v for v in (*self.args, *self.named.values()) if isinstance(v, torch.Tensor)]

    def main(self, model: nn.Module) -> torch.Tensor | None:
        """The tensor that counts as the input: what the model calls its main input, else the first."""
        main = self.named.get(getattr(model, "main_input_name", ""))
        return main if isinstance(main, torch.Tensor) else next(iter(self.tensors()), None)

    def to(self, device: torch.device, dtype: torch.dtype | None) -> SampleBatch:
        """A copy on ``device``, floating point numbers in the precision ``dtype`` (None: as they are)."""
        whole, args, named = _copy_to((self.whole, self.args, dict(self.named)), device, dtype)
        return replace(self, whole=whole, args=args, named=named)

    def rows(self, at: slice | np.ndarray) -> SampleBatch:
        """Some of its samples, as tensors."""
        args = tuple(as_tensor(one[at]) for one in self.args)
        named = {name: as_tensor(one[at]) for name, one in self.named.items()}
        whole: Any = copy.copy(self.whole) if named else args[0]  # of the same class: people write batch.input_ids, too
        for name, part in named.items():
            whole[name] = part
        labels = self.labels if callable(self.labels) else self.labels[at]
        return SampleBatch(whole, args, named, labels, None if self.groups is None else self.groups[at])

    def some(self, at: np.ndarray) -> SampleBatch:
        """The samples of these numbers; a ValueError if it cannot be divided."""
        size, divided = len(self), []

        def part(value: Any) -> Any:
            if not isinstance(value, torch.Tensor | np.ndarray):
                own = isinstance(value, tuple | list) and len(value) == size and isinstance(value[0], str)
                return [value[i] for i in at] if own else _each(part, value)
            for axis in (self.axis or 0, *range(value.ndim)):
                if value.ndim > axis and value.shape[axis] == size:
                    divided.append(value)
                    return value[(slice(None),) * axis + (at,)]
            return value

        args, named = part(self.args), part(dict(self.named))
        if not divided:
            raise ValueError("load_curve: no tensor of the batch has the length of its labels")
        labels = self.labels if callable(self.labels) else range(len(at))
        return replace(self, whole=part(self.whole), args=args, named=named, labels=labels)

    def through(self, model: nn.Module, forward: Forward | None) -> Any:
        """What the model returns for this batch; its errors pass, with a note of what it was called with."""
        try:
            return model(*self.args, **self.named) if forward is None else forward(model, self.whole)
        except Exception as error:
            parts = [("", value) for value in self.args] + [(f"{name}=", value) for name, value in self.named.items()]
            given = ", ".join(name + _described(value) for name, value in parts)
            error.add_note(
                f"load_curve: the model was called with ({given}). If it is to be called otherwise, or with a batch of "
                "another form (token numbers are whole, pixels real numbers, x / 255.), say how: "
                "forward=lambda model, batch: …"
            )
            raise


def closeness(samples: torch.Tensor, labels: Any) -> float:
    """How close samples are to the nearest of their class, beside independent ones: about 1 or more; 0 for copies.

    Of n independent samples the squared distance r² to the k-th nearest grows as k^(2/d), whatever their dimension d.
    The ratio of a quarter to half of the class tells 2/d, and so where the nearest should be: at k = log 2, the median
    of a first arrival. Returned is the median over samples of r² there by the foretold one; nan where a class has fewer
    than ten.

    Examples
    --------
    >>> independent = torch.randn(100, 5, generator=torch.Generator().manual_seed(0))
    >>> seen_twice = independent[:50].repeat(2, 1) + 0.01 * independent
    >>> closeness(independent, np.zeros(100)) > 1, closeness(seen_twice, np.zeros(100)) < 0.1
    (True, True)
    """
    rows, found = samples.detach().reshape(len(samples), -1), []
    rows = rows[:, :: 1 + rows.shape[1] // 4096].double()  # of wide ones some: enough to tell distances
    for label in np.unique(labels):
        members = rows[torch.as_tensor(labels == label, device=rows.device)]
        squared, others = torch.cdist(members, members) ** 2, len(members) - 1
        if others >= 10:
            ranked = squared.sort(1).values[:, 1:]
            nearest, quarter, half = ranked[:, 0], ranked[:, others // 4], ranked[:, others // 2]
            found.append(nearest / (half * (quarter / half) ** np.log2(others / (2 * np.log(2)))))
    return float(torch.cat(found).nanmedian()) if found else np.nan


def _described(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"


class Batches:
    """Samples with their labels, batch by batch, as :func:`~deepmech.metrics.load_curve.load_curve` takes them.

    Of arrays, which may be mapped from a file, only one batch is copied at a time; a source of batches is read as it
    comes, its labels last, or in dicts where ``y`` says, or under the first of :data:`LABELS` that is there.
    ``n_samples`` are drawn, the same ones each time, of arrays, of a data set, and of a ``DataLoader`` that goes
    through one in order, since the first of a sorted set would be of a few classes. Of others they are the first.

    Attributes
    ----------
    taken
        ``"all"``, ``"drawn from …"`` or ``"the first"``.
    classes_known
        Classes of the whole source, as far as it tells; None if it does not.
    """

    def __init__(
        self, x: Any, y: Any, batch_size: int = 1024, n_samples: int | None = None, groups: Any = None,
        sample_axis: int | None = None,
    ) -> None:  # fmt: skip
        batch_size = specs.check_int("load_curve: batch_size", batch_size)
        if n_samples is not None:
            allowed = "a whole number, at least 1, or None"
            n_samples = specs.check_int("load_curve: n_samples", n_samples, allowed=allowed)
        if sample_axis is not None:
            sample_axis = specs.check_int("load_curve: sample_axis", sample_axis, 0)
        if isinstance(groups, int):
            specs.raise_invalid("load_curve: groups", groups, "the object of each sample; n_folds=20 deals samples")
        self.n_samples, self.batch_size, self.place, self.groups = n_samples, batch_size, y, groups
        self.axis = sample_axis
        self.known: np.ndarray | None = None  # labels of arrays
        self.loader: Any = None
        self.taken = "all"
        self.classes_known: int | None = None
        if isinstance(x, Mapping) or hasattr(x, "shape") or not (y is None or isinstance(y, str) or callable(y)):
            allowed = "0 of arrays, any of batches, [(x, y)]"
            specs.check("load_curve: sample_axis", sample_axis, not sample_axis, allowed)
            self._take_arrays(x)
            return
        if not isinstance(groups, str | None):
            specs.raise_invalid("load_curve: groups", groups, "the name of their entry in batches that are dicts")
        if isinstance(x, Dataset) or (hasattr(x, "__getitem__") and not isinstance(x, list | tuple)):
            x = DataLoader(x, batch_size=batch_size)
        self.loader = self._drawn(x) if isinstance(x, DataLoader) else x
        self.source: Callable[[], Iterator[SampleBatch]] = partial(self._read, self.loader)
        if n_samples is not None and self.taken == "all":
            self.taken = "the first"

    def _drawn(self, loader: DataLoader[Any]) -> DataLoader[Any]:
        """The same loader over samples that are drawn, where it goes through a data set in order."""
        names = getattr(loader.dataset, "classes", None)
        self.classes_known = len(names) if isinstance(names, list | tuple) else None
        ordered = type(loader) is DataLoader and type(loader.sampler) is SequentialSampler
        if self.n_samples is None or not ordered or type(loader.batch_sampler) is not BatchSampler:
            return loader
        n = len(loader.dataset)  # type: ignore[arg-type]
        if n <= self.n_samples:
            return loader
        self.taken = f"drawn from {n}"
        same = ("batch_size", "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator")
        some = Subset(loader.dataset, _draw(n, self.n_samples).tolist())
        return DataLoader(some, **{name: getattr(loader, name) for name in same})

    def _take_arrays(self, x: Any) -> None:
        y, groups, named = self.place, self.groups, dict(x) if isinstance(x, Mapping) else {}
        if isinstance(groups, str):
            groups = _pop(named, groups, "groups")
        if named and (y is None or isinstance(y, str)):
            y = _pop(named, y or _label_name(named), "y")
        if y is None:
            raise ValueError(
                "load_curve: y = None: give the class of each sample (a loader's batches hold them), or "
                "y=deepmech.metrics.load_curve.predicted_labels for the classes that the network itself sees"
            )
        inputs = {f"x[{k!r}]": _array(f"x[{k!r}]", v) for k, v in named.items()} or {"x": _array("x", x)}
        self.known = None if callable(y) else class_names(y).copy()
        shape = () if self.known is None else self.known.shape
        for name, one in inputs.items():
            if len(one.shape) == 0 or shape not in ((), tuple(one.shape)[:1]):
                said = shape or "a function"
                raise ValueError(f"load_curve: {name} {tuple(one.shape)} and y {said}: expected (n, ...) and (n,)")
        n = next(iter(inputs.values())).shape[0]
        if not n:
            raise ValueError("load_curve: x has no samples: give some of two classes or more")
        self.groups, arrays, labels = group_names(groups, n), tuple(inputs.values()), y if callable(y) else self.known
        by_name = dict(zip(named, arrays, strict=False))
        whole = SampleBatch(x, () if named else arrays, by_name, labels, self.groups)
        self.classes_known = None if self.known is None else len(np.unique(self.known))
        rows: np.ndarray | None = None
        if self.n_samples is not None and self.n_samples < n:
            self.taken, rows = f"drawn from {n}", _draw(n, self.n_samples)
            self.known, n = None if self.known is None else self.known[rows], len(rows)
        self.source = partial(self._slices, whole, n, rows)

    def __iter__(self) -> Iterator[SampleBatch]:
        return self.source()

    def _slices(self, whole: SampleBatch, n: int, rows: np.ndarray | None) -> Iterator[SampleBatch]:
        for start in range(0, n, self.batch_size):
            at = slice(start, min(start + self.batch_size, n))
            yield whole.rows(at if rows is None else rows[at])

    def _read(self, loader: Iterable[Any]) -> Iterator[SampleBatch]:
        n = 0
        for whole in loader:
            batch = replace(_split(whole, self.place, self.groups), axis=self.axis)
            if not len(batch):  # a last one may be empty
                continue
            yield batch
            n += len(batch)
            if self.n_samples is not None and n >= self.n_samples:
                return
        if not n:
            raise ValueError("load_curve: x gave no samples; an iterator gives its batches once only, a loader always")
        if self.taken == "the first":
            self.taken = "all"

    def require_classes(self) -> None:
        """A ValueError if a class is missing, as far as labels are known before anything is computed."""
        if self.known is not None:
            ClassIndex(self.known).require_all()


def _draw(n: int, k: int) -> np.ndarray:
    """``k`` of the numbers 0 … n − 1, rising."""
    return np.sort(Stream.of("load_curve", "n_samples").permutation("samples", 0, n)[:k])


class ClassIndex:
    """Numbers classes as they come in batches, whole numbers, too: there is room for those that occur, no others.

    ``labels`` that are known are numbered in rising order, so that 0 … K − 1 stay what they are.
    """

    def __init__(self, labels: np.ndarray | None = None) -> None:
        self.number: dict[Any, int] = {}
        if labels is not None:
            self._add(np.unique(labels))

    @property
    def classes(self) -> int:
        """How many classes there are so far; at least two."""
        return max(2, len(self.number))

    def __call__(self, labels: Any) -> torch.Tensor:
        names = class_names(labels)
        self._add(names)
        return torch.tensor([self.number[name] for name in names.tolist()], dtype=torch.int64)

    def _add(self, names: np.ndarray) -> None:
        if names.dtype.kind in "iu" and len(names) and names.min() < 0:
            raise ValueError(
                f"load_curve: y holds {names.min()}: classes are whole numbers from 0 on, or words: leave out samples "
                "without a class"
            )
        for name in names.tolist():
            self.number.setdefault(name, len(self.number))

    def require_all(self, every: bool = True) -> None:
        """Raise a ValueError unless there are two classes with samples, and ``every`` one has some."""
        if len(self.number) < 2:
            raise ValueError(
                f"load_curve: all samples are of class {next(iter(self.number))!r}: separation needs two; give more "
                "samples, and shuffled ones if they are sorted by class"
            )
        if not every:
            return
        numbers = [name for name in self.number if isinstance(name, int) and not isinstance(name, bool)]
        known = max(numbers) + 1 if numbers else 2
        require_classes(np.array(numbers or range(len(self.number))), known, "load_curve: y: ")


def class_names(labels: Any, what: str = "y") -> np.ndarray:
    """One label a sample, (n,) or (n, 1): whole numbers, words or booleans; a ValueError for anything else."""
    specs.check_unmasked(f"load_curve: {what}", labels)
    try:
        found = np.asarray(labels.cpu() if isinstance(labels, torch.Tensor) else labels)
    except ValueError:
        specs.raise_invalid(f"load_curve: {what}", labels, "one label for each sample")
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise ValueError(
            f"load_curve: {what} has shape {found.shape}: expected one label for each sample, (n,); of one column for "
            f"each class give {what}.argmax(1), of batches ((x, {what}.argmax(1)) for x, {what} in loader)"
        )
    if found.dtype.kind == "O" and len(found) and all(isinstance(v, str) for v in found):
        found = found.astype(str)
    if found.dtype.kind not in "biuU":
        raise ValueError(
            f"load_curve: {what} has type {found.dtype}: expected classes, words or whole numbers, {what}.astype(int)"
        )
    return found


def group_names(groups: Any, n: int) -> np.ndarray | None:
    """The object that each of ``n`` samples shows, (n,), or None; a ValueError for anything else."""
    if groups is None:
        return None
    if len(found := class_names(groups, "groups")) != n:
        raise ValueError(f"load_curve: {len(found)} groups of {n} samples: expected one for each")
    return found


def _split(whole: Any, place: Any, groups: str | None = None) -> SampleBatch:
    """A batch, with its labels and its groups apart from what the model is called with.

    Labels are the last of a tuple, and in a dict under the name ``place``, which may be a function of output and batch.
    """
    labels, objects, named = place, None, dict[Any, Any]()
    args: tuple[Any, ...] = ()
    if isinstance(whole, Mapping):
        named = dict(whole)
        objects = None if groups is None else _pop(named, groups, "groups")
        own = place if isinstance(place, str) else _label_name(named)
        if not callable(place):
            labels = _pop(named, own, "y")
        named.pop(own, None)
    else:
        parts = list(whole) if isinstance(whole, tuple | list) else [whole]
        if isinstance(place, str) or groups is not None or not (callable(place) or len(parts) > 1):
            raise ValueError(
                f"load_curve: a batch is a {type(whole).__name__}: let it be (x, y), or a dict if entries have names, "
                "as of ((b.x, b.y) for b in loader)"
            )
        labels, inputs = place if callable(place) else parts[-1], parts[:-1] or parts
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            named = dict(inputs[0])
        else:
            args = tuple(inputs)
    if not callable(labels) and np.ndim(labels) == 0:
        raise ValueError(f"load_curve: a batch has the label {labels}: of samples make batches, DataLoader(samples)")
    return SampleBatch(whole, args, named, labels, objects)


def _label_name(entries: Mapping[Any, Any]) -> str | None:
    return next((name for name in LABELS if name in entries), None)


def _pop(entries: dict[Any, Any], name: Any, argument: str) -> Any:
    if name not in entries:
        what = "no labels" if name is None else f"no {name!r}"
        raise ValueError(
            f"load_curve: {what} among {', '.join(map(str, entries))}: name the entry that holds them, {argument}='…'"
        )
    return entries.pop(name)


def _array(what: str, x: Any) -> Any:
    """``x`` as something with a shape whose slices are real numbers; what is mapped from a file stays there."""
    if isinstance(x, torch.Tensor):
        return x.detach()
    specs.check_unmasked(f"load_curve: {what}", x)
    if hasattr(x, "shape") and hasattr(x, "dtype") and getattr(np.dtype(x.dtype), "kind", "") in "biuf":
        return x
    if not (hasattr(x, "__array__") or isinstance(x, list | tuple)):
        raise ValueError(
            f"load_curve: {what} is a {type(x).__name__}: beside y give an array or a tensor; a loader's batches hold "
            "their labels, so leave y out, or give their name, y='…'"
        )
    return real_numbers(f"load_curve: {what}", x)


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    """A tuple, list or mapping of the same class with a function of each part; anything else as it is."""
    if isinstance(value, Mapping):
        out: Any = copy.copy(value)  # of the same class: people write batch.input_ids, too
        for name, part in value.items():
            out[name] = function(part)
        return out
    if isinstance(value, tuple | list):
        parts = [function(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _copy_to(value: Any, device: torch.device, dtype: torch.dtype | None) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = as_tensor(value)
    if isinstance(value, torch.Tensor):
        kind = dtype if dtype is not None and value.is_floating_point() else value.dtype
        return value.detach().to(device=device, dtype=kind, copy=True)  # a copy: the model may work in place
    if isinstance(value, Mapping | tuple | list) or not callable(getattr(value, "to", None)):
        return _each(partial(_copy_to, device=device, dtype=dtype), value)
    return value.to(device)


@contextmanager
def evaluation(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards, also after an error, everything is as it was.

    Put back are each submodule's own train/eval flag, all buffers (the averages of BatchNorm, counters), and the state
    of the random numbers: of torch on the CPU and on the model's GPUs, of the modules' own generators, of NumPy and of
    Python. Mixed precision and torch.compile are switched off inside, so that it does not matter where in a training
    step one looks. Attributes that are neither parameters, buffers nor generators, such as a plain number that
    ``forward`` counts up, cannot be guarded.

    Parameters
    ----------
    model : any module.

    Examples
    --------
    >>> model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout())
    >>> with evaluation(model):
    ...     print(model.training, torch.is_grad_enabled())
    False False
    >>> model.training, torch.is_grad_enabled()
    (True, True)
    """
    modules = list(model.modules())
    devices = {p.device for p in model.parameters()}
    with ExitStack() as stack:
        # The generators of Python and NumPy are touched to be left alone: a model's forward may draw from them.
        stack.callback(random.setstate, random.getstate())
        stack.callback(np.random.set_state, np.random.get_state())  # noqa: NPY002
        stack.enter_context(torch.random.fork_rng(devices=[d for d in devices if d.type == "cuda"]))
        restore_generators(stack, [value for module in modules for value in vars(module).values()])
        for module in modules:
            stack.callback(setattr, module, "training", module.training)  # model.train() would set them all
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    stack.callback(_restore_buffer, module, name, buffer, buffer._version, buffer.detach().clone())
        if torch.backends.mha.get_fastpath_enabled():
            # nn.TransformerEncoder's fast path skips the modules inside, and packs the tokens that a padding mask
            # leaves into one nested tensor.
            stack.callback(torch.backends.mha.set_fastpath_enabled, True)
            torch.backends.mha.set_fastpath_enabled(False)
        if "torch._dynamo" in sys.modules:  # somebody compiles: compiled code would skip the hooks of its layers
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        model.eval()
        stack.enter_context(torch.no_grad())
        for kind in {"cpu", *(d.type for d in devices)}:
            if torch.amp.is_autocast_available(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def loader_state(loader: Any) -> Iterator[None]:
    """Generators that a loader shuffles by are put back afterwards: who looks draws from nobody's numbers."""
    sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    with ExitStack() as stack:
        owners = (loader, getattr(loader, "sampler", None), sampler)
        restore_generators(stack, [getattr(owner, "generator", None) for owner in owners])
        stack.enter_context(torch.random.fork_rng(devices=[]))
        yield


def restore_generators(stack: ExitStack, values: list[object]) -> None:
    """Let ``stack`` put back the state of every torch generator among ``values`` when it closes."""
    generators = {id(value): value for value in values if isinstance(value, torch.Generator)}
    for generator in generators.values():
        stack.callback(generator.set_state, generator.get_state())


def unwrap(model: nn.Module) -> nn.Module:
    """The module inside torch.compile and (Distributed)DataParallel, where hooks see every layer under its own name.

    Examples
    --------
    >>> model = nn.Linear(2, 2)
    >>> unwrap(nn.DataParallel(model)) is model
    True
    """
    while True:
        if isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        elif isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model


def _restore_buffer(module: nn.Module, name: str, buffer: torch.Tensor, version: int, values: torch.Tensor) -> None:
    module._buffers[name] = buffer
    # Untouched buffers are not written: a pending backward pass may still need them at their version.
    if buffer._version != version:
        with torch.no_grad():
            buffer.copy_(values)
