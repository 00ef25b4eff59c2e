"""The chain's experiments: the paper's settings, and the laws their figures rest on."""

import numpy as np
import pytest

from deepmech_book.experiments.spring_block import chains


@pytest.mark.parametrize("figure", chains.DIAGRAMS)
def test_phase_diagrams_have_the_three_phases(figure):
    d = chains.phase_diagram(figure, n_friction=5, n_noise=4, n_runs=8)
    assert dict(d["load_curve"].sizes) == {"friction_right": 5, "noise": 4, "block": 9}
    weak = d.curvature.isel(friction_right=1)
    assert weak[0] > 0 > weak[-1]  # concave without noise, convex with it, where μ← > μ→
    assert d.curvature.isel(friction_right=-1).min() > 0  # never convex where μ→ > μ←
    setting = chains.DIAGRAMS[figure]
    even = setting.stiffness / 16
    assert float(d.elastic_energy.min()) >= even * (1 - 1e-9)
    assert setting.friction_range > setting.friction_left


def test_the_averaged_boundary_is_where_simulated_curves_are_straight():
    noise, mu = chains.averaged_boundary(n_friction=6, n_noise=41)
    assert np.all(np.diff(noise) > 0)
    d = chains.phase_diagram("A.3", n_friction=51, n_noise=41, n_runs=10)
    for e, m in zip(noise, mu, strict=True):
        assert abs(float(d.curvature.interp(noise=e, friction_right=m))) < 0.02


def test_step_dependence_matches_the_known_values():
    """Values found independently for ε = 0.01, μ = (0.04, 0.12): −0.008, −0.035, −0.040, and about −0.04 at fixed ε̄."""
    d = chains.step_over_time_step([0.1, 0.03, 0.01], n_runs=200)
    np.testing.assert_allclose(d.fixed_noise, [-0.008, -0.035, -0.040], atol=0.001)
    assert float(np.ptp(d.fixed_noise_bar.values)) < 0.002


def test_closed_form_with_stuck_blocks_and_where_equation_7_fails():
    rest = chains.rest_positions([0.02, 0.11])
    assert float(abs(rest.simulated - rest.closed_form).max()) < 1e-6
    assert rest.n_moving.values.tolist() == [7, 3]
    off = abs(rest.simulated - rest.eq7).max("block").values
    assert off[0] < 1e-6 and off[1] > 0.1
    assert float(rest.leftward) == 0.0
