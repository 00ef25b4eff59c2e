"""What a way of choosing costs: known answers on made-up sweeps, and a real one on a tiny grid."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import networks, tuning


def made_up(accuracy, bend, loss, validation):
    """Sweeps over slope, dropout and seed from arrays of that shape."""
    dims = ("slope", "dropout", "seed")
    coords = {d: np.arange(n) for d, n in zip(dims, np.shape(accuracy), strict=True)}
    whole = {"accuracy": accuracy, "curvature": bend, "loss": loss}
    part = {"accuracy_validation": validation}
    return [xr.Dataset({k: (dims, np.asarray(v, float)) for k, v in one.items()}, coords) for one in (whole, part)]


cells = st.lists(st.floats(0, 1), min_size=6, max_size=6)


@given(cells)
def test_without_luck_a_rule_that_sees_accuracy_costs_nothing(values):
    """If all seeds agree, choosing by accuracy is free and choosing blindly costs the distance from best to mean."""
    accuracy = np.repeat(np.reshape(values, (2, 3, 1)), 4, axis=2)
    whole, part = made_up(accuracy, 1 - accuracy, accuracy, accuracy)
    regret = tuning.regrets(whole, part)["regret"]
    np.testing.assert_allclose(regret.sel(rule="validation split"), 0, atol=1e-12)
    np.testing.assert_allclose(regret.sel(rule="straightest load curve"), 0, atol=1e-12)
    np.testing.assert_allclose(regret.sel(rule="blindly"), max(values) - np.mean(values), atol=1e-12)
    np.testing.assert_allclose(regret.sel(rule="lowest training loss"), max(values) - min(values), atol=1e-12)


def test_a_rule_is_not_paid_for_the_luck_of_the_run_it_saw():
    """One seed is lucky in a poor cell: the rule that sees it picks the cell and pays its worth in the other seeds."""
    accuracy = np.full((1, 2, 4), 0.5)
    accuracy[0, 1] = 0.2
    accuracy[0, 1, 0] = 1.0
    whole, part = made_up(accuracy, accuracy, accuracy, accuracy)
    regret = tuning.regrets(whole, part)["regret"].sel(rule="validation split")
    assert float(regret.sel(seed=0)) == pytest.approx(0.3)


def test_an_interval_leaves_out_all_that_a_run_says():
    """Also the worth of the cells that others chose; and it needs ten runs."""
    values = np.random.default_rng(0).uniform(size=(4, 2, 3, 10))
    whole, part = made_up(*values)
    found = tuning.regrets(whole, part)
    for seed in (0, 7):
        fewer = [one.drop_sel(seed=seed) for one in (whole, part)]
        np.testing.assert_allclose(found["without"].sel(seed=seed), tuning.regrets(*fewer)["regret"].mean("seed"))
    mean = tuning.mean(found)
    assert mean.known and (mean.low < mean.value).all() and (mean.value < mean.high).all()
    few = tuning.regrets(*(one.isel(seed=[0, 1, 2]) for one in (whole, part)))
    assert tuning.mean(few).why.startswith("too few runs for an interval: 3")
    two = tuning.regrets(*(one.isel(seed=[0, 1]) for one in (whole, part)))
    assert np.isnan(two["without"]).all() and not tuning.mean(two).known


def test_diverged_networks_are_not_chosen():
    accuracy = np.full((1, 2, 2), 0.5)
    accuracy[0, 1] = np.nan
    whole, part = made_up(accuracy, accuracy, accuracy, accuracy)
    regret = tuning.regrets(whole, part)["regret"]
    assert (regret.sel(rule=list(tuning.RULES[:3])) == 0).all() and (regret.sel(rule="blindly") > 0).all()


@settings(max_examples=10)
@given(st.permutations([0, 1, 2]))
def test_the_order_of_cells_and_dimensions_does_not_matter(order):
    values = np.arange(12.0).reshape(2, 3, 2) ** 2 % 7 / 7
    whole, part = made_up(values, values[::-1], values[:, ::-1], values[:, :, ::-1])
    one = tuning.regrets(whole, part)["regret"]
    two = tuning.regrets(whole.isel(dropout=list(order)), part.isel(dropout=list(order)).transpose("seed", ...))[
        "regret"
    ]
    assert set(one.rule.values) == set(tuning.RULES)
    blind = {"rule": "blindly"}
    np.testing.assert_allclose(one.sel(blind), two.sel(blind), atol=1e-12)
    np.testing.assert_allclose(one.sel(rule="validation split"), two.sel(rule="validation split"), atol=1e-12)


def test_grids_must_agree_and_one_seed_is_not_enough():
    whole, part = made_up(*[np.zeros((1, 2, 2))] * 4)
    with pytest.raises(ValueError, match="different grids"):
        tuning.regrets(whole, part.isel(dropout=[1, 0]))
    with pytest.raises(ValueError, match="at least two"):
        tuning.regrets(whole.isel(seed=[0]), part.isel(seed=[0]))
    with pytest.raises(ValueError, match="held_out"):
        tuning.validated(held_out=1.0)


def test_networks_are_trained_on_the_first_samples_and_validated_on_the_others():
    short = {"values": [0.0, 0.2], "slopes": [0.0], "n_seeds": 2}
    part = tuning.validated("dropout", "digits", **short, training={"epochs": 40})
    result = run(part)
    accuracy = result["accuracy_validation"]
    # 200 of the 1,000 digits are held out.
    np.testing.assert_allclose((accuracy * 200) % 1, 0, atol=1e-9)
    assert part.grid.shape == networks.figure_1("dropout", "digits", **short).grid.shape
    assert float(accuracy.min()) > 0.5
