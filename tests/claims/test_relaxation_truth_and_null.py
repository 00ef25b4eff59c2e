"""Claims of the page glass/relaxation on weights that are kicked and slide, and on such that do otherwise."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import LONG, diverging, falling_twice, mixed, sliding_run, trained
from truth_and_null import Pairs

pairs = Pairs("glass/relaxation")


def learnt(run, n=4):
    """The first so many networks learnt most."""
    loss = run.loss_waited.copy()
    loss[:n] = 0.1
    return run.assign(loss_waited=loss)


@pairs.of("C.2.hot_is_free")
def kicks_of_full_strength(true, rng):
    speed, kicks = (1e-9, 1.0) if true else (1e-9, 0.5)
    return {"runs": mixed(rng, speed=speed, kicks=kicks)}


@pairs.of("C.2.cold_is_faster")
def a_slide(true, rng):
    return {"regularised": sliding_run(1e-7 if true else 0.0, rng=rng, times=LONG)}


@pairs.of("C.3.hot_slope")
def heat_that_does_something(true, rng):
    runs = mixed(rng)
    if not true:  # at every temperature overlaps are those at T = 0, sooner by the factor that makes them count as hot
        runs = {
            p: run.assign(overlap=run.overlap.sel(temperature=1.0).drop_vars("temperature") + 0 * run.overlap)
            for p, run in runs.items()
        }
        rest = sliding_run(1e-7, times=LONG, rng=rng)
        runs = {
            p: run.assign(
                overlap=xr.where(run.temperature > 0, run.overlap, rest.overlap).transpose(*rest.overlap.dims)
            )
            for p, run in runs.items()
        }
    return {"runs": runs}


@pairs.of("C.3.cold_flat")
def cold_weights_slide(true, rng):
    runs = mixed(rng)
    if not true:  # a free walk at every temperature, and a slide without any heat
        rest = runs["regularised"].overlap.sel(temperature=[0.0])
        runs = mixed(rng, speed=0.0)
        warm = [t for t in runs["regularised"].temperature.values if t > 0]
        runs = {
            p: run.assign(overlap=xr.concat([run.overlap.sel(temperature=warm), rest], "temperature"))
            for p, run in runs.items()
        }
    return {"runs": runs}


@pairs.of("C.3.never_flat")
def no_landscape(true, rng):
    return {"runs": mixed(rng, overparameterised=0.0 if true else 1e-7)}


def glass_overlap(times=LONG):
    run = diverging(np.random.default_rng(1))
    return run.overlap.isel(waiting=0, chi=0, drop=True).sel(temperature=[1.0, 0.5, 0.25])


@pairs.of("C.3.no_divergence")
def times_that_do_not_diverge(true, rng):
    runs = mixed(rng)
    return {"runs": runs if true else {**runs, "regularised": diverging(rng)}, "glass": glass_overlap()}


@pairs.of("C.3.one_step")
def one_fall(true, rng):
    runs = mixed(rng)
    caged = falling_twice(runs["regularised"])
    glass = caged.overlap.isel(waiting=0, chi=0, drop=True)
    return {"runs": runs if true else {**runs, "regularised": caged}, "glass": glass}


@pairs.of("C.3.settled")
def a_bottom_that_was_reached(true, rng):
    run = trained(0.0 if true else 1.0, rng=rng)
    return {"trained": run.assign_coords(sgd_steps=300 * run.sgd_steps)}


@pairs.of("C.A2.plateau")
def a_level_loss(true, rng):
    return {"regularised": sliding_run(levels=(0.4, 0.4 if true else 0.1), rng=rng)}


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
