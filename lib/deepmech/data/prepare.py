"""Datasets by name, as arrays ready for small networks; reading their files (the published content, or refused) and
fetching them.

The checksums of MNIST and Fashion-MNIST are of the decompressed content, because the same content circulates in
different gzip wrappings. CIFAR-10 is known both by its archive and by the six files inside it.
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

from deepmech.core import checks
from deepmech.core.files import TEMPORARY
from deepmech.core.random import Stream
from deepmech.core.specs import digest
from deepmech.data import geomnist

_RECIPE = 1  # part of every fingerprint: raise it when the preparation below changes
_DEFAULT_TRAIN = {"digits": 1000, "diabetes": 342}
_DEFAULT_GEOMNIST = 1500
_DIGITS = (1, 8, 8)


@dataclass(frozen=True, eq=False)
class Data:
    """A dataset, split and prepared.

    Attributes
    ----------
    name
        The name it was loaded by.
    x_train, x_test
        float32, shapes (n_train, d) and (n_test, d), in [0, 1] (GEOMNIST: about that); images are flattened channel by
        channel, row by row.
    y_train, y_test
        Classes 0 … n_classes − 1 as int64, or, for regression, targets as float32; shapes (n_train,) and (n_test,).
    n_classes
        Number of classes; 0 for regression.
    fingerprint
        Sixteen hexadecimal digits of the recipe: name, checksums of the raw content, size, split and seed. It does not
        see the rounding of the resampling, so it is the same on every machine.
    note
        One sentence on where the numbers come from, to be shown beside results.
    shape
        Shape of one sample before flattening: (channels, height, width), or (d,).
    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    n_classes: int
    fingerprint: str
    note: str
    shape: tuple[int, ...]


def names() -> tuple[str, ...]:
    """The names that :func:`load` knows; the first four need no download.

    Examples
    --------
    >>> names()[:4]
    ('digits', 'diabetes', 'geomnist', 'geomnist-independent')
    """
    return (*BUNDLED, *SOURCES)


