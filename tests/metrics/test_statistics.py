"""Rank correlation and its interval."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from deepmech.core.random import Stream
from deepmech.metrics.statistics import rank_correlation

numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=20)


@given(st.data())
def test_equals_spearman_with_ties_and_ignores_monotone_maps(data):
    x = np.array(data.draw(numbers), float)
    y = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=len(x), max_size=len(x))), float)
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    stream = Stream.of("test statistics", 0)
    got = rank_correlation(x, y, stream, n_boot=20)
    assert got.rho == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert rank_correlation(np.exp(x), y**3, stream, n_boot=20) == got
    mirrored = rank_correlation(-x, y, stream, n_boot=20)
    np.testing.assert_allclose([mirrored.rho, mirrored.low, mirrored.high], [-got.rho, -got.high, -got.low], atol=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """Independent pairs: ρ = 0 lies inside the 90 % interval in 90 of 100 samples, give or take 4 standard errors."""
    trials, hits = 200, 0
    for i in range(trials):
        s = Stream.of("test coverage", i)
        r = rank_correlation(s.normal("x", 0, 60), s.normal("y", 0, 60), s, n_boot=200, level=0.9)
        hits += r.low <= 0 <= r.high
    assert abs(hits / trials - 0.9) < 4 * np.sqrt(0.9 * 0.1 / trials)


def test_bad_input_is_named():
    s = Stream.of("test statistics", 1)
    with pytest.raises(ValueError, match="y is constant"):
        rank_correlation([1, 2, 3], [4, 4, 4], s)
    with pytest.raises(ValueError, match="x holds values that are not finite"):
        rank_correlation([1, np.nan, 3], [4, 5, 4], s)
    with pytest.raises(ValueError, match="at least three pairs"):
        rank_correlation([1, 2], [4, 5], s)
    with pytest.raises(ValueError, match="level = 1"):
        rank_correlation([1, 2, 3], [4, 5, 4], s, level=1)
