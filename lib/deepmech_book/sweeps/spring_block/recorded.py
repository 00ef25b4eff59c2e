"""Load curves through training over the plane of Fig. 1(c): some of its networks, trained again and followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import load
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers import train
from deepmech_book.sweeps.spring_block.networks import DATA, SLOPES, measured, recipe, specs, sweep

#: Every second column of Fig. 1(c) as printed, about.
DROPOUTS = (0.0, 0.04, 0.12, 0.2, 0.28)


def recorded(
    data: str = "mnist",
    slopes: Sequence[float] = SLOPES,
    dropouts: Sequence[float] = DROPOUTS,
    n_seeds: int = 3,
    epochs: int = 100,
    every: int = 5,
) -> Sweep:
    """Networks of Fig. 1(c) through training, over ``slope``, ``dropout`` and ``seed``.

    Epochs count from the second record on: BatchNorm's averages, with which curves are measured, lag behind the network
    by about ten full-batch steps. Test samples are measured in each record too; few will do, as nobody uses them.

    Examples
    --------
    >>> recorded("digits", n_seeds=2).grid.shape, recorded("digits", epochs=25).fixed["record"]
    ((6, 5, 2), [10, 15, 20, 25])
    """
    cells = {"slope": slopes, "dropout": dropouts, "seed": range(n_seeds)}
    fixed = {"epochs": epochs, "record": list(range(2 * every, epochs + 1, every))}
    images = recipe(data, DATA, n_test=None if data == "digits" else 500)
    return sweep("recorded-1c", "spring_block.recorded", cells, images, **fixed)


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first records: later epochs do not reach back."""
    record = fixed["record"][:2]
    return fixed | {"epochs": record[-1], "record": record}, ["load_curve"]


# Kept in single precision, to which processors of two makers may round differently.
@recomputed(tolerance={"load_curve": 1e-6}, part=_begin)
def train_recorded(cells: xr.Dataset, data: dict[str, Any], epochs: int, record: list[int]) -> xr.Dataset:
    """Train one network per cell; ``load_curve`` of the training samples over ``cell``, ``at_epoch`` and ``layer``."""
    both = specs(cells, {}, {"epochs": epochs})
    made = train(*both, load(**data), seed=cells["seed"], record=record, experiment="figure 1")
    return measured(made)[["load_curve"]].astype(np.float32)
