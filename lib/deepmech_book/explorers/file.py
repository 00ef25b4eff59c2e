"""An explorer as one HTML file: for the command line, and for sending to somebody."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from deepmech.core.files import write_whole
from deepmech_book import explorers

EXPLORERS = {
    "chain": ("spring-block-chain.html", "A spring–block chain to play with"),
    "elastic": ("elastic-points.html", "Locally elastic points to play with"),
    "ruler": ("folding-ruler.html", "A folding ruler to pull and shake"),
    "relaxation": ("walking-weights.html", "Weights that walk"),
    "training": ("training.html", "A network in training, beside the chain"),
    "diagram": ("phase-diagrams.html", "Phase diagrams, cell by cell"),
}
"""Every explorer: the file it is written to unless told otherwise, and its title."""


def cli_explore(explorer: str = "chain", path: str | Path | None = None, show: bool = True, **parameters: Any) -> Path:
    """Write an explorer as one HTML file, open it in a browser if ``show``, and return where it is.

    Parameters
    ----------
    explorer : str
        A key of :data:`EXPLORERS`.
    path : str or Path, optional
        The file to write; its folder must exist. By default a file in the current folder, named after the explorer.
    show : bool
        Open the file in the default browser.
    **parameters
        As for :func:`~deepmech_book.explorers.chain_page` and its like.

    Raises
    ------
    ValueError
        If there is no such explorer, or a parameter lies outside its range.
    """
    if explorer not in EXPLORERS:
        raise ValueError(f"explorer = {explorer!r}: must be one of {', '.join(EXPLORERS)}")
    name, title = EXPLORERS[explorer]
    page = getattr(explorers, f"{explorer}_page")
    path = Path(path or name).resolve()
    write_whole(path, page(**parameters).document(title))
    if show:
        webbrowser.open(path.as_uri())
    return path
