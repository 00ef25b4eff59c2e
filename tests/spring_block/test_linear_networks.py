"""Pairs of the page spring_block/linear_networks: linear networks, chains without friction, and noise by layer."""

import numpy as np
import pytest
import xarray as xr
from runs_diagrams import diagram
from runs_spring_block import curves, springs

from deepmech.metrics.curvature import curvature
from deepmech_book import claims
from deepmech_book.spring_block import linear_networks
from deepmech_book.sweeps.spring_block.networks import PANELS
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS
from pairs import Page

page = Page("spring_block/linear_networks")


def networks(rng, bends, scatter, dim="training"):
    """Three networks each of these curvatures, scattered so much, over ``dim`` and ``seed``."""
    cells = {dim: list(bends), "seed": range(3)}
    runs = xr.DataArray(list(bends.values()), {dim: list(bends)}) + xr.DataArray(
        np.array(scatter)[:, None] * rng.standard_normal((len(bends), 3)), cells
    )
    load = curves(runs)
    return xr.Dataset({"load_curve": load, "curvature": curvature(load)})


@page.pair("A.5a.small_step", usual=0.005)
def unequal_steps(level, rng, rival):
    """One layer of seven does less than the others, by the level, in each of three networks to its own degree."""
    less = level[""] + 9.56e-4 * rng.standard_normal(3)
    step = np.ones((1, 3, 7))
    step[0, :, 4] -= less * 7 / (6 + less)
    load = 9 - np.insert(step.cumsum(-1), 0, 0.0, -1)
    cells = {"training": ["small steps"], "seed": range(3), "layer": range(8)}
    return {"made": xr.Dataset({"load_curve": xr.DataArray(load, cells)})}


WAYS = ("dropout", "steps of 0.01, one sample each", "much larger steps")


@page.pair("A.5a.bends", panels=WAYS, usual=-0.1, told=0.08)
def three_that_bend(level, rng, rival):
    dropout, single, large = level.values()
    quiet = dropout if rival else 0.1
    made = networks(rng, {"small steps": quiet, "dropout": dropout, "large steps": large}, (1.5e-4, 1.5e-4, 1.5e-4))
    return {"made": made, "batches": networks(rng, {10: 0.0, 1: single}, (1.5e-4, 1.5e-4), "batch")}


NOISES = [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.04]


@page.pair("A.5b.noiseless", usual=1 / 8, expected=1 / 8, reach=1e-7)
def equal_springs(level, rng, rival):
    """A spring in the middle is as long as the level, the others share the rest."""
    off = (level[""] - 1 / 8) * np.insert([-1 / 7] * 7, 3, 1.0)
    moved = xr.DataArray(np.insert(off.cumsum(), 0, 0.0), dims="block")
    free = springs(rng, xr.DataArray([0.0], {"noise": [0.0]}), n_runs=2, scatter=0.0)
    return {"free": free.assign(load_curve=free["load_curve"] - moved)}


@page.pair("A.5b.convex", panels=NOISES[1:], usual=-0.05)
def bent_by_noise(level, rng, rival):
    bend = xr.DataArray([0.0, *level.values()], {"noise": NOISES})
    runs = bend + xr.DataArray(4e-4 * rng.standard_normal((7, 200)), dims=("noise", "run"))
    return {"free": xr.Dataset({"load_curve": curves(runs, 8, "block")})}


LEFT = 0.1


@page.pair("A.5b.limit", panels=NOISES[-2:], usual=-0.05, expected=-LEFT / 2)
def half_of_the_friction(level, rng, rival):
    step = xr.DataArray([0.0 if rival else at for at in level.values()], {"noise": NOISES[-2:]})
    return {"free": springs(rng, step, n_runs=1000, scatter=0.0053), "friction_left": LEFT}


SLOPES = [0.0, 0.4, 1.0]


