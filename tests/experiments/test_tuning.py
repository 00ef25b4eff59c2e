"""What a way of choosing costs: known answers on made-up sweeps, and a real one on a tiny grid."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.sweeps import run
from deepmech_book.experiments.spring_block import networks, tuning

DIMS = ("slope", "dropout", "seed")


def made_up(accuracy, **scores):
    """A sweep over slope, dropout and seed from arrays of that shape."""
    coords = {d: np.arange(n) for d, n in zip(DIMS, np.shape(accuracy), strict=True)}
    return xr.Dataset({k: (DIMS, np.asarray(v, float)) for k, v in {"accuracy": accuracy, **scores}.items()}, coords)


cells = st.lists(st.floats(0, 1), min_size=6, max_size=6)


@given(cells)
def test_without_luck_a_rule_that_sees_accuracy_costs_nothing(values):
    """If all seeds agree, choosing by accuracy is free and choosing blindly costs the distance from best to mean."""
    made = made_up(np.repeat(np.reshape(values, (2, 3, 1)), 4, axis=2))
    np.testing.assert_allclose(tuning.regrets(made, made.accuracy), 0, atol=1e-12)
    np.testing.assert_allclose(tuning.regrets(made, made.accuracy.isel(seed=0)), 0, atol=1e-12)  # looks at no run
    np.testing.assert_allclose(tuning.regrets(made, -made.accuracy), max(values) - min(values), atol=1e-12)
    np.testing.assert_allclose(tuning.regrets(made, None), max(values) - np.mean(values), atol=1e-12)


def test_a_rule_is_not_paid_for_the_luck_of_the_run_it_saw():
    """One seed is lucky in a poor cell: the rule that sees it picks the cell and pays its worth in the other seeds."""
    accuracy = np.full((1, 2, 4), 0.5)
    accuracy[0, 1] = 0.2
    accuracy[0, 1, 0] = 1.0
    made = made_up(accuracy)
    assert tuning.regrets(made, made.accuracy)[0] == pytest.approx(0.3)


def test_an_interval_leaves_out_all_that_a_run_says():
    """Also the worth of the cells that others chose; and it needs ten runs."""
    accuracy, score = np.random.default_rng(0).uniform(size=(2, 2, 3, 10))
    made = made_up(accuracy, rule=score)
    both = tuning.mean_regret([made, made], "rule", "blindly")
    one = tuning.mean_regret([made], "rule", "blindly")
    assert one.known and one.low < one.value < one.high
    assert (one.value, one.low, one.high) == pytest.approx((both.value, both.low, both.high))
    assert one.value == pytest.approx(100 * (tuning.regrets(made, made["rule"]) - tuning.regrets(made, None)).mean())
    few = tuning.mean_regret([made.isel(seed=[0, 1, 2])], "rule")
    assert few.why.startswith("too few runs for an interval: 3")


def test_diverged_networks_are_not_chosen():
    accuracy = np.full((1, 2, 2), 0.5)
    accuracy[0, 1] = np.nan
    made = made_up(accuracy)
    assert (tuning.regrets(made, made.accuracy) == 0).all() and (tuning.regrets(made, None) > 0).all()


@settings(max_examples=10)
@given(st.permutations([0, 1, 2]))
def test_the_order_of_cells_and_dimensions_does_not_matter(order):
    values = np.arange(12.0).reshape(2, 3, 2) ** 2 % 7 / 7
    made = made_up(values, rule=values[::-1])
    other = made.isel(dropout=list(order)).transpose("seed", ...)
    np.testing.assert_allclose(tuning.regrets(made, made["rule"]), tuning.regrets(other, other["rule"]), atol=1e-12)


def test_networks_are_trained_on_the_first_samples_and_validated_on_the_others():
    short = {"values": [0.0, 0.2], "slopes": [0.0], "n_seeds": 2}
    part = tuning.validated("dropout", "digits", **short, training={"epochs": 40})
    accuracy = run(part)["accuracy_validation"]
    # 200 of the 1,000 digits are held out.
    np.testing.assert_allclose((accuracy * 200) % 1, 0, atol=1e-9)
    assert part.grid.shape == networks.figure_1("dropout", "digits", **short).grid.shape
    assert float(accuracy.min()) > 0.5
    with pytest.raises(ValueError, match="held_out"):
        tuning.validated(held_out=1.0)
