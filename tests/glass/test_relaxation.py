"""Pairs of the page glass/relaxation, and laws of walks whose times are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import CHI, LONG, SIGMA, N, scatter, sliding_run, trained
from scipy.optimize import brentq
from scipy.special import erf

from deepmech.core.labels import over
from deepmech.simulators.brownian import free_time
from deepmech_book.glass import phases, regimes, relaxation
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/relaxation")
FEW = np.unique(np.geomspace(1, 1e5, 100).round())


def walked(phase, temperatures=(0.1, 0.0), waits=(20_000,), times=FEW, **how):
    return sliding_run(
        0.0, n_seeds=N[phase], temperatures=temperatures, waits=waits, spread=0.0, times=times, phase=phase, **how
    )


def scattered(level, reach, n, rng):
    """Numbers of networks about a level, whose mean has an interval of this half-width."""
    return xr.DataArray(level + scatter(reach, n, rng), dims="seed")


def falling(run, tau, bend=1.0):
    """The run with overlaps 0.9^((t/τ)^bend), whose time is τ."""
    overlap = 0.9 ** ((run.time.astype(float) / tau) ** bend) + 0 * run.overlap
    return run.assign(overlap=overlap.transpose(*run.overlap.dims))


def by_temperature(run, tau):
    """Times of networks at temperatures, and none at the others."""
    known = xr.concat(tau.values(), xr.Variable("temperature", list(tau)))
    return known.reindex(temperature=run.temperature, fill_value=np.inf)


HOT = {
    "regularised, T = 0.1": 0.0057, "regularised, T = 0.01": 0.0098,
    "underparameterised, T = 0.1": 0.0087, "overparameterised, T = 0.001": 0.0109,
}  # fmt: skip


@page.pair("C.2.hot_is_free", panels=HOT, usual=0.03, reach=HOT, rival=False, told=0.3)
def overlaps_below_free_ones(level, rng, rival):
    runs = {p: walked(p, [t for q, t in relaxation.HOT if q == p] + [0.0]) for p in N}
    for (phase, t), (panel, reach) in zip(relaxation.HOT, HOT.items(), strict=True):
        run, off = runs[phase], scattered(level[panel], reach, N[phase], rng)
        lower = run.overlap.where(run.temperature != t, run.overlap * (1 - off))
        runs[phase] = run.assign(overlap=lower.transpose(*run.overlap.dims))
    return {"runs": runs}


UNEQUAL = 0.42
"""Scatter of the logarithm of speeds that gives cold times the interval that ships."""


@page.pair("C.2.cold_is_faster", panels=("",), usual=0.18, reach=0.075, rival=False)
def slides_of_unequal_speed(level, rng, rival):
    """Their mean overlap is known, and so the speed at which it falls in this share of a free walk's time."""
    z = np.linspace(-5, 5, 401)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    far = brentq(lambda u: weight @ erf(np.exp(-UNEQUAL * z) / u) - 0.9, 0.1, 10)
    window = SIGMA / CHI[2]
    speed = window * far / np.sqrt(2) / (level[""] * free_time(window, walks.diffusion(1e-6)))
    each = (speed * np.exp(UNEQUAL * rng.standard_normal(25)))[:, None, None, None, None]
    how = {"temperatures": (1e-6, 0.0), "waits": (20_000,), "times": LONG, "spread": 0.0}
    slides = sliding_run(each, n_seeds=25, **how).sel(temperature=[0.0, 0.0])
    return {"regularised": slides.assign_coords(temperature=[1e-6, 0.0])}


WAITS = {
    "regularised": (10_000, 20_000, 50_000, 100_000), "underparameterised": (10_000, 20_000, 40_000),
    "overparameterised": (10_000, 20_000),
}  # fmt: skip
SLOPES = {f"{p}, {at}": h for p, at, h in [
    *(("regularised", f"after {w:,}", 0.0065) for w in WAITS["regularised"]), ("regularised", "to 1/e", 0.0123),
    *(("underparameterised", f"after {w:,}", 0.019) for w in WAITS["underparameterised"]),
    ("underparameterised", "to 1/e", 0.0288),
    *(("overparameterised", f"after {w:,}", 0.01) for w in WAITS["overparameterised"]),
    ("overparameterised", "to 1/e", 0.0099),
]}  # fmt: skip


@page.pair("C.3.hot_slope", panels=SLOPES, usual=-1.01, reach=SLOPES, expected=-1.0, rival=False, told=0.3)
def powers_of_temperature(level, rng, rival):
    """τ₉₀ = 36·(T/0.3)^p after each wait; after the first overlaps bend, so that the time to 1/e has its own power."""
    runs = {}
    for phase, n in N.items():
        run = walked(phase, (1.0, 0.1, 0.0), WAITS[phase], FEW[::2])
        power = {panel: scattered(level[panel], SLOPES[panel], n, rng) for panel in SLOPES if panel.startswith(phase)}
        *after, fold = power.values()
        logs = np.log(run.temperature.where(run.temperature > 0) / 0.3)
        tau = xr.concat([36 * np.exp(p * logs) for p in after], xr.Variable("waiting", list(WAITS[phase])))
        ratio = np.log(1 / np.log(1 / 0.9))
        bend = ratio / (ratio + (fold - after[0]) * logs)
        bend = bend.where(tau.waiting == WAITS[phase][0], 1.0)
        runs[phase] = falling(run, tau.fillna(np.inf), bend.fillna(1.0))
    return {"runs": runs}


