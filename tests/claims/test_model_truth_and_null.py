"""Each claim of the page on the model tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from scipy.special import softmax
from truth_and_null import Pairs

from deepmech import over
from deepmech_book.analysis.elastic_sde import closed_forms

pairs = Pairs("elastic_sde/model")


@pairs.of("B.theory.eq9")
def fixed_vectors(true, rng):
    """Effects that keep their ratio, for which Eq. 9 is exact, and effects that do not."""
    exponent = 0.8 if true else rng.uniform(1.1, 3.0)
    return {"unexplained": closed_forms.unexplained_by_eq_9(over("exponent", [exponent]))}


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
