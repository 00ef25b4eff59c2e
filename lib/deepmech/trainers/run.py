"""What all trainers do alike: samples and labels in, members cut into jobs and run here, labels and origin out.

:func:`~deepmech.trainers.train`, :func:`~deepmech.trainers.train_lenet`, :func:`~deepmech.trainers.prepare` and
:func:`~deepmech.trainers.walk` say what one job of an engine computes; the rest of a call is here. Samples are taken
from whatever holds them, fit to be trained on, or refused by name (:func:`validate_data`).
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader, Dataset, TensorDataset
from tqdm import tqdm

from deepmech.core import provenance, specs
from deepmech.core.labels import Words, expand, labelled
from deepmech.core.specs import Spec, encode
from deepmech.metrics.separation import require_classes

#: What others may call; the rest serves trainers.
__all__ = ["Samples", "SignedSamples", "fingerprint", "validate_data", "validate_signs"]

T = TypeVar("T")
#: What else a result may note along its members' labels, or along layers.
NOTES = ("engine", "fallback_reason", "layer_name")


class Cancelled(Exception):
    """Nobody waits for this work any more: after Ctrl-C, or when a neighbour has failed."""


_here = threading.local()


def check_cancelled() -> None:
    """Raise :class:`Cancelled` if whoever asked for this thread's work no longer waits for it.

    A thread cannot be ended from outside: engines ask between pieces of work of seconds at most.
    """
    stop = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        raise Cancelled


def require_spec(what: str, value: Any, *kinds: type) -> None:
    """A ValueError unless the type of ``value`` is one of these specs itself: what derives from one means another."""
    specs.check_type(what, value, *kinds)
    specs.check(what, type(value).__name__, type(value) in kinds, f"{kinds[0].__name__} itself, nothing derived")


class FallbackWarning(UserWarning):
    """Networks are trained by torch, more slowly, since their spec asks for what the compiled engine does not know."""


class TrainerRun:
    """One call of a trainer, for which there are a compiled engine and one of torch.

    Parameters
    ----------
    caller : str
        The public function, as errors name it.
    on_gpu : bool
        Whether this caller has an engine that may use a GPU.
    engine, seed, experiment, threads, device
        As for :func:`deepmech.trainers.train`.
    """

    def __init__(
        self, caller: str, *, seed: Any, experiment: str, engine: str = "auto", threads: int | None = None,
        device: str | None = None, on_gpu: bool = True,
    ) -> None:  # fmt: skip
        self.started = time.perf_counter()
        if torch.is_inference_mode_enabled():
            raise ValueError(
                f"{caller}: torch.inference_mode() is on, and nothing can be trained in it: call it outside"
            )
        self.caller, self.engine = caller, engine
        self.seed, self.experiment = seed, experiment
        seeds = np.asarray(seed)
        counts = seeds.dtype.kind in "iu" and not np.any(seeds < 0)
        whole = "a whole number, at least"
        specs.check(f"{caller}: seed", seed, counts, f"{whole} 0 and below 2^64, or a labelled array of them")
        # Files and streams hold UTF-8, and files end a text at its first NUL.
        name = isinstance(experiment, str) and experiment.isprintable()
        specs.check(f"{caller}: experiment", experiment, name, "a name, in quotation marks, of printable characters")
        if threads is not None:
            specs.check_int(f"{caller}: threads", threads, allowed=f"{whole} 1, or None for every core")
        known = engine in ("auto", "compiled", "torch")
        specs.check(f"{caller}: engine", engine, known, "'auto', 'compiled' or 'torch'")
        named, there = select_device(device, caller)
        self.device, self.on_gpu = (named, there) if on_gpu else ("cpu", False)
        if self.on_gpu and engine == "compiled":
            raise ValueError(
                f"{caller}: engine = 'compiled' knows no GPU; use engine='auto' or 'torch', or device='cpu'"
            )
        self.workers = 1 if self.on_gpu else threads or provenance.cores()

    def expand(self, words: Words, *parts: Spec) -> list[tuple[Any, ...]]:
        """All members, (spec, …, seed), of a call whose results hold ``words``: no label may have a name of theirs."""
        self.words = words
        taken = {*words, *NOTES, *(axis for _, _, *axes in words.values() for axis in axes)}
        self.grid, members = expand(self.caller, *parts, taken=taken, seed=self.seed)
        return members

    def select_engine(self, unknown: str = "", slower: str = "") -> tuple[str, str]:
        """The engine for one member, and, where ``"auto"`` leaves the compiled one aside, why.

        ``unknown`` is what the compiled engine does not know of it, ``slower`` why it is the slower one.
        """
        if self.engine == "compiled" and unknown:
            raise ValueError(
                f"{self.caller}: engine = 'compiled' does not know {unknown}; use engine='auto' or 'torch'"
            )
        if self.engine != "auto":
            return self.engine, ""
        why = "it runs on CPUs" if self.on_gpu else f"it does not know {unknown}" if unknown else slower
        return ("torch", why) if why else ("compiled", "")

    def jobs(self, kinds: Sequence[Hashable], most: int | None = None) -> list[list[int]]:
        """Members by number, cut into what is trained at once: those of one kind, at most ``most``.

        A member whose kind is None is trained alone.
        """
        alike: dict[Hashable, list[int]] = {}
        for i, kind in enumerate(kinds):
            alike.setdefault(("alone", i) if kind is None else kind, []).append(i)
        cut = []
        for group in alike.values():
            size = most or len(group)
            cut += [group[i : i + size] for i in range(0, len(group), size)]
        return cut

    def run(
        self, work: Callable[[list[int]], Sequence[T]], jobs: Sequence[list[int]], what: str = "networks"
    ) -> list[T]:
        """What ``work`` returns for the members of every job, in the order of members.

        Jobs run beside one another, each on one thread: products of this size gain little from more.

        A job that does not fit into the memory of a GPU is done in halves.
        """
        done: dict[int, T] = {}
        hidden, stop = not sys.stderr.isatty(), threading.Event()

        def watched(job: list[int]) -> Sequence[T]:
            _here.stop = stop
            check_cancelled()
            try:
                return work(job)
            except torch.OutOfMemoryError as error:
                if len(job) == 1:
                    raise ValueError(
                        f"{self.caller}: one of the {what} does not fit into the memory of {self.device}: give a "
                        "smaller batch_size"
                    ) from error
            gc.collect()  # what the attempt held, now that its error is gone
            torch.cuda.empty_cache()
            half = len(job) // 2
            return [*watched(job[:half]), *watched(job[half:])]

        with (
            settled(),
            ThreadPoolExecutor(self.workers) as pool,
            tqdm(total=sum(map(len, jobs)), desc=what, file=sys.stderr, disable=hidden, leave=False) as bar,
        ):
            try:
                for job, results in zip(jobs, pool.map(watched, jobs), strict=True):
                    done |= dict(zip(job, results, strict=True))
                    bar.update(len(job))
            finally:
                stop.set()  # after Ctrl-C, or an error, the pool waits for jobs that nobody asks for any more
        return [done[i] for i in sorted(done)]

    def describe(
        self, data: Samples | SignedSamples, dtype: str, engines: Sequence[tuple[str, str]],
        options: Mapping[str, Any], **of: Spec,
    ) -> None:  # fmt: skip
        """Note where the result will come from, before the first step: what cannot be written down is refused here.

        ``engines`` are each member's, and why it was not the compiled one. ``options`` are all arguments of the call on
        which a number may depend, besides specs and what every caller takes.
        """
        spec = {name: spec.to_json() for name, spec in of.items()}
        seed = self.seed
        self.attributes = provenance.attributes(
            spec=json.dumps(spec if len(spec) > 1 else next(iter(spec.values())), default=repr),
            seed=json.dumps(seed.values.tolist()) if isinstance(seed, xr.DataArray) else int(seed),
            device=device_in_words(self.device),
            dtype=dtype,
            wall_seconds=0.0,
        )
        self.attributes |= {
            "experiment": self.experiment, "data": data.fingerprint, "samples": data.numbers,
            "call": json.dumps({name: encode(value) for name, value in {**options, "seed": seed}.items()}),
        }  # fmt: skip
        self.notes = dict(zip(NOTES, map(list, zip(*engines, strict=True)), strict=False))

    def result(self, rows: Sequence[Mapping[str, Any]], coords: Mapping[Any, Any]) -> xr.Dataset:
        """The labelled result of the members' ``rows``, and where it comes from.

        An engine, or a reason for it, that not all members have in common is a coordinate along their labels, and else
        an attribute.
        """
        differ = [name for name, noted in self.notes.items() if len(set(noted)) > 1]
        along = {name: self.grid.unflatten(np.array(self.notes[name])) for name in differ}
        alike = {name: noted[0] for name, noted in self.notes.items() if name not in differ and noted[0]}
        attributes = self.attributes | {"wall_seconds": round(time.perf_counter() - self.started, 3)}
        return labelled(self.grid, rows, self.words, {**coords, **along}, attributes | alike)


def record_steps(caller: str, record: Any, last: int, name: str, least: int = 0) -> np.ndarray:
    """When to record: rising whole numbers from ``least`` to ``last``; or every so many up to it.

    ``name`` is what ``last`` is called.

    Examples
    --------
    >>> record_steps("train", 4, 10, "Training.epochs").tolist()
    [0, 4, 8, 10]
    >>> record_steps("train", [0, 10], 10, "Training.epochs").tolist()
    [0, 10]
    """
    if isinstance(record, int | np.integer):
        every = min(specs.check_int(f"{caller}: record", record), max(last, 1))
        specs.check_memory(f"{caller}: record", record, 3.0 * last / every)
        return np.unique(np.append(np.arange(0, last, every), last))[least:]
    allowed = f"a whole number, or a list of increasing whole numbers between {least} and {name} = {last}"
    return specs.check_ints(f"{caller}: record", record, least, last, rising=True, allowed=allowed)


def device_in_words(name: str) -> str:
    """The device as provenance names it: ``"cpu"``, or the GPU's model."""
    return name if name == "cpu" else f"{name} ({torch.cuda.get_device_name(name)})"


