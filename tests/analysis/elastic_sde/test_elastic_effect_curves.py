"""Measures of estimated effects, on class means whose effects are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.metrics import elasticity
from deepmech_book.analysis.elastic_sde import effect_curves, effects
from deepmech_book.sweeps.elastic_sde.networks import as_published
from deepmech_book.sweeps.shipped import result

T = np.arange(0.0, 4000.0, 10.0)
START = np.array([[1.0, -0.2, 0.1], [-0.3, 1.4, 0.2], [0.1, 0.3, 1.9]])


def growing(growth, centre=0.0, k=3):
    """Class means: a point that all logits of all classes share, and a part that grows as e^growth.

    Without a centre Â = K g by either model. With one only differences between classes grow: Â = (K − 1) g by the
    I-model and K g by the L-model, whose margins do not see what logits share. B̂ = 0 without a centre.
    """
    part = START[:k, :k]
    if centre:
        part = part - part.mean(0)
    values = centre + np.exp(growth)[..., None, None] * part
    return xr.DataArray(values, {"time": T[: len(growth)]}, ("time", "class", "logit"))


def result_of(*means):
    """A result of groups of trials with these class means, as networks would give it."""
    groups = xr.concat(means, "group").rename(time="slow_time")
    mean = xr.concat(means, "group").mean("group")
    return xr.Dataset({"mean": mean, "group_mean": groups})


def test_a_share_is_taken_of_the_first_third():
    inter = np.where(np.arange(30) < 4, 0.0, 2.0)
    estimated = xr.Dataset({"intra": ("time", np.ones(30)), "inter": ("time", inter)})
    assert float(effect_curves.share_below(estimated)) == 0.4


@given(st.integers(30, 330), st.floats(0.1, 5.0))
def test_the_course_of_a_hump_is_that_of_the_hump(peak, height):
    n = np.arange(400)
    alpha = height * np.clip(1 - abs(n - peak) / 60, 0, None)
    estimated = xr.Dataset({"intra": ("time", alpha)}, {"time": T})
    found = effect_curves.course(estimated, 101)  # eleven recorded times
    assert float(found["peak"]) == peak / 400
    assert float(found["begin"]) == pytest.approx(alpha[:12].mean() / height)
    assert float(found["end"]) == pytest.approx(alpha[-40:].mean() / height)


def test_a_maximum_within_half_a_window_of_the_beginning_is_the_filters():
    alpha = np.full(400, 1.0)
    alpha[:5], alpha[200] = 9.0, 2.0
    estimated = xr.Dataset({"intra": ("time", alpha)}, {"time": T})
    assert float(effect_curves.course(estimated, 101)["peak"]) == 0.5


def test_courses_of_sets_are_their_mean():
    alpha = np.stack([np.clip(1 - abs(np.arange(400) - p) / 60, 0, None) for p in (100, 140, 180, 220)])
    curves = alpha.reshape(2, 2, 1, 400)
    dims = ("per_class", "first_seed", "model", "time")
    estimated = xr.Dataset({"intra": (dims, curves)}, {"time": T, "per_class": [80, 480]})
    found = effect_curves.course_of_sets(estimated.isel(model=0), 101)["peak"]
    assert float(found.value) == pytest.approx(0.4) and found.n == 4 and float(found.low) < 0.4 < float(found.high)


def test_late_growth_is_that_of_the_effects():
    growth = effect_curves.late_growth(growing(0.001 * T))
    # From the middle of the 20 times after the middle to that of the last 20: 180 times of 10 iterations.
    np.testing.assert_allclose(growth.sel(model=["I", "L-program"]), 3 * 0.001 * 1800, rtol=1e-9)


@given(st.floats(0.0002, 0.002))
def test_models_differ_by_the_factor_of_what_logits_share(rate):
    means = [growing(factor * rate * T, centre=5.0) for factor in (1.0, 1.2, 0.9)]
    ours = effect_curves.late_growth_ratio(result_of(*means), "L")
    assert float(ours.value) == pytest.approx(1.5, rel=1e-6)


def test_a_norm_is_compared_with_the_effect_and_with_a_line_each_laid_over_it():
    """The norm is e^g, Â = 3 g and the line t: by hand for g = log(1 + t/T + t²/T²)."""
    share = T / T[-1]
    norm = 1 + share + share**2
    found = effect_curves.norm_against_line(growing(np.log(norm)))
    unexplained = [1 - np.corrcoef(norm, other)[0, 1] ** 2 for other in (np.log(norm), share)]
    assert float(found) == pytest.approx(np.sqrt(unexplained[0] / unexplained[1]))


def test_windows_matter_by_the_factor_between_the_models():
    """Â of the L-model is 1.5 times that of the I-model here, and filters are linear."""
    bump = 0.5 * np.exp(-(((T - 2000) / 100) ** 2))
    means = xr.concat([growing(f * bump, centre=5.0) for f in (1.0, 2.0)], "first_seed").expand_dims(per_class=[80])
    found = effect_curves.window_sensitivity(xr.Dataset({"mean": means}), 191, slice(100, 300), model="L")
    np.testing.assert_allclose(found, np.log(1.5), rtol=1e-6)


@pytest.mark.parametrize("images", ["geomnist", "cifar"])
def test_the_programs_estimator_is_that_of_the_program_on_means_of_networks(images):
    """Column by column as the authors' program has it, on class means that ship; ours differs there, by far."""
    means = result(as_published(images))["mean"].isel(first_seed=0).astype(float)
    x = means.transpose("time", "class", "logit").values.reshape(-1, 9)
    v1, v2 = np.array([1, -1, -1, -1, 1, -1, -2, -2, 0]) / 4, np.array([2, -1, -1, -1, 2, -1, 0, 0, 0]) / 3
    along, across = x @ v1, x @ (v2 - 4 / 3 * v1)
    first, second = (np.log(np.abs(one / one[0])) for one in (along, across))
    found = elasticity.integrated_effects(means, "L-program")
    clear = np.minimum(abs(along), abs(across)) > 1e-3 * abs(x).max(1)  # a sum that is nearly zero has lost its digits
    assert clear.mean() > 0.95
    for name, made in (("A", first + 2 * second), ("B", 2 * (second - first))):
        np.testing.assert_allclose(found[name].values[clear], made[clear], rtol=1e-12, atol=1e-12)
    ours = elasticity.integrated_effects(means, "L")["A"]
    assert abs(float((ours - found["A"]).isel(time=slice(-100, None)).mean("time"))) > 3


def test_bands_are_as_wide_as_groups_differ_and_lie_about_the_curve():
    growth = 2 * T / T[-1]
    same = result_of(*[growing(growth)] * 4)
    low, high = effects.integral_bands(same, 101)
    curve = effects.estimate(same, 101)[["A", "B"]]
    xr.testing.assert_allclose(low, curve)
    xr.testing.assert_allclose(high, curve)
    low, high = effects.integral_bands(result_of(*(growing(f * growth) for f in (0.8, 0.9, 1.1, 1.2))), 101)
    width = (high - low).A.sel(model="I")
    assert float(width[0]) == pytest.approx(0, abs=1e-9) and bool((width.diff("time") > 0).all())
    assert low.sizes == high.sizes == curve.sizes
