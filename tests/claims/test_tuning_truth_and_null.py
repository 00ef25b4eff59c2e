"""Claims of beyond/tuning hold where straight curves mark the accurate networks, not where other signs do better."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import networks
from truth_and_null import Pairs

from deepmech_book.analysis.spring_block import tuning

pairs = Pairs("beyond/tuning")
SLOPES = (0.0, 0.5, 1.0)


def scores(rng, straight_at=0.35, loss_at=0.75, known_at=0.75, validation=-1.0):
    """Two diagrams whose best noise is 0.35 of the largest; each rule takes the cells at its own place.

    ``straight_at``, ``loss_at``, ``known_at`` are the noise at which curves are straight, the loss is lowest, and the
    known diagram is best; ``validation`` is 1 where the split tells accuracies, −1 where it tells them wrong.
    """

    def accuracy(best):
        return lambda c, slope, at: 0.9 - 0.2 * abs(at - best)

    def bend(slope, at):
        return 0.3 * (straight_at - at) + 0 * slope

    made = {
        "(a)": networks(rng, bend, accuracy(0.35), noise="data_noise", slopes=SLOPES),
        "(d)": networks(rng, bend, accuracy(0.35), noise="batch_size", slopes=SLOPES),
        "1(c)": networks(rng, bend, accuracy(known_at), slopes=SLOPES),
    }
    split = {}
    for name, one in made.items():
        at = np.linspace(0, 1, one.sizes[one["accuracy"].dims[1]])
        away = xr.DataArray(abs(at - loss_at), dims=one["accuracy"].dims[1])
        made[name] = one.assign(loss=xr.zeros_like(one["loss"]) + away + 0.1 * one.slope)
        split[name] = xr.Dataset({"accuracy_validation": validation * one["accuracy"]})
    found = tuning.scored(made, split)
    return {"scores": {name: found[name] for name in ("(a)", "(d)")}}


def anywhere(rng):
    """A noise at which curves are straight, whatever is accurate."""
    return rng.choice([0.6, 0.8, 1.0])


@pairs.of("A.1.tuning.blind")
def beside_a_blind_choice(true, rng):
    """Of the null, half have straight curves anywhere, and in half the lowest loss does as well."""
    if not true and rng.uniform() < 0.5:
        return scores(rng, loss_at=0.35)
    return scores(rng, straight_at=0.35 if true else anywhere(rng))


@pairs.of("A.1.tuning.loss")
def beside_the_loss(true, rng):
    return scores(rng) if true else scores(rng, straight_at=anywhere(rng), loss_at=0.35)


@pairs.of("A.1.tuning.carried")
def beside_a_known_cell(true, rng):
    return scores(rng) if true else scores(rng, straight_at=anywhere(rng), known_at=0.35)


@pairs.of("A.1.tuning.validation")
def beside_a_split(true, rng):
    return scores(rng) if true else scores(rng, straight_at=anywhere(rng), validation=1.0)


@pairs.fair("A.1.tuning.blind")
def the_loss_does_as_well(rng):
    return scores(rng, loss_at=0.35)


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
