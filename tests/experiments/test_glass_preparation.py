"""Decorrelation without noise over the length of preparation."""

import numpy as np
import pytest
import xarray as xr

from deepmech import Dynamics, Preparation, over, settle
from deepmech.sweeps import run
from deepmech_book.experiments.glass import preparation
from deepmech_book.experiments.glass.data import binary


def decaying(power, end=1e5, seeds=5):
    """Overlaps of networks whose memory lasts as a power of the length of training, and scatters by a few per cent."""
    times, steps, chi = np.geomspace(1, end, 60), np.array([1e3, 1e4, 1e5, 1e6]), np.array([30.0, 300.0])
    lasts = (steps[:, None] / 1e3) ** power * (1 + 0.02 * np.arange(seeds))
    overlap = np.exp(-0.05 * times * chi[:, None] / lasts[..., None, None] / 300)
    dims = ("sgd_steps", "seed", "chi", "time")
    loss = np.where(np.arange(seeds) == 1, 0.5, 0.1) * np.ones((len(steps), 1))
    return xr.Dataset(
        {"overlap": (dims, overlap), "loss_waited": (("sgd_steps", "seed"), loss)},
        {"sgd_steps": steps, "seed": np.arange(seeds), "chi": chi, "time": times},
    ).expand_dims(waiting=[20])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.2])
def test_the_power_of_a_known_growth_is_found(power):
    every = decaying(power)
    learnt = preparation.learnt(every)
    assert learnt.seed.values.tolist() == [0, 2, 3, 4], "one lies at the origin"
    table = preparation.times(learnt)
    mean = -np.log(0.9) / 0.05 * (table.length / table.length[0]) ** power
    assert np.allclose(table.tau.sel(chi=300.0), mean, rtol=0.08)
    found = preparation.growth(table, 1.0)
    assert np.allclose(found.value, power, atol=0.01)
    assert (found.low - 1e-9 <= found.value).all() and (found.value <= found.high + 1e-9).all()
    assert ((table.low <= table.tau) & (table.tau <= table.high)).all()


def test_where_the_record_ends_first_the_power_is_a_lower_bound():
    table = preparation.times(preparation.learnt(decaying(1.2, end=100.0)))
    assert np.isnan(table.tau).any() and np.isfinite(table.least).all()
    found = preparation.growth(table, 1.0).value
    assert (found < 1.2).all() and (found > 0).any()


def test_walks_begin_where_training_for_that_length_ends():
    sweep = preparation.standard("digits", 200, [50, 400], 2, 300, [0, 100])
    made = run(sweep)
    assert made.overlap.dims == ("sgd_steps", "seed", "waiting", "time", "chi") and not made.diverged.any()
    rest = settle(
        Dynamics(width=sweep.fixed["width"], regularisation=0.01), Preparation(sgd_steps=over("sgd_steps", [50, 400])),
        binary("digits", 200), seed=over("seed", [0, 1]), experiment="glass preparation",
    )  # fmt: skip
    assert np.allclose(made.loss_waited.isel(waiting=0), rest.data_loss.transpose("sgd_steps", "seed"), rtol=1e-6)
