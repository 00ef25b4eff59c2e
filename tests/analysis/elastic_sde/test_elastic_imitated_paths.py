"""Measures of simulated paths beside networks, on paths and class means that were laid out by hand."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import estimate
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.analysis.elastic_sde import imitated_paths

T = np.arange(0.0, 3000.0, 20.0)
START = np.array([[1.0, -0.4, -0.6], [-0.5, 1.3, -0.7], [-0.2, -0.6, 1.6]])


def means_of(values):
    coords = {"time": T[: len(values)], "class": np.arange(3), "logit": np.arange(3)}
    return xr.DataArray(values, coords, ("time", "class", "logit"))


def l_model(alpha=0.003, beta=-0.0005):
    """A result of networks that obey the L-model: groups of trials with equal class means."""
    model = ElasticSDE(alpha, beta, 3, 3, "logits", noise=0.0)
    found = mean_solution(model, T, 0.2 * START)["mean"].rename(feature="logit").transpose("time", "class", "logit")
    means = means_of(found.values)
    groups = xr.concat([f * means for f in (0.98, 0.99, 1.0, 1.01, 1.02)], "group").rename(time="slow_time")
    return xr.Dataset({"mean": means, "group_mean": groups})


def distances(i_model, l_model):
    """Relative differences: numbers for each structure and norm, at all times and of all classes."""
    values = np.array([i_model, l_model], float)[:, None, :, None, None] + np.zeros((2, 2, 2, 50, 3))
    dims = ("structure", "estimator", "norm", "time", "class")
    coords = {
        "structure": ["isotropic", "logits"],
        "estimator": ["I", "L-program"],
        "norm": ["I", "L"],
        "time": np.arange(50.0),
    }
    return xr.Dataset({"distance": (dims, values)}, coords)


def test_numbers_of_batches_are_means_with_their_interval_by_data():
    rng = np.random.default_rng(0)
    paths = {name: xr.Dataset({"x": ("batch", rng.normal(size=5))}) for name in ("one", "two")}
    found = imitated_paths.over_batches(lambda one: 2 * one["x"], paths, 100)
    assert found.n == 100 and found.value["data"].values.tolist() == ["one", "two"]
    by_hand = estimate(2 * paths["two"]["x"].values, scatter="symmetric")
    np.testing.assert_allclose(found.interval[0].sel(data="two"), by_hand.low)


def test_imitations_have_both_models_driven_by_both_estimators():
    paths = imitated_paths.imitations(l_model(), n_runs=20, n_batches=2, window=101)
    assert paths["structure"].values.tolist() == ["isotropic", "logits"] and paths.sizes["batch"] == 2
    assert paths["estimator"].values.tolist() == ["I", "L-program"]
    distance = imitated_paths.late_distance(paths).mean(("batch", "class"))
    along = distance.sel(norm="L")
    assert float(along.sel(structure="logits")) < 0.1  # networks that obey the model are followed along d_k


def test_scaled_figures_show_the_own_logit_and_unscaled_ones_by_chance():
    """The L-model moves a class along its d_k, forward or backward as it started: half before scaling, nearly all
    after. In the I-model, where effects are large, a class keeps the order it started with: right in half or less."""
    both = {name: l_model(alpha=0.02) for name in ("one", "two")}
    found = imitated_paths.drawings(both, 20, 21, 400)
    assert found["data"].values.tolist() == ["one", "two"] and found["estimator"].size == 3
    by_l, by_i = (found.sel(structure=s, estimator="none", data="two") for s in ("logits", "isotropic"))
    assert abs(float(by_l["before"].mean()) - 0.5) < 0.08
    own = imitated_paths.own_aligned(by_l)
    assert own.dims == ("class",) and float(own.min()) > 0.9 > 0.7 > float(imitated_paths.own_aligned(by_i).max())
    assert (found["ordered"] <= found["right"]).all()


@given(st.floats(0.1, 5.0), st.floats(-2.0, 2.0))
def test_ratios_are_those_of_the_last_time(own, other):
    z = np.full((4, 3, 3), other)
    z[:, np.arange(3), np.arange(3)] = own
    z[:-1] += 7.0
    z = means_of(z)
    ratios = imitated_paths.other_logits(z).values
    assert np.isnan(ratios[np.eye(3, dtype=bool)]).all()
    np.testing.assert_allclose(ratios[~np.eye(3, dtype=bool)], other / own)
    paths = xr.Dataset({"median": z, "genuine": 2 * z}).expand_dims(structure=["logits"], estimator=["L-program"])
    assert float(imitated_paths.ratio_error(imitated_paths.l_model(paths))) < 1e-12  # a common factor does not matter


def test_relative_differences_are_compared_in_one_norm_or_as_printed():
    paths = distances(i_model=[0.5, 0.2], l_model=[0.4, 0.3])  # norms I, L
    np.testing.assert_allclose(imitated_paths.further_away(paths).sel(norm=["I", "L"]), [0.1, -0.1])
    assert imitated_paths.nearer(paths).sel(norm=["I", "L"]).values.tolist() == [1.0, 0.0]
    assert imitated_paths.nearer_as_printed(paths, "logits").item() == 1.0  # 0.3 along d_k below 0.5 in all
    assert imitated_paths.nearer_as_printed(paths, "isotropic").item() == 1.0  # owed to the norm alone
    assert imitated_paths.terminal_distance(paths, "L").item() == pytest.approx(0.3)


def test_spread_and_fall_are_quotients():
    paths = distances([0.5, 0.2], [0.4, 0.3])
    by_class = xr.DataArray([1.0, 2.0, 4.0], dims="class")
    spread = imitated_paths.spread_of_classes(paths.assign(distance=paths["distance"] * by_class), "logits")
    assert spread.item() == pytest.approx(4.0)
    curve = xr.DataArray(np.repeat([[0.8], [0.5], [0.2]], [5, 35, 10], axis=0) + np.zeros(3), dims=("time", "class"))
    assert imitated_paths.falls(curve).item() == pytest.approx(0.25)
