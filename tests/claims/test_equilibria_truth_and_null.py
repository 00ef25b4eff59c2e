"""Claims of the page on equilibria, on chains whose springs grow as told and on those of nulls."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import springs
from truth_and_null import Pairs

from deepmech import over
from deepmech_book.analysis.spring_block.chains import mean_step

pairs = Pairs("spring_block/equilibria")
RIGHT, LEFT = 0.1, 0.2
DT = over("dt", [0.1, 0.03, 0.01, 0.003])


@pairs.of("A.theory.range")
def a_step_between_two_limits(true, rng):
    """Or, at one noise, beyond one of them by a tenth of the way between them."""
    way = np.sort(rng.uniform(0, 1, 7))
    if not true:
        way[rng.integers(7)] = rng.choice([-0.1, 1.1])
    low = (RIGHT - LEFT) / 2
    step = over("noise_bar", np.arange(1.0, 8)).copy(data=low + way * (RIGHT - low))
    return {"run": springs(rng, step), "friction_right": RIGHT, "friction_left": LEFT}


@pairs.of("A.theory.step_noise_bar")
def a_step_that_kicks_alone_decide(true, rng):
    """At fixed ε it follows the time step; of the null it does so at fixed ε̄ too, or in neither case."""
    same, follows = -0.04 + 0 * DT, -0.04 + DT / 4
    kicks, noise = (same, follows) if true else rng.choice([(follows, follows), (same, same)])
    made = [mean_step(springs(rng, DT.copy(data=one)).position) for one in (kicks, noise)]
    return dict(zip(("same_kicks", "same_noise"), made, strict=True))


@pairs.of("A.theory.bounded_rests")
def bounded_kicks_leave_the_chain_at_rest(true, rng):
    """And unbounded ones do not; of the null both do alike."""
    noise, drift = over("noise_bar", [0.006, 0.01]), xr.DataArray([0.0, -0.01], dims="time")
    moves = (0, 1) if true else rng.choice([(0, 0), (1, 1)])
    made = [springs(rng, 0.02 + 0 * noise + move * drift, scatter=1e-4) for move in moves]
    return dict(zip(("bounded", "unbounded"), made, strict=True))


@pairs.of("A.theory.drift_time")
def a_time_that_grows_as_predicted(true, rng):
    """exp(c/ε̄²) with the c of the tail of a Gaussian; or with half or double of it, or like a power of the noise."""
    right, time = 0.03, np.geomspace(1, 4000, 600)
    bars = np.array([0.0048, 0.0052, 0.0057, 0.0064, 0.0075])
    predicted = np.exp((right / 2) ** 2 / 2 / bars**2)
    other = [predicted**0.5, predicted**2, (1 / bars) ** 3]
    half = predicted if true else other[rng.integers(3)]
    half = half * (20 / half.min()) * np.exp(rng.normal(0, 0.02, 5))
    step = right * 0.5 ** (time / half[:, None])
    labels = {"noise_bar": bars, "time": time}
    run = springs(rng, xr.DataArray(step, labels), n_blocks=3, n_runs=10)
    return {"run": run, "friction_right": right}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
