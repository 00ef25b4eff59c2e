"""What a phase diagram of networks says: known answers on made-up diagrams."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from deepmech.core.estimates import estimate
from deepmech.sweeps import run
from deepmech_book.analysis.spring_block import summaries, tuning
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram
from deepmech_book.sweeps.spring_block import networks

NOISE, SLOPE = np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.0, 0.5, 1.0])
#: Curvature falls linearly with noise and slope.
BEND = 0.26 - NOISE - 0.31 * SLOPE[:, None]


def diagram(bend, accuracy, name="dropout", values=None, n=10) -> xr.Dataset:
    dims = ("slope", name)
    coords = {"slope": SLOPE[: len(bend)], name: np.arange(bend.shape[1]) / 10 if values is None else values}
    return xr.Dataset({"curvature": (dims, bend), "accuracy": (dims, accuracy)}, coords).expand_dims(seed=n)


@pytest.mark.parametrize(("name", "values"), [("dropout", NOISE), ("batch_size", [400, 300, 200, 100])])
def test_numbers_of_an_ideal_diagram(name, values):
    found = NetworkDiagram(diagram(BEND, 1 - np.abs(BEND), name, values))
    assert found.bends_with_noise.value.values.tolist() == pytest.approx([-1] * 3)
    assert found.bends_with_slope.value.values.tolist() == pytest.approx([-1] * 4)
    assert found.lazy_corner.value == pytest.approx(0.26)
    assert found.noisiest.value.values == pytest.approx(BEND[:, -1])
    assert found.falls.value == found.falls_in_rows.value == pytest.approx(-1)
    assert found.straightest.value == pytest.approx(0, abs=0.02)
    best = {"slope": 0.5, name: values[1], "accuracy": 0.995, "curvature": 0.005}
    assert found.best_cell == pytest.approx(best)
    assert found.best_curvature.value == pytest.approx(0.005)
    assert found.falls_in_rows.null > found.falls_in_rows.value
    told = found.summary()
    assert float(told["its curvature"].split()[0]) == pytest.approx(0.005, abs=0.0051)
    assert told["its cell"] == f"α = 0.5, {name.replace('_', ' ')} {values[1]:g}"


def test_a_bend_that_tells_accuracy_beats_a_loss_that_does_not_and_the_other_way_round():
    noise = np.random.default_rng(1).normal(size=BEND.shape)
    made, other = diagram(BEND, 1 - np.abs(BEND)), diagram(noise, 1 - np.abs(BEND))
    made = made.assign(loss=made["curvature"].copy(data=made["curvature"] * 0 + noise))
    other = other.assign(loss=1 - other["accuracy"])
    told = summaries.against_rivals({"a_bend": made, "loss": other})
    assert told.loc["a bend"].tolist() == ["yes", "yes", "yes", "yes"]
    assert told.loc["loss"].tolist()[:2] == ["no", "no"]


@pytest.mark.parametrize("straight", [-0.1, 0.0, 0.12])
def test_the_curvature_of_best_accuracy_is_found_wherever_it_is(straight):
    found = NetworkDiagram(diagram(BEND, 1 - abs(BEND - straight))).straightest
    assert found.value == pytest.approx(straight, abs=0.02) and found.is_finite


def test_the_rival_knows_the_other_rows_only_and_wins_where_all_rows_are_alike():
    noise = np.arange(5.0)
    peaked = np.tile(1 - abs(noise - 2) / 10 - noise / 1000, (3, 1))
    wild = np.random.default_rng(0).normal(size=(3, 5))
    rival = NetworkDiagram(diagram(wild, peaked)).falls_in_rows.null
    assert rival == pytest.approx(-0.95, abs=0.03)  # pairs at one distance are ties
    # What a row itself says does not reach its rival.
    alone = peaked.copy()
    alone[0] = 0.5 + 0.001 * noise
    assert NetworkDiagram(diagram(wild, alone)).falls_in_rows.null == pytest.approx(2 / 3 * rival, abs=0.01)


def test_the_rival_follows_a_best_column_that_tilts():
    noise, best = np.arange(7.0), np.array([1.0, 3.0, 5.0])[:, None]
    tilted = 1 - abs(noise - best) / 10 - noise / 1000
    wild = np.random.default_rng(0).normal(size=(3, 7))
    assert NetworkDiagram(diagram(wild, tilted)).falls_in_rows.null < -0.9


def test_the_best_bent_cell_is_judged_by_seeds_that_did_not_choose_it():
    made = diagram(BEND, 1 - abs(BEND))
    bent = np.where(abs(BEND) > summaries.STRAIGHT, abs(BEND), np.inf).min()
    assert NetworkDiagram(made).bent_gains.value == pytest.approx(100 * (abs(BEND).min() - bent))
    # Where accuracy is chance, a choice by the judging seeds themselves would find a gain among the many bent cells.
    chance = np.random.default_rng(1).normal(size=(400, *made["accuracy"].isel(seed=0).shape))
    many = made.isel(seed=0).expand_dims(seed=400)
    low, high = NetworkDiagram(many.assign(accuracy=(many["accuracy"].dims, chance))).bent_gains.interval
    assert low < 0 < high


def test_a_cell_with_a_network_that_diverged_has_no_numbers_and_is_counted():
    accuracy = 1 - abs(BEND)
    assert "cells left out" not in summaries.table({"a": diagram(BEND, accuracy)}).index
    made = diagram(BEND, accuracy).copy(deep=True)
    made["accuracy"] = made["accuracy"].where(~((made.seed == 0) & (made.dropout > 0.15) & (made.slope == 0)))
    found = NetworkDiagram(made)
    assert found.left_out == 2 and found.falls.value == pytest.approx(-1)
    assert summaries.table({"a": made}).loc["cells left out", "a"] == "2"


@pytest.mark.parametrize("n", [1, 2, 9])
def test_too_few_seeds_have_no_interval(n):
    made = diagram(BEND, 1 - abs(BEND), n=n)
    assert f"too few runs for an interval: {n}," in NetworkDiagram(made).falls.reason
    assert "[" not in summaries.table({"few": made}).loc["rank correlation of accuracy with |curvature|", "few"]


def test_ranks_along_one_dimension_for_every_value_of_the_others():
    a = xr.DataArray([[1.0, 2.0, 3.0]] * 3, {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.1, 0.2]})
    b = a.copy(data=[[1.0, 4.0, 9.0], [3.0, 2.0, 1.0], [5.0, 5.0, 5.0]]).transpose()
    assert summaries.rank_along("dropout", a, b).values.tolist() == pytest.approx([1.0, -1.0, 0.0])
    assert summaries.rank_along("dropout", a["dropout"], b).values.tolist() == pytest.approx([1.0, -1.0, 0.0])


def test_two_looks_widen_an_interval_as_half_the_error_does():
    runs = np.random.default_rng(0).normal(size=10)
    one = estimate(runs, scatter="symmetric")
    reach = student.ppf(0.9875, 9) * runs.std(ddof=1) / np.sqrt(10)
    np.testing.assert_allclose(summaries.wider(one, looks=2).interval, (runs.mean() - reach, runs.mean() + reach))
    np.testing.assert_allclose(summaries.wider(one, looks=1).interval, one.interval)


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
    assert one.is_finite and one.low < one.value < one.high
    assert (one.value, one.low, one.high) == pytest.approx((both.value, both.low, both.high))
    assert one.value == pytest.approx(100 * (tuning.regrets(made, made["rule"]) - tuning.regrets(made, None)).mean())
    few = tuning.mean_regret([made.isel(seed=[0, 1, 2])], "rule")
    assert few.reason.startswith("too few runs for an interval: 3")


def test_regrets_by_rule_are_those_of_each_rule_over_each_group():
    """Ten alike seeds of a row whose three cells are worth 0.9, 0.6 and 0.3."""
    worth = np.tile(np.array([0.9, 0.6, 0.3])[None, :, None], (1, 1, 10))
    picks = {tuning.STRAIGHT: worth, tuning.VALIDATION: worth, tuning.LOSS: -worth, tuning.CARRIED: -abs(worth - 0.6)}
    one = made_up(worth, **picks)
    other = one.assign({tuning.STRAIGHT: one[tuning.LOSS]})
    found = tuning.by_rule({"one": [one], "both": [one, other]})
    assert found.value.dims == ("data", "rule") and list(found.value.rule) == list(tuning.RULES)
    np.testing.assert_allclose(found.value.sel(data="one", rule=[*picks, tuning.BLIND]), [0, 0, 60, 30, 30], atol=1e-9)
    assert float(found.value.sel(data="both", rule=tuning.STRAIGHT)) == pytest.approx(30)
    np.testing.assert_allclose(found.high - found.low, 0, atol=1e-9)


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
    part = networks.with_validation("dropout", "digits", **short, training={"epochs": 40})
    accuracy = run(part)["accuracy_validation"]
    # 200 of the 1,000 digits are held out.
    np.testing.assert_allclose((accuracy * 200) % 1, 0, atol=1e-9)
    assert part.grid.shape == networks.figure_1("dropout", "digits", **short).grid.shape
    assert float(accuracy.min()) > 0.5
