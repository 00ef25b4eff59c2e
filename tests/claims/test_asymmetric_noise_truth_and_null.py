"""Claims of spring_block/asymmetric_noise hold where noise grows with depth in convex cells, not in as many others."""

import numpy as np
import pytest
import runs_spring_block
import xarray as xr
from truth_and_null import Pairs

from deepmech_book import claims
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS

pairs = Pairs("spring_block/asymmetric_noise")
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


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)


def test_without_a_convex_cell_there_is_nothing_to_judge():
    rng = np.random.default_rng(0)
    concave = runs_spring_block.networks(rng, lambda slope, at: 0.2)
    found = claims.measure("A.text.forward_noise.dropout", noise_by_layer(rng).sel(noise="dropout"), concave)
    assert found.verdict == "not testable at this profile" and "convex" in found.reason
