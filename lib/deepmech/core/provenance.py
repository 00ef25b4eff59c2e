"""Where a result comes from: versions, machine, device, precision, time."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; a package that is absent is left out. That of deepmech names its sources as well."""
    found = {"python": platform.python_version()}
    for package in packages or ("deepmech", "numpy", "scipy", "xarray", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    if "deepmech" in found:
        found["deepmech"] += f"+{sources()}"
    return found


def versions_in_words() -> str:
    """:func:`versions` as one line; two results come from the same software where these lines are equal."""
    return ", ".join(f"{k} {v}" for k, v in versions().items())


@cache
def sources() -> str:
    """Eight hexadecimal digits of the library's own Python files: results are equal to the bit only for equal code."""
    package = Path(__file__).parents[1]
    hashed = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        hashed.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()[:8]


def cores() -> int:
    """How many cores this process may use: all of the machine, or those it is bound to."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """The processor's model and the number of cores this process may use, in words; no host name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {cores()} cores"


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
