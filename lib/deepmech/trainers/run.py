"""What all trainers do alike: samples and labels in, members cut into jobs and run here, labels and origin out.

:func:`~deepmech.trainers.train`, :func:`~deepmech.trainers.train_lenet`, :func:`~deepmech.trainers.langevin.settle` and
:func:`~deepmech.trainers.langevin.walk` say what one job of an engine computes; the rest of a call is here.
"""

from __future__ import annotations

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
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
import xarray as xr
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from tqdm import tqdm

from deepmech.core import checks, provenance
from deepmech.core.labels import Batch, align
from deepmech.core.specs import Spec, encode

T = TypeVar("T")
Array = np.ndarray | torch.Tensor
#: In evaluation mode: features of the input and of every hidden layer, each (n, units), in a user's own network by the
#: layer's name, and the output, (n, outputs).
Features = tuple[Sequence[Array] | Mapping[str, Array], Array]


class Engine(Protocol):
    """What trains one member, or several of one shape side by side; they are numbered in their order."""

    def step(self, epoch: int) -> np.ndarray:
        """One pass over the training set, the ``epoch``-th from 1; each member's mean loss over its steps, (members,).

        The loss of a step is taken before its update; one that is not finite says that the member has diverged.
        """

    def features(self, x: np.ndarray, member: int = 0) -> Features:
        """What the layers of one member make of samples (n, …)."""


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


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Zeros that begin where a line of the cache does: a vector that lies across two lines takes twice the time."""
    line, item = 64, np.dtype(dtype).itemsize
    raw = np.zeros(size * item + line, np.uint8)
    start = -raw.ctypes.data % line
    return raw[start : start + size * item].view(dtype)


def require_spec(what: str, value: Any, *kinds: type) -> None:
    """A ValueError unless the type of ``value`` is one of these specs itself: what derives from one means another."""
    checks.check_type(what, value, *kinds)
    checks.check(what, type(value).__name__, type(value) in kinds, f"{kinds[0].__name__} itself, nothing derived")


class TrainerRun:
    """One call of a trainer, for which there are a compiled engine and one of torch.

    Parameters
    ----------
    caller : str
        The public function, as errors name it.
    on_gpu : bool
        Whether this caller has an engine that may use a GPU.
    engine, seed, experiment, threads, device, memory
        As for :func:`deepmech.trainers.train`.
    """

    def __init__(
        self, caller: str, *, seed: Any, experiment: str, engine: str = "auto", threads: int | None = None,
        device: str | None = None, memory: float | None = None, on_gpu: bool = True,
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
        checks.check(f"{caller}: seed", seed, counts, f"{whole} 0 and below 2^64, or a labelled array of them")
        # Files and streams hold UTF-8, and files end a text at its first NUL.
        name = isinstance(experiment, str) and experiment.isprintable()
        checks.check(f"{caller}: experiment", experiment, name, "a name, in quotation marks, of printable characters")
        if threads is not None:
            checks.check_int(f"{caller}: threads", threads, allowed=f"{whole} 1, or None for every core")
        known = engine in ("auto", "compiled", "torch")
        checks.check(f"{caller}: engine", engine, known, "'auto', 'compiled' or 'torch'")
        named, there = chosen(device, caller)
        self.device, self.on_gpu = (named, there) if on_gpu else ("cpu", False)
        if self.on_gpu and engine == "compiled":
            raise ValueError(
                f"{caller}: engine = 'compiled' knows no GPU; use engine='auto' or 'torch', or device='cpu'"
            )
        self.memory, self.limited = memory_budget(memory, self.device, caller), memory is not None
        self.workers = 1 if self.on_gpu else threads or provenance.cores()

    def align(self, own: Sequence[str], **fields: Any) -> Batch:
        """All members; ``own`` are the dimensions that results use themselves."""
        self.batch = align(self.caller, **fields, seed=self.seed)
        for name in own:
            if name in self.batch.dims:
                raise ValueError(
                    f"{self.caller}: a field has the dimension {name!r}, which results use themselves; rename it"
                )
        return self.batch

    def choose(self, unknown: str = "", slow: str = "") -> tuple[str, str]:
        """The engine for one member, and, where ``"auto"`` leaves the compiled one aside, why.

        ``unknown`` is what the compiled engine does not know of it, ``slow`` why it is the slower one.
        """
        if self.engine == "compiled" and unknown:
            raise ValueError(
                f"{self.caller}: engine = 'compiled' does not know {unknown}; use engine='auto' or 'torch'"
            )
        if self.engine != "auto":
            return self.engine, ""
        why = "it runs on CPUs" if self.on_gpu else f"it does not know {unknown}" if unknown else slow
        return ("torch", why) if why else ("compiled", "")

    def jobs(self, kinds: Sequence[Hashable], needs: Mapping[int, int], most: int | None = None) -> list[list[int]]:
        """Members by number, cut into what is trained at once: those of one kind, at most so many, as the memory holds.

        A member whose kind is None is trained alone. ``needs`` says how many bytes a member takes, about. Jobs that run
        beside one another share the memory: there are as many workers as it has room for.
        """
        largest = max(needs.values(), default=0)
        if largest:
            batches([0], largest, self.memory, self.caller)
            self.workers = min(self.workers, int(self.memory // largest))
        alike: dict[Hashable, list[int]] = {}
        for i, kind in enumerate(kinds):
            if kind is not None:
                alike.setdefault(kind, []).append(i)
        cut = [[i] for i, kind in enumerate(kinds) if kind is None]
        for own in alike.values():
            for some in batches(own, needs[own[0]], self.memory / self.workers, self.caller):
                size = most or len(some)
                cut += [some[i : i + size] for i in range(0, len(some), size)]
        return cut

    def run(
        self, work: Callable[[list[int]], Sequence[T]], jobs: Sequence[list[int]], what: str = "networks"
    ) -> list[T]:
        """What ``work`` returns for the members of every job, in the order of members.

        Jobs run beside one another, each on one thread: products of this size gain little from more, and a sum that is
        cut among threads rounds according to their number. Attention is made of products, the one kind vmap knows.
        """
        done: dict[int, T] = {}
        hidden, stop = not sys.stderr.isatty(), threading.Event()

        def watched(job: list[int]) -> Sequence[T]:
            _here.stop = stop
            try:
                check_cancelled()
                return work(job)
            finally:
                del _here.stop

        with (
            one_thread(),
            true_products(),
            sdpa_kernel(SDPBackend.MATH),
            ThreadPoolExecutor(self.workers) as pool,
            tqdm(total=sum(map(len, jobs)), desc=what, file=sys.stderr, disable=hidden, leave=False) as bar,
        ):
            try:
                for job, made in zip(jobs, pool.map(watched, jobs), strict=True):
                    done |= dict(zip(job, made, strict=True))
                    bar.update(len(job))
            finally:
                stop.set()  # after Ctrl-C, or an error, the pool waits for jobs that nobody asks for any more
        return [done[i] for i in sorted(done)]

    def result(
        self, variables: Mapping[str, tuple[Any, tuple[str, ...]]], coords: Mapping[Any, Any],
        words: Mapping[str, str], data: Any, dtype: str, engines: Sequence[str], asked: Mapping[str, Any],
        **specs: Spec,
    ) -> xr.Dataset:  # fmt: skip
        """The labelled result and where it comes from.

        ``variables`` are values with a first axis of members and the names of their other axes; ``words`` are their
        ``long_name``. None has a unit other than steps, in which times are counted. ``asked`` are all arguments of the
        call on which a number may depend, besides specs and what every caller takes.
        """
        made = xr.Dataset(
            {name: self.batch.unflatten(values, *axes) for name, (values, axes) in variables.items()},
            {**self.batch.coords, **coords},
        )
        for name, variable in made.data_vars.items():
            variable.attrs = {"long_name": words[str(name)], "units": "1"}
        spec = {name: spec.to_json() for name, spec in specs.items()}
        seed = self.seed
        made.attrs = provenance.attributes(
            spec=json.dumps(spec if len(spec) > 1 else next(iter(spec.values())), default=repr),
            seed=json.dumps(seed.values.tolist()) if isinstance(seed, xr.DataArray) else int(seed),
            device=device_in_words(self.device),
            dtype=dtype,
            wall_seconds=time.perf_counter() - self.started,
        )
        return made.assign_attrs(
            engine=", ".join(sorted(set(engines))),
            experiment=self.experiment,
            data=str(data.fingerprint),
            samples=data.numbers,
            call=json.dumps({name: encode(value) for name, value in {**asked, "seed": self.seed}.items()}),
        )


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
        every = min(checks.check_int(f"{caller}: record", record), max(last, 1))
        return np.unique(np.append(np.arange(0, last, every), last))[least:]
    allowed = f"a whole number, or a list of increasing whole numbers between {least} and {name} = {last}"
    return checks.check_ints(f"{caller}: record", record, least, last, rising=True, allowed=allowed)


def require_device(name: Any, caller: str = "train", field: str = "device") -> bool:
    """Whether ``name`` is a GPU; a ValueError unless it is there."""
    said = f"{caller}: {field} = {checks.short_repr(name)}"
    if not isinstance(name, str) or not re.fullmatch(r"cpu|cuda(:[0-9]+)?", name):
        raise ValueError(f"{said}: must be 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …")
    if name == "cpu":
        return False
    if not torch.cuda.is_available():
        why = "is built without CUDA" if torch.version.cuda is None else "finds no usable GPU (see nvidia-smi)"
        raise ValueError(f"{said}: this PyTorch {why}; use device='cpu'")
    if int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise ValueError(f"{said}: there are {torch.cuda.device_count()} GPUs, numbered from 0")
    return True


def device_in_words(name: str) -> str:
    """The device as provenance names it: ``"cpu"``, or the GPU's model."""
    return name if name == "cpu" else f"{name} ({torch.cuda.get_device_name(name)})"


