"""Pairs of the page glass/superposition, and its curves and wells where they are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import LONG, SIGMA, TEMPERATURES, N, scatter, sliding_run
from scipy.special import erf

from deepmech.core.random import Stream
from deepmech.metrics import relaxation
from deepmech.simulators.brownian import Well, free_overlap
from deepmech_book.glass import phases, superposition
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/superposition")
TAUS = dict(zip((1.0, 0.1, 0.01, 1e-3, 0.0), 10.0 ** np.arange(2, 7), strict=True))
"""τ₉₀ by temperature."""
TIMES = np.unique(np.geomspace(1, 1e7, 100).round())
S = TIMES / np.array(list(TAUS.values()))[:, None]
FREE, SLIDE = (of(S.ravel()).values.reshape(S.shape) for of in (superposition.free, superposition.slide))


def shaped(phase, curves):
    """As many networks of a phase as ship, with these overlaps over (seed,) temperature and time after one wait."""
    run = sliding_run(n_seeds=N[phase], temperatures=list(TAUS), times=TIMES, waits=(20_000,), phase=phase)
    curves = np.broadcast_to(curves, (N[phase], *S.shape))[:, :, None, :, None]
    return run.assign(overlap=(run.overlap.dims, np.broadcast_to(curves, run.overlap.shape)))


SPREADS = {"regularised": 0.0074, "overparameterised": 0.00084}


@page.pair("C.4.collapse", panels=SPREADS, usual=0.008, reach=SPREADS)
def every_second_curve_is_part_of_a_slide(level, rng, rival):
    """By as large a part as a network's own."""
    two = np.where(np.arange(len(S))[:, None] % 2, SLIDE, FREE)
    whole = relaxation.collapse(TIMES, two, np.array(list(TAUS.values()))).spread
    part = dict.fromkeys(N, 1.0) if rival else {"underparameterised": 0.5} | {p: level[p] / whole for p in level}
    each = {p: np.full(N[p], part[p]) for p in N}
    each |= {p: each[p] + scatter(reach / whole, N[p], rng) for p, reach in SPREADS.items()}
    return {"runs": {p: shaped(p, FREE + one[:, None, None] * (two - FREE)) for p, one in each.items()}}


@page.pair("C.4.master_power", usual=-0.476, expected=-0.5)
def powers_of_time(level, rng, rival):
    """Each network's overlap falls after τ₉₀ by a power of its own."""
    power = (-0.96 if rival else level[""]) + 0.023 * rng.standard_normal((25, 1, 1))
    return {"regularised": shaped("regularised", 0.9 * np.where(S < 1, S**-0.02, S**power))}


HOT = xr.DataArray([0.01, 0.1, 1.0], {"temperature": [0.01, 0.1, 1.0]}, "temperature")


def normal(rng, *shape):
    """A normal number for each of 25 networks, and temperature."""
    return xr.DataArray(rng.standard_normal((25, *shape)), dims=("seed", "temperature")[: 1 + len(shape)])


@page.pair("C.4.last_power", usual=-0.51, expected=-0.5)
def powers_of_temperature(level, rng, rival):
    ends = (HOT ** ((0 if rival else level[""]) + 0.085 * normal(rng))).transpose("seed", ...)
    return {"last": xr.Dataset(dict.fromkeys(("networks", "free walks", "weight decay alone"), ends))}


@page.pair("C.4.well_explains", panels=HOT.values, usual=1.6, reach=0.3, rival=False)
def more_or_less_than_in_the_well(level, rng, rival):
    """Networks scatter about a multiple of the overlap in the well, and free walks keep three times as much."""
    well = HOT**-0.5 * (1 + 0 * normal(rng))
    ratio = xr.DataArray(list(level.values()), HOT.coords, "temperature")
    networks = well * ratio * np.exp(0.32 * normal(rng, 3) - 0.32**2 / 2)
    kinds = {"networks": networks, "free walks": (1 if rival else 3) * well, "weight decay alone": well}
    waited = xr.zeros_like(networks).expand_dims(weight=5)
    return {"last": xr.Dataset(kinds), "waited": waited, "regularised": sliding_run(n_seeds=2)}


def leaving(phase, above, below, rng):
    """Free curves, but one lies farther above and another farther below, late in their fall; networks differ."""
    bump = np.exp(-(np.log(S / 30) ** 2))
    size = np.zeros((N[phase], len(S), 1))
    size[:, 0, 0], size[:, 1, 0] = above, -below
    size[:, 1, 0] += 0.0173 * rng.standard_normal(N[phase])
    return shaped(phase, FREE + size * bump)