def load(
    name: str,
    size: int | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    split: str = "deepmech",
) -> Data:
    """A dataset by name, resampled and split.

    ``digits`` (1,797 handwritten digits, 8×8) and ``diabetes`` (442 patients, 10 features, regression) come with
    scikit-learn. They have no official split: the patients or digits are put in a random order fixed by ``seed``;
    training samples are taken from its front, test samples from its end, by default 1,000 and 797 digits, or 342 and
    100 patients. ``mnist``, ``fashion-mnist`` and ``cifar10`` are read from the data directory, keep their official
    test set, and give by default everything; a smaller ``n_train`` or ``n_test`` takes the first of a random order
    fixed by ``seed``. In all of these a smaller training set is therefore the beginning of a larger one.

    ``geomnist`` (:mod:`deepmech.data.geomnist`; paper B) is made on the spot, as many images as asked for, by default
    500 of each of its three classes for training and 500 for testing; ``seed`` puts them in another order and blurs
    them anew. Training and test images share one even grid of sizes, places and angles, as in the authors' scripts, so
    that each image depends on both numbers. ``geomnist-independent`` is a harder variant, in which an image's size,
    place and angle are random, each on its own; there a smaller set is the beginning of a larger one.

    Pixels are divided by their largest possible value (16 for digits, 255 otherwise) and not normalised further;
    diabetes features are mapped to [0, 1] by their range over all patients, targets keep their units (25 … 346).
    With ``size``, images are resampled to ``size`` × ``size`` by antialiased bilinear interpolation. Paper A uses
    ``load("mnist", size=10, n_train=2560)``, hence 100 numbers per image (Sec. S3; the resampling is in the authors'
    scripts).

    Parameters
    ----------
    name
        One of :func:`names`.
    size
        Side in pixels to resample to; None keeps the original. Not for ``diabetes``.
    n_train, n_test
        Numbers of samples.
    seed
        Chooses the random orders and nothing else; of images made on the spot, also the images.
    split
        Whose random order training samples of a downloaded data set are taken from: ``"deepmech"``, this library's, or
        ``"torch"``, that of ``torch.utils.data.random_split`` with a generator of this seed. The 2,560 images of paper
        A's program are ``load("mnist", size=10, n_train=2560, seed=1, split="torch")``.

    Returns
    -------
    Data

    Raises
    ------
    ValueError
        For an unknown name (with the list of names), or a size or number that is out of range.
    DataMissingError, DataCorruptError
        Subclasses of ValueError: the files are not there (with the command that fetches them), or one is not what it
        should be (with what is wrong with it).

    Examples
    --------
    >>> digits = load("digits", n_train=500)
    >>> digits.x_train.shape, digits.x_test.shape, digits.n_classes
    ((500, 64), (797, 64), 10)
    """
    size, seed = _canonical(name, size, seed, split)
    stream, n_classes = Stream.of("data", name, seed), 10
    if name in GEOMNIST:
        n_train, n_test = _counts(name, n_train, n_test)
        parts, note = _made(name, n_train, n_test, seed)
        shape, scale, content, n_classes = (1, geomnist.SIDE, geomnist.SIDE), 1.0, geomnist.RECIPE, len(geomnist.SHAPES)
    elif name in BUNDLED:
        x, y, shape, scale, n_classes, content, note = _bundled(name)
        n_train, n_test = _split(name, n_train, n_test, len(x))
        order = stream.permutation("split", 0, len(x))
        parts = [(x[i], y[i]) for i in (order[:n_train], order[len(x) - n_test :])]
    else:
        (x, y), (x_test, y_test), shape, content, note = _downloaded(name)
        scale = 255.0
        n_train, n_test = _take(name, "n_train", n_train, len(x)), _take(name, "n_test", n_test, len(x_test))
        order = _torch_order(len(x), seed) if split == "torch" else stream.permutation("train", 0, len(x))
        chosen, tested = order[:n_train], stream.permutation("test", 0, len(x_test))[:n_test]
        parts = [(x[chosen], y[chosen]), (x_test[tested], y_test[tested])]
    (a, b), (c, d) = ((_prepare(images, shape, scale, size), labels) for images, labels in parts)
    return Data(
        name=name,
        x_train=a,
        y_train=b,
        x_test=c,
        y_test=d,
        n_classes=n_classes,
        fingerprint=_fingerprint(name, content, size, n_train, n_test, seed, split),
        note=note if size is None else f"{note}; resampled to {size}×{size} (antialiased bilinear)",
        shape=shape if size is None else (shape[0], size, size),
    )


def fingerprint(
    name: str,
    size: int | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    split: str = "deepmech",
) -> str:
    """The fingerprint that :func:`load` would give; of a downloaded dataset, also where its files are not at hand.

    The published content of a file is known by its checksum, and :func:`load` accepts no other. Where copies may differ
    (``cifar10-jpeg``) it is that of the files here, and without any of the copy that shipped results were made from.

    Examples
    --------
    >>> fingerprint("digits", n_train=500) == load("digits", n_train=500).fingerprint
    True
    """
    size, seed = _canonical(name, size, seed, split)
    if name in GEOMNIST:
        return _fingerprint(name, geomnist.RECIPE, size, *_counts(name, n_train, n_test), seed)
    if name not in SOURCES:
        return load(name, size, n_train, n_test, seed, split).fingerprint
    source = SOURCES[name]
    paths = source.paths()
    here = any(path.exists() for path in paths.values())
    try:
        content = [f.content_sha256 or (not here and f.ours_sha256) or checksum(p, f) for f, p in paths.items()]
    except DataError as error:
        raise type(error)(_advice(name, str(error))) from None
    held = [f.count for f in source.files if f.kind != "labels"]
    n_train, n_test = _take(name, "n_train", n_train, sum(held[:-1])), _take(name, "n_test", n_test, held[-1])
    return _fingerprint(name, content, size, n_train, n_test, seed, split)


