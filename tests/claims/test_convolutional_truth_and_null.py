"""Claims of the page on dropout that is raised in training, on made-up networks at the ends of three stages."""

import json

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import curves
from truth_and_null import Pairs

from deepmech_book.sweeps.spring_block.convolutional import STAGES, dropout_raised

pairs = Pairs("spring_block/convolutional")


def stages(rng, bends=(0.3, 0.02, -0.2), accuracy=(0.90, 0.93, 0.88), alone=(0.90, 0.90, 0.90), n_seeds=4):
    """Networks with these curvatures and accuracies at the ends of the stages."""
    cells = {"at_epoch": [4000, 8000, 12_000], "seed": range(n_seeds)}

    def runs(means, size, axis="at_epoch"):
        shape = xr.DataArray(np.array(means)[:, None] + rng.normal(0, size, (3, n_seeds)), cells)
        return shape if axis == "at_epoch" else shape.rename(at_epoch="stage").assign_coords(stage=list(STAGES))

    data = {
        "load_curve": curves(runs(bends, 0.01)),
        "accuracy": runs(accuracy, 0.002),
        "accuracy_without": runs(alone, 0.002, "stage"),
    }
    return {"made": xr.Dataset(data, attrs={"spec": json.dumps(dropout_raised("mnist", n_seeds).to_json())})}


@pairs.of("A.S2.order")
def less_concave_each_time(true, rng):
    """Of the null, the second increase changes nothing."""
    return stages(rng, (0.3, 0.02, -0.2) if true else (0.3, 0.02, 0.02))


@pairs.of("A.S2.concave")
def concave_at_first(true, rng):
    return stages(rng, (0.3 if true else 0.0, 0.0, -0.2))


@pairs.of("A.S2.linear")
def straight_then(true, rng):
    """Of the null, it is bent by more than the bar to one side or the other."""
    return stages(rng, (0.3, 0.0 if true else rng.choice([-0.08, 0.08]), -0.2))


@pairs.of("A.S2.convex")
def convex_at_last(true, rng):
    return stages(rng, (0.3, 0.0, -0.2 if true else 0.0))


@pairs.of("A.S2.accuracy")
def a_gain_and_a_loss(true, rng):
    """Of the null, one of the two changes is none."""
    return stages(
        rng, accuracy=(0.90, 0.93, 0.88) if true else [(0.90, 0.90, 0.85), (0.90, 0.93, 0.93)][rng.integers(2)]
    )


@pairs.of("A.S2.not_time")
def a_gain_by_dropout(true, rng):
    """Of the null, networks without dropout gain as much in as many epochs."""
    return stages(rng, alone=(0.90, 0.90, 0.90) if true else (0.90, 0.93, 0.93))


@pairs.fair("A.S2.not_time", told=0.15)
def as_long_without_dropout(rng):
    return stages(rng, alone=(0.90, 0.93, 0.93))


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)


def test_what_is_not_of_the_papers_size_is_not_judged():
    made = stages(np.random.default_rng(0))["made"]
    small = made.assign_attrs(spec=json.dumps(dropout_raised("digits", 4).to_json()))
    from deepmech_book import claims

    assert claims.measure("A.S2.order", small).verdict.startswith("not testable")
    assert claims.measure("A.S2.order", made.assign_coords(at_epoch=[40, 80, 120])).verdict.startswith("not testable")
