"""Claims of beyond/tangent_kernel hold where steps are what logits say, and not where they are other ones."""

import pytest
from runs_beyond import stopped_networks
from truth_and_null import Pairs

from deepmech_book.analysis.beyond import tangent_kernel as moves

pairs = Pairs("beyond/tangent_kernel")
WINDOW = 551


def both(rng, **how):
    return {"shapes": stopped_networks(rng, **how), "photos": stopped_networks(rng, **how)}


def by_source(rng, **how):
    runs, steps = both(rng, **how), stopped_networks(rng, **how)
    found = {"shapes": moves.effects_by_source(runs["shapes"], WINDOW, steps)}
    return {"found": found | {"photos": moves.effects_by_source(runs["photos"], WINDOW)}}


@pairs.of("B.3.kernel.elastic")
def learnt_blocks(true, rng):
    return {"kernels": both(rng, between=0.8 if true else 0.99)}


@pairs.of("B.3.kernel.growth")
def steps_to_first_order(true, rng):
    return {"kernels": both(rng, effect=1.0 if true else 3.0, frozen=0.01)}


@pairs.of("B.3.kernel.finite")
def whole_steps(true, rng):
    kernels = stopped_networks(rng, effect=10.0)
    return {"kernels": kernels, "steps": stopped_networks(rng, effect=1.0 if true else 10.0)}


@pairs.of("B.3.kernel.intra")
def inferred_size(true, rng):
    return by_source(rng, effect=1.0 if true else 50.0)


@pairs.of("B.3.kernel.sign")
def repulsion(true, rng):
    return by_source(rng, share=-0.4 if true else 0.0)


@pairs.fair("B.3.kernel.elastic")
def as_before_training(rng):
    return {"kernels": both(rng, between=0.99)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
