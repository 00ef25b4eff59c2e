"""Pairs of the page elastic_sde/effects, and readings of class means whose effects are known in closed form."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from deepmech.metrics import elasticity
from deepmech_book.elastic_sde import effects
from deepmech_book.sweeps.elastic_sde.networks import as_published
from deepmech_book.sweeps.shipped import result
from pairs import Page

page = Page("elastic_sde/effects")
MODELS = ("I", "L-program")
T, WINDOW = runs.T, 551
N = len(T)
SHARE = (np.arange(N) + 0.5) / N


T95 = 2.365
"""Of Student's t, for eight sets."""


def sets(rng, peak, begin, end, half):
    """α̂ of eight sets of trials by model: 1 at a peak and 0.3 elsewhere, but for the beginning and the end.

    What is measured scatters over sets such that its interval has half-widths ``half``.
    """
    curves, scatter = np.full((2, 8, N), 0.3), np.array(half)[:, None] * 8**0.5 / T95
    for part, levels in ((SHARE < 0.03, begin), (SHARE >= 0.9, end)):
        curves[..., part] = (np.array(levels)[:, None] + scatter * rng.normal(size=(2, 8)))[..., None]
    at = np.clip(np.array(peak)[:, None] + (scatter if begin == (0, 0) else 0) * rng.normal(size=(2, 8)), 0.08, 0.88)
    np.put_along_axis(curves, (N * at).round().astype(int)[..., None], 1.0, -1)
    coords = {"model": list(MODELS), "first_seed": range(8), "time": T}
    return xr.Dataset({"intra": xr.DataArray(curves, coords, tuple(coords))})


PEAKS = {"I": 0.0115, "L-program": 0.0415}
BEGINS = {"I": 0.144, "L-program": 0.585}
ENDS = {"I": 0.006, "L-program": 0.0575}
"""Half-widths of intervals that ship."""


@page.pair("B.3.peak", panels=MODELS, usual=0.2, reach=PEAKS, rival=False)
def early(level, rng, rival):
    found = sets(rng, tuple(level.values()), (0, 0), (0, 0), tuple(PEAKS.values()))
    return {"by_set": found, "estimated": found.isel(first_seed=0), "window": WINDOW}


@page.pair("B.3.rises", panels=MODELS, usual={"I": 0.1, "L-program": -1.2}, reach=BEGINS, rival=False)
def small_at_first(level, rng, rival):
    """By the L-model sets scatter so much that no share above zero is surely below a half."""
    return {"by_set": sets(rng, (0.5, 0.5), tuple(level.values()), (0, 0), tuple(BEGINS.values())), "window": WINDOW}


@page.pair("B.3.falls", panels=MODELS, usual=0.0, reach=ENDS, rival=False)
def small_in_the_end(level, rng, rival):
    return {"by_set": sets(rng, (0.5, 0.5), (0.1, 0.1), tuple(level.values()), tuple(ENDS.values())), "window": WINDOW}


@page.pair("B.3.alike", panels=MODELS, usual=0.0, expected=0.0, reach=0.04)
def at_the_same_time(level, rng, rival):
    """Peaks that scatter less than those that ship; four sets of photographs."""
    photos = sets(rng, tuple(0.4 + later for later in level.values()), (0, 0), (0, 0), (0.018, 0.018))
    shapes = sets(rng, (0.4, 0.4), (0, 0), (0, 0), (0.018, 0.018))
    return {"photos": photos.isel(first_seed=slice(4)), "shapes": shapes, "window": WINDOW}


IMAGES = ("shapes", "photos", "as the program draws")


