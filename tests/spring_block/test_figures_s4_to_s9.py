"""Pairs of the page spring_block/figures_s4_to_s9: supplement of paper A, and without BatchNorm."""

import numpy as np
import pytest
import xarray as xr
from runs_diagrams import diagram, falling, tied

from deepmech.metrics.curvature import curvature
from deepmech_book.spring_block import figures_s4_to_s9
from deepmech_book.sweeps.spring_block.without_norm import SCALED
from pairs import Page

page = Page("spring_block/figures_s4_to_s9")
DEPTH = xr.DataArray(np.arange(8) / 7, {"layer": range(8)})


def two_rows(rng, noise, levels):
    """A diagram of two rows whose columns are in an order of their own, some of them alike."""
    return diagram(rng, noise, np.stack([0.03 * tied(level, 8) for level in levels]), slopes=(0.0, 0.4))


def orders_by_noise(level, rng, rival):
    return {"diagrams": {"S7": two_rows(rng, "data_noise", level.values())}}


for claim in ("A.SM.noise_bends", "A.S7.b.noise_bends"):
    page.pair(claim, panels=(0, 1), usual=-0.7, reach=0.03, told=0.3)(orders_by_noise)


def over_cells(off, rows):
    def maker(level, rng, rival):
        return {"diagrams": {n: falling(rng, n, at, rival, rows=rows, off=off) for n, at in level.items()}}

    return maker


for claim, noises, off, rows in (
    ("A.SM.accuracy_falls", ("learning_rate", "dropout"), 0.5, False),
    ("A.S7.b.accuracy_falls", ("data_noise",), 0.5, False),
    ("A.SM.accuracy_in_rows", ("learning_rate", "dropout"), 0.45, True),
    ("A.S7.b.accuracy_in_rows", ("data_noise",), 0.45, True),
):
    page.pair(claim, panels=noises, usual=-0.7, told=0.3)(over_cells(off, rows))


def lifted(rng, lift, size=0.02):
    """Straight curves whose input lies above the line through hidden layers, by a share of what these fall."""
    one = diagram(rng, "dropout", np.zeros((6, 8)), scatter=0.0)
    each = lift + size * xr.DataArray(rng.standard_normal(10), dims="seed")
    hidden = 1 - (DEPTH * 7 - 1) / 6  # from 1 in layer 1 to 0 in the last
    return one.assign(load_curve=hidden + (each * (DEPTH == 0)) + 0 * one["curvature"])


@page.pair("A.S8.input_off", usual=0.2, reach=0.02)
def input_off_the_line(level, rng, rival):
    return {"photographs": lifted(rng, level[""]), "digits": lifted(rng, 0.2 if rival else 0.0)}


RATES = [1e-4, 1e-3, 1e-2]


def three_rates(rng, bend, accuracy=90.0, scatter=0.005, off=0.3):
    """Networks of Fig. S4: curvature (rate, split) and test accuracy (rate), in per cent."""
    cells = {"learning_rate": RATES, "split": ["train", "test"], "seed": range(10)}
    accuracy = np.broadcast_to(accuracy, 3)[:, None, None]
    made = {
        name: xr.DataArray(np.asarray(mean) + size * rng.standard_normal((3, 2, 10)), cells)
        for name, mean, size in (("curvature", np.asarray(bend)[..., None], scatter), ("accuracy", accuracy, off))
    }
    return {"made": xr.Dataset(made).assign(accuracy=made["accuracy"] / 100)}


@page.pair("A.S4.linear", panels=(0, 1), usual=0.04)
def straight_on_both(level, rng, rival):
    """The interval is as wide as thresholds differ, so that even a straight curve lies two widths inside."""
    return three_rates(rng, [[0.2, 0.2], [max(0.05 - level[k], 0.0) for k in (0, 1)], [-0.2, -0.2]])


PRINTED = dict(enumerate((91.93, 92.52, 89.99)))


@page.pair("A.S4.accuracies", panels=(0, 1, 2), usual=PRINTED, expected=PRINTED)
def as_printed(level, rng, rival):
    return three_rates(rng, np.zeros((3, 2)), list(level.values()), off=0.29)


@page.pair("A.S4.best", panels=(0, 2), usual=1.0)
def straightest_is_best(level, rng, rival):
    bend = [[0.2, 0.2], [0.0, 0.0], [-0.2, -0.2]]
    return three_rates(rng, bend, [90 - level[0], 90, 90 - level[2]], off=0.18)


def corner(rng, bend):
    """ReLU networks that are bent so at the smallest of three rates."""
    means = xr.DataArray([bend, -0.2, -0.3], {"learning_rate": [1e-4, 3e-4, 1e-3]})
    like = xr.DataArray(0.041 * rng.standard_normal((3, 10)), {"scaled": list(SCALED), "seed": range(10)})
    return xr.Dataset({"curvature": means + like})


