"""Rows of networks over dropout on which the balanced dropout was foretold: fresh slopes, depths, widths and images."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.data import fingerprint, load
from deepmech.sweeps import Sweep
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import figure_1, summarise

IMAGES = {"size": 10, "n_train": 1280, "n_test": 500, "seed": 3}
DATASETS = ("mnist", "fashion-mnist")
ROWS = {"slope": (0.05, 0.2), "depth": (7, 11), "width": (50, 90)}
"""Every combination is a row, on both data sets; no network of the book has one of these widths or this draw."""
DROPOUTS = (0.0, 0.03, 0.07, 0.12, 0.2)
SEED = 200
"""Of the first row; every row has a seed of its own."""


def calibration(n_seeds: int = 10) -> Sweep:
    """The row from which it is read what dropout takes off: ReLU networks of Fig. 1(c) on MNIST, of width 100."""
    return figure_1("dropout", "mnist", slopes=[0.0], n_seeds=n_seeds)


def judges(dataset: str) -> Sweep:
    """The rows of :data:`ROWS` on a data set, over ``row`` and ``dropout``.

    Examples
    --------
    >>> judges("mnist").grid.shape
    (8, 5)
    """
    names, combined = (*ROWS, "seed"), list(product(*ROWS.values()))
    first = SEED + len(combined) * DATASETS.index(dataset)
    rows = [(*values, first + i) for i, values in enumerate(combined)]
    number = [row[-1] for row in rows]
    cells = {name: over("row", number).copy(data=np.array([row[i] for row in rows])) for i, name in enumerate(names)}
    images: dict[str, Any] = {"name": dataset, **IMAGES}
    fixed = {"data": images, "epochs": 100, "deepest": max(ROWS["depth"])}
    cells["dropout"] = over("dropout", DROPOUTS)
    return Sweep(f"balance-{dataset}", "spring_block.balance", cells, fixed, data=fingerprint(**images))


@verification_policy()
def train_rows(cells: xr.Dataset, data: dict[str, Any], epochs: int, deepest: int) -> xr.Dataset:
    """Train one network per cell; ``load_curve`` over ``cell`` and ``layer``, nan beyond its last of ``deepest``."""
    network = MLP(**{name: cells[name] for name in (*ROWS, "dropout")})
    runs = train(network, Training(epochs=epochs), load(**data), seed=cells["seed"], experiment="figure 1")
    output = summarise(runs)[["load_curve", "accuracy"]].reindex(layer=np.arange(deepest)).astype(np.float32)
    return output.assign(diverged=runs["state"] == "diverged")
