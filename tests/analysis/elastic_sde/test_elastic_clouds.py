"""Measures of clouds of logits on clouds that were laid out by hand, and of planes whose normal is known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import estimate
from deepmech_book.analysis.elastic_sde import clouds
from deepmech_book.analysis.elastic_sde.logits import overlap

CORNERS = np.array([[1.0, -0.4, -0.6], [-0.5, 1.2, -0.7], [-0.3, -0.8, 1.1]])


def networks(n_trials=40, n_moments=30, size=10.0, scatter=0.1, corners=CORNERS):
    """Logits about ``size`` times a corner, for each class in turn, as a result of networks would hold them."""
    rng = np.random.default_rng(0)
    label = (np.arange(n_trials)[:, None] + np.arange(n_moments)) % 3
    logits = size * corners[label] + scatter * rng.normal(size=(n_trials, n_moments, 3))
    return xr.Dataset(
        {
            "logits": (("trial", "moment", "logit"), logits),
            "label": (("trial", "moment"), label),
            "mean": (("time", "class", "logit"), size * np.broadcast_to(corners, (20, 3, 3))),
        },
        {"moment": 10.0 * np.arange(n_moments), "time": np.arange(20.0), "class": ["a", "b", "c"]},
    )


@given(st.lists(st.floats(-100, 100), min_size=6, max_size=6), st.floats(-100, 100))
def test_the_plane_keeps_distances_and_forgets_what_all_logits_share(numbers, shift):
    x = xr.DataArray(np.reshape(numbers, (2, 3)), dims=("point", "logit"))
    seen = clouds.in_the_plane(x)
    np.testing.assert_allclose(clouds.in_the_plane(x + shift), seen, atol=1e-9)
    centred = x - x.mean("logit")
    np.testing.assert_allclose((seen**2).sum("axis"), (centred**2).sum("logit"), rtol=1e-9, atol=1e-9)


def test_quantiles_are_those_of_the_samples_of_a_class():
    result = networks(n_trials=300, scatter=0.5)
    seen = clouds.projected_quantiles(result, {"a − b": (0, 1)})
    nu = (CORNERS[0] - CORNERS[1]) / np.linalg.norm(CORNERS[0] - CORNERS[1])
    assert seen["class"].values.tolist() == ["a", "b", "c"] and seen.sizes["time"] == clouds.BINS
    middle = 10 * CORNERS @ nu
    np.testing.assert_allclose(seen["median"].mean("time").isel(pair=0), middle, atol=0.05)
    width = (seen["high"] - seen["low"]).mean(("time", "pair"))
    np.testing.assert_allclose(width, 2 * 1.96 * 0.5, rtol=0.1)  # of normal numbers, of which a bin has a hundred
    assert float(seen["time"][0]) == pytest.approx(5.0) and float(seen["time"][-1]) == 290.0


def test_few_samples_get_few_bins_and_lost_trials_are_left_out():
    result = networks(n_trials=2, n_moments=30)
    assert clouds.projected_quantiles(result, {"a − b": (0, 1)}).sizes["time"] == 1
    result = networks(n_trials=300, scatter=0.0)
    seen = clouds.projected_quantiles(result, {"a − b": (0, 1)})
    lost = result.assign(logits=result["logits"].where(result["trial"] > 5))
    xr.testing.assert_allclose(clouds.projected_quantiles(lost, {"a − b": (0, 1)}), seen)


def test_paths_are_inside_where_they_are_between():
    t = np.linspace(0, 10, 21)
    low, high = (xr.DataArray(v + 0 * t, {"time": t}, "time") for v in (-1.0, 1.0))
    path = xr.DataArray([[0.0, 0.0], [-2.0, 2.0], [3.0, 3.0]], {"time": [0.0, 10.0]}, ("path", "time"))
    assert clouds.share_inside(path, low, high).values.tolist() == [1.0, 11 / 21, 0.0]


def test_accuracies_are_compared_at_the_same_iterations():
    time = np.array([5.0, 15.0, 25.0, 35.0])
    result = xr.Dataset(
        {
            "accuracy": (("first_seed", "time"), [[0.1, 0.2, 0.3, 0.4]]),
            "validation_accuracy": (("first_seed", "trial", "at_iteration"), [[[0.0, 0.5, 0.6]]]),
        },
        {"time": time, "at_iteration": [0, 16, 40]},
    )
    both = clouds.accuracies(result)
    assert both["iteration"].values.tolist() == [16, 40]
    assert both.sel(set="training").values.tolist() == [[0.2, 0.4]]
    assert both.sel(set="validation").values.tolist() == [[0.5, 0.6]]


def test_the_best_iteration_of_a_network_is_that_of_the_others():
    rng = np.random.default_rng(1)
    values = xr.DataArray(rng.uniform(size=(6, 9)), {"iteration": np.arange(9)}, ("first_seed", "iteration"))
    at, best = clouds.best_accuracy(values)
    assert at == int(values.mean("first_seed").argmax("iteration"))
    x = values.values
    chosen = [x[i, np.delete(x, i, 0).mean(0).argmax()] for i in range(6)]
    by_hand = estimate(np.array(chosen), scatter="symmetric")
    assert best.value == pytest.approx(by_hand.value)
    np.testing.assert_allclose(best.interval, by_hand.interval)


def test_shuffled_labels_are_the_same_labels_and_say_nothing():
    result = networks()
    shuffled = clouds.shuffled_labels(result)
    assert np.array_equal(np.bincount(shuffled["label"].values.ravel()), np.bincount(result["label"].values.ravel()))
    assert float(overlap(result, clouds.END).max()) == 0.0
    np.testing.assert_allclose(overlap(shuffled, clouds.END), 0.5, atol=0.12)


def test_the_direction_is_that_along_which_no_pair_overlaps():
    """Classes a and c differ along the first logit by far more than b from either: only along a − b or b − c, which
    have a part of both, are all three apart."""
    corners = np.array([[3.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 3.0]])
    result = networks(corners=corners, size=1.0, scatter=0.2)
    nu = clouds.least_overlapping_direction(result)
    assert np.linalg.norm(nu) == pytest.approx(1.0)
    others = [clouds.direction(result["mean"], *pair) for pair in ((0, 1), (0, 2), (1, 2))]
    worst = [float(overlap(result, clouds.END, other).max()) for other in others]
    assert float(overlap(result, clouds.END, nu).max()) == min(worst) < max(worst)


def test_intervals_over_groups_and_over_networks_are_those_of_means():
    rng = np.random.default_rng(2)
    x = xr.Dataset({"x": ("trial", rng.normal(size=50))})

    def mean(some):
        return some["x"].mean()

    grouped = clouds.over_trial_groups(x, mean)
    by_hand = estimate(x["x"].values.reshape(5, 10).mean(1), scatter="symmetric")
    assert grouped.n == 50 and float(grouped.value) == pytest.approx(float(by_hand.value))
    np.testing.assert_allclose(grouped.interval, by_hand.interval)
    xr.testing.assert_identical(clouds.over_trials(x, mean).low, grouped.low)
    few = x.isel(trial=slice(20))
    assert clouds.over_trials(few, mean) == clouds.over_networks(few, mean)
    single = clouds.over_networks(x, mean)
    np.testing.assert_allclose(single.interval, estimate(x["x"].values, scatter="symmetric").interval)


def test_networks_by_seed_become_trials_with_the_mean_of_their_means():
    one = networks(n_trials=1).assign_coords(first_seed=0)
    two = xr.concat([one, one.assign(mean=3 * one["mean"])], "first_seed")
    trials = clouds.as_trials(two)
    assert trials.sizes["trial"] == 2 and "first_seed" not in trials.dims
    np.testing.assert_allclose(trials["mean"], 2 * one["mean"])


# --- the plane --------------------------------------------------------------------------------------------------------


def turning(angles):
    """Class means of a plane whose normal is turned by so many degrees about the third axis, from the first one on."""
    a = np.radians(np.repeat(angles, 100))
    zero = np.zeros_like(a)
    side, up = np.stack([-np.sin(a), np.cos(a), zero], -1), np.stack([zero, zero, zero + 1], -1)
    x = np.stack([side, up, -side - up], 1)
    return xr.DataArray(x, {"time": np.arange(len(a)) + 0.5}, ("time", "class", "logit"))


def test_the_angle_to_the_final_normal_is_the_one_turned():
    angles = [80.0, 60.0, 30.0, 10.0, 5.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    found = clouds.plane_angles(turning(angles))
    np.testing.assert_allclose(found["turn"], angles, atol=1e-5)
    assert found["time"].values.tolist() == [50.0 + 100 * i for i in range(10)]


def test_a_plane_across_the_diagonal_is_not_tilted():
    centred = CORNERS - CORNERS.mean(-1, keepdims=True)
    grown = (1 + np.arange(400.0))[:, None, None] * centred + 5.0  # means grow, and all logits share a number
    found = clouds.plane_angles(xr.DataArray(grown, {"time": np.arange(400.0)}, ("time", "class", "logit")))
    assert float(found["tilt"].max()) < 1e-5 and float(found["turn"].max()) < 1e-5
    side = clouds.plane_angles(turning([0.0, 0.0]))["tilt"]
    np.testing.assert_allclose(side, np.degrees(np.arccos(1 / np.sqrt(3))))


def test_the_mean_angle_is_that_of_all_groups_and_equal_groups_have_no_scatter():
    means = turning([90.0, 45.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    groups = xr.concat([means] * 4, "group").rename(time="slow_time")
    found = clouds.mean_angle(xr.Dataset({"group_mean": groups}), "turn", slice(0, 200))
    assert found.value == pytest.approx(67.5) and found.high - found.low < 1e-6


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 4))
def test_a_curve_stays_below_from_after_its_last_value_that_does_not(values, level):
    found = clouds.stays_below(xr.DataArray(values, {"time": np.arange(len(values))}, "time"), level)
    below = [all(v < level for v in values[i:]) for i in range(len(values))]
    assert found == below.index(True) if any(below) else np.isnan(found)
