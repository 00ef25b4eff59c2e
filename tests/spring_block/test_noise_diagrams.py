"""Pairs of the page spring_block/noise_diagrams: Fig. 1, and how straight is best."""

import re

import numpy as np
import pytest
import xarray as xr
from runs_diagrams import diagram, falling, tied
from runs_spring_block import curves

from deepmech_book.spring_block import noise_diagrams
from deepmech_book.spring_block.experiments import experiment
from deepmech_book.spring_block.summaries import NetworkDiagram
from deepmech_book.sweeps.spring_block.networks import PANELS
from pairs import Page

page = Page("spring_block/noise_diagrams")
LESS = np.linspace(0.15, -0.15, 8)
"""Curvatures that fall from column to column."""


@page.pair("A.1.noise_bends", panels=PANELS, usual=-0.7, reach=0.03, told=0.3)
def orders_of_columns(level, rng, rival):
    """One row of each panel has columns in an order of its own, some of them alike."""
    rows = {noise: np.stack([LESS, 0.03 * tied(level[noise], 8)]) for noise in PANELS}
    return {"panels": {noise: diagram(rng, noise, bend, slopes=(0.0, 0.4)) for noise, bend in rows.items()}}


@page.pair("A.1.slope_bends", panels=PANELS, usual=-0.7, reach=0.06, told=0.3)
def orders_of_rows(level, rng, rival):
    """One column of each panel has rows in an order of its own, some alike; what ships has many."""
    panels = {}
    for noise in PANELS:
        bend = np.tile(LESS[:6, None], (1, 8))
        bend[:, 3] = 0.03 * tied(level[noise], 6)
        panels[noise] = diagram(rng, noise, bend)
    return {"panels": panels}


def with_cell(rng, level, scatter, **cell):
    """Panels with a cell of its own level in each, the others as far from straight to either side."""
    panels = {}
    for noise in PANELS:
        bend = np.tile([0.2, 0, 0, 0, 0, 0, 0, -0.3], (6, 1))
        bend[cell["row"], cell["column"]] = level[noise]
        panels[noise] = diagram(rng, noise, bend, scatter=scatter)
    return {"panels": panels}


@page.pair("A.1.lazy_corner", panels=PANELS, usual=0.2)
def corners(level, rng, rival):
    return with_cell(rng, level, 0.013, row=0, column=0)


@page.pair("A.1.convex_side", panels=PANELS, usual=-0.3, told=0.3)
def noisiest_cells(level, rng, rival):
    """Of one panel other networks judge the row, those of the panel are far on the wrong side."""
    panels = with_cell(rng, level, 0.06, row=2, column=-1)["panels"]
    one = panels["learning_rate"]
    panels["learning_rate"] = one.assign(curvature=one["curvature"].where(one["slope"] != one["slope"][2], 1.0))
    return {"panels": panels, "more": {"learning_rate": one.isel(slope=[2])}}


@page.pair("A.1.accuracy_falls", panels=PANELS, usual=-0.8, reach=0.055, told=0.3)
def orders_of_cells(level, rng, rival):
    """All panels scatter as the widest of those that ship, over batches."""
    return {"panels": {noise: falling(rng, noise, at, rival, off=0.17) for noise, at in level.items()}}


for panel, one in PANELS.items():
    page.pair(f"A.1.{one.letter}.accuracy_falls", panels=(panel,), usual=-0.8, reach=0.055, told=0.3)(orders_of_cells)


@page.pair("A.1.bend_tells_more", panels=PANELS, usual=-0.8, reach=0.055, told=0.3)
def orders_beside_training_accuracy(level, rng, rival):
    panels = orders_of_cells(level, rng, rival)["panels"]
    return {"panels": {noise: one.assign(accuracy_train=-one["loss"]) for noise, one in panels.items()}}


@page.pair("A.1.accuracy_in_rows", panels=PANELS, usual=-0.8, told=0.3)
def orders_within_rows(level, rng, rival):
    return {"panels": {noise: falling(rng, noise, level[noise], rival, rows=True, off=0.3) for noise in PANELS}}


@page.pair("A.text.same_fit", panels=("learning_rate",), usual=-0.8, told=0.3)
def orders_of_fitted_cells(level, rng, rival):
    fitted = np.arange(48).reshape(6, 8) % 3 > 0
    one = falling(rng, "learning_rate", level["learning_rate"], rival, off=0.11, fitted=fitted)
    return {"panels": {"learning_rate": one}, "others": {"(a)": one}}


