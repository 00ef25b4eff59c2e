"""Claims of the page on Fig. 1(c) that are about single layers, on made-up load curves and on those of nulls."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("spring_block/dropout_diagram")


def falling(rng, falls, *cells: int) -> xr.DataArray:
    """Load curves of ten seeds that fall by ``falls`` from layer to layer, over ``cells`` more."""
    numbers = -np.cumsum([0.0, *falls]) + rng.normal(0, 0.01, (*cells, 10, len(falls) + 1))
    return xr.DataArray(numbers, dims=(*"ab"[: len(cells)], "seed", "layer"))


@pairs.of("A.1.c.each_layer")
def layers_that_work(true, rng):
    """Or of which one in every network, whichever, does nothing."""
    falls = np.full(7, 0.2)
    if not true:
        falls[rng.integers(7)] = 0.0
    return {"load": falling(rng, falls, 6, 8), "untrained": falling(rng, np.full(7, -0.05))}


@pairs.fair("A.1.c.each_layer", told=0.1)
def one_layer_works_as_before_training(rng):
    untrained = np.full(7, -0.05)
    untrained[rng.integers(7)] = 0.2
    return {"load": falling(rng, np.full(7, 0.2)), "untrained": falling(rng, untrained)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
