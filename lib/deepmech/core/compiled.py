"""numba's ``njit`` for this library: compiled code is kept, and never outlives the sources it was made from.

numba keeps machine code as long as the file of its function is unchanged; it does not see that a function taken from
another file has changed. Here the modules of a folder have a cache that is named by all code from which they may take
what is compiled: that of the folder, and :data:`COMPILED`.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config
import numba.core.event
import numba.extending
import numpy as np
import numpy.typing as npt

#: What signatures of compiled functions call their arguments: numba takes the types of what it is given, and looks at
#: no annotation. Arrays of float32 or float64, of whole numbers, and of random words of 32 and of 64 bits.
Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Words = npt.NDArray[np.uint32]
Keys = npt.NDArray[np.uint64]
Word = np.uint64
Whole = int | np.int64
F = TypeVar("F", bound=Callable[..., Any])

#: Kernels make and keep no arrays: counting references, and wrappers for C, would only be more to compile. So would
#: slices that are assigned at once, with the words of the error that they might raise.
KERNEL = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
#: For functions that only kernels call.
INSIDE = {**KERNEL, "no_cpython_wrapper": True}
WEEK = 7 * 24 * 3600.0
#: Modules of this package from which others take what is compiled.
COMPILED = ("compiled.py", "random.py")


def njit(**options: Any) -> Callable[[F], F]:
    """:func:`numba.njit` with the given options, whose machine code is kept in :func:`folder`.

    Where there are no sources, in an archive or a library of compiled files, nothing is kept.

    Examples
    --------
    >>> @njit(error_model="numpy")
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """

    def compiled(function: F) -> Any:
        source = Path(function.__code__.co_filename)
        if not options.get("cache") or not source.is_file():
            return numba.njit(**{**options, "cache": False})(function)
        config: Any = numba.core.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder(source.parent))
        try:
            return numba.njit(**options)(function)
        finally:
            config.CACHE_DIR = before

    return compiled


def intrinsic(function: Callable[..., tuple[Any, Any]]) -> Any:
    """:func:`numba.extending.intrinsic`: the first argument of ``function`` is numba's, callers give the others."""
    return numba.extending.intrinsic(function)


@cache
def folder(sources: Path) -> Path:
    """Where machine code of the modules in ``sources`` is kept: a folder for each state of the code there and of
    :data:`COMPILED`, from which it may be compiled.

    It lies in the folder that the variable ``NUMBA_CACHE_DIR`` names, or beside the library, or, where nobody may
    write there, in this user's cache folder. States that nobody used for a week are removed.
    """
    state = hashlib.sha256()
    for path in sorted({*sources.glob("*.py"), *map(Path(__file__).with_name, COMPILED)}):
        state.update(path.read_bytes())
    mine = _base() / f"deepmech-{state.hexdigest()[:16]}"
    with suppress(OSError):
        mine.mkdir(parents=True, exist_ok=True)
        os.utime(mine)
        for old in mine.parent.glob(f"deepmech-{'[0-9a-f]' * 16}"):
            if time.time() - old.stat().st_mtime > WEEK:
                shutil.rmtree(old, ignore_errors=True)
    return mine


def _base() -> Path:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    beside = Path(__file__).parents[1] / "__pycache__" / "numba"
    if os.access(beside if beside.exists() else beside.parents[1], os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "deepmech" / "numba"


class _WithoutCollector(numba.core.event.Listener):
    """While numba compiles, no garbage is looked for: what it makes stays until it is done, and Python would go through
    all that torch and numba hold a thousand times, which takes a tenth of the time."""

    def __init__(self) -> None:
        self.depth, self.collecting = 0, False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.collecting = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.collecting:
            gc.enable()


numba.core.event.register("numba:compile", _WithoutCollector())
