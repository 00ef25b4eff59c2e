"""Each claim of the page on effects tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("elastic_sde/effects")
T, WINDOW = runs.T, 551
N = len(T)


@pairs.of("B.3.peak")
def early_peak(true, rng):
    """Of the null the maximum may be anywhere."""
    by_size = runs.sets(rng, lambda: runs.hump(rng.normal(0.2, 0.02) if true else rng.uniform(0.1, 0.9)))
    return {"by_size": by_size, "estimated": by_size.isel(per_class=0, first_seed=0), "window": WINDOW}


@pairs.of("B.3.rises", "B.3.falls")
def rises_and_falls(true, rng):
    """Of the null the effect is constant, but for noise that has a maximum somewhere."""
    flat = np.ones(N)
    return {
        "by_size": runs.sets(rng, lambda: runs.hump(0.4) if true else flat + 0.02 * rng.normal(size=N)),
        "window": WINDOW,
    }


@pairs.of("B.3.below")
def below(true, rng):
    """Of the null both effects are noise, as in the networks that guess."""
    alike = runs.estimated(rng.normal(size=N), rng.normal(size=N))
    own = runs.estimated(runs.hump(0.2), runs.hump(0.2) * -0.4 + 0.01 * rng.normal(size=N)) if true else None
    of = {
        name: own if true else runs.estimated(rng.normal(size=N), rng.normal(size=N)) for name in ("shapes", "photos")
    }
    return {"estimated": of, "guessing": alike}


@pairs.of("B.3.late")
def late(true, rng):
    """Of the null margins stand still late, and what no margin sees grows on."""
    share = T / T[-1]
    if true:
        return {"networks": {name: runs.many(2 * share, rng) for name in ("shapes", "photos")}}
    unseen = 0.3 * np.exp(6 * share)[:, None, None] * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    stopped = 2 * np.minimum(share, 0.5)
    groups = [runs.class_means(stopped * (1 + 0.02 * rng.normal())) + unseen for _ in range(10)]
    return {"networks": {"shapes": runs.networks(*groups)}}


@pairs.of("B.3.norm")
def norm(true, rng):
    """The norm is e^g, Â = 3 g: alike while g is small; of the null the norm grows steadily, and Â as its logarithm."""
    share = T / T[-1]
    growth = 0.05 * (1 - np.exp(-5 * share)) if true else np.log1p(20 * share)
    return {"networks": runs.many(growth, rng)}


@pairs.of("B.3.alike")
def alike(true, rng):
    """Of the null the maximum lies elsewhere on photographs, or anywhere in each set."""
    anywhere = rng.random() < 0.5

    def course():
        return runs.hump(rng.normal(0.2, 0.02) if true else rng.uniform(0.1, 0.9) if anywhere else 0.6, 0.1)

    shapes = runs.sets(rng, lambda: runs.hump(0.2, 0.1))
    return {"photos": runs.sets(rng, course), "shapes": shapes, "window": WINDOW}


@pairs.of("B.3.wilder")
def wilder(true, rng):
    """Margins that are nearly alike, so that their differences are mostly noise; of the null it is the mean over
    classes that is near zero."""
    unlike, centre = (0.03, [1.0, -1.0, 0.5]) if true else (0.5, [1.0, -1.0, 0.02])
    part = 1.2 * (np.eye(3) - 1 / 3) + unlike * np.diag([1, 1, -2]) + np.array(centre)
    x = np.exp(T / T[-1])[:, None, None] * part + 0.003 * rng.normal(size=(4, 2, N, 3, 3))
    labels = {"per_class": [80, 240, 480, 4800], "first_seed": [0, 50], "time": T}
    return {"networks": xr.Dataset({"mean": (("per_class", "first_seed", "time", "class", "logit"), x)}, labels)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
