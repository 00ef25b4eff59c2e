"""What is known of each downloadable dataset: its files, their checksums, the mirrors that serve them.

The checksums of MNIST and Fashion-MNIST are of the decompressed content, because the same content circulates in
different gzip wrappings. CIFAR-10 is known both by its archive and by the six files inside it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pooch


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
    """Where downloaded data lie: the environment variable ``DEEPMECH_DATA``, or this user's cache folder."""
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
