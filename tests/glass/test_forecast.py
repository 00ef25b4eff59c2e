"""Pairs of the page glass/forecast: walks, and forecasts that are off by as much as is said."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import CHI, scatter, sliding_run

from deepmech_book.claims.rules import HOLDS
from deepmech_book.glass import forecast
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import forecasts, lennard_jones
from deepmech_book.sweeps.glass.forecasts import KINDS
from deepmech_book.sweeps.shipped import result
from pairs import Page

page = Page("glass/forecast")
N = {"regularised": 6, "underparameterised": 6}
TIMES = np.unique(np.geomspace(1, 1e5, 60).round())
TEMPERATURES = (1e-3, 0.0)
"""At the crossover, and cold."""
REACH = {
    "curves": (0.004, 0.0039), "cold": (0.0051, 0.0033), "others": (0.0142, 0.0159), "times": (0.0052, 0.0035),
    "displacement": (0.056, 0.056), "alpha": (0.194, 0.06),
}  # fmt: skip
"""Half-widths of the intervals that ship, by phase; of displacements that of the phase that scatters more."""


def per_network(values):
    return xr.DataArray(values, dims="seed")


def walked(phase):
    """Weights that slide, as many networks as ship; they and their layers are equally unequal."""
    how = {"temperatures": TEMPERATURES, "times": TIMES, "spread": 0.0, "phase": phase}
    run = sliding_run(n_seeds=N[phase], **how)
    return run.assign(alpha=xr.ones_like(run.msd), alpha_mixture=xr.ones_like(run.msd))


def foretold(run, kinds):
    """Forecasts of a walk, each with what it changes; those that are not named are the walk itself."""
    same = run[["overlap", "msd", "alpha"]]
    return xr.concat([same.assign(kinds.get(kind, {})) for kind in KINDS], xr.Variable("kind", list(KINDS)))


def pair(name, **how):
    """The pair of a claim, whose maker gets the scatter of its networks, (phase, rng) -> numbers."""
    reach = dict(zip(N, REACH[name], strict=True))

    def mark(maker):
        def made(level, rng, rival):
            return maker(level, lambda phase: scatter(reach[phase], N[phase], rng), rival)

        page.pair(f"C.3.forecast.{name}", panels=N, reach=reach, **how)(made)
        return maker

    return mark


def by_phase(made):
    """(walks, forecasts) of each phase as arguments of a claim."""
    return {"walked": {p: run for p, (run, _) in made.items()}, "foretold": {p: said for p, (_, said) in made.items()}}


def late(run, level):
    """Overlaps that are so large from 50,000 steps on, long after a tenth of the weights has left."""
    return {"overlap": run.overlap.where(run.time < 5e4, per_network(level)).transpose(*run.overlap.dims)}


def curves_that_are_off(rival):
    """Overlaps foretold too small at late times, and those of a rival."""

    def made(level, scatter, as_good):
        found = {}
        for phase, n in N.items():
            run, off, null = walked(phase), scatter(phase), scatter(phase)
            other = level[phase] + null if as_good else 0.35 + null
            kinds = {"parabola": late(run, 0.5 - level[phase] - off), rival: late(run, 0.5 - other)}
            found[phase] = run.assign(late(run, np.full(n, 0.5))), foretold(run, kinds)
        return by_phase(found)

    return made


pair("curves", usual=0.03, told=0.3)(curves_that_are_off("walk at T = 0"))
pair("cold", usual=0.03, told=0.3)(curves_that_are_off("slide in weight decay"))


@pair("others", usual=-0.05)
def networks_of_two_kinds(level, scatter, rival):
    """Each is farther from the mean of the others than from its forecast."""
    made = {}
    for phase, n in N.items():
        gone, run = np.resize([0.1, 0.5], n), walked(phase)
        off = abs(gone - gone.mean()) * n / (n - 1) + level[phase] + scatter(phase)
        made[phase] = run.assign(late(run, gone)), foretold(run, {"parabola": late(run, gone + off)})
    return by_phase(made)


@pair("times", usual=0.03, told=0.3)
def times_that_are_off(level, scatter, rival):
    """Overlaps fall as 1/(1 + t/9τ), with τ of forecasts too large by powers of ten."""
    made = {}
    for phase, n in N.items():
        run = walked(phase)

        def falling(powers, run=run):
            overlap = 1 / (1 + run.time / (9 * 300 * 10 ** per_network(powers))) + 0 * run.overlap
            return {"overlap": overlap.transpose(*run.overlap.dims)}

        off, null = (level[phase] + scatter(phase) for _ in range(2))
        slide = falling(null if rival else null + 0.3)
        run = run.assign(falling(np.zeros(n)))
        made[phase] = run, foretold(run, {"parabola": falling(off), "slide in weight decay": slide})
    return by_phase(made)


@pair("displacement", usual=0.04, told=0.3, power=0.15)
def displacements_that_are_off(level, scatter, rival):
    """Squared displacements foretold too large by powers of e; six networks that scatter so much can seldom tell."""
    made = {}
    for phase in N:
        run, off, null = walked(phase), *(level[phase] + scatter(phase) for _ in range(2))
        far = {"parabola": off, "slide in weight decay": null if rival else null + 0.3}
        kinds = {k: {"msd": (run.msd * np.exp(per_network(one))).transpose(*run.msd.dims)} for k, one in far.items()}
        made[phase] = run, foretold(run, kinds)
    return by_phase(made)


@pair("alpha", usual=0.0)
def weights_as_unequal_as_foretold(level, scatter, rival):
    """α₂ of forecasts off by powers of two."""
    made = {}
    for phase in N:
        run = walked(phase).assign(alpha_mixture=lambda run: run.alpha * (1 if rival else 0.125))
        off = per_network(level[phase] + scatter(phase))
        made[phase] = run, foretold(run, {"parabola": {"alpha": (run.alpha * 2**off).transpose(*run.alpha.dims)}})
    return by_phase(made)


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_times_without_an_end_count_as_the_records_end():
    def falling(tau):
        run = walked("regularised").isel(seed=[0])
        return run.assign(overlap=(0 * run.overlap + 0.9 ** (run.time / tau)).transpose(*run.overlap.dims))

    still, soon = falling(1e9), falling(1e3)
    assert forecast.time_errors(soon, foretold(still, {})).values == pytest.approx(2, abs=0.01)
    assert forecast.time_errors(still, foretold(falling(1e8), {})).isnull().all(), "both say that nothing happens"


@pytest.fixture(scope="module")
def walks():
    return {phase: forecast.learnt(result(forecasts.learning(phase))) for phase in forecasts.TEMPERATURES}


GLASS = result(experiment("glass-former")).sel(window=lennard_jones.CAGE)


def test_the_papers_claims_read_the_same_on_walks_and_on_forecasts_that_are_right(walks):
    right = {phase: run.expand_dims(kind=list(forecast.COLUMNS)) for phase, run in walks.items()}
    table = forecast.of_forecasts(walks, right, GLASS)
    for column in forecast.COLUMNS:
        assert list(table["walks"]) == list(table[column])


def test_free_walks_in_place_of_forecasts_satisfy_no_claim_on_the_landscape(walks):
    said = {phase: result(forecasts.forecasts(forecasts.learning(phase))) for phase in walks}
    table = forecast.of_forecasts(walks, said, GLASS)
    for name in ("C.2.cold_is_faster", "C.8.crossover"):
        row = table.loc[forecast.OF_WALKS[name]].str.partition(":")[0]
        assert row["walks"] == HOLDS != row["free walk"], row


def test_networks_count_that_learnt_as_much_as_the_papers_and_did_not_diverge():
    run = walked("regularised")
    loss = (0 * run.loss_waited + 0.1).where(run.seed != 1, 0.3)
    gone = run.diverged | (run.seed == 3)
    assert forecast.learnt(run.assign(loss_waited=loss, diverged=gone)).seed.values.tolist() == [0, 2, 4, 5]


def test_weights_that_only_decay_leave_the_window_by_what_they_shrink():
    said = result(forecasts.forecasts(forecasts.learning("regularised"))).sel(temperature=0.0).isel(waiting=0, time=-1)
    shrunk = 1 - (1 - 1e-3 * 0.01) ** int(said.time)
    one = said.sel(kind="weight decay")
    assert np.sqrt(one.msd / one.window[:, 2] ** 2).values == pytest.approx(shrunk * CHI[2], rel=0.03)


def test_what_sampling_leaves_is_kolmogorovs_distance():
    """Of n weights all of which leave it is .8687/√n."""
    run = walked("regularised")
    gone = run.assign(overlap=0 * run.overlap, n_weights=("seed", np.full(N["regularised"], 400)))
    assert float(forecast.sampling_floor(gone, 1).mean()) == pytest.approx(0.8687 / 20, rel=0.03)
    assert float(forecast.sampling_floor(gone.assign(overlap=0 * run.overlap + 0.99), 1).mean()) < 0.01
