"""Pairs of the page glass/forecast: walks, and forecasts that are off by as much as is said."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import CHI, sliding_run

from deepmech_book.claims.registry import claim
from deepmech_book.claims.rules import HOLDS
from deepmech_book.glass import forecast, phases
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import forecasts, lennard_jones
from deepmech_book.sweeps.shipped import result
from pairs import Page

page = Page("glass/forecast")
N = {"regularised": 9, "underparameterised": 12}
TIMES = np.unique(np.geomspace(1, 1e5, 60).round())


def per_network(values):
    return xr.DataArray(values, dims="seed")


def walked(phase):
    """Weights that slide, as many networks as ship; they and their layers are equally unequal."""
    how = {"temperatures": (1e-3, 0.0), "times": TIMES, "spread": 0.0, "phase": phase}
    run = sliding_run(n_seeds=N[phase], **how)
    return run.assign(alpha=xr.ones_like(run.msd), alpha_mixture=xr.ones_like(run.msd))


def foretold(run, **kinds):
    """Forecasts of a walk, each with what it changes; those that are not named are the walk itself."""
    same = run[["overlap", "msd", "alpha"]]
    each = [same.assign(kinds.get(kind.replace(" ", "_"), {})) for kind in forecasts.KINDS]
    return xr.concat(each, xr.Variable("kind", list(forecasts.KINDS)))


def by_phase(made):
    """(walks, forecasts) of each phase as arguments of a claim."""
    return {"walked": {p: run for p, (run, _) in made.items()}, "foretold": {p: said for p, (_, said) in made.items()}}


def lower(run, by):
    """Overlaps in the paper's window that are lower than those of walks by as much, where nothing has moved yet."""
    judged = run.overlap.where(run.chi != CHI[1], run.overlap * (1 - per_network(by)))
    return {"overlap": judged.transpose(*run.overlap.dims)}


@page.pair(
    "C.3.forecast.curves", panels=N, usual={"regularised": 0.04, "underparameterised": 0.051},
    reach={"regularised": 0.0018, "underparameterised": 0.0081}, told=0.3,
)  # fmt: skip
def curves_that_are_off(level, rng, rival):
    made, scatter = {}, {"regularised": 0.0022, "underparameterised": 0.0122}
    for phase, n in N.items():
        run, off, null = walked(phase), *(scatter[phase] * rng.standard_normal((2, n)))
        free = level[phase] + null if rival else 0.35 + null
        made[phase] = run, foretold(run, forecast=lower(run, level[phase] + off), free_walk=lower(run, free))
    return by_phase(made)


@page.pair("C.3.forecast.others", panels=N, usual=-0.05, reach={"regularised": 0.02, "underparameterised": 0.0232})
def networks_of_two_kinds(level, rng, rival):
    """Each is farther from the mean of the others than from its forecast."""
    made, scatter = {}, {"regularised": 0.026, "underparameterised": 0.0366}
    for phase, n in N.items():
        gone, run = np.resize([0.1, 0.5], n), walked(phase)
        off = abs(gone - gone.mean()) * n / (n - 1) + level[phase] + scatter[phase] * rng.standard_normal(n)
        run = run.assign(lower(run, gone))
        made[phase] = run, foretold(run, forecast=lower(run, off / (1 - gone)))
    return by_phase(made)


@page.pair(
    "C.3.forecast.times", panels=N, usual=0.03, reach={"regularised": 0.0069, "underparameterised": 0.0064}, told=0.3
)
def times_that_are_off(level, rng, rival):
    """Overlaps fall as 1/(1 + t/9τ), with τ of forecasts too large by powers of ten."""
    made, scatter = {}, {"regularised": 0.0089, "underparameterised": 0.01}
    for phase, n in N.items():
        run = walked(phase)

        def falling(powers, run=run):
            overlap = 1 / (1 + run.time / (9 * 300 * 10 ** per_network(powers))) + 0 * run.overlap
            return {"overlap": overlap.transpose(*run.overlap.dims)}

        off, null = level[phase] + scatter[phase] * rng.standard_normal((2, n))
        run = run.assign(falling(np.zeros(n)))
        made[phase] = run, foretold(run, forecast=falling(off), free_walk=falling(null if rival else null + 0.3))
    return by_phase(made)


