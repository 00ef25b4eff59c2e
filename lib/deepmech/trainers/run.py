"""What all trainers do alike: samples and labels in, members cut into jobs and run here, labels and origin out.

:func:`~deepmech.trainers.train`, :func:`~deepmech.trainers.train_lenet`, :func:`~deepmech.trainers.prepare` and
:func:`~deepmech.trainers.walk` say what one job of an engine computes; the rest of a call is here.
"""

from __future__ import annotations

import gc
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

from deepmech.core import provenance, specs
from deepmech.core.labels import Words, expand, labelled
from deepmech.core.specs import Spec, encode
from deepmech.data.samples import Data

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
    engine, seed, experiment, threads, device
        As for :func:`deepmech.trainers.train`.
    """

    def __init__(
        self, caller: str, *, seed: Any, experiment: str, engine: str = "auto", threads: int | None = None,
        device: str | None = None,
    ) -> None:  # fmt: skip
        self.started = time.perf_counter()
        if torch.is_inference_mode_enabled():
            raise ValueError(
                f"{caller}: torch.inference_mode() is on, and nothing can be trained in it: call it outside"
            )
        self.caller, self.engine = caller, engine
        seeds, whole = specs.whole_numbers(np.asarray(seed)), "a whole number, at least"
        if seeds is None or np.any(seeds < 0):
            specs.raise_invalid(f"{caller}: seed", seed, f"{whole} 0 and below 2^64, or a labelled array of them")
        self.seed = seed.copy(data=seeds) if isinstance(seed, xr.DataArray) else seed if np.ndim(seeds) else int(seeds)
        self.experiment = experiment
        # Files and streams hold UTF-8, and files end a text at its first NUL.
        name = isinstance(experiment, str) and experiment.isprintable()
        specs.check(f"{caller}: experiment", experiment, name, "a name, in quotation marks, of printable characters")
        if threads is not None:
            threads = specs.check_int(f"{caller}: threads", threads, allowed=f"{whole} 1, or None for every core")
        known = engine in ("auto", "compiled", "torch")
        specs.check(f"{caller}: engine", engine, known, "'auto', 'compiled' or 'torch'")
        self.device, self.on_gpu = select_device(device, caller)
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
        self, data: Data, dtype: str, engines: Sequence[tuple[str, str]],
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
    if specs.is_real(record):
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
