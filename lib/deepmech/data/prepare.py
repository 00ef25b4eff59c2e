"""Datasets by name, as arrays ready for small networks: read or made, split, resampled, with a fingerprint."""

from __future__ import annotations

import hashlib

import numpy as np

from deepmech.core import specs
from deepmech.core.random import Stream
from deepmech.core.specs import digest
from deepmech.data import geomnist
from deepmech.data.catalogue import (
    BUNDLED,
    GEOMNIST,
    SOURCES,
    DataError,
    DataMissingError,
    advice,
    read_file,
    require_name,
)
from deepmech.data.samples import Data

Pair = tuple[np.ndarray, np.ndarray]
"""Images, or rows of features, and their labels."""

__all__ = ["fingerprint", "load", "names", "resize"]

_RECIPE = 1  # part of every fingerprint: raise it when the preparation below changes
_DEFAULT_TRAIN = {"digits": 1000, "diabetes": 342}
_DEFAULT_GEOMNIST = 1500
_DIGITS = (1, 8, 8)


def names() -> tuple[str, ...]:
    """The names that :func:`load` knows; the first four need no download.

    Returns
    -------
    tuple of str

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
    name : str
        One of :func:`names`.
    size : int, optional
        Side in pixels to resample to; None keeps the original. Not for ``diabetes``.
    n_train, n_test : int, optional
        Numbers of samples.
    seed : int
        Chooses the random orders and nothing else; of images made on the spot, also the images.
    split : str
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
    shape: tuple[int, ...]
    content: object  # what the fingerprint knows the raw numbers by
    if name in GEOMNIST:
        n_train, n_test = _counts(name, n_train, n_test)
        parts, note = _generated(name, n_train, n_test, seed)
        shape, scale, content, n_classes = (1, geomnist.SIDE, geomnist.SIDE), 1.0, geomnist.RECIPE, len(geomnist.SHAPES)
    elif name in BUNDLED:
        x, y, shape, scale, n_classes, content, note = _bundled(name)
        n_train, n_test = _split(name, n_train, n_test, len(x))
        order = stream.permutation("split", 0, len(x))
        parts = [(x[i], y[i]) for i in (order[:n_train], order[len(x) - n_test :])]
    else:
        (x, y), (x_test, y_test), shape, content, note = _downloaded(name)
        scale = 255.0
        n_train, n_test = _count(name, "n_train", n_train, len(x)), _count(name, "n_test", n_test, len(x_test))
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

    The content of a file is known by the checksum of the catalogue, and :func:`load` accepts no other.

    Parameters
    ----------
    name, size, n_train, n_test, seed, split
        As for :func:`load`.

    Returns
    -------
    str
        Sixteen hexadecimal digits.

    Raises
    ------
    ValueError
        As :func:`load`, for names and numbers that it would refuse.

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
    files = SOURCES[name].files
    content, held = [f.content_sha256 for f in files], [f.count for f in files if f.kind != "labels"]
    n_train, n_test = _count(name, "n_train", n_train, sum(held[:-1])), _count(name, "n_test", n_test, held[-1])
    return _fingerprint(name, content, size, n_train, n_test, seed, split)


def _canonical(name: str, size: int | None, seed: int, split: str) -> tuple[int | None, int]:
    """Size and seed as whole numbers, in the one form that stands for the same samples."""
    require_name(name, names())
    if split not in ("deepmech", "torch") or (split == "torch" and name not in SOURCES):
        may = "'deepmech' or 'torch'" if name in SOURCES else "'deepmech'; only downloaded data sets have another"
        raise ValueError(f"load({name!r}): split = {split!r}: must be {may}")
    # torch's generators take 64 bits, and -1 for 2^64 - 1.
    seed = specs.check_int(f"load({name!r}): seed", seed, 0, 2**63 - 1)
    if size is not None:
        size = specs.check_int(f"load({name!r}): size", size)
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
    return _count(name, "n_train", train), _count(name, "n_test", test)


def _generated(name: str, n_train: int, n_test: int, seed: int) -> tuple[list[Pair], str]:
    """(images, labels) of GEOMNIST for training and for testing, and what they are."""
    larger, n = max(("n_train", n_train), ("n_test", n_test), key=lambda count: count[1])
    specs.check_memory(f"load({name!r}): {larger}", n, 0.5 * geomnist.SIDE**2 * (n_train + n_test))
    if name == "geomnist":
        placed = geomnist.family(n_train, n_test, seed)
        note = "GEOMNIST, made by this library"
    else:
        placed = geomnist.independent(n_train, seed, "train"), geomnist.independent(n_test, seed, "test")
        note = "GEOMNIST with size, place and angle drawn independently, made by this library"
    return [(geomnist.draw(at), at.label.astype(np.int64)) for at in placed], note


def _bundled(name: str) -> tuple[np.ndarray, np.ndarray, tuple[int, ...], float, int, list[str], str]:
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


def _downloaded(name: str) -> tuple[Pair, Pair, tuple[int, int, int], list[str], str]:
    source = SOURCES[name]
    paths = source.paths()
    if not any(path.exists() for path in paths.values()):
        raise DataMissingError(advice(name, f"no file of it is in {next(iter(paths.values())).parent}"))
    try:
        arrays = [read_file(path, file) for file, path in paths.items()]
    except DataError as error:
        raise type(error)(advice(name, str(error))) from None
    if source.files[0].kind == "cifar":
        records = np.concatenate(arrays[:-1]), arrays[-1]
        train, test = ((r[:, 1:], r[:, 0].astype(np.int64)) for r in records)
    else:
        train, test = (arrays[0], arrays[1].astype(np.int64)), (arrays[2], arrays[3].astype(np.int64))
    note = {
        "cifar10": "CIFAR-10, official files",
        "cifar10-jpeg": "CIFAR-10 (JPEG): in CIFAR-10's layout, but not the official pixels or order",
    }.get(name, f"{source.title}, checksums verified")
    return train, test, source.shape, [file.content_sha256 for file in source.files], note


def _count(name: str, field: str, n: int | None, available: int | None = None) -> int:
    """``n`` as a number of samples, all that are ``available`` for None."""
    if n is None:
        n = available
    return specs.check_int(f"load({name!r}): {field}", n, 1, available)


def _split(name: str, n_train: int | None, n_test: int | None, total: int) -> tuple[int, int]:
    default_train = _DEFAULT_TRAIN[name]
    given = None if n_test is None else _count(name, "n_test", n_test, total - 1)
    train = min(default_train, total - (given or 0)) if n_train is None else _count(name, "n_train", n_train, total - 1)
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

    Each image is resampled on its own.

    Parameters
    ----------
    images : ndarray, (n, channels, height, width)
        float32, in [0, 1].
    size : int
        Side in pixels, at least 1.

    Returns
    -------
    ndarray, (n, channels, size, size)
        float32, in [0, 1].

    Raises
    ------
    ValueError
        For images of another shape, or a size that is no whole number.

    Examples
    --------
    >>> float(resize(np.full((1, 1, 28, 28), 0.5, np.float32), 10).max())
    0.5
    """
    # torch takes seconds to import, and listing or fetching data does not need it.
    import torch

    size = specs.check_int("resize: size", size)
    if np.ndim(images) != 4 or 0 in np.shape(images):
        raise ValueError(f"resize: images have shape {np.shape(images)}: must be (n, channels, height, width)")
    specs.check_memory("resize: size", size, np.prod(images.shape[:2], dtype=float) * size**2 / 2)
    out = np.empty((*images.shape[:2], size, size), np.float32)
    for start in range(0, len(images), 4096):
        chunk = torch.tensor(images[start : start + 4096])
        out[start : start + 4096] = torch.nn.functional.interpolate(
            chunk, size=(size, size), mode="bilinear", align_corners=False, antialias=True
        ).numpy()
    return np.clip(out, 0.0, 1.0, out=out)
