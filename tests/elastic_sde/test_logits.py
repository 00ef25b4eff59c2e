"""Pairs of the page elastic_sde/logits; clouds laid out by hand, planes with a known normal, shapes by geometry."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from deepmech.core.estimates import estimate
from deepmech.data import geomnist
from deepmech_book.elastic_sde import logits
from pairs import Page

page = Page("elastic_sde/logits")
CORNERS = np.array([[1.0, -0.4, -0.6], [-0.5, 1.2, -0.7], [-0.3, -0.8, 1.1]])
DATA = {"shapes": 100, "photos": 6}
"""How many trials of each."""


def networks(rng, corners, scatter, n_trials=40, n_moments=30):
    """Single logits about a corner for each class, as a result of networks holds them."""
    label = rng.integers(3, size=(n_trials, n_moments))
    single = corners[label] + scatter * rng.normal(size=(n_trials, n_moments, 3))
    return xr.Dataset(
        {
            "logits": (("trial", "moment", "logit"), single),
            "label": (("trial", "moment"), label),
            "mean": (("time", "class", "logit"), np.broadcast_to(corners, (20, 3, 3))),
        },
        {"moment": 10.0 * np.arange(n_moments), "time": np.arange(20.0), "class": ["a", "b", "c"]},
    )


def distance(share):
    """How far centres of normal clouds of width 1 are for a share of pairs of samples to be in the wrong order."""
    return -np.sqrt(2) * norm.ppf(share)


def clouds(rng, corners, rival):
    """Both data sets with clouds about the corners of each; of the rival labels say nothing, as if shuffled."""
    found = {data: networks(rng, corners[data], 1.0, n) for data, n in DATA.items()}
    return {data: logits.shuffled_labels(one) for data, one in found.items()} if rival else found


PAIRS = ("0, 1", "0, 2", "1, 2")
REACH = {(data, pair): {"shapes": 0.011, "photos": 0.016}[data] for data in DATA for pair in PAIRS}
"""Half-widths of intervals where that of photographs, of six networks, is narrow enough to decide."""


@page.pair("B.1.separate", panels=REACH, usual=0.002, reach=REACH, power=0.5)
def clouds_apart(level, rng, rival):
    """Clouds at the corners of a triangle, of which each side says how much two classes overlap."""
    corners = {}
    for data in DATA:
        one, two, three = (distance(level[data, pair]) for pair in PAIRS)
        x = (one**2 + two**2 - three**2) / (2 * one)
        corners[data] = np.array([[0, 0, 0], [one, 0, 0], [x, np.sqrt(two**2 - x**2), 0]])
    found = clouds(rng, corners, rival)
    return {"networks": found, "short": found["photos"]}


@page.pair("B.1.one_direction", panels=[(d, p) for d in DATA for p in PAIRS[::2]], usual=0.002, reach=REACH)
def clouds_on_a_line(level, rng, rival):
    """The second class between the two others, all at one height."""
    steps = {d: np.cumsum([0, *(distance(level[d, p]) for p in PAIRS[::2])]) for d in DATA}
    found = clouds(rng, {d: np.multiply.outer(at, [1.0, 0, 0]) for d, at in steps.items()}, rival)
    return {"networks": found, "long": found["shapes"]}


@page.pair("B.1.dashed", panels=(0, 1, 2), usual=1.0, reach=0.06)
def medians_inside(level, rng, rival):
    """Bands about zero, which medians leave at the last times."""
    time = xr.DataArray(np.arange(25.0), {"time": np.arange(25.0)}, "time")
    shares = xr.DataArray(list(level.values()), dims="class")
    band = (1 + 0 * time).expand_dims(pair=["a − b"])
    simulated = xr.where(time + 0.5 < 25 * shares, 0.0, 5.0).expand_dims(pair=["a − b"])
    return {
        "seen": xr.Dataset({"low": -band, "high": band}),
        "simulated": simulated,
        "constant": simulated if rival else 5 + 0 * simulated,
    }


@page.pair("B.text.cifar", panels=("2 classes", "3 classes"), usual=0.9, reach=0.0067)
def photographs(level, rng, rival):
    """Six networks of each kind, all at their best at one of ten moments."""
    mean = np.array([level[name] for name in level])[:, None, None] - 0.1 * (np.arange(10) != 7)
    coords = {"name": list(level), "first_seed": range(6), "iteration": np.arange(10) * 30_000}
    unseen = xr.DataArray(mean + 0.0064 * rng.normal(size=(2, 6, 1)), coords, ("name", "first_seed", "iteration"))
    return {"accuracy": xr.concat([unseen + 0.05, unseen], xr.Variable("set", ["training", "validation"]))}


@page.pair("B.text.geomnist", panels=("training", "validation"), usual=1e-3, reach=2e-3)
def losses_fall(level, rng, rival):
    """Losses of this size at the end, and far larger ones before the last tenth."""
    loss = np.where(np.arange(50) < 45, 0.5, level["training"])
    at_end = np.full((20, 2), [[np.log(3), level["validation"]]]) * np.r_[0.9, 1.1].repeat(10)[:, None]
    names = ("trial", "at_iteration")
    right = {"validation_loss": (names, at_end), "validation_accuracy": (names, np.full((20, 2), 0.99))}
    return {"long": xr.Dataset({"loss": ("time", loss), **right})}


TIME = np.arange(50.0, 10_000, 100)


def planes(angles, axis):
    """Class means of groups in a plane with a normal ``axis``, turned by so many degrees, over group and time."""
    side, *_ = np.linalg.svd(np.eye(3) - np.outer(axis, axis))
    fixed, turned = side[:, 0], side[:, 1]
    a = np.radians(angles)[..., None]
    across = np.cos(a) * turned - np.sin(a) * axis
    means = np.stack([fixed + 0 * across, across, -fixed - across], -2)
    coords = {"time": TIME[: means.shape[1]], "class": range(3), "logit": range(3)}
    every = xr.DataArray(means, coords, ("group", "time", "class", "logit"))
    loss = xr.DataArray(np.log(3) * np.linspace(1, 0.1, every.sizes["time"]), dims="time")
    return xr.Dataset({"mean": every.mean("group"), "group_mean": every.rename(time="slow_time"), "loss": loss})


@page.pair("B.D10.early", usual=60.0, told=0.3)
def turned_early(level, rng, rival):
    """Groups that scatter by 28 degrees; the normal of the rival goes to and fro at the end."""
    at = level[""] + 28 * rng.normal(size=(10, 1))
    late = at * np.where(np.arange(100) % 2, 1, -1) * (TIME > 8800)
    return {"networks": planes(np.where(TIME < 1200, at, late if rival else 0.0), np.ones(3) / np.sqrt(3))}


@page.pair("B.D10.why", usual=0.5)
def across_the_diagonal(level, rng, rival):
    """Groups that end with a scatter of 0.74 degrees about the angle; early they are off by 20, but for the rival."""
    late = level[""] + 0.74 * rng.normal(size=(10, 1))
    return {"networks": planes(np.where(TIME > 1200, late, late if rival else 20.0), np.ones(3) / np.sqrt(3))}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


@given(st.lists(st.floats(-100, 100), min_size=6, max_size=6), st.floats(-100, 100))
def test_the_plane_keeps_distances_and_forgets_what_all_logits_share(numbers, shift):
    x = xr.DataArray(np.reshape(numbers, (2, 3)), dims=("point", "logit"))
    seen = logits.in_the_plane(x)
    np.testing.assert_allclose(logits.in_the_plane(x + shift), seen, atol=1e-9)
    centred = x - x.mean("logit")
    np.testing.assert_allclose((seen**2).sum("axis"), (centred**2).sum("logit"), rtol=1e-9, atol=1e-9)


def test_quantiles_are_those_of_the_samples_of_a_class():
    result = networks(np.random.default_rng(0), 10 * CORNERS, 0.5, 300)
    seen = logits.projected_quantiles(result, {"a − b": (0, 1)})
    nu = (CORNERS[0] - CORNERS[1]) / np.linalg.norm(CORNERS[0] - CORNERS[1])
    assert seen["class"].values.tolist() == ["a", "b", "c"] and seen.sizes["time"] == logits.BINS
    np.testing.assert_allclose(seen["median"].mean("time").isel(pair=0), 10 * CORNERS @ nu, atol=0.05)
    width = (seen["high"] - seen["low"]).mean(("time", "pair"))
    np.testing.assert_allclose(width, 2 * 1.96 * 0.5, rtol=0.1)  # of normal numbers, of which a bin has a hundred
    assert float(seen["time"][0]) == pytest.approx(5.0) and float(seen["time"][-1]) == 290.0


def test_few_samples_get_few_bins_and_lost_trials_are_left_out():
    few = networks(np.random.default_rng(0), CORNERS, 0.1, 2)
    assert logits.projected_quantiles(few, {"a − b": (0, 1)}).sizes["time"] == 1
    result = networks(np.random.default_rng(0), CORNERS, 0.0, 300)
    seen = logits.projected_quantiles(result, {"a − b": (0, 1)})
    lost = result.assign(logits=result["logits"].where(result["trial"] > 5))
    xr.testing.assert_allclose(logits.projected_quantiles(lost, {"a − b": (0, 1)}), seen)


def test_paths_are_inside_where_they_are_between():
    t = np.linspace(0, 10, 21)
    low, high = (xr.DataArray(v + 0 * t, {"time": t}, "time") for v in (-1.0, 1.0))
    path = xr.DataArray([[0.0, 0.0], [-2.0, 2.0], [3.0, 3.0]], {"time": [0.0, 10.0]}, ("path", "time"))
    assert logits.share_inside(path, low, high).values.tolist() == [1.0, 11 / 21, 0.0]


def test_accuracies_are_compared_at_the_same_iterations():
    result = xr.Dataset(
        {
            "accuracy": (("first_seed", "time"), [[0.1, 0.2, 0.3, 0.4]]),
            "validation_accuracy": (("first_seed", "trial", "at_iteration"), [[[0.0, 0.5, 0.6]]]),
        },
        {"time": [5.0, 15.0, 25.0, 35.0], "at_iteration": [0, 16, 40]},
    )
    both = logits.accuracies(result)
    assert both["iteration"].values.tolist() == [16, 40]
    assert both.sel(set="training").values.tolist() == [[0.2, 0.4]]
    assert both.sel(set="validation").values.tolist() == [[0.5, 0.6]]


def test_the_best_iteration_of_a_network_is_that_of_the_others():
    rng = np.random.default_rng(1)
    values = xr.DataArray(rng.uniform(size=(6, 9)), {"iteration": np.arange(9)}, ("first_seed", "iteration"))
    at, best = logits.best_accuracy(values)
    assert at == int(values.mean("first_seed").argmax("iteration"))
    x = values.values
    by_hand = estimate(np.array([x[i, np.delete(x, i, 0).mean(0).argmax()] for i in range(6)]), scatter="symmetric")
    assert best.value == pytest.approx(by_hand.value)
    np.testing.assert_allclose(best.interval, by_hand.interval)


def test_shuffled_labels_are_the_same_labels_and_say_nothing():
    result = networks(np.random.default_rng(0), 10 * CORNERS, 0.1)
    shuffled = logits.shuffled_labels(result)
    assert np.array_equal(np.bincount(shuffled["label"].values.ravel()), np.bincount(result["label"].values.ravel()))
    np.testing.assert_allclose(logits.overlap(shuffled, logits.END), 0.5, atol=0.12)


def test_the_direction_is_that_along_which_no_pair_overlaps():
    """Classes a and c differ along the first logit by far more than b from either: only along a − b or b − c, which
    have a part of both, are all three apart."""
    corners = np.array([[3.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 3.0]])
    result = networks(np.random.default_rng(0), corners, 0.2)
    nu = logits.least_overlapping_direction(result)
    assert np.linalg.norm(nu) == pytest.approx(1.0)
    others = [logits.direction(result["mean"], *pair) for pair in ((0, 1), (0, 2), (1, 2))]
    worst = [float(logits.overlap(result, logits.END, other).max()) for other in others]
    assert float(logits.overlap(result, logits.END, nu).max()) == min(worst) < max(worst)


def test_intervals_over_groups_and_over_networks_are_those_of_means():
    x = xr.Dataset({"x": ("trial", np.random.default_rng(2).random(50))})
    grouped = logits.over_trials(x, lambda some: some["x"].mean())
    by_hand = estimate(x["x"].values.reshape(5, 10).mean(1), scatter="symmetric")
    assert grouped.n == 50 and float(grouped.value) == pytest.approx(float(by_hand.value))
    np.testing.assert_allclose(grouped.interval, by_hand.interval)
    few = x.isel(trial=slice(20))
    single = logits.over_trials(few, lambda some: some["x"].mean())
    np.testing.assert_allclose(single.interval, estimate(few["x"].values, scatter="symmetric").interval)


def test_networks_by_seed_become_trials_with_the_mean_of_their_means():
    one = networks(np.random.default_rng(0), CORNERS, 0.1, 1).assign_coords(first_seed=0)
    trials = logits.as_trials(xr.concat([one, one.assign(mean=3 * one["mean"])], "first_seed"))
    assert trials.sizes["trial"] == 2 and "first_seed" not in trials.dims
    np.testing.assert_allclose(trials["mean"], 2 * one["mean"])


def test_the_angle_to_the_final_normal_is_the_one_turned():
    angles = [80.0, 60.0, 30.0, 10.0, 5.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    found = logits.plane_angles(planes(np.array([angles]), np.eye(3)[0])["mean"])
    np.testing.assert_allclose(found["turn"], angles, atol=1e-5)
    assert found["time"].values.tolist() == [50.0 + 100 * i for i in range(10)]


def test_a_plane_across_the_diagonal_is_not_tilted():
    centred = CORNERS - CORNERS.mean(-1, keepdims=True)
    grown = (1 + np.arange(400.0))[:, None, None] * centred + 5.0  # means grow, and all logits share a number
    found = logits.plane_angles(xr.DataArray(grown, {"time": np.arange(400.0)}, ("time", "class", "logit")))
    assert float(found["tilt"].max()) < 1e-5 and float(found["turn"].max()) < 1e-5
    side = logits.plane_angles(planes(np.zeros((1, 2)), np.eye(3)[0])["mean"])["tilt"]
    np.testing.assert_allclose(side, np.degrees(np.arccos(1 / np.sqrt(3))))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 4))
def test_a_curve_stays_below_from_after_its_last_value_that_does_not(values, level):
    found = logits.stays_below(xr.DataArray(values, {"time": np.arange(len(values))}, "time"), level)
    below = [all(v < level for v in values[i:]) for i in range(len(values))]
    assert found == below.index(True) if any(below) else np.isnan(found)


# --- shapes


def test_images_turn_along_their_curve():
    (train, _), drawn = geomnist.family(18, 3), logits.images(7)
    assert drawn.sizes["sample"] == 7 and drawn["shape"].values.tolist() == ["triangle", "rectangle", "ellipse"]
    first = np.flatnonzero(train.label == 1)[train.angle[train.label == 1].argmin()]
    one = geomnist.Placement(**{name: v[first : first + 1] for name, v in vars(train).items()})
    assert np.array_equal(drawn.isel(shape=1, sample=0), geomnist.draw(one)[0])


def test_brightness_is_the_area_of_the_shape_and_that_of_the_authors_program():
    """Ellipses of half-axes 6 + r and 2 (6 + r), r even from −1 to 1: 2π ⟨(6 + r)²⟩ = 2π (36 + 1/3) pixels. The
    rectangle has 9 × 17, and no area of a shape depends on where it is or how it is turned."""
    total = logits.images(601).sum(("row", "column"), dtype=float).mean("sample").values
    assert total[2] == pytest.approx(2 * np.pi * (36 + 1 / 3), rel=0.01) and total[1] == pytest.approx(9 * 17, rel=0.01)
    assert total == pytest.approx((218.65, 153.00, 228.71), rel=0.01)  # means of 600 images that their program made
