"""Where a result comes from: code, versions, machine, device, precision, time; and how many cores are ours."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import threading
from functools import cache
from pathlib import Path
from typing import Any


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; a package that is absent is left out."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and deepmech itself does without

    found = {"python": platform.python_version()}
    for package in packages or ("deepmech", "numpy", "scipy", "xarray", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def versions_in_words() -> str:
    """:func:`versions` as one line; two results come from the same software where these lines are equal."""
    return ", ".join(f"{k} {v}" for k, v in versions().items())


def cores() -> int:
    """How many cores this process may use: those it is bound to, or its share of them (``DEEPMECH_CORES``)."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = os.environ.get("DEEPMECH_CORES", "")
    if share and not (share.isdigit() and int(share) >= 1):
        raise ValueError(f"DEEPMECH_CORES = {share!r}: must be a whole number, at least 1")
    return min(bound, int(share)) if share else bound


#: What libraries ask for the number of their threads.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@cache
def processor() -> str:
    """The processor's maker, model and family; clouds give processors of several families one name."""
    model = platform.processor() or platform.machine()
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:  # not Linux
        return model
    known = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first.splitlines())}
    numbers = " ".join(f"{name} {known[name]}" for name in ("cpu family", "model") if name in known)
    return f"{known.get('model name', model)}{f' ({numbers})' if numbers else ''}"


def start_worker(share: int) -> None:
    """What a process of a pool does first: trainers and libraries in it use ``share`` cores, and it ends as soon as the
    process that started it has gone, however it went."""
    import multiprocessing.connection  # slow to import, and workers alone need it

    os.environ.update(dict.fromkeys(("DEEPMECH_CORES", *THREADS), str(share)))
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def machine() -> str:
    """Processor, cores and threads of libraries that this process may use, in words; no host name.

    Where processor and versions are equal, so are the last bits of sums and products.
    """
    return f"{processor()}, {cores()} cores, {os.environ.get('OMP_NUM_THREADS') or cores()} threads of libraries"


def attributes(
    *, spec: str, seed: int | str, device: str = "cpu", dtype: str = "float64", wall_seconds: float
) -> dict[str, Any]:
    """Attributes that every result Dataset carries (netCDF-friendly: strings and numbers only)."""
    return {
        "spec": spec,
        "seed": seed,
        "versions": versions_in_words(),
        "machine": machine(),
        "device": device,
        "dtype": dtype,
        "wall_seconds": round(wall_seconds, 3),
    }


@cache
def code_hash(module: str) -> str:
    """Sixteen hexadecimal digits of the code that computes: a module's source without docstrings and comments, as it
    was when this process first asked, and the versions of this library, torch and numba.

    Of a module without source, the versions alone. What the module imports counts for nothing: whoever changes that
    raises :attr:`.Sweep.version`. A ValueError if there is no module of that name.
    """
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # no package above it; a module that was made in memory
        spec = None
    if spec is None:
        raise ValueError(f"module {module!r}: is not found, so that its code cannot be told from other code")
    source = getattr(spec.loader, "get_source", lambda name: None)(module)
    parts = [*versions("deepmech", "torch", "numba").items(), without_docstrings(source or "")]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def without_docstrings(source: str) -> str:
    """The syntax tree of a source as text.

    Examples
    --------
    >>> one = without_docstrings('def f(x):\\n    "Twice."\\n\\n    return 2 * x  # why not')
    >>> one == without_docstrings("def f(x): return 2*x")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
    return ast.dump(tree)
