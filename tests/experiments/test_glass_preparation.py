"""Decorrelation without noise over the length of preparation."""

import numpy as np

from deepmech import Dynamics, Preparation, over, settle
from deepmech.sweeps import run
from deepmech_book.experiments.glass import preparation
from deepmech_book.experiments.glass.data import binary


def test_walks_begin_where_training_for_that_length_ends():
    sweep = preparation.standard("digits", 200, [50, 400], 2, 300, [0, 100])
    made = run(sweep)
    assert made.overlap.dims == ("sgd_steps", "seed", "waiting", "time", "chi") and not made.diverged.any()
    rest = settle(
        Dynamics(width=sweep.fixed["width"], regularisation=0.01), Preparation(sgd_steps=over("sgd_steps", [50, 400])),
        binary("digits", 200), seed=over("seed", [0, 1]), experiment="glass preparation",
    )  # fmt: skip
    assert np.allclose(made.loss_waited.isel(waiting=0), rest.data_loss.transpose("sgd_steps", "seed"), rtol=1e-6)
