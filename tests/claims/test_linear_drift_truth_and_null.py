"""Each claim of the page on the linear drift tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from scipy.special import softmax
from truth_and_null import Pairs

pairs = Pairs("elastic_sde/linear_drift")


def pulled(rng, size, shape):
    """Networks whose class means are ``size`` (over time) times a shape (class, logit), in ten groups that scatter."""
    groups = []
    for _ in range(10):
        z = size[:, None, None] * (1 + 0.005 * rng.normal(size=(1, 3, 1))) * shape
        groups.append(
            xr.DataArray(z, {"time": runs.T, "class": [0, 1, 2], "logit": [0, 1, 2]}, ("time", "class", "logit"))
        )
    return {"shapes": runs.networks(*groups)}


@pairs.of("B.B5.constant")
def constant(true, rng):
    """Logits that stand still from the middle of training on; of the null they grow on, and the pull falls."""
    share = runs.T / runs.T[-1]
    size = 1 + 6 * (np.minimum(share, 0.4) if true else share)
    shape = 2 * (np.eye(3) - 1 / 3)
    assert softmax(size[-1] * shape, -1).diagonal().min() > 0.9  # well trained
    return {"networks": pulled(rng, size, shape)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
