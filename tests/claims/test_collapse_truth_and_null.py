"""Each claim of the page on neural collapse tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("elastic_sde/collapse")
TIMES = np.linspace(0, 120, 31)


def distances(rng, rates, n=60):
    """Distances from a simplex that fall as e^(−rate t) from about 1, by effect between classes."""
    inter = xr.DataArray(list(rates), {"inter": list(rates)}, "inter")
    fall = xr.DataArray(list(rates.values()), inter.coords)
    size = xr.DataArray(rng.uniform(0.7, 1.3, n), dims="start")
    return size * np.exp(-fall * xr.DataArray(TIMES, {"time": TIMES}, "time"))


@pairs.of("B.prop34.collapses")
def repelled_classes_end_in_a_simplex(true, rng):
    return {"distance": distances(rng, {-0.3: 0.15 * true, -0.1: 0.05 * true, 0.1: 0.0, 0.3: 0.0})}


@pairs.of("B.prop34.rate")
def they_fall_at_half_the_effect(true, rng):
    """Of the null as the whole effect, what the own margin would do."""
    return {"distance": distances(rng, {b: -b * (0.5 if true else 1.0) for b in (-0.3, -0.1, 0.1)})}


@pairs.of("B.prop34.printed")
def bounded_repulsion(true, rng):
    """Of the null repulsion that ends leaves most starts where they were."""
    constant = distances(rng, {-0.3: 0.15, 0.3: 0.0})
    return {"bounded": distances(rng, {-0.4: 0.1 * true}).isel(inter=0), "distance": constant}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
