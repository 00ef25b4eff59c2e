"""Claims of spring_block/regression hold where regimes bend curves as said, and not where all do alike or none need."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("spring_block/regression")


def regimes(rng, lazy=0.12, large=0.0, noisy=-0.3, untrained=0.0):
    """Networks of these curvatures, ten seeds of each."""
    bend = np.array([lazy, large, noisy, untrained])[:, None] + rng.normal(0, 0.02, (4, 10))
    cells = {"regime": ["i", "ii", "iii", "untrained"], "seed": range(10)}
    return {"made": xr.Dataset({"curvature": xr.DataArray(bend, cells)})}


@pairs.of("A.S12.order")
def from_lazy_to_noisy(true, rng):
    """Of the null, either step may be the one that is none."""
    return regimes(rng, large=0.0 if true else rng.choice([0.12, -0.3]))


@pairs.of("A.S12.lazy")
def concave(true, rng):
    """Of the null, half are straight, and half as concave before training."""
    flat = rng.uniform() < 0.5
    return regimes(rng) if true else regimes(rng, lazy=0.0) if flat else regimes(rng, untrained=0.12)


@pairs.of("A.S12.noisy")
def convex(true, rng):
    """Of the null, half are straight, and half as convex before training."""
    flat = rng.uniform() < 0.5
    return regimes(rng) if true else regimes(rng, noisy=0.0) if flat else regimes(rng, untrained=-0.3)


@pairs.fair("A.S12.lazy", told=0.1)
def as_concave_before_training(rng):
    return regimes(rng, untrained=0.12)


@pairs.fair("A.S12.noisy", told=0.1)
def as_convex_before_training(rng):
    return regimes(rng, untrained=-0.3)


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
