"""Linear separability decided exactly, the best common direction, and the frame of neural collapse."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.metrics.separability import etf_distance, linearly_separable, separable, separated_along


def points(*shape, key=0):
    return Stream.of("test separability", key, *shape).normal("x", 0, shape)


def test_two_points_on_a_ring_around_others_cannot_be_separated():
    """A point inside the hull of the others is never separable; moved out along any direction, it is."""
    for p in (1, 2, 3, 6):
        cloud = points(40, p)
        inside = cloud[: p + 1].mean(0, keepdims=True)
        assert not linearly_separable(inside, cloud)
        far = inside + 10 * np.abs(cloud).max() * points(1, p, key=1) / np.linalg.norm(points(1, p, key=1))
        assert linearly_separable(far, cloud)


@pytest.mark.filterwarnings("error")
def test_size_does_not_matter():
    """Products of numbers beyond 1e154 overflow."""
    for size in (1e-200, 1.0, 1e200):
        x, y = size * points(5, 3), size * (points(5, 3, key=1) + 9)
        assert linearly_separable(x, y) and not linearly_separable(np.concatenate([x, y]), y[1:] * 0.5 + y[:1] * 0.5)


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0, 2))
def test_in_the_plane_angles_say_what_the_linear_program_says(key, n, apart):
    """A third coordinate that is the same for all points changes nothing but the method."""
    x, y = points(n, 2, key=key), points(n, 2, key=key + 1) + apart
    flat = np.ones((n, 1))
    assert linearly_separable(x, y) == linearly_separable(np.hstack([x, flat]), np.hstack([y, flat]))
    assert not linearly_separable(np.vstack([x, y[:1]]), y)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(2, 8))
def test_the_answer_is_invariant_and_right_for_known_slabs(key, p, n):
    """Points on two sides of a known slab are separable; one point taken across the other class makes them not so."""
    x = points(2 * n, p, key=key)
    w = points(p, key=key + 1)
    w /= np.linalg.norm(w)
    height = np.concatenate([np.full(n, 1e-3), np.full(n, -1e-3)]) * (1 + np.abs(points(2 * n, key=key + 2)))
    x = x + (height - x @ w)[:, None] * w
    assert linearly_separable(x[:n], x[n:])
    shear = (
        np.linalg.qr(points(p, p, key=key + 3))[0] * np.geomspace(1, 30, p) @ np.linalg.qr(points(p, p, key=key + 4))[0]
    )
    assert linearly_separable(x[:n] @ shear + 5, x[n:] @ shear + 5)
    assert linearly_separable(1e6 * x[n:], 1e6 * x[:n])
    mixed = np.concatenate([x[:n], x[n:].mean(0, keepdims=True)])
    assert not linearly_separable(mixed, x[n:])


def test_few_points_in_many_dimensions_are_always_separable():
    """n + n points in general position: certain for 2n ≤ p + 1, and Cover's count (N = 4, p = 2) beyond."""
    for key in range(30):
        assert linearly_separable(*points(2, 3, 5, key=key))
    # Of 4 points in the plane, 3 ways to split them 2 + 2; one point inside the triangle of others: all 3 work.
    # Convex position: 2 of 3 work. So the number of separable splits is 3 minus whether they are convex.
    for key in range(30):
        x = points(4, 2, key=key)
        inside = any(not linearly_separable(x[i : i + 1], np.delete(x, i, 0)) for i in range(4))
        splits = sum(
            linearly_separable(x[list(pair)], np.delete(x, list(pair), 0)) for pair in combinations(range(4), 2)
        )
        assert splits == 2 * (3 if inside else 2)


def test_pairs_and_fixed_directions_agree_on_a_line():
    f = points(50, 3, 2, 1) + np.array([0.0, 1.0, 2.0])[:, None, None]
    assert (separable(f).values == separated_along(f, [1.0]).values).all()
    assert separable(f).pair.values.tolist() == ["0-1", "0-2", "1-2"]
    plane = points(20, 3, 4, 2)
    for nu in ([1.0, 0.0], [0.3, -0.9]):
        assert not (separated_along(plane, nu) & ~separable(plane)).any()


def simplex(k, p):
    return np.sqrt(k / (k - 1)) * np.pad(np.eye(k) - 1 / k, ((0, 0), (0, p - k)))


@given(st.integers(2, 6), st.floats(0.1, 10))
def test_only_the_simplex_is_at_distance_zero(k, scale):
    m = simplex(k, k) * scale * np.arange(1, k + 1)[:, None]  # lengths do not matter
    turn = np.linalg.qr(points(k, k, key=k))[0]
    assert etf_distance(m @ turn) < 1e-12
    if k > 2:
        flipped = m.copy()
        flipped[0] *= -1
        assert etf_distance(flipped) > 0.3
    assert etf_distance(np.eye(k)) == pytest.approx(
        1 / np.sqrt(k - 1) * np.sqrt((k - 1) / k) if k > 2 else np.sqrt(0.5)
    )


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match="must be finite"):
        linearly_separable([[np.nan]], [[0.0]])
    with pytest.raises(ValueError, match="no pair to separate"):
        separable(np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="expected 2 numbers, not all zero"):
        separated_along(np.zeros((2, 2, 2)), [0.0, 0.0])
