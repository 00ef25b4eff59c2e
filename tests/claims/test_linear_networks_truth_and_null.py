"""Claims of the page on linear networks on made-up curves, on chains, and on noise that does or does not grow."""

import numpy as np
import pytest
import runs_spring_block
import xarray as xr
from runs_spring_block import curves
from truth_and_null import Pairs

from deepmech import Chain, over, simulate
from deepmech.metrics.curvature import curvature
from deepmech_book import claims
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS

pairs = Pairs("spring_block/linear_networks")
LEFT = 0.1


def networks(rng, bends, dim="training", n_seeds=3, scatter=0.001):
    """Networks of these curvatures over ``dim`` and ``seed``."""
    shape = xr.DataArray(list(bends.values()), {dim: list(bends)})
    runs = shape + xr.DataArray(
        rng.normal(0, scatter, (len(bends), n_seeds)), {dim: list(bends), "seed": range(n_seeds)}
    )
    load = curves(runs)
    return xr.Dataset({"load_curve": load, "curvature": curvature(load)})


def chain(rng, right, left=LEFT, **how):
    noise = over("noise", [0.0, 0.001, 0.02, 0.04])
    return simulate(
        Chain(friction_right=right, friction_left=left, noise=noise),
        100.0,
        n_runs=40,
        seed=int(rng.integers(1e6)),
        **how,
    )


@pairs.of("A.5a.small_step")
def equal_steps(true, rng):
    return {"made": networks(rng, {"small steps": 0.0 if true else 0.02}, scatter=1e-4)}


@pairs.of("A.5a.nonlinearity")
def an_activation_bends(true, rng):
    """Of the null, an activation leaves the curve as it was."""
    bend = 0.03 if true else 0.0
    return {"made": networks(rng, {"ReLU": bend, "slope 0.5": bend, "linear": 0.0})}


@pairs.of("A.5a.bends")
def dropout_and_steps_bend(true, rng):
    """Of the null, one of the three does nothing."""
    batch = networks(rng, {10: 0.0, 1: -0.02 if true else 0.0}, "batch")
    return {"made": networks(rng, {"small steps": 0.0, "dropout": -0.1, "large steps": -0.2}), "batches": batch}


@pairs.fair("A.5a.nonlinearity")
def one_activation_bends_as_none(rng):
    return {"made": networks(rng, {"ReLU": 0.03, "slope 0.5": 0.01, "linear": 0.01})}


@pairs.fair("A.5a.bends")
def one_of_three_bends_as_small_steps(rng):
    batch = networks(rng, {10: -0.01, 1: -0.02}, "batch")
    return {"made": networks(rng, {"small steps": -0.02, "dropout": -0.1, "large steps": -0.2}), "batches": batch}


@pairs.of("A.5b.noiseless", "A.5b.convex")
def no_friction_to_the_right(true, rng):
    """Of the null, there is as much of it as to the left, so that friction is symmetric."""
    return {"free": chain(rng, 0.0 if true else LEFT)}


@pairs.of("A.5b.limit")
def half_of_the_friction(true, rng):
    """Of the null, friction to the left is another than Eq. 8 is told."""
    return {"free": chain(rng, 0.0, LEFT if true else LEFT * rng.choice([0.8, 1.2])), "friction_left": LEFT}


SLOPES, AT = [0.0, 0.4, 1.0], [0, 10, 100]
PANELS = {"dropout": "dropout", "data noise": "data_noise"}


def noise_by_layer(rng, before=0.2, grows=0.2, n_seeds=5):
    """Noise over signal that grows by so much on its way, before and after training; (kind, strength, slope) or one."""
    kinds = list(KINDS)
    after = np.broadcast_to(grows, (len(kinds), 3, 3))
    ways = np.stack([np.full(after.shape, before), (after + before) / 2, after], -1)
    ways = np.stack([ways, np.zeros(ways.shape)], -1)[:, :, :, None]
    ways = ways + rng.normal(0, 0.03, (3, 3, 3, n_seeds, 3, 2))
    depth = np.linspace(-1 / 5, 1, 7)  # 0 at the second layer
    cells = {"noise": kinds, "strength": list(STRENGTHS), "slope": SLOPES, "seed": range(n_seeds), "at_epoch": AT}
    cells |= {"signal": ["activations", "gradients"], "layer": range(1, 8)}
    return xr.Dataset({"relative": xr.DataArray(10 ** (ways[..., None] * depth - 2), cells)})


def diagram(rng, kind):
    """The panel with that noise: convex in linear networks and under strong noise, as in the paper's."""
    return runs_spring_block.networks(rng, lambda slope, at: 0.2 - 0.25 * at - 0.25 * slope, noise=PANELS[kind])


def in_convex_cells(true, rng, kind):
    """The noise grows where curves are convex and shrinks elsewhere; of the null, in as many cells by lot."""
    panel = diagram(rng, kind)
    bend = panel["curvature"].sel({PANELS[kind]: list(KINDS[kind])}).sel(slope=SLOPES).mean("seed")
    grows = np.where(bend.transpose(PANELS[kind], "slope").values < 0, 0.2, -0.2)
    dealt = rng.permutation(grows.ravel()).reshape(3, 3)
    made = noise_by_layer(rng, grows=grows if true else dealt)
    return {"made": made.sel(noise=kind), "diagram": panel}


@pairs.of("A.text.forward_noise")
def before_training(true, rng):
    return {"made": noise_by_layer(rng, before=0.2 if true else 0.0)}


@pairs.of("A.text.forward_noise.dropout")
def of_dropout(true, rng):
    return in_convex_cells(true, rng, "dropout")


@pairs.of("A.text.forward_noise.data")
def of_data(true, rng):
    return in_convex_cells(true, rng, "data noise")


def test_without_a_convex_cell_there_is_nothing_to_judge():
    rng = np.random.default_rng(0)
    concave = runs_spring_block.networks(rng, lambda slope, at: 0.2)
    found = claims.measure("A.text.forward_noise.dropout", noise_by_layer(rng).sel(noise="dropout"), concave)
    assert found.verdict == "not testable at this profile" and "convex" in found.reason


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
