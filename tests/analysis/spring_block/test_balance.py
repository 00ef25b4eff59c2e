"""The balanced dropout on rows whose springs are known: what is fitted, read off, foretold and scored."""

import numpy as np
import pytest
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.spring_block import balance
from deepmech_book.sweeps.spring_block import balance as sweeps

DROPOUTS = np.array([0.0, 0.05, 0.1, 0.2])


def rows(friction, width, depth, per_odds=1.0, drop=4.0, deepest=12):
    """Rows whose springs grow by ``friction`` less what dropout takes off, as the law says."""
    odds = DROPOUTS / (1 - DROPOUTS)
    load = np.full((len(friction), len(DROPOUTS), deepest), np.nan)
    for j, (mu, w, n) in enumerate(zip(friction, width, depth, strict=True)):
        spring = np.arange(n - 1) - (n - 2) / 2
        stretch = drop / (n - 1) + (mu - per_odds * odds * 100 / w)[:, None] * spring
        load[j, :, 0], load[j, :, 1:n] = drop, drop - np.cumsum(stretch, -1)
    coords = {"row": range(len(friction)), "dropout": DROPOUTS}
    return xr.Dataset({"load_curve": (("row", "dropout", "layer"), load), "width": ("row", list(width))}, coords)


def calibrated():
    return balance.Calibration.of(rows([0.1], [100], [8]).load_curve.isel(row=0).dropna("layer"), 100)


def test_friction_of_a_chain_at_rest_is_found_whatever_its_target():
    from deepmech.simulators.spring_block import Chain, equilibrium

    for target in (1.0, 5.0):
        rest = equilibrium(Chain(n_blocks=6, friction_right=0.03, target=target, noise=0.0))
        found = balance.quiet_friction(rest.load_curve.values)
        assert found.value == pytest.approx(0.03) and found.high - found.low < 1e-7


def test_a_law_that_is_true_foretells_every_balance_at_every_width_and_depth():
    true = rows([0.02, 0.08, 0.05, 0.1], [100, 50, 200, 60], [6, 11, 8, 12])
    came, said = balance.measured(true), balance.foretold(true, calibrated())
    errors = balance.errors(came, said)
    assert errors.sel(kind="chain").max() < 2e-3  # read between dropouts
    assert errors.sel(kind="curvature").max() > 0.03 and errors.sel(kind="chain without width").max() > 0.03
    assert balance.signs(came, said).sel(kind="chain").min() == 1
    assert balance.ranks(came, said).sel(kind="chain") > 0.99
    assert (said.low <= said.balance.sel(kind="chain") + 1e-9).all()


def test_rows_that_are_never_concave_have_no_balance_and_those_always_concave_the_last_dropout():
    never, always = rows([-0.02, 0.9, 0.8], [100] * 3, [8] * 3), DROPOUTS[-1]
    came = balance.measured(never)
    assert np.isnan(came.balance[0]) and came.balance[1] == always
    assert list(balance.errors(came, balance.foretold(never, calibrated())).row) == [1, 2]


def test_the_mean_of_other_rows_knows_nothing_of_the_row():
    one, other = rows([0.02, 0.08, 0.05], [100] * 3, [8] * 3), rows([0.1, 0.08, 0.05], [100] * 3, [8] * 3)
    first, second = (balance.foretold(r, calibrated()).sel(kind="other rows").isel(row=0) for r in (one, other))
    xr.testing.assert_allclose(first.balance, second.balance)
    xr.testing.assert_allclose(first.bend, second.bend)


def test_bends_are_the_curvature_of_evenly_growing_springs():
    curve = np.array([6.0, 5.0, 3.0, 0.0])
    assert balance.bend_of(np.array([1.0]), 6.0, 3) == pytest.approx(curvature(curve))


def test_judges_have_a_row_and_a_seed_for_each_combination():
    both = [sweeps.judges(name) for name in sweeps.DATASETS]
    seeds = np.concatenate([one.cells["seed"].values for one in both])
    assert list(seeds) == list(range(200, 216)) and all(one.fixed["deepest"] == 11 for one in both)


def test_networks_of_unlike_depth_stand_in_one_result(tmp_path):
    from deepmech.core.labels import over
    from deepmech.sweeps import Sweep, run

    like = over("row", [0, 1])
    cells = {"slope": like.copy(data=[0.0, 0.5]), "depth": like.copy(data=[4, 5]), "width": like.copy(data=[8, 12])}
    cells |= {"seed": like + 3, "dropout": over("dropout", [0.0, 0.1])}
    fixed = {"data": {"name": "digits", "n_train": 200}, "epochs": 2, "deepest": 5}
    made = run(Sweep("doc", "spring_block.balance", cells, fixed), tmp_path, progress=False)
    assert np.isfinite(made.load_curve).sum("layer").isel(dropout=0).values.tolist() == [4, 5]
    assert not made.diverged.any() and made.load_curve.dtype == np.float32
