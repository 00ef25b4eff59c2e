"""Measures of training with wrong labels, on effects and validation results that were laid out by hand."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import estimate
from deepmech_book.analysis.elastic_sde import curves, effects, wrong_labels

T = np.arange(0.0, 8000.0, 20.0)
SHARES = [0.0, 0.5, 2 / 3]
START = np.array([[1.0, -0.4, -0.6], [-0.5, 1.3, -0.7], [-0.2, -0.6, 1.6]])
CENTRE = START.mean(0)


def validation(values):
    """A result whose six trials share two draws; validation loss over (label_error, trial, at_iteration)."""
    dims = ("label_error", "trial", "at_iteration")
    both = {f"validation_{name}": (dims, np.array(values, float)) for name in ("loss", "accuracy")}
    return xr.Dataset({**both, "left": ("group", [0, 0])}, {"label_error": [0.0, 0.66], "at_iteration": [0, 5, 10]})


def growing(*growths):
    """Class means of an I-model, by share of wrong labels: differences grow as e^g and the mean over classes stays.

    So v = g and u = 0: Â = 2 g, B̂ = −g, Â − B̂ = 3 g.
    """
    values = [CENTRE + np.exp(g)[:, None, None] * (START - CENTRE) for g in growths]
    return xr.DataArray(np.stack(values), {"label_error": SHARES, "time": T}, ("label_error", "time", "class", "logit"))


def result_of(*groups):
    return xr.Dataset({"group_mean": xr.concat(groups, "group").rename(time="slow_time")})


def test_trials_of_a_draw_are_one_number():
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(2, 6, 3))
    result, draws = validation(values), values.reshape(2, 2, 3, 3).mean(2)
    np.testing.assert_allclose(wrong_labels.by_draw(result, "loss").transpose("label_error", "draw", ...), draws)
    np.testing.assert_allclose(wrong_labels.at_the_end(result, "accuracy").value, draws[..., -1].mean(1))
    found = wrong_labels.change_of_loss(result, [2 / 3])
    by_hand = estimate(draws[1, :, -1] - draws[1, :, 0], scatter="symmetric")
    assert found.value.item() == pytest.approx(float(by_hand.value)) and found.reason == by_hand.reason
    assert wrong_labels.validation_at(result, 0.6).value == pytest.approx(draws[1, :, -1].mean())


def test_curves_and_ends_are_means_over_draws_side_by_side():
    rng = np.random.default_rng(1)
    one, other = (validation(rng.uniform(size=(2, 6, 3))) for _ in range(2))
    ends = wrong_labels.at_the_ends({"one": one, "other": other}, "loss")
    assert ends.value["set"].values.tolist() == ["one", "other"]
    xr.testing.assert_allclose(ends.value.sel(set="other", drop=True), wrong_labels.at_the_end(other, "loss").value)
    curves = wrong_labels.validation_curves(one).value
    xr.testing.assert_allclose(
        curves.sel(of="validation loss", drop=True), wrong_labels.by_draw(one, "loss").mean("draw")
    )


def test_indices_by_the_program_start_at_the_first_record_and_scatter_as_groups_do():
    groups = [growing(*(f * s * np.log1p(T) for s in (0.4, 0.3, 0.2))) for f in (0.9, 1.0, 1.1)]
    result = result_of(*groups).assign(mean=groups[1])
    found = wrong_labels.indices_by_program(result)
    direct = effects.integrated_by_model(groups[1])
    xr.testing.assert_allclose(found, wrong_labels.tail_indices(direct["A"], direct["B"]))
    assert "least" in wrong_labels.indices_by_program(result, 201, "rates")
    whole = wrong_labels.indices_over_groups(result, lambda one: one["least"])
    xr.testing.assert_allclose(whole.value, found["least"])
    assert (whole.low < whole.value).all() and (whole.value < whole.high).all()
    number = wrong_labels.indices_over_groups(result, lambda one: float(one["least"].sel(model="I")[0]))
    assert number.high == pytest.approx(float(whole.high.sel(model="I")[0]))


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_indices_of_powers_are_known_and_the_smaller_one_is_named(first, second):
    """log (1 + t)^(1 − r) over log(1 + t) is 1 − r at all times."""
    one, two = (xr.DataArray((1 + T) ** (1 - r), {"time": T}, "time") for r in (first, second))
    found = wrong_labels.tail_indices(one, two)
    assert float(found["intra"]) == pytest.approx(first) and float(found["inter"]) == pytest.approx(second)
    assert float(found["least"]) == pytest.approx(min(first, second))


def test_indices_of_groups_are_those_of_their_class_means():
    means = growing(*(s * np.log1p(T) for s in (0.4, 0.3, 0.2)))
    whole, without = wrong_labels.indices_of_groups(result_of(means, means, means))
    direct = effects.integrated_by_model(means)
    for found in (whole, without.isel(group=0)):
        xr.testing.assert_allclose(found, wrong_labels.tail_indices(direct["A"], direct["B"]))
    np.testing.assert_allclose(direct["A"].sel(model="I").isel(label_error=0), 0.8 * np.log1p(T), atol=1e-9)
    np.testing.assert_allclose(direct["B"].sel(model="I").isel(label_error=0), -0.4 * np.log1p(T), atol=1e-9)


def laid_out(**curves):
    shares = np.linspace(0, 0.8, len(next(iter(curves.values()))))
    data = {name: (("model", "label_error"), [values, values]) for name, values in curves.items()}
    return xr.Dataset(data, {"model": ["I", "L-program"], "label_error": shares})


def test_an_index_that_crosses_one_is_below_at_a_half_and_above_at_two_thirds():
    least = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.3, 1.4]  # at shares 0, 0.1 … 0.8
    np.testing.assert_allclose(wrong_labels.about_one(laid_out(least=least)), [0.1, 0.3])


def test_each_draw_has_an_index_of_its_own():
    """Only the first draw learns nothing from two thirds of wrong labels; both are measured as networks alone are."""
    share = np.minimum(10 * T / T[-1], 1.0)
    draws = [growing(*(end * share for end in ends)) for ends in ((20.0, 10.0, 0.1), (20.0, 10.0, 10.0))]
    found = wrong_labels.about_one_by_draw(result_of(*draws))
    assert (found > 0).all("side").values.tolist() == [True, False]
    for one, means in zip(found.transpose("draw", ...), draws, strict=True):
        alone = wrong_labels.indices_by_program(xr.Dataset({"mean": means}))
        np.testing.assert_allclose(one, wrong_labels.about_one(alone))


def test_the_last_change_of_places_counts():
    found = wrong_labels.overtaking_share(laid_out(intra=[0.0, 0.0, 0.0, 0.0, 0.0], inter=[-1.0, 1.0, -1.0, -1.0, 3.0]))
    assert found == pytest.approx(0.65)
    assert np.isnan(wrong_labels.overtaking_share(laid_out(intra=[0.0, 0.0], inter=[1.0, 2.0])))


@pytest.mark.parametrize("r", [0.5, 1.5])
def test_the_slope_of_the_gap_is_its_exponent(r):
    """Â − B̂ = 3 g; with g' = (1 + t)^−r the gap fades so, with any factor."""
    integral = ((1 + T) ** (1 - r) - 1) / (1 - r)
    groups = [growing(0.02 * f * integral, 0 * T, 0.01 * np.log1p(T)) for f in (0.9, 1.0, 1.1)]
    found = wrong_labels.fading_slope(result_of(*groups), 201)
    assert float(found.value) == pytest.approx(r, abs=0.02) and float(found.null) == pytest.approx(1.0, abs=0.02)


