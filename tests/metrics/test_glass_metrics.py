"""Overlaps, α₂ and times against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf, erfinv

from deepmech.core.random import Stream
from deepmech.metrics import glass, relaxation
from deepmech.simulators.brownian import free_overlap, free_time

STREAM = Stream.of("glass metrics", 0)


def test_sums_of_groups_are_the_whole():
    now, before = (STREAM.normal(name, 0, 300) for name in ("now", "before"))
    group = (np.arange(300) * 7) % 5
    sums = glass.displacement_sums(now, before, group, 5, [0.1, 1.0])
    moved = np.abs(now - before)
    np.testing.assert_allclose(sums.within.sum(0), [(moved < 0.1).sum(), (moved < 1.0).sum()])
    assert sums.square.sum() == pytest.approx((moved**2).sum())
    assert sums.fourth[3] == pytest.approx((moved[group == 3] ** 4).sum())
    with pytest.raises(ValueError, match="windows"):
        glass.displacement_sums(now, before, group, 5, [0.0])


def test_alpha_of_known_distributions():
    gauss = STREAM.normal("gauss", 0, 400_000)
    uniform = STREAM.uniform("uniform", 0, 400_000) - 0.5
    for sample, expected, tolerance in ((gauss, 0.0, 0.01), (uniform, -0.4, 0.005)):
        alpha = glass.non_gaussian((sample**2).sum(), (sample**4).sum(), len(sample))
        assert alpha == pytest.approx(expected, abs=tolerance)
    assert np.isnan(glass.non_gaussian(0.0, 0.0, 10))


def test_a_mixture_of_gaussians_has_the_alpha_of_its_null():
    scales = np.array([1.0, 2.0, 0.0])
    counts = np.array([100_000, 50_000, 30_000])
    parts = [s * STREAM.normal(f"part {i}", 0, n) for i, (s, n) in enumerate(zip(scales, counts, strict=True))]
    whole = np.concatenate(parts)
    alpha = glass.non_gaussian((whole**2).sum(), (whole**4).sum(), len(whole))
    null = glass.mixture_non_gaussian(np.array([(p**2).sum() for p in parts]), counts)
    assert null > 0.5
    assert alpha == pytest.approx(null, rel=0.03)


def test_motilities_are_counted_once():
    counts, still = glass.motility(np.array([1e-20, 1e-3, 1e5, 0.0]), np.zeros(4))
    assert counts.sum() == 3 and still == 1 and counts[0] == 1 and counts[-1] == 1


@given(st.floats(1e-3, 10), st.floats(1e-8, 1e-2), st.floats(0.15, 0.95))
@settings(max_examples=30, deadline=None)
def test_time_of_a_free_walk(window, diffusion, level):
    exact = free_time(window, diffusion, level)
    times = exact * np.geomspace(1e-3, 1e3, 121)
    found = relaxation.decorrelation_time(times, free_overlap(times, window, diffusion), level)
    assert found.state == "crossed" and found.least == found.time
    assert found.time == pytest.approx(exact, rel=0.02)
    late = relaxation.decorrelation_time(times[:40], free_overlap(times[:40], window, diffusion), level)
    assert late.state == "censored" and np.isnan(late.time) and late.least == times[39]
    soon = relaxation.decorrelation_time(times[90:], free_overlap(times[90:], window, diffusion), level)
    assert soon.state == "early" and soon.least == 0


def test_a_record_that_ends_ends_the_search():
    found = relaxation.decorrelation_time([1, 2, 3, 4], [1.0, 0.95, np.nan, 0.1])
    assert found.state == "censored" and found.least == 2


def test_exponents_and_their_intervals():
    x = np.geomspace(1, 100, 12)
    noisy = 3 * x**-0.7 * np.exp(0.1 * STREAM.normal("noise", 0, (40, 12)))
    found = relaxation.exponent(x, noisy)
    assert found.low < -0.7 < found.high and found.high - found.low < 0.05
    single = relaxation.exponent(x, noisy[0])
    assert single.low < -0.7 < single.high
    # Two points, or two runs, say nothing of their scatter.
    assert not relaxation.exponent(x[:2], noisy[0, :2]).is_finite
    for n in (1, 2):
        assert relaxation.exponent(x, noisy[:n]).reason.startswith(f"too few runs for an interval: {n}")


@pytest.mark.parametrize("n", [3, 4, 5, 10])
def test_the_interval_of_an_exponent_covers(n):
    """Points that scatter by 20 % about a power, without runs: in 93 to 97 of 100 samples, give or take sampling."""
    x, shake = np.geomspace(1, 100, n), 0.2 * STREAM.normal("shake", n, (1500, n))
    ends = np.array([relaxation.exponent(x, x**-0.7 * np.exp(s)).interval for s in shake])
    assert 0.92 <= np.mean((ends[:, 0] <= -0.7) & (ends[:, 1] >= -0.7)) <= 0.98


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1.0], [1.0], "1 points with y > 0: give at least two"),
        ([2.0, 2.0], [1.0, 3.0], "at different x"),
        ([1.0, np.inf], [1.0, 2.0], r"x holds inf: must be finite and > 0"),
        ([1.0, 0.0, 3.0], [1.0, 2.0, 3.0], r"x holds 0\.0: must be finite and > 0"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"x \(2,\) and y \(3,\)"),
    ],
)
def test_points_without_an_exponent_are_named(x, y, words):
    with pytest.raises(ValueError, match=words):
        relaxation.exponent(x, y)


def test_free_walks_collapse_exactly_and_others_do_not():
    times = np.geomspace(1, 1e6, 200)
    speeds = np.array([1e-8, 1e-6, 1e-4])
    free = np.array([free_overlap(times, 0.1, d) for d in speeds])
    taus = np.array([free_time(0.1, d) for d in speeds])
    whole = relaxation.collapse(times, free, taus)
    assert whole.spread < 0.005
    # Each curve ends on its own plateau: laid over one another they still differ.
    plateau = free + (1 - free) * np.array([[0.0], [0.3], [0.6]])
    again = [relaxation.decorrelation_time(times, q).time for q in plateau]
    assert relaxation.collapse(times, plateau, again).spread > 0.05


def test_the_tail_of_a_free_walk_is_a_power():
    times = np.geomspace(1e2, 1e4, 20)
    assert relaxation.exponent(times, erf(erfinv(0.9) / np.sqrt(times))).value == pytest.approx(-0.5, abs=0.003)
