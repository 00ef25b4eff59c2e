"""Datasets that are downloaded: what each file must hold, where it comes from, and reading it.

The checksums of MNIST and Fashion-MNIST are of the decompressed content, because the same content circulates in
different gzip wrappings; so that pooch fetches the files, and :func:`read_file` judges them. CIFAR-10 is known both by
its archive and by the six files inside it.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pooch

from deepmech.core.files import TEMPORARY

__all__ = [
    "BUNDLED", "GEOMNIST", "SOURCES", "DataCorruptError", "DataError", "DataMissingError", "Source", "SourceFile",
    "advice", "cli_fetch", "cli_status", "content_checksum", "data_directory", "fetch", "read_file", "require_name",
    "state",
]  # fmt: skip


@dataclass(frozen=True)
class SourceFile:
    """One file of a dataset; ``content_sha256`` is of what it holds, unpacked.

    ``ours_sha256`` is of the copy that shipped results were made from, where copies may differ.
    """

    name: str
    kind: Literal["images", "labels", "cifar"]
    count: int
    content_sha256: str | None = None
    ours_sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """A dataset that has to be downloaded: where it lies under the data directory and how to get it.

    ``archive`` is the name and checksum of a tar file that holds all ``files``; without it each is served on its own.
    """

    title: str
    folder: str
    files: tuple[SourceFile, ...]
    mirrors: tuple[str, ...]
    shape: tuple[int, int, int]
    archive: tuple[str, str] | None = None

    def paths(self) -> dict[SourceFile, Path]:
        return {f: data_directory() / self.folder / f.name for f in self.files}


def data_directory() -> Path:
    """Where downloaded data lie: the environment variable ``DEEPMECH_DATA``, or this user's cache folder.

    Returns
    -------
    Path

    Examples
    --------
    >>> data_directory().is_absolute()
    True
    """
    chosen = os.environ.get("DEEPMECH_DATA")
    return Path(chosen).expanduser() if chosen else Path(pooch.os_cache("deepmech"))


_IDX: tuple[tuple[str, Literal["images", "labels"], int], ...] = (
    ("train-images-idx3-ubyte.gz", "images", 60_000),
    ("train-labels-idx1-ubyte.gz", "labels", 60_000),
    ("t10k-images-idx3-ubyte.gz", "images", 10_000),
    ("t10k-labels-idx1-ubyte.gz", "labels", 10_000),
)
_MNIST_CONTENT = (
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
_FASHION_CONTENT = (
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
)

MNIST = Source(
    "MNIST",
    "mnist",
    tuple(SourceFile(*f, c) for f, c in zip(_IDX, _MNIST_CONTENT, strict=True)),
    ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    (1, 28, 28),
)

FASHION = Source(
    "Fashion-MNIST",
    "fashion-mnist",
    tuple(SourceFile(*f, c) for f, c in zip(_IDX, _FASHION_CONTENT, strict=True)),
    (
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    (1, 28, 28),
)

_CIFAR_CONTENT = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}

CIFAR10 = Source(
    "CIFAR-10",
    "cifar-10-batches-bin",
    tuple(SourceFile(name, "cifar", 10_000, content) for name, content in _CIFAR_CONTENT.items()),
    ("https://www.cs.toronto.edu/~kriz/",),
    (3, 32, 32),
    archive=("cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
)

_JPEG_CONTENT = {
    "data_batch_1.bin": "a6f48cd4d8745d5b80b6a0f7665654d54e1aacda199a3a966cb7958b11d38f22",
    "data_batch_2.bin": "0fedfbc7e914d425128b1bd02ce525bb46d91e8501ef68fa7212b115ee833d29",
    "data_batch_3.bin": "98224e1a8a07e8e89e999b20ca6cde6227368fe22adde323001e2bd951a6377b",
    "data_batch_4.bin": "d15e189b4939a25320baf2370f8a90a276205c86ec9ba1a7078ee110750e4f60",
    "data_batch_5.bin": "0c8c18d4d4520b54624388692c1c184a98d73ef1166ddcf5346e47a937e283b8",
    "test_batch.bin": "2696e48ae3fe74d50ecaacc0b8092b89bf95cd3f6471d079f4cbd39a956c18c3",
}

# CIFAR-10's layout with pixels that went through another encoding: readable, but never under CIFAR-10's own name.
CIFAR10_JPEG = Source(
    "CIFAR-10 (JPEG)",
    "cifar-10-batches-bin",
    tuple(SourceFile(name, "cifar", 10_000, ours_sha256=content) for name, content in _JPEG_CONTENT.items()),
    (),
    (3, 32, 32),
)

SOURCES: dict[str, Source] = {
    "mnist": MNIST,
    "fashion-mnist": FASHION,
    "cifar10": CIFAR10,
    "cifar10-jpeg": CIFAR10_JPEG,
}
GEOMNIST = ("geomnist", "geomnist-independent")
BUNDLED = ("digits", "diabetes", *GEOMNIST)

CIFAR_RECORD = 1 + 3 * 32 * 32
#: Bytes that a file may have and may unpack to: MNIST's training images are 47 million.
_LARGEST = 2**26


class DataError(ValueError):
    """A dataset cannot be given."""


class DataMissingError(DataError):
    """A dataset's files are not on this machine."""


class DataCorruptError(DataError):
    """A dataset's file is there, but is not what it should be."""


