"""Figure 1 as sweeps: same networks under any chunking and in panels that overlap; measures against made-up panels."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import networks, summaries
from deepmech_book.experiments.spring_block.networks import figure_1, untrained
from deepmech_book.experiments.spring_block.summaries import measures

TINY = {"name": "digits", "n_train": 120, "n_test": 100}
SMALL = {"width": 12, "depth": 4}


def tiny(name="dropout", values=(0.0, 0.2), **training):
    return figure_1(name, TINY, values, [0.0, 0.5], n_seeds=2, network=SMALL, training={"epochs": 4, **training})


def test_a_panel_runs_and_does_not_depend_on_its_chunks():
    one, many = run(tiny(), chunk=1), run(tiny(), chunk=5)
    assert dict(one.sizes) == {"slope": 2, "dropout": 2, "seed": 2, "layer": 4}
    for name in one.data_vars:
        np.testing.assert_array_equal(one[name], many[name], err_msg=name)
    np.testing.assert_array_equal(one["curvature"], curvature(one["load_curve"]))
    assert not one["diverged"].any() and (one["epochs_run"] == 4).all()


def test_panels_agree_where_they_are_the_same_experiment():
    dropout = run(tiny("dropout"))
    noise = run(tiny("data_noise", (0.0, 0.3)))
    rate = run(tiny("learning_rate", (1e-4, 1e-3)))
    batch = run(tiny("batch_size", (60, 120)))
    for name in ("load_curve", "accuracy", "loss"):
        same = dropout[name].sel(dropout=0.0, drop=True)
        xr.testing.assert_identical(same, noise[name].sel(data_noise=0.0, drop=True))
        xr.testing.assert_identical(same, rate[name].sel(learning_rate=1e-3, drop=True))
        xr.testing.assert_identical(same, batch[name].sel(batch_size=120, drop=True))
        assert not same.equals(batch[name].sel(batch_size=60, drop=True))


def test_a_cell_with_a_network_that_diverged_has_no_numbers():
    result = run(tiny(values=(0.0, 0.2, 0.3)))
    whole = measures(result)
    result["accuracy"][0, 0, 0] = np.nan
    assert (whole.left_out, measures(result).left_out) == (0, 1)


def made_up(name: str, values: list[float], bend: np.ndarray, accuracy: np.ndarray) -> xr.Dataset:
    dims = ("slope", name)
    coords = {"slope": [0.0, 0.5, 1.0], name: values}
    return xr.Dataset({"curvature": (dims, bend), "accuracy": (dims, accuracy)}, coords).expand_dims(seed=10)


@pytest.mark.parametrize(("name", "values"), [("dropout", [0.0, 0.1, 0.2, 0.3]), ("batch_size", [400, 300, 200, 100])])
def test_measures_of_an_ideal_diagram(name, values):
    """Curvature falls linearly with noise and slope, accuracy with |curvature|: every number is known."""
    noise, slope = np.linspace(0, 0.3, 4), np.array([0.0, 0.5, 1.0])
    bend = 0.26 - noise - 0.31 * slope[:, None]
    numbers = measures(made_up(name, values, bend, 1 - np.abs(bend)))
    assert numbers.bends_with_noise.value.values.tolist() == pytest.approx([-1, -1, -1])
    assert numbers.bends_with_slope.value.values.tolist() == pytest.approx([-1, -1, -1, -1])
    assert numbers.lazy_corner.value == pytest.approx(0.26)
    assert numbers.noisiest.value.values.tolist() == pytest.approx((0.26 - 0.3 - 0.31 * slope).tolist())
    assert numbers.falls.value == numbers.falls_in_rows.value == pytest.approx(-1)
    assert numbers.straightest.value == pytest.approx(0, abs=0.02)
    assert numbers.best_cell == {"slope": 0.5, name: values[1], "accuracy": pytest.approx(0.995)}
    assert numbers.best_curvature.value == pytest.approx(0.005)
    assert numbers.best_bend.value == pytest.approx(0.005 / 0.35)
    assert numbers.best_bend.null == pytest.approx(np.abs(bend).mean() / 0.35)
    assert numbers.falls_in_rows.null > numbers.falls_in_rows.value


def test_the_rival_knows_the_other_rows_only_and_wins_where_all_rows_are_alike():
    noise = np.arange(5.0)
    peaked = np.tile(1 - abs(noise - 2) / 10 - noise / 1000, (3, 1))
    wild = np.random.default_rng(0).normal(size=(3, 5))
    numbers = measures(made_up("dropout", list(noise / 10), wild, peaked))
    assert numbers.falls_in_rows.null == pytest.approx(-0.95, abs=0.03)  # pairs at one distance are ties
    # What a row itself says does not reach its rival.
    alone = peaked.copy()
    alone[0] = 0.5 + 0.001 * noise
    other = measures(made_up("dropout", list(noise / 10), wild, alone))
    assert other.falls_in_rows.null == pytest.approx(2 / 3 * numbers.falls_in_rows.null, abs=0.01)


def test_the_rival_follows_a_best_column_that_tilts():
    noise, best = np.arange(7.0), np.array([1.0, 3.0, 5.0])[:, None]
    tilted = 1 - abs(noise - best) / 10 - noise / 1000
    wild = np.random.default_rng(0).normal(size=(3, 7))
    assert measures(made_up("dropout", list(noise / 10), wild, tilted)).falls_in_rows.null < -0.9


def test_the_best_bent_cell_is_judged_by_seeds_that_did_not_choose_it():
    noise, slope = [0.0, 0.1, 0.2, 0.3], [0.0, 0.5, 1.0]
    bend = 0.26 - np.array(noise) - 0.31 * np.array(slope)[:, None]
    made = made_up("dropout", noise, bend, 1 - abs(bend))
    bent = np.where(abs(bend) > summaries.STRAIGHT, abs(bend), np.inf).min()
    assert measures(made).bent_gains.value == pytest.approx(100 * (abs(bend).min() - bent))
    # Where accuracy is chance, a choice by the judging seeds themselves would find a gain among the many bent cells.
    chance = np.random.default_rng(1).normal(size=(400, *made["accuracy"].isel(seed=0).shape))
    many = made.isel(seed=0).expand_dims(seed=400)
    found = measures(many.assign(accuracy=(many["accuracy"].dims, chance))).bent_gains
    low, high = found.interval
    assert low < 0 < high


@pytest.mark.parametrize("straight", [-0.1, 0.0, 0.12])
def test_the_curvature_of_best_accuracy_is_found_wherever_it_is(straight):
    bend = 0.26 - np.linspace(0, 0.3, 4) - 0.31 * np.array([0.0, 0.5, 1.0])[:, None]
    found = measures(made_up("dropout", [0.0, 0.1, 0.2, 0.3], bend, 1 - abs(bend - straight)))
    assert found.straightest.value == pytest.approx(straight, abs=0.02)
    assert found.straightest.known


def test_ranks_along_one_dimension_for_every_value_of_the_others():
    a = xr.DataArray([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2]})
    b = a.copy(data=[[1.0, 4.0, 9.0], [3.0, 2.0, 1.0]]).transpose()
    assert summaries.ranks(a, b, "dropout").values.tolist() == pytest.approx([1.0, -1.0])
    assert summaries.ranks(a["dropout"], b, "dropout").values.tolist() == pytest.approx([1.0, -1.0])


def test_untrained_networks_start_from_the_same_weights_and_learn_nothing():
    made = run(untrained(TINY, n_seeds=2)).squeeze()
    assert dict(made["load_curve"].sizes) == {"seed": 2, "layer": 8}
    # Random layers do not separate classes: D does not fall along them.
    assert (made["load_curve"].isel(layer=-1) > made["load_curve"].isel(layer=0)).all()


def test_printed_grids_have_the_papers_size():
    sizes = [figure_1(name, TINY).n_cells for name in networks.PANELS]
    assert sizes == [480] * 4 and sum(sizes) == 1920


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"panel": "weight"}, "panel = 'weight'.*dropout"),
        ({"data": "mnst"}, "data = 'mnst'.*mnist"),
        ({"values": [0.0, 1.5]}, r"dropout = 1\.5"),
        ({"network": {"dropout": 0.1}}, "does not vary"),
        ({"training": {"rate": 0.1}}, "'rate'"),
    ],
)
def test_bad_requests_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        figure_1(**{"data": TINY, **arguments})
