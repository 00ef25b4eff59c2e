"""Claims of the page on metrics, on made-up diagrams measured in two of them and on regimes of regression."""

import numpy as np
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
