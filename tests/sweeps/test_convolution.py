"""Figs. S2 and S3 in small: what is recorded means what it says, and dropout bends the load curve down."""

import numpy as np
import pytest
import xarray as xr

from deepmech.data import load
from deepmech.metrics.curvature import curvature
from deepmech.sweeps import run, sweep_of
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps.spring_block import convolutional
from deepmech_book.sweeps.verification import compare

FAST = {"learning_rate": 1e-3}
TINY = {"name": "digits", "n_train": 60, "n_test": 40}


@pytest.fixture(scope="module")
def tiny() -> xr.Dataset:
    how = {"stage": 3, "n_records": 3, "network": {"channels": 3, "convolutions": 3}}
    return run(experiment("dropout-raised", {"seed": range(2)}, data=TINY, training=FAST, **how), chunk=1)


def test_records_cover_the_three_stages(tiny):
    assert tiny.at_epoch.values.tolist() == list(range(1, 10))
    assert tiny["class_mean"].sizes == {"seed": 2, "stage": 3, "layer": 4, "digit": 3, "row": 8, "column": 8}
    np.testing.assert_allclose(curvature(tiny["load_curve"]), tiny["curvature"])


def test_networks_with_and_without_dropout_are_the_same_until_dropout_sets_in(tiny):
    ends = tiny["accuracy"].sel(at_epoch=[3, 6, 9]).transpose("seed", "at_epoch").values
    alone = tiny["accuracy_without"].transpose("seed", "stage").values
    np.testing.assert_array_equal(alone[:, 0], ends[:, 0])
    assert np.isnan(alone[:, 2]).all()


def test_a_part_of_a_cell_is_what_the_whole_holds_under_the_same_labels(tiny):
    report = compare("tiny", sweep_of(tiny), tiny, 2, 0, part=True)
    assert report.in_part and report.passed and report.largest == 0
    wrong = tiny.assign(accuracy=tiny["accuracy"] + 0.1)
    assert not compare("tiny", sweep_of(tiny), wrong, 2, 0, part=True).passed


def test_layer_0_shows_the_mean_images_and_their_width_at_every_stage(tiny):
    data = convolutional.load(**TINY)
    for i, digit in enumerate(convolutional.DIGITS):
        own = data.x_train[data.y_train == digit].astype(float)
        mean = own.mean(0)
        found, shown = tiny["class_mean"].isel(seed=1, digit=i, layer=0), np.tile(mean.reshape(8, 8), (3, 1, 1))
        np.testing.assert_allclose(found, shown, atol=1e-6)
        every = np.mean([data.x_train[data.y_train == k].mean(0) for k in range(10)], axis=0)
        width = ((own - mean) ** 2).sum(1).mean() / ((mean - every) ** 2).sum()
        np.testing.assert_allclose(tiny["class_width"].isel(digit=i, layer=0), width, rtol=1e-5)
        np.testing.assert_allclose(tiny["class_width_before"].isel(digit=i, layer=0), width, rtol=1e-5)


@pytest.mark.slow
def test_dropout_takes_the_load_curve_down_on_digits():
    data = {"name": "digits", "n_train": 120}
    how = {"stage": 60, "n_records": 8, "training": FAST}
    made = run(experiment("dropout-raised", {"seed": [0]}, data=data, **how))
    bend = made["curvature"].sel(at_epoch=[60, 120, 180]).squeeze().values
    assert bend[0] > bend[1] + 0.05 > bend[2] + 0.1


@pytest.fixture(scope="module")
def made():
    return run(experiment("figure-S12", {"seed": range(2)}, epochs=40, width=30))


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