def _canonical(name: str, size: int | None, seed: int, split: str) -> tuple[int | None, int]:
    """Size and seed as whole numbers, in the one form that stands for the same samples."""
    require_name(name, names())
    if split not in ("deepmech", "torch") or (split == "torch" and name not in SOURCES):
        may = "'deepmech' or 'torch'" if name in SOURCES else "'deepmech'; only downloaded data sets have another"
        raise ValueError(f"load({name!r}): split = {split!r}: must be {may}")
    # torch's generators take 64 bits, and -1 for 2^64 - 1.
    seed = checks.check_int(f"load({name!r}): seed", seed, 0, 2**63 - 1)
    if size is not None:
        size = checks.check_int(f"load({name!r}): size", size)
        if name == "diabetes":
            raise ValueError(f"load('diabetes'): size = {size!r}: patients are not images; leave size out")
        own = SOURCES[name].shape[1] if name in SOURCES else geomnist.SIDE if name in GEOMNIST else _DIGITS[1]
        size = None if size == own else size
    return size, seed


def _fingerprint(
    name: str, content: object, size: int | None, n_train: int, n_test: int, seed: int, split: str = "deepmech"
) -> str:
    recipe = {"name": name, "content": content, "size": size, "split": [n_train, n_test], "seed": seed}
    return digest({**recipe, "recipe": _RECIPE} | ({"order": split} if split != "deepmech" else {}))


def _torch_order(n: int, seed: int) -> np.ndarray:
    """The order in which ``torch.utils.data.random_split`` deals out n samples."""
    import torch

    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).numpy()


def _counts(name: str, n_train: int | None, n_test: int | None) -> tuple[int, int]:
    """How many images of GEOMNIST are made for training and for testing."""
    train, test = (_DEFAULT_GEOMNIST if n is None else n for n in (n_train, n_test))
    return _take(name, "n_train", train), _take(name, "n_test", test)


def _made(name: str, n_train: int, n_test: int, seed: int):
    """(images, labels) of GEOMNIST for training and for testing, and what they are."""
    if name == "geomnist":
        placed = geomnist.family(n_train, n_test, seed)
        note = "GEOMNIST, made by this library"
    else:
        placed = geomnist.independent(n_train, seed, "train"), geomnist.independent(n_test, seed, "test")
        note = "GEOMNIST with size, place and angle drawn independently, made by this library"
    return [(geomnist.draw(at), at.label.astype(np.int64)) for at in placed], note


def _bundled(name: str):
    # scikit-learn is slow to import and only these two names need it.
    from sklearn import datasets

    if name == "digits":
        bunch = datasets.load_digits()
        x, y = bunch.images.astype(np.uint8), bunch.target.astype(np.int64)
        shape: tuple[int, ...] = _DIGITS
        scale, n_classes, note = 16.0, 10, "UCI handwritten digits as bundled with scikit-learn"
    else:
        bunch = datasets.load_diabetes(scaled=False)
        low, high = bunch.data.min(axis=0), bunch.data.max(axis=0)
        x, y, shape, scale = (bunch.data - low) / (high - low), bunch.target.astype(np.float32), (10,), 1.0
        n_classes = 0
        note = "Diabetes (442 patients) as bundled with scikit-learn, features mapped to [0, 1] by their range"
    content = hashlib.sha256(np.round(bunch.data, 6).astype("<f8").tobytes() + y.astype("<f8").tobytes()).hexdigest()
    return x, y, shape, scale, n_classes, [content], note


def _downloaded(name: str):
    source = SOURCES[name]
    paths = source.paths()
    if not any(path.exists() for path in paths.values()):
        raise DataMissingError(_advice(name, f"no file of it is in {next(iter(paths.values())).parent}"))
    try:
        arrays, content = zip(*(read(path, f) for f, path in paths.items()), strict=True)
    except DataError as error:
        raise type(error)(_advice(name, str(error))) from None
    if source.files[0].kind == "cifar":
        records = np.concatenate(arrays[:-1]), arrays[-1]
        train, test = ((r[:, 1:], r[:, 0].astype(np.int64)) for r in records)
    else:
        train, test = (arrays[0], arrays[1].astype(np.int64)), (arrays[2], arrays[3].astype(np.int64))
    note = {
        "cifar10": "CIFAR-10, official files",
        "cifar10-jpeg": "CIFAR-10 (JPEG): in CIFAR-10's layout, but not the official pixels or order",
    }.get(name, f"{source.title}, checksums verified")
    return train, test, source.shape, list(content), note


