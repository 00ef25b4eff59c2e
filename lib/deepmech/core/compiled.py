"""numba's ``njit`` for this library: compiled code is kept, and never outlives the sources it was made from.

numba keeps machine code as long as the file of its function is unchanged; it does not see that a function taken from
another file has changed.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.caching
import numba.core.config
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
#: Modules of this package from which others take what is compiled.
COMPILED = ("compiled.py", "random.py")


def njit(**options: Any) -> Callable[[F], F]:
    """:func:`numba.njit` with the given options; what has ``cache=True`` is kept as :class:`_Cache` has it.

    Machine code lies in the folder that the variable ``NUMBA_CACHE_DIR`` names, or beside the library, or, where nobody
    may write there, in this user's cache folder. Where there are no sources, in an archive or a library of compiled
    files, nothing is kept.

    Examples
    --------
    >>> @njit(error_model="numpy")
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """

    def compiled(function: F) -> Any:
        dispatcher = numba.njit(**{**options, "cache": False})(function)
        dispatcher.compile = _without_collector(dispatcher.compile)
        if options.get("cache") and Path(function.__code__.co_filename).is_file():
            dispatcher._cache = _Cache(function)
        return dispatcher

    return compiled


def _without_collector(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """No garbage is looked for while numba compiles: what it makes stays until it is done, and Python would go through
    all that torch and numba hold a thousand times, which takes a sixth of the time."""

    def compiled(*arguments: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return compile_(*arguments)
        finally:
            if collects:
                gc.enable()

    return compiled


class _Cache(numba.core.caching.FunctionCache):
    """numba's, which here sees edits of other files too, and bears files that a kill or a full disk cut short."""

    def __init__(self, function: Callable[..., Any]) -> None:
        config: Any = numba.core.config
        before, config.CACHE_DIR = config.CACHE_DIR, str(_base())
        try:
            super().__init__(function)  # type: ignore[no-untyped-call]
        finally:
            config.CACHE_DIR = before
        self._cache_file._source_stamp = _sources(Path(function.__code__.co_filename).parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever pickle raises at half a file: it is compiled again, and written over
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None


@cache
def _sources(folder: Path) -> str:
    """A digest of all code from which what is compiled in a folder may come: that beside it, and :data:`COMPILED`."""
    state = hashlib.sha256()
    for path in sorted({*folder.glob("*.py"), *map(Path(__file__).with_name, COMPILED)}):
        state.update(path.read_bytes())
    return state.hexdigest()


def intrinsic(function: Callable[..., tuple[Any, Any]]) -> Any:
    """:func:`numba.extending.intrinsic`: the first argument of ``function`` is numba's, callers give the others."""
    return numba.extending.intrinsic(function)


def _base() -> Path:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    beside = Path(__file__).parents[1] / "__pycache__" / "numba"
    if os.access(beside if beside.exists() else beside.parents[1], os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "deepmech" / "numba"
