"""Claims of the page on the chain's diagrams, on made-up diagrams of chains and on those of nulls."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import chains, shuffled, springs
from truth_and_null import Pairs

from deepmech import over
from deepmech_book.analysis.spring_block.chains import DIAGRAMS

pairs = Pairs("spring_block/phase_diagram")
LEFT = DIAGRAMS["A.3"].friction_left


def bends(mu, at):
    """Friction to the right makes curves concave, and noise bends them down the more, the less of it there is."""
    return mu / 2 - 2 * at * (LEFT - mu)


def figures(rng, bend):
    """All three diagrams; friction is in units of a diagram's friction to the left, times that of Fig. 3."""
    return {
        name: chains(rng, lambda mu, at, scale=LEFT / one.friction_left: bend(mu * scale, at),
                     frictions=np.linspace(0, one.friction_range, 6))
        for name, one in DIAGRAMS.items()
    }  # fmt: skip


@pairs.of("A.3.concave")
def friction_holds_the_first_blocks_back(true, rng):
    """Or does nothing as long as there is no noise, in one of the three."""
    made = figures(rng, bends)
    if not true:
        made |= dict([list(figures(rng, lambda mu, at: bends(mu, at) * (at > 0)).items())[rng.integers(3)]])
    return {"diagrams": made}


@pairs.of("A.3.convex")
def noise_bends_curves_down(true, rng):
    """Or makes them straight, and no more, in one of the three."""
    made = figures(rng, bends)
    if not true:
        made |= dict([list(figures(rng, lambda mu, at: mu * (1 - at)).items())[rng.integers(3)]])
    return {"diagrams": made}


@pairs.of("A.3.monotone")
def more_noise_bends_further_down(true, rng):
    """Or the noises of every row are dealt anew."""
    made = chains(rng, bends)
    return {"first": made if true else shuffled(rng, made, "noise", ["friction_right"])}


@pairs.of("A.3.never_convex")
def the_larger_friction_to_the_right(true, rng):
    """Keeps curves from becoming convex, or does not at the strongest noise."""
    return {"first": chains(rng, bends if true else lambda mu, at: bends(mu, at) - 0.2 * at**4)}


@pairs.of("A.3.eq8")
def half_the_difference(true, rng):
    """Of the frictions; or friction to the left counts otherwise than Eq. 8 says."""
    mu, noise = over("friction_right", [0.0, 0.05, 0.1, 0.15, 0.2, 0.25]), over("noise", [0.0, 0.01, 0.02])
    end = (mu - LEFT * (1.0 if true else rng.choice([0.8, 1.2]))) / 2
    return {"first": springs(rng, mu + (end - mu) * noise / 0.02)}


@pairs.of("A.S14.decay")
def noise_that_fades(true, rng):
    """Brings blocks to rest, and noise that stays does not; of the null both do alike, and move or rest."""
    moves, rests = 0.1, 1e-3
    sizes = (rests, moves) if true else rng.choice([(moves, moves), (rests, rests)])
    made = []
    for size in sizes:
        way = rng.normal(0, 1, (3, 20, 4, 9)) * np.array([0.1, 0.1, 0, size])[:, None]
        made.append(xr.Dataset({"position": (("friction_right", "run", "time", "block"), way.cumsum(2))}))
    return dict(zip(("fading", "constant"), made, strict=True))


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