def _advice(name: str, problem: str) -> str:
    bundled = f"{', '.join(BUNDLED)} need no download"
    if name == "cifar10-jpeg":
        return f"dataset 'cifar10-jpeg': {problem}. It is not downloadable: use 'cifar10' instead; {bundled}."
    text = f"dataset {name!r}: {problem}. Run `deepmech data fetch {name}` to get it; {bundled}."
    if name == "cifar10" and "sha256" in problem:
        text += " If these are copies in the official layout, load 'cifar10-jpeg' and show that name beside results."
    return text


def _take(name: str, field: str, n: int | None, available: int | None = None) -> int:
    """``n`` as a number of samples, all that are ``available`` for None."""
    if n is None:
        n = available
    return checks.check_int(f"load({name!r}): {field}", n, 1, available)


def _split(name: str, n_train: int | None, n_test: int | None, total: int) -> tuple[int, int]:
    default_train = _DEFAULT_TRAIN[name]
    given = None if n_test is None else _take(name, "n_test", n_test, total - 1)
    train = min(default_train, total - (given or 0)) if n_train is None else _take(name, "n_train", n_train, total - 1)
    test = min(total - default_train, total - train) if given is None else given
    if train + test > total:
        raise ValueError(f"load({name!r}): n_train = {train} and n_test = {test} need more than its {total} samples")
    return train, test


def _prepare(raw: np.ndarray, shape: tuple[int, ...], scale: float, size: int | None) -> np.ndarray:
    x = np.divide(raw, scale, dtype=np.float64 if raw.dtype == np.float64 else np.float32)
    x = x.astype(np.float32, copy=False).reshape(len(x), *shape)
    if size is not None and shape[1:] != (size, size):
        x = resize(x, size)
    return x.reshape(len(x), -1)


def resize(images: np.ndarray, size: int) -> np.ndarray:
    """Images resampled to ``size`` × ``size`` pixels by antialiased bilinear interpolation.

    Both are float32 of shape (n, channels, height, width), in [0, 1]; each image is resampled on its own.

    Examples
    --------
    >>> float(resize(np.full((1, 1, 28, 28), 0.5, np.float32), 10).max())
    0.5
    """
    # torch takes seconds to import, and listing or fetching data does not need it.
    import torch

    out = np.empty((*images.shape[:2], size, size), np.float32)
    for start in range(0, len(images), 4096):
        chunk = torch.tensor(images[start : start + 4096])
        out[start : start + 4096] = torch.nn.functional.interpolate(
            chunk, size=(size, size), mode="bilinear", align_corners=False, antialias=True
        ).numpy()
    return np.clip(out, 0.0, 1.0, out=out)


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

CIFAR_RECORD = 1 + 3 * 32 * 32
#: Bytes that a file may have and may unpack to: MNIST's training images are 47 million.
_LARGEST = 2**26


class DataError(ValueError):
    """A dataset cannot be given."""


class DataMissingError(DataError):
    """A dataset's files are not on this machine."""


class DataCorruptError(DataError):
    """A dataset's file is there, but is not what it should be."""


def read(path: Path, source: SourceFile) -> tuple[np.ndarray, str]:
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
        raise DataCorruptError(f"{path}: cut, damaged or no gzip file ({error or 'empty'})") from None


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
    """The table that ``deepmech data status`` shows: one line per dataset, and the data directory above it."""
    chosen = "DEEPMECH_DATA" if os.environ.get("DEEPMECH_DATA") else "default; set DEEPMECH_DATA to change it"
    rows = [(name, state(name)) for name in (*BUNDLED, *SOURCES)]
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"data directory: {data_directory()} ({chosen})", *(f"{n:<{width}}  {s}" for n, s in rows)])


def cli_fetch(names: Iterable[str]) -> str:
    """Download what is missing or broken of the named datasets; the text that ``deepmech data fetch NAMES`` shows.

    Files whose content is already right are left alone. An interrupted download leaves nothing that a later load would
    trust: the checksums of the catalogue are compared whenever a file is read. A ValueError for an unknown name, or one
    that cannot be downloaded; a DataMissingError if no mirror gave a file, with each mirror's reason.
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
        read(path, file)
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
