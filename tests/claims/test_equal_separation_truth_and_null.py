"""Claims of laws/equal_separation hold on networks that obey the law, and not on those that do not."""

import numpy as np
import pytest
import runs_laws
from truth_and_null import Pairs

from deepmech_book.bench.straightness import Stops

pairs = Pairs("laws/equal_separation")
BLANK = runs_laws.networks()
N = BLANK.sizes["number"]


def stops(**some):
    """Of networks that no claim looks at nothing is known."""
    return Stops(**{name: some.get(name, BLANK) for name in Stops.__dataclass_fields__})


@pairs.of("A.1.law.late")
def straighten(true, rng):
    early = 0.05 + 0.1 * rng.random(N)
    late = early * np.where(rng.random(N) < (0.8 if true else 0.5), 0.8, 1.2)
    return {"stops": stops(early=runs_laws.with_curves(BLANK, early), late=runs_laws.with_curves(BLANK, late))}


@pairs.of("A.1.law.straight")
def straight_lines(true, rng):
    deep = BLANK.isel(number=np.flatnonzero(BLANK.depth >= 6))
    lines = runs_laws.with_curves(deep, 0.01 * rng.normal(size=deep.sizes["number"]))
    hat = lines.load_curve_hat
    falling = -np.cumsum(rng.exponential(size=hat.shape), axis=1)
    return {"stops": stops(deep=lines if true else lines.assign(load_curve_hat=hat * 0 + falling))}


@pairs.of("A.1.law.selected")
def accurate_ones(true, rng):
    bend = 0.2 * rng.random(N)
    told = 0.9 - 0.2 * (bend if true else rng.permutation(bend)) + 0.005 * rng.normal(size=N)
    after = runs_laws.with_curves(BLANK, bend)
    told, blind = (np.repeat(one[:, None], 3, 1) for one in (told, rng.random(N)))
    after = after.assign(accuracy=(("number", "split"), told), loss=(("number", "split"), blind))
    return {"stops": stops(after=after)}


@pairs.of("A.1.law.progressive")
def progress(true, rng):
    """The null: as many fall before training."""

    def made(share):
        falling = runs_laws.with_curves(BLANK, np.zeros(N))
        back = np.where(rng.random(N) < share, 1.0, -1.0)
        return falling.assign(load_curve=falling.load_curve * back[:, None, None])

    return {"stops": stops(trained=made(0.8), untrained=made(0.1 if true else 0.8))}


@pairs.fair("A.1.law.straight")
def as_straight_as_random_steps(rng):
    deep = runs_laws.with_curves(BLANK.isel(number=np.flatnonzero(BLANK.depth >= 6)), 0.0)
    hat = deep.load_curve_hat
    falling = np.pad(-np.cumsum(rng.exponential(size=hat.shape), axis=1)[:, :-1], ((0, 0), (1, 0)))
    return {"stops": stops(deep=deep.assign(load_curve_hat=(hat * 0 + falling)))}


@pairs.fair("A.1.law.selected")
def by_the_loss_as_well(rng):
    bend = 0.2 * rng.random(N)
    told, lost = (np.repeat((0.2 * bend + 0.03 * rng.normal(size=N))[:, None], 3, 1) for _ in range(2))
    after = runs_laws.with_curves(BLANK, bend)
    return {
        "stops": stops(after=after.assign(accuracy=(("number", "split"), 0.9 - told), loss=(("number", "split"), lost)))
    }


@pairs.fair("A.1.law.progressive")
def as_many_before_training(rng):
    falling = runs_laws.with_curves(BLANK, np.zeros(N))
    both = (np.where(rng.random(N) < 0.8, 1.0, -1.0)[:, None, None] for _ in range(2))
    trained, untrained = (falling.assign(load_curve=falling.load_curve * back) for back in both)
    return {"stops": stops(trained=trained, untrained=untrained)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
