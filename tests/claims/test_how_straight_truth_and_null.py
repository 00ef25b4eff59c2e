"""Claims of the page on straight curves on diagrams whose accuracy is highest there, and on such where it is not."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import networks
from truth_and_null import Pairs

from deepmech_book.analysis.spring_block.summaries import NetworkDiagram

pairs = Pairs("spring_block/how_straight")


def best_at(rng, bend, **how):
    """A diagram of networks that are the most accurate at this curvature; mostly concave."""
    return networks(
        rng, lambda slope, at: 0.35 - 0.45 * at - 0.05 * slope, lambda c, slope, at: 0.95 - abs(c - bend) / 2, **how
    )


@pairs.of("A.1.best_is_straight", "A.SM.best_is_straight")
def straight_cells_win(true, rng):
    """Of the null, half of the diagrams have the best cells elsewhere, and half are equally accurate everywhere.

    Ten seeds choose cells, and of one diagram forty fresh ones judge.
    """
    other = best_at(rng, rng.choice([-0.09, 0.12, 0.2]), n_seeds=50) if rng.uniform() < 0.5 else networks(
        rng, lambda slope, at: 0.25 - 0.45 * at - 0.05 * slope, lambda c, slope, at: 0.9, n_seeds=50
    )  # fmt: skip
    second = best_at(rng, 0.0, n_seeds=50) if true else other
    made = {"(b)": best_at(rng, 0.0, noise="learning_rate"), "(c)": second.isel(seed=slice(10))}
    slopes, values = zip(*NetworkDiagram(made["(c)"]).champions(), strict=True)
    cells = {"slope": xr.DataArray(list(slopes), dims="place"), "dropout": xr.DataArray(list(values), dims="place")}
    return {"diagrams": made, "fresh": {"(c)": second.isel(seed=slice(10, None)).sel(cells)}}


@pairs.of("A.S9.bent_is_better")
def bent_cells_win(true, rng):
    """Of the null, the straight cells of one of two diagrams are the most accurate, or all cells are."""
    return straight_cells_win(False, rng) if not true else {
        "diagrams": {depth: best_at(rng, 0.2, noise="learning_rate") for depth in ("S9(a)", "S9(b)")}, "fresh": {}
    }  # fmt: skip


@pairs.of("A.1.best_cell")
def the_best_cell_is_straight(true, rng):
    return {"diagrams": {"(b)": best_at(rng, 0.0, noise="learning_rate"), "(c)": best_at(rng, 0.0 if true else 0.12)}}


@pairs.of("A.4.linear_is_best")
def the_straight_regime_leads(true, rng):
    """Of the null, the convex regime is as accurate as the straight one."""
    means = np.array([0.90, 0.92, 0.90 if true else 0.92])
    accuracy = means[:, None] + rng.normal(0, 0.003, (3, 12))
    regimes = {"regime": ["lazy", "straight", "convex"], "seed": range(12)}
    return {"three": xr.Dataset({"accuracy": xr.DataArray(accuracy, regimes)})}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
