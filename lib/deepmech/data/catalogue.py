"""Datasets that are downloaded: what each file must hold, where it comes from, and reading it.

Pooch fetches the files, and :func:`read_file` judges them: the checksums of MNIST and Fashion-MNIST are of the
decompressed content, which circulates in different gzip wrappings. CIFAR-10 is known both by its archive and by the six
files inside it.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pooch

__all__ = [
    "BUNDLED", "GEOMNIST", "SOURCES", "DataCorruptError", "DataError", "DataMissingError", "Source", "SourceFile",
    "advice", "cli_fetch", "cli_status", "data_directory", "fetch", "read_file", "require_name",
    "state",
]  # fmt: skip


@dataclass(frozen=True)
class SourceFile:
    """One file of a dataset; ``content_sha256`` is of what it holds, unpacked."""

    name: str
    kind: Literal["images", "labels", "cifar"]
    count: int
    content_sha256: str


@dataclass(frozen=True)
class Source:
    """A dataset that has to be downloaded: where it lies under the data directory and how to get it.

    ``url`` is the address of the folder that holds the files; empty if they are nowhere. ``archive`` is the name and
    checksum of a tar file that holds all ``files``; without it each is served on its own.
    """

    title: str
    folder: str
    files: tuple[SourceFile, ...]
    url: str
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


_IDX: dict[str, tuple[Literal["images", "labels"], int]] = {
    "train-images-idx3-ubyte.gz": ("images", 60_000),
    "train-labels-idx1-ubyte.gz": ("labels", 60_000),
    "t10k-images-idx3-ubyte.gz": ("images", 10_000),
    "t10k-labels-idx1-ubyte.gz": ("labels", 10_000),
}
_BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")


def _digits(title: str, folder: str, url: str, *contents: str) -> Source:
    files = (SourceFile(name, *of, sha) for (name, of), sha in zip(_IDX.items(), contents, strict=True))
    return Source(title, folder, tuple(files), url, (1, 28, 28))


def _cifar(title: str, url: str, archive: tuple[str, str] | None, *contents: str) -> Source:
    files = (SourceFile(name, "cifar", 10_000, sha) for name, sha in zip(_BATCHES, contents, strict=True))
    return Source(title, "cifar-10-batches-bin", tuple(files), url, (3, 32, 32), archive)


SOURCES: dict[str, Source] = {
    "mnist": _digits(
        "MNIST", "mnist", "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion-mnist": _digits(
        "Fashion-MNIST", "fashion-mnist",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    "cifar10": _cifar(
        "CIFAR-10", "https://www.cs.toronto.edu/~kriz/",
        ("cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    ),
    # CIFAR-10's layout with pixels that went through another encoding, as shipped results were made from: readable, but
    # never under CIFAR-10's own name.
    "cifar10-jpeg": _cifar(
        "CIFAR-10 (JPEG)", "", None,
        "a6f48cd4d8745d5b80b6a0f7665654d54e1aacda199a3a966cb7958b11d38f22",
        "0fedfbc7e914d425128b1bd02ce525bb46d91e8501ef68fa7212b115ee833d29",
        "98224e1a8a07e8e89e999b20ca6cde6227368fe22adde323001e2bd951a6377b",
        "d15e189b4939a25320baf2370f8a90a276205c86ec9ba1a7078ee110750e4f60",
        "0c8c18d4d4520b54624388692c1c184a98d73ef1166ddcf5346e47a937e283b8",
        "2696e48ae3fe74d50ecaacc0b8092b89bf95cd3f6471d079f4cbd39a956c18c3",
    ),
}  # fmt: skip
GEOMNIST = ("geomnist", "geomnist-independent")
BUNDLED = ("digits", "diabetes", *GEOMNIST)


class DataError(ValueError):
    """A dataset cannot be given."""


class DataMissingError(DataError):
    """A dataset's files are not on this machine."""


class DataCorruptError(DataError):
    """A dataset's file is there, but is not what it should be."""


