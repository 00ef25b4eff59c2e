"""Fig. 1 as printed: 192 cells, read from the paper's vector figure (``fig1_printed.csv`` beside this module)."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers import train
from deepmech_book.experiments.spring_block import networks
from deepmech_book.experiments.spring_block.data import DATA, recipe, sweep

#: Images that panel (a) of the print fits; the text says 2,560.
FITS = 1000
#: Epochs after which the rival of fewer images is asked: all images, trained for less than the 100 epochs of the text.
EPOCHS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90, 100)


def printed(panel: str) -> xr.Dataset:
    """One panel of Fig. 1 as printed, a key of :data:`.networks.PANELS`.

    Returns
    -------
    Dataset
        Over ``slope`` and the panel's noise, in the order of its columns: ``accuracy``, a fraction, from the colour of
        the cell (± 0.0004); ``load_curve``, normalised to its range (± 0.005), over ``layer``; its ``curvature``.

    Examples
    --------
    >>> round(float(printed("dropout").accuracy.sel(slope=0.0, dropout=0.0)), 3)
    0.92
    """
    if panel not in networks.PANELS:
        raise ValueError(f"printed: panel = {panel!r}: must be one of {', '.join(networks.PANELS)}")
    one = networks.PANELS[panel]
    file = files("deepmech_book.experiments.spring_block").joinpath("fig1_printed.csv")
    with file.open(encoding="utf-8") as text:
        rows = pd.read_csv(text)
    rows = rows[rows["panel"] == one.letter].set_index(["alpha", "axis_value"])
    cells = [(slope, value) for slope in networks.SLOPES for value in one.values]
    # Columns are named by numbers that were typed alike in both places.
    ready = rows.set_index(rows.index.set_levels([level.astype(float) for level in rows.index.levels])).loc[cells]
    shape = (len(networks.SLOPES), len(one.values))
    curves = ready[[f"Dnorm_{layer}" for layer in range(8)]].to_numpy(float).reshape(*shape, 8)
    coords = {"slope": list(networks.SLOPES), panel: list(one.values), "layer": np.arange(8)}
    load = xr.DataArray(curves, coords, tuple(coords))
    accuracy = xr.DataArray(ready["test_acc"].to_numpy(float).reshape(shape) / 100, dims=("slope", panel))
    return xr.Dataset({"load_curve": load, "accuracy": accuracy, "curvature": curvature(load)})


def normalised(load: xr.DataArray) -> xr.DataArray:
    """Load curves on a scale where the highest layer is at 1 and the lowest at 0, as the printed ones are."""
    low, high = load.min("layer"), load.max("layer")
    return (load - low) / (high - low)


def with_fewer_images(n_seeds: int = 10) -> Sweep:
    """Fig. 1(a) with :data:`FITS` training images, and nothing else changed.

    Examples
    --------
    >>> with_fewer_images(n_seeds=2).grid.shape
    (6, 8, 2)
    """
    return networks.figure_1("data_noise", {**DATA["mnist-program"], "n_train": FITS}, n_seeds=n_seeds)


def with_fewer_epochs(data: str = "mnist-program", n_seeds: int = 3) -> Sweep:
    """Fig. 1(a) with all images, seen after each of :data:`EPOCHS`: over ``slope``, ``data_noise`` and ``seed``.

    Examples
    --------
    >>> with_fewer_epochs("digits", n_seeds=2).grid.shape
    (6, 8, 2)
    """
    cells = {"slope": networks.SLOPES, "data_noise": networks.PANELS["data_noise"].values, "seed": range(n_seeds)}
    return sweep("fewer-epochs", f"{__name__}:train_in_time", cells, recipe(data), epochs=list(EPOCHS))


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first quarter of training: later epochs do not reach back."""
    soon = [e for e in fixed["epochs"] if e <= max(fixed["epochs"]) / 4] or fixed["epochs"][:1]
    return fixed | {"epochs": soon}, ["load_curve", "accuracy"]


@recomputed(part=_begin)
def train_in_time(cells: xr.Dataset, data: dict[str, Any], epochs: list[int]) -> xr.Dataset:
    """Train the networks of :func:`.networks.figure_1`, one per cell, and measure after each of ``epochs``.

    Returns
    -------
    Dataset
        Over ``cell`` and ``at_epoch``: ``load_curve`` of the training samples (with ``layer``), and test ``accuracy``.
    """
    specs = networks.specs(cells, {}, {"epochs": max(epochs)})
    made = train(*specs, load(**data), seed=cells["seed"], record=epochs, experiment="figure 1")
    curves = made["load_curve"].sel(split="train", drop=True).transpose("cell", "at_epoch", "layer")
    accuracy = made["accuracy"].sel(split="test", drop=True).transpose("cell", "at_epoch")
    return xr.Dataset({"load_curve": curves, "accuracy": accuracy}, attrs=made.attrs)