FLAT = {"regularised, finest window": 0.0059, "underparameterised": 0.0196, "underparameterised, to 1/e": 0.0276}


@page.pair("C.3.cold_flat", panels=FLAT, usual=1.0, expected=1.0, reach=FLAT, rival=False)
def times_of_the_landscape(level, rng, rival):
    """Cold overlaps fall later than those without heat, by as much to 0.9 and to 1/e as is said."""
    runs, log = {}, {p: np.log(scattered(level[p], r, 25 - p.startswith("u"), rng)) for p, r in FLAT.items()}
    one, late, fold = log.values()
    run = walked("regularised", (0.1, 1e-4, 0.0))
    tau = by_temperature(run, {0.1: 0 * one + 5, 1e-4: 100 * np.exp(one), 0.0: 0 * one + 100})
    runs["regularised"] = falling(run, tau)
    run = walked("underparameterised", (0.1, 1e-4, 0.0))
    ratio = np.log(1 / np.log(1 / 0.9))
    tau = by_temperature(run, {0.1: 0 * late + 5, 1e-4: 1000 * np.exp(late), 0.0: 0 * late + 1000})
    bend = (ratio / (ratio + fold - late)).where(run.temperature == 1e-4, 1.0)
    return {"runs": {**runs, "underparameterised": falling(run, tau, bend)}}


def steep(phase, power, reach, rng, temperatures=(0.1, 0.01)):
    """Networks whose τ₉₀ follows a power of T."""
    run = walked(phase, (*temperatures, 0.0))
    middle = np.sqrt(temperatures[0] * temperatures[-1])
    p = scattered(power, reach, N[phase], rng)
    return falling(run, by_temperature(run, {t: 300 * (t / middle) ** p for t in temperatures}))


@page.pair("C.3.never_flat", panels=("",), usual=-1.0, reach=0.0059)
def no_landscape(level, rng, rival):
    runs = {"overparameterised": steep("overparameterised", level[""], 0.0059, rng)}
    return {"runs": runs | {"underparameterised": steep("underparameterised", -1.0 if rival else -0.45, 0.02, rng)}}


STEEP = {"regularised": 0.0478, "underparameterised": 0.0524, "overparameterised": 0.0088}


@page.pair("C.3.no_divergence", panels=N, usual=1.02, reach=STEEP)
def times_that_do_not_diverge(level, rng, rival):
    """The glass former's times grow as exp(1/T), or as 1/T where it does no better."""
    t, time = over("temperature", [1.0, 0.5, 0.25]), over("time", np.geomspace(1, 1e5, 300))
    glass = 0.9 ** (time / (100 / t if rival else 100 * np.exp(1 / t))).expand_dims(seed=1)
    return {"runs": {p: steep(p, -level[p], STEEP[p], rng) for p in N}, "glass": glass}


def pausing(depth):
    """An overlap over time whose rate of falling has a valley of this depth between two peaks."""
    x = np.log(LONG)
    rate = np.clip((x - 2) / 2, 0, 1) * np.clip((14 - x) / 2, 0, 1) * (1 - depth * np.exp(-(((x - 8) / 1.5) ** 2) / 2))
    gone = np.append(0.0, np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(x)))
    return xr.DataArray(1 - 0.95 * gone / gone[-1], {"time": LONG}, "time")


DEPTHS = {"regularised": 0.024, "underparameterised": 0.015, "overparameterised": 0.06}


@page.pair("C.3.one_step", panels=N, usual=0.05, reach=DEPTHS)
def one_fall(level, rng, rival):
    """Networks whose second steps scatter; the valley between two is 0.92 of what it is made, as peaks are round."""
    runs, curves = {p: walked(p, times=LONG) for p in N}, {}
    for p, run in runs.items():
        each = xr.concat([pausing(float(d) / 0.92) for d in scattered(level[p], DEPTHS[p], N[p], rng)], "seed")
        curves[p] = (each + 0 * run.overlap).transpose(*run.overlap.dims)
    glass = pausing(0.0 if rival else 0.79).expand_dims(seed=2)
    return {"runs": {p: run.assign(overlap=curves[p]) for p, run in runs.items()}, "glass": glass}


LENGTHENED = dict(zip(CHI, (0.15, 0.10, 0.07), strict=True))