@page.pair("C.A6.under_leaves", usual=0.04, told=0.12)
def one_above_and_one_below(level, rng, rival):
    other = leaving("regularised", 0.1, level[""] if rival else 0.0, rng)
    return {"runs": {"underparameterised": leaving("underparameterised", 0.1, level[""], rng), "regularised": other}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_curves_of_free_walks_and_slides_are_those_of_the_error_function():
    at = np.array([1.0, 100.0, 1e6])
    np.testing.assert_allclose(superposition.free(at), [0.9, 0.1307, 1.3124e-3], rtol=1e-3)  # and falls as t^-1/2
    np.testing.assert_allclose(superposition.slide(at), [0.9, 0.0131, 1.3124e-6], rtol=2e-3)


def test_few_points_of_a_tail_give_no_power_and_one_network_no_difference():
    two = sliding_run(0.0, temperatures=[0.012, 0.01], times=LONG)
    short = two.sel(time=slice(None, 1.5 * float(phases.times(two).tau.max())))
    assert "too few points" in superposition.power_of_hottest(short).reason
    alone = {"underparameterised": shaped("underparameterised", FREE), "regularised": shaped("regularised", FREE)}
    alone["regularised"] = alone["regularised"].isel(seed=[0])
    assert superposition.under_leaves.function(alone).measured.difference is None


def test_panels_show_free_walks_on_the_dashed_curve_and_slides_off_it():
    free, slide = (sliding_run(speed, spread=0.0, times=LONG) for speed in (0.0, 1e-7))
    for curves, rival in (superposition.late(free), superposition.beside_free_walks({"a": free})):
        assert float(abs(curves - rival).max()) < 5e-3
    curves, rival = superposition.beside_free_walks({"a": free, "b": slide})
    assert float(abs((curves - rival).sel(phase="b")).max()) > 0.1 and float(curves.time.min()) >= superposition.LATE
    assert curves.time.attrs["long_name"] == r"$t/\tau_{90}$" and curves.phase.values.tolist() == ["a", "b"]


def test_last_overlaps_are_those_of_free_walks_and_of_weights_at_rest_in_a_well():
    heated = [t for t in TEMPERATURES if t > 0]
    sizes = {"seed": range(4), "temperature": heated, "weight": range(6)}
    waited = xr.DataArray(np.zeros((4, len(heated), 6)), sizes, tuple(sizes))
    last = superposition.last_overlaps(sliding_run(0.0, spread=0.0, times=LONG), waited, 0.01)
    np.testing.assert_allclose(last["networks"], last["free walks"], rtol=1e-6)
    for t in (0.01, 1.0):
        exact = erf(SIGMA / 300 / np.sqrt(2 * t / (0.01 * walks.P_D)))
        np.testing.assert_allclose(last["weight decay alone"].sel(temperature=t), exact, rtol=1e-6)
    assert superposition.mean_last(last).kind.values.tolist() == list(last)


def test_weights_in_a_well_are_free_at_first_and_slide_away_from_far_out():
    weights = xr.DataArray(np.zeros((3, 1, 5)), {"temperature": [0.01]}, ("seed", "temperature", "weight"))
    window = SIGMA / 300 + 0 * weights.isel(weight=0)
    free = free_overlap(np.array(4500.0), SIGMA / 300, walks.diffusion(0.01))
    np.testing.assert_allclose(superposition.in_well(weights, window, 0.01, 4500.0), free, rtol=0.05)
    assert float(superposition.in_well(weights + 1.0, window, 0.01, 1e8).max()) < 1e-9


def test_simulated_weights_lie_about_the_closed_form():
    for k, step, end in ((1.0, 0.01, 4.0), (50.0, 2e-4, 0.1)):
        points = superposition.simulated(k, step, end, Stream.of("wells", 0), n=4000)
        assert float(abs(points - superposition.closed_form(points.time.values, k)).max()) < 4 * 0.5 / np.sqrt(4000)
    still = superposition.simulated(1.0, 0.1, 1.0, Stream.of("wells", 0), n=10)
    assert still.time.values.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 1.0])


def test_what_is_left_after_infinite_time_falls_as_the_root_of_temperature():
    (ends,) = superposition.final_overlaps(np.array([0.1, 1e4, 1e6]), 0.01, 1e-3, np.zeros(5))
    width = np.sqrt(Well(0.01, 0.1, walks.RATE, walks.P_D).variance)
    assert float(ends[0]) == pytest.approx(erf(1e-3 / width / np.sqrt(2)))
    assert float(ends[1] / ends[2]) == pytest.approx(10, rel=1e-3)
