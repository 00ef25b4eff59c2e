"""Fig. S12: what the load curve of regression must show whatever the network learns."""

import numpy as np
import pytest
import xarray as xr

from deepmech.data import load
from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import regression


@pytest.fixture(scope="module")
def made():
    return run(regression.figure_s12(n_seeds=2, epochs=40, width=30))


def test_cells_do_not_know_their_chunk(made):
    again = run(regression.figure_s12(n_seeds=2, epochs=40, width=30), chunk=3)
    xr.testing.assert_identical(made.drop_attrs(), again.drop_attrs())


def test_the_curve_begins_with_the_linear_fit_of_the_raw_data(made):
    """BatchNorm of the input is an affine map, so the probe's error there is that of ordinary least squares."""
    data = load("diabetes")
    x, y = data.x_train.astype(float), data.y_train.astype(float)
    design = np.column_stack([x, np.ones(len(x))])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    expected = np.sqrt(np.mean(residual**2)) / y.std()
    np.testing.assert_allclose(made["load_curve"].sel(layer=0), expected, rtol=1e-4)


def test_the_network_reads_its_last_layer_no_better_than_the_best_probe(made):
    assert (made["error"].sel(split="train") >= made["load_curve"].isel(layer=-1) - 1e-5).all()


def test_training_lays_out_the_last_layer_along_the_target(made):
    last = made["load_curve"].isel(layer=-1)
    assert (last.sel(regime="ii: large steps") < 0.5 * last.sel(regime="untrained")).all()
    before = made["load_curve"].sel(regime="untrained")
    assert (before.isel(layer=-1) > before.isel(layer=1)).all()  # random layers only lose what was known