@page.pair("A.text.test_curves", panels=PANELS, usual=0.9, reach=0.027, told=0.3)
def curves_above(level, rng, rival):
    """Test curves are all bent by as much more as makes the R² of the level."""
    panels, depth = {}, xr.DataArray(np.arange(8) / 7, {"layer": range(8)})
    hump = depth * (1 - depth)
    for noise in PANELS:
        one = diagram(rng, noise, LESS / 2, scatter=0.004)
        more = np.sqrt((1 - level[noise]) * np.var(LESS / 2))
        bend = diagram(rng, noise, LESS / 2 + more, scatter=0.004)["curvature"]
        panels[noise] = one.assign(load_curve_test=1 - depth + 7 * bend / hump.sum() * hump)
    return {"panels": panels}


def competing(rng, noise, gain=-1.0, off=0.1):
    """A diagram whose best bent cell is ahead of its best straight one by ``gain`` points; others are far behind."""
    bend, right = np.tile(LESS, (6, 1)), np.full((6, 8), 0.7)
    bend[1, 3], bend[2, 1] = 0.0, 0.2
    right[1, 3], right[2, 1] = 0.9, 0.9 + gain / 100
    return diagram(rng, noise, bend, right, scatter=1e-3, off=off / 100)


def judges(rng, diagrams, gains, off):
    """Forty fresh networks of champions."""
    found = {}
    for name, gain in gains.items():
        one = NetworkDiagram(diagrams[name])
        slopes, values = zip(*one.champions(), strict=True)
        right = np.array([[0.9], [0.9 + gain / 100]]) + off / 100 * rng.standard_normal((2, 40))
        cells = {"slope": ("place", list(slopes)), one.noise: ("place", list(values))}
        found[name] = xr.Dataset({"accuracy": (("place", "seed"), right)}, cells)
    return found


@page.pair("A.1.best_is_straight", panels=PANELS, usual=-0.5, told=0.3)
def champions_of_fig_1(level, rng, rival):
    diagrams = {noise: competing(rng, noise) for noise in PANELS}
    return {"diagrams": diagrams, "fresh": judges(rng, diagrams, level, 0.235)}


@page.pair("A.SM.best_is_straight", panels=("S5", "S7"), usual=-0.5, reach={"S5": 0.1, "S7": 0.27}, told=0.3)
def champions_of_the_supplement(level, rng, rival):
    """Of one diagram fresh networks judge, of the other the seed that is left out."""
    diagrams = {"S5": competing(rng, "learning_rate"), "S7": competing(rng, "data_noise", level["S7"], 0.27)}
    return {"diagrams": diagrams, "fresh": judges(rng, diagrams, {"S5": level["S5"]}, 0.22)}


@page.pair("A.S9.bent_is_better", panels=("S9(a)", "S9(b)"), usual=2.0, reach=0.2, told=0.3)
def champions_of_photographs(level, rng, rival):
    """Thresholds agree; what ships is as wide as they differ."""
    diagrams = {name: competing(rng, "learning_rate") for name in level}
    return {"diagrams": diagrams, "fresh": judges(rng, diagrams, level, 0.44)}


def best_at(rng, noise, bends, mean):
    """A diagram whose cells of these curvatures are the most accurate, all alike; mean curvature of all cells."""
    bend = np.full((6, 8), (48 * mean - sum(bends)) / (48 - len(bends)))
    right = np.full((6, 8), 0.7)
    bend[3, : len(bends)], right[3, : len(bends)] = bends, 0.9
    return diagram(rng, noise, bend, right, scatter=1e-3)


@page.pair("A.1.best_cell", panels=("(a)", "(c)"), usual=0.04, reach=0.018)
def the_best_cell_bends(level, rng, rival):
    """The interval is as wide as the thresholds differ."""
    kinds = {"(a)": "data_noise", "(c)": "dropout"}
    mean = 0.0 if rival else 0.2
    return {"diagrams": {name: best_at(rng, kinds[name], [0.05 - level[name]], mean) for name in kinds}}


