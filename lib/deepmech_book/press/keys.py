"""When a result may be reused: the key of everything that an executed notebook depends on, and the seal on its file.

An executed notebook carries its key and a digest of itself in its metadata. It is trusted only if both agree, so there
is no separate index that could survive without its file, or the other way round. The seal tells a file that was cut,
edited or mixed up; it is no signature, and whoever makes it anew can forge a page.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from pathlib import Path
from typing import Any

from deepmech.core.specs import digest
from deepmech_book import RECORD
from deepmech_book.press.sources import Checkout, Source

# The press itself does not reach into notebooks, except through these files.
_PRESS = tuple(f"deepmech_book/press/{name}.py" for name in ("execution", "kernels", "sources"))


def tree_digest(folder: Path, keep: Any = lambda relative: True) -> str:
    """Digest of the names and contents of all files below ``folder`` for which ``keep(relative path)`` holds."""
    hashed = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        relative = path.relative_to(folder).as_posix()
        if "__pycache__" not in relative and keep(relative):
            content = path.read_bytes()
            hashed.update(f"{relative}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:32]


def data_digest() -> str:
    """Names, sizes and times of the downloaded files: data sets are too large to read at every build."""
    from deepmech.data import data_directory

    folder = data_directory()
    if not folder.is_dir():
        return "no data"
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    stats = ((p.relative_to(folder).as_posix(), p.stat()) for p in files)
    return digest([[name, s.st_size, s.st_mtime_ns] for name, s in stats])


def surroundings(checkout: Checkout) -> dict[str, str]:
    """Digests of what all notebooks share: library, data, shipped results, lock file, Python."""
    library = checkout.root / "lib"
    lock = checkout.root / "requirements.lock"
    return {
        "library": tree_digest(library, _seen),
        "data": data_digest(),
        # Notes of who verified what change no number.
        "results": tree_digest(checkout.book / "results", lambda name: name.endswith(".nc")),
        "lock": hashlib.sha256(lock.read_bytes()).hexdigest() if lock.is_file() else "no lock file",
        "python": platform.python_version(),
    }


def _seen(name: str) -> bool:
    """Whether notebooks may depend on this file below ``lib``."""
    return name.startswith(("deepmech/", "deepmech_book/")) and (
        not name.startswith("deepmech_book/press/") or name in _PRESS
    )


def key(source: Source, parameters: dict[str, Any], shared: dict[str, str]) -> str:
    """The key of one notebook: what is written, with which parameters, in which surroundings."""
    cells = [[c.cell_type, c.source, dict(c.metadata)] for c in source.notebook.cells]
    return digest({"name": source.name, "cells": cells, "parameters": parameters, "shared": shared})


def seal(notebook: Any) -> str:
    """Digest of an executed notebook: cells, outputs, and all that it says of itself but this."""
    made = {k: v for k, v in notebook["metadata"]["deepmech"].items() if k != "seal"}
    return digest({**notebook, "metadata": {**notebook["metadata"], "deepmech": made}})


def figures(path: Path) -> Path:
    """The folder beside the executed notebook at ``path`` in which its figures lie, to be taken away."""
    return path.with_suffix(".figures")


def remove(folder: Path) -> None:
    """Remove a folder; an OSError if something stays in its place (a link, or another user's)."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        raise OSError(f"{folder.name} is in its way, and cannot be removed")


def trusted(path: Path, expected: str | None = None) -> dict[str, Any] | None:
    """The executed notebook at ``path`` if it is whole (and made under the key ``expected``), else None."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        made = notebook["metadata"]["deepmech"]
        whole = made["seal"] == seal(notebook) and made["figures"] == tree_digest(figures(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return notebook if whole and expected in (None, made["key"]) else None


def records(name: str, notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """What an executed notebook showed: one dictionary per figure or claim, with its page, profile and seconds.

    Records travel in outputs under the MIME type :data:`deepmech_book.RECORD`, one or a list per output.
    """
    made = notebook["metadata"]["deepmech"]
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            content = output.get("data", {}).get(RECORD)
            for record in content if isinstance(content, list) else [content] if content else []:
                page = {"page": name, "profile": made["parameters"]["profile"], "seconds": made["seconds"]}
                found.append({**page, **record})
    return found
