"""Where networks are trained: checks, free memory, threads, and the precision of products on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def require_device(name: str) -> bool:
    """Whether ``name`` is a GPU; a ValueError unless it is there."""
    kind, _, number = str(name).partition(":")
    if kind not in ("cpu", "cuda") or not (number.isdigit() if ":" in str(name) else True) or name.startswith("cpu:"):
        raise ValueError(f"train: device = {name!r}: must be 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …")
    if kind == "cpu":
        return False
    if not torch.cuda.is_available():
        why = "is built without CUDA" if torch.version.cuda is None else "finds no usable GPU (see nvidia-smi)"
        raise ValueError(f"train: device = {name!r}: this PyTorch {why}; use device='cpu'")
    if int(number or 0) >= torch.cuda.device_count():
        raise ValueError(f"train: device = {name!r}: there are {torch.cuda.device_count()} GPUs, numbered from 0")
    return True


def device_in_words(name: str) -> str:
    """The device as provenance names it: ``"cpu"``, or the GPU's model."""
    return name if name == "cpu" else f"{name} ({torch.cuda.get_device_name(name)})"


def free_memory(gpu: str) -> float:
    """Seven tenths of the bytes that are free on a GPU."""
    return 0.7 * torch.cuda.mem_get_info(gpu)[0]


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
