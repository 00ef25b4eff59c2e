"""Claims of the page on Figs. S4 to S9 on networks that do what the paper says, and on such that do not."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import networks, shuffled
from truth_and_null import Pairs

from deepmech.metrics.curvature import curvature
from deepmech_book.sweeps.spring_block.without_norm import SCALED

pairs = Pairs("spring_block/figures_s4_to_s9")


def falling(slope, at):
    return 0.25 - 0.45 * at - 0.05 * slope


@pairs.of("A.SM.noise_bends", "A.S7.b.noise_bends")
def bent_by_noise(true, rng):
    """Of the null, the columns of each row of one of two diagrams are in another order."""
    rates, drops = networks(rng, falling, noise="learning_rate"), networks(rng, falling)
    return {"diagrams": {"S5": rates, "S8": drops if true else shuffled(rng, drops, "dropout", ["slope"])}}


def accurate_where_straight(rng, by_loss=False):
    """A diagram whose accuracy falls with the bend, while the training loss is dealt to cells at random; or,
    ``by_loss``, one whose accuracy falls with that loss, wherever curves are straight.
    """
    made = networks(rng, falling, lambda c, slope, at: 0.95 - abs(c) / 2)
    cells = made["loss"].isel(seed=0, drop=True)
    loss = made["loss"] * 0 + rng.permuted(np.linspace(0, 1, cells.size)).reshape(cells.shape)[..., None]
    return made.assign(loss=loss, accuracy=0.95 - loss / 10 if by_loss else made["accuracy"])


@pairs.of("A.SM.accuracy_falls", "A.S7.b.accuracy_falls", "A.SM.accuracy_in_rows", "A.S7.b.accuracy_in_rows")
def accuracy_falls(true, rng):
    return {"diagrams": {"S5": accurate_where_straight(rng, by_loss=not true)}}


def lifted(rng, lift):
    """A diagram with straight curves in the middle, whose input is lifted by so much."""
    made = networks(rng, lambda slope, at: 0.2 - 0.4 * at + 0 * slope)
    load = made["load_curve"] + lift * (made["layer"] == 0)
    load = load + rng.normal(0, 0.003, load.shape)
    return made.assign(load_curve=load, curvature=curvature(load))


@pairs.of("A.S8.input_off")
def farther_off_the_line(true, rng):
    return {"photographs": lifted(rng, 0.2 if true else 0.05), "digits": lifted(rng, 0.05)}


@pairs.fair("A.S8.input_off")
def as_far_off_the_line(rng):
    return {name: lifted(rng, 0.2) for name in ("photographs", "digits")}


@pairs.of("A.S9.best_is_concave")
def concave_is_best(true, rng):
    best = 0.12 if true else rng.uniform(-0.12, 0.0)
    depths = {
        depth: networks(rng, falling, lambda c, slope, at: 0.95 - abs(c - best) / 2, noise="learning_rate")
        for depth in ("S9(a)", "S9(b)")
    }
    return {"diagrams": depths}


@pairs.fair("A.S9.best_is_concave")
def as_concave_as_all_cells(rng):
    """Of one depth; whether curves are mostly concave is the same for all cells."""

    def mostly_concave(slope, at):
        return 0.25 - 0.3 * at

    def best_at(bend):
        accuracy = partial(lambda best, c, slope, at: 0.95 - abs(c - best) / 2, bend)
        return networks(rng, mostly_concave, accuracy, noise="learning_rate", scatter=0.03)

    return {"diagrams": {"S9(a)": best_at(0.2), "S9(b)": best_at(0.1)}}


@pairs.fair("A.SM.accuracy_falls", "A.S7.b.accuracy_falls", "A.SM.accuracy_in_rows", "A.S7.b.accuracy_in_rows")
def as_the_loss_tells(rng):
    """Accuracy that falls with the loss and with the size of the curvature alike, each but for scatter of its own."""
    made = networks(rng, falling)
    size = abs(made["curvature"])
    told, scatter = 0.95 - size / 2, 0.05
    loss = size + rng.normal(0, scatter, size.shape)
    bend = made["curvature"] + rng.normal(0, scatter, size.shape)
    return {"diagrams": {"S5": made.assign(loss=loss, curvature=bend, accuracy=told)}}


RATES = [1e-4, 1e-3, 1e-2]


def three_rates(rng, bends=(0.1, 0.0, -0.25), accuracies=(91.93, 92.52, 89.99), off_test=0.0, n_seeds=10):
    """Networks of Fig. S4: curvatures and accuracies at three learning rates; test curves bend by ``off_test`` more."""
    coords = {"learning_rate": RATES, "split": ["train", "test"], "seed": range(n_seeds)}
    like = xr.DataArray(np.zeros((3, 2, n_seeds)), coords)
    shape = np.array(bends)[:, None, None] + np.array([0.0, off_test])[:, None]
    accuracy = like + np.array(accuracies)[:, None, None] / 100
    return xr.Dataset(
        {
            "curvature": like + shape + rng.normal(0, 0.005, like.shape),
            "accuracy": accuracy + rng.normal(0, 0.002, like.shape),
        }
    )


@pairs.of("A.S4.turns")
def concave_then_convex(true, rng):
    return {"made": three_rates(rng) if true else three_rates(rng, rng.uniform(-0.04, 0.04, 3))}


@pairs.of("A.S4.linear")
def straight_on_both(true, rng):
    return {"made": three_rates(rng, off_test=0.0 if true else rng.choice([-1, 1]) * rng.uniform(0.06, 0.15))}


@pairs.of("A.S4.accuracies")
def as_printed(true, rng):
    off = np.zeros(3) if true else rng.choice([-1, 1], 3) * rng.uniform(1.2, 3, 3)
    return {"made": three_rates(rng, accuracies=np.array([91.93, 92.52, 89.99]) + off)}


@pairs.of("A.S4.best")
def straightest_is_best(true, rng):
    return {"made": three_rates(rng) if true else three_rates(rng, accuracies=(92.0, 92.0, 92.0))}


def diagram(rng, **how):
    return networks(rng, lambda slope, at: 0.15 - 0.25 * at - 0.1 * slope, **how)


@pairs.of("A.text.no_norm_concave")
def concave_at_one_rate(true, rng):
    """Of the null, curves are straight at the best rate: the rate that a seed itself likes best must not decide."""
    means = xr.DataArray([0.05 if true else 0.0, -0.02, -0.1], {"learning_rate": [1e-4, 3e-4, 1e-3]})
    like = means * xr.DataArray(np.ones((3, 10)), {"scaled": list(SCALED), "seed": range(10)})
    return {"corner": xr.Dataset({"curvature": like + rng.normal(0, 0.02, like.shape)})}


@pairs.of("A.text.no_norm_pattern")
def the_same_phases(true, rng):
    """Of the null, half of the diagrams have their cells in another order, and half have no concave phase."""
    without, normed = diagram(rng, scatter=0.03), diagram(rng)
    if not true and rng.uniform() < 0.5:
        without = shuffled(rng, shuffled(rng, without, "dropout", ["slope"]), "slope")
    elif not true:
        without = networks(rng, lambda slope, at: -0.05 - 0.2 * at - 0.1 * slope, scatter=0.03)
    return {"without": without, "normed": normed}


@pairs.of("A.text.no_norm_bends")
def dropout_bends_rows(true, rng):
    without = diagram(rng, scatter=0.02)
    return {"without": without if true else shuffled(rng, without, "dropout", ["slope"])}


@pairs.of("A.text.no_batch_norm")
def curves_that_differ_more(true, rng):
    return {"without": diagram(rng, scatter=0.03 if true else 0.01), "normed": diagram(rng, scatter=0.01)}


@pairs.of("A.text.no_norm_rough")
def curves_with_bumps(true, rng):
    def bumpy(size):
        made = diagram(rng, scatter=0.01)
        load = made["load_curve"] + size * rng.normal(size=made["load_curve"].shape)
        return made.assign(load_curve=load, curvature=curvature(load))

    return {"without": bumpy(0.04 if true else 0.02), "normed": bumpy(0.02)}


PRINT = xr.Dataset({"accuracy": xr.DataArray(np.linspace(0.6, 0.95, 48).reshape(6, 8), dims=("slope", "noise"))})


def panel(rng, off, n_seeds=10):
    """Networks whose accuracies are ``off`` points from the print in every cell, to one side or the other."""
    sign = xr.DataArray(rng.choice([-1, 1], (6, 8)), dims=("slope", "noise"))
    scatter = xr.DataArray(rng.normal(0, 0.002, (6, 8, n_seeds)), {"seed": range(n_seeds)}, ("slope", "noise", "seed"))
    return xr.Dataset({"accuracy": PRINT["accuracy"] + sign * np.asarray(off) / 100 + scatter})


@pairs.of("A.errata.fig1a_images")
def near_the_print_with_fewer_images(true, rng):
    """Of the null, networks with all images are as near at one of the epochs."""
    epochs = [4.0, 2.0 if true else 0.3, 3.0]
    along = xr.concat([panel(rng, off, 3) for off in epochs], xr.Variable("at_epoch", [10, 20, 40]))
    fewer = panel(rng, 0.4 if true else rng.choice([0.4, 1.5]))
    return {"fewer": fewer, "along": along, "printed": PRINT}


@pairs.fair("A.errata.fig1a_images")
def as_near_with_all_images(rng):
    """At one of the epochs; the distances of cells are drawn from one population."""
    off = rng.normal(0, 0.5, (4, 6, 8))
    along = xr.concat([panel(rng, 4 * one, 3) for one in off[:3]], xr.Variable("at_epoch", [10, 20, 40]))
    along = xr.concat([along, panel(rng, off[3], 3).expand_dims(at_epoch=[30])], "at_epoch")
    return {"fewer": panel(rng, rng.normal(0, 0.5, (6, 8))), "along": along, "printed": PRINT}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
