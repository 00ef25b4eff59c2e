"""Claims of the page on Fig. 4, on made-up chains and networks of its three regimes and on those of nulls."""

import numpy as np
import pytest
import xarray as xr
from runs_spring_block import curves
from truth_and_null import Pairs

from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, averaged
from deepmech_book.analysis.spring_block import chain_fits

pairs = Pairs("spring_block/three_regimes")
REGIMES = ["b", "c", "d"]
BENDS = np.array([0.2, 0.0, -0.2])


def bent(rng, bends, run, n, layer, scatter=0.01, **labels):
    """Load curves over ``regime`` and ``run`` of these curvatures."""
    shape = np.asarray(bends)[..., None] + rng.normal(0, scatter, (*np.shape(bends), n))
    return curves(xr.DataArray(shape, {**labels, "regime": REGIMES, run: range(n)}), dim=layer)


def chains(rng, bends):
    """Chains at one time, of these curvatures over kind and regime."""
    load = bent(rng, bends, "run", 40, "block", kind=["shared", "own", "none"])
    return xr.Dataset({"load_curve": load.expand_dims(time=[100.0])})


@pairs.of("A.4.shapes")
def three_shapes_of_each(true, rng):
    """Or a chain or a network of one regime whose curve is between two shapes or has the next one's."""
    both = np.stack([BENDS, BENDS])
    if not true:
        which, (regime, bend) = (
            rng.integers(2),
            [(0, 0.05), (1, -0.06), (1, 0.2), (2, -0.05), (2, 0.0)][rng.integers(5)],
        )
        both[which, regime] = bend
    load = bent(rng, both[1], "seed", 10, "layer")
    kinds = np.stack([both[0], both[0], [0.3, 0.2, 0.2]])
    return {"chains": chains(rng, kinds), "networks": xr.Dataset({"curvature": curvature(load)})}


@pairs.of("A.4.shared_noise")
def whose_noise_it_is(true, rng):
    """Does not matter, and that there is some does; of the null both matter, or neither, in one regime."""
    kinds = np.stack([BENDS, BENDS, [0.3, 0.2, 0.2]])
    if not true:
        regime = rng.integers(3)
        kinds[:, regime] = [(0.2, 0.0, -0.2), (0.2, 0.2, 0.2)][rng.integers(2)]
    return {"chains": chains(rng, kinds)}


def moving(rng, alike, run, n, layer, time, n_times, **labels):
    """Load curves that move at random, neighbours with this correlation of steps; over the dims of ``alike``."""
    shape = (*np.shape(alike), n, n_times)
    alike = np.asarray(alike)[..., None, None, None]
    step = np.sqrt(alike) * rng.normal(size=(*shape, 1)) + np.sqrt(1 - alike) * rng.normal(size=(*shape, 7))
    load = np.pad(step.cumsum(-2), [(0, 0)] * (step.ndim - 1) + [(1, layer == "block")])
    names = {**labels, "regime": REGIMES, run: range(n), time: np.linspace(0, 100, n_times)}
    return xr.Dataset({"load_curve": ((*names, layer), load)}, names)


@pairs.of("A.4.shared_fluctuations")
def networks_whose_layers_move_together(true, rng):
    """Or, in one regime, hardly more than blocks with noise of their own."""
    kinds = np.repeat([[0.98], [0.3], [0.3]], 3, axis=1)
    layers = np.full(3, 0.85)
    if not true:
        layers[rng.integers(3)] = rng.uniform(0.2, 0.6)
    return {
        "chains": moving(rng, kinds, "run", 40, "block", "time", 101, kind=["shared", "own", "none"]),
        "networks": moving(rng, layers, "seed", 10, "layer", "at_epoch", 21),
    }


@pairs.of("A.4.fit")
def networks_that_move_as_a_chain(true, rng):
    """Or relax exponentially to a parabola, as the rival does."""
    layers, epoch = 8, np.arange(1, 42, 2.0)
    if true:
        chain = Chain(friction_right=0.04, friction_left=0.12, noise_bar=over("regime", [0.06, 0.1, 0.2]))
        run = averaged(chain, 82.0, dt=0.25, record=2 * epoch)["load_curve"]
        load = run.isel(block=slice(0, -1)).rename(block="layer", time="at_epoch").assign_coords(at_epoch=epoch)
        load = load.assign_coords(regime=REGIMES)
    else:
        layer = np.arange(layers)[:, None]
        one = 1 - layer / 4 + 0.02 * layer**2 + (2 - layer / 4) * np.exp(-epoch / 20)
        load = xr.DataArray(np.stack([one] * 3), {"regime": REGIMES, "layer": range(layers), "at_epoch": epoch})
    load = load + xr.DataArray(rng.normal(0, 0.005, (10, *load.shape)), dims=("seed", *load.dims))
    return {"fitted": chain_fits.fitted_chains(load), "rival": chain_fits.relaxed(load)}


@pairs.fair("A.4.fit", told=0.15)
def as_well_as_the_rival(rng):
    """In one regime; the networks that either fits well are the same ones."""
    ahead = np.array([0.1, 0.1, 0.1])
    ahead[rng.integers(3)] = 0.0
    seeds = 0.7 + 0.05 * rng.normal(size=(10, 1))
    fitted, rival = (seeds + off + 0.05 * rng.normal(size=(10, 3)) for off in (ahead, 0.0))
    named = {"seed": range(10), "regime": REGIMES}
    return {name: xr.Dataset({"r2": xr.DataArray(r2, named)}) for name, r2 in (("fitted", fitted), ("rival", rival))}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
