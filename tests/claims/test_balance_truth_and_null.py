"""Claims of the page spring_block/balance on rows that obey friction, and on rows that do not."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.spring_block import balance

pairs = Pairs("spring_block/balance")
DROPOUTS = np.array([0.0, 0.03, 0.07, 0.12, 0.2])
ODDS = DROPOUTS / (1 - DROPOUTS)


def springs(friction, taken, n, rng):
    """A load curve for each dropout whose springs grow by the friction less what dropout takes off."""
    spring = np.arange(n - 1) - (n - 2) / 2
    stretch = 4 / (n - 1) + (friction - taken)[:, None] * spring + rng.normal(0, 0.01, (len(taken), n - 1))
    return 4 - np.concatenate([np.zeros((len(taken), 1)), np.cumsum(stretch, -1)], -1)


def judged(rng, used, clear=False):
    """Sixteen rows of two depths and widths; ``used`` says by friction, depth and width what dropout takes off.

    If ``clear``, frictions lie halfway between what neighbouring dropouts take off, so that no true bend is near 0.
    """
    halfway = (ODDS[:-2] + ODDS[1:-1]) / 2
    load, widths = np.full((16, len(DROPOUTS), 11), np.nan), np.tile([50, 90], 8)
    for j, width in enumerate(widths):
        friction = rng.choice(halfway) * 100 / width if clear else rng.uniform(0.02, 0.2)
        n = (7, 11)[j // 2 % 2]
        load[j, :, :n] = springs(friction, used(friction, n, width), n, rng)
    calibration = xr.DataArray(springs(0.12, ODDS, 8, rng), {"dropout": DROPOUTS, "layer": range(8)})
    coords = {"row": range(16), "dropout": DROPOUTS}
    rows = xr.Dataset({"load_curve": (("row", "dropout", "layer"), load), "width": ("row", widths)}, coords)
    return {
        "came": balance.measured(rows),
        "said": balance.foretold(rows, balance.Calibration.of(calibration, 100)),
    }


def used_up(true, rng):
    """What dropout takes off: the calibration's, or what makes every row straight at a dropout of its own."""

    def used(friction, n, width):
        return ODDS * 100 / width if true else friction * DROPOUTS / rng.uniform(0.01, 0.2)

    return used


@pairs.of("A.1.balance.dropout", "A.1.balance.rank")
def friction_that_dropout_uses_up(true, rng):
    """In the null every row is straight at a dropout of its own, whatever its friction."""
    return judged(rng, used_up(true, rng))


@pairs.of("A.1.balance.sign")
def friction_that_is_used_up_between_two_dropouts(true, rng):
    """In the null, again, every row is straight at a dropout of its own."""
    return judged(rng, used_up(true, rng), clear=True)


@pairs.of("A.1.balance.friction")
def the_same_off_friction_at_every_depth(true, rng):
    """In the null dropout takes the same off the curvature, so that a line through the curvature is right."""

    size = {n: balance.bend_of(np.array([0.01]), 4.0, n - 1).item() for n in (7, 8, 11)}

    def used(friction, n, width):
        return ODDS * 100 / width * (1 if true else size[8] / size[n])

    return judged(rng, used)


@pairs.fair("A.1.balance.dropout", "A.1.balance.sign", "A.1.balance.rank")
def as_the_other_rows_tell(rng):
    """What the chain and the mean of other rows foretell is off alike, each for itself."""
    made = judged(rng, used_up(True, rng), clear=True)
    came, said = made["came"], made["said"]
    for name, size in (("balance", 0.01), ("bend", 0.05)):
        off = size * rng.normal(size=(2, *came[name].shape))
        said[name].loc[{"kind": ["chain", "other rows"]}] = came[name].values + off
    return {"came": came, "said": said}


@pytest.mark.parametrize("name", pairs.claims)
def test_a_claim_tells_truth_from_null(name):
    pairs.check(name)
