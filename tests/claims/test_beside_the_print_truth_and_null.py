"""Errata of the page on Fig. 1 beside the print, on made-up panels near a print and far from it."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("spring_block/beside_the_print")
PRINT = xr.Dataset({"accuracy": xr.DataArray(np.linspace(0.6, 0.95, 48).reshape(6, 8), dims=("slope", "noise"))})


def panel(rng, off, n_seeds=10):
    """Networks whose accuracies are ``off`` points from the print in every cell, to one side or the other."""
    sign = xr.DataArray(rng.choice([-1, 1], (6, 8)), dims=("slope", "noise"))
    scatter = xr.DataArray(rng.normal(0, 0.002, (6, 8, n_seeds)), {"seed": range(n_seeds)}, ("slope", "noise", "seed"))
    return xr.Dataset({"accuracy": PRINT["accuracy"] + sign * np.asarray(off) / 100 + scatter})


@pairs.of("A.errata.fig1a_images")
def near_the_print_with_fewer_images(true, rng):
    """Of the null, networks with all images are as near at one of the epochs."""
    epochs = [4.0, 2.0 if true else 0.3, 3.0]
    along = xr.concat([panel(rng, off, 3) for off in epochs], xr.Variable("at_epoch", [10, 20, 40]))
    fewer = panel(rng, 0.4 if true else rng.choice([0.4, 1.5]))
    return {"fewer": fewer, "along": along, "printed": PRINT}


@pairs.fair("A.errata.fig1a_images")
def as_near_with_all_images(rng):
    """At one of the epochs; the distances of cells are drawn from one population."""
    off = rng.normal(0, 0.5, (4, 6, 8))
    along = xr.concat([panel(rng, 4 * one, 3) for one in off[:3]], xr.Variable("at_epoch", [10, 20, 40]))
    along = xr.concat([along, panel(rng, off[3], 3).expand_dims(at_epoch=[30])], "at_epoch")
    return {"fewer": panel(rng, rng.normal(0, 0.5, (6, 8))), "along": along, "printed": PRINT}


@pairs.of("A.errata.fig1b_epochs")
def nearer_with_more_epochs(true, rng):
    """Of the null, both are as far."""
    longer, shorter = panel(rng, 0.5 if true else 1.2), panel(rng, 1.2, 3)
    return {"longer": longer, "shorter": shorter, "printed": PRINT}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
