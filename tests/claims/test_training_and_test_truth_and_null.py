"""Claims of the page on Fig. S4 on networks that do what the paper says, and on such that do not."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("spring_block/training_and_test")
RATES = [1e-4, 1e-3, 1e-2]


def three_rates(rng, bends=(0.1, 0.0, -0.25), accuracies=(91.93, 92.52, 89.99), off_test=0.0, n_seeds=10):
    """Networks of Fig. S4: curvatures and accuracies at three learning rates; test curves bend by ``off_test`` more."""
    coords = {"learning_rate": RATES, "split": ["train", "test"], "seed": range(n_seeds)}
    like = xr.DataArray(np.zeros((3, 2, n_seeds)), coords)
    shape = np.array(bends)[:, None, None] + np.array([0.0, off_test])[:, None]
    accuracy = like + np.array(accuracies)[:, None, None] / 100
    return xr.Dataset(
        {
            "curvature": like + shape + rng.normal(0, 0.005, like.shape),
            "accuracy": accuracy + rng.normal(0, 0.002, like.shape),
        }
    )


@pairs.of("A.S4.turns")
def concave_then_convex(true, rng):
    return {"made": three_rates(rng) if true else three_rates(rng, rng.uniform(-0.04, 0.04, 3))}


@pairs.of("A.S4.linear")
def straight_on_both(true, rng):
    return {"made": three_rates(rng, off_test=0.0 if true else rng.choice([-1, 1]) * rng.uniform(0.06, 0.15))}


@pairs.of("A.S4.accuracies")
def as_printed(true, rng):
    off = np.zeros(3) if true else rng.choice([-1, 1], 3) * rng.uniform(1.2, 3, 3)
    return {"made": three_rates(rng, accuracies=np.array([91.93, 92.52, 89.99]) + off)}


@pairs.of("A.S4.best")
def straightest_is_best(true, rng):
    return {"made": three_rates(rng) if true else three_rates(rng, accuracies=(92.0, 92.0, 92.0))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
