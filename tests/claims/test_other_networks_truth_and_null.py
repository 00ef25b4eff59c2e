"""Claims of beyond/other_networks hold of networks that training, dropout and images bend as said, and of no others."""

import numpy as np
import pytest
import runs_spring_block
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("beyond/other_networks")
KINDS = ("residual", "transformer")


def falling(slope, at):
    return 0.25 - 0.5 * at - 0.05 * slope


def diagram(rng, bend=falling, accuracy=lambda c, slope, at: 0.95 - abs(c) / 2, **how):
    return runs_spring_block.networks(rng, bend, accuracy, slopes=(0.0, 0.5, 1.0), **how)


def straight(slope, at):
    return 0 * at


@pairs.of("A.1.travels.plain", "A.1.travels.residual", "A.1.travels.transformer")
def both_phases(true, rng):
    """Of the null, one of the two phases is missing, or both are there before training."""
    one_sided = [lambda slope, at: 0.25 - 0.25 * at, lambda slope, at: -0.25 * at, falling][rng.integers(3)]
    before = straight if true or one_sided is not falling else falling
    return {"trained": diagram(rng, falling if true else one_sided), "untrained": diagram(rng, before)}


@pairs.fair("A.1.travels.plain", "A.1.travels.residual", "A.1.travels.transformer")
def as_bent_before_training(rng):
    """In the corner without dropout."""
    return {"trained": diagram(rng), "untrained": diagram(rng, lambda slope, at: falling(slope, at) * (at < 1))}


@pairs.of("A.1.travels.bends")
def bent_by_dropout(true, rng):
    """Of the null, one of the two kinds is not."""
    bends = [falling, falling if true else straight]
    return {"diagrams": {kind: diagram(rng, bends[i]) for kind, i in zip(KINDS, rng.permutation(2), strict=True)}}


def away(best):
    """Accuracy that falls with the distance in columns from the best one, whatever curves do."""
    return lambda c, slope, at: 0.95 - abs(at - best) / 5


def slanted(slope, at):
    """Straight at another dropout in each row, in no order."""
    return 0.3 * (np.choose((2 * slope).astype(int), [0.1, 0.9, 0.5]) - at)


@pairs.of("A.1.travels.accuracy")
def accurate_where_straight(true, rng):
    """Of the null, of one kind the best dropout is everywhere the same one."""
    one, other = diagram(rng, slanted), diagram(rng, slanted, **({} if true else {"accuracy": away(0.5)}))
    return {"diagrams": dict(zip(KINDS, (one, other), strict=True))}


@pairs.fair("A.1.travels.accuracy")
def accurate_near_one_dropout(rng):
    """At which curves are straight, too: of one kind, the size of the curvature is that distance, but for scatter."""
    alike = diagram(rng, lambda slope, at: 0.3 * (0.5 - at), away(0.5), scatter=0.05)
    return {"diagrams": dict(zip(KINDS, (diagram(rng, slanted), alike), strict=True))}


def on_images(rng, coarse, fine, repeated, n_seeds=3):
    """Networks of these curvatures on images of three sizes."""
    bend = np.array([coarse, fine, repeated])[:, None] + rng.normal(0, 0.005, (3, n_seeds))
    cells = {"images": ["10", "28", "10 as 28"], "seed": range(n_seeds)}
    bend = xr.DataArray(bend, cells)
    return {"sizes": xr.Dataset({"curvature": bend, "accuracy": 0 * bend + 0.9})}


@pairs.of("A.1.travels.resolution")
def more_to_see(true, rng):
    """Of the null, finer images bend less than asked for, or repeated pixels bend as much."""
    ends = (0.0, 0.1) if true else [(0.08, 0.1), (0.0, 0.0)][rng.integers(2)]
    return on_images(rng, 0.1, *ends)


@pairs.fair("A.1.travels.resolution", told=0.15)
def as_many_pixels(rng):
    return on_images(rng, 0.1, 0.0, 0.0)


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
