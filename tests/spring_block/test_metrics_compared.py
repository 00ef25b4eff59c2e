"""Pairs of the page spring_block/metrics_compared: diagrams in two measures, and regimes of regression."""

import numpy as np
import xarray as xr
from runs_diagrams import diagram, tied
from runs_spring_block import curves

from deepmech_book.spring_block import metrics_compared
from pairs import Page

page = Page("spring_block/metrics_compared")
DROPOUTS = range(8)


def in_both(one, other):
    return {"made": xr.concat([one, other], xr.Variable("metric", ["D", "D_hat"]))}


def in_order(rng, numbers, scatter=0.0, slopes=None):
    """A diagram of these curvatures, between 0 and 1 from cell to cell."""
    how = {} if slopes is None else {"slopes": slopes}
    return diagram(rng, "dropout", numbers, scatter=scatter, **how)[["curvature", "accuracy"]]


@page.pair("A.S10.dropout_bends", panels=(0, 1), usual=-0.7, reach=0.03, told=0.3)
def orders_of_columns(level, rng, rival):
    """Two rows whose columns are in an order of their own, some of them alike; what ships has six."""
    bend = np.stack([0.03 * tied(at, 8) for at in level.values()])
    return in_both(in_order(rng, 0 * bend, slopes=(0.0, 0.4)), in_order(rng, bend, 0.01, slopes=(0.0, 0.4)))


@page.pair("A.S11.relu_agrees", usual=0.9, reach=0.03, told=0.3)
def relu_networks_alike(level, rng, rival):
    """Rates of D̂ in an order of their own, some alike; those that ship have the order of D in every draw of seeds."""
    orders = np.arange(8), tied(level[""], 8)
    return in_both(*(in_order(rng, 0.03 * order[None], 0.01, slopes=(0.0,)) for order in orders))


@page.pair("A.S11.linear_flat", panels=DROPOUTS, usual=0.5)
def flat_in_linear_networks(level, rng, rival):
    """Curves of two layers; D falls by 1 in all, D̂ in linear networks by the level."""
    share = np.stack([[9.0 if not rival else one for one in level.values()], [*level.values()]])
    share = share[..., None] + 0.0094 * rng.standard_normal((2, 8, 10))
    fall = np.stack([np.ones_like(share), share])
    cells = {"metric": ["D", "D_hat"], "slope": [0.0, 1.0], "dropout": DROPOUTS, "seed": range(10), "layer": [0, 1]}
    return {"made": xr.Dataset({"load_curve": xr.DataArray(np.stack([fall, 0 * fall], -1), cells)})}


def regimes(rng, heights, scatter):
    """Ten networks of each of these heights over the chord in three regimes, and before training; all fall by one."""
    height = np.array(heights)[:, None] + np.array(scatter)[:, None] * rng.standard_normal((4, 10))
    bend = xr.DataArray(height, {"regime": [*"123", "untrained"], "seed": range(10)})
    return {"made": xr.Dataset({"load_curve": curves(bend)})}


@page.pair("A.S12.lazy", usual=0.1)
def concave(level, rng, rival):
    return regimes(rng, [level[""], 0.0, -0.3, level[""] if rival else -0.3], [0.0087, 0.01, 0.01, 0.0087])


@page.pair("A.S12.noisy", usual=-0.1)
def convex(level, rng, rival):
    return regimes(rng, [0.1, 0.0, level[""], level[""] if rival else 0.3], [0.01, 0.01, 0.0047, 0.0087])


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_pictures_show_means_in_both_measures():
    rng = np.random.default_rng(0)
    made = in_both(*(in_order(rng, np.tile(np.arange(8) / 8, (6, 1)) + more, 0.01) for more in (0.0, 1.0)))["made"]
    one, other, slope = metrics_compared.curvatures(made)
    np.testing.assert_allclose(other - one, 1.0, atol=0.02)
    assert one.dims == slope.dims and (slope.isel(slope=1) == 0.2).all() and r"\hat D" in other.attrs["long_name"]
    panels = metrics_compared.by_dropout(made.assign(load_curve=made["curvature"]))
    assert list(panels) == ["ReLU, $D$", r"ReLU, $\hat D$", "linear, $D$", r"linear, $\hat D$"]
    np.testing.assert_allclose(panels[r"linear, $\hat D$"], 1 + np.arange(8) / 8, atol=0.02)
