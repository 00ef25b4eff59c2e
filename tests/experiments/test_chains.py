"""The paper's settings of chains, and the law that Fig. 3's dashed line rests on."""

from dataclasses import replace

import numpy as np
import pytest

from deepmech import curvature, over, simulate
from deepmech.core.estimates import crossing
from deepmech.simulators.spring_block import averaged, equilibrium
from deepmech_book.experiments.spring_block import chains


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


def test_the_averaged_chain_is_straight_where_simulated_curves_are():
    chain = chains.DIAGRAMS["A.3"].chain(n_friction=6, n_noise=41)
    chain = replace(chain, friction_right=chain.friction_right[1:4])  # 0.05 to 0.15
    bend = curvature(simulate(chain, 100, n_runs=10)["load_curve"], dim="block").mean("run")
    fine = averaged(replace(chain, noise=None, noise_bar=chain.noise_bar_at(0.01)), 100, dt=0.25)
    for row, exact in zip(bend, curvature(fine["load_curve"], dim="block"), strict=True):
        straight = crossing(chain.noise.values, exact.values, way="falls")
        assert abs(float(row.interp(noise=straight))) < 0.02


def test_equation_7_holds_while_every_block_moves():
    chain = replace(chains.DIAGRAMS["A.3"].chain(2, 2), noise=0.0, friction_right=over("mu", [0.02, 0.11]))
    off = abs(equilibrium(chain).position - chains.equation_7(chain)).max("block").values
    assert off[0] < 1e-12 and off[1] > 0.1


def test_the_mean_step_of_a_chain_whose_springs_grow_evenly():
    chain = replace(chains.DIAGRAMS["A.3"].chain(2, 2), noise=0.0, friction_right=0.02)
    assert float(chains.mean_step(equilibrium(chain).position)) == pytest.approx(0.02)
    assert np.isclose(chains.DIAGRAMS["A.S13"].noises(3)[1], 0.04)  # a quarter: steps widen
