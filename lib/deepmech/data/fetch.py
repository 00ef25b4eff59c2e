"""Downloading datasets, and saying which ones are here; the command line's ``deepmech data``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pooch

from deepmech.data import files
from deepmech.data.catalogue import BUNDLED, SOURCES, Source, SourceFile, data_directory
from deepmech.data.datasets import require_name


def state(name: str) -> str:
    """One line on a dataset: bundled, ready, absent, or what is wrong with it. Reads and checks every file.

    Examples
    --------
    >>> state("digits")
    'ready (bundled with scikit-learn)'
    """
    if name in BUNDLED:
        return "ready (bundled with scikit-learn)"
    source = SOURCES[name]
    if not any(path.exists() for path in source.paths().values()):
        return f"absent: deepmech data fetch {name}" if source.mirrors else "absent (not downloadable)"
    if fault := next(filter(None, (_fault(path, file) for file, path in source.paths().items())), ""):
        return f"not whole: {fault}"
    return "ready (checksums agree)" if source.mirrors else "ready (layout checked, pixels not the official ones)"


def cli_status() -> str:
    """The table that ``deepmech data status`` shows: one line per dataset, and the data directory above it."""
    chosen = "DEEPMECH_DATA" if os.environ.get("DEEPMECH_DATA") else "default; set DEEPMECH_DATA to change it"
    rows = [(name, state(name)) for name in (*BUNDLED, *SOURCES)]
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"data directory: {data_directory()} ({chosen})", *(f"{n:<{width}}  {s}" for n, s in rows)])


def cli_fetch(names: Iterable[str]) -> str:
    """Download what is missing or broken of the named datasets; the text that ``deepmech data fetch NAMES`` shows.

    Files whose content is already right are left alone. An interrupted download leaves nothing that a later load would
    trust: the checksums of the catalogue are compared whenever a file is read. A ValueError for an unknown name, or one
    that cannot be downloaded; a DataMissing if no mirror gave a file, with each mirror's reason.
    """
    names = tuple(names)
    for name in names:
        require_name(name, (*BUNDLED, *(n for n, s in SOURCES.items() if s.mirrors)))
    for name in names:
        if name in SOURCES:
            fetch(SOURCES[name])
    return "\n".join(f"{name}: {state(name)}" for name in names)


def fetch(source: Source) -> None:
    """Bring every file of ``source`` into the data directory, one that is whole is left alone."""
    broken = {file: path for file, path in source.paths().items() if _fault(path, file)}
    for path in broken.values():
        path.unlink(missing_ok=True)
    if source.archive is None:
        for file, path in broken.items():
            _download(source, path, partial(_fault, path, file))
    elif broken:
        name, sha = source.archive
        members = [f"{source.folder}/{file.name}" for file in broken]
        untar = pooch.Untar(members, extract_dir=".")
        _download(source, data_directory() / name, known_hash=f"sha256:{sha}", processor=untar)
        (data_directory() / name).unlink()


def _fault(path: Path, file: SourceFile) -> str:
    """What is wrong with a file; nothing, if it is the published one."""
    try:
        files.read(path, file)
    except files.DataError as error:
        return str(error)
    return ""


def _download(source: Source, path: Path, fault: Callable[[], str] = lambda: "", **how: Any) -> None:
    """Take a file from the first mirror that has it."""
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    how = {"known_hash": None, "fname": path.name, "path": path.parent, "downloader": downloader, **how}
    reasons = []
    for mirror in source.mirrors:
        try:
            pooch.retrieve(mirror + path.name, **how)
            if not fault():
                return
            path.unlink()
            reason = "another file (its content is not the published one)"
        except (OSError, ValueError) as error:  # unreachable (requests' errors are OSErrors), disk full, wrong checksum
            reason = _short(error)
        reasons.append(f"{mirror.split('/')[2]}: {reason}")
    raise files.DataMissing(
        f"{source.title}: {path.name} could not be downloaded into {path.parent} ({'; '.join(reasons)}). "
        "Copy the file there by hand, or use the profile 'quick', which needs no download."
    )


def _short(error: Exception) -> str:
    """The cause of an error, without what was tried how often.

    Examples
    --------
    >>> _short(OSError("Max retries exceeded with url: /mnist/ (Caused by NewConnectionError('x: Name unknown'))"))
    'Name unknown'
    """
    words = str(error)
    return words.rpartition(": ")[2].strip("'\")") if "Caused by" in words else words.partition(" for url")[0]
