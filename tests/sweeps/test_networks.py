"""Figure 1 and its kin as sweeps: same networks under any chunking and in panels that overlap."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from deepmech.metrics.curvature import curvature, steps
from deepmech.sweeps import run
from deepmech_book.spring_block.experiments import EXPERIMENTS, experiment
from deepmech_book.spring_block.printed import printed
from deepmech_book.sweeps.spring_block import networks, noise_by_layer
from deepmech_book.sweeps.spring_block.linear_networks import orthonormal, train_linear
from deepmech_book.sweeps.spring_block.without_norm import SCALED, Times, constants

TINY = {"name": "digits", "n_train": 120, "n_test": 100}
SMALL = {"width": 12, "depth": 4}


def tiny(name="dropout", values=(0.0, 0.2), **training):
    cells = {"slope": [0.0, 0.5], name: values, "seed": range(2)}
    figure = f"figure-1{networks.PANELS[name].letter}"
    return experiment(figure, cells, data=TINY, network=SMALL, training={"epochs": 4, **training})


def test_a_panel_has_its_labels_and_its_bend():
    one = run(tiny())
    assert dict(one.sizes) == {"slope": 2, "dropout": 2, "seed": 2, "layer": 4}
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
    cells = {"slope": [0.0, 1.0], "learning_rate": [1e-3], "seed": [0]}
    how = {"data": TINY, "training": {"epochs": 3}}
    one = run(experiment("figure-S5a", cells, network={"width": 12}, **how))
    same = run(experiment("figure-1b", cells, network={"width": 12, "depth": 6}, **how))
    xr.testing.assert_identical(one.drop_attrs(), same.drop_attrs())
    assert one.sizes["layer"] == 6


def test_a_stored_result_is_found_by_its_name():
    """By "name-*", so that no name may begin with another."""
    names = [experiment(name).name for name in EXPERIMENTS]
    assert not [(a, b) for a in names for b in names if a is not b and b.startswith(a)]


def test_untrained_networks_start_from_the_same_weights_and_learn_nothing():
    made = run(experiment("untrained", {"seed": range(2)}, data=TINY)).squeeze()
    assert dict(made["load_curve"].sizes) == {"seed": 2, "layer": 8}
    # Random layers do not separate classes: D does not fall along them.
    assert (made["load_curve"].isel(layer=-1) > made["load_curve"].isel(layer=0)).all()


@pytest.mark.parametrize("slope", [0.0, 0.4])
@pytest.mark.parametrize("scaled", SCALED)
def test_constants_bring_every_layer_to_what_they_say(scaled: str, slope: float) -> None:
    x = 0.3 * torch.rand((400, 30), generator=torch.Generator().manual_seed(1))
    network = constants(x, slope, scaled=scaled, depth=5, width=40)
    seen = [z.detach() for i, z in enumerate(_layers(network, x)) if isinstance(network[i], Times)]
    of = (lambda z: z.var(0).mean()) if scaled == SCALED[0] else (lambda z: (z**2).mean())
    expected = float((x**2).mean()) if scaled == SCALED[2] else 1.0
    assert [float(of(z)) for z in seen] == pytest.approx([expected] * 4, rel=1e-4)


def _layers(network: nn.Sequential, x: torch.Tensor) -> list[torch.Tensor]:
    found = []
    for layer in network:
        x = layer(x)
        found.append(x)
    return found


@pytest.mark.parametrize("panel", networks.PANELS)
def test_every_printed_panel_has_the_cells_of_ours(panel):
    one = printed(panel)
    np.testing.assert_array_equal(one[panel], networks.PANELS[panel].values)
    assert one.sizes == {"slope": 6, panel: 8, "layer": 8}
    assert np.isclose(one["load_curve"].max("layer"), 1).all() and np.isclose(one["load_curve"].min("layer"), 0).all()
    assert (one["accuracy"] > 0.8).all() and (one["accuracy"] < 0.95).all()
    # Property (i), where there is no noise.
    assert (one["curvature"].isel({panel: 0}).diff("slope") < 0).all()


def test_relative_noise_is_that_of_the_draws_over_that_of_the_samples():
    random = np.random.default_rng(0)
    signal = random.normal(size=(2, 1, 1, 300, 20)) * np.array([2.0, 3.0]).reshape(2, 1, 1, 1, 1)
    draws = signal + 0.5 * random.normal(size=(2, 50, 1, 300, 20))
    np.testing.assert_allclose(noise_by_layer.relative(draws)[:, 0], [0.25 / 4, 0.25 / 9], rtol=0.03)


def test_dropout_reaches_no_activation_before_it():
    small = {"name": "digits", "n_train": 700, "n_test": 50}
    cells = {"slope": [0.4], "seed": [0]}
    one = run(experiment("noise-by-layer", cells, data=small, at=[0, 1], n_draws=4))
    first = one["relative"].sel(noise="dropout", layer=1)
    assert (first.sel(signal="activations") < 1e-6).all() and (first.sel(signal="gradients") > 0.01).all()
    assert (one["relative"].sel(layer=slice(2, None)) > 0).all()


def test_networks_seen_on_their_way_end_as_those_of_the_figure():
    data = {"name": "digits", "n_train": 100, "n_test": 50}
    cells = {"slope": [0.0], "data_noise": [0.3], "seed": range(2)}
    timed = run(experiment("fewer-epochs", cells, data=data, epochs=[2, 5]))
    figure = run(experiment("figure-1a", cells, data=data, training={"epochs": 5}))
    for name in ("load_curve", "accuracy"):
        np.testing.assert_array_equal(timed[name].isel(at_epoch=-1), figure[name])


def test_two_metrics_measures_the_very_networks_of_figure_1():
    cells = {"slope": [0.0, 1.0], "dropout": [0.0, 0.2], "seed": [0]}
    how = {"data": TINY, "network": SMALL, "training": {"epochs": 4}}
    both, one = (run(experiment(name, cells, **how)) for name in ("two-metrics", "figure-1c"))
    straight = both.sel(metric="D", drop=True)
    for name in ("load_curve", "curvature", "accuracy"):
        np.testing.assert_array_equal(straight[name].transpose(*one[name].dims), one[name], err_msg=name)
    assert abs(both["load_curve"].diff("metric")).min() > 0.01


def test_narrow_linear_networks_are_flat_in_d_hat_and_wide_ones_are_not():
    """With fewer units than classes every layer is an invertible map of the one before it, which D̂ cannot see."""
    cells, how = {"slope": [1.0], "dropout": [0.0], "seed": [0]}, {"data": TINY, "training": {"epochs": 30}}
    runs = (run(experiment("two-metrics", cells, network={"width": w, "depth": 4}, **how)) for w in (6, 40))
    curves = [one["load_curve"].sel(layer=slice(1, None)).squeeze() for one in runs]
    narrow, wide = (one.max("layer") - one.min("layer") for one in curves)
    assert narrow.sel(metric="D_hat") < 1e-3 < 0.1 < narrow.sel(metric="D")
    assert wide.sel(metric="D_hat") > 0.01


def test_linear_networks_share_the_work_alike_and_follow_time_not_steps():
    """Near gradient flow every layer adds the same to D, and halving the step at twice their number changes nothing."""
    coarse, fine = (train_linear(0.05 / k, 200 * k, n=20, depth=5) for k in (1, 2))
    step = steps(coarse["load_curve"])
    np.testing.assert_allclose(step, step.mean(), rtol=0.05)
    assert step.mean() > 0.3
    np.testing.assert_allclose(coarse["load_curve"], fine["load_curve"], atol=0.01)


def test_dropout_bends_a_linear_network():
    straight, bent = (
        train_linear(0.05, 200, dropout=p, n=20, depth=5, seeds=range(3))["curvature"] for p in (0.0, 0.2)
    )
    assert float(bent.mean()) < -0.02 < float(straight.min())


def test_orthonormal_data_are_white_and_differ_between_seeds():
    one, other = orthonormal(30), orthonormal(30, seed=1)
    np.testing.assert_allclose(one.x_train @ one.x_train.T, np.eye(30), atol=1e-6)
    assert abs(one.x_train - other.x_train).max() > 0.1 and one.fingerprint != other.fingerprint


def test_regimes_and_both_sets_keep_their_records_and_labels():
    regimes = run(experiment("figure-4", {"seed": range(2)}, data=TINY, epochs=5, n_records=3, width=12))
    assert dict(regimes["load_curve"].sizes) == {"regime": 3, "seed": 2, "at_epoch": 3, "layer": 8}
    assert regimes.at_epoch.values.tolist() == [1, 3, 5]
    np.testing.assert_array_equal(regimes.curvature, curvature(regimes["load_curve"].isel(at_epoch=-1), "layer"))
    assert (regimes.loss.isel(regime=0).diff("at_epoch") < 0).all()  # small steps, no dropout
    both = run(experiment("figure-S4", {"seed": [0]}, data=TINY, width=12, epochs=3))
    assert dict(both["load_curve"].sizes) == {"learning_rate": 3, "seed": 1, "split": 2, "layer": 8}
    assert abs(both["load_curve"].diff("split")).max() > 0
