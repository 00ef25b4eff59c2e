"""Two classes from ten: parity of digits, the paper's split of CIFAR-10; standardised, reduced to ten components."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepmech import data as sets
from deepmech.core.random import Stream
from deepmech.core.spec import digest
from deepmech.data import load

_RECIPE = 1
PLUS = {"cifar10": (0, 2, 4, 6, 8), "cifar10-jpeg": (0, 2, 4, 6, 8)}
"""Classes labelled +1: aeroplane, bird, deer, frog, ship; of digits the even ones, which are the same numbers."""
_TITLES = {"mnist": "MNIST parity", "digits": "digits parity", "cifar10-jpeg": "CIFAR-10 (JPEG-recoded)"}


def title_of(name: str) -> str:
    """What the classes of a data set are called beside results; a name that is not known stands for itself."""
    return _TITLES.get(name, name)


@dataclass(frozen=True, eq=False)
class Binary:
    """``x`` (P_D, d) float64, ``y`` (P_D,) ±1, and where they come from."""

    x: np.ndarray
    y: np.ndarray
    fingerprint: str
    note: str


@lru_cache(maxsize=8)
def binary(name: str = "digits", n_data: int | None = None, components: int = 10, shuffle: int | None = None) -> Binary:
    """Even against odd digits (of CIFAR-10, the paper's split), reduced to their leading principal components.

    Pixels are standardised each by its own mean and standard deviation over the training samples used (pixels that
    never change are left out), then projected on the leading ``components`` axes of their covariance, and each
    component is scaled to unit variance. An axis's sign is such that its largest entry is positive.

    Parameters
    ----------
    name : as for :func:`deepmech.data.load`.
    n_data : P_D, how many training samples; None takes all (1,797 digits).
    shuffle : deal the labels out anew, in an order with this seed: as many of each, and nothing to learn but by heart.

    Examples
    --------
    >>> data = binary("digits", 500)
    >>> data.x.shape, sorted(set(data.y.tolist()))
    ((500, 10), [-1.0, 1.0])
    """
    loaded = load(name, n_train=_size(name, n_data), n_test=1)
    x = loaded.x_train.astype(float)
    spread = x.std(0)
    x = (x[:, spread > 0] - x[:, spread > 0].mean(0)) / spread[spread > 0]
    values, axes = np.linalg.eigh(x.T @ x / len(x))
    axes = axes[:, ::-1][:, :components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    x = x @ axes / np.sqrt(values[::-1][:components])
    plus = np.isin(loaded.y_train, PLUS.get(name, (0, 2, 4, 6, 8)))
    if shuffle is not None:
        plus = plus[Stream.of("random labels", shuffle).permutation("labels", 0, len(plus))]
    mark = _mark(loaded.fingerprint, components, shuffle)
    return Binary(x, np.where(plus, 1.0, -1.0), mark, loaded.note)


def fingerprint(
    name: str = "digits", n_data: int | None = None, components: int = 10, shuffle: int | None = None
) -> str:
    """That of :func:`binary`, also where the data set's files are not at hand.

    Examples
    --------
    >>> fingerprint("digits", 500) == binary("digits", 500).fingerprint
    True
    """
    return _mark(sets.fingerprint(name, n_train=_size(name, n_data), n_test=1), components, shuffle)


def _size(name: str, n_data: int | None) -> int | None:
    return 1796 if name == "digits" and n_data is None else n_data


def _mark(of: str, components: int, shuffle: int | None) -> str:
    recipe: dict[str, object] = {"data": of, "components": components, "recipe": _RECIPE}
    return digest(recipe if shuffle is None else recipe | {"shuffle": shuffle})