def test_effects_that_are_not_finite_give_no_number_and_say_so():
    dead = growing(0.001 * T, 0 * T, 0 * T)
    dead[0, 100] = [[1, 0, 0], [-2, 2, 0], [1, 0, 3]]  # the mean of the first logit, zero, has no logarithm
    result = result_of(dead, dead, dead)
    assert not wrong_labels.finite(effects.integrated_by_model(dead))
    for found in (
        wrong_labels.fading_slope(result, 201),
        wrong_labels.measured_over_groups(result, wrong_labels.final_gap),
    ):
        assert not found.is_finite and found.reason == wrong_labels.TOO_FEW


def test_the_final_gap_is_three_times_the_growth():
    groups = [growing(0.001 * f * T, 0 * T, 0.0005 * f * T) for f in (0.99, 1.0, 1.01)]
    found = wrong_labels.measured_over_groups(result_of(*groups), wrong_labels.final_gap)
    late = T[-5:].mean()
    np.testing.assert_allclose(found.value.sel(model="I"), [0.003 * late, 0.0, 0.0015 * late], rtol=1e-3, atol=1e-9)


def test_the_gap_in_logits_is_the_gap_times_the_norm():
    means = growing(0.0005 * T, 0 * T, 0 * T)
    found = wrong_labels.gap_in_logits(means).sel(model="I")
    by_hand = 0.0015 * curves.mean_norm(means).isel(label_error=0).mean()
    np.testing.assert_allclose(found, [float(by_hand), 0.0, 0.0], rtol=1e-6, atol=1e-12)


def test_ends_are_shares_of_the_maximum():
    curve = np.concatenate([np.full(12, 1.0), np.full(348, 4.0), np.full(40, 2.0)])
    found = wrong_labels.ends_by_maximum(xr.DataArray([curve], {"label_error": [0.0]}, ("label_error", "time")))
    assert found.values.tolist() == [0.25, 0.5] and found["part"].values.tolist() == ["start", "end"]
    means = growing(0.0005 * T, 0 * T, 0 * T)  # a constant effect: what is left is the norm
    norm = wrong_labels.ends_by_maximum(curves.mean_norm(means))
    np.testing.assert_allclose(wrong_labels.intra_in_logits(means).sel(model="I"), norm, rtol=1e-6)
