"""Pairs of the page elastic_sde/estimators, and its formulas where effects are known."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr

from deepmech_book.elastic_sde import estimators, readings
from pairs import Page

page = Page("elastic_sde/estimators")
T, MODELS, IMAGES = runs.T, readings.MODELS, ("shapes", "photographs")


def read_off(level, rng, rival, scatter, since):
    """Effects of ten logs, found with these errors, as shares of 2, the largest; α̂ is far off at its ends.

    With ``rival`` next to nothing happens.
    """
    time = np.arange(200)
    true = 2.0 * (time == 100) if rival else np.linspace(0, 2, 200)
    ends = (time < since) | (time >= 175)
    logs = {}
    for model, name in (("I", "of_i"), ("L-program", "of_l")):
        found = {}
        for effect in {e for e, _ in level}:
            key = effect, model
            off = 2 * (level[key] + scatter[key] * rng.normal(size=(10, 1))) + 9 * ends * (effect == "intra")
            each = np.stack([off if m == model else off + 1 + 0 * true for m in estimators.ESTIMATORS], 1)
            found |= {effect: (("log", "model", "time"), true + each), f"{effect}_true": ("time", true)}
        logs[name] = xr.Dataset({"A_true": ("time", true), **found}, {"model": estimators.ESTIMATORS})
    return logs


RECOVER = {
    ("A", "I"): 0.0019, ("A", "L-program"): 0.011, ("B", "I"): 0.0016,
    ("B", "L-program"): 0.0087, ("intra", "I"): 0.0057, ("intra", "L-program"): 0.0052,
}  # fmt: skip


@page.pair("B.estimators.recover", panels=RECOVER, usual=0.03, reach=RECOVER)
def small_errors(level, rng, rival):
    return read_off(level, rng, rival, {p: r / 0.715 for p, r in RECOVER.items()}, 25)


NOISE = {("A", "I"): 0.02, ("A", "L-program"): 0.0175, ("intra", "I"): 0.007, ("intra", "L-program"): 0.0086}
"""Half-widths of intervals: the shares of their numbers that ship, of a tenth."""


@page.pair("B.estimators.from_noise", panels=NOISE, usual=0.05, reach=NOISE)
def small_errors_from_noise(level, rng, rival):
    return read_off(level, rng, rival, {p: r / 0.715 for p, r in NOISE.items()}, 50)


@page.pair("B.D1.small", panels=MODELS, usual={"I": 4.2, "L-program": 16.0}, reach=0.05)
def noise_about_a_trend(level, rng, rival):
    """The smallest window has noise of this size about a trend whose largest value is 2, the next one less."""
    trend = xr.DataArray(2 * runs.hump(0.3) / runs.hump(0.3).max(), {"time": T}, "time")
    sizes = xr.DataArray([list(level.values()), [0.1, 0.1]], {"window": [11, 51], "model": list(level)})
    noise = sizes * xr.DataArray((-1.0) ** np.arange(len(T)), dims="time")
    return {"by_window": xr.Dataset({"intra": trend + 2 * noise}), "trend": trend}


COUNTS = [80, 240, 480, 4800]


def labelled(sets):
    """Â by model, number of samples, set and time."""
    coords = {"model": list(MODELS), "per_class": COUNTS, "first_seed": range(8), "time": T}
    return xr.Dataset({"A": xr.DataArray(sets, coords, tuple(coords))})


def sizes(level, rng, few):
    """Gains of Â of four numbers of samples in eight sets, of which ``few`` lies so many scatters of a set from 4,800.

    Sets of all sizes differ alike, as those that ship (their networks begin alike), and ``few`` by a part of their own,
    which is smaller than in what ships; sets lie on either side of their mean, as far as one another, so that their
    scatter is known. By that of what ships no distance near it is known to a factor of two.
    """
    share, own, each = T / T[-1], REACH * 8**0.5 / 2.365, []
    for model in MODELS:
        common = rng.permutation([1.0, -1.0] * 4)
        common *= (1 - own**2 / 2) ** 0.5 / common.std(ddof=1)
        sets = np.stack([common] * 4)
        sets[COUNTS.index(few)] += level[model] + own * rng.normal(size=8)
        each.append(sets[..., None] * share)
    return labelled(np.stack(each))


REACH = 0.3


def late_sizes(level, rng, few):
    """Â that ends at 20, in sets that differ alike, and with ``few`` samples by such a share more, not alike.

    Before the last tenth it says nothing. Sets scatter less than those that ship, which by the L-model decide nothing.
    """
    sets = rng.normal(20, 2, (len(MODELS), 1, 8)) * np.ones((1, 4, 1))
    off = [[level[m]] + 0.036 * rng.normal(size=8) for m in MODELS]
    sets[:, COUNTS.index(few)] *= 1 + np.stack(off)
    late = np.where(np.arange(len(T)) >= len(T) - len(T) // 10, 1.0, rng.uniform(size=len(T)))
    return labelled(sets[..., None] * late)


for claim, few in (("B.D3.insensitive", 480), ("B.D3.small_sets", 80)):

    @page.pair(claim, panels=MODELS, usual=0.0, reach=0.03)
    def sizes_alike(level, rng, rival, few=few):
        made = late_sizes(level, rng, few)
        return {"by_set": made, "photos": made.isel(first_seed=slice(2))}


@page.pair("B.D3.growth", panels=MODELS, usual=0.9, reach=REACH)
def gains_alike(level, rng, rival):
    """Gains after iteration 1,250; what curves did before 1,000 is of no account."""
    made = sizes(level, rng, 80)
    return {"by_set": made.where(made.time >= 1000, 30.0 * made.per_class)}


def classes(rng, growths, scatter):
    """Networks of two and of three classes, by growth (u, v) of the mean of classes and of differences from it.

    Growths scatter from group to group: less than in what ships, where logarithms of starts near zero make most of it.
    """
    both = []
    for k, (u, v) in zip((2, 3), growths, strict=True):
        part = runs.START[:k, :k] - runs.START[:k, :k].mean(0)
        groups = []
        for _ in range(10):
            one, two = ((end + scatter * rng.normal()) * np.minimum(T / 1000, 1) for end in (u, v))
            x = np.exp(two)[:, None, None] * part + np.exp(one)[:, None, None] * np.array([1.0, 0.8, 0.6])[:k]
            groups.append(xr.DataArray(x, {"time": T}, ("time", "class", "logit")))
        both.append(runs.networks(*groups))
    return tuple(both)


KINDS = [(i, k) for i in ("text", "program") for k in (2, 3)]


WITHIN = dict.fromkeys(KINDS[::2], 0.2) | dict.fromkeys(KINDS[1::2], 0.32)


@page.pair("B.D4.rises", panels=KINDS, usual=4.0, reach=WITHIN, told=0.3)
def growth_within(level, rng, rival):
    """Â = u + (K − 1) v, half of it from either."""
    half = {i: [(level[i, k] / 2, level[i, k] / 2 / (k - 1)) for k in (2, 3)] for i in ("text", "program")}
    return {"kinds": {i: classes(rng, growths, 0.2) for i, growths in half.items()}}


@page.pair("B.D4.falls", panels=KINDS, usual=-3.0, reach=0.2, told=0.3)
def growth_between(level, rng, rival):
    """B̂ = u − v."""
    return {"kinds": {i: classes(rng, [(0.0, -level[i, k]) for k in (2, 3)], 0.2) for i in ("text", "program")}}


@page.pair("B.D4.scale", panels=("text", "program"), usual=2.5, reach=0.4)
def three_and_two(level, rng, rival):
    """Â of 4 with two classes; with ``rival`` it is 3/2 of that with three on the images of the text."""
    level = level | {"text": 1.5} if rival else level
    return {"kinds": {i: classes(rng, [(0.0, 4.0), (0.0, 2 * v)], 0.3) for i, v in level.items()}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_logs_begin_with_the_starts_of_the_classes_drawn():
    x, drawn = estimators.training_log("logits", 1.0, 0.03, seed=0)
    assert x.shape == (estimators.TRIALS, estimators.ITERATIONS, 3) and set(np.unique(drawn)) == {0, 1, 2}
    off = x[:, 0] - (estimators.STARTS - estimators.STARTS.mean(1, keepdims=True))[drawn[:, 0]]
    assert abs(off.mean()) < 4 * 0.3 / np.sqrt(off.size) and off.std() == pytest.approx(0.3, rel=0.2)
    again, other = (estimators.training_log("logits", 1.0, 0.03, seed)[0] for seed in (0, 1))
    assert np.array_equal(x, again) and not np.array_equal(x, other)


def test_truth_is_the_integral_of_the_known_effects_and_their_own_estimators_find_it():
    of_i, of_l = estimators.recovered_by_both(3)
    t = of_i.time.values
    np.testing.assert_allclose(of_i.intra_true, 0.03 * t / 60 * np.exp(1 - t / 60), rtol=1e-9)
    np.testing.assert_allclose(of_i.B_true, -0.4 * of_i.A_true, rtol=1e-9)
    total = 0.03 * 60 * np.e * (1 - (1 + t / 60) * np.exp(-t / 60))
    np.testing.assert_allclose(of_i.A_true, total - total[2], atol=2e-4)  # effects are linear between iterations
    found = estimators.recover(of_i, of_l).measured
    assert found.value.dims == ("effect", "model") and float((found.value / found.null).max()) < 0.3


def test_the_local_slope_is_the_exponent_and_the_index_is_not():
    tails = estimators.tail_indices([0.25, 0.5, 1.5, 2.0], [0.3, 3.0])
    np.testing.assert_allclose(tails["slope"], [tails["r"].values] * 2, atol=0.001)
    weak, strong = (tails["index"].sel(strength=a) for a in (0.3, 3.0))
    # A grows in proportion to the strength, so that indices differ by log 10 / log(1 + t), whatever r is.
    np.testing.assert_allclose(weak - strong, np.log(10) / np.log(9500), rtol=0.01)
