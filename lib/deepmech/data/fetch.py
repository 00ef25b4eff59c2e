"""Downloading datasets, and saying which ones are here; the command line's ``deepmech data``."""

from __future__ import annotations

import os
import sys
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pooch

from deepmech.core.files import write_whole
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

    Files whose content is already right are left alone. A file appears under its name only when it is complete and its
    checksum agrees, so an interrupted download leaves nothing that a later load would trust.

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
    broken = {f: path for f, path in source.paths().items() if not _good(path, f)}
    if not broken:
        return
    if source.archive is None:
        for file, path in broken.items():
            _download(source, file, path)
        return
    archive = data_directory() / source.archive.name
    _download(source, source.archive, archive)
    _unpack(archive, broken)
    archive.unlink()


def _good(path: Path, file: SourceFile) -> bool:
    try:
        files.read(path, file)
    except files.DataError:
        return False
    return True


def _download(source: Source, file: SourceFile, path: Path) -> None:
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    reasons = []
    for mirror in source.mirrors:
        try:
            pooch.retrieve(
                mirror + file.name,
                known_hash=f"sha256:{file.download_sha256}",
                fname=path.name,
                path=path.parent,
                downloader=downloader,
            )
            return
        except (OSError, ValueError) as error:  # unreachable (requests' errors are OSErrors), disk full, wrong checksum
            reasons.append(f"{mirror}{file.name}: {error}")
    raise files.DataMissing(
        f"{source.title}: {file.name} could not be downloaded into {path.parent}: {'; '.join(reasons)}. "
        "Copy the file there by hand, or use the profile 'quick', which needs no download."
    )


def _unpack(archive: Path, wanted: dict[SourceFile, Path]) -> None:
    """Write the wanted members, each under its own path; what names or links the archive holds decides nothing."""
    missing = {file.name: (file, path) for file, path in wanted.items()}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if name.name not in missing:
                    continue
                file, path = missing.pop(name.name)
                if not member.isfile() or name.is_absolute() or ".." in name.parts:
                    raise files.DataCorrupt(f"{archive}: {name} is no plain file within a folder of the archive")
                if member.size != (size := file.count * files.CIFAR_RECORD):
                    raise files.DataCorrupt(f"{archive}: {name} has {member.size} bytes instead of {size}")
                stream = tar.extractfile(member)
                assert stream is not None  # only folders, links and devices have none
                write_whole(path, stream.read())
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise files.DataCorrupt(f"{archive}: damaged ({error})") from None
    if missing:
        raise files.DataCorrupt(f"{archive}: holds no file {', '.join(missing)}")
