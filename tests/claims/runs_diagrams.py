"""Diagrams of networks made up for pairs, whose rank correlations are known: orders of cells rather than shapes."""

from functools import cache
from itertools import permutations

import numpy as np
import xarray as xr

from deepmech_book.sweeps.spring_block.networks import PANELS, SLOPES

N = 10
"""Networks of a cell."""


@cache
def orders(n):
    """Ranks in which one or two pairs of neighbours are alike, by the sum of squares of distances from their places.

    Apart, a pair rises or falls by one, and the sum is one less or one more.
    """
    found = {}
    for order in permutations(range(n)):
        rising = [i for i in range(n - 1) if order[i + 1] == order[i] + 1]
        for pairs in ([rising[:1]] if rising else []) + ([rising[:: len(rising) - 1]] if len(rising) > 1 else []):
            ranks = np.array(order, float)
            for i in pairs:
                ranks[i : i + 2] = order[i] + 0.5
            alone = len(set(pairs) | {i + 1 for i in pairs}) == 2 * len(pairs)
            found |= {sum((r - i) ** 2 for i, r in enumerate(order)) + len(pairs): ranks} if alone else {}
    return found


def tied(level, n):
    """Ranks whose rank correlation with their places is nearest to ``level``, some of them alike.

    By chance it is a step more or less: the scatter of runs puts those that are alike in one order or the other.
    """
    known, squares = orders(n), (1 - level) * n * (n**2 - 1) / 6
    return known[min(known, key=lambda one: abs(one - squares))]


@cache
def mixed(level, n):
    """Numbers whose rank correlation with their places is ``level``, all over: fallen or risen, and dealt at random."""
    from deepmech.core.estimates import spearman

    at, dealt = np.arange(n) / n, np.random.default_rng(1).permutation(n) / n
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if spearman(at, dealt + middle * at) < level else (low, middle)
    numbers = dealt + low * at
    return (numbers - numbers.min()) / np.ptp(numbers)


def diagram(rng, noise, bend, accuracy=0.9, *, scatter=0.01, off=0.001, slopes=SLOPES, **more):
    """Networks over ``slope``, ``noise`` and ``seed``, scattered about means of cells (slope, noise).

    ``scatter`` of curvatures, ``off`` of accuracies; ``more`` are other numbers of cells, without scatter.
    """
    cells = {"slope": list(slopes), noise: list(PANELS[noise].values), "seed": range(N)}
    shape = tuple(map(len, cells.values()))

    def of(means, size=0.0):
        each = np.broadcast_to(np.asarray(means)[..., None], shape).astype(float)
        return tuple(cells), each + size * rng.standard_normal(shape)

    known = {"curvature": of(bend, scatter), "accuracy": of(accuracy, off), "loss": of(1.0), "accuracy_train": of(1.0)}
    return xr.Dataset(known | {name: of(means) for name, means in more.items()}, cells)


def falling(rng, noise, level, rival=False, *, rows=False, scatter=0.0, off=0.1, fitted=None):
    """A diagram whose accuracy has this rank correlation with the size of the bend, over cells or within ``rows``.

    The loss tells accuracy the wrong way round; with ``rival`` it tells it as well as the bend does. ``scatter`` and
    ``off`` are in units of the range of both over cells. Of cells that are not ``fitted`` accuracies are at random.
    """
    shape = 6, 8
    size = np.tile(np.arange(8) / 8, (6, 1)) if rows else np.arange(48).reshape(shape) / 48
    right = np.stack([tied(level, 8) / 8] * 6) if rows else mixed(round(level, 3), 48).reshape(shape)
    if fitted is not None:
        right = np.where(fitted, 0.0, rng.uniform(size=shape))
        right[fitted] = mixed(round(level, 3), int(fitted.sum()))
    if rival:
        right = 1 - size
    one = diagram(rng, noise, (0.02 + size / 4), 0.5 + 0.4 * right, scatter=scatter / 4, off=0.4 * off)
    loss = one["loss"] + np.broadcast_to((size if rival else right)[..., None], (*shape, N))
    if rival:  # bend and loss alike but for scatter of their own
        loss = loss + rng.normal(0, 0.3, loss.shape)
        one = one.assign(curvature=one["curvature"] + rng.normal(0, 0.3 / 4, loss.shape))
    wrong = 0.0 if fitted is None else ~fitted[..., None] / 10
    return one.assign(loss=loss, accuracy_train=one["accuracy_train"] - wrong)
