"""Networks through training (Fig. 4, left) and on both sets of samples (Fig. S4), with the settings of SM S3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.spring_block.networks import TORCH, measured, recipe, sweep

#: Fig. 4, left column (SM S3); everything else as in Fig. 1.
REGIMES = {
    "b: small steps": {"learning_rate": 1e-4, "batch_size": 200, "dropout": 0.0},
    "c: some dropout": {"learning_rate": 1e-3, "batch_size": 100, "dropout": 0.1},
    "d: large steps, more dropout": {"learning_rate": 3e-3, "batch_size": 50, "dropout": 0.2},
}


def regimes(
    data: str | dict[str, Any] = "digits", n_seeds: int = 3, epochs: int = 100, n_records: int = 51, width: int = 100
) -> Sweep:
    """The networks' side of Fig. 4: ReLU networks of three regimes through training, over ``regime`` and ``seed``.

    Parameters
    ----------
    data : as for :func:`.networks.figure_1`.
    n_records : about how many epochs are recorded, from 1 to the last.

    Examples
    --------
    >>> regimes(n_seeds=2, n_records=3).fixed["record"]
    [1, 50, 100]
    """
    # Before training BatchNorm has no averages yet, so the record begins after one epoch.
    record = np.unique(np.linspace(1, epochs, min(n_records, epochs)).round().astype(int)).tolist()
    cells, fixed = {"regime": list(REGIMES), "seed": range(n_seeds)}, {"regimes": REGIMES, "epochs": epochs}
    return sweep("figure-4", "spring_block.networks_in_time", cells, recipe(data), **fixed, record=record, width=width)


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first tenth of training: later epochs do not reach back."""
    epochs = max(fixed["record"][0], fixed["epochs"] // 10)
    return fixed | {"epochs": epochs, "record": [e for e in fixed["record"] if e <= epochs]}, ["load_curve", "loss"]


@recomputed(part=_begin)
def train_regimes(
    cells: xr.Dataset,
    data: dict[str, Any],
    regimes: dict[str, dict[str, float]],
    epochs: int,
    record: list[int],
    width: int,
) -> xr.Dataset:
    """Train one network per cell, which holds ``regime``, a key of ``regimes``, and ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``: ``load_curve`` of the training samples and ``loss`` over ``at_epoch``; ``curvature`` and
        ``accuracy`` (of the test set) at the end.
    """

    how = pd.DataFrame([regimes[name] for name in cells["regime"].values])
    of = {name: cells["seed"].copy(data=how[name]) for name in how}
    made = train(
        MLP(width=width, dropout=of["dropout"]),
        Training(learning_rate=of["learning_rate"], batch_size=of["batch_size"], epochs=epochs),
        load(**data),
        seed=cells["seed"],
        record=record,
        experiment="figure 4",
    )
    found, loss = measured(made), made["loss"].sel(epoch=record).rename(epoch="at_epoch").transpose("cell", "at_epoch")
    return found.assign(
        {"loss": loss} | {name: found[name].isel(at_epoch=-1, drop=True) for name in ("curvature", "accuracy")}
    )


def on_both_sets(
    data: str | dict[str, Any] = "digits",
    learning_rates: Sequence[float] = (1e-4, 1e-3, 1e-2),
    width: int = 784,
    n_seeds: int = 1,
    epochs: int = 100,
) -> Sweep:
    """Fig. S4: load curves of the training and of the test samples, α = 0.2, over ``learning_rate`` and ``seed``.

    Examples
    --------
    >>> on_both_sets(n_seeds=2).grid.shape
    (3, 2)
    """
    cells = {"learning_rate": learning_rates, "seed": range(n_seeds)}
    return sweep("figure-S4", "spring_block.both_sets", cells, recipe(data), width=width, epochs=epochs)


@recomputed(tolerance=TORCH)  # layers this wide are torch's
def train_on_both_sets(cells: xr.Dataset, data: dict[str, Any], width: int, epochs: int) -> xr.Dataset:
    """Train one network per cell: ``load_curve`` (with ``layer``), ``curvature`` and ``accuracy`` over ``split``."""
    made = train(
        MLP(width=width, slope=0.2),
        Training(learning_rate=cells["learning_rate"], epochs=epochs),
        load(**data),
        seed=cells["seed"],
        experiment="figure S4",
    )
    curves = made["load_curve"].transpose("cell", "split", "layer")
    found = {"load_curve": curves, "curvature": curvature(curves), "accuracy": made["accuracy"]}
    return xr.Dataset(found, attrs=made.attrs)
