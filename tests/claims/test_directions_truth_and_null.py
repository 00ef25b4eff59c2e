"""Each claim of the page on directions tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("elastic_sde/directions")
N_RUNS = 300


def walks(rng, loss, fresh):
    """Whether runs are separated, over time, by strength: each time a share is ``loss`` that fails for good at K/2, or
    ``fresh`` that fails for once."""
    shape = (2, N_RUNS, 60)
    gone = np.maximum.accumulate(rng.random(shape) < np.array(loss)[:, None, None], -1)
    once = rng.random(shape) < np.array(fresh)[:, None, None]
    once[..., 0] = gone[..., 0] = False
    return xr.DataArray(~gone & ~once, {"factor": [1.0, 1.1], "time": np.arange(60.0)}, ("factor", "run", "time"))


@pairs.of("B.uniform.at_threshold")
def lost(true, rng):
    """Runs that fail for once, now and then; of the null they fail for good, so that fewer are separated at the time,
    too."""
    return {"now": walks(rng, [0.0 if true else 0.02, 0.0], [0.02 if true else 0.0, 0.0])}


@pairs.of("B.uniform.above")
def kept(true, rng):
    """Of the null runs fail above the threshold as they do at it."""
    return {"now": walks(rng, [0.0, 0.0], [0.02, 0.0002 if true else 0.02])}


@pairs.of("B.c24.decent")
def decent(true, rng):
    """Gaps along the best pair of about 0.8 of the best; of the null as along a random direction, about 0.35."""
    choices = {"best": 1.0, "two classes": 0.8 if true else 0.35, "random": 0.35}
    gap = np.array([v + 0.1 * rng.normal(size=100) for v in choices.values()])
    return {"gap": xr.DataArray(gap, {"choice": list(choices)}, ("choice", "draw"))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
