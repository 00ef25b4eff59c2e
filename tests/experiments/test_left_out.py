"""Networks that diverge vanish from no reduction unsaid: they are counted, and the others are as if they were alone."""

import json

import numpy as np
import pytest
import xarray as xr
from slices import cells

from deepmech.sweeps import run
from deepmech_book.experiments.elastic_sde import networks as elastic
from deepmech_book.experiments.glass import phases, transitions, walks
from deepmech_book.experiments.spring_block import regression

LENETS = {
    "dataset": "geomnist", "n_classes": 3, "dtype": "float32", "class_weights": None, "validation": 5,
    "first_seed": 0, "label_error": 0.0, "per_class": 12, "iterations": 40, "thin": 20, "coarse": 20, "n_checks": 2,
    "moments": 3, "n_trials": 20,
}  # fmt: skip


def test_trials_that_diverge_are_in_no_mean():
    # A step size at which some of twenty trials diverge within forty iterations.
    rate = {"learning_rate": 16.0}
    made = elastic.train_cells(cells(rate), **LENETS).isel(cell=0)
    lost = np.isnan(made["validation_loss"].isel(at_iteration=-1)).values
    assert 0 < lost.sum() < 20 and int(made["left_out"]) == lost.sum()
    assert made["count"].sum() == 40 * (20 - lost.sum())
    for name in ("mean", "loss", "accuracy", "group_mean"):
        assert np.isfinite(made[name]).all(), name
    alone = [
        elastic.train_cells(cells(rate), **{**LENETS, "n_trials": 1, "first_seed": i}) for i in np.flatnonzero(~lost)
    ]
    expected = np.mean([one["loss"].values[0] for one in alone], 0)
    np.testing.assert_allclose(made["loss"], expected, rtol=1e-3)


def test_a_configuration_all_of_whose_trials_diverge_has_no_numbers():
    made = elastic.train_cells(cells({"learning_rate": 1e30}), **{**LENETS, "n_trials": 2}).isel(cell=0)
    assert int(made["left_out"]) == 2 and made["loss"].isnull().all() and not made["count"].any()


def test_a_regression_that_diverges_is_a_cell_without_numbers():
    regimes = {"calm": {"learning_rate": 1e-3, "dropout": 0.0}, "wild": {"learning_rate": 1e30, "dropout": 0.0}}
    both = cells(*({"regime": name, "seed": 0} for name in regimes))
    made = regression.train_regressions(both, regimes=regimes, epochs=3, width=6)
    for name in ("load_curve", "error", "loss", "curvature"):
        assert np.isfinite(made[name][0]).all() and np.isnan(made[name][1]).all(), name


def test_survivors_say_how_many_did_not():
    grid = {"temperature": [0.0, 1.0], "seed": range(4)}
    lost = np.zeros((2, 4), bool)
    lost[1, [0, 2]] = True
    loss = np.full((2, 4, 1), 0.1)
    loss[0, 3] = loss[1, 3] = 0.5
    every = {"diverged": (tuple(grid), lost), "loss_waited": ((*grid, "waiting"), loss)}
    run_ = phases.survivors(xr.Dataset(every, grid))
    assert run_.sizes["seed"] == 1 and run_.attrs["left_out"] == 2 and run_.attrs["fallen"] == 1
    spec = walks.standard("regularised", "mnist").to_json()
    run_ = run_.assign(n_weights=("seed", [322])).assign_attrs(spec=json.dumps(spec))
    assert phases.origin(run_).endswith("1 initial conditions (2 more diverged, 1 more lie at the origin).")
    assert phases.origin(phases.survivors(run_)).endswith("1 initial conditions.")
    with pytest.raises(ValueError, match=r"glass-regularised-mnist: of 1 initial conditions 1 diverged.*n_seeds"):
        phases.survivors(run_.assign(diverged=~run_.diverged))


SMALL = {"name": "digits", "n_data": 300}


def at_rest() -> xr.Dataset:
    sweep = transitions.plane(SMALL, [4, 6, 8], [0.0, 0.01, 0.1], 3)
    loss = np.full(sweep.grid.shape, 0.5)
    loss[:, 0] = np.array([1e-1, 1e-3, 1e-5])[:, None]
    loss[:, 1, :] = [0.1, 0.2, 0.5]
    loss[0, 1, 2] = np.nan  # width 4, λ = 0.01, seed 2
    loss[2, 0, 0] = np.nan  # width 8, λ = 0, seed 0
    grid = {"width": [4, 6, 8], "regularisation": [0.0, 0.01, 0.1], "seed": range(3)}
    data = {"data_loss": (tuple(grid), loss), "diverged": (tuple(grid), np.isnan(loss))}
    return xr.Dataset(data, grid, {"spec": json.dumps(sweep.to_json())})


def test_networks_that_never_came_to_rest_are_counted():
    made = at_rest()
    middle = transitions.typical(transitions.by_ratio(made))
    np.testing.assert_allclose(middle, [1e-1, 1e-3, 1e-5])
    assert middle.attrs["left_out"] == 1
    assert "2 of 27 diverged" in transitions.origin(made)
    assert transitions.single_and_mean(made, 2).attrs["left_out"] == 1


def test_a_network_that_diverges_while_it_settles_has_no_error():
    sweep = transitions.plane(SMALL, [4], [0.0], 2, {"sgd_steps": 400, "learning_rate": 1e6})
    made = run(sweep)
    assert made["diverged"].all()
    for name in ("loss", "data_loss", "error", "norm"):
        assert made[name].isnull().all(), name