def read_file(path: Path, source: SourceFile) -> np.ndarray:
    """The array of one dataset file, whose decompressed content has the checksum of the catalogue.

    Images come as (count, height, width), labels as (count,), CIFAR-10 records as (count, 3073), all uint8.

    Raises
    ------
    DataMissingError
        If there is no such file.
    DataCorruptError
        If it is cut, damaged, or another file.
    """
    if not path.is_file():
        raise DataMissingError(f"{path.name}: not in {path.parent}")
    most = source.count * 3073 + 16  # bytes of the largest image, its label, and what stands before all of them
    try:
        with path.open("rb") if source.kind == "cifar" else gzip.open(path) as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataCorruptError(f"{path}: cut, damaged or no gzip file ({error or 'empty'})") from None
    if len(content) > most:
        raise DataCorruptError(f"{path}: another file: it holds more than {most:,} bytes")
    if (sha := hashlib.sha256(content).hexdigest()) != source.content_sha256:
        known = [name for name, one in SOURCES.items() if sha in [file.content_sha256 for file in one.files]]
        also = f", as of a file of {known[0]!r}" if known else ""
        raise DataCorruptError(f"{path}: cut, damaged or another file: sha256 of its content is {sha}{also}")
    if source.kind == "cifar":
        return np.frombuffer(content, np.uint8).reshape(source.count, -1)
    # IDX: two zero bytes, a type, the number of dimensions, big-endian sizes, the values.
    sizes = np.frombuffer(content, ">u4", content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes)


def advice(name: str, problem: str) -> str:
    bundled = f"{', '.join(BUNDLED)} need no download"
    if name == "cifar10-jpeg":
        return f"dataset 'cifar10-jpeg': {problem}. It is not downloadable: use 'cifar10' instead; {bundled}."
    if name == "cifar10" and "'cifar10-jpeg'" in problem:
        return (
            f"dataset 'cifar10': {problem}. Load 'cifar10-jpeg' and show that name beside results, or move its files "
            f"away and run `deepmech data fetch cifar10`; {bundled}."
        )
    return f"dataset {name!r}: {problem}. Run `deepmech data fetch {name}` to get it; {bundled}."


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
        return f"absent: deepmech data fetch {name}" if source.url else "absent (not downloadable)"
    if fault := next(filter(None, (_fault(path, file) for file, path in source.paths().items())), ""):
        return f"not whole: {fault}"
    return "ready (checksums agree)" if source.url else "ready (checksums agree, pixels not the official ones)"


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
        If a file could not be downloaded, or is another.

    Examples
    --------
    >>> cli_fetch(["digits"])
    'digits: ready (bundled with scikit-learn)'
    """
    names = tuple(names)
    for name in names:
        require_name(name, (*BUNDLED, *SOURCES))
        if name in SOURCES and not SOURCES[name].url:
            raise ValueError(advice(name, "nobody published it"))
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
            _download(source, path)
            if fault := _fault(path, file):
                path.unlink()
                raise DataMissingError(f"{source.title}: {source.url} has another file than was published: {fault}")
    elif absent:
        name, sha = source.archive
        members = [f"{source.folder}/{file.name}" for file in absent]
        data_directory().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=data_directory()) as temporary:
            _download(source, Path(temporary, name), f"sha256:{sha}", processor=pooch.Untar(members, extract_dir="."))
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


def _download(source: Source, path: Path, known_hash: str | None = None, **how: Any) -> None:
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    try:
        pooch.retrieve(source.url + path.name, known_hash, path.name, path.parent, downloader=downloader, **how)
    except (OSError, ValueError) as error:  # unreachable (requests' errors are OSErrors), disk full, wrong checksum
        raise DataMissingError(
            f"{source.title}: {path.name} could not be downloaded into {path.parent} ({error}). "
            f"Copy the file there by hand; {', '.join(BUNDLED)} need no download."
        ) from error
