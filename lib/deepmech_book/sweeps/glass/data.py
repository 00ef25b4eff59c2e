"""Two classes from ten, in ten principal components: parity of digits, or the paper's split of CIFAR-10."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from deepmech import data as sets
from deepmech.core.random import Stream
from deepmech.core.specs import digest
from deepmech.data import Data, load

_RECIPE = 2
#: All training samples, where that is not what load gives; one of the digits is left for testing.
_ALL = {"digits": 1796}
PLUS = {"cifar10": (0, 2, 4, 6, 8), "cifar10-jpeg": (0, 2, 4, 6, 8)}
"""Classes labelled +1: aeroplane, bird, deer, frog, ship; of digits the even ones, which are the same numbers."""
_TITLES = {"mnist": "MNIST parity", "digits": "digits parity", "cifar10-jpeg": "CIFAR-10 (JPEG-recoded)"}


def title_of(name: str) -> str:
    """What the classes of a data set are called beside results; a name that is not known stands for itself."""
    return _TITLES.get(name, name)


@lru_cache(maxsize=8)
def binary(
    name: str = "digits",
    n_data: int | None = None,
    components: int = 10,
    shuffle: int | None = None,
    whiten: bool = False,
) -> Data:
    """Even against odd digits (of CIFAR-10, the paper's split), reduced to their leading principal components.

    Pixels are standardised each by its own mean and standard deviation (pixels that never change are left out) and
    projected on the leading ``components`` axes of their covariance. An axis's sign is such that its largest entry is
    positive. This is what the authors' program ``binary_PCA_MNIST.py`` does: means, deviations and axes are those of
    *all* training samples, of which the first ``n_data`` of a random order are then taken, and components keep their
    variances: on MNIST 40.5, 29.2, ..., 10.05.

    name : as for :func:`deepmech.data.load`.
    n_data : P_D, how many training samples; None takes all (1,796 digits).
    shuffle : shuffle the labels with this seed: as many of each, and nothing to learn but by heart.
    whiten : make components of the samples used alone, and scale each to unit variance. The program does neither; where
        the book does, a sweep's ``data`` and its page say so.
    """
    x, values, labels, note = _components(name, n_data if whiten else None, components)
    n = len(x) if n_data is None else n_data
    if not 1 <= n <= len(x):
        raise ValueError(f"binary({name!r}): n_data = {n_data!r}: must be a whole number from 1 to {len(x)}")
    x = x / np.sqrt(values) if whiten else x[:n]
    plus = np.isin(labels[:n], PLUS.get(name, (0, 2, 4, 6, 8)))
    if shuffle is not None:
        plus = plus[Stream.of("random labels", shuffle).permutation("labels", 0, len(plus))]
    mark = fingerprint(name, n_data, components, shuffle, whiten)
    return Data(x, np.where(plus, 1.0, -1.0), shape=(components,), fingerprint=mark, note=note)


@lru_cache(maxsize=4)
def _components(name: str, n_data: int | None, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Leading components of so many training samples, their variances, labels, and where they come from."""
    loaded = load(name, n_train=_ALL.get(name) if n_data is None else n_data, n_test=1)
    x = loaded.x_train.astype(float)
    spread = x.std(0)
    x = x[:, spread > 0]
    x -= x.mean(0)
    x /= spread[spread > 0]
    values, axes = np.linalg.eigh(x.T @ x / len(x))
    axes = axes[:, ::-1][:, :components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return x @ axes, values[::-1][:components], loaded.y_train, loaded.note


def fingerprint(
    name: str = "digits",
    n_data: int | None = None,
    components: int = 10,
    shuffle: int | None = None,
    whiten: bool = False,
) -> str:
    """That of :func:`binary`, also where the data set's files are not at hand."""
    n_train = n_data if whiten and n_data is not None else _ALL.get(name)
    recipe: dict[str, object] = {"data": sets.fingerprint(name, n_train=n_train, n_test=1), "components": components}
    recipe |= {"recipe": 1} if whiten else {"recipe": _RECIPE, "n_data": n_data}
    return digest(recipe if shuffle is None else recipe | {"shuffle": shuffle})
