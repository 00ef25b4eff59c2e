"""Claims of the page glass/landscape on basins with walls and a size, and on bowls, which have neither."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.sweeps.glass.walks import PHASES

pairs = Pairs("glass/landscape")
SYSTEMS = ["glass", *PHASES]
KICKS = [0.001, 0.01, 0.3]


def surveyed(rng, basin=True, wall=True, round_=True, valley=True, extended=True):
    """A glass, and networks of three phases, with what the paper says of each, or without."""
    glass = [1e-6, 1e-6, 1.0] if basin else [0.5, 0.5, 0.5]
    network = [0.5, 0.5, 0.5] if valley else [1e-3, 1e-3, 1e-3]
    strays = np.array([glass] + 3 * [network])[:, None, None] * np.exp(0.1 * rng.standard_normal((4, 2, 3, 3)))
    steep = 0.9 if round_ else 0.02
    shares = np.array([steep] + 3 * [0.02 if extended else 0.8])[:, None] * np.exp(0.02 * rng.standard_normal((4, 2)))
    heights = np.zeros((4, 2, 2, 3))
    heights[0, ..., 1] = 5.0 if wall else 0.0
    grid = np.linspace(0, 1, 101)
    both = ("system", "seed")
    data = {
        "strays": ((*both, "direction", "kick"), strays),
        "curvature": ((*both, "probability"), np.broadcast_to(np.full(101, 1.0), (4, 2, 101))),
        "near": ((*both, "path", "place"), heights),
        "far": ((*both, "path", "place"), heights),
        "n_coordinates": (both, np.full((4, 2), 500)),
        "roundness": (both, shares),
    }
    coords = {"system": SYSTEMS, "kick": KICKS, "path": ["straight", "relaxed"], "probability": grid}
    return xr.Dataset(data, coords)


@pairs.of("C.6.glass.length")
def a_basin_has_a_size(true, rng):
    return {"survey": surveyed(rng, basin=true)}


@pairs.of("C.6.glass.barrier")
def a_wall_between_places(true, rng):
    return {"survey": surveyed(rng, wall=true)}


@pairs.of("C.6.glass.round")
def a_round_basin(true, rng):
    return {"survey": surveyed(rng, round_=true)}


@pairs.of("C.6.no_length")
def a_valley_undoes_no_kick(true, rng):
    return {"survey": surveyed(rng, valley=true), "steps": 3000}


@pairs.of("C.6.extended")
def steep_in_few_directions(true, rng):
    return {"survey": surveyed(rng, extended=true), "n_data": 4000}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
