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


@pairs.of("B.3.kernel.growth")
def steps_to_first_order(true, rng):
    kernels = both(rng, effect=1.0 if true else 3.0, frozen=0.01)
    return {"kernels": kernels, "steps": kernels["shapes"]}


@pairs.of("B.3.kernel.sign")
def repulsion(true, rng):
    return by_source(rng, share=-0.4 if true else 0.0)


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