def select_device(device: Any, caller: str) -> tuple[str, bool]:
    """``device``, or what the environment variable ``DEEPMECH_DEVICE`` names, or the CPU; and whether it is a GPU.

    A ValueError unless it is there.
    """
    named = os.environ.get("DEEPMECH_DEVICE")
    field, name = ("DEEPMECH_DEVICE", named) if device is None and named else ("device", device)
    name = "cpu" if name is None else str(name) if isinstance(name, torch.device) else name
    given = f"{caller}: {field} = {specs.short_repr(name)}"
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:[0-9]+)?", name):
        raise ValueError(f"{given}: must be 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …")
    if name == "cpu":
        return name, False
    if not torch.cuda.is_available():
        why = "is built without CUDA" if torch.version.cuda is None else "finds no usable GPU (see nvidia-smi)"
        raise ValueError(f"{given}: this PyTorch {why}; use device='cpu'")
    if int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise ValueError(f"{given}: there are {torch.cuda.device_count()} GPUs, numbered from 0")
    return name, True


@contextmanager
def settled() -> Iterator[None]:
    """Torch's settings on which numbers depend, the same whatever the process has; afterwards as before.

    Tensors without a type are float32. Products and convolutions of float32 are made in it, and not in TF32 on GPUs or
    bfloat16 on CPUs. There is one thread: a sum that is cut among threads rounds according to their number. Attention
    is made of products, the one kind vmap knows.
    """
    here = torch.backends
    places: tuple[Any, ...] = (here.cuda.matmul, here.cudnn.conv, here.mkldnn.matmul, here.mkldnn.conv)  # type: ignore
    before = [place.fp32_precision for place in places]
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    try:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32)
        for place in places:
            place.fp32_precision = "ieee"
        with sdpa_kernel(SDPBackend.MATH), torch.device("cpu"):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        for place, value in zip(places, before, strict=True):
            place.fp32_precision = value


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples that are fit to be trained on, as arrays in this machine's byte order.

    Attributes
    ----------
    x_train, y_train : (n, numbers) and (n,); labels are int64. So ``x_test`` and ``y_test``, or None.
    n_classes : int
        0 for real targets.
    shape : tuple of int
        That of one sample, of images (channels, height, width).
    fingerprint : str
        What the data are called, or ``numbers``: sixteen hexadecimal digits of all that is above.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray | None
    y_test: np.ndarray | None
    n_classes: int
    shape: tuple[int, ...]
    fingerprint: str
    numbers: str


