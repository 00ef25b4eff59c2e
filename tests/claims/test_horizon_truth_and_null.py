"""Claims of the page elastic_sde/horizon on networks whose paths were foretold, and on networks that got another's."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.sweeps.elastic_sde.carried_steps import LATER, PAST

pairs = Pairs("elastic_sde/horizon")
NETWORKS, TIMES = 80, np.array([*PAST, *LATER])


@pairs.of("B.3.horizon.means", "B.3.horizon.separation", "B.3.horizon.error", "B.3.horizon.order")
def paths(true, rng):
    """Each network goes its own bent way from the moment on; of the null, what was foretold is the way of another."""
    sizes = {"means": (3, 3), "separation": (), "error": (), "loss": (), "accuracy": ()}
    whose = np.arange(NETWORKS) if true else rng.permutation(NETWORKS)
    found = {}
    for name, axes in sizes.items():
        shape = (NETWORKS, 1, *axes)
        time = TIMES.reshape(1, -1, *(1 for _ in axes))
        start, past, bend = 0.3 + 0.06 * rng.normal(size=shape), 0.02 * rng.normal(size=shape), rng.normal(size=shape)
        way = 0.08 * bend * np.where(time > 1, 0.5 + np.sqrt(time / 4), 0)
        came = start + past * (time - 1) + way
        said = start + (past * (time - 1) + way)[whose] + 0.004 * rng.normal(size=came.shape) * (time > 1)
        dims = ("number", "source", "time", "class", "logit")[: 3 + len(axes)]
        found[name] = (dims, np.stack([came, said], 1).clip(0, 1) if name == "error" else np.stack([came, said], 1))
    return {"record": xr.Dataset(found, {"number": np.arange(NETWORKS), "source": ["came", "foretold"], "time": TIMES})}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
