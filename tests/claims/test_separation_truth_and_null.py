"""Each claim of the page on separation tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.elastic_sde import separation

pairs = Pairs("elastic_sde/separation")
N_RUNS = 300


def coins(rng, share, **dims):
    """Runs of which a share is true, over the dimensions of ``share`` and those named (values, or a number of runs)."""
    like = xr.DataArray(share)
    full = like.expand_dims({k: v if isinstance(v, list) else np.arange(v) for k, v in dims.items()})
    return full.copy(data=rng.random(full.shape)) < like


def shares(rng, elastic, inelastic):
    """Shares of separated runs by number of samples, for the larger effect between classes and within."""
    n = separation.chance_on_a_line([2, 3, 5]).n
    both = xr.concat([0 * n + inelastic, 0 * n + elastic], xr.Variable("gap", [-0.5, 0.5]))
    return coins(rng, both.transpose("n", "gap"), run=N_RUNS).mean("run")


@pairs.of("B.thm21.separates")
def separates(true, rng):
    """Of the null classes do not differ, and chance separates them."""
    chance = separation.chance_on_a_line([2, 3, 5])
    return {"share": shares(rng, 0.995 if true else chance, chance), "n_runs": N_RUNS}


def fading(true, rng):
    """Runs that separate if effects fade slowly; of the null the exponents are in a random order, never this one."""
    r = [0.5, 0.8, 1.2, 1.5]
    late = np.array([0.999, 0.999, 0.0, 0.0])
    if not true:
        late = rng.permutation(late)
        late = late[::-1] if late[0] > 0 and late[1] > 0 else late
    share = xr.DataArray([0 * late + 0.5, late], {"time": [1.0, 1e5], "r": r}, ("time", "r"))
    return coins(rng, share, model=["I-model", "L-model"], run=60)


@pairs.of("B.thm31.fades")
def fades(true, rng):
    return {"separable": fading(true, rng)}


@pairs.of("B.c3.random_direction")
def random_direction(true, rng):
    return {"along": fading(true, rng)}


def at_the_edge(rng, factors, crossing, slope=3.0):
    """Runs of which half are separable at first, and at last more above a strength and fewer below."""
    last = np.clip([0.5 + slope * (f - crossing) for f in factors], 0, 1)
    share = xr.DataArray([[0.5, one] for one in last], {"factor": factors, "time": [1e2, 1e8]}, ("factor", "time"))
    return coins(rng, share, run=2 * N_RUNS)


@pairs.of("B.thm31.threshold")
def threshold(true, rng):
    """Of the null separation begins at a = K/2 for two classes, and at the same a for more of them."""
    factors = [0.9, 0.95, 1.0, 1.05, 1.1]
    return {"runs": {k: at_the_edge(rng, factors, 1.0 if true else 2 / k) for k in (2, 3)}}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
