"""Dropout raised twice while a convolutional network is trained (Figs. S2 and S3), beside networks left without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.data import load
from deepmech.trainers import CNN, Training, train
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.spring_block.networks import summarise

#: Dropout in the three stages, each 4,000 epochs in the paper (SM S2).
DROPOUTS = (0.0, 0.05, 0.3)
STAGES = ("no dropout", "5 % dropout", "30 % dropout")
#: The digits whose mean images Fig. S3 shows.
DIGITS = (0, 4, 9)


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """Training up to the first record, which knows nothing of what follows."""
    soon = {"stages": 1, "stage": round(fixed["stage"] / fixed["n_records"]), "n_records": 1}
    curves = ["load_curve", "load_curve_test", "curvature"]
    return fixed | soon, [*curves, "accuracy", "accuracy_train", "loss", "class_width_before"]


#: The shipped networks were trained by a compiled engine that is gone. Of what the torch engine finds at the first
#: record of the four, no number is off by more than 4.1e-3 of itself (or of the variable's median size).
OFF = 1e-2


@verification_policy(part=_begin, tolerance={"*": OFF})
def train_through_stages(
    cells: xr.Dataset,
    data: dict[str, Any],
    network: dict[str, Any],
    training: dict[str, Any],
    stage: int,
    n_records: int,
    stages: int = len(DROPOUTS),
) -> xr.Dataset:
    """Train one network per cell, which holds ``seed``, and once more without any dropout; ``stages`` of them all.

    Over ``cell``: ``load_curve``, ``load_curve_test`` (at_epoch, layer), ``curvature``, ``accuracy`` (of the test set),
    ``accuracy_train``, ``loss`` (at_epoch) through training; ``accuracy_without`` (stage), on the test set after one
    and two stages without dropout, nan for the third, which is not run; ``class_mean`` (stage, layer, digit, row,
    column), mean of the first channel over the training images of a digit at the end of each stage, the image itself
    at layer 0; ``class_width`` (stage, layer, digit), mean squared distance of a digit's features from their mean, over
    the mean's squared distance from the mean of all classes, and ``class_width_before``, with the initial weights;
    ``diverged``, any of the three trainings.
    """
    if not 1 <= n_records <= stage:
        raise ValueError(f"dropout raised: n_records = {n_records}: must lie between 1 and stage = {stage}")
    images = load(**data)
    common: dict[str, Any] = {"seed": cells["seed"], "experiment": "figure S2"}
    # No network may stop early: the second stage begins when the first has nearly converged.
    fixed = {**training, "stop_loss": 0.0, "stop_change": 0.0}
    at = [s * stage + round(i * stage / n_records) for s in range(stages) for i in range(1, n_records + 1)]
    ends = [s * stage for s in range(1, stages + 1)]
    changes = tuple((s * stage + 1, "dropout", p) for s, p in enumerate(DROPOUTS[:stages]) if s > 0)
    spec = CNN(**network)
    runs = train(
        spec, Training(epochs=ends[-1], schedule=changes, **fixed), images, record=at, class_means=True, **common
    )
    twice = ends[:2]
    # The first stage has no dropout anyway.
    without = runs.sel(at_epoch=twice)
    if stages > 1:
        without = train(spec, Training(epochs=twice[-1], **fixed), images, record=twice, metrics=(), **common)
    # BatchNorm needs its averages: the images pass through while the weights stay as they are.
    still = {**fixed, "learning_rate": 1e-30, "epochs": 50}
    before = train(spec, Training(**still), images, metrics=(), class_means=True, **common)
    last = runs.sel(at_epoch=ends).rename(at_epoch="stage").transpose("cell", "stage", ...)
    alone = without["accuracy"].sel(split="test").transpose("cell", "at_epoch").values
    padding = [(0, 0), (0, stages - len(twice))]
    output = (
        summarise(runs)
        .drop_vars("cell", errors="ignore")
        .assign(
            load_curve_test=runs["load_curve"].sel(split="test", drop=True).transpose("cell", "at_epoch", "layer"),
            accuracy_train=runs["accuracy"].sel(split="train", drop=True).transpose("cell", "at_epoch"),
            loss=runs["loss"].sel(epoch=at).rename(epoch="at_epoch").transpose("cell", "at_epoch"),
            accuracy_without=(("cell", "stage"), np.pad(alone, padding, constant_values=np.nan)),
            class_mean=(("cell", "stage", "layer", "digit", "row", "column"), _first_channel(last, images.shape)),
            class_width=(("cell", "stage", "layer", "digit"), _relative_width(last)),
            class_width_before=(("cell", "layer", "digit"), _relative_width(before.transpose("cell", ...))),
            diverged=("cell", np.any([run["state"].values == "diverged" for run in (runs, without, before)], axis=0)),
        )
    )
    return output.assign_coords(stage=list(STAGES[:stages]), digit=list(DIGITS))


def _first_channel(runs: xr.Dataset, shape: tuple[int, ...]) -> np.ndarray:
    """Mean maps of the first channel, (cell, stage, layer, digit, row, column)."""
    height, width = shape[1:]
    means = runs["class_mean"].sel({"class": list(DIGITS)}).transpose(..., "layer", "class", "unit")
    return means.values[..., : height * width].reshape(*means.shape[:-1], height, width)


def _relative_width(runs: xr.Dataset) -> np.ndarray:
    """Mean squared distance within a class over that of its mean from the mean of all classes, (…, layer, digit)."""
    mean = runs["class_mean"]  # NaN where a layer has fewer units than others: left out of the sum
    away = ((mean - mean.mean("class")) ** 2).sum("unit")
    ratio = (runs["class_spread"] / away).sel({"class": list(DIGITS)})
    return ratio.transpose(..., "layer", "class").values
