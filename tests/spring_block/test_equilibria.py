"""Pair of the page spring_block/equilibria, and its pictures' numbers on chains that are known in closed form."""

import numpy as np
import xarray as xr
from runs_spring_block import springs

from deepmech import Chain, over, simulate
from deepmech_book.spring_block import equilibria
from deepmech_book.spring_block.chains import mean_step
from pairs import Page

page = Page("spring_block/equilibria")
BARS = np.array([0.0048, 0.0052, 0.0057, 0.0064, 0.0075])


@page.pair("A.theory.drift_time", usual=1.0)
def times_that_grow(level, rng, rival):
    """As exp(c/ε̄²) with so much of the c of the tail of a Gaussian, scattered as those that ship."""
    right, time = 0.03, np.geomspace(1, 4000, 600)
    log = level[""] * (right / 2) ** 2 / 2 / BARS**2
    half = 60 * np.exp(log - log.min() + rng.normal(0, 0.0129, 5))
    step = xr.DataArray(right * 0.5 ** (time / half[:, None]), {"noise_bar": BARS, "time": time})
    return {"run": springs(rng, step, n_blocks=3, n_runs=2, scatter=1e-6), "friction_right": right}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_a_record_that_ends_too_early_decides_nothing():
    run = times_that_grow({"": 1.0}, np.random.default_rng(0), False)["run"].sel(time=slice(None, 100))
    assert equilibria.drift_time(run, friction_right=0.03).not_testable


def test_steps_over_the_time_step_are_those_of_simulations():
    chain = Chain(friction_right=0.02, noise=0.01)
    found = equilibria.by_time_step({"one": chain, "other": chain}, [0.1, 0.05], 5.0, 3)
    end = mean_step(simulate(chain, 5.0, dt=0.1, n_runs=3).position).mean("run")
    assert found.dims == ("kind", "dt") and (found.sel(dt=0.1) == end).all() and found.attrs["long_name"]


def test_an_exponential_goes_through_times_that_are_one():
    times = over("noise_bar", BARS).copy(data=np.exp(1e-4 / BARS**2))
    measured, line = equilibria.over_inverse_square(times)
    np.testing.assert_allclose(line, measured)
    assert measured.inverse_square.attrs["long_name"]
