"""Fig. 1 as printed, and what the noise of a layer is."""

import numpy as np
import pytest
import xarray as xr

from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import asymmetric_noise, networks
from deepmech_book.experiments.spring_block.beside_the_print import printed
from deepmech_book.experiments.spring_block.data import sweep


@pytest.mark.parametrize("panel", networks.PANELS)
def test_every_printed_panel_has_the_cells_of_ours(panel):
    one = printed(panel)
    np.testing.assert_array_equal(one[panel], networks.PANELS[panel].values)
    assert one.sizes == {"slope": 6, panel: 8, "layer": 8}
    assert np.isclose(one["load_curve"].max("layer"), 1).all() and np.isclose(one["load_curve"].min("layer"), 0).all()
    assert (one["accuracy"] > 0.8).all() and (one["accuracy"] < 0.95).all()
    # Property (i), where there is no noise.
    assert (one["curvature"].isel({panel: 0}).diff("slope") < 0).all()


def test_a_panel_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"panel = 'x'.*dropout"):
        printed("x")


def test_relative_noise_is_that_of_the_draws_over_that_of_the_samples():
    random = np.random.default_rng(0)
    signal = random.normal(size=(2, 1, 1, 300, 20)) * np.array([2.0, 3.0]).reshape(2, 1, 1, 1, 1)
    draws = signal + 0.5 * random.normal(size=(2, 50, 1, 300, 20))
    np.testing.assert_allclose(asymmetric_noise.relative(draws)[:, 0], [0.25 / 4, 0.25 / 9], rtol=0.03)


def test_dropout_reaches_no_activation_before_it_and_chunks_do_not_matter():
    small = {"name": "digits", "n_train": 700, "n_test": 50}
    sweep = asymmetric_noise.noise_by_layer(small, [0.4], 2, at=(0, 2), n_draws=4)
    one, many = run(sweep, chunk=1), run(sweep, chunk=7)
    xr.testing.assert_identical(one.drop_attrs(), many.drop_attrs())
    first = one["relative"].sel(noise="dropout", layer=1)
    assert (first.sel(signal="activations") < 1e-6).all() and (first.sel(signal="gradients") > 0.01).all()
    assert (one["relative"].sel(layer=slice(2, None)) > 0).all()


def test_networks_seen_on_their_way_end_as_those_of_the_figure():
    data = {"name": "digits", "n_train": 100, "n_test": 50}
    cells = {"slope": [0.0], "data_noise": [0.3], "seed": range(2)}
    timed = run(
        sweep(
            "doc", "deepmech_book.experiments.spring_block.beside_the_print:train_in_time", cells, data, epochs=[2, 5]
        )
    )
    figure = run(networks.figure_1("data_noise", data, [0.3], [0.0], 2, training={"epochs": 5}))
    for name in ("load_curve", "accuracy"):
        np.testing.assert_array_equal(timed[name].isel(at_epoch=-1), figure[name])