@page.pair("A.1.best_by_test_curves", panels=("(a)", "(c)"), usual=0.04, reach=0.018)
def the_best_cell_by_test_curves(level, rng, rival):
    """Curves of training samples are all bent."""
    made = the_best_cell_bends(level, rng, rival)["diagrams"]
    bent = {name: one.assign(load_curve_test=curves(one["curvature"])) for name, one in made.items()}
    return {"diagrams": {name: one.assign(curvature=one["curvature"] * 0 + 0.3) for name, one in bent.items()}}


@page.pair("A.S9.best_is_concave", panels=("S9(a)", "S9(b)"), usual=0.3)
def the_best_cells_bend(level, rng, rival):
    """Two cells, to either side of the level, are as accurate as one another."""
    cells = {name: ([at - 0.079, at + 0.079], at if rival else -0.3) for name, at in level.items()}
    return {"diagrams": {name: best_at(rng, "learning_rate", *how) for name, how in cells.items()}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_the_interval_of_the_best_cell_is_that_of_all_thresholds():
    found = noise_diagrams.best_cell({"one": best_at(np.random.default_rng(0), "dropout", [0.04], 0.2)}).measured
    ends = [float(end) for end in (found.value[0], found.low[0], found.high[0])]
    assert ends == pytest.approx([0.01, -0.01, 0.03], abs=0.002)


def test_a_cell_that_one_threshold_calls_bent_leaves_it_open_whether_straight_is_best():
    rng = np.random.default_rng(0)
    one = competing(rng, "dropout", -1.0)
    more = one.assign(curvature=one["curvature"].copy(), accuracy=one["accuracy"].copy())
    more["curvature"][4, 4], more["accuracy"][4, 4] = 0.06, 0.91
    found = noise_diagrams.best_is_straight({"one": more}, {}).measured
    assert float(found.value[0]) == pytest.approx(1, abs=0.1) and float(found.low[0]) < -1.5


def test_fresh_networks_are_new_seeds_of_the_best_cells():
    sweep = experiment("figure-1c")
    champions = NetworkDiagram(competing(np.random.default_rng(0), "dropout"))
    one = noise_diagrams.fresh(sweep, champions)
    assert one.name.startswith("fresh-1c") and one.grid.shape == (2, 40)
    assert list(zip(one.cells["slope"].values, one.cells["dropout"].values, strict=True)) == champions.champions()
    assert min(one.cells["seed"].values) > max(sweep.cells["seed"].values)


def test_a_bend_that_tells_accuracy_beats_a_loss_that_does_not_and_the_other_way_round():
    rng = np.random.default_rng(1)
    bend = falling(rng, "dropout", -0.9, off=0.0)
    loss = falling(rng, "dropout", 0.0, off=0.0)
    bend = bend.assign(accuracy_train=-bend["loss"])
    loss = loss.assign(loss=1 - loss["accuracy"], accuracy_train=loss["accuracy"])
    told = re.findall(">([✓✗?])<", noise_diagrams.against_rivals({"a_bend": bend, "loss": loss}))
    assert told[:4] == ["✓"] * 4 and told[6:10] == ["✗"] * 4


def test_pictures_show_means_in_per_cent_and_numbers_by_diagram():
    rng = np.random.default_rng(0)
    runs = {"(c)": competing(rng, "dropout"), "(d)": competing(rng, "batch_size")}
    shaded = noise_diagrams.by_accuracy(runs)["(d)"]
    assert shaded.accuracy.dims == ("batch_size", "slope")
    assert float(shaded.accuracy.max()) == pytest.approx(90, abs=0.1)
    diagrams = {name: NetworkDiagram(one) for name, one in runs.items()}
    gains = noise_diagrams.by_winner(noise_diagrams.gains(diagrams, {}))
    assert (
        gains.value.max("better").values == pytest.approx([-1, -1], abs=0.2) and gains.value.attrs["units"] == "points"
    )
    tops = noise_diagrams.tops(diagrams).value.sel(number="of the best cell")
    assert tops.values == pytest.approx([0, 0], abs=0.01)
    runs = {name: one.assign(load_curve_test=curves(one["curvature"] - 0.2)) for name, one in runs.items()}
    both = noise_diagrams.by_samples(runs).value
    assert both.sel(samples="training").values == pytest.approx([0, 0], abs=0.01)
    assert both.sel(samples="test").values == pytest.approx([-0.2, -0.2], abs=0.01)
