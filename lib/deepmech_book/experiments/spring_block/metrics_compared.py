"""Networks in two metrics (Figs. S10, S11). Settings are the paper's (SM S3) unless an argument says otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import xarray as xr

from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import Sweep
from deepmech.trainers import MLP, Training, train
from deepmech_book.experiments.spring_block import networks


def two_metrics(*which: Any, **how: Any) -> Sweep:
    """Figs. S10 and S11: the networks of Fig. 1(c), the very same, with D̂ measured beside D.

    Arguments are those of :func:`.networks.figure_1` after the panel.

    Examples
    --------
    >>> two_metrics("digits", [0.0, 0.1], slopes=[0.0, 1.0], n_seeds=3).grid.shape
    (2, 2, 3)
    """
    one = networks.figure_1("dropout", *which, **how)
    name, here = one.name.replace("figure-1c", "two-metrics"), f"{__name__}:train_in_two_metrics"
    return replace(one, name=name, compute=here)


def train_in_two_metrics(
    cells: xr.Dataset, data: dict[str, Any], network: dict[str, Any], training: dict[str, Any]
) -> xr.Dataset:
    """Train one network per cell; a cell holds ``slope``, ``dropout`` and ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``: ``load_curve`` over ``metric`` (``"D"``, ``"D_hat"``) and ``layer``, of the training samples;
        ``curvature`` over ``metric``; ``accuracy`` of the test set.
    """
    made = train(
        MLP(**network, slope=cells["slope"], dropout=cells["dropout"]),
        Training(**training),
        load(**data),
        seed=cells["seed"],
        metrics=("D", "D_hat"),
        experiment="figure 1",
    )
    both = xr.concat([made["load_curve"], made["load_curve_hat"]], xr.Variable("metric", ["D", "D_hat"]))
    curves = both.sel(split="train", drop=True).transpose("cell", "metric", "layer")
    accuracy = made["accuracy"].sel(split="test", drop=True)
    found = {"load_curve": curves, "curvature": curvature(curves), "accuracy": accuracy}
    return xr.Dataset(found, attrs=made.attrs)
