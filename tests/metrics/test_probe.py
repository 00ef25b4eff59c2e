"""The error of a linear probe: closed forms, invariance under affine maps, and what chance alone achieves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.metrics.separation import probe_error


def normal(name, *shape):
    return Stream.of("probe tests", name).normal("x", 0, shape)


def test_one_feature_leaves_what_its_correlation_leaves():
    """RMSE² = Var(y) (1 − r²)."""
    x, e = normal("x", 50), normal("e", 50)
    y = 3 + 2 * x + e
    r = np.corrcoef(x, y)[0, 1]
    assert probe_error(x[:, None], y) == pytest.approx(np.std(y) * np.sqrt(1 - r**2), rel=1e-12)


def test_agrees_with_least_squares_and_sees_an_exact_relation():
    x, y = normal("x", 60, 7), normal("y", 60)
    design = np.column_stack([x, np.ones(60)])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert probe_error(x, y) == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-12)
    assert probe_error(x, x @ np.arange(7) - 4) < 1e-12


@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.01, 100), st.floats(-50, 50))
def test_does_not_change_under_invertible_affine_maps(seed, d, scale, shift):
    x, y = normal(f"x {seed}", 30, d), normal(f"y {seed}", 30)
    rotation = np.linalg.qr(normal(f"map {seed}", d, d))[0]
    mapped = scale * x @ (rotation * np.linspace(1, 3, d)) + shift
    assert probe_error(mapped, y) == pytest.approx(probe_error(x, y), rel=1e-9)


@given(st.integers(0, 10_000), st.floats(-3, 3), st.floats(0.1, 10))
def test_follows_the_units_of_the_target(seed, shift, scale):
    x, y = normal(f"x {seed}", 20, 3), normal(f"y {seed}", 20)
    assert probe_error(x, scale * y + shift) == pytest.approx(scale * probe_error(x, y), rel=1e-9)


def test_another_feature_never_hurts_and_chance_alone_fits():
    n, d, runs = 80, 20, 200
    x = normal("many", runs, n, d)
    y = normal("target", n)
    errors = np.array([[probe_error(one[:, :k], y) for one in x] for k in range(1, d + 1)])
    assert np.all(np.diff(errors, axis=0) <= 1e-12)
    left = np.mean(errors[-1] ** 2) / np.var(y)
    assert left == pytest.approx(1 - d / (n - 1), abs=4 * np.std(errors[-1] ** 2 / np.var(y)) / np.sqrt(runs))


def test_more_features_than_samples_fit_anything():
    assert probe_error(normal("wide", 10, 12), normal("y", 10)) < 1e-12


def test_copies_and_dead_units_carry_nothing_also_in_single_precision():
    x, y = normal("x", 100, 4).astype(np.float32), normal("y", 100)
    copies = x @ normal("mix", 4, 30).astype(np.float32)
    dead = np.full((100, 2), np.float32(0.1))
    alone = probe_error(x, y)
    assert probe_error(np.hstack([x, copies, dead]), y) == pytest.approx(alone, rel=1e-5)
    assert probe_error(dead, y) == pytest.approx(np.std(y))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="shape"):
        probe_error(np.zeros((5, 2)), np.zeros(4))
    with pytest.raises(ValueError, match="finite"):
        probe_error(np.full((5, 2), np.nan), np.zeros(5))
