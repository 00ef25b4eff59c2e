"""Figure 1 and its kin as sweeps: same networks under any chunking and in panels that overlap."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import networks
from deepmech_book.experiments.spring_block.networks import diagram, figure_1, untrained

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


def test_a_diagram_trains_the_networks_of_figure_1_under_its_own_settings():
    grid = {"values": [1e-3], "slopes": [0.0, 1.0], "n_seeds": 1}
    one = run(diagram("S5a", TINY, **grid, network={"width": 12}, training={"epochs": 3}))
    same = run(figure_1("learning_rate", TINY, **grid, network={"width": 12, "depth": 6}, training={"epochs": 3}))
    xr.testing.assert_identical(one.drop_attrs(), same.drop_attrs())
    assert one.sizes["layer"] == 6


def test_what_the_supplement_changes():
    sweeps = {name: diagram(name, "digits") for name in networks.DIAGRAMS}
    assert all(sweep.n_cells == 480 for sweep in sweeps.values())
    assert [sweeps[name].fixed["training"]["epochs"] for name in ("S5a", "S5b", "S7a", "S7b")] == [200, 200, 100, 1000]
    assert sweeps["S9b"].fixed["network"] == {"depth": 20}
    names = [sweep.name for sweep in sweeps.values()] + [figure_1(p, "digits").name for p in networks.PANELS]
    # A stored result is found by "name-*": no name may begin with another.
    assert not [(a, b) for a in names for b in names if a is not b and b.startswith(a)]


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


def test_a_figure_that_is_no_diagram_is_named():
    with pytest.raises(ValueError, match=r"figure = 'S4'.*S5a"):
        diagram("S4")
