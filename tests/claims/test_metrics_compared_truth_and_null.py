"""Claims of the page on two metrics, on made-up diagrams measured in both."""

import pytest
import xarray as xr
from runs_spring_block import networks, shuffled
from truth_and_null import Pairs

pairs = Pairs("spring_block/metrics_compared")


def diagram(rng):
    return networks(rng, lambda slope, at: 0.15 - 0.25 * at - 0.1 * slope)[["load_curve", "curvature", "accuracy"]]


def in_both(one, other):
    return xr.concat([one, other], xr.Variable("metric", ["D", "D_hat"]))


@pairs.of("A.S10.same_pattern", "A.S10.dropout_bends")
def the_same_diagram(true, rng):
    """Of the null, the second metric deals the cells of each row anew."""
    one, other = diagram(rng), diagram(rng)
    other = other if true else shuffled(rng, shuffled(rng, other, "dropout", ["slope"]), "slope")
    return {"made": in_both(one, other)}


@pairs.of("A.S11.relu_agrees")
def relu_networks_alike(true, rng):
    """Of the null, the second metric deals the columns anew."""
    one, other = diagram(rng), diagram(rng)
    return {"made": in_both(one, other if true else shuffled(rng, other, "dropout"))}


@pairs.of("A.S11.linear_flat")
def flat_in_linear_networks(true, rng):
    """Of the null, the second metric is as flat in ReLU networks."""
    one, other = diagram(rng), diagram(rng)
    slope = other["slope"]
    flat = xr.where(slope == 1.0, 0.2, 0.9) if true else xr.where(slope == 1.0, rng.uniform(0.9, 1.1), 0.9)
    return {"made": in_both(one, other.assign(load_curve=flat * other["load_curve"]))}


@pairs.fair("A.S11.linear_flat")
def as_flat_in_relu_networks(rng):
    """At one dropout, but for scatter."""
    one, other = diagram(rng), diagram(rng)
    flat = xr.where(other["slope"] == 1.0, 0.5, 0.9) * (other["dropout"] * 0 + 1)
    flat[:, rng.integers(other.sizes["dropout"])] = 0.7
    return {"made": in_both(one, other.assign(load_curve=flat * other["load_curve"]))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
