"""Pairs of the page glass/heterogeneity, on as many networks as ship, and its pictures' numbers on known walks."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import N, gaussian_run, motilities_of, scatter, two_kinds, uneven

from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech_book.glass import heterogeneity, phases
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/heterogeneity")
LOSSY = phases.WITH_LOSS

HOT = {"regularised": 0.0118, "underparameterised": 0.0165, "overparameterised": 0.0329}


@page.pair("C.7.hot_is_gaussian", panels=N, usual=0.03, reach=HOT, rival=False, told=0.1)
def normal(level, rng, rival):
    """Until a tenth of the landscape's own time, 3,000; later α₂ is far from 0."""
    runs = {p: uneven(level[p] + scatter(HOT[p], N[p], rng)) for p in N}
    return {"runs": {p: run.assign(alpha=run.alpha.where(run.time < 350, 2.0)) for p, run in runs.items()}}


COLD = {"regularised": 1.47, "underparameterised": 0.595, "overparameterised": 0.0969}


def beyond_groups(phase, level, rng, rival):
    """Networks whose groups differ, and that are farther from Gaussian than these, or as far."""
    groups = 0.15 + scatter(0.2 * COLD[phase], N[phase], rng)
    beyond = level - 0.15 + scatter(COLD[phase], N[phase], rng)
    return uneven(groups + beyond, groups + (level - 0.15 if rival else 0.0))


@page.pair("C.7.cold_is_not", panels=LOSSY, usual=8.0, reach=COLD)
def far_from_gaussian(level, rng, rival):
    return {"runs": {p: beyond_groups(p, level[p], rng, rival) for p in LOSSY}}


@page.pair("C.7.overparameterised.cold_is_not", usual=0.0, told=0.08)
def large_near_gaussian(level, rng, rival):
    return {"runs": {"overparameterised": beyond_groups("overparameterised", level[""], rng, rival)}}


CRITICAL = {"regularised": 0.003466, "underparameterised": 0.003537, "overparameterised": 0.004081}
"""The dip that one in twenty samples of so many uniform numbers exceeds."""


def slow_and_fast(phase, level, uneven, rng, rival, n=610):
    """Networks with shares of slow weights that differ by factors; with ``rival`` layers of two speeds dip as much."""
    share = 3 * CRITICAL[phase] * level
    run = two_kinds(share * np.exp(uneven * rng.standard_normal(N[phase]) - uneven**2 / 2), n)
    slow = round(1.9 * share * n) if rival else 0  # of two Gaussians the dip is about 0.18 times the smaller share
    count = run.end_count * 0 + xr.DataArray([[n - slow, 0], [slow, 0]], dims=("layer", "alive"))
    size = xr.DataArray([1e-4, 1e-7], dims="layer")
    return run.assign(end_count=count, end_square=count * size**2)


@page.pair("C.7.bimodal", panels=LOSSY, usual=7.0, reach={"regularised": 0.18, "underparameterised": 0.73})
def two_kinds_of_weights(level, rng, rival):
    uneven = {"regularised": 0.41, "underparameterised": 0.94}
    return {"runs": {p: slow_and_fast(p, level[p], uneven[p], rng, rival) for p in LOSSY}}


@page.pair("C.7.overparameterised.bimodal", usual=0.5, reach=0.17)
def one_kind_without_loss(level, rng, rival):
    """Networks that differ by less than those that ship, of which three would decide nothing."""
    return {"runs": {"overparameterised": slow_and_fast("overparameterised", level[""], 0.08, rng, rival, 3666)}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_groups_of_the_null_have_the_median_of_a_gaussian_and_bins_of_the_measurement():
    run = gaussian_run().assign_coords(bin=0.5 * (MOTILITY_EDGES[1:] + MOTILITY_EDGES[:-1]))
    size, count = heterogeneity.scales(run, 0.01)
    assert count.sum() == 4 * 200 and np.allclose(size, 1e-4)
    measured, null = heterogeneity.motilities(run), heterogeneity.gaussian_motilities(run, [0.01]).isel(temperature=0)
    step = 4 * np.diff(MOTILITY_EDGES)[0]
    assert np.diff(null.bin)[0] == pytest.approx(step) == np.diff(measured.bin)[0]
    middle = float(null.bin[int(np.searchsorted(np.cumsum(null), 0.5))])
    assert middle == pytest.approx(np.log10(0.6745e-4), abs=step)


def test_panels_show_alpha_and_motilities_and_their_nulls_where_these_are_asked():
    runs = {"regularised": gaussian_run(), "underparameterised": gaussian_run()}
    found, null = heterogeneity.alpha_panels(runs)
    assert found.phase.values.tolist() == list(runs) and found.temperature.values.tolist() == [0.1, 0.01, 1e-3]
    assert float(found.max()) == 0 and float(null.min()) == 0.5
    seen, null = heterogeneity.motility_panels(runs)
    assert seen.temperature.values.tolist() == [0.1, 0.01, 1e-3] and float(seen.sum("bin").min()) == pytest.approx(1)
    shown = null.notnull().any("bin").all("phase")
    assert shown.values.tolist() == [False, False, True], "of the coldest only"
    assert float(null.sel(temperature=1e-3).sum("bin").min()) == pytest.approx(1, abs=0.02)
    seen, null = heterogeneity.motility_panels(runs, [0.1, 1e-3], null=[0.1, 1e-3])
    assert seen.temperature.values.tolist() == null.temperature.values.tolist() == [0.1, 1e-3]
    assert bool(null.notnull().any("bin").all())


def test_slow_weights_are_those_within_a_free_walk():
    run = gaussian_run()
    free = 0.5 * np.log10(2 * walks.diffusion(1e-3) * float(phases.overlaps(run).time[-1]))
    table = heterogeneity.slow_weights({"a": motilities_of(run, (free - 1, free, 6), (free + 2, free + 3, 2))})
    row = table.loc["a, T = 0.001"]
    assert row["slow weights"] == "75 %" and row["at silent units"] == "25 %"
    assert row["two modes"] == "4 of 4 networks"
    assert float(row["median of slow log₁₀|Δw|"].replace("−", "-")) == pytest.approx(free - 0.5, abs=0.1)