def chosen(device: str | torch.device | None, caller: str) -> tuple[str, bool]:
    """``device``, or what the environment variable ``DEEPMECH_DEVICE`` names, or the CPU; and whether it is a GPU."""
    named = os.environ.get("DEEPMECH_DEVICE")
    field, name = ("DEEPMECH_DEVICE", named) if device is None and named else ("device", device)
    name = "cpu" if name is None else str(name) if isinstance(name, torch.device) else name
    return name, require_device(name, caller, field)


def memory_budget(memory: float | None, device: str, caller: str) -> float:
    """Bytes that one batch may take: ``memory``, or 2 GiB on a CPU and seven tenths of what is free on a GPU."""
    if memory is not None:
        ok = isinstance(memory, int | float | np.number) and not isinstance(memory, bool) and memory > 0
        checks.check(f"{caller}: memory", memory, ok, "a number of bytes above 0, or None")
        return min(float(memory), 1e300)  # of infinity there is no share
    return 2**31 if device == "cpu" else 0.7 * torch.cuda.mem_get_info(device)[0]


def batches(members: Sequence[int], need: int, memory: float, caller: str) -> list[list[int]]:
    """Members, of about ``need`` bytes each, cut into batches that the memory holds; a ValueError if it holds none."""
    if memory < need:
        raise ValueError(
            f"{caller}: memory = {memory:.3g} bytes: one member takes about {need:.3g}; give that at least"
        )
    size = len(members) if memory >= need * len(members) else int(memory // need)
    return [list(members[i : i + size]) for i in range(0, len(members), size)]


@contextmanager
def true_products() -> Iterator[None]:
    """Let GPUs make float32 products and convolutions in float32, and not in TF32; afterwards as before."""
    places: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn.conv)  # type: ignore[attr-defined]
    before = [place.fp32_precision for place in places]
    try:
        for place in places:
            place.fp32_precision = "ieee"
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.fp32_precision = value


