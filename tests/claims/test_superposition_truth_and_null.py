"""Claims of the page glass/superposition on free walks and slides, whose curves have shapes of their own."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import LONG, mixed, sliding_run
from truth_and_null import Pairs

pairs = Pairs("glass/superposition")


@pairs.of("C.4.collapse")
def one_shape(true, rng):
    return {"runs": mixed(rng, speed=0.0 if true else 1e-7)}


@pairs.of("C.4.master_power")
def free_hot_walks(true, rng):
    return {"regularised": sliding_run(0.0 if true else 1e-4, times=LONG, rng=rng)}


def last(rng, networks, free=(3.0, -0.5), well=(1.0, -0.2)):
    """Last overlaps as powers of T, with the scatter of runs."""
    t = np.array([0.01, 0.1, 1.0])
    kinds = {"networks": networks, "free walks": free, "weight decay alone": well}
    scatter = np.exp(0.02 * rng.standard_normal((3, 6, 3)))
    data = {
        k: (("seed", "temperature"), a * t**p * one) for (k, (a, p)), one in zip(kinds.items(), scatter, strict=True)
    }
    return xr.Dataset(data, {"temperature": t})


@pairs.of("C.4.last_power")
def root_of_temperature(true, rng):
    return {"last": last(rng, (1.0, -0.5 if true else 0.0))}


@pairs.of("C.4.well_explains")
def as_much_as_in_the_well(true, rng):
    weights = xr.DataArray(rng.normal(0, 0.1, (1, 50)), {"temperature": [0.01]}, ("temperature", "weight"))
    ends = last(rng, (1.1 if true else 3.0, -0.5), well=(1.0, -0.5))
    return {"last": ends, "waited": weights, "regularised": sliding_run(rng=rng)}


def both_sides(rng):
    """Overlaps that leave the free curve above and below, in turn."""
    run = sliding_run(0.0, times=LONG, rng=rng).isel(temperature=slice(0, 6))
    t, tau = run.time.values, 1000.0
    fall = [0.9 * np.where(t < tau, (t / tau) ** -0.02, (t / tau) ** -p) for p in (0.1, 1.0) * 3]
    shape = run.overlap.transpose("seed", "temperature", "waiting", "chi", "time")
    size = np.exp(0.005 * rng.standard_normal((run.sizes["seed"], 1, 1, 1, 1)))
    fall = np.minimum(size * np.array(fall)[None, :, None, None], 1.0)
    return run.assign(overlap=shape.copy(data=np.broadcast_to(fall, shape.shape)).transpose(*run.overlap.dims))


@pairs.of("C.A6.under_leaves")
def above_and_below(true, rng):
    runs = mixed(rng, speed=0.0)
    return {"runs": {**runs, "underparameterised": both_sides(rng)} if true else runs}


@pairs.fair("C.A6.under_leaves")
def both_phases_leave_alike(rng):
    return {"runs": {**mixed(rng, speed=0.0), "underparameterised": both_sides(rng), "regularised": both_sides(rng)}}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
