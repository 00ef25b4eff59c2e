"""The dip against linear programming, what is known of it, and its test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import linprog

from deepmech.core.random import Stream
from deepmech_book.glass import dips

STREAM = Stream.of("glass metrics", 0)


def dip_by_programming(x):
    """For every place of the mode, the least half-width of a band with room for a convex and a concave piece.

    Unknown are both pieces at their points, the mode in both, and the half-width; a piece may jump at the mode.
    """
    x, n, best = np.sort(x), len(x), 1.0
    for m in range(n):
        convex, concave = (
            np.diff(np.diff(np.eye(len(side)), axis=0) / np.diff(side)[:, None], axis=0) for side in (x[: m + 1], x[m:])
        )
        shape = np.concatenate([block_diag(-convex, concave), -np.diff(np.eye(n + 1), axis=0)])
        below, above = np.delete(np.arange(n + 1), m), np.delete(np.arange(n + 1), m + 1)
        band = np.concatenate([np.eye(n + 1)[above], -np.eye(n + 1)[below]])
        rows = np.block([[shape, np.zeros((len(shape), 1))], [band, -np.ones((2 * n, 1))]])
        ends = np.concatenate([np.zeros(len(shape)), np.arange(n) / n, -np.arange(1, n + 1) / n])
        found = linprog(np.eye(n + 2)[-1], rows, ends, bounds=(0, 1))
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
