"""Data and settings of the LeNet experiments: what the authors' scripts use on each data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from deepmech import data as sets
from deepmech.core.random import Stream
from deepmech.core.specs import digest
from deepmech.data import Data, load
from deepmech.data.catalogue import GEOMNIST


@dataclass(frozen=True)
class Setting:
    """What the authors' scripts use on one data set."""

    learning_rate: float
    iterations: int
    per_class: int
    validation: int


SETTINGS = {
    "geomnist": Setting(learning_rate=0.005, iterations=10_000, per_class=500, validation=500),
    "cifar10": Setting(learning_rate=0.001, iterations=30_000, per_class=5000, validation=1000),
}
SETTINGS["geomnist-independent"], SETTINGS["cifar10-jpeg"] = SETTINGS["geomnist"], SETTINGS["cifar10"]


@lru_cache(maxsize=8)
def images(
    dataset: str, n_classes: int, per_class: int, validation: int, seed: int = 0, replacement: bool = False
) -> Data:
    """The first ``n_classes`` classes of a data set with that many training and validation samples of each.

    Another ``seed`` makes other images. With ``replacement`` samples are drawn from all of a class, each one as often
    as it comes, as the authors' program does with photographs; otherwise they are the first ones. Pixels of GEOMNIST
    are left as they are drawn; those of CIFAR-10 are moved to [-1, 1], as is usual for this network.
    """
    if dataset not in SETTINGS:
        raise ValueError(f"images: dataset = {dataset!r}: must be one of {', '.join(SETTINGS)}")
    generated = dataset in GEOMNIST
    n_train, n_test = _sizes(dataset, per_class, validation)
    whole = load(dataset, n_train=n_train, n_test=n_test, seed=seed)
    if not 2 <= n_classes <= whole.n_classes:
        raise ValueError(f"images: n_classes = {n_classes!r}: {dataset} has 2 to {whole.n_classes}")
    parts = {}
    for split, n in (("train", per_class), ("test", validation)):
        labels = getattr(whole, f"y_{split}")
        own = [np.flatnonzero(labels == k) for k in range(n_classes)]
        short = min(len(o) for o in own)
        if not 1 <= n <= short:
            raise ValueError(f"images: {n} samples per class to {split}: {dataset} has 1 to {short}")
        if replacement:
            dice = Stream.of("images with replacement", dataset, seed)
            own = [o[(len(o) * dice.uniform(f"{split} {k}", 0, n)).astype(int)] for k, o in enumerate(own)]
        chosen = np.sort(np.concatenate([o[:n] for o in own]))
        x = getattr(whole, f"x_{split}")[chosen]
        parts[f"x_{split}"], parts[f"y_{split}"] = x if generated else 2 * x - 1, labels[chosen]
    mark = _mark(whole.fingerprint, n_classes, per_class, validation, replacement)
    return replace(whole, **parts, n_classes=n_classes, fingerprint=mark)


def fingerprint(dataset: str, n_classes: int, per_class: int, validation: int, *, replacement: bool = False) -> str:
    """That of :func:`images`, also where the data set's files are not at hand.

    >>> fingerprint("geomnist", 2, 10, 5) == images("geomnist", 2, 10, 5).fingerprint
    True
    """
    n_train, n_test = _sizes(dataset, per_class, validation)
    whole = sets.fingerprint(dataset, n_train=n_train, n_test=n_test)
    return _mark(whole, n_classes, per_class, validation, replacement)


def _sizes(dataset: str, per_class: int, validation: int) -> tuple[int | None, int | None]:
    return (3 * per_class, 3 * validation) if dataset in GEOMNIST else (None, None)


def _mark(of: str, n_classes: int, per_class: int, validation: int, replacement: bool) -> str:
    setting = {"of": of, "classes": n_classes, "per_class": per_class, "validation": validation}
    return digest(setting | ({"replacement": True} if replacement else {}))
