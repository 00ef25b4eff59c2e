"""Network figures: the same networks in two metrics, and what must hold in linear ones."""

import numpy as np
import pytest
import xarray as xr

from deepmech.experiments.spring_block import network_figures as figures
from deepmech.experiments.spring_block.linear_networks import orthonormal, trained
from deepmech.experiments.spring_block.networks import figure_1
from deepmech.metrics.curvature import steps
from deepmech.sweeps import run

TINY = {"name": "digits", "n_train": 120, "n_test": 100}
SMALL = {"width": 12, "depth": 4}
FEW = {"n_seeds": 1, "network": SMALL, "training": {"epochs": 4}}


def test_two_metrics_measures_the_very_networks_of_figure_1():
    both = run(figures.two_metrics(TINY, [0.0, 0.2], [0.0, 1.0], **FEW))
    one = run(figure_1("dropout", TINY, [0.0, 0.2], [0.0, 1.0], **FEW))
    straight = both.sel(metric="D", drop=True)
    for name in ("load_curve", "curvature", "accuracy"):
        np.testing.assert_array_equal(straight[name].transpose(*one[name].dims), one[name], err_msg=name)
    assert abs(both["load_curve"].diff("metric")).min() > 0.01


def test_narrow_linear_networks_are_flat_in_d_hat_and_wide_ones_are_not():
    """With fewer units than classes every layer is an invertible map of the one before it, which D̂ cannot see."""
    few = {"n_seeds": 1, "training": {"epochs": 30}}
    narrow, wide = (
        run(figures.two_metrics(TINY, [0.0], [1.0], network={"width": width, "depth": 4}, **few))["load_curve"]
        .sel(layer=slice(1, None))
        .squeeze()
        for width in (6, 40)
    )
    ranges = figures.layer_range(narrow)
    assert ranges.sel(metric="D_hat") < 1e-3 < 0.1 < ranges.sel(metric="D")
    assert figures.layer_range(wide).sel(metric="D_hat") > 0.01


def test_agreement_of_ranks_along_and_over_dimensions():
    a = xr.DataArray([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2]})
    b = a.copy(data=[[1.0, 4.0, 9.0], [3.0, 2.0, 1.0]]).transpose()
    assert figures.agreement(a, b, "dropout").values.tolist() == pytest.approx([1.0, -1.0])
    assert figures.rank_over_cells(a, a.transpose()).rho == pytest.approx(1.0)
    assert float(figures.agreement(a, a, ["slope", "dropout"])) == pytest.approx(1.0)


def test_linear_networks_share_the_work_alike_and_follow_time_not_steps():
    """Near gradient flow every layer adds the same to D, and halving the step at twice their number changes nothing."""
    coarse, fine = (trained(0.05 / k, 200 * k, n=20, depth=5) for k in (1, 2))
    step = steps(coarse["load_curve"])
    np.testing.assert_allclose(step, step.mean(), rtol=0.05)
    assert step.mean() > 0.3
    np.testing.assert_allclose(coarse["load_curve"], fine["load_curve"], atol=0.01)


def test_dropout_bends_a_linear_network():
    straight, bent = (trained(0.05, 200, dropout=p, n=20, depth=5, n_seeds=3)["curvature"] for p in (0.0, 0.2))
    assert float(bent.mean()) < -0.02 < float(straight.min())


def test_orthonormal_data_are_white_and_differ_between_seeds():
    one, other = orthonormal(30), orthonormal(30, seed=1)
    np.testing.assert_allclose(one.x_train @ one.x_train.T, np.eye(30), atol=1e-6)
    assert abs(one.x_train - other.x_train).max() > 0.1 and one.fingerprint != other.fingerprint
