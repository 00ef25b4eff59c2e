"""Where networks are trained: checks, free memory, threads, and the precision of products on a GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from deepmech.trainers.checks import shown


def require_device(name: Any, caller: str = "train", field: str = "device") -> bool:
    """Whether ``name`` is a GPU; a ValueError unless it is there."""
    said = f"{caller}: {field} = {shown(name)}"
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
        if isinstance(memory, bool) or not isinstance(memory, int | float | np.number) or not memory > 0:
            raise ValueError(f"{caller}: memory = {shown(memory)}: must be a number of bytes above 0, or None")
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
