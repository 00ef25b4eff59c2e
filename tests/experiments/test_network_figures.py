"""Network figures: the same networks in two metrics, and what must hold in linear ones."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature, steps
from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import metrics_compared, networks_in_time
from deepmech_book.experiments.spring_block.linear_networks import figure_5a, orthonormal, over_step_size, trained
from deepmech_book.experiments.spring_block.networks import figure_1

TINY = {"name": "digits", "n_train": 120, "n_test": 100}
SMALL = {"width": 12, "depth": 4}
FEW = {"n_seeds": 1, "network": SMALL, "training": {"epochs": 4}}


def test_two_metrics_measures_the_very_networks_of_figure_1():
    both = run(metrics_compared.two_metrics(TINY, [0.0, 0.2], [0.0, 1.0], **FEW))
    one = run(figure_1("dropout", TINY, [0.0, 0.2], [0.0, 1.0], **FEW))
    straight = both.sel(metric="D", drop=True)
    for name in ("load_curve", "curvature", "accuracy"):
        np.testing.assert_array_equal(straight[name].transpose(*one[name].dims), one[name], err_msg=name)
    assert abs(both["load_curve"].diff("metric")).min() > 0.01


def test_narrow_linear_networks_are_flat_in_d_hat_and_wide_ones_are_not():
    """With fewer units than classes every layer is an invertible map of the one before it, which D̂ cannot see."""
    few = {"n_seeds": 1, "training": {"epochs": 30}}
    narrow, wide = (
        run(metrics_compared.two_metrics(TINY, [0.0], [1.0], network={"width": width, "depth": 4}, **few))["load_curve"]
        .sel(layer=slice(1, None))
        .squeeze()
        for width in (6, 40)
    )
    narrow, wide = (curves.max("layer") - curves.min("layer") for curves in (narrow, wide))
    assert narrow.sel(metric="D_hat") < 1e-3 < 0.1 < narrow.sel(metric="D")
    assert wide.sel(metric="D_hat") > 0.01


def test_linear_networks_share_the_work_alike_and_follow_time_not_steps():
    """Near gradient flow every layer adds the same to D, and halving the step at twice their number changes nothing."""
    coarse, fine = (trained(0.05 / k, 200 * k, n=20, depth=5) for k in (1, 2))
    step = steps(coarse["load_curve"])
    np.testing.assert_allclose(step, step.mean(), rtol=0.05)
    assert step.mean() > 0.3
    np.testing.assert_allclose(coarse["load_curve"], fine["load_curve"], atol=0.01)


def test_dropout_bends_a_linear_network():
    straight, bent = (trained(0.05, 200, dropout=p, n=20, depth=5, seeds=range(3))["curvature"] for p in (0.0, 0.2))
    assert float(bent.mean()) < -0.02 < float(straight.min())


def test_orthonormal_data_are_white_and_differ_between_seeds():
    one, other = orthonormal(30), orthonormal(30, seed=1)
    np.testing.assert_allclose(one.x_train @ one.x_train.T, np.eye(30), atol=1e-6)
    assert abs(one.x_train - other.x_train).max() > 0.1 and one.fingerprint != other.fingerprint


def test_regimes_and_both_sets_keep_their_records_and_labels():
    regimes = run(networks_in_time.regimes(TINY, n_seeds=2, epochs=5, n_records=3, width=12))
    assert dict(regimes["load_curve"].sizes) == {"regime": 3, "seed": 2, "at_epoch": 3, "layer": 8}
    assert regimes.at_epoch.values.tolist() == [1, 3, 5]
    np.testing.assert_array_equal(regimes.curvature, curvature(regimes["load_curve"].isel(at_epoch=-1), "layer"))
    assert (regimes.loss.isel(regime=0).diff("at_epoch") < 0).all()  # small steps, no dropout
    both = run(networks_in_time.on_both_sets(TINY, width=12, epochs=3))
    assert dict(both["load_curve"].sizes) == {"learning_rate": 3, "seed": 1, "split": 2, "layer": 8}
    assert abs(both["load_curve"].diff("split")).max() > 0


@pytest.mark.parametrize(
    "sweep",
    [
        networks_in_time.regimes(TINY, n_seeds=2, epochs=3, n_records=2, width=12),
        networks_in_time.on_both_sets(TINY, [1e-3, 1e-2], width=12, n_seeds=2, epochs=3),
        figure_5a(0.1, duration=1.0, large_steps=5, n=10, n_seeds=2),
        over_step_size([0.1, 1.0], "mse", 5, n=10, n_seeds=2),
    ],
    ids=lambda s: s.name,
)
def test_cells_do_not_know_their_chunk(sweep):
    one, many = run(sweep, chunk=1), run(sweep, chunk=7)
    xr.testing.assert_identical(one.drop_attrs(), many.drop_attrs())