@contextmanager
def one_thread() -> Iterator[None]:
    """Leave torch one thread, and put its number back: a sum that is cut among threads rounds according to it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


CLASSES = "a whole number, at least 2, or 0 for real targets"


def validate_data(
    caller: str,
    data: Any,
    dtype: str,
    *,
    signs: bool = False,
    every_class: bool = False,
    image: str = "",
    any_shape: bool = False,
) -> SimpleNamespace:
    """The samples in ``data`` as arrays in this machine's byte order, if they are fit to be trained on.

    Parameters
    ----------
    data : Data or tuple
        Anything with either ``x_train``, ``y_train``, ``x_test``, ``y_test`` and ``n_classes`` (whole numbers 0 …
        n_classes - 1 as labels; real targets if that is 0 or None), or, with ``signs``, ``x`` and ``y`` of -1 and 1.
        Or a tuple (x, y), with test samples (x, y, x_test, y_test), or a ``TensorDataset`` of these: whole numbers are
        then labels, as many classes as the largest says, and other numbers real targets. Samples have shape (n,
        numbers), or images where ``image`` asks for them their own, targets (n,) or (n, 1). NumPy arrays, lists or
        torch tensors, of any real type; labels of any integer type. Or whatever yields samples or batches as pairs
        (x, y), once and in its order: a ``Dataset``, a ``DataLoader``, a generator, a list of pairs. ``fingerprint``
        says which samples they are; without it, it is computed: equal for equal numbers, whatever holds them. As
        ``numbers`` it is computed in any case, since an object may keep its fingerprint when its arrays are replaced.
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
    data = _named(caller, data, signs)
    pairs = [("x", "y")] if signs else [("x_train", "y_train"), ("x_test", "y_test")]
    needed = [*(name for pair in pairs for name in pair), *["n_classes"] * (not signs)]
    if lacking := [name for name in needed if not hasattr(data, name)]:
        such = "" if signs else ", such as deepmech.data.load(name)"
        several = "(x, y)" if signs else "(x, y) or (x, y, x_test, y_test)"
        raise ValueError(
            f"{caller}: data = {type(data).__name__}: has no {', '.join(lacking)}; give arrays {several}, what yields "
            f"pairs (x, y), or an object with {', '.join(needed)}{such}"
        )
    found: dict[str, Any] = {}
    classes = 0
    if not signs and data.n_classes not in (None, 0):
        classes = checks.check_int(f"{caller}: data.n_classes", data.n_classes, 2, allowed=CLASSES)
    for x_name, y_name in pairs:
        if getattr(data, x_name) is None and isinstance(data, _Tuple):
            found |= {x_name: None, y_name: None}
            continue
        x, y = (_numbers(f"{caller}: data.{name}", getattr(data, name)) for name in (x_name, y_name))
        what = f"{caller}: data.{y_name}"
        kept = any_shape and x.ndim > 2
        if (x.ndim != 2 and not kept and not (image and x.ndim == 4)) or 0 in x.shape:
            raise ValueError(
                f"{caller}: data.{x_name} has shape {x.shape}: must be (samples, numbers), at least one of each; "
                + _reshaped(x.ndim, image)
            )
        if x.ndim == 4 and image:
            found.setdefault("shape", x.shape[1:])
        x = x if kept else x.reshape(len(x), -1)
        if y.shape not in ((len(x),), (len(x), 1)):
            hot = "; y.argmax(1) makes labels of rows with a 1" if y.ndim == 2 and y.shape[1] > 1 else ""
            raise ValueError(
                f"{what} has shape {y.shape}, data.{x_name} {x.shape}: must be one number for each sample, shape "
                f"({len(x)},){hot}"
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
        one = found["x_train"].shape[1:]
        other = one if found["x_test"] is None else found["x_test"].shape[1:]
        if one != other:
            raise ValueError(f"{caller}: data.x_train has samples of shape {one}, data.x_test {other}: must be equal")
        shape = _shape(caller, getattr(data, "shape", found.get("shape", one)), one[0], image) if image else one
        found |= {"n_classes": classes, "shape": shape}
    numbers, mark = fingerprint(found), getattr(data, "fingerprint", None)
    return SimpleNamespace(**found, fingerprint=numbers if mark is None else mark, numbers=numbers)


class _Tuple(SimpleNamespace):
    """What a tuple of arrays holds, by the names that it would have as attributes."""


def _reshaped(axes: int, image: str) -> str:
    """What makes samples with so many axes fit."""
    if axes == 1:
        return "x[:, None] makes samples of one number, x[None] one sample"
    return "x[:, None] gives images their one channel" if image and axes == 3 else "x.reshape(len(x), -1) flattens them"


def _named(caller: str, data: Any, signs: bool) -> Any:
    """``data``, or what it holds by name if it is a tuple of arrays or yields samples or batches."""
    arrays = data.tensors if isinstance(data, TensorDataset) else data
    if _is_pairs(data):
        arrays = _collected(f"{caller}: data", data)
    elif not isinstance(arrays, tuple | list):
        return data
    if len(arrays) not in ((2,) if signs else (2, 4)):
        wanted = "2, (x, y)" if signs else "2 or 4, (x, y) or (x, y, x_test, y_test)"
        raise ValueError(f"{caller}: data = {type(data).__name__} of {len(arrays)} arrays: must be {wanted}")
    names = ("x", "y") if signs else ("x_train", "y_train", "x_test", "y_test")
    found: dict[str, Any] = dict.fromkeys(names)
    found |= {n: _numbers(f"{caller}: data.{n}", a) for n, a in zip(names, arrays, strict=False)}
    if signs:
        return _Tuple(**found)
    labels = [found[name] for name in ("y_train", "y_test") if found[name] is not None]
    counted = all(y.dtype.kind in "iub" and y.size for y in labels)
    found["n_classes"] = max(2, *(int(y.max()) + 1 for y in labels)) if counted else 0
    return _Tuple(**found)


def _is_pairs(data: Any) -> bool:
    """Whether ``data`` yields samples or batches, and is neither arrays nor an object that has them."""
    if isinstance(data, list):  # of pairs each begins with an array; of two lists that of labels does not
        return bool(data) and all(isinstance(one, tuple | list) and getattr([*one, 0][0], "ndim", 0) for one in data)
    return isinstance(data, Iterator | Dataset | DataLoader) and not isinstance(data, TensorDataset)


def _collected(what: str, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """(x, y) of all samples, or batches of them, that ``data`` yields as pairs; a ValueError if it yields no pairs."""
    one_by_one = isinstance(data, Dataset) and not isinstance(data, IterableDataset) and hasattr(data, "__len__")
    pairs: Any = (data[i] for i in range(len(data))) if one_by_one else data
    batches, held = list[tuple[np.ndarray, np.ndarray]](), 0.0
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            shown = f"{len(pair)} values" if isinstance(pair, tuple | list) else f"a {type(pair).__name__}"
            raise ValueError(
                f"{what} = {type(data).__name__}: yields {shown}: must yield pairs (x, y), of one sample or of a batch"
            )
        x, y = (_numbers(f"{what}: {name} of pair {i}", value) for name, value in zip("xy", pair, strict=True))
        held += x.nbytes + y.nbytes
        checks.check_memory(f"{what}: number of pairs", i + 1, held / 4)  # twice: in pieces and as a whole
        if x.size:
            batches.append((x[None], y[None]) if one_by_one or not y.ndim else (x, y))
    shapes = sorted({x.shape[1:] for x, _ in batches})
    if len(shapes) != 1:
        raise ValueError(
            f"{what} = {type(data).__name__}: yields "
            + (f"samples of shapes {checks.join_repr(shapes)}: must be of one" if shapes else "no sample")
        )
    x, y = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    return x, y


def fingerprint(found: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits of the numbers in all arrays: equal if and only if these and their shapes are.

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
            part = value[start : start + 1024]
            # Whole numbers up to 2⁵³ are floats as well, and 0.0 is -0.0.
            if part.dtype.kind in "iu" and part.itemsize == 8 and (part.max() > 2**53 or part.min() < -(2**53)):
                digest.update(repr(part.tolist()).encode())
            else:
                digest.update((part.astype("<f8") + 0.0).tobytes())
    return digest.hexdigest()


def _numbers(what: str, value: Any) -> np.ndarray:
    """``value`` as an array of real numbers that torch takes too: of its types, writable, not reversed."""
    checks.check_unmasked(what, value)
    remedy = ""
    try:
        if torch.is_tensor(value):
            value = value.detach().cpu()
            value = value.float() if value.dtype == torch.bfloat16 else value
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        of = f" of {array.dtype}" if array.ndim else ""
        if torch.is_tensor(value):
            where = "on the device 'meta', which holds none" if value.is_meta else f"{value.layout}, {value.dtype}"
            of, remedy = f" ({where})", "; a sparse one becomes it by x.to_dense()" if not value.is_meta else ""
        elif hasattr(value, "toarray"):
            remedy = "; x.toarray() makes one of a sparse matrix"
        raise ValueError(
            f"{what} is a {type(value).__name__}{of}: must be an array of real numbers (NumPy, a list of rows of one "
            f"length, or a torch tensor){remedy}"
        )
    if array.dtype.kind == "f" and array.itemsize > 8:
        with np.errstate(over="ignore"):  # what is beyond float64 is looked at as all that is not finite
            array = array.astype(float)
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return array.copy() if min(array.strides, default=0) < 0 or not array.flags.writeable else array


def _refuse(what: str, array: np.ndarray, bad: np.ndarray, things: str, remedy: str) -> None:
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
        first = np.setdiff1d(np.arange(min(classes, len(present) + checks.FEW)), present)
        named = checks.join_repr(first[: checks.FEW], missing)
        raise ValueError(
            f"{what}: {'class' if missing == 1 else 'classes'} {named} of {classes:,}: no sample, but load curves and "
            "class means need every class; take more samples, number the classes that occur from 0, or measure neither "
            "(metrics=())"
        )


def _shape(caller: str, shape: Any, width: int, image: str) -> tuple[int, ...]:
    try:
        array = np.asarray(shape)
    except (TypeError, ValueError):
        array = np.array(None)
    ok = array.shape == (3,) and array.dtype.kind in "iu" and min(array[1:]) >= 2
    if not ok or int(np.prod(array)) != width:
        given = tuple(shape) if isinstance(shape, list | tuple) else checks.short_repr(shape)
        other = "np.moveaxis(x, -1, 1) puts channels first" if array.shape == (3,) else "use MLP for other data"
        raise ValueError(
            f"{caller}: data.shape = {given}, samples of {width} numbers: {image} needs images, (channels, height, "
            f"width) with sides of at least 2 pixels; {other}"
        )
    return tuple(int(n) for n in array)
