"""Pair of the page spring_block/dropout_diagram, and its pictures' numbers on made-up diagrams."""

import numpy as np
import xarray as xr
from runs_diagrams import diagram
from runs_spring_block import curves

from deepmech_book.spring_block import dropout_diagram
from pairs import Page

page = Page("spring_block/dropout_diagram")


@page.pair("A.1.c.each_layer", panels=range(7), usual=0.2)
def layers_that_work(level, rng, rival):
    """Ten networks of 48 cells, in one of which each layer has a level of its own; before training D rises."""
    falls = np.full((6, 8, 1, 7), 0.2)
    falls[2, 3, 0] = list(level.values())
    steps = falls + rng.normal(0, 0.007, (6, 8, 10, 7))
    random = np.full(7, -0.05) if not rival else np.array([-0.05] * 3 + [0.2] + [-0.05] * 3)
    before = random + rng.normal(0, 0.007, (10, 7))
    load, untrained = (-np.insert(np.cumsum(one, -1), 0, 0.0, -1) for one in (steps, before))
    dims = ("slope", "dropout", "seed", "layer")
    return {"load": xr.DataArray(load, dims=dims), "untrained": xr.DataArray(untrained, dims=dims[2:])}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_pictures_show_means_over_runs_and_seeds():
    rng = np.random.default_rng(0)
    made = diagram(rng, "dropout", np.linspace(0.2, -0.05, 8))
    made = made.assign(load_curve=curves(made["curvature"]))
    cells = {"friction_right": [0.1, 0.2], "noise": [0.0, 0.01, 0.02], "run": range(4)}
    bend = xr.DataArray(0.01 * rng.standard_normal((2, 3, 4)), cells) - 10 * xr.DataArray(cells["noise"], dims="noise")
    both = dropout_diagram.side_by_side(xr.Dataset({"load_curve": curves(bend, 8, "block")}), made)
    for one, (noise, kind) in zip(both.values(), (("noise", "friction_right"), ("dropout", "slope")), strict=True):
        assert one.curvature.dims == (noise, kind) and one.load_curve.dims[:2] == (noise, kind)
        assert (one.curvature.diff(noise) < 0).all()
    assert both["a chain"].friction_right.attrs["long_name"]
    bend, percent, slope = dropout_diagram.cells(made)
    assert bend.dims == percent.dims == slope.dims and (percent > 80).all() and (slope.sel(slope=0.2) == 0.2).all()
    relu = dropout_diagram.of_relu(made)
    assert set(relu.dims) == {"dropout", "layer"} and relu.layer.attrs["long_name"] and relu.attrs["long_name"]
