"""Claims of the page glass/ageing on weights that slide the slower the longer one waits, and on such that do not."""

import pytest
from runs_glass import LONG, sliding_run
from truth_and_null import Pairs

pairs = Pairs("glass/ageing")
WAITS = (10_000, 20_000, 40_000)
DECAY = 1e-5  # of a weight by its decay, a step: μλ


def phases_of(rng, regularised=0.0, underparameterised=0.0, speed=1e-7, cooling=0.0):
    """Phases whose slides slow down with the wait by these powers of e a step."""
    same = {"rng": rng, "waits": WAITS, "speed": speed, "cooling": cooling, "times": LONG}
    return {
        "regularised": sliding_run(slowing=regularised, **same),
        "underparameterised": sliding_run(slowing=underparameterised, phase="underparameterised", **same),
    }


@pairs.of("C.8.ages")
def slower_than_decay_makes_them(true, rng):
    return {"runs": phases_of(rng, *((3e-5, 2e-5) if true else (DECAY, 0.0)))}


@pairs.of("C.8.hot_does_not")
def kicks_that_do_not_weaken(true, rng):
    return {"runs": phases_of(rng, DECAY, cooling=0.0 if true else 1e-5)}


@pairs.of("C.8.stronger_regularised")
def more_than_decay_faster(true, rng):
    return {"runs": phases_of(rng, (4 if true else 2) * DECAY, DECAY)}


@pairs.of("C.8.crossover")
def slow_ageing(true, rng):
    return {"runs": phases_of(rng, 1e-5 if true else 5e-5, 1e-5)}


@pairs.of("C.A11.no_ageing")
def free_walks(true, rng):
    large = sliding_run(
        0.0, waits=WAITS[:2], phase="overparameterised", rng=rng, cooling=0.0 if true else 2e-5, times=LONG
    )
    return {"runs": {**phases_of(rng, 3e-5, 2e-5), "overparameterised": large}}


@pairs.fair("C.8.ages")
def as_decay_makes_them(rng):
    return {"runs": phases_of(rng, DECAY, 2e-5)}


@pairs.fair("C.8.stronger_regularised")
def as_much_faster_as_decay(rng):
    return {"runs": phases_of(rng, 2 * DECAY, DECAY)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
