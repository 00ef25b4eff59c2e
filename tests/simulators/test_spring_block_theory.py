"""The closed forms against definitions, limits and one another."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from deepmech import over
from deepmech.simulators.spring_block import (
    Chain,
    averaged_friction_force,
    effective_friction,
    elastic_energy,
    equilibrium,
    friction,
)

strength = st.floats(0.0, 1.0)
positive = st.floats(0.05, 2.0)


@given(st.integers(1, 12), st.floats(0, 2), positive, positive)
def test_equilibrium_is_where_every_block_balances(n_blocks, mu, k, y):
    """The definition, not the derivation: moved blocks feel exactly μ→, unmoved ones at most that."""
    x = equilibrium(Chain(n_blocks=n_blocks, friction_right=mu, stiffness=k, target=y, noise=0.0)).position.values
    assert x[0] == 0 and x[-1] == pytest.approx(y)
    force = k * (x[2:] - 2 * x[1:-1] + x[:-2])
    scale = 1e-9 * (1 + mu + k * y)
    moved = x[1:-1] > 1e-9
    assert np.all(np.diff(x) >= -1e-12)
    assert np.allclose(force[moved], mu, atol=scale)
    assert np.all(force[~moved] <= mu + scale)


@given(st.integers(1, 12), st.floats(0.01, 0.99), positive, positive)
def test_equation_7_where_it_holds_and_not_beyond(n_blocks, fraction, k, y):
    limit = 2 * k * y / (n_blocks * (n_blocks + 1))
    ell = np.arange(1, n_blocks + 1)

    def eq7(mu):
        return y * ell / (n_blocks + 1) - mu / k * (n_blocks * ell / 2 - ell * (ell - 1) / 2)

    def ours(mu):
        return equilibrium(Chain(n_blocks=n_blocks, friction_right=mu, stiffness=k, target=y, noise=0.0))

    below, above = ours(fraction * limit), ours(limit * (1 + fraction))
    assert np.allclose(below.position.values[1:-1], eq7(fraction * limit), atol=1e-12 * (1 + y))
    assert below.n_moving == n_blocks
    assert above.n_moving < n_blocks
    assert eq7(limit * (1 + fraction))[0] < 0  # Eq. 7 puts the first block behind the wall


@given(st.floats(-0.5, 0.5), strength, strength, st.floats(0.01, 1.0))
def test_averages_over_the_noise_are_their_integrals(z, right, left, bar):
    kinks = [v for v in ((right - z) / bar, (-left - z) / bar) if abs(v) < 12]

    def mean(f):
        return quad(lambda u: f(u) * norm.pdf(u), -12, 12, points=kinks or None, limit=400)[0]

    expected = mean(lambda u: friction(z + bar * u, right, left))
    assert float(averaged_friction_force(z, right, left, bar)) == pytest.approx(expected, abs=1e-7)
    moves = norm.sf((right - z) / bar) + norm.cdf((-left - z) / bar)
    assume(moves > 1e-3)
    assert float(effective_friction(z, right, left, bar)) == pytest.approx(z - expected / moves, abs=1e-4)


@given(strength, strength, st.floats(0.001, 10))
def test_balance_of_the_frictions_holds_at_any_unbounded_noise(right, left, bar):
    """Eq. 8 without its limit: E σ vanishes at (μ→ − μ←)/2, and only there."""
    z = (right - left) / 2
    assert abs(float(averaged_friction_force(z, right, left, bar))) < 1e-14 * (1 + bar)
    d = 0.5 * bar
    assert averaged_friction_force(z + d + right + left, right, left, bar) > 0
    assert averaged_friction_force(z - d - right - left, right, left, bar) < 0


@given(strength, strength, st.floats(0, 1))
def test_effective_friction_never_rises_with_noise(right, left, position):
    """For (μ→ − μ←)/2 ≤ kΔd ≤ μ→, as the paper claims."""
    z = (right - left) / 2 + position * (right + left) / 2
    bar = np.geomspace(0.02, 50, 300)
    mu = effective_friction(z, right, left, bar)
    known = mu[np.isfinite(mu)]
    assert np.all(np.diff(known) <= 1e-9 * (1 + np.abs(known[1:])))


def test_effective_friction_limits_and_the_printed_sign():
    right, left = 0.1, 0.3
    assert float(effective_friction(right, right, left, 1e-9)) == pytest.approx(right, abs=1e-8)
    assert float(effective_friction(0.02, right, left, 1e7)) == pytest.approx((right - left) / 2, abs=1e-6)
    # As printed (σ − kΔd) both limits would have the other sign.
    assert float(-effective_friction(0.02, right, left, 1e7)) == pytest.approx((left - right) / 2, abs=1e-6)
    assert np.isnan(effective_friction(0.05, right, left, 0.0))


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=9), positive)
def test_equal_spacing_has_the_least_energy(steps, k):
    x = np.concatenate([[0], np.cumsum(steps)])
    even = np.linspace(0, x[-1], len(x))
    as_array = lambda v: over("block", np.arange(len(x)).astype(float)).copy(data=v)  # noqa: E731
    assert elastic_energy(as_array(even), k) <= elastic_energy(as_array(x), k) * (1 + 1e-12)


def test_friction_law_values():
    z = np.array([-0.5, -0.2, -0.1, 0.0, 0.1, 0.4])
    assert np.allclose(friction(z, 0.1, 0.2), [-0.3, 0, 0, 0, 0, 0.3])
