"""Claims of laws/generalisation hold on networks whose bend tells how well they do, and not where it tells nothing, or
as much as another measure."""

import numpy as np
import pytest
import runs_laws
from truth_and_null import Pairs

from deepmech_book.bench import judge
from deepmech_book.bench.fresh_networks import BEND
from deepmech_book.bench.measures import HELD_OUT

pairs = Pairs("laws/generalisation")
VALIDATION = HELD_OUT[-1]
COIN = 1.0


def told(rng, truth, share):
    """A measure that knows the truth (number,) but of this share of networks, which it deals anew."""
    return np.where(rng.random(truth.size) < share, rng.permutation(truth), truth)


# --- generalisation.yml: gaps between training and test accuracy ------------------------------------------------------


def with_gaps(rng, stars=40):
    """Networks whose test accuracies lie far apart, all below the same training accuracy."""
    far = 0.1 + 0.8 * rng.random(stars * runs_laws.zoo.SIZE)
    return runs_laws.networks(stars, accuracy=np.stack([np.ones_like(far), 1 - far, 1 - far], 1))


def found(rng, shares, wrong=()):
    """What the bench finds of measures by name, as :func:`told` makes them; those that are ``wrong`` are so of all
    pairs of one environment."""
    record = with_gaps(rng)
    gap, each = judge.gap(record), judge.pairs_of(record)
    values = {name: told(rng, gap.values, share) for name, share in shares.items()}
    for name in wrong:
        at = each[each.environment == rng.choice(each.environment.unique())]
        first, second = at["first"].to_numpy(), at["second"].to_numpy()
        values[name][first] = gap.values[first]
        values[name][second] = 2 * gap.values[first] - gap.values[second]
    return {"found": {name: judge.judged(gap.copy(data=one), record, each) for name, one in values.items()}}


BESIDE = {
    "A.1.law.bend": (BEND, "parameters"),
    "A.1.law.load": ("load after the last layer", "sharpness, worst"),
    "A.1.law.validation": (HELD_OUT[0], VALIDATION),
}


def beside(mine, null):
    def maker(true, rng):
        """Of the null, the measure knows nothing."""
        return found(rng, {mine: 0.2 if true else COIN, null: 0.8})

    def fair(rng):
        return found(rng, {mine: 0.4, null: 0.4})

    return maker, fair


for one, names in BESIDE.items():
    maker, fair = beside(*names)
    pairs.of(one)(maker)
    pairs.fair(one)(fair)


@pairs.of("A.1.law.worst")
def right_everywhere(true, rng):
    """Of the null, it is wrong in one environment."""
    return found(rng, {BEND: 0.1}, wrong=() if true else [BEND])


@pairs.of("A.1.law.every")
def each_is_wrong_somewhere(true, rng):
    """Of the null, one of three is right everywhere, or the validation split is wrong somewhere, too."""
    some = {BEND: 0.1, "parameters": 0.1, "path norm": 0.1, VALIDATION: 0.1}
    right = {VALIDATION} if true else set() if rng.random() < 0.5 else {VALIDATION, rng.choice(list(some)[:3])}
    return found(rng, some, wrong=[name for name in some if name not in right])


# --- fresh_networks.yml and more_networks.yml: test errors and losses themselves --------------------------------------


def later(rng, bend, loss=COIN, stars=36):
    """Networks that fit, of equal training loss, whose test errors and losses lie far apart; all else is random.

    ``bend`` and ``loss`` are the shares of networks of which the bend and the training loss do not know that.
    """
    record = runs_laws.random_networks(rng, stars)
    error = rng.random(record.sizes["number"])
    right = np.stack([np.ones_like(error), 1 - error, 0.9 - 0.4 * error], 1)
    losses = np.stack([0.2 + 0.02 * told(rng, error, loss), 1 + error, 1 + error], 1)
    named = {"accuracy": (("number", "split"), right), "loss": (("number", "split"), losses)}
    return {"networks": runs_laws.with_curves(record.assign(named), 0.05 + 0.1 * told(rng, error, bend))}


TESTED = ("A.1.law.fresh_error", "A.1.law.fresh_fit", "A.1.law.more_fit_error", "A.1.law.more_fit_loss",
          "A.1.law.more_error")  # fmt: skip


@pairs.of(*TESTED, "A.1.law.fresh_median", "A.1.law.more_median")
def straight_ones_do_better(true, rng):
    """Of the null, the bend knows nothing, which is what the other measures know."""
    return later(rng, 0.3 if true else COIN)


@pairs.fair(*TESTED)
def as_the_training_loss(rng):
    return later(rng, 0.4, 0.4)


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
