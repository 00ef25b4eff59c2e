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
from deepmech_book.sweeps.spring_block import networks
from deepmech_book.sweeps.spring_block.networks import measured, recipe, sweep

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
    file = files("deepmech_book.sweeps.spring_block").joinpath("fig1_printed.csv")
    with file.open(encoding="utf-8") as text:
        rows = pd.read_csv(text)
    rows = rows[rows["panel"] == one.letter].rename(columns={"alpha": "slope", "axis_value": panel})
    # Columns are named by numbers that were typed alike in both places.
    cells = rows.astype({"slope": float, panel: float}).set_index(["slope", panel]).to_xarray()
    cells = cells.sel({"slope": list(networks.SLOPES), panel: list(one.values)})
    layers = [cells[f"Dnorm_{layer}"].astype(float) for layer in range(8)]
    load = xr.concat(layers, xr.Variable("layer", np.arange(8))).transpose(..., "layer")
    return xr.Dataset({"load_curve": load, "accuracy": cells["test_acc"] / 100, "curvature": curvature(load)})


def with_fewer_images(n_seeds: int = 10) -> Sweep:
    """Fig. 1(a) with :data:`FITS` training images, and nothing else changed.

    Examples
    --------
    >>> with_fewer_images(n_seeds=2).grid.shape
    (6, 8, 2)
    """
    return networks.figure_1("data_noise", recipe("mnist-program", n_train=FITS), n_seeds=n_seeds)


def with_fewer_epochs(data: str = "mnist-program", n_seeds: int = 3) -> Sweep:
    """Fig. 1(a) with all images, seen after each of :data:`EPOCHS`: over ``slope``, ``data_noise`` and ``seed``.

    Examples
    --------
    >>> with_fewer_epochs("digits", n_seeds=2).grid.shape
    (6, 8, 2)
    """
    cells = {"slope": networks.SLOPES, "data_noise": networks.PANELS["data_noise"].values, "seed": range(n_seeds)}
    return sweep("fewer-epochs", "spring_block.fewer_epochs", cells, recipe(data), epochs=list(EPOCHS))


def _begin(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """The first quarter of training: later epochs do not reach back."""
    soon = [e for e in fixed["epochs"] if e <= max(fixed["epochs"]) / 4] or fixed["epochs"][:1]
    return fixed | {"epochs": soon}, ["load_curve", "accuracy"]


@recomputed(part=_begin)
def train_in_time(cells: xr.Dataset, data: dict[str, Any], epochs: list[int]) -> xr.Dataset:
    """Train the networks of :func:`.networks.figure_1`, one per cell: curve and accuracy over ``at_epoch``."""
    specs = networks.specs(cells, {}, {"epochs": max(epochs)})
    made = train(*specs, load(**data), seed=cells["seed"], record=epochs, experiment="figure 1")
    return measured(made)[["load_curve", "accuracy"]]
