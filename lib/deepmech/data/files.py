"""Reading dataset files: absent, or exactly the published content, or refused."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np

from deepmech.data.catalogue import SourceFile

CIFAR_RECORD = 1 + 3 * 32 * 32
#: Bytes that a file may have and may unpack to: MNIST's training images are 47 million.
_LARGEST = 2**26


class DataError(ValueError):
    """A dataset cannot be given."""


class DataMissing(DataError):
    """A dataset's files are not on this machine."""


class DataCorrupt(DataError):
    """A dataset's file is there, but is not what it should be."""


def read(path: Path, source: SourceFile) -> tuple[np.ndarray, str]:
    """The array of one dataset file, with the sha256 of its decompressed content.

    Images come as (count, height, width), labels as (count,), CIFAR-10 records as (count, 3073), all uint8. The content
    has the checksum of the catalogue; of copies of which none was published (``cifar10-jpeg``), the layout.

    Raises
    ------
    DataMissing
        If there is no such file.
    DataCorrupt
        If it is cut, damaged, or another file.
    """
    if not path.is_file():
        raise DataMissing(f"{path.name}: not in {path.parent}")
    if (size := path.stat().st_size) > _LARGEST:
        raise DataCorrupt(f"{path}: {size} bytes; no file of the catalogue has so many")
    content = path.read_bytes()
    if source.kind != "cifar":
        content = _gunzip(content, path)
    sha = hashlib.sha256(content).hexdigest()
    if source.content_sha256 not in (None, sha):
        raise DataCorrupt(f"{path}: cut, damaged or another file: sha256 of its content is {sha}")
    if source.kind == "cifar":
        if len(content) != source.count * CIFAR_RECORD:
            raise DataCorrupt(f"{path}: {len(content)} bytes instead of {source.count * CIFAR_RECORD}")
        records = np.frombuffer(content, np.uint8).reshape(source.count, CIFAR_RECORD)
        if (label := records[:, 0].max()) > 9:
            raise DataCorrupt(f"{path}: holds the label {label}; ten classes have labels 0 to 9")
        return records, sha
    # IDX: two zero bytes, a type, the number of dimensions, big-endian sizes, the values.
    sizes = np.frombuffer(content, ">u4", content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes), sha


def checksum(path: Path, source: SourceFile) -> str:
    """The sha256 of a file's decompressed content, which is read and checked once, until the file changes."""
    state = path.stat() if path.is_file() else None
    return _checksum(path, source, *(state.st_size, state.st_mtime_ns) if state else ())


@cache
def _checksum(path: Path, source: SourceFile, *_: int) -> str:
    return read(path, source)[1]


def _gunzip(raw: bytes, path: Path) -> bytes:
    try:
        with gzip.open(BytesIO(raw)) as stream:
            return stream.read(_LARGEST)  # what unpacks to more is not what was published
    except (OSError, EOFError, zlib.error) as error:
        raise DataCorrupt(f"{path}: cut, damaged or no gzip file ({error or 'empty'})") from None
