"""The paper's settings of chains: what their diagrams show, and the mean step in elongation."""

from dataclasses import replace

import numpy as np
import pytest

from deepmech import curvature, simulate
from deepmech.simulators.spring_block import equilibrium
from deepmech_book.spring_block import chains


@pytest.mark.parametrize("figure", chains.DIAGRAMS)
def test_phase_diagrams_have_the_three_phases(figure):
    setting = chains.DIAGRAMS[figure]
    how = {"t_end": setting.t_end, "order": setting.order, "noise_decay": setting.noise_decay}
    run = simulate(setting.chain(n_friction=5, n_noise=4), n_runs=8, **how)
    bend = curvature(run["load_curve"], dim="block").mean("run")
    weak = bend.isel(friction_right=1)
    assert weak[0] > 0 > weak[-1]  # concave without noise, convex with it, where μ← > μ→
    assert bend.isel(friction_right=-1).min() > 0  # never convex where μ→ > μ←
    assert float(run.elastic_energy.mean("run").min()) >= setting.stiffness / 16 * (1 - 1e-9)
    assert setting.friction_range > setting.friction_left


def test_the_corner_of_a_diagram_is_a_part_of_it():
    setting = chains.DIAGRAMS["A.S14"]
    whole, corner = setting.chain(9, 6), setting.corner(9, 6)
    assert corner.noise.values.tolist() == [setting.noise_range]
    assert corner.friction_right.values.tolist() == [mu for mu in whole.friction_right.values if mu < 0.016]


def test_the_mean_step_of_a_chain_whose_springs_grow_evenly():
    chain = replace(chains.DIAGRAMS["A.3"].chain(2, 2), noise=0.0, friction_right=0.02)
    assert float(chains.mean_step(equilibrium(chain).position)) == pytest.approx(0.02)
    assert np.isclose(chains.DIAGRAMS["A.S13"].noises(3)[1], 0.04)  # a quarter: steps widen