@page.pair("B.3.below", panels=[(i, m) for i in IMAGES for m in MODELS], usual=0.95, reach=0.02)
def beta_below(level, rng, rival):
    """β̂ is below α̂ in a share of the first third; of the rival as often where networks guess."""
    first = (np.arange(N) + 0.5) / (N // 3)
    found = {}
    for images in IMAGES:
        inter = np.array([np.where(first < level[images, m], -1.0, 1.0) for m in MODELS])
        coords = {"model": list(MODELS), "time": T}
        found[images] = xr.Dataset({"intra": (tuple(coords), 0 * inter), "inter": (tuple(coords), inter)}, coords)
    guessing = found["shapes"].assign(inter=found["shapes"].inter * (1 if rival else -1))
    return {"estimated": found, "guessing": guessing}


def grown(mean, unlike):
    """Class means whose mean margin grows as e^mean, and a small part as e^unlike, about a far centre.

    The small part adds up to zero over classes, and the program's formula sees it only as differences of margins: by it
    Â = mean + 2 unlike for the L-model; by the I-model Â = 2 mean.
    """
    part = 1e-5 * np.array([[1, 0, 3], [0, 1, 3], [-1, -1, -6]])
    values = np.exp(mean)[..., None, None] * (np.eye(3) - 1 / 3) + np.exp(unlike)[..., None, None] * part
    coords = {"time": T, "class": range(3), "logit": range(3)}
    return xr.DataArray(values + np.array([1e3, -1e3, 1e-4]), coords, ("time", "class", "logit"))


@page.pair("B.3.late", panels=IMAGES[1:], usual=-0.2, reach=0.15)
def grow_less_on_photographs(level, rng, rival):
    """Ten groups whose factors scatter; those that ship scatter five times as much."""
    factors = {i: level.get(i, 1.25) + 0.21 * rng.normal(size=10) for i in IMAGES}
    groups = {i: [grown(SHARE, (factor - 0.5) * SHARE) for factor in each] for i, each in factors.items()}
    return {"networks": {images: runs.networks(*each) for images, each in groups.items()}}


def bent(ratio):
    """A course from 1 to 3 that is so far from its logarithm by how far it is from a straight line."""

    def course(bend):
        return 1 + 2 * (SHARE + bend * (1 - np.exp(-5 * SHARE))) / (1 + bend)

    def apart(one, other):
        return np.sqrt(np.polyfit(other, one, 1, full=True)[1][0])

    def gap(bend):
        f = course(bend)
        return np.log(apart(f, np.log(f)) / apart(f, SHARE) / ratio)

    return course(brentq(gap, 0.02, 50.0))


@page.pair("B.3.norm", usual=1.4)
def norm_like_the_integral(level, rng, rival):
    ratios = np.clip(level[""] + 0.18 * rng.normal(size=10), 0.5, 3)
    return {"networks": runs.networks(*(runs.class_means(np.log(bent(ratio))) for ratio in ratios))}


@page.pair("B.3.wilder", usual=3.5, reach=1.2)
def margins_fluctuate(level, rng, rival):
    """Eight sets in which differences of margins fluctuate with their mean, by a factor that scatters, if less."""
    factors = level[""] * np.exp(0.48 * rng.normal(size=8))
    noise = 1e-3 * rng.normal(size=(8, N))
    means = [grown(SHARE + one, SHARE + (f - 0.5) * one) for f, one in zip(factors, noise, strict=True)]
    return {"networks": xr.Dataset({"mean": xr.concat(means, "first_seed")})}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


@given(st.integers(30, 330), st.floats(0.1, 5.0))
def test_the_course_of_a_hump_is_that_of_the_hump(peak, height):
    alpha = height * np.clip(1 - abs(np.arange(400) - peak) / 60, 0, None)
    found = effects.course(xr.Dataset({"intra": ("time", alpha)}, {"time": T}), 101)  # eleven recorded times
    assert float(found["peak"]) == peak / 400
    assert float(found["begin"]) == pytest.approx(alpha[:12].mean() / height)
    assert float(found["end"]) == pytest.approx(alpha[-40:].mean() / height)


def test_a_maximum_within_half_a_window_of_the_beginning_is_the_filters():
    alpha = np.full(400, 1.0)
    alpha[:5], alpha[200] = 9.0, 2.0
    assert float(effects.course(xr.Dataset({"intra": ("time", alpha)}, {"time": T}), 101)["peak"]) == 0.5


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
    same = runs.networks(*[runs.class_means(2 * SHARE)] * 4)
    low, high = effects.bands({"shapes": same}, 101)
    xr.testing.assert_allclose(low, high)
    wide = runs.networks(*(runs.class_means(2 * f * SHARE) for f in (0.8, 0.9, 1.1, 1.2)))
    low, high = (end.sel(panel="shapes, I-model")[0] for end in effects.bands({"shapes": wide}, 101))
    assert float((high - low)[0]) < 0.02 and ((high - low).diff("time") > 0).all()
