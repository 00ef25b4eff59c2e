"""Claims of the page glass/scaling on weights that slide at one pace, and at paces that differ."""

import numpy as np
import pytest
from runs_glass import LONG, sliding_run
from truth_and_null import Pairs

from deepmech_book.analysis.glass import relaxation

pairs = Pairs("glass/scaling")


@pairs.of("C.A1.crossover_moves")
def windows_left_neither_as_a_walk_nor_as_a_slide(true, rng):
    bend = 1 / 1.41 if true else 1.0
    times = np.geomspace(1, 1e8, 300)
    return {"regularised": sliding_run(1e-8 if true else 1e-7, bend=bend, times=times, rng=rng)}


@pairs.of("C.scaling.cold_kept")
def slides_of_one_pace(true, rng):
    speeds = {60_000: 1e-7 if true else 2.5e-8, 4000: 1e-7}
    return {
        "by_size": {n: relaxation.finest_times(sliding_run(speed, rng=rng, times=LONG)) for n, speed in speeds.items()}
    }


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
