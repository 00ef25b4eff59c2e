"""What all trainers do alike: labels in, members cut into jobs and run on this machine, labels and origin out.

:func:`~deepmech.trainers.train`, :func:`~deepmech.trainers.train_lenet`, :func:`~deepmech.trainers.langevin.settle` and
:func:`~deepmech.trainers.langevin.walk` say what one job of an engine computes; the rest of a call is here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from deepmech.core import checks, provenance
from deepmech.core.labels import Batch, Spec, align

T = TypeVar("T")


class Stopped(Exception):
    """Nobody waits for this work any more: after Ctrl-C, or when a neighbour has failed."""


_here = threading.local()


def go_on() -> None:
    """Raise :class:`Stopped` if whoever asked for this thread's work no longer waits for it.

    A thread cannot be ended from outside: engines ask between pieces of work of seconds at most.
    """
    stop = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


def require_spec(what: str, value: Any, *kinds: type) -> None:
    """A ValueError unless the type of ``value`` is one of these specs itself: what derives from one means another."""
    checks.instance(what, value, *kinds)
    checks.require(what, type(value).__name__, type(value) in kinds, f"{kinds[0].__name__} itself, nothing derived")


class Call:
    """One call of a trainer, for which there are a compiled engine and one of torch.

    Parameters
    ----------
    caller : str
        The public function, as errors name it.
    on_gpu : bool
        Whether the torch engine may use a GPU for this caller.
    engine, seed, experiment, threads, device, memory, tf32
        As for :func:`deepmech.trainers.train`.
    """

    def __init__(
        self, caller: str, *, seed: Any, experiment: str, engine: str = "auto", threads: int | None = None,
        device: str | None = None, memory: float | None = None, tf32: bool = False, on_gpu: bool = True,
    ) -> None:  # fmt: skip
        self.started = time.perf_counter()
        if torch.is_inference_mode_enabled():
            raise ValueError(
                f"{caller}: torch.inference_mode() is on, and nothing can be trained in it: call it outside"
            )
        self.caller, self.engine = caller, engine
        self.seed, self.experiment, self.tf32 = seed, experiment, tf32
        seeds = np.asarray(seed)
        counts = seeds.dtype.kind in "iu" and not np.any(seeds < 0)
        whole = "a whole number, at least"
        checks.require(f"{caller}: seed", seed, counts, f"{whole} 0, or a labelled array of them")
        checks.require(f"{caller}: experiment", experiment, isinstance(experiment, str), "a name, in quotation marks")
        if threads is not None:
            checks.whole(f"{caller}: threads", threads, allowed=f"{whole} 1, or None for every core")
        checks.switch(f"{caller}: tf32", tf32)
        known = engine in ("auto", "compiled", "torch")
        checks.require(f"{caller}: engine", engine, known, "'auto', 'compiled' or 'torch'")
        named, there = chosen(device, caller)
        self.device, self.on_gpu = (named, there) if on_gpu else ("cpu", False)
        if self.on_gpu and engine == "compiled":
            raise ValueError(
                f"{caller}: engine = 'compiled' knows no GPU; use engine='auto' or 'torch', or device='cpu'"
            )
        self.memory = room(memory, self.device, caller)
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

    def jobs(self, kinds: Sequence[Hashable], need: Callable[[int], int], most: int | None = None) -> list[list[int]]:
        """Members by number, cut into what is trained at once: those of one kind, at most so many, as the memory holds.

        A member whose kind is None is trained alone. ``need`` says how many bytes a member takes, about.
        """
        alike: dict[Hashable, list[int]] = {}
        for i, kind in enumerate(kinds):
            if kind is not None:
                alike.setdefault(kind, []).append(i)
        cut = [[i] for i, kind in enumerate(kinds) if kind is None]
        for own in alike.values():
            for some in batches(own, need(own[0]), self.memory, self.caller):
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
                go_on()
                return work(job)
            finally:
                del _here.stop

        with (
            one_thread(),
            products_in(self.tf32),
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
        words: Mapping[str, str], data: Any, dtype: str, engines: Sequence[str], **specs: Spec,
    ) -> xr.Dataset:  # fmt: skip
        """The labelled result and where it comes from.

        ``variables`` are values with a first axis of members and the names of their other axes; ``words`` are their
        ``long_name``. None has a unit other than steps, in which times are counted.
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
            tf32="on" if self.tf32 else "off",
        )


def moments(caller: str, record: Any, last: int, name: str, least: int = 0) -> np.ndarray:
    """When to record: rising whole numbers from ``least`` to ``last``; or every so many up to it.

    ``name`` is what ``last`` is called.

    Examples
    --------
    >>> moments("train", 4, 10, "Training.epochs").tolist(), moments("train", [0, 10], 10, "Training.epochs").tolist()
    ([0, 4, 8, 10], [0, 10])
    """
    if isinstance(record, int | np.integer):
        every = checks.whole(f"{caller}: record", record)
        return np.unique(np.append(np.arange(0, last, every), last))[least:]
    allowed = f"a whole number, or a list of increasing whole numbers between {least} and {name} = {last}"
    return checks.wholes(f"{caller}: record", record, least, last, rising=True, allowed=allowed)


def require_device(name: Any, caller: str = "train", field: str = "device") -> bool:
    """Whether ``name`` is a GPU; a ValueError unless it is there."""
    said = f"{caller}: {field} = {checks.shown(name)}"
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


def room(memory: float | None, device: str, caller: str) -> float:
    """Bytes that one batch may take: ``memory``, or 2 GiB on a CPU and seven tenths of what is free on a GPU."""
    if memory is not None:
        ok = isinstance(memory, int | float | np.number) and not isinstance(memory, bool) and memory > 0
        checks.require(f"{caller}: memory", memory, ok, "a number of bytes above 0, or None")
        return float(memory)
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
def products_in(tf32: bool) -> Iterator[None]:
    """Set the precision of float32 products and convolutions on GPUs, and put it back."""
    places: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn.conv)  # type: ignore[attr-defined]
    before = [place.fp32_precision for place in places]
    try:
        for place in places:
            place.fp32_precision = "tf32" if tf32 else "ieee"
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
