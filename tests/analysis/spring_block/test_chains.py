"""The paper's settings of chains, and the law that Fig. 3's dashed line rests on."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from deepmech import curvature, over, simulate
from deepmech.core.estimates import crossing
from deepmech.simulators.spring_block import Chain, averaged, equilibrium
from deepmech_book.analysis.spring_block import chain_fits, chains


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
        straight = crossing(chain.noise.values, exact.values, direction="falls")
        assert abs(float(row.interp(noise=straight))) < 0.02


def test_equation_7_holds_while_every_block_moves():
    chain = replace(chains.DIAGRAMS["A.3"].chain(2, 2), noise=0.0, friction_right=over("mu", [0.02, 0.11]))
    off = abs(equilibrium(chain).position - chains.equation_7(chain)).max("block").values
    assert off[0] < 1e-12 and off[1] > 0.1


def test_the_mean_step_of_a_chain_whose_springs_grow_evenly():
    chain = replace(chains.DIAGRAMS["A.3"].chain(2, 2), noise=0.0, friction_right=0.02)
    assert float(chains.mean_step(equilibrium(chain).position)) == pytest.approx(0.02)
    assert np.isclose(chains.DIAGRAMS["A.S13"].noises(3)[1], 0.04)  # a quarter: steps widen


def test_the_fit_foretells_a_chain_but_not_one_upside_down():
    chain = {name: values[3] for name, values in chain_fits.CHAINS.items()}
    run = averaged(Chain(n_blocks=5, **chain), 60.0, dt=0.5, record=np.arange(1.5, 60.1, 1.5))
    load = run["load_curve"].isel(block=slice(0, -1)).rename(block="layer", time="at_epoch")
    load = (3 * load - 2).expand_dims(regime=["made"], seed=2).assign_coords(at_epoch=np.arange(1, 41))
    fit = chain_fits.fitted_chains(load, n_rates=60)
    assert fit.r2.dims == ("regime", "seed") and (fit.r2 > 0.999).all()
    np.testing.assert_allclose(fit["load_curve"], load.transpose(*fit["load_curve"].dims), atol=0.1)
    upside_down = load.assign_coords(layer=load.layer.values[::-1]).sortby("layer")
    assert (chain_fits.fitted_chains(upside_down).r2 < 0.5).all()


def test_neither_fit_sees_the_epochs_that_judge_it():
    epoch = np.arange(1, 61)
    load = xr.DataArray(np.exp(-epoch / 20) * np.arange(3)[:, None], {"layer": [0, 1, 2], "at_epoch": epoch})
    other = load.where(load.at_epoch <= 40, 7.0 + load)
    fits = [chain_fits.fitted_chains(one) for one in (load, other)]
    xr.testing.assert_equal(fits[0].drop_vars("r2"), fits[1].drop_vars("r2"))
    assert chain_fits.relaxed(load)["r2"] > 0.99 > 0 > chain_fits.relaxed(other)["r2"]


def test_relaxation_explains_exponentials_of_one_time_and_nothing_else():
    epoch, layer = np.arange(1, 61), np.arange(4)[:, None]
    load = 1 - layer + 0.2 * layer**2 + (2 - layer) * np.exp(-epoch / 9)
    made = xr.DataArray(load[None], {"regime": ["made"], "layer": range(4), "at_epoch": epoch})
    assert chain_fits.relaxed(made)["r2"].item() == pytest.approx(1, abs=1e-3)
    wave = made.copy(data=np.broadcast_to(np.sin(epoch), made.shape))
    assert chain_fits.relaxed(wave)["r2"].item() < 0.2
