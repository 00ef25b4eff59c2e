"""Claims of the page glass/transitions on networks that fall suddenly or slowly, at places of their own or of all."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import falling, rested
from truth_and_null import Pairs

pairs = Pairs("glass/transitions")
DECAYS = np.geomspace(0.002, 0.2, 16).round(4)


def with_spec(result):
    """The result with a sweep, and a mark at networks that diverged."""
    return result.assign(diverged=result.data_loss.isnull()).assign_attrs(rested(0.2, np.random.default_rng(0)).attrs)


def places(rng, middle, scatter=0.5, n=8):
    return middle * np.exp(scatter * rng.uniform(-1, 1, n))


def jumping(rng, middle=0.03, jump=True):
    """Losses that jump to the origin, each at a λ of its own; or that all rise as their mean does."""
    result = falling(places(rng, middle), DECAYS)
    loss = result.data_loss.clip(max=0.1).where(result.data_loss < 0.5, 0.5)
    if not jump:
        loss = (loss.mean("seed") + 0 * loss).transpose(*loss.dims)
    return with_spec(result.assign(data_loss=loss + 1e-4 * rng.standard_normal(loss.shape)))


@pairs.of("C.1.scatter")
def only_half_without_loss(true, rng):
    return {"sizes": rested(0.3, rng, share=0.5 if true else 1.0)}


@pairs.of("C.1.lambda_star")
def falling_where_the_paper_s_do(true, rng):
    result = falling(places(rng, 0.03 if true else 0.12, scatter=0.1, n=5), [0.01, 0.026, 0.036, 0.1, 0.15])
    return {"networks": result}


@pairs.of("C.1.sharp")
def sudden_falls(true, rng):
    return {"decays": jumping(rng, jump=true)}


@pairs.of("C.1.no_uot_with_decay")
def size_matters_without_decay_alone(true, rng):
    """Geometric losses of small and large networks: with decay alike, or in the null as far apart as without."""
    widths, decays = [5, 20], [0.0, 0.003, 0.01]
    logs = np.array([[-1.0, -1.0, -1.0], [-6.0, *(2 * [-1.2] if true else 2 * [-5.0])]])
    logs = logs + 0.05 * rng.standard_normal((3, 2, 3))
    coords = {"seed": range(3), "width": widths, "regularisation": decays}
    result = xr.Dataset({"data_loss": (("seed", "width", "regularisation"), 10.0**logs)}, coords)
    return {"plane": with_spec(result)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