@page.pair("C.3.settled", panels=CHI, usual=1.0, reach=LENGTHENED, rival=False)
def a_descent_that_goes_on(level, rng, rival):
    """Six networks that learnt, as scattered as those that ship."""
    lengths = [300_000, 1_260_000, 4_200_000]
    run = sliding_run(0.0, n_seeds=6, temperatures=[0.0], waits=(0, 20_000), times=LONG).isel(temperature=0, drop=True)
    run = xr.concat([run] * 3, xr.Variable("sgd_steps", lengths))
    length = xr.DataArray(lengths, dims="sgd_steps") / lengths[1]
    each = [1e3 * length ** scattered(level[c], LENGTHENED[c], 6, rng) for c in CHI]
    tau = xr.concat(each, xr.Variable("chi", list(CHI)))
    return {"trained": falling(run, tau).assign(loss_waited=xr.full_like(run.loss_waited, 0.1))}


@page.pair("C.A2.plateau", panels=(1.0, 0.1), usual=1.0, reach={1.0: 0.0013, 0.1: 0.0004})
def a_level_loss(level, rng, rival):
    run = walked("regularised", (1.0, 0.1))
    end = [scattered(level[t], r, 25, rng) for t, r in ((1.0, 0.0013), (0.1, 0.0004))]
    end = xr.concat(end, xr.Variable("temperature", [1.0, 0.1]))
    return {"regularised": run.assign(loss=run.loss.where(run.time < run.time[-1], end * run.loss_waited))}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()
SLIDING, FREE = sliding_run(), sliding_run(speed=0.0)


def test_what_a_record_does_not_show_is_said():
    assert list(relaxation.hot_powers(SLIDING, "a")) == ["a, after 10,000", "a, after 20,000", "a, to 1/e"]
    assert "ten times slower" in relaxation.cold_over_rest(FREE)[0].reason
    late = relaxation.distance_from_free(SLIDING.sel(time=slice(50_000, None)), 1.0)
    assert "before the first recorded time" in late.reason
    assert "give more of them" in relaxation.successive_powers([SLIDING.sel(temperature=[0.1, 0.0])]).reason


def test_weaker_kicks_are_as_far_from_free_walks_as_the_error_function_says():
    exact = max(erf(2**0.5 * z) - erf(z) for z in np.linspace(0.3, 3, 500))
    assert relaxation.distance_of_kicks(0.5) == pytest.approx(exact, abs=1e-3)
    half = relaxation.distance_from_free(sliding_run(speed=0.0, kicks=0.5), 0.01)
    assert half.value == pytest.approx(exact, abs=5e-3)


def test_a_record_that_ends_early_bounds_the_power_from_below():
    table = relaxation.times_by_training(trained(1.0, end=10_000))
    found = relaxation.training_power(table, 1).value
    assert (found <= 1.02).all() and 0 < float(found.sel(chi=42.9)) < 0.95


def test_who_has_learnt():
    run = trained(0.5)
    run.loss_waited[-1, 2, -1] = 0.5  # the third network, after the longest training
    assert relaxation.learnt(run).seed.values.tolist() == [0, 1, 3]


def test_the_loss_of_a_protocol_goes_on_where_it_was():
    before = xr.Dataset({"loss_history": ("steps", [0.5, 0.2])}, {"steps": [0, 100]})
    after = xr.Dataset({"loss": ("time", [0.2, 0.1])}, {"time": [1, 10]})
    found = relaxation.loss_history(before, after)
    assert found.step.values.tolist() == [0, 100, 101, 110] and found.values.tolist() == [0.5, 0.2, 0.2, 0.1]


def test_what_is_said_of_those_that_learnt_most_is_of_those_alone():
    def distance(run):
        return relaxation.distance_from_free(run, 0.1)

    some = SLIDING.assign(loss_waited=SLIDING.loss_waited.where(SLIDING.seed > 2, 0.1))
    one = distance(SLIDING.isel(seed=[0, 1, 2]))
    assert phases.of_learnt_most(some, distance) == f"Of the 3 that learnt as much as the paper's alone: {one}."
    assert phases.of_learnt_most(SLIDING, distance) == ""
    cold = phases.of_learnt_most(some, lambda run: regimes.over_free(phases.times(run).sel(temperature=[1e-3])))
    assert "estimates" not in cold and "[" in cold, "of an array of one number the number is said"


def test_origins_say_how_many_and_which():
    run = SLIDING.assign_attrs(left_out=2, fallen=0)
    words = phases.origins({"regularised": run}, "", "And more.")
    assert words.startswith("Regularised: ") and "4 initial conditions (2 more diverged)" in words
    assert words.endswith(" And more.")


def test_phases_side_by_side():
    runs = {"a": SLIDING, "b": FREE}
    assert phases.mean_overlaps(runs).phase.values.tolist() == ["a", "b"]
    free, later = (phases.times_of_phases(runs, e_fold).sel(phase="b") for e_fold in (False, True))
    np.testing.assert_allclose(free.tau.sel(temperature=0.1), free.free.sel(temperature=0.1), rtol=0.02)
    assert float(later.tau.sel(temperature=1.0)) > 10 * float(free.tau.sel(temperature=1.0))
