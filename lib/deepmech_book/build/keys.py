"""When an executed page may be used again: it carries digests of all that it was made of, and each must be as now.

It was made of its notebook, its parameters, the library, the lock file, Python, and the shipped results that it
drew. There is no separate index that could survive without its file, or the other way round.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepmech_book import RECORD
from deepmech_book.build.sources import Checkout, Source

#: The file of a folder that lists what was written into it.
MANIFEST = ".deepmech-wrote.json"
# The build itself does not reach into notebooks, except through these files.
_BUILD = tuple(f"deepmech_book/build/{name}.py" for name in ("execution", "kernels", "sources"))


def file_digests(folder: Path, keep: Callable[[str], bool] = lambda name: True) -> dict[str, str]:
    """The digest of each file below a folder for whose name ``keep`` holds; of a link, and of what else is no file, an
    empty word."""
    found = {}
    for path in (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()):
        if keep(name := path.relative_to(folder).as_posix()):
            plain = path.is_file() and not path.is_symlink()
            found[name] = _sha256(path.read_bytes()) if plain else ""
    return found


def tree_digest(folder: Path, keep: Callable[[str], bool] = lambda name: True) -> str:
    """One digest of :func:`file_digests`, without what Python compiled."""
    found = file_digests(folder, lambda name: "__pycache__" not in name and keep(name))
    return _sha256(json.dumps(sorted(found.items())).encode())[:32]


def surroundings(checkout: Checkout) -> dict[str, str]:
    """Digests of what all notebooks share: library, lock file, Python."""
    lock = checkout.root / "requirements.lock"
    return {
        "library": tree_digest(checkout.root / "lib", _seen),
        "lock file": _sha256(lock.read_bytes()) if lock.is_file() else "none",
        "Python": platform.python_version(),
    }


def _seen(name: str) -> bool:
    """Whether notebooks may depend on this file below ``lib``."""
    ours = name.startswith(("deepmech/", "deepmech_book/"))
    return ours and (not name.startswith(("deepmech_book/build/", "deepmech_book/results/")) or name in _BUILD)


def parts(source: Source, parameters: dict[str, Any], shared: dict[str, str]) -> dict[str, Any]:
    """What a page is made of before it draws results: what is written, with which parameters, in which surroundings."""
    cells = [[c.cell_type, c.source, dict(c.metadata)] for c in source.notebook.cells]
    return {"notebook": _digest({"name": source.name, "cells": cells}), "parameters": _digest(parameters), **shared}


def _digest(what: Any) -> str:
    from deepmech.core.specs import digest  # slow to import, and Sphinx, which asks where figures lie, does without

    return digest(what)


def results(checkout: Checkout, names: Iterable[str]) -> dict[str, str]:
    """Digests of the shipped results of each of some names: which files there are, and what is in them."""
    folder, key = checkout.book / "results", "[0-9a-f]" * 16
    files = {name: sorted(folder.glob(f"{name}-{key}.nc")) for name in sorted(set(names))}
    return {name: _digest([[f.name, _sha256(f.read_bytes())] for f in found]) for name, found in files.items()}


def changed(checkout: Checkout, notebook: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Which parts of an executed notebook are others now."""
    made = notebook["metadata"]["deepmech"]["parts"]
    names = [name for name, part in now.items() if made.get(name) != part]
    return [*names, *(["results"] if made["results"] != results(checkout, made["results"]) else [])]


def figures(path: Path) -> Path:
    """The folder beside the executed notebook at ``path`` in which its figures lie, to be taken away."""
    return path.with_suffix(".figures")


def write_manifest(folder: Path, of: str = "") -> None:
    """Write into a folder what is in it, and what that was made of."""
    from deepmech.sweeps.store import write_whole  # slow to import, as above

    write_whole(folder / MANIFEST, json.dumps({"": of, **file_digests(folder)}, indent=1, sort_keys=True))


def read_manifest(folder: Path) -> dict[str, str]:
    """What a folder was made of, and its :func:`file_digests` if all is as :func:`write_manifest` left it."""
    with suppress(OSError, ValueError, TypeError):
        listed = (folder / MANIFEST).read_bytes()
        return {**json.loads(listed), MANIFEST: _sha256(listed)}
    return {}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sealed(notebook: dict[str, Any]) -> str:
    """An executed notebook as the text of its file, which holds the digest of that text with zeros in its place."""
    notebook["metadata"]["deepmech"]["sha256"] = _NONE
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    return _SEAL.format(_sha256(text.encode())).join(text.rsplit(_SEAL.format(_NONE), 1))


_SEAL, _NONE = '"sha256": "{}"', 64 * "0"


def remove(folder: Path) -> None:
    """Remove a folder; an OSError if something stays in its place (a link, or another user's)."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        raise OSError(f"{folder.name} is in its way, and cannot be removed")


def executed(path: Path) -> dict[str, Any] | None:
    """The executed notebook at ``path``, if it and its figures are there as they were written, else None."""
    try:
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        made = notebook["metadata"]["deepmech"]
        whole = _SEAL.format(_NONE).join(text.rsplit(_SEAL.format(made["sha256"]), 1))
        if _sha256(whole.encode()) != made["sha256"] or made["figures"] != tree_digest(figures(path)):
            return None
        return notebook if made["parts"]["results"] is not None else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


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
