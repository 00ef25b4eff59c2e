"""Pairs of the page spring_block/phase_diagram, on chains whose springs grow evenly, and its pictures' numbers."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import springs

from deepmech import curvature, over, simulate
from deepmech_book.spring_block import phase_diagram
from deepmech_book.spring_block.chains import DIAGRAMS
from deepmech_book.spring_block.phase_diagram import LEFT
from pairs import Page

page = Page("spring_block/phase_diagram")
MU = {figure: one.frictions(9).tolist() for figure, one in DIAGRAMS.items()}
BELOW = {figure: [mu for mu in MU[figure] if mu < one.friction_left] for figure, one in DIAGRAMS.items()}
NOISES = DIAGRAMS["A.3"].noises(6).tolist()
BENT = 12 / 63
"""Step in elongation from spring to spring, by the signed curvature that seven blocks have under it."""


def cells(figures):
    return [(figure, mu) for figure, rows in figures.items() for mu in rows]


def chains(rng, bends, scatter, n_runs=100):
    """Chains over friction and noise of these curvatures, which scatter over runs; they are even where |c| < 1/6."""
    return springs(rng, BENT * bends, n_runs=n_runs, scatter=BENT * scatter)


def column(rng, level, figure, scatter, n_runs=100):
    """One noise of a diagram, whose rows have the levels of its figure."""
    rows = {mu: bend for (name, mu), bend in level.items() if name == figure}
    bends = xr.DataArray([[bend] for bend in rows.values()], {"friction_right": list(rows), "noise": [0.0]})
    return chains(rng, bends, scatter, n_runs)


REACH = {"A.3": 0.0013, "A.S13": 0.013, "A.S14": 0.0063}


@page.pair("A.3.convex", panels=cells(BELOW), usual=-0.1, reach={cell: REACH[cell[0]] for cell in cells(BELOW)})
def carried_ahead(level, rng, rival):
    runs = {"A.3": (0.0065, 100), "A.S13": (0.065, 100), "A.S14": (0.091, 800)}
    return {"diagrams": {figure: column(rng, level, figure, *how) for figure, how in runs.items()}}


@page.pair("A.3.monotone", panels=[(mu, noise) for mu in BELOW["A.3"] for noise in NOISES[1:]], usual=-0.04, reach=4e-4)
def steps_down(level, rng, rival):
    """Every row begins at 0.1; from noise to noise it falls, or rises by the level."""
    steps = np.reshape(list(level.values()), (-1, len(NOISES) - 1))
    bends = np.cumsum(np.pad(steps, [(0, 0), (1, 0)], constant_values=0.1), axis=1)
    labels = {"friction_right": BELOW["A.3"], "noise": NOISES}
    return {"first": chains(rng, xr.DataArray(bends, labels), 0.0014)}


@page.pair("A.3.never_convex", panels=[(mu, noise) for mu in MU["A.3"][7:] for noise in NOISES], usual=0.1, reach=0.001)
def never_below(level, rng, rival):
    bends = np.reshape(list(level.values()), (-1, len(NOISES)))
    labels = {"friction_right": MU["A.3"][7:], "noise": NOISES}
    return {"first": chains(rng, xr.DataArray(bends, labels), 0.005)}


HALF = {mu: (mu - LEFT) / 2 for mu in MU["A.3"][::2]}


@page.pair("A.3.eq8", panels=HALF, usual=HALF, expected=HALF, rival=False)
def half_the_difference(level, rng, rival):
    steps = xr.DataArray([[step] for step in level.values()], {"friction_right": list(level), "time": [300.0]})
    return {"strong": springs(rng, steps, n_runs=1000, scatter=4.1e-4)}


@page.pair("A.S14.decay", usual=0.002, reach=0.001)
def noise_that_fades(level, rng, rival):
    """Twenty runs, which scatter by a fifth, as those that ship do, those of all frictions alike; these move less."""

    def moving(last):
        way = np.array([0, 0.1, 0.1, 1])[:, None] * np.ones((7, 20, 1, 9))
        way[:, :, 3] = last * (1 + 0.214 * rng.standard_normal((20, 1)))
        dims = ("friction_right", "run", "time", "block")
        return xr.Dataset({"position": xr.DataArray(way.cumsum(2), {"friction_right": BELOW["A.S14"]}, dims)})

    return {"fading": moving(level[""]), "constant": moving(0.001 if rival else 0.3)}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_the_averaged_chain_is_straight_where_simulated_curves_are():
    fig3 = DIAGRAMS["A.3"]
    chain = fig3.chain(n_friction=6, n_noise=41)
    chain = replace(chain, friction_right=chain.friction_right[1:4])  # 0.05 to 0.15
    bend = curvature(simulate(chain, 100, n_runs=10)["load_curve"], dim="block").mean("run")
    line = phase_diagram.straight_line(fig3).interp(friction_right=bend.friction_right)
    assert (abs(bend.interp(noise=line)) < 0.02).all()
    assert phase_diagram.straight_line(replace(fig3, noise_range=1e-4)).size == 0, "no noise of it is enough"


def test_inertia_counts_less_and_less():
    distance, law = phase_diagram.distance_from_overdamped(over("damping", [1.0, 8.0, 16.0]), n_times=6)
    assert distance[0] > 0.1 and float(distance[1] / distance[2]) == pytest.approx(4, rel=0.1)
    assert law.values.tolist() == pytest.approx([256 * float(law[2]), 4 * float(law[2]), float(distance[2])])
