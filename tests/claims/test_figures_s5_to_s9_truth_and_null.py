"""Claims of the page on Figs. S5 to S9 on networks that do what the paper says, and on such that do not."""

from functools import partial

import numpy as np
import pytest
from runs_spring_block import networks, shuffled
from truth_and_null import Pairs

from deepmech.metrics.curvature import curvature

pairs = Pairs("spring_block/figures_s5_to_s9")


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


@pairs.of("A.S7.linear_slow")
def linear_networks_lag(true, rng):
    """Of the null, linear networks reach the same loss by either optimiser, which is all that they can."""
    adam, descent = (networks(rng, falling, noise="data_noise") for _ in range(2))
    far = 0.4 + rng.normal(0, 0.01, descent["loss"].shape)
    near = (0.05 if true else 0.4) + rng.normal(0, 0.01, adam["loss"].shape)
    return {
        "descent": descent.assign(loss=descent["loss"].copy(data=far)),
        "adam": adam.assign(loss=adam["loss"].copy(data=near)),
    }


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


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
