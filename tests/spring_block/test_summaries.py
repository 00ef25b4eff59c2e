"""What a phase diagram of networks says: known answers on made-up diagrams."""

import numpy as np
import pytest
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.metrics.curvature import curvature
from deepmech_book.spring_block import summaries
from deepmech_book.spring_block.experiments import TITLES
from deepmech_book.spring_block.summaries import NetworkDiagram

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
    assert found.bends().value.values.tolist() == pytest.approx([-1] * 3)
    assert found.bends("slope").value.values.tolist() == pytest.approx([-1] * 4)
    assert found.lazy_corner.value == pytest.approx(0.26)
    assert found.noisiest.value.values == pytest.approx(BEND[:, -1])
    in_rows = found.falls(in_rows=True)
    assert found.falls().value == in_rows.value == pytest.approx(-1) and in_rows.null > in_rows.value
    assert found.straightest.value == pytest.approx(0, abs=0.02)
    best = {"slope": 0.5, name: values[1], "accuracy": 0.995, "curvature": 0.005}
    assert found.best_cell == pytest.approx(best)
    assert found.best_curvature.value == pytest.approx(0.005)
    told = found.summary()
    assert float(told["its curvature"].split()[0]) == pytest.approx(0.005, abs=0.0051)
    assert told["its cell"] == f"α = 0.5, {name.replace('_', ' ')} {values[1]:g}"


def test_a_bend_that_tells_accuracy_beats_a_loss_that_does_not_and_the_other_way_round():
    noise = np.random.default_rng(1).normal(size=BEND.shape)
    made, other = diagram(BEND, 1 - np.abs(BEND)), diagram(noise, 1 - np.abs(BEND))
    made = made.assign(loss=made["curvature"].copy(data=made["curvature"] * 0 + noise))
    other = other.assign(loss=1 - other["accuracy"])
    made, other = made.assign(accuracy_train=-made["loss"]), other.assign(accuracy_train=-other["loss"])
    each = "is better in 1 of 2 (a bend), worse in 1 of 2 (loss)."
    words = f"Beside the training loss the bend {each} Beside the training accuracy the bend {each}"
    both = {"a_bend": made, "loss": other}
    assert all(summaries.accuracy_falls(both, rows).detail == words for rows in (False, True))


@pytest.mark.parametrize("straight", [-0.1, 0.0, 0.12])
def test_the_curvature_of_best_accuracy_is_found_wherever_it_is(straight):
    found = NetworkDiagram(diagram(BEND, 1 - abs(BEND - straight))).straightest
    assert found.value == pytest.approx(straight, abs=0.02) and found.is_finite


def test_the_rival_knows_the_other_rows_only_and_wins_where_all_rows_are_alike():
    noise = np.arange(5.0)
    peaked = np.tile(1 - abs(noise - 2) / 10 - noise / 1000, (3, 1))
    wild = np.random.default_rng(0).normal(size=(3, 5))
    rival = NetworkDiagram(diagram(wild, peaked)).falls(in_rows=True).null
    assert rival == pytest.approx(-0.95, abs=0.03)  # pairs at one distance are ties
    # What a row itself says does not reach its rival.
    alone = peaked.copy()
    alone[0] = 0.5 + 0.001 * noise
    assert NetworkDiagram(diagram(wild, alone)).falls(in_rows=True).null == pytest.approx(2 / 3 * rival, abs=0.01)


def test_the_rival_follows_a_best_column_that_tilts():
    noise, best = np.arange(7.0), np.array([1.0, 3.0, 5.0])[:, None]
    tilted = 1 - abs(noise - best) / 10 - noise / 1000
    wild = np.random.default_rng(0).normal(size=(3, 7))
    assert NetworkDiagram(diagram(wild, tilted)).falls(in_rows=True).null < -0.9


def test_the_best_bent_cell_is_judged_by_seeds_that_did_not_choose_it():
    made = diagram(BEND, 1 - abs(BEND))
    bent = np.where(abs(BEND) > summaries.STRAIGHT, abs(BEND), np.inf).min()
    assert NetworkDiagram(made).bent_gains().value == pytest.approx(100 * (abs(BEND).min() - bent))
    # Where accuracy is chance, a choice by the judging seeds themselves would find a gain among the many bent cells.
    chance = np.random.default_rng(1).normal(size=(400, *made["accuracy"].isel(seed=0).shape))
    many = made.isel(seed=0).expand_dims(seed=400)
    low, high = NetworkDiagram(many.assign(accuracy=(many["accuracy"].dims, chance))).bent_gains().interval
    assert low < 0 < high


def test_a_cell_with_a_network_that_diverged_has_no_numbers_and_is_counted():
    accuracy = 1 - abs(BEND)
    assert "cells left out" not in summaries.table({"a": diagram(BEND, accuracy)}).index
    made = diagram(BEND, accuracy).copy(deep=True)
    made["accuracy"] = made["accuracy"].where(~((made.seed == 0) & (made.dropout > 0.15) & (made.slope == 0)))
    found = NetworkDiagram(made)
    assert found.left_out == 2 and found.falls().value == pytest.approx(-1)
    assert summaries.table({"a": made}).loc["cells left out", "a"] == "2"


@pytest.mark.parametrize("n", [1, 2, 9])
def test_too_few_seeds_have_no_interval(n):
    made = diagram(BEND, 1 - abs(BEND), n=n)
    assert f"too few runs for an interval: {n}," in NetworkDiagram(made).falls().reason
    assert "[" not in summaries.table({"few": made}).loc["rank correlation of accuracy with |curvature|", "few"]


def test_photographs_are_drawn_from_layer_1_on_where_the_paper_does():
    curve = xr.DataArray([9.0, 3.0, 2.0, 1.0], {"layer": range(4)})
    made = xr.Dataset({"load_curve": curve, "curvature": curvature(curve)})
    drawn = summaries.as_drawn({TITLES[figure]: made for figure in ("S7a", "S8", "S9b")})
    assert [one.sizes["layer"] for one in drawn.values()] == [4, 4, 3, 3]
    assert list(drawn)[2] == "S8(b), the same from layer 1"
    assert float(drawn["S8(b), the same from layer 1"]["curvature"]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_curve_is_straight_or_bent_at_any_bar(sign):
    bent, even = (Estimate(sign * bend, sign * bend - 0.02, sign * bend + 0.02) for bend in (0.2, 0.0))
    assert summaries.inside_straight(bent).high < 0 < summaries.inside_straight(even).low
    between = summaries.inside_straight(Estimate(0.04 * sign, 0.04 * sign - 0.001, 0.04 * sign + 0.001))
    assert between.low < 0 < between.high, "what is straight by one bar and not by another"
