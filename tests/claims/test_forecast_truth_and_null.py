"""Claims of the page glass/forecast on walks in a parabola that was looked at, and in one that was not."""

import functools

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech.simulators.harmonic import QuadraticLandscape
from deepmech_book.analysis.glass import forecasts as scores
from deepmech_book.analysis.glass import phases
from deepmech_book.claims.glass import forecast
from deepmech_book.claims.registry import claim
from deepmech_book.claims.rules import HOLDS
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import forecasts, lennard_jones
from deepmech_book.sweeps.glass.walks import RATE, diffusion
from deepmech_book.sweeps.shipped import result

pairs = Pairs("glass/forecast")
TIMES = np.unique(np.geomspace(1, 5e4, 40).round()).astype(int)
TEMPERATURES, WAITS, CHI = [1e-2, 1e-3, 1e-4, 0.0], [10_000], [43.0, 300.0, 2100.0]
N, SEEDS = 60, 8


def landscape(rng, drift=2e-4):
    """A direction for each weight, of very different curvatures, and slopes so unequal that few weights go far."""
    slope = drift * rng.standard_normal(N) * np.exp(1.5 * rng.standard_normal(N))
    return QuadraticLandscape(slope, np.geomspace(1e-3, 10, N), np.eye(N))


def moved(parabola):
    """Overlap, displacement and α₂ of a parabola: (temperature, waiting, time), the overlap by window too."""
    rows = [
        parabola.displacement(TIMES, learning_rate=RATE, diffusion=diffusion(t), waited=WAITS[0], since=WAITS[0])
        for t in TEMPERATURES
    ]
    axes = ("temperature", "waiting", "time")
    overlap = np.stack([np.stack([one.overlap(0.3 / chi) for chi in CHI], -1) for one in rows])[:, None]
    alpha, msd = (np.stack([getattr(one, of) for one in rows])[:, None] for of in ("non_gaussian", "msd"))
    coords = {"temperature": TEMPERATURES, "waiting": WAITS, "time": TIMES, "chi": CHI}
    known = {"overlap": ((*axes, "chi"), overlap), "sigma": ("temperature", [0.3] * len(rows))}
    return xr.Dataset(known | {"alpha": (axes, alpha), "msd": (axes, msd)}, coords)


@functools.cache
def freely_moved():
    """The same, of weights without a landscape."""
    none = np.zeros(N)
    return moved(QuadraticLandscape(none, none, np.eye(N)))


def networks(rng, seen, drift=2e-4, layers=4.0):
    """Walks of networks, each in a parabola of its own, and forecasts from it, or (not ``seen``) from another one."""
    walked, said = [], []
    for _ in range(SEEDS):
        size = drift * np.exp(rng.standard_normal())
        truth = moved(landscape(rng, size))
        looked = truth if seen else moved(landscape(rng, size * np.exp(3 * rng.standard_normal())))
        kinds = (looked, *[freely_moved()] * (len(forecasts.KINDS) - 1))
        walked.append(truth)
        said.append(xr.concat(kinds, xr.Variable("kind", list(forecasts.KINDS))))
    runs, told = (xr.concat(rows, xr.Variable("seed", np.arange(SEEDS))) for rows in (walked, said))
    runs = runs.assign(overlap=(runs.overlap + 0.005 * rng.standard_normal(runs.overlap.shape)).clip(0, 1))
    return runs.assign(alpha_mixture=runs.alpha / layers), told


def by_phase(rng, seen, **how):
    both = {phase: networks(rng, seen, **how) for phase in forecasts.FRESH}
    return {"walked": {p: run for p, (run, _) in both.items()}, "foretold": {p: said for p, (_, said) in both.items()}}


@pairs.of("C.3.forecast.curves", "C.3.forecast.others", "C.3.forecast.times")
def a_parabola_that_was_looked_at(true, rng):
    return by_phase(rng, true)


@pairs.of("C.3.forecast.alpha")
def weights_as_unequal_as_foretold(true, rng):
    """In the null they are eight times as unequal as what was looked at says."""
    runs = by_phase(rng, True)
    if not true:
        runs["walked"] = {p: run.assign(alpha=8 * run.alpha) for p, run in runs["walked"].items()}
    return runs


@pytest.fixture(scope="module")
def walks():
    return {phase: phases.survivors(result(forecasts.fresh(phase))) for phase in forecasts.FRESH}


def test_the_papers_claims_read_the_same_on_walks_and_on_forecasts_that_are_right(walks):
    right = {phase: run.expand_dims(kind=["forecast"]) for phase, run in walks.items()}
    table = forecast.of_forecasts(walks, right, result(experiment("glass-former")).sel(window=lennard_jones.CAGE))
    assert list(table["walks"]) == list(table["forecasts"])


def test_forecasts_that_never_slow_down_and_go_thrice_as_far_leave_both_over(walks):
    def made(run):
        waits = run.overlap.isel(waiting=[0] * run.sizes["waiting"]).assign_coords(waiting=run.waiting)
        return run.assign(overlap=waits, msd=3 * run.msd).expand_dims(kind=["forecast"])

    table = scores.left_over(walks, {phase: made(run) for phase, run in walks.items()}).T
    assert set(table["τ₉₀ of forecasts grows by"]) == {"1.00 [1.00, 1.00]"}
    assert set(table["squared displacements, foretold by walked"]) == {"3.00 [3.00, 3.00]"}
    right = scores.left_over(walks, {phase: run.expand_dims(kind=["forecast"]) for phase, run in walks.items()}).T
    assert list(right["τ₉₀ of forecasts grows by"]) == list(right["τ₉₀ of walks grows by"])


def test_free_walks_in_place_of_forecasts_satisfy_no_claim_on_the_landscape(walks):
    free = {phase: result(forecasts.forecasts(forecasts.fresh(phase))).sel(kind=["free walk"]) for phase in walks}
    free = {phase: said.assign_coords(kind=["forecast"]) for phase, said in free.items()}
    table = forecast.of_forecasts(walks, free, result(experiment("glass-former")).sel(window=lennard_jones.CAGE))
    for name in ("C.2.cold_is_faster", "C.3.cold_flat", "C.8.ages"):
        row = table.loc[claim(name).statement].str.partition(":")[0]
        assert row["walks"] == HOLDS != row["forecasts"], row


@pairs.fair("C.3.forecast.curves", "C.3.forecast.times")
def every_forecast_is_as_near(rng):
    """Whatever its name, a forecast is what was looked at; what it says of overlaps is off at random."""
    runs = by_phase(rng, True)
    for phase, said in runs["foretold"].items():
        looked = said.sel(kind=["forecast"] * len(said.kind)).assign_coords(kind=said.kind)
        off = xr.DataArray(0.02 * rng.standard_normal((SEEDS, len(said.kind))), dims=("seed", "kind"))
        runs["foretold"][phase] = looked.assign(overlap=(looked.overlap + off).clip(0, 1))
    return runs


@pytest.mark.parametrize("name", pairs.claims)
def test_a_claim_tells_truth_from_null(name):
    pairs.check(name)
