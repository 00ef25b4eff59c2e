"""Downloading datasets, and saying which ones are here; the command line's ``deepmech data``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

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
    require_name(name, (*BUNDLED, *SOURCES))
    if name in BUNDLED:
        return "ready (bundled with scikit-learn)"
    source = SOURCES[name]
    paths = source.paths()
    if not any(path.exists() for path in paths.values()):
        return f"absent: deepmech data fetch {name}" if source.mirrors else "absent (not downloadable)"
    try:
        for file, path in paths.items():
            files.read(path, file)
    except files.DataMissing as error:
        return f"incomplete: {error}"
    except files.DataCorrupt as error:
        return f"broken: {error}"
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
    trust: the checksums of the catalogue are compared whenever a file is read.

    Raises
    ------
    ValueError
        For an unknown name, or one that cannot be downloaded.
    DataMissing
        If no mirror gave a file; the message holds each mirror's reason.
    """
    names = tuple(names)
    downloadable = tuple(n for n, s in SOURCES.items() if s.mirrors)
    for name in names:
        require_name(name, (*BUNDLED, *downloadable))
    lines = []
    for name in names:
        if name in SOURCES:
            fetch(SOURCES[name])
        lines.append(f"{name}: {state(name)}")
    return "\n".join(lines)


def fetch(source: Source) -> None:
    """Bring every file of ``source`` into the data directory."""
    broken = {file: path for file, path in source.paths().items() if not _good(path, file)}
    for path in broken.values():
        path.unlink(missing_ok=True)
    if source.archive is None:
        for file, path in broken.items():
            _download(source, file, path)
    elif broken:
        archive = data_directory() / source.archive.name
        members = [f"{source.folder}/{file.name}" for file in broken]
        _download(source, source.archive, archive, pooch.Untar(members, extract_dir="."))
        archive.unlink()


def _good(path: Path, file: SourceFile) -> bool:
    try:
        files.read(path, file)
    except files.DataError:
        return False
    return True


def _download(source: Source, file: SourceFile, path: Path, processor: pooch.Untar | None = None) -> None:
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    where = {"fname": path.name, "path": path.parent, "processor": processor, "downloader": downloader}
    reasons = []
    for mirror in source.mirrors:
        try:
            pooch.retrieve(mirror + file.name, f"sha256:{file.download_sha256}", **where)
            return
        except (OSError, ValueError) as error:  # unreachable (requests' errors are OSErrors), disk full, wrong checksum
            reasons.append(f"{mirror.split('/')[2]}: {_short(error)}")
    raise files.DataMissing(
        f"{source.title}: {file.name} could not be downloaded into {path.parent} ({'; '.join(reasons)}). "
        "Copy the file there by hand, or use the profile 'quick', which needs no download."
    )


def _short(error: Exception) -> str:
    """The cause of an error, without what was tried how often: connection refused, 404, another checksum.

    Examples
    --------
    >>> _short(OSError("Max retries exceeded with url: /mnist/ (Caused by NewConnectionError('x: Name unknown'))"))
    'Name unknown'
    """
    words = str(error).partition("hash of downloaded file")
    if words[1]:
        return "another file (its hash is not the published one)"
    return words[0].rpartition(": ")[2].strip("'\")") if "Caused by" in words[0] else words[0].partition(" for url")[0]
