"""Claims of the page on linear networks on made-up curves, and on chains with and without friction to the right."""

import pytest
import xarray as xr
from runs_spring_block import curves
from truth_and_null import Pairs

from deepmech import Chain, over, simulate
from deepmech.metrics.curvature import curvature

pairs = Pairs("spring_block/linear_networks")
LEFT = 0.1


def networks(rng, bends, dim="training", n_seeds=3, scatter=0.001):
    """Networks of these curvatures over ``dim`` and ``seed``."""
    shape = xr.DataArray(list(bends.values()), {dim: list(bends)})
    runs = shape + xr.DataArray(
        rng.normal(0, scatter, (len(bends), n_seeds)), {dim: list(bends), "seed": range(n_seeds)}
    )
    load = curves(runs)
    return xr.Dataset({"load_curve": load, "curvature": curvature(load)})


def chain(rng, right, left=LEFT, **how):
    noise = over("noise", [0.0, 0.001, 0.02, 0.04])
    return simulate(
        Chain(friction_right=right, friction_left=left, noise=noise),
        100.0,
        n_runs=40,
        seed=int(rng.integers(1e6)),
        **how,
    )


@pairs.of("A.5a.small_step")
def equal_steps(true, rng):
    return {"made": networks(rng, {"small steps": 0.0 if true else 0.02}, scatter=1e-4)}


@pairs.of("A.5a.nonlinearity")
def an_activation_bends(true, rng):
    """Of the null, an activation leaves the curve as it was."""
    bend = 0.03 if true else 0.0
    return {"made": networks(rng, {"ReLU": bend, "slope 0.5": bend, "linear": 0.0})}


@pairs.of("A.5a.bends")
def dropout_and_steps_bend(true, rng):
    """Of the null, one of the three does nothing."""
    batch = networks(rng, {10: 0.0, 1: -0.02 if true else 0.0}, "batch")
    return {"made": networks(rng, {"small steps": 0.0, "dropout": -0.1, "large steps": -0.2}), "batches": batch}


@pairs.fair("A.5a.nonlinearity")
def one_activation_bends_as_none(rng):
    return {"made": networks(rng, {"ReLU": 0.03, "slope 0.5": 0.01, "linear": 0.01})}


@pairs.fair("A.5a.bends")
def one_of_three_bends_as_small_steps(rng):
    batch = networks(rng, {10: -0.01, 1: -0.02}, "batch")
    return {"made": networks(rng, {"small steps": -0.02, "dropout": -0.1, "large steps": -0.2}), "batches": batch}


@pairs.of("A.5b.noiseless", "A.5b.convex")
def no_friction_to_the_right(true, rng):
    """Of the null, there is as much of it as to the left, so that friction is symmetric."""
    return {"free": chain(rng, 0.0 if true else LEFT)}


@pairs.of("A.5b.limit")
def half_of_the_friction(true, rng):
    """Of the null, friction to the left is another than Eq. 8 is told."""
    return {"free": chain(rng, 0.0, LEFT if true else LEFT * rng.choice([0.8, 1.2])), "friction_left": LEFT}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
