"""The claim of the page on your network, on intervals that hold the truth often enough, and on such that do not."""

import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("beyond/your_network")
DRAWS = 1000


@pairs.of("A.1.samples.coverage")
def intervals_that_hold(true, rng):
    """Of the null, intervals of one population hold the truth too seldom, or no more often than those of plain D."""
    shares = [0.95, 0.96, 0.95] if true else [0.95, 0.96, rng.choice([0.86, 0.89])]
    held = xr.DataArray(rng.binomial(DRAWS, [[0.3, 0.5, 0.1], shares]) / DRAWS, dims=("estimate", "law"))
    return {"covered": held.assign_coords(estimate=["plain", "debiased"]), "draws": DRAWS}


@pairs.fair("A.1.samples.coverage", told=0.1)
def as_often_as_of_plain_d(rng):
    """In one population."""
    plain, debiased = [0.3, 0.93, 0.1], [0.95, 0.93, 0.95]
    held = xr.DataArray(rng.binomial(DRAWS, [plain, debiased]) / DRAWS, dims=("estimate", "law"))
    return {"covered": held.assign_coords(estimate=["plain", "debiased"]), "draws": DRAWS}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
