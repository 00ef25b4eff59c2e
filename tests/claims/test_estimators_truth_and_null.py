"""Each claim of the page on estimators tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.elastic_sde import effects, recovery

pairs = Pairs("elastic_sde/estimators")
T = runs.T
N = len(T)


def recovered(rng, off):
    """Effects that are known, and found with an error of about ``off`` of the largest, or not at all."""
    true = xr.DataArray(np.linspace(0, 2, 200), dims="time")
    error = xr.DataArray(off * rng.normal(1, 0.1, (10, 3)) * 2, {"model": recovery.ESTIMATORS}, ("log", "model"))
    found = {name: true * 1.0 + error for name in ("A", "B", "intra")}
    return xr.Dataset({**found, **{f"{name}_true": true for name in ("A", "B", "intra")}})


@pairs.of("B.estimators.recover", "B.estimators.from_noise")
def recover(true, rng):
    """Of the null estimators see half of the effect."""
    return {name: recovered(rng, 0.03 if true else 0.4) for name in ("of_i", "of_l")}


@pairs.of("B.D1.small")
def small(true, rng):
    """Noise that hides the trend, and noise that does not."""
    trend = runs.estimated(runs.hump(0.3)).intra
    noise = rng.normal(0, 2.0 if true else 0.1, (2, N))
    by_window = xr.concat([trend + xr.DataArray(one, dims="time") for one in noise], xr.Variable("window", [11, 51]))
    return {"by_window": xr.Dataset({"intra": by_window}), "trend": trend}


def by_size(rng, apart, noise=0.1):
    """Â of sets of trials that scatter, and of numbers of samples that lie ``apart``."""
    offset = apart * np.arange(4)[:, None, None] + noise * rng.normal(size=(4, 2, 1))
    a = xr.DataArray(
        offset + T / T[-1],
        {"per_class": [80, 240, 480, 4800], "first_seed": [0, 50], "time": T},
        ("per_class", "first_seed", "time"),
    )
    return xr.Dataset({"A": a.expand_dims(model=list(effects.MODELS))})


@pairs.of("B.D3.insensitive", "B.D3.small_sets")
def insensitive(true, rng):
    """Curves that scatter from set to set as much as between sizes, by hand; and sizes that differ."""
    fixed = np.array([[1, -1]] * 4)[:, :, None] * 0.1 * rng.uniform(0.8, 1.2, (4, 2, 1))
    ds = by_size(rng, 0.0 if true else 1.0, 0.0)
    ds["A"] = ds["A"] + xr.DataArray(fixed[..., 0], dims=("per_class", "first_seed"))
    return {"by_size": {"shapes": ds, "photos": ds}}


@pairs.of("B.D3.growth")
def growth(true, rng):
    """Curves that gain alike, but for the scatter of sets; of the null more samples gain more."""
    rate = 1 + (0.0 if true else 0.5) * np.arange(4)[:, None] + 0.05 * np.array([1, -1]) * rng.uniform(0.8, 1.2, (4, 2))
    labels = {"per_class": [80, 240, 480, 4800], "first_seed": [0, 50], "time": T}
    a = xr.DataArray(rate[..., None] * T / T[-1], labels, ("per_class", "first_seed", "time"))
    return {"by_size": xr.Dataset({"A": a.expand_dims(model=list(effects.MODELS))})}


def classes(rng, few, most, centre=0.0):
    """Networks of two and of three classes whose differences grow by these logarithms, and their mean by ``centre``."""
    both = []
    for k, end in ((2, few), (3, most)):
        part = runs.START[:k, :k] - runs.START[:k, :k].mean(0)
        groups = []
        for _ in range(10):
            g = end * (1 + 0.02 * rng.normal()) * np.minimum(T / 1000, 1)
            u = (centre + 0.05 * rng.normal()) * np.minimum(T / 1000, 1)
            x = np.exp(g)[:, None, None] * part + np.exp(u)[:, None, None] * np.array([1.0, 0.8, 0.6])[:k]
            groups.append(xr.DataArray(x, {"time": T}, ("time", "class", "logit")))
        both.append(runs.networks(*groups))
    return tuple(both)


@pairs.of("B.D4.rises", "B.D4.falls")
def by_classes(true, rng):
    """Â = u + (K − 1) v and B̂ = u − v; of the null nothing grows but by chance."""
    return {"kinds": {name: classes(rng, 2.0, 2.0) if true else classes(rng, 0.0, 0.0) for name in ("text", "program")}}


@pairs.of("B.D4.scale")
def scale(true, rng):
    """Of the null differences between classes grow alike, and their mean with them: then Â = K v."""
    return {"kinds": {"text": classes(rng, 2.0, 4.0 if true else 2.0, 0.0 if true else 2.0)}}


@pairs.fair("B.D4.scale")
def as_equal_growth_would(rng):
    return {"kinds": {"text": classes(rng, 2.0, 2.0, 2.0)}}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
