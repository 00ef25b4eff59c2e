"""Pairs of the page beyond/other_networks, and its tables where networks are known."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from runs_diagrams import mixed

from deepmech.metrics.curvature import curvature
from deepmech_book.beyond import other_networks
from deepmech_book.spring_block.summaries import NetworkDiagram
from pairs import Page

page = Page("beyond/other_networks")
KINDS = ("residual", "transformer")
CELLS = {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.15, 0.3, 0.5], "seed": range(10)}


def networks(bend, scatter, rng, accuracy=0.9, off=0.01):
    """Ten networks a cell, scattered about means of cells (slope, dropout)."""

    def of(means, size):
        return xr.DataArray(np.broadcast_to(means, (3, 4))[..., None] + size * rng.standard_normal((3, 4, 10)), CELLS)

    return xr.Dataset({"curvature": of(bend, scatter), "accuracy": of(accuracy, off)})


LAZY, NOISY = other_networks.CORNERS.values.tolist()
SCATTER = {"plain": (0.017, 0.0096), "residual": (0.018, 0.005), "transformer": (0.052, 0.04)}
"""Of the networks that ship, in both corners, from seed to seed."""


def cornered(levels, scatter, rng):
    """Networks with these levels in the two corners, and half of them elsewhere."""
    one = networks(0.0, 0.0, rng)
    bend = one["curvature"] + xr.DataArray([levels[LAZY], 0.0, 0.0, -levels[NOISY]], dims="dropout")
    each = rng.standard_normal((4, 10)) * np.array([scatter[0], 0, 0, scatter[1]])[:, None]
    return one.assign(curvature=bend + xr.DataArray(each, dims=("dropout", "seed")))


def as_bent_before_training(kind):
    def maker(level, rng, rival):
        """Untrained networks, which scatter more, are bent the other way; with ``rival`` as far, in one corner."""
        before = {LAZY: level[LAZY] if rival else -0.4, NOISY: -0.4}
        return {"trained": cornered(level, SCATTER[kind], rng), "untrained": cornered(before, (0.12, 0.12), rng)}

    return maker


for kind, scatter in SCATTER.items():
    reach = dict(zip((LAZY, NOISY), 0.72 * np.array(scatter), strict=True))
    page.pair(f"A.1.travels.{kind}", panels=(LAZY, NOISY), usual=0.2, reach=reach)(as_bent_before_training(kind))


@cache
def placed(level):
    """Sizes of bends and accuracies (slope, dropout) of this rank correlation, where no rate of dropout is best."""
    size, right, found = np.arange(12) / 12, mixed(round(level, 3), 12), []
    for draw in range(40):
        at = np.random.default_rng(draw).permutation(12)
        cells = size[at].reshape(3, 4), right[at].reshape(3, 4)
        one = networks(cells[0], 0.0, np.random.default_rng(0), cells[1], 0.0)
        found.append((NetworkDiagram(one).falls().null, draw, cells))
    return max(found, key=lambda one: one[0])[2]


@page.pair("A.1.travels.accuracy", panels=KINDS, usual=-0.7, told=0.3)
def accurate_where_straight(level, rng, rival):
    """With ``rival`` the size of the bend is the distance from the best rate of dropout, but for scatter."""
    cells = {kind: placed(at) for kind, at in level.items()}
    made = {kind: networks(size, 0.01, rng, right, 0.05) for kind, (size, right) in cells.items()}
    if rival:
        away = np.abs(np.arange(4) - 1) / 4 + 0 * np.arange(3)[:, None]
        made["residual"] = networks(away, 0.05, rng, 0.9 - away, 0.05)
    return {"diagrams": made}


def on_images(rng, coarse, fine, repeated):
    """Three networks of these curvatures on images of three sizes, scattered as those that ship."""
    cells = {"images": ["10", "28", "10 as 28"], "seed": range(3)}
    bend = xr.DataArray(np.array([coarse, fine, repeated])[:, None] + 0.0025 * rng.standard_normal((3, 3)), cells)
    return {"sizes": xr.Dataset({"curvature": bend, "accuracy": 0 * bend + 0.9})}


@page.pair("A.1.travels.resolution", usual=0.1)
def more_to_see(level, rng, rival):
    return on_images(rng, 0.1, 0.1 - level[""], 0.1 - level[""] * rival)


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_the_table_of_corners_has_curvatures_of_least_slope_and_dropout_and_no_signs_of_the_claim():
    cells = {"slope": [0.0, 1.0], "dropout": [0.5, 0.0], "seed": range(4)}
    bend = xr.DataArray(np.array([[-0.2, 0.3], [-0.4, 0.1]])[..., None] + np.zeros(4), cells)
    one = xr.Dataset({"curvature": bend})
    table = other_networks.table_of_corners({"plain": one}, {"plain": 0 * one})
    for corner, value in ((LAZY, 0.3), (NOISY, -0.3)):
        assert table.loc[("plain", corner)].tolist() == pytest.approx([value, value, value, 0.0])


def test_the_table_of_images_tells_the_first_layer_from_the_rest():
    load = xr.DataArray(np.array([4.0, 2.0, 1.0, 0.0]) + np.zeros((1, 3, 1)), dims=("images", "seed", "layer"))
    one = {"load_curve": load.assign_coords(images=["10"]), "curvature": curvature(load), "accuracy": load[..., 0]}
    row = other_networks.table_of_images(xr.Dataset(one)).loc["10"]
    assert row["share of the first layer"] == 0.5 and row["curvature from layer 1"] == 0 != row["curvature"]