def noise_by_layer(rng, start, end, scatter):
    """Noise over signal that grows by so much, (kind, strength, slope) or one, before and after training."""
    ways = np.stack([np.broadcast_to(grows, (3, 3, 3)) for grows in (start, end)], -1)[:, :, :, None]
    ways = ways + scatter * rng.standard_normal((3, 3, 3, 5, 2))
    depth = np.linspace(-1 / 5, 1, 7)  # 0 at the second layer
    cells = {"noise": list(KINDS), "strength": list(STRENGTHS), "slope": SLOPES, "seed": range(5), "at_epoch": [0, 100]}
    activations = xr.DataArray(10 ** (ways[..., None] * depth - 2), {**cells, "layer": range(1, 8)})
    back = activations.copy(data=activations.values[..., ::-1])
    return xr.Dataset({"relative": xr.concat([activations, back], xr.Variable("signal", ["activations", "gradients"]))})


@page.pair("A.text.forward_noise", panels=KINDS, usual=0.4)
def before_training(level, rng, rival):
    start = np.array(list(level.values()))[:, None, None]
    return {"made": noise_by_layer(rng, start, 0.0, 0.138)}


def in_convex_cells(kind, panel, scatter):
    def maker(level, rng, rival):
        """Two cells of the panel are convex, at the strongest noise; noise shrinks in all the others."""
        grows = np.full((3, 3, 3), -0.3)
        grows[list(KINDS).index(kind), 2, 1:] = level["weakly"], level["strongly"]
        made = noise_by_layer(rng, 0.2, grows, scatter)
        columns = np.isin(PANELS[panel].values, KINDS[kind][2])
        bend = np.where(columns & np.array([0, 0, 1, 0, 0, 1], bool)[:, None], -0.2, 0.1)
        return {"made": made.sel(noise=kind), "diagram": diagram(rng, panel, bend)}

    return maker


for claim, kind, panel, scatter in (
    ("A.text.forward_noise.dropout", "dropout", "dropout", 0.0184),
    ("A.text.forward_noise.data", "data noise", "data_noise", 0.0215),
):
    page.pair(claim, panels=("weakly", "strongly"), usual=0.2)(in_convex_cells(kind, panel, scatter))

test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_without_a_convex_cell_there_is_nothing_to_judge():
    rng = np.random.default_rng(0)
    made = noise_by_layer(rng, 0.2, 0.2, 0.01).sel(noise="dropout")
    found = claims.measure("A.text.forward_noise.dropout", made, diagram(rng, "dropout", 0.2))
    assert found.verdict == "not testable at this profile" and "convex" in found.reason


def test_activations_count_from_the_second_layer_to_the_last_and_gradients_the_other_way():
    layers = [0.0, 1e-3, 1e-2, 1e-1]  # of the first layer under dropout there is no noise
    made = xr.Dataset({"relative": (("signal", "layer"), [layers, [1.0, 1e-1, 1e-2, 1e-4]])})
    made = made.assign_coords(signal=["activations", "gradients"], layer=range(1, 5))
    assert linear_networks.growth(made).values == pytest.approx([2.0, 3.0])


def test_pictures_show_logarithms_by_panel_and_intervals_by_cell():
    made = noise_by_layer(np.random.default_rng(0), 0.2, 0.5, 0.01).sel(signal="activations")
    shown = linear_networks.by_panel(made["relative"].sel(strength="weak"))
    assert len(shown) == 6 and shown["data noise,\nReLU"].dims == ("at_epoch", "layer")
    assert float(shown["dropout,\nα=0.4"].sel(at_epoch=100, layer=7)) == pytest.approx(-1.5, abs=0.02)
    grows = linear_networks.growth(made.expand_dims("signal")).isel(signal=0, at_epoch=-1)
    found = linear_networks.by_cell(grows, {"dropout": diagram(np.random.default_rng(0), "dropout", -0.2)})
    assert found.value.sel(cell="dropout 0.28, linear", curve="convex") == pytest.approx(0.5, abs=0.03)
    assert found.value.sel(curve="not convex").isnull().all()
    assert found.value.attrs["long_name"] == found.low.attrs["long_name"]
