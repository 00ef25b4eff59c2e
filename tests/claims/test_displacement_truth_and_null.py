"""Claims of the page glass/displacement on weights that diffuse and slide, and on such that are caged or confined."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import LONG, mixed, sliding_run
from truth_and_null import Pairs

pairs = Pairs("glass/displacement")


def scattered(run, rng, size=0.03):
    """The run with displacements that differ from network to network."""
    factors = xr.DataArray(np.exp(size * rng.standard_normal(run.sizes["seed"])), dims="seed")
    return run.assign(msd=(run.msd * factors).transpose(*run.msd.dims))


def caged(run):
    t = run.time.astype(float)
    return run.assign(msd=run.msd * 0 + 1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2)


@pairs.of("C.5.no_plateau")
def a_slide_without_a_cage(true, rng):
    runs = mixed(rng)
    cage = caged(runs["regularised"])
    glass = cage.msd.isel(seed=0, waiting=0, temperature=0, drop=True)
    return {"runs": runs if true else {**runs, "regularised": cage}, "glass": glass}


@pairs.of("C.5.hot_is_free")
def kicks_of_full_strength(true, rng):
    runs = mixed(rng, kicks=1.0 if true else 0.5)
    return {"runs": {phase: scattered(run, rng) for phase, run in runs.items()}}


@pairs.of("C.5.over_diffuses")
def no_landscape(true, rng):
    runs = mixed(rng, overparameterised=0.0 if true else 1e-7)
    return {"runs": {phase: scattered(run, rng) for phase, run in runs.items()}}


@pairs.of("C.5.swings")
def only_long_steps_swing(true, rng):
    """Displacements that grow, but fall once by a half in long steps; in the null in short ones, too."""
    at = np.arange(1, 21)
    time = np.union1d(at, 10 * at)
    grow = time * np.exp(0.001 * rng.standard_normal((2, 4, len(time))))
    large = np.where(time == 3, 0.5, 1.0) * grow[0]
    small = grow[1] if true else np.where(time == 30, 0.5, 1.0) * grow[1]
    square = xr.DataArray(
        np.stack([large, small])[..., None, None] * np.ones((2, 2)),
        {"time": time},
        ("rate", "seed", "time", "layer", "alive"),
    )
    walked = xr.Dataset({"square": square * 7, "count": (("layer", "alive"), np.full((2, 2), 7))})
    return {"walked": walked, "times": at, "factors": (1, 10)}


def by_batch(levels, rng, power=0.0):
    """Displacements of two networks that are level at about 300,000 steps, or go on; a batch size each."""
    time = np.geomspace(1, 1e6, 60)
    rise = np.where(time < 3e5, time / 3e5, (time / 3e5) ** power)
    size = np.array(levels)[:, None] * np.exp(0.1 * rng.standard_normal((2, len(levels), 1)))
    coords = {"batch_size": [1, 8, 32, 128][: len(levels)], "time": time}
    msd = xr.DataArray((size * rise)[:, None], coords, ("seed", "waiting", "batch_size", "time"))
    return xr.Dataset({"msd": msd}, attrs=sliding_run(n_seeds=2, times=LONG[:9]).attrs).assign_coords(seed=[0, 1])


@pairs.of("C.5.batch_order")
def small_batches_are_louder(true, rng):
    levels = np.array([1e-4, 2e-5, 4e-6, 1e-6])
    return {"batches": by_batch(levels if true else rng.permutation(levels), rng)}


@pairs.of("C.5.localised")
def decay_confines(true, rng):
    free = by_batch([1e-3], rng, power=1.0)
    return {"batches": by_batch([1e-4], rng) if true else by_batch([1e-3], rng, power=1.0), "control": free}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