@page.pair(
    "C.3.forecast.alpha", panels=N, usual=0.0, power=0.8,
    reach={"regularised": 0.54, "underparameterised": 0.3},
)  # fmt: skip
def weights_as_unequal_as_foretold(level, rng, rival):
    """α₂ of forecasts off by powers of two; nine networks that scatter so much cannot always tell."""
    made, scatter = {}, {"regularised": 0.7, "underparameterised": 0.47}
    for phase, n in N.items():
        run = walked(phase).assign(alpha_mixture=lambda run: run.alpha * (1 if rival else 0.125))
        off = per_network(level[phase] + scatter[phase] * rng.standard_normal(n))
        made[phase] = run, foretold(run, forecast={"alpha": (run.alpha * 2**off).transpose(*run.alpha.dims)})
    return by_phase(made)


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_times_without_an_end_count_as_the_records_end():
    def falling(tau):
        run = walked("regularised").isel(seed=[0])
        return run.assign(overlap=(0 * run.overlap + 0.9 ** (run.time / tau)).transpose(*run.overlap.dims))

    still, soon = falling(1e9), falling(1e3)
    assert forecast.time_errors(soon, foretold(still)).values == pytest.approx(2, abs=0.01)
    assert forecast.time_errors(still, foretold(falling(1e8))).isnull().all(), "both say that nothing happens"


@pytest.fixture(scope="module")
def walks():
    return {phase: phases.survivors(result(forecasts.fresh(phase))) for phase in forecasts.FRESH}


GLASS = result(experiment("glass-former")).sel(window=lennard_jones.CAGE)


def test_the_papers_claims_read_the_same_on_walks_and_on_forecasts_that_are_right(walks):
    right = {phase: run.expand_dims(kind=list(forecast.COLUMNS.values())) for phase, run in walks.items()}
    table = forecast.of_forecasts(walks, right, GLASS)
    for column in forecast.COLUMNS:
        assert list(table["walks"]) == list(table[column])


def test_forecasts_that_never_slow_down_and_go_thrice_as_far_leave_both_over(walks):
    def made(run):
        waits = run.overlap.isel(waiting=[0] * run.sizes["waiting"]).assign_coords(waiting=run.waiting)
        return run.assign(overlap=waits, msd=3 * run.msd).expand_dims(kind=["forecast"])

    table = forecast.left_over(walks, {phase: made(run) for phase, run in walks.items()}).T
    assert set(table["τ₉₀ of forecasts grows by"]) == {"1.00 [1.00, 1.00]"}
    assert set(table["squared displacements, foretold by walked"]) == {"3.00 [3.00, 3.00]"}
    right = forecast.left_over(walks, {phase: run.expand_dims(kind=["forecast"]) for phase, run in walks.items()}).T
    assert list(right["τ₉₀ of forecasts grows by"]) == list(right["τ₉₀ of walks grows by"])


def test_free_walks_in_place_of_forecasts_satisfy_no_claim_on_the_landscape(walks):
    said = {phase: result(forecasts.forecasts(forecasts.fresh(phase))) for phase in walks}
    table = forecast.of_forecasts(walks, said, GLASS)
    for name in ("C.2.cold_is_faster", "C.3.cold_flat", "C.8.ages"):
        row = table.loc[claim(name).statement].str.partition(":")[0]
        assert row["walks"] == HOLDS != row["free walk"], row


def test_weights_that_only_decay_leave_the_window_by_what_they_shrink(walks):
    run = walks["regularised"].isel(seed=[0])
    said = result(forecasts.forecasts(forecasts.fresh("regularised"))).overlap.sel(seed=run.seed)
    found = forecast.of_decay_alone(run, said).sel(temperature=0.0).isel(waiting=0, chi=2, time=-1, drop=True)
    w = phases.waited_weights(run).sel(temperature=1e-8).values.ravel()
    gone = abs(w) * (1 - (1 - 1e-3 * 0.01) ** int(said.time[-1])) >= w.std() / CHI[2]
    assert found.item() == pytest.approx(1 - gone.mean(), abs=0.005)


def test_what_sampling_leaves_is_kolmogorovs_distance():
    """Of n weights all of which leave it is .8687/√n."""
    run = walked("regularised")
    gone = run.assign(overlap=0 * run.overlap, n_weights=("seed", np.full(N["regularised"], 400)))
    assert float(forecast.sampling_floor(gone, 1).mean()) == pytest.approx(0.8687 / 20, rel=0.03)
    assert float(forecast.sampling_floor(gone.assign(overlap=0 * run.overlap + 0.99), 1).mean()) < 0.01
