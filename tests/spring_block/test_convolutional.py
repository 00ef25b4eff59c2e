"""Pairs of the page spring_block/convolutional: networks at the ends of three stages, dropout raised between them."""

import json

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import curves

from deepmech_book import claims
from deepmech_book.spring_block import convolutional
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.sweeps.spring_block.convolutional import STAGES
from pairs import Page

page = Page("spring_block/convolutional")


def stages(rng, bends=(0.3, 0.02, -0.2), accuracy=(0.90, 0.93, 0.88), alone=(0.90, 0.90, 0.90), apart=0.0, scatter=0.0):
    """Four networks of these curvatures and accuracies at the ends of the stages.

    Curvatures of one network differ by ``apart`` from stage to stage, and networks by ``scatter`` in all of them.
    """
    cells = {"at_epoch": [4000, 8000, 8200, 12_000], "seed": range(4)}
    bend = np.array(bends)[:, None] + scatter * rng.standard_normal(4)
    bend = bend + np.cumsum(apart * rng.standard_normal((3, 4)), 0)
    right = np.array(accuracy)[:, None] + 0.0045 * rng.standard_normal((3, 4))
    bend, right = (one[[0, 1, 2, 2]] for one in (bend, right))
    data = {
        "load_curve": curves(xr.DataArray(bend, cells)),
        "accuracy": xr.DataArray(right, cells),
        "accuracy_without": (("stage", "seed"), np.array(alone)[:, None] + 0.0003 * rng.standard_normal((3, 4))),
    }
    made = xr.Dataset(data, {"stage": list(STAGES)})
    return {"made": made.assign_attrs(spec=json.dumps(experiment("dropout-raised").to_json()))}


@page.pair("A.S2.order", panels=(0, 1), usual=-0.1)
def less_concave_each_time(level, rng, rival):
    return stages(rng, np.cumsum([0.2, *level.values()]), apart=0.0147)


@page.pair("A.S2.concave", usual=0.2)
def concave_at_first(level, rng, rival):
    return stages(rng, (level[""], 0.0, -0.2), scatter=0.0221)


@page.pair("A.S2.linear", usual=0.04)
def straight_then(level, rng, rival):
    """Networks that scatter by a third of those that ship, of which four cannot say that a straight curve is one."""
    return stages(rng, (0.3, max(0.05 - level[""], 0.0), -0.2), scatter=0.0059)


@page.pair("A.S2.convex", usual=-0.2)
def convex_at_last(level, rng, rival):
    return stages(rng, (0.3, 0.0, level[""]), scatter=0.0303)


@page.pair("A.S2.accuracy", panels=(0, 1), usual=0.03)
def a_gain_and_a_loss(level, rng, rival):
    return stages(rng, accuracy=(0.9, 0.9 + level[0], 0.9 + level[0] - level[1]))


@page.pair("A.S2.not_time", usual=0.03)
def a_gain_by_dropout(level, rng, rival):
    """Without dropout accuracy falls, or, of the rival, rises as much."""
    alone = level[""] if rival else -0.05
    return stages(rng, accuracy=(0.9, 0.9 + level[""], 0.9), alone=(0.9, 0.9 + alone, 0.9))


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_what_is_not_of_the_papers_size_is_not_judged():
    made = stages(np.random.default_rng(0))["made"]
    tiny = experiment("dropout-raised", data={"name": "digits", "n_train": 120})
    small = made.assign_attrs(spec=json.dumps(tiny.to_json()))
    assert claims.measure("A.S2.order", small).verdict.startswith("not testable")
    short = made.assign_coords(at_epoch=[40, 80, 82, 120])
    assert claims.measure("A.S2.order", short).verdict.startswith("not testable")


def test_the_table_says_what_networks_are_at_the_ends_of_the_stages():
    table = convolutional.table_of_stages(stages(np.random.default_rng(0))["made"])
    bends = [float(words.split()[0].replace("−", "-")) for words in table.loc["curvature with the image"]]
    assert bends == pytest.approx([0.3, 0.02, -0.2], abs=0.011)
    assert table.loc["test accuracy (%)", "5 % dropout"].startswith("93.") and list(table) == list(STAGES)


def test_widths_are_logarithms_of_means_over_seeds():
    ratio = xr.DataArray([[[1.0, 3.0]]], dims=("layer", "digit", "seed"))
    made = xr.Dataset({"class_width_before": ratio, "class_width": ratio.expand_dims(stage=["no dropout"]) * 2})
    found = convolutional.widths_of_classes(made)
    assert found.network.values.tolist() == ["untrained", "no dropout"]
    np.testing.assert_allclose(found.values.ravel(), np.log([2, 4]))


def test_one_network_is_shown_by_its_loss_and_in_per_cent():
    one = xr.Dataset({"loss": ("at_epoch", [1.0, 0.01]), "accuracy": ("at_epoch", [0.5, 0.9])}, {"at_epoch": [10, 20]})
    loss, percent, epoch = convolutional.over_loss(one)
    np.testing.assert_allclose([loss, percent, epoch], [[0, -2], [50, 90], [10, 20]])
