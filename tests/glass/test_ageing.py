"""Pairs of the page glass/ageing on walks that are slower after the last wait, and its tables in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import TIMES, N, slide_time, sliding_run
from scipy.special import erf

from deepmech_book.glass import ageing, phases
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/ageing")
WAITS, DECAY = (10_000, 40_000), 1e-5
"""DECAY: μλ."""


def walked(phase, rng, slower=1.0, hot=1.0, scatter=0.0, waits=WAITS):
    """As many networks as ship, whose slides and whose kicks are slower by factors after the last wait.

    Networks differ in them by ``scatter``.
    """
    times = np.unique(np.geomspace(1, 1e7, 120).round())
    temperatures = (1.0, 0.1, 1e-3, 1e-6, 0.0)
    run = sliding_run(0.0, n_seeds=N[phase], temperatures=temperatures, waits=waits, times=times, phase=phase, rng=rng)
    each = np.exp(scatter * xr.DataArray(rng.standard_normal(N[phase]), dims="seed"))
    each *= np.exp(0.856 * scatter**2)  # the mean of networks falls to 0.9 sooner than one of the middle time
    slide, kicks = (run.time / xr.where(run.waiting == waits[-1], by * each, 1.0) for by in (slower, hot))
    speed = 0.0 if phase == "overparameterised" else 1e-7
    with np.errstate(divide="ignore"):
        width = np.sqrt(2 * (2 * walks.diffusion(1.0) * run.temperature * kicks + (speed * slide) ** 2))
        overlap = xr.apply_ufunc(erf, run.sigma / run.chi / width)
    return run.assign(overlap=overlap.transpose(*run.overlap.dims))


@page.pair("C.8.ages", panels=phases.WITH_LOSS, usual=1.6)
def slower_than_weight_decay_makes_them(level, rng, rival):
    """With ``rival`` regularised networks age as by weight decay, after a wait so long that it is more than a tenth."""
    waits = WAITS if rival else (10_000, 11_000)
    alone = {"regularised": np.exp(DECAY * (waits[1] - waits[0]))} if rival else {}
    return {"runs": {p: walked(p, rng, slower, scatter=0.187, waits=waits) for p, slower in (level | alone).items()}}


@page.pair("C.8.hot_does_not", usual=1.0)
def kicks_that_weaken(level, rng, rival):
    return {"runs": {"regularised": walked("regularised", rng, hot=level[""], scatter=0.057)}}


@page.pair("C.8.stronger_regularised", usual=2.0, reach=0.8, rival=False)
def faster_in_units_of_weight_decay(level, rng, rival):
    """Just inside of the rule a phase ages by as much as weight decay alone; true is what is farther inside."""
    grown = {"regularised": 1.1 * np.exp(DECAY * (WAITS[1] - WAITS[0]) * level[""]), "underparameterised": 1.1}
    return {"runs": {p: walked(p, rng, slower, scatter=0.22) for p, slower in grown.items()}}


@page.pair("C.8.crossover", panels=phases.WITH_LOSS, usual=1.0)
def slower_landscapes(level, rng, rival):
    return {"runs": {p: walked(p, rng, 1 / shift, scatter=0.17) for p, shift in level.items()}}


@page.pair("C.A11.no_ageing", usual=1.0, power=0.7)
def networks_without_loss(level, rng, rival):
    runs = {
        "underparameterised": walked("underparameterised", rng, 1.0 if rival else 1.5),
        "overparameterised": walked("overparameterised", rng, hot=level[""], scatter=0.0226),
    }
    return {"runs": runs}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()

THREE, SLOWING = (10_000, 20_000, 40_000), 2e-5
SLOWER = sliding_run(slowing=SLOWING, waits=THREE)
TABLE, FREE = (ageing.times_by_waiting(run) for run in (SLOWER, sliding_run(speed=0.0, waits=THREE)))


def test_times_after_each_wait_are_those_of_the_slide_and_grow_as_it_slows():
    at_rest = TABLE.tau.sel(temperature=0.0)
    np.testing.assert_allclose(at_rest, [slide_time(1e-7 * np.exp(-SLOWING * w), window=1) for w in THREE], rtol=0.01)
    found = ageing.growth(TABLE.sel(temperature=1e-6), 0.01)
    assert found.ratio.value == pytest.approx(np.exp(SLOWING * 30_000), rel=0.01)
    assert found.alone == pytest.approx(np.exp(walks.RATE * 0.01 * 30_000))
    assert found.words == "T = 1e-06; waits of 10,000 and 40,000 steps."
    assert ageing.growth(FREE.sel(temperature=0.1)).ratio.value == pytest.approx(1)


def test_a_record_that_ends_before_the_crossing_bounds_growth_from_below():
    steep = sliding_run(slowing=1e-4, waits=THREE)  # the last slide takes longer than the record
    table = ageing.times_by_waiting(steep)
    rest = table.sel(temperature=0.0)
    found = ageing.growth(rest)
    assert found.bound and found.ratio.value == pytest.approx(float(TIMES[-1] / rest.tau[0]))
    assert found.ratio.value < np.exp(1e-4 * 30_000) and "bounds it from below" in found.words
    moved, words = ageing.crossover_shift(table)
    assert moved.value == pytest.approx(1 / found.ratio.value) and moved.low == 0 and "bounds T* from above" in words
    before = ageing.growth(rest.isel(waiting=[2, 1]))
    assert "before the first crossing" in before.ratio.reason and before.waits == ""
    assert "fewer than two" in ageing.growth(rest.isel(waiting=[0])).ratio.reason


def test_one_wait_or_no_hot_temperature_gives_no_growth():
    assert "fewer than two waiting times" in ageing.hot_growth(SLOWER.isel(waiting=[0]))[0].reason
    assert ageing.hot_growth(SLOWER.sel(temperature=[1e-6, 0.0]))[1] == "none"
    cold = TABLE.sel(temperature=0.0)
    assert "fewer than two" in ageing.faster_with_decay(cold, cold.isel(waiting=[0]), 0.01).reason


def test_a_table_of_growth_has_a_row_for_each_temperature_that_is_seen():
    table = ageing.growth_by_temperature(FREE, 0.01)
    assert set(table.index) == {"T = 1", "T = 0.1", "T = 0.01", "T = 0.001"}, "colder free walks outlast the record"
    assert (table["weight decay alone"] == "1.35").all() and table["τ₉₀ grows by"].str.startswith("1.00").all()


def test_phases_with_loss_are_judged_where_coldest_and_pictures_show_them_there():
    runs = {phase: SLOWER for phase in walks.PHASES}
    where = ageing.where_judged(runs)
    assert where["regularised"] == (1e-6, walks.FINE_WINDOW)
    assert where["overparameterised"] == (1e-3, walks.PAPER_WINDOW)
    panels = ageing.panels_after_waits(runs)
    assert panels.sizes["phase"] == 3 and (np.diff(panels.isel(phase=0, time=-1)) > 0).all()
    grown = ageing.growth_of_phases(runs)
    assert grown.phase.values.tolist() == ["regularised", "underparameterised"]
    steps = np.array(THREE) - THREE[0]
    np.testing.assert_allclose(grown.alone[0], float(grown.tau[0, 0]) * np.exp(walks.RATE * 0.01 * steps))


def test_waits_side_by_side_leave_out_the_temperature_zero():
    table = ageing.times_after_waits({"a": TABLE})["a"]
    assert table.tau.dims == ("waiting", "temperature") and float(table.temperature.min()) > 0
    at = table.tau.sel(waiting=20_000, drop=True)
    xr.testing.assert_allclose(at, TABLE.tau.sel(waiting=20_000, temperature=at.temperature, drop=True))
