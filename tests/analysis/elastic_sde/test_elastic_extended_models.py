"""Measures of the extensions of the model, on numbers that were laid out by hand and on bounds that are known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.analysis.elastic_sde import extended_models

T = np.arange(0.0, 2000.0, 20.0)
START = np.array([[1.0, -0.4, -0.6], [-0.5, 1.3, -0.8], [-0.2, -1.0, 1.2]])


def networks_of(weights=None, alpha=0.003, beta=-0.001):
    """A result of networks that obey the L-model, in groups of trials that scatter by one per cent."""
    model = ElasticSDE(alpha, beta, 3, 3, "logits", noise=0.0, class_weights=weights)
    means = mean_solution(model, T, START)["mean"].rename(feature="logit").transpose("time", "class", "logit")
    means = means.reset_coords(drop=True).assign_coords({"class": np.arange(3), "logit": np.arange(3)})
    groups = xr.concat([f * means for f in (0.99, 1.0, 1.01, 1.0)], "group").rename(time="slow_time")
    return xr.Dataset({"group_mean": groups})


def test_a_model_with_the_weights_of_the_classes_predicts_networks_that_obey_it():
    balanced, case = networks_of(), networks_of([1 / 5, 2 / 5, 2 / 5]).expand_dims(case=["0, 1:2"])
    trained = xr.concat([balanced.expand_dims(case=["0, 1:1"]), case], "case")
    trained = trained.assign_coords(rare=("case", [0, 0]), ratio=("case", [1.0, 2.0]))
    found = extended_models.unequal_networks(trained)
    assert float(found["fitted_from"]) == 0.0 and found["case"].values.tolist() == ["0, 1:2"]
    far = found["distance"].sel(what="value").isel(case=0)
    assert float(far.sel(model="model").max()) < 0.03
    assert float(far.sel(model="balanced networks").min()) > 0.1 < float(far.sel(model="unmoved logits").min())
    low, value, high = (found["margin"].sel(what=w) for w in ("low", "value", "high"))
    assert ((low <= value) & (value <= high)).all()
    own = np.einsum("tkk->tk", case["group_mean"].mean("group").isel(case=0).values)
    mean = case["group_mean"].mean(("group", "logit")).isel(case=0)
    np.testing.assert_allclose(value.isel(case=0), own - mean.values)
    prior = np.log([1 / 5, 2 / 5, 2 / 5])
    np.testing.assert_allclose(found["prior"].isel(case=0), prior - prior.mean())


def test_roles_are_means_over_which_class_is_rare():
    values = xr.DataArray(
        [[1.0, 5.0, 7.0], [5.0, 3.0, 9.0], [0.0, 0.0, 4.0]],
        {"case": ["a", "b", "c"], "class": [0, 1, 2]},
        ("case", "class"),
    ).assign_coords(rare=("case", [0, 1, 2]), ratio=("case", [2.0, 2.0, 8.0]))
    found = extended_models.by_role(values)
    assert found.sel(role="rare").values.tolist() == [2.0, 4.0]  # by ratio
    assert found.sel(role="others").values.tolist() == [6.5, 0.0]


def test_labels_that_say_nothing_do_not_separate():
    share = extended_models.share_separated([0.0, 2 / 3], 40)
    assert float(share.sel(p_err=0.0)) == 1.0 and float(share.sel(p_err=2 / 3)) < 0.1


@given(st.floats(0.1, 10.0))
def test_ratios_of_distances_are_medians_that_lie_in_their_interval(factor):
    rng = np.random.default_rng(0)
    base = np.exp(rng.normal(0, 0.1, 10))
    values = np.stack([base, factor * base, factor * base * np.exp(rng.normal(0, 0.1, 10))])
    distance = xr.DataArray(values, {"model": ["L", "same", "noisy"]}, ("model", "split"))
    same = extended_models.distance_ratio(distance, "same", "L", 100)
    np.testing.assert_allclose([same.value, same.low, same.high], factor, rtol=1e-9)
    noisy = extended_models.distance_ratio(distance, "noisy", "L", 100)
    assert float(noisy.low) < float(noisy.value) < float(noisy.high) and noisy.n == 100
    assert float(noisy.value) == pytest.approx(np.median(values[2] / values[0]))


def test_a_model_beside_a_rival_is_apart_by_their_ratios_in_every_halving():
    base = np.exp(np.random.default_rng(0).normal(0, 0.1, 10))
    distance = xr.DataArray([base, 0.4 * base, 0.7 * base], {"model": ["L", "one", "rival"]}, ("model", "split"))
    found = extended_models.beside_model(distance, "one", "rival", "L", 100)
    assert (float(found.value), float(found.null)) == pytest.approx((0.4, 0.7))
    np.testing.assert_allclose(found.difference, -0.3)


def test_late_distances_are_those_of_the_last_fifth():
    curve = xr.DataArray(np.repeat([9.0, 1.0], [80, 20]), dims="time")
    fits = {"one": xr.Dataset({"distance": curve}), "two": xr.Dataset({"distance": 2 * curve})}
    found = extended_models.late_distances(fits)
    assert found["data"].values.tolist() == ["one", "two"] and found.values.tolist() == [1.0, 2.0]
