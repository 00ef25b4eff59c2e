"""Networks of Fig. 1 and its kin, over nonlinearity and one kind of noise, and the images that they are trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import xarray as xr

from deepmech.data import Data, load
from deepmech.metrics.curvature import curvature
from deepmech.trainers import MLP, Training, train
from deepmech_book.sweeps.policy import verification_policy

#: The training images of the authors' program (``dataloader.py``): ``random_split`` with torch's generator seeded 1.
PROGRAM = {"size": 10, "n_train": 2560, "seed": 1, "split": "torch"}
#: What deepmech.data.load is asked for. The paper's: 2,560 images at 10×10 pixels (CIFAR-10: in three colours), and the
#: whole official test set. "mnist-program" and "fashion-mnist" are the very images of the authors' program, the others
#: draws of ours.
DATA: dict[str, dict[str, Any]] = {
    "digits": {"name": "digits"},
    "mnist": {"name": "mnist", "size": 10, "n_train": 2560},
    "mnist-512": {"name": "mnist", "size": 10, "n_train": 512, "n_test": 4000},
    "mnist-program": {"name": "mnist", **PROGRAM},
    "fashion-mnist": {"name": "fashion-mnist", **PROGRAM},
    "cifar10": {"name": "cifar10", "size": 10, "n_train": 2560},
    "cifar10-jpeg": {"name": "cifar10-jpeg", "size": 10, "n_train": 2560},
}

#: How far networks that torch trains may lie from those that ship: its sums follow the processor, the version and the
#: number of threads, and training makes differences larger. Of 360 small networks trained on two processors, load
#: curves differed by 0.014 of a number at most (five of them by more than 0.005), curvatures by 0.012, accuracies by
#: 0.006; networks of two seeds differ by a tenth and more.
TORCH = {"load_curve": 3e-2, "curvature": 3e-2, "accuracy": 2e-2}


def dataset_kwargs(data: str | dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The arguments of :func:`deepmech.data.load`, from themselves or a key of ``DATA``; ``changed`` replace some."""
    arguments = DATA.get(data) if isinstance(data, str) else data
    if not isinstance(arguments, dict):
        raise ValueError(f"data = {data!r}: must be one of {', '.join(DATA)}, or arguments of data.load")
    return {**arguments, **{name: value for name, value in changed.items() if value is not None}}


def summarise(runs: xr.Dataset) -> xr.Dataset:
    """Of trained networks over ``cell``: ``load_curve`` of training samples, its ``curvature``, test ``accuracy``."""
    curves = runs["load_curve"].sel(split="train", drop=True).transpose("cell", ..., "layer")
    curves = curves.drop_vars("layer_name", errors="ignore")
    accuracy = runs["accuracy"].sel(split="test", drop=True).transpose("cell", ...)
    output = {"load_curve": curves, "curvature": curvature(curves), "accuracy": accuracy}
    return xr.Dataset(output, attrs=runs.attrs)


def final_loss(runs: xr.Dataset) -> xr.DataArray:
    """Training loss of each network's last epoch."""
    return runs["loss"].isel(epoch=runs["epochs_run"] - 1).drop_vars("epoch")


@dataclass(frozen=True)
class Panel:
    """One panel of Fig. 1 as printed: what varies, from no noise to most, and how long networks are trained."""

    letter: str
    values: tuple[float, ...]
    epochs: int = 100
    rising: bool = True


#: Columns as printed; α runs over SLOPES in each panel (authors' scripts).
PANELS = {
    "data_noise": Panel("a", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    "learning_rate": Panel("b", (1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.2), epochs=200),
    "dropout": Panel("c", (0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28)),
    "batch_size": Panel("d", (1280, 640, 320, 160, 80, 40, 20, 10), rising=False),
}
SLOPES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

_NETWORK = {f.name for f in fields(MLP)}
_TRAINING = {f.name for f in fields(Training)}


@verification_policy()
def train_cells(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell; a cell's keys are fields of the specs, or ``seed``: what :func:`summarise` gives,
    ``load_curve_test``, ``accuracy_train``, ``loss`` (of the last epoch), ``epochs_run``, and whether training
    ``stopped`` early or ``diverged``."""
    mlp, how = specs(cells, network, training)
    runs = train(mlp, how, _load(tuple(data.items())), seed=cells["seed"], experiment="figure 1")
    return summarise(runs).assign(
        load_curve_test=runs["load_curve"].sel(split="test", drop=True).transpose("cell", "layer"),
        accuracy_train=runs["accuracy"].sel(split="train", drop=True),
        loss=final_loss(runs),
        epochs_run=runs["epochs_run"],
        stopped=runs["state"] == "stopped",
        diverged=runs["state"] == "diverged",
    )


def specs(varied: Mapping[Any, Any], network: dict[str, Any], training: dict[str, Any]) -> tuple[MLP, Training]:
    """Both specs, with labelled arrays for what varies (``seed`` belongs to neither)."""
    return (
        MLP(**network, **{k: v for k, v in varied.items() if k in _NETWORK}),
        Training(**training, **{k: v for k, v in varied.items() if k in _TRAINING}),
    )


@lru_cache(maxsize=4)
def _load(arguments: tuple[tuple[str, Any], ...]) -> Data:
    return load(**dict(arguments))


@verification_policy()
def train_in_two_metrics(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell (``slope``, ``dropout``, ``seed``): :func:`summarise`, over ``metric``."""
    runs = train(
        *specs(cells, network, training),
        load(**data),
        seed=cells["seed"],
        metrics=("D", "D_hat"),
        experiment="figure 1",
    )
    both = xr.concat([runs["load_curve"], runs["load_curve_hat"]], xr.Variable("metric", ["D", "D_hat"]))
    return summarise(runs.assign(load_curve=both))