@dataclass(frozen=True, eq=False)
class SignedSamples:
    """Samples x (n, numbers) with labels y (n,) of -1 and 1; ``fingerprint`` and ``numbers`` as of :class:`Samples`."""

    x: np.ndarray
    y: np.ndarray
    fingerprint: str
    numbers: str


CLASSES = "a whole number, at least 2, or 0 for real targets"
NAMES = ("x_train", "y_train", "x_test", "y_test")


def validate_data(
    caller: str, data: Any, dtype: str, *, every_class: bool = False, image: str = "", any_shape: bool = False
) -> Samples:
    """The samples in ``data``, if they are fit to be trained on.

    Parameters
    ----------
    data : Data or tuple
        Anything with ``x_train``, ``y_train``, ``x_test``, ``y_test`` (the last two may be None) and ``n_classes``
        (whole numbers 0 … n_classes - 1 as labels; real targets if that is 0 or None). Or a tuple (x, y), with test
        samples (x, y, x_test, y_test), or a ``TensorDataset`` of these: whole numbers are then labels, as many classes
        as the largest says, and other numbers real targets. Words are labels, too, numbered in alphabetical order.
        Samples have shape (n, numbers), or images where ``image`` asks for them their own, targets (n,) or (n, 1).
        NumPy arrays, lists or torch tensors, of any real type; labels of any integer type. Or torch's ``Dataset`` or
        ``DataLoader`` of pairs (x, y), read once and in its order; or two of them, the second with the test samples.
        ``fingerprint`` says which samples they are; without it, it is computed: equal for equal numbers, whatever holds
        them. As ``numbers`` it is computed in any case, since an object may keep its fingerprint when its arrays are
        replaced.
    dtype : str
        The least precision that samples have to fit into, ``"float32"`` or ``"float64"``.
    every_class : bool
        Whether each class must occur in both sets of samples.
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
    given = _by_name(caller, data, NAMES, "n_classes")
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
    found: dict[str, Any] = dict.fromkeys(NAMES)
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
            if every_class:
                try:
                    require_classes(y, classes, f"{what}: ")
                except ValueError as error:
                    raise ValueError(f"{error}, or measure no load curves and class means (metrics=())") from None
        else:
            _require_finite(what, y, dtype)
        found |= {x_name: x, y_name: y}
    one = found["x_train"].shape[1:]
    other = one if found["x_test"] is None else found["x_test"].shape[1:]
    if one != other:
        raise ValueError(f"{caller}: data.x_train has samples of shape {one}, data.x_test {other}: must be equal")
    found |= {"n_classes": classes, "shape": _shape(caller, given.get("shape", one), one[0], image) if image else one}
    return Samples(**found, **_marks(data, found))


def validate_signs(caller: str, data: Any, dtype: str) -> SignedSamples:
    """As :func:`validate_data`, of ``data`` with ``x`` and ``y`` of -1 and 1, both of them there, or a tuple (x, y)."""
    given = _by_name(caller, data, ("x", "y"))
    arrays = {name: _numbers(f"{caller}: data.{name}", given[name]) for name in ("x", "y")}
    x, y = _pair(caller, "x", "y", arrays, dtype)
    _require_finite(f"{caller}: data.y", y, dtype)
    neither = ~((y == 1) | (y == -1)) if y.dtype.kind != "b" else np.ones(len(y), bool)
    remedy = "; np.where(y > 0, 1.0, -1.0) makes them of 0 and 1"
    _raise_first(f"{caller}: data.y", y, neither, "labels are neither -1 nor 1", remedy)
    if y.min() == y.max():
        raise ValueError(f"{caller}: data.y: all {len(y):,} labels are {y[0]:g}: must be of both classes, -1 and 1")
    return SignedSamples(x, y, **_marks(data, {"x": x, "y": y}))


def _by_name(caller: str, data: Any, names: Sequence[str], *needed: str) -> dict[str, Any]:
    """What ``data`` holds by these names: its attributes, the arrays of a tuple, or all that a loader yields.

    Test samples that a tuple lacks are None. Of an object come what is ``needed``, and its ``shape``, if it has one.
    """
    arrays = data.tensors if isinstance(data, TensorDataset) else data
    several = "(x, y)" if len(names) == 2 else "(x, y) or (x, y, x_test, y_test)"
    sources = data if isinstance(data, tuple | list) and len(data) == 2 and len(names) > 2 else [data]
    if all(isinstance(one, Dataset | DataLoader) for one in sources) and not isinstance(data, TensorDataset):
        arrays = [array for one in sources for array in _collected(f"{caller}: data", one)]
    if isinstance(arrays, tuple | list):
        if len(arrays) not in (2, len(names)):
            counts = " or ".join(map(str, sorted({2, len(names)})))
            raise ValueError(
                f"{caller}: data = {type(data).__name__} of {len(arrays)} arrays: must be {counts}, {several}"
            )
        return dict.fromkeys(names) | dict(zip(names, arrays, strict=False))
    if lacking := [name for name in (*names, *needed) if not hasattr(data, name)]:
        such = ", such as deepmech.data.load(name)" if needed else ""
        raise ValueError(
            f"{caller}: data = {type(data).__name__}: has no {', '.join(lacking)}; give arrays {several}, a Dataset or "
            f"DataLoader of pairs (x, y), or an object with {', '.join((*names, *needed))}{such}"
        )
    return {name: getattr(data, name) for name in (*names, *needed, "shape") if hasattr(data, name)}


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


def _marks(data: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """What a fingerprint is called, and that of the numbers."""
    numbers, mark = fingerprint(found), getattr(data, "fingerprint", None)
    return {"fingerprint": numbers if mark is None else str(mark), "numbers": numbers}


def _collected(what: str, data: Dataset[Any] | DataLoader[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """(x, y) of all samples, or of all batches, that torch's own loader yields; a ValueError if those are no pairs."""
    batches, size = list[Sequence[torch.Tensor]](), 0.0
    own = torch.Generator()  # of which a loader draws, in place of torch's
    try:
        for pair in data if isinstance(data, DataLoader) else DataLoader(data, batch_size=256, generator=own):
            parts = pair if isinstance(pair, tuple | list) else [pair]
            if len(parts) != 2 or not all(map(torch.is_tensor, parts)):
                raise TypeError(f"a batch is ({', '.join(type(part).__name__ for part in parts)})")
            batches.append(parts)
            size += sum(part.numel() * part.element_size() for part in parts)
            specs.check_memory(f"{what}: number of batches", len(batches), size / 4)  # twice: in pieces and as a whole
        if not batches:
            raise TypeError("there is no sample")
        x, y = (torch.cat(tensors) for tensors in zip(*batches, strict=True))
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"{what} = {type(data).__name__}: must yield pairs (x, y) of tensors, or of numbers, of one shape: {error}"
        ) from error
    return x, y


def fingerprint(found: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits of all arrays: equal if and only if their numbers, as float64, and their shapes are.

    Examples
    --------
    >>> fingerprint({"x": np.array([[0.0]])}) == fingerprint({"x": np.array([[-0.0]], "float32")})
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(found.items()):
        if not isinstance(value, np.ndarray):
            digest.update(repr((name, value)).encode())
            continue
        digest.update(repr((name, value.shape)).encode())
        for start in range(0, len(value), 1024):
            # Whole numbers are floats as well, and 0.0 is -0.0.
            digest.update((value[start : start + 1024].astype("<f8") + 0.0).tobytes())
    return digest.hexdigest()


def _numbers(what: str, value: Any, words: bool = False) -> np.ndarray:
    """``value`` as an array of real numbers that torch takes too: of its types, writable, not reversed.

    With ``words`` it may be one of words, as labels are.
    """
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
