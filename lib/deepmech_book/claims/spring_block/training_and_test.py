"""Claims of the page spring_block/training_and_test: load curves on both sets of samples, Fig. S4 of paper A.

``made`` are networks over ``learning_rate`` (three), ``split`` and ``seed``.
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech_book.analysis.spring_block.regimes import inside
from deepmech_book.claims.functions import Measurement, measures


@measures("A.S4.turns")
def turns(made: xr.Dataset) -> Measurement:
    """Curvature at the smallest learning rate, and minus that at the largest, on both sets of samples."""
    ends = made["curvature"].isel(learning_rate=[0, -1])
    signed = ends * xr.DataArray([1.0, -1.0], {"learning_rate": ends["learning_rate"]})
    return Measurement(estimate(signed, "seed", "symmetric"))


@measures("A.S4.linear")
def linear(made: xr.Dataset) -> Measurement:
    """How far inside of straight the curve at the middle learning rate is, on both sets of samples."""
    middle = made["curvature"].isel(learning_rate=1, drop=True)
    each = {str(one): estimate(middle.sel(split=one, drop=True), "seed", "symmetric") for one in middle["split"].values}
    return Measurement(stack({split: inside("straight", bend) for split, bend in each.items()}, "split"))


@measures("A.S4.accuracies")
def accuracies(made: xr.Dataset) -> Measurement:
    """Accuracy on test samples, in per cent, by learning rate."""
    return Measurement(estimate(_test(made), "seed", "symmetric"))


@measures("A.S4.best")
def best(made: xr.Dataset) -> Measurement:
    """Accuracy where the curve of training samples is straightest, less that at each other learning rate."""
    bend, test = made["curvature"].sel(split="train", drop=True), _test(made)
    straightest = abs(bend.mean("seed")).idxmin("learning_rate")
    ahead = test.sel(learning_rate=straightest, drop=True) - test.drop_sel(learning_rate=straightest)
    return Measurement(estimate(ahead, "seed", "symmetric"))


def _test(made: xr.Dataset) -> xr.DataArray:
    return 100 * made["accuracy"].sel(split="test", drop=True)
