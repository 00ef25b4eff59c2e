"""Copies of the notebooks for JupyterLab, whose extension jupyterlab-myst shows their MyST: ``deepmech lab``.

Copies can be edited, run and broken; the originals stay.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat

from deepmech.sweeps.store import write_whole
from deepmech_book.build.notebooks import Say
from deepmech_book.build.sources import BookError, Checkout

__all__ = ["copy", "write"]


def copy(checkout: Checkout, name: str) -> Any:
    """The notebook ``name`` as Jupyter keeps notebooks, without a tie to the file that it was read from."""
    made = deepcopy(checkout.source(name).notebook)
    made.metadata.pop("jupytext", None)
    return made


def write(checkout: Checkout, folder: Path, say: Say = lambda line: None) -> list[Path]:
    """Copy all notebooks into ``folder``; those that are there stay as they are. Returns the paths of the new ones. A
    BookError if the folder is that of the originals."""
    originals = (checkout.root / "notebooks").resolve()
    if originals in (folder.resolve(), *folder.resolve().parents):
        raise BookError(f"lab: {folder} holds the originals; name another folder (-o)")
    new = []
    for name in checkout.names:
        path = folder / f"{name}.ipynb"
        if not path.exists():
            write_whole(path, nbformat.writes(copy(checkout, name)) + "\n")
            new.append(path)
    if kept := len(checkout.names) - len(new):
        say(f"{kept} copies in {folder} stay as they are; remove one to get it anew")
    return new
