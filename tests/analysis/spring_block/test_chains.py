"""The paper's settings of chains, and the law that Fig. 3's dashed line rests on."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from deepmech import curvature, simulate
from deepmech.core.estimates import Estimate
from deepmech.simulators.spring_block import Chain, averaged, equilibrium
from deepmech_book.analysis.spring_block import chain_fits, chains, regimes


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


def test_neighbours_move_alike_as_far_as_their_steps_have_a_common_part():
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(2, 40, 200, 1)), rng.normal(size=(2, 40, 200, 5))
    step = np.array([1.0, 0.0])[:, None, None, None] * common + own
    load = xr.DataArray(step.cumsum(2) + np.arange(5), dims=("kind", "run", "time", "block"))
    load = load + 7 * load.time**2  # what all runs do tells nothing
    found = regimes.neighbours_alike(load.assign_coords(block=range(5)), "block", "time", "run")
    np.testing.assert_allclose(found, [0.5, 0.0], atol=0.02)


@pytest.mark.parametrize(("shape", "sign"), [("concave", 1), ("convex", -1)])
def test_a_curve_has_one_shape_at_any_bar(shape, sign):
    bent, between = Estimate(sign * 0.2, sign * 0.2 - 0.02, sign * 0.2 + 0.02), Estimate(0.04 * sign, 0.0, 0.0)
    assert regimes.inside(shape, bent).low > 0 > regimes.inside("straight", bent).high
    between = replace(between, low=between.value - 0.001, high=between.value + 0.001)
    for name in (shape, "straight"):
        found = regimes.inside(name, between)
        assert found.low < 0 < found.high, "what is straight by one bar and not by another"


def test_three_regimes_are_simulated_with_one_noise_with_many_and_without():
    run = regimes.simulated(n_runs=2, t_end=2.0, n_records=3)
    assert run.sizes["kind"] == run.sizes["regime"] == run.sizes["time"] == 3
    none, shared, own = (run.position.sel(kind=kind) for kind in ("none", "shared", "own"))
    xr.testing.assert_equal(none.isel(run=0, drop=True), none.isel(run=1, drop=True))
    assert (shared != own).any() and (shared.isel(run=0) != shared.isel(run=1)).any()


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


def test_the_table_of_fits_has_medians_over_seeds_by_regime():
    seeds = xr.DataArray([[0.1, 0.5, 0.75]], {"regime": ["made"], "seed": range(3)})
    fit = xr.Dataset(dict.fromkeys(["r2", *chain_fits.NUMBERS], seeds)).assign(time=100 * seeds)
    table = chain_fits.table(fit, xr.Dataset({"r2": seeds - 1}))
    assert table["made"].tolist() == [0.5, -0.5, 0.5, 0.5, 0.5, 50.0] and len(table.index) == len(fit) + 1


def test_relaxation_explains_exponentials_of_one_time_and_nothing_else():
    epoch, layer = np.arange(1, 61), np.arange(4)[:, None]
    load = 1 - layer + 0.2 * layer**2 + (2 - layer) * np.exp(-epoch / 9)
    made = xr.DataArray(load[None], {"regime": ["made"], "layer": range(4), "at_epoch": epoch})
    assert chain_fits.relaxed(made)["r2"].item() == pytest.approx(1, abs=1e-3)
    wave = made.copy(data=np.broadcast_to(np.sin(epoch), made.shape))
    assert chain_fits.relaxed(wave)["r2"].item() < 0.2