@page.pair("A.text.no_norm_pattern", panels=("concave", "convex"), usual=0.1)
def the_same_phases(level, rng, rival):
    """Each phase differs from seed to seed by as much in all of its cells."""
    known = np.array([0.2] * 3 + [0.0] * 2 + [-0.2] * 3)
    each = 0.0176 * rng.standard_normal((2, 10))
    bend = level["concave"] * (known > 0.1) - level["convex"] * (known < -0.1)
    without = diagram(rng, "dropout", bend, scatter=0.0)
    moved = np.where(known[:, None] > 0, each[0], -each[1])
    curvature = without["curvature"].astype(float) + xr.DataArray(moved, dims=("dropout", "seed"))
    runs = {"without": without.assign(curvature=curvature), "normed": diagram(rng, "dropout", known)}
    return {**runs, "corner": corner(rng, 0.1)}


@page.pair("A.text.no_norm_bends", panels=(0, 1), usual=-0.7, reach=0.03, told=0.3)
def orders_by_dropout(level, rng, rival):
    return {"without": two_rows(rng, "dropout", level.values())}


def curves(load):
    """Networks with these curves over ``slope`` (one), ``dropout`` and ``seed``."""
    cells = {"slope": [0.0], "dropout": range(8), "seed": range(10)}
    return xr.Dataset({"load_curve": xr.DataArray(load, dims=(*cells, "layer"), coords=cells)})


@page.pair("A.text.no_batch_norm", usual=2.0)
def curves_that_differ(level, rng, rival):
    """A number a network says by how much its curve bends."""
    hump = (DEPTH * (1 - DEPTH)).values
    each = rng.standard_normal((2, 1, 8, 10, 1)) * np.array([level[""], 1.0]).reshape(2, 1, 1, 1, 1)
    return dict(zip(("without", "normed"), (curves(1 - DEPTH.values + 0.05 * one * hump) for one in each), strict=True))


@page.pair("A.text.no_norm_rough", usual=2.0)
def curves_with_bumps(level, rng, rival):
    """Zigzags, in each network of another size."""
    zigzag, each = (-1.0) ** np.arange(8), 1 + 0.11 * rng.standard_normal((1, 1, 10, 1))
    sizes = {"without": level[""] * each, "normed": 1.0 + 0 * each}
    return {name: curves(1 - DEPTH.values + 1e-3 * np.tile(a, (1, 8, 1, 1)) * zigzag) for name, a in sizes.items()}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def straight(lift, n_seeds=3):
    """Straight load curves from 7 to 0 over seven hidden layers, their input ``lift`` above the line."""
    layer = np.arange(8)
    load = (7.0 - layer) / 7 + lift * (layer == 0)
    cells = {"slope": [0.0, 1.0], "dropout": [0.0, 0.1, 0.2], "seed": range(n_seeds), "layer": layer}
    load = xr.DataArray(np.broadcast_to(load, (2, 3, n_seeds, 8)).copy(), cells)
    return xr.Dataset({"load_curve": load, "curvature": curvature(load)})


def test_cells_that_bend_do_not_say_where_the_input_lies():
    made = straight(0.3)
    layer, first = made["layer"], made["dropout"] == 0.0
    bent = made["load_curve"].where(~first, 5 * (1 - (layer / 7) ** 4))
    assert figures_s4_to_s9.input_off(made.assign(load_curve=bent)).values == pytest.approx(0.35, abs=1e-9)


def test_debiasing_undoes_what_the_noise_of_class_means_does():
    """Tr Σw loses, and Tr Σb gains, (K − 1) in n shares of the spread: of exp(−D) = b/w with b' = b + (K − 1)/n etc."""
    n, k, true = 400, 10, np.linspace(2.0, 0.5, 4)
    within = 1 - k / n  # of the spread within classes, what is left about means of the same samples
    between = np.exp(-true) + (k - 1) / n
    plain = xr.DataArray(-np.log(between / within), {"layer": range(4)})
    again = figures_s4_to_s9.debiased(xr.Dataset({"load_curve": plain}), n, k)
    np.testing.assert_allclose(again["load_curve"], true)


def test_a_row_has_the_curvature_of_training_and_the_accuracy_of_test_samples():
    split = {"split": ["train", "test"], "seed": range(2)}
    numbers = {"curvature": [[0.1, 0.3], [9, 9]], "accuracy": [[1, 1], [0.5, 0.7]]}
    both = xr.Dataset({name: (tuple(split), values) for name, values in numbers.items()}, split)
    rows = figures_s4_to_s9.bend_and_accuracy({"both": both, "one": both.sel(split="test")})
    assert rows.loc["both"].tolist() == [0.2, 60.0] and rows.loc["one"].tolist() == [9.0, 60.0]


def test_the_same_cells_of_two_diagrams():
    cells = {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.1], "seed": range(4)}
    whole = xr.Dataset({"curvature": xr.DataArray(np.arange(24.0).reshape(3, 2, 4), cells)})
    part = whole.sel(slope=[0.0, 1.0], dropout=[0.1], seed=[0, 1])
    xr.testing.assert_identical(figures_s4_to_s9.same_cells(whole, part * 0), part)
