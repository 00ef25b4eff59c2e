"""Small datasets in the official layouts, made on the spot, with a catalogue that knows their checksums."""

import gzip
import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest

from deepmech.core.random import Stream
from deepmech.data import catalogue

SIZES = {"train": 30, "t10k": 20}


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def contents() -> dict[str, bytes]:
    """File name -> gzip file of a small MNIST look-alike: images of noise, labels in turn."""
    stream = Stream.of("test data", 0)
    out = {}
    for split, n in SIZES.items():
        images = (stream.uniform(f"{split} images", 0, (n, 28, 28)) * 256).astype(np.uint8)
        out[f"{split}-images-idx3-ubyte.gz"] = gzip.compress(idx(images), mtime=0)
        out[f"{split}-labels-idx1-ubyte.gz"] = gzip.compress(idx(np.arange(n) % 10), mtime=0)
    return out


@pytest.fixture
def small(monkeypatch, tmp_path, contents):
    """A data directory of its own, and a catalogue in which MNIST and Fashion-MNIST are the small look-alike."""
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))

    def shrink(source):
        known = []
        for file in source.files:
            content = hashlib.sha256(gzip.decompress(contents[file.name])).hexdigest()
            known.append(replace(file, count=SIZES[file.name.split("-")[0]], content_sha256=content))
        return replace(source, files=tuple(known))

    monkeypatch.setitem(catalogue.SOURCES, "mnist", shrink(catalogue.MNIST))
    monkeypatch.setitem(catalogue.SOURCES, "fashion-mnist", shrink(catalogue.FASHION))
    return tmp_path


@pytest.fixture
def installed(small, contents):
    """The small MNIST and Fashion-MNIST, lying where they belong."""
    for folder in ("mnist", "fashion-mnist"):
        (small / folder).mkdir()
        for name, raw in contents.items():
            (small / folder / name).write_bytes(raw)
    return small
