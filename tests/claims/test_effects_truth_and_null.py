"""Each claim of the page on effects tells truth from its null."""

import numpy as np
import pytest
import runs_elastic_sde as runs
import xarray as xr
from truth_and_null import Pairs

from deepmech_book.analysis.elastic_sde import effects, recovery

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


@pairs.of("B.tails.index_on_fast")
def index(true, rng):
    """An index that is the exponent, and one that says how strong an effect was."""
    r = [0.25, 0.5, 1.25, 1.5, 2.0]
    strong = np.array(r) if true else rng.uniform(0.6, 0.9, 5)
    values = {name: (("strength", "r"), np.stack([strong, strong])) for name in ("index", "slope")}
    return {"tails": xr.Dataset(values, {"strength": [0.3, 3.0], "r": r})}


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


@pairs.fair("B.D4.scale", draws=40)
def as_equal_growth_would(rng):
    return {"kinds": {"text": classes(rng, 2.0, 2.0, 2.0)}}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
