"""Each claim of the page on extensions tells truth from its null."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

pairs = Pairs("elastic_sde/extensions")
RATIOS, RARE = [2.0, 4.0, 8.0], [0, 1, 2]


def banded(rng, value, error):
    """Numbers about a value, with the ends of a band of three errors about them; over ``what``."""
    value = value + error * xr.DataArray(rng.normal(size=value.shape), dims=value.dims)
    ends = [value, value - 3 * error, value + 3 * error]
    return xr.concat(ends, xr.Variable("what", ["value", "low", "high"]))


def cases():
    """Which class is rare, and how rare, over ``case``; and the least margins of the classes that log p says."""
    rare, ratio = (np.ravel(one) for one in np.meshgrid(RARE, RATIOS))
    coords = {"case": np.arange(9), "class": [0, 1, 2], "rare": ("case", rare), "ratio": ("case", ratio)}
    p = np.where(np.arange(3) == rare[:, None], 1, ratio[:, None])
    return xr.DataArray(np.log(p) - np.log(p).mean(-1, keepdims=True), coords, ("case", "class"))


@pairs.of("B.ext.imbalance_predicted")
def imbalance_predicted(true, rng):
    """A model half as far off as balanced networks, which are half as far as unmoved logits; of the null as far off as
    these."""
    size = [0.25 if true else 1.0, 0.5, 1.0]
    models = xr.DataArray(size, {"model": ["model", "balanced networks", "unmoved logits"]}, "model")
    return {"unequal": xr.Dataset({"distance": banded(rng, models + 0 * cases(), 0.02), "fitted_from": 100.0})}


@pairs.of("B.appE.labels")
def labels(true, rng):
    """Shares of runs that separate up to two thirds of wrong labels; of the null shares in a random order."""
    p_err = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.8]
    share = np.array([1.0] * 7 + [0.0] * 3)
    order = np.arange(10) if true else np.roll(np.arange(10), rng.integers(2, 7))
    runs = rng.random((200, 10)) < np.clip(share[order], 0.002, 0.998)
    return {"share": xr.DataArray(runs.mean(0), {"p_err": p_err}, "p_err"), "n_runs": 200}


def fits(rng, distances, own_first=True):
    """Models fitted to halves of trials of two data sets, at these distances from the other halves; with shares of
    which a class's own is the largest, or in a random order of each class and half."""
    found = {}
    for data in ("shapes", "photos"):
        off = np.array([list(distances.values())] * 10) * np.exp(0.05 * rng.normal(size=(10, len(distances))))
        distance = xr.DataArray(off, {"model": list(distances)}, ("split", "model"))
        own = np.array([np.roll([0.5, 0.3, 0.2], k) for k in range(3)]) + 0.01 * rng.normal(size=(10, 3, 3))
        own = own if own_first else rng.permuted(own, axis=-1)
        found[data] = xr.Dataset(
            {
                "distance": distance * xr.DataArray(np.ones((2, 20)), {"norm": ["I", "L"]}, ("norm", "time")),
                "share": (("split", "rule", "pull", "direction"), own[:, None]),
            },
            {"rule": ["all shares"]},
        )
    return found


@pairs.of("B.ext.E1_nearer")
def nearer(true, rng):
    """Models nearer than the L-model and than the I-model; of the null they are as far as one of these, but for noise.

    The I-model is nearer than the L-model, as on shapes, or further away.
    """
    other = rng.choice([0.3, 0.8])
    own = 0.1 if true else max(other, 0.3)
    return {"fits": fits(rng, {"L": 0.4, "I": other, "own first": own}), "n": 100}


@pairs.fair("B.ext.E1_nearer")
def as_near_as_the_i_model(rng):
    return {"fits": fits(rng, {"L": 0.4, "I": 0.2, "own first": 0.2}), "n": 100}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
