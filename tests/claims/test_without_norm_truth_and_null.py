"""Claims of the page on networks without batch normalisation, on made-up diagrams."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import networks, shuffled
from truth_and_null import Pairs

from deepmech.metrics.curvature import curvature
from deepmech_book.sweeps.spring_block.without_norm import SCALED

pairs = Pairs("spring_block/without_norm")


def diagram(rng, **how):
    return networks(rng, lambda slope, at: 0.15 - 0.25 * at - 0.1 * slope, **how)


@pairs.of("A.text.no_norm_concave")
def concave_at_one_rate(true, rng):
    """Of the null, curves are straight at the best rate: the rate that a seed itself likes best must not decide."""
    means = xr.DataArray([0.05 if true else 0.0, -0.02, -0.1], {"learning_rate": [1e-4, 3e-4, 1e-3]})
    like = means * xr.DataArray(np.ones((3, 10)), {"scaled": list(SCALED), "seed": range(10)})
    return {"corner": xr.Dataset({"curvature": like + rng.normal(0, 0.02, like.shape)})}


@pairs.of("A.text.no_norm_pattern")
def the_same_phases(true, rng):
    """Of the null, half of the diagrams have their cells in another order, and half have no concave phase."""
    without, normed = diagram(rng, scatter=0.03), diagram(rng)
    if not true and rng.uniform() < 0.5:
        without = shuffled(rng, shuffled(rng, without, "dropout", ["slope"]), "slope")
    elif not true:
        without = networks(rng, lambda slope, at: -0.05 - 0.2 * at - 0.1 * slope, scatter=0.03)
    return {"without": without, "normed": normed}


@pairs.of("A.text.no_norm_bends")
def dropout_bends_rows(true, rng):
    without = diagram(rng, scatter=0.02)
    return {"without": without if true else shuffled(rng, without, "dropout", ["slope"])}


@pairs.of("A.text.no_batch_norm")
def curves_that_differ_more(true, rng):
    return {"without": diagram(rng, scatter=0.03 if true else 0.01), "normed": diagram(rng, scatter=0.01)}


@pairs.of("A.text.no_norm_rough")
def curves_with_bumps(true, rng):
    def bumpy(size):
        made = diagram(rng, scatter=0.01)
        load = made["load_curve"] + size * rng.normal(size=made["load_curve"].shape)
        return made.assign(load_curve=load, curvature=curvature(load))

    return {"without": bumpy(0.04 if true else 0.02), "normed": bumpy(0.02)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
