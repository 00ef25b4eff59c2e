"""Stand-ins that let this library train with torch on a machine without numba: ``install()`` before importing deepmech.

Compiled engines are out of reach then; random streams, which numba's kernels draw elsewhere, are drawn by NumPy. Their
bits are the same (a test compares them), normals the same to rounding.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy as np


class _NoCache:
    def __init__(self, function: Any) -> None:
        self._cache_file = types.SimpleNamespace()


def _never_compiled(function: Any) -> Any:
    """The function itself, with the method that numba's have."""
    function.compile = function
    return function


def install(always: bool = False) -> bool:
    """Put stand-ins in numba's place if it is missing (or ``always``); returns whether that was so."""
    if isinstance(sys.modules.get("numba"), _Anything):
        return True
    if not always and importlib.util.find_spec("numba") is not None:
        return False
    names = (
        "numba numba.core numba.core.caching numba.core.config numba.core.cgutils numba.extending numba.np "
        "numba.np.arrayobj numba.types"
    )
    for name in (*names.split(), "llvmlite", "llvmlite.ir"):
        sys.modules[name] = _Anything(name)
    for name in (*names.split(), "llvmlite.ir"):
        above, _, last = name.rpartition(".")
        if above:
            setattr(sys.modules[above], last, sys.modules[name])
    numba: Any = sys.modules["numba"]
    numba.njit = lambda *found, **options: _never_compiled(found[0]) if found else _never_compiled
    numba.prange = range
    sys.modules["numba.core.caching"].FunctionCache = _NoCache  # type: ignore[attr-defined]
    sys.modules["numba.extending"].intrinsic = lambda *found, **how: found[0] if found else (lambda function: function)  # type: ignore[attr-defined]
    from deepmech.core import random

    random.fill_bits, random.fill_normal = _fill_bits, _fill_normal
    from deepmech.trainers.run import TrainerRun

    assert hasattr(TrainerRun, "select_engine"), "what is replaced has another name now"
    TrainerRun.select_engine = lambda self, unknown="", slower="": ("torch", "there is no numba")  # type: ignore[method-assign]
    return True


class _Anything(types.ModuleType):
    """A module in which every name is something that may be called and asked for more."""

    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Thing()


class _Thing:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Thing()

    def __call__(self, *given: Any, **named: Any) -> Any:
        return _Thing()

    def __getitem__(self, index: Any) -> Any:
        return _Thing()


def _fill_bits(out: np.ndarray, key: np.uint64, step: np.uint64, purpose: np.uint64) -> None:
    from deepmech.core.random import LOW, S32, philox

    blocks = np.arange(-(-len(out) // 4), dtype=np.uint64)
    counters = (np.full_like(blocks, v) for v in (step & LOW, step >> S32, purpose))
    keys = (np.full_like(blocks, v) for v in (key & LOW, key >> S32))
    out[:] = np.stack(philox(blocks, *counters, *keys), -1).ravel()[: len(out)].astype(np.uint32)


def _fill_normal(out: np.ndarray, bits: np.ndarray) -> None:
    first, second = bits[0::2].astype(np.uint64), bits[1::2].astype(np.uint64)
    radius = np.sqrt(-2.0 * np.log((first + 0.5) * 2.0**-32))
    angle = (((second & np.uint64(0x3FFFFFFF)) + 0.5) * 2.0**-30 - 0.5 + (second >> np.uint64(30))) * (np.pi / 2)
    out[0::2], out[1::2] = radius * np.cos(angle), radius * np.sin(angle)
