"""Networks of Fig. 1(c) measured in two metrics (Figs. S10, S11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xarray as xr

from deepmech.data import load
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers import train
from deepmech_book.sweeps.spring_block import networks
from deepmech_book.sweeps.spring_block.networks import measured


def two_metrics(*which: Any, **how: Any) -> Sweep:
    """The networks of Fig. 1(c), the very same, with D̂ measured beside D; arguments of :func:`.networks.figure_1`.

    Examples
    --------
    >>> two_metrics("digits", [0.0, 0.1], slopes=[0.0, 1.0], n_seeds=3).grid.shape
    (2, 2, 3)
    """
    one = networks.figure_1("dropout", *which, **how)
    name = one.name.replace("figure-1c", "two-metrics")
    return replace(one, name=name, compute="spring_block.two_metrics")


@recomputed()
def train_in_two_metrics(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell (``slope``, ``dropout``, ``seed``): :func:`.networks.measured`, over ``metric``."""
    specs = networks.specs(cells, network, training)
    made = train(*specs, load(**data), seed=cells["seed"], metrics=("D", "D_hat"), experiment="figure 1")
    both = xr.concat([made["load_curve"], made["load_curve_hat"]], xr.Variable("metric", ["D", "D_hat"]))
    return measured(made.assign(load_curve=both))