def read_file(path: Path, source: SourceFile) -> tuple[np.ndarray, str]:
    """The array of one dataset file, with the sha256 of its decompressed content.

    Images come as (count, height, width), labels as (count,), CIFAR-10 records as (count, 3073), all uint8. The content
    has the checksum of the catalogue; of copies of which none was published (``cifar10-jpeg``), the layout.

    Raises
    ------
    DataMissingError
        If there is no such file.
    DataCorruptError
        If it is cut, damaged, or another file.
    """
    if not path.is_file():
        raise DataMissingError(f"{path.name}: not in {path.parent}")
    if (size := path.stat().st_size) > _LARGEST:
        raise DataCorruptError(f"{path}: {size} bytes; no file of the catalogue has so many")
    content = path.read_bytes()
    if source.kind != "cifar":
        content = _gunzip(content, path)
    sha = hashlib.sha256(content).hexdigest()
    if source.content_sha256 not in (None, sha):
        raise DataCorruptError(f"{path}: cut, damaged or another file: sha256 of its content is {sha}")
    if source.kind == "cifar":
        if len(content) != source.count * CIFAR_RECORD:
            raise DataCorruptError(f"{path}: {len(content)} bytes instead of {source.count * CIFAR_RECORD}")
        records = np.frombuffer(content, np.uint8).reshape(source.count, CIFAR_RECORD)
        if (label := records[:, 0].max()) > 9:
            raise DataCorruptError(f"{path}: holds the label {label}; ten classes have labels 0 to 9")
        return records, sha
    # IDX: two zero bytes, a type, the number of dimensions, big-endian sizes, the values.
    sizes = np.frombuffer(content, ">u4", content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes), sha


def content_checksum(path: Path, source: SourceFile) -> str:
    """The sha256 of a file's decompressed content, which is read and checked once, until the file changes."""
    state = path.stat() if path.is_file() else None
    return _checksum(path, source, *(state.st_size, state.st_mtime_ns) if state else ())


@cache
def _checksum(path: Path, source: SourceFile, *_: int) -> str:
    return read_file(path, source)[1]


def _gunzip(raw: bytes, path: Path) -> bytes:
    try:
        with gzip.open(BytesIO(raw)) as stream:
            return stream.read(_LARGEST)  # what unpacks to more is not what was published
    except (OSError, EOFError, zlib.error) as error:
        raise DataCorruptError(f"{path}: cut, damaged or no gzip file ({error or 'empty'})") from None


def advice(name: str, problem: str) -> str:
    bundled = f"{', '.join(BUNDLED)} need no download"
    if name == "cifar10-jpeg":
        return f"dataset 'cifar10-jpeg': {problem}. It is not downloadable: use 'cifar10' instead; {bundled}."
    text = f"dataset {name!r}: {problem}. Run `deepmech data fetch {name}` to get it; {bundled}."
    if name == "cifar10" and "sha256" in problem:
        text += " If these are copies in the official layout, load 'cifar10-jpeg' and show that name beside results."
    return text


def require_name(name: str, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError with the list of names unless ``name`` is one of them."""
    if name not in allowed:
        close = difflib.get_close_matches(str(name), allowed, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"dataset {name!r}: unknown; the names are {', '.join(allowed)}{hint}")


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
    """The table that ``deepmech data status`` shows: one line per dataset, and the data directory above it.

    Returns
    -------
    str

    Examples
    --------
    >>> cli_status().splitlines()[1]
    'digits                ready (bundled with scikit-learn)'
    """
    chosen = "DEEPMECH_DATA" if os.environ.get("DEEPMECH_DATA") else "default; set DEEPMECH_DATA to change it"
    rows = [(name, state(name)) for name in (*BUNDLED, *SOURCES)]
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"data directory: {data_directory()} ({chosen})", *(f"{n:<{width}}  {s}" for n, s in rows)])


def cli_fetch(names: Iterable[str]) -> str:
    """Download what is missing or broken of the named datasets; the text that ``deepmech data fetch NAMES`` shows.

    Files whose content is already right are left alone. An interrupted download leaves nothing that a later load would
    trust: the checksums of the catalogue are compared whenever a file is read.

    Parameters
    ----------
    names : iterable of str
        Of those that :func:`deepmech.data.names` lists.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For an unknown name, or one that cannot be downloaded.
    DataMissingError
        If no mirror gave a file, with each mirror's reason.

    Examples
    --------
    >>> cli_fetch(["digits"])
    'digits: ready (bundled with scikit-learn)'
    """
    names = tuple(names)
    for name in names:
        require_name(name, (*BUNDLED, *(n for n, s in SOURCES.items() if s.mirrors)))
    for name in names:
        if name in SOURCES:
            fetch(SOURCES[name])
    return "\n".join(f"{name}: {state(name)}" for name in names)


def fetch(source: Source) -> None:
    """Bring every file of ``source`` into the data directory; one that is there is left alone, and a FileExistsError if
    it is not the published one."""
    faults = {file: (path, fault) for file, path in source.paths().items() if (fault := _fault(path, file))}
    if there := [fault for path, fault in faults.values() if os.path.lexists(path)]:
        raise FileExistsError(f"data: {'; '.join(there)}. Move it away, and fetch again")
    absent = {file: path for file, (path, _) in faults.items()}
    if source.archive is None:
        for file, path in absent.items():
            _download(source, path, partial(_fault, path, file))
    elif absent:
        name, sha = source.archive
        members = [f"{source.folder}/{file.name}" for file in absent]
        data_directory().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=data_directory()) as temporary:
            untar = pooch.Untar(members, extract_dir=".")
            _download(source, Path(temporary, name), known_hash=f"sha256:{sha}", processor=untar)
            for file, path in absent.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                Path(temporary, source.folder, file.name).rename(path)


def _fault(path: Path, file: SourceFile) -> str:
    """What is wrong with a file; nothing, if it is the published one."""
    try:
        read_file(path, file)
    except DataError as error:
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
    raise DataMissingError(
        f"{source.title}: {path.name} could not be downloaded into {path.parent} ({'; '.join(reasons)}). "
        f"Copy the file there by hand; {', '.join(BUNDLED)} need no download."
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
