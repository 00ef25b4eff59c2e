"""Claims of laws/inside_a_layer hold where the parts of a layer do what they say, and not where they do not."""

import pytest
import runs_laws
from truth_and_null import Pairs

pairs = Pairs("laws/inside_a_layer")
BLANK = runs_laws.networks()
N = BLANK.sizes["number"]


def made(rng, linear=0.3, norm=0.0, activation=0.0, noise=0.05):
    return runs_laws.with_parts(BLANK, *(part + noise * rng.normal(size=N) for part in (linear, norm, activation)))


@pairs.of("A.1.law.linear")
def linear_maps(true, rng):
    """The null: they separate as much before training."""
    return {"after": made(rng), "before": made(rng, linear=0.02 if true else 0.3)}


@pairs.of("A.1.law.hinders")
def activations(true, rng):
    """The null: they undo as much before training."""
    return {"after": made(rng, activation=-0.1), "before": made(rng, activation=-0.02 if true else -0.1)}


@pairs.of("A.1.law.friction")
def slopes(true, rng):
    slope = BLANK.slope.values
    return {"after": made(rng, activation=(slope if true else rng.permutation(slope)))}


@pairs.of("A.1.law.normalisation")
def norms(true, rng):
    return {"after": made(rng, norm=0.0 if true else -0.08)}


@pairs.fair("A.1.law.linear")
def as_much_before_training(rng):
    return {"after": made(rng), "before": made(rng)}


@pairs.fair("A.1.law.hinders")
def as_much_undone_before_training(rng):
    return {"after": made(rng, activation=-0.1), "before": made(rng, activation=-0.1)}


@pairs.fair("A.1.law.friction")
def both_parts_follow_the_slope(rng):
    slope = BLANK.slope.values
    return {"after": made(rng, linear=slope, activation=slope, noise=0.5)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
