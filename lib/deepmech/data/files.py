"""Reading dataset files and telling apart what can be wrong with one: absent, cut short, damaged, or another file."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np

from deepmech.data.catalogue import SOURCES, SourceFile

_UNSIGNED_BYTE = 0x08
_KIND_OF_DIMENSIONS = {1: "labels", 3: "images"}
CIFAR_RECORD = 1 + 3 * 32 * 32
#: Bytes that a file may have and may unpack to: MNIST's training images are 47 million.
_LARGEST = 2**26


class DataError(ValueError):
    """A dataset cannot be given."""


class DataMissing(DataError):
    """A dataset's files are not on this machine."""


class DataCorrupt(DataError):
    """A dataset's file is there, but is not what it should be."""


def parse_idx(content: bytes, where: str = "IDX data") -> np.ndarray:
    """The array in an IDX file's bytes: two zero bytes, a type byte, a dimension count, big-endian sizes, the values.

    ``content`` is the decompressed file, and the array, of uint8, a read-only view of it; ``where`` is what errors call
    it. DataCorrupt is raised for a wrong magic number, a type other than unsigned byte, more than three sizes or one of
    zero, or fewer or more values than the header promises.

    Examples
    --------
    >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 7])).tolist()
    [5, 7]
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[3] == 0:
        raise DataCorrupt(f"{where}: starts with bytes {content[:4].hex(' ')!r}, which is not an IDX magic number")
    if content[2] != _UNSIGNED_BYTE:
        raise DataCorrupt(f"{where}: IDX type 0x{content[2]:02x}; only unsigned bytes (0x08) are expected here")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise DataCorrupt(f"{where}: truncated inside its header ({len(content)} of {start} bytes)")
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", content[3], offset=4))
    if len(shape) > max(_KIND_OF_DIMENSIONS) or 0 in shape:
        raise DataCorrupt(f"{where}: its header promises an array of sizes {shape[:4]}; images have three, none zero")
    expected = start + int(np.prod(shape, dtype=object))
    if len(content) < expected:
        raise DataCorrupt(f"{where}: truncated, {len(content)} of the {expected} bytes that its header promises")
    if len(content) > expected:
        raise DataCorrupt(f"{where}: {len(content) - expected} bytes more than its header promises")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def read(path: Path, source: SourceFile) -> tuple[np.ndarray, str]:
    """The checked array of one dataset file, with the sha256 of its decompressed content.

    Images come as (count, height, width), labels as (count,), CIFAR-10 records as (count, 3073), all uint8.

    DataMissing is raised if there is no such file, DataCorrupt if it is truncated, damaged, another file of the
    catalogue, or not the published content.
    """
    if not path.is_file():
        raise DataMissing(f"{path.name}: not in {path.parent}")
    if (size := path.stat().st_size) > _LARGEST:
        raise DataCorrupt(f"{path}: {size} bytes; no file of the catalogue has so many")
    raw = path.read_bytes()
    if source.kind == "cifar":
        content, array = raw, _cifar_records(raw, path, source)
        sha = hashlib.sha256(raw).hexdigest()
        _check_content(sha, path, source)
    else:
        content = _gunzip(raw, path)
        array = parse_idx(content, str(path))
        sha = hashlib.sha256(content).hexdigest()
        _check_kind(array, path, source)
        _check_content(sha, path, source)
    labels = array if source.kind == "labels" else array[:, 0] if source.kind == "cifar" else None
    if labels is not None and labels.max(initial=0) > 9:
        raise DataCorrupt(f"{path}: holds the label {labels.max()}; ten classes have labels 0 to 9")
    return array, sha


def checksum(path: Path, source: SourceFile) -> str:
    """The sha256 of a file's decompressed content, which is read and checked once, until the file changes."""
    state = path.stat() if path.is_file() else None
    return _checksum(path, source, *(state.st_size, state.st_mtime_ns) if state else ())


@cache
def _checksum(path: Path, source: SourceFile, *_: int) -> str:
    return read(path, source)[1]


def _gunzip(raw: bytes, path: Path) -> bytes:
    if raw[:2] != b"\x1f\x8b":
        what = "empty" if not raw else "a web page" if raw.lstrip()[:1] == b"<" else "not a gzip file"
        raise DataCorrupt(f"{path}: {what}")
    try:
        with gzip.open(BytesIO(raw)) as stream:
            content = stream.read(_LARGEST + 1)
    except EOFError:
        raise DataCorrupt(
            f"{path}: truncated or half downloaded, its gzip stream ends early ({len(raw)} bytes)"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataCorrupt(f"{path}: damaged ({error})") from None
    if len(content) > _LARGEST:
        raise DataCorrupt(f"{path}: {len(raw)} bytes unpack to more than {_LARGEST}; no file of the catalogue does")
    return content


def _check_kind(array: np.ndarray, path: Path, source: SourceFile) -> None:
    kind = _KIND_OF_DIMENSIONS.get(array.ndim, f"an array of {array.ndim} dimensions")
    if kind != source.kind:
        raise DataCorrupt(f"{path}: holds {kind} where {source.kind} are expected; were two files swapped?")
    if len(array) != source.count:
        raise DataCorrupt(
            f"{path}: holds {len(array)} {source.kind}, expected {source.count}; were training and test files swapped?"
        )


def _check_content(sha: str, path: Path, source: SourceFile) -> None:
    if source.content_sha256 in (None, sha):
        return
    for other in (f for s in SOURCES.values() for f in s.files):
        if other.content_sha256 == sha:
            raise DataCorrupt(f"{path}: holds the content of {other.name}; were two files swapped?")
    raise DataCorrupt(f"{path}: sha256 of its content is {sha}, expected {source.content_sha256}")


def _cifar_records(raw: bytes, path: Path, source: SourceFile) -> np.ndarray:
    expected = source.count * CIFAR_RECORD
    if len(raw) != expected:
        state = "truncated or half downloaded" if len(raw) < expected else "too long"
        raise DataCorrupt(f"{path}: {state}, {len(raw)} bytes instead of {expected}")
    return np.frombuffer(raw, np.uint8).reshape(source.count, CIFAR_RECORD)
