"""Networks through training: the regimes of Fig. 4 (SM S3), and networks of Fig. 1(a) and 1(c), recorded on the way;
and networks on both sets of samples (Fig. S4)."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import TORCH, specs, summarise

#: Fig. 4, left column (SM S3); everything else as in Fig. 1.
REGIMES = {
    "b: small steps": {"learning_rate": 1e-4, "batch_size": 200, "dropout": 0.0},
    "c: some dropout": {"learning_rate": 1e-3, "batch_size": 100, "dropout": 0.1},
    "d: large steps, more dropout": {"learning_rate": 3e-3, "batch_size": 50, "dropout": 0.2},
}


def _first_tenth(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first tenth of training: later epochs do not reach back."""
    epochs = max(fixed["record"][0], fixed["epochs"] // 10)
    return fixed | {"epochs": epochs, "record": [e for e in fixed["record"] if e <= epochs]}, ["load_curve", "loss"]


@verification_policy(part=_first_tenth)
def train_regimes(
    cells: xr.Dataset,
    data: dict[str, Any],
    regimes: dict[str, dict[str, float]],
    epochs: int,
    record: list[int],
    width: int,
) -> xr.Dataset:
    """Train one network per cell, which holds ``regime``, a key of ``regimes``, and ``seed``.

    Over ``cell``: ``load_curve`` of the training samples and ``loss`` over ``at_epoch``; ``curvature`` and ``accuracy``
    (of the test set) at the end.
    """
    how = pd.DataFrame([regimes[name] for name in cells["regime"].values])
    of = {name: cells["seed"].copy(data=how[name]) for name in how}
    runs = train(
        MLP(width=width, dropout=of["dropout"]),
        Training(learning_rate=of["learning_rate"], batch_size=of["batch_size"], epochs=epochs),
        load(**data),
        seed=cells["seed"],
        record=record,
        experiment="figure 4",
    )
    output, loss = (
        summarise(runs),
        runs["loss"].sel(epoch=record).rename(epoch="at_epoch").transpose("cell", "at_epoch"),
    )
    return output.assign(
        {"loss": loss} | {name: output[name].isel(at_epoch=-1, drop=True) for name in ("curvature", "accuracy")}
    )


@verification_policy(tolerance=TORCH)  # layers this wide are torch's
def train_on_both_sets(cells: xr.Dataset, data: dict[str, Any], width: int, epochs: int) -> xr.Dataset:
    """Train one network per cell: ``load_curve`` (with ``layer``), ``curvature`` and ``accuracy`` over ``split``."""
    runs = train(
        MLP(width=width, slope=0.2),
        Training(learning_rate=cells["learning_rate"], epochs=epochs),
        load(**data),
        seed=cells["seed"],
        experiment="figure S4",
    )
    curves = runs["load_curve"].transpose("cell", "split", "layer")
    output = {"load_curve": curves, "curvature": curvature(curves), "accuracy": runs["accuracy"]}
    return xr.Dataset(output, attrs=runs.attrs)


def _first_quarter(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first quarter of training: later epochs do not reach back."""
    soon = [e for e in fixed["epochs"] if e <= max(fixed["epochs"]) / 4] or fixed["epochs"][:1]
    return fixed | {"epochs": soon}, ["load_curve", "accuracy"]


@verification_policy(part=_first_quarter)
def train_in_time(cells: xr.Dataset, data: dict[str, Any], epochs: list[int]) -> xr.Dataset:
    """Train the networks of Fig. 1, one per cell: curve and accuracy over ``at_epoch``."""
    both = specs(cells, {}, {"epochs": max(epochs)})
    runs = train(*both, load(**data), seed=cells["seed"], record=epochs, experiment="figure 1")
    return summarise(runs)[["load_curve", "accuracy"]]
