"""Displacements in a quadratic landscape: steps that are taken, closed forms, limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.simulators.brownian import free_overlap
from deepmech.simulators.harmonic import Displacement, QuadraticLandscape

RATE, D = 0.05, 2e-4


def bowl(seed=0, n=5, least=0.0):
    """Gradient and curvature of n weights; the flattest direction has the curvature ``least``."""
    stream = Stream.of("harmonic", seed)
    axes = np.linalg.qr(stream.normal("axes", 0, (n, n)))[0]
    values = np.linspace(least, 8.0, n)
    return stream.normal("gradient", 0, n), axes * values @ axes.T


def taken(gradient, matrix, waited, steps, draws=4000):
    """Displacements of many walks, step by step: (draws, N)."""
    stream = Stream.of("harmonic", "walks")
    w, start = np.zeros((draws, len(gradient))), None
    for i in range(waited + steps):
        if i == waited:
            start = w.copy()
        w = w - RATE * (gradient + w @ matrix) + np.sqrt(2 * D) * stream.normal("noise", i, w.shape)
    return w - start


@pytest.mark.parametrize("waited", [0, 7])
@pytest.mark.parametrize("least", [0.0, -0.5, 0.3])
def test_mean_and_variance_are_those_of_steps_that_are_taken(waited, least):
    gradient, matrix = bowl(least=least)
    moved = taken(gradient, matrix, waited, 12)
    told = QuadraticLandscape.around(gradient, matrix).displacement(
        [12], learning_rate=RATE, diffusion=D, waited=waited
    )
    se = np.sqrt(told.variance[0] / len(moved))
    assert np.all(np.abs(moved.mean(0) - told.mean[0]) < 5 * se)
    assert np.allclose(moved.var(0), told.variance[0], rtol=0.12)
    overlap = (np.abs(moved) < 0.05).mean()
    assert told.overlap(0.05)[0] == pytest.approx(overlap, abs=0.02)


def test_without_noise_the_mean_is_exactly_where_steps_lead():
    gradient, matrix = bowl(3)
    landscape, w = QuadraticLandscape.around(gradient, matrix), np.zeros(5)
    path = [w]
    for _ in range(30):
        w = w - RATE * (gradient + matrix @ w)
        path.append(w)
    told = landscape.displacement(range(21), learning_rate=RATE, diffusion=0.0, waited=9)
    assert np.allclose(told.mean, np.array(path[9:30]) - path[9], atol=1e-12) and not told.variance.any()
    # A look later, at the gradient and curvature there, tells the same.
    later = QuadraticLandscape.around(gradient + matrix @ path[4], matrix)
    again = later.displacement(range(21), learning_rate=RATE, diffusion=0.0, waited=9, since=4)
    assert np.allclose(again.mean, told.mean, atol=1e-12)


def test_a_flat_landscape_is_a_free_walk_and_a_bowl_settles_at_its_temperature():
    flat = QuadraticLandscape.around(np.zeros(4), np.zeros((4, 4)))
    times = np.array([1, 10, 1000])
    told = flat.displacement(times, learning_rate=RATE, diffusion=D, waited=50)
    assert np.allclose(told.overlap(0.1), free_overlap(times, 0.1, D), atol=1e-12)
    assert np.allclose(told.msd, 2 * D * times) and np.allclose(told.non_gaussian, 0, atol=1e-12)
    late = QuadraticLandscape.around(np.zeros(4), 2 * np.eye(4)).displacement(
        [10**6], learning_rate=1e-3, diffusion=D, waited=10**6
    )
    assert np.allclose(late.variance, 2 * D / 1e-3 / 2, rtol=2e-3)  # twice T/k: both ends fluctuate


@given(st.integers(0, 50), st.integers(0, 30))
def test_turning_the_axes_of_weights_changes_no_mean_square(seed, waited):
    gradient, matrix = bowl(seed)
    turn = np.linalg.qr(Stream.of("turn", seed).normal("axes", 0, (5, 5)))[0]
    one, other = (
        QuadraticLandscape.around(g, m).displacement([5, 50], learning_rate=RATE, diffusion=D, waited=waited)
        for g, m in ((gradient, matrix), (turn @ gradient, turn @ matrix @ turn.T))
    )
    assert np.allclose(one.msd, other.msd, rtol=1e-8)


def test_overlap_counts_weights_without_spread_by_where_they_are():
    assert Displacement(np.array([0.5, -0.5, 2.0, 1.0]), np.zeros(4)).overlap(1.0) == 0.5


@pytest.mark.parametrize(
    ("gradient", "matrix"),
    [([0.0, 1.0], [[1.0]]), ([np.nan], [[1.0]]), ([0.0, 0.0], [[1.0, 2.0], [0.0, 1.0]]), ([0.0], [[np.inf]])],
)
def test_what_is_no_landscape_is_refused_by_name(gradient, matrix):
    with pytest.raises(ValueError, match=r"QuadraticLandscape: (gradient|curvature)"):
        QuadraticLandscape.around(gradient, matrix)


def test_a_look_cannot_be_later_than_the_wait():
    with pytest.raises(ValueError, match="since"):
        QuadraticLandscape.around([0.0], [[1.0]]).displacement([1], learning_rate=0.1, diffusion=0.0, waited=3, since=4)
