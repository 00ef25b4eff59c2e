"""The dip against linear programming, what is known of it, and its test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from deepmech.core.random import Stream
from deepmech_book.glass import dips

STREAM = Stream.of("glass metrics", 0)


def dip_by_programming(x):
    """For every place of the mode, the least half-width of a band with room for a convex and a concave piece."""
    x, n = np.sort(x), len(x)
    best = 1.0
    for m in range(n):
        left, right = m + 1, n - m
        rows, bounds = [], []

        def row(entries, bound, size=left + right + 1, rows=rows, bounds=bounds):
            line = np.zeros(size)
            for k, v in entries.items():
                line[k] = v
            rows.append(line)
            bounds.append(bound)

        for i in range(left):
            row({i: 1, -1: -1}, i / n)
            if i < m:
                row({i: -1, -1: -1}, -(i + 1) / n)
        for j in range(right):
            row({left + j: -1, -1: -1}, -(m + j + 1) / n)
            if j:
                row({left + j: 1, -1: -1}, (m + j) / n)
        for start, size, at, sign in ((0, left, 0, 1), (left, right, m, -1)):
            for i in range(1, size - 1):
                a, b = x[at + i] - x[at + i - 1], x[at + i + 1] - x[at + i]
                row({start + i - 1: -sign / a, start + i: sign * (1 / a + 1 / b), start + i + 1: -sign / b}, 0)
        for i in range(1, left + right):
            row({i - 1: 1, i: -1}, 0)
        cost = np.zeros(left + right + 1)
        cost[-1] = 1
        found = linprog(cost, np.array(rows), bounds, bounds=[(0, 1)] * len(cost))
        best = min(best, found.fun) if found.success else best
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_dip_is_the_smallest_band(seed):
    x = STREAM.uniform("dip", seed, 13)
    if seed % 2:
        x[:6] = 0.2 * x[:6] - 2
    assert dips.dip(x) == pytest.approx(dip_by_programming(x), abs=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=40, unique=True), st.floats(0.01, 9), st.floats(-9, 9))
@settings(max_examples=40, deadline=None)
def test_the_dip_does_not_see_scale_place_or_direction(sample, scale, shift):
    x = np.round(sample, 6)
    one = dips.dip(x)
    assert one == pytest.approx(dips.dip(-scale * x + shift), abs=1e-9)
    assert 1 / (2 * len(x)) - 1e-12 <= one <= 0.25 + 1e-12


def test_dips_that_are_known():
    assert dips.dip(np.arange(50)) == pytest.approx(1 / 100)
    assert dips.dip([0, 0, 0, 1, 1, 1]) == pytest.approx(0.25)
    assert dips.dip([3.0]) == pytest.approx(0.5)
    counts, edges = np.array([3, 0, 3]), np.array([0.0, 1, 2, 3])
    assert len(dips.unbinned(counts, edges)) == 6


def test_large_samples_share_the_null_of_smaller_ones():
    own = [dips.dip(STREAM.uniform("many", i, 3000)) for i in range(150)]
    shared = dips.uniform_dips(STREAM, 3000, 150)
    np.testing.assert_allclose(np.quantile(shared, [0.5, 0.9]), np.quantile(own, [0.5, 0.9]), rtol=0.12)


def test_the_dip_test_keeps_its_size_and_finds_two_modes():
    p = [dips.dip_test(STREAM.uniform("flat", i, 80), Stream.of("null", i), 60).p for i in range(60)]
    assert 0.02 < np.mean(np.array(p) <= 0.1) < 0.25
    two = np.concatenate([STREAM.normal("a", 0, 100) - 2.5, STREAM.normal("b", 0, 100) + 2.5])
    assert dips.dip_test(two, STREAM, 60).p < 0.02
    assert dips.dip_test(STREAM.normal("c", 0, 200), STREAM, 60).p > 0.2
