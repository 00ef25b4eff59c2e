"""Where a result comes from: versions, machine, device, precision, time."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def versions(*packages: str) -> dict[str, str]:
    """Installed versions; a package that is absent is left out."""
    found = {"python": platform.python_version()}
    for package in packages or ("deepmech", "numpy", "scipy", "xarray", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The processor's model and the number of cores this process may use, in words; no host name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores"


def attributes(
    *, spec: str, seed: int | str, device: str = "cpu", dtype: str = "float64", wall_seconds: float
) -> dict[str, Any]:
    """Attributes that every result Dataset carries (netCDF-friendly: strings and numbers only)."""
    return {
        "spec": spec,
        "seed": seed,
        "versions": ", ".join(f"{k} {v}" for k, v in versions().items()),
        "machine": machine(),
        "device": device,
        "dtype": dtype,
        "wall_seconds": round(wall_seconds, 3),
    }
