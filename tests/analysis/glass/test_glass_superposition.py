"""Collapse of overlaps, and weights in wells, on walks whose overlaps are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import SIGMA, TEMPERATURES, sliding_run
from scipy.special import erf

from deepmech.core.random import Stream
from deepmech.simulators.brownian import Well
from deepmech_book.analysis.glass import phases, superposition, wells
from deepmech_book.sweeps.glass import walks

LONG = np.unique(np.geomspace(1, 1e7, 300).round())
FREE = sliding_run(speed=0.0, spread=0.0, times=LONG)
SLIDING = sliding_run(spread=0.0, times=LONG)


def test_free_walks_of_all_temperatures_lie_on_their_curve():
    curves, laid = superposition.collapsed(FREE)
    assert curves.temperature.values.tolist() == [t for t in TEMPERATURES if t >= 1e-4], (
        "colder ones outlast the record"
    )
    gap = abs(curves - superposition.free_master(laid.rescaled))
    in_steps = phases.overlaps(FREE).mean("seed").std("temperature")
    assert float(gap.max()) < 2e-3 and laid.spread < 1e-3 < 0.1 < float(in_steps.max())


def test_sliding_weights_do_not():
    """Weights that slide lose their memory all at once; free ones keep a tail."""
    _, laid = superposition.collapsed(SLIDING)
    assert laid.spread > 20 * superposition.collapsed(FREE)[1].spread
    away = superposition.departure(SLIDING, SLIDING)
    assert away.value == pytest.approx(0, abs=0.05), "they leave the curve below, not above"


def test_curves_that_leave_on_both_sides():
    """Half of the temperatures fall as a power -1/4 of t, half as -1, after the same τ₉₀."""
    run = FREE.copy()
    t, tau = run.time.values, 1000.0
    fall = [0.9 * np.where(t < tau, (t / tau) ** -0.02, (t / tau) ** -p) for p in (0.1, 1.0) * 3]
    shape = run.overlap.transpose("seed", "temperature", "waiting", "chi", "time")
    shape = shape.isel(temperature=slice(0, 6))
    both = shape.copy(data=np.broadcast_to(np.array(fall)[None, :, None, None], shape.shape))
    run = run.isel(temperature=slice(0, 6)).assign(overlap=both.transpose(*run.overlap.dims))
    found = superposition.departure(run, SLIDING)
    free = superposition.free_master(np.array([1.0, 5.0, 10.0, 100.0]))
    assert found.value > 0.2 and found.low <= found.value <= found.high
    assert float(0.9 * 10**-0.1 - free[2]) > 0.2 and float(free[2] - 0.09) > 0.2
    for pair in ((run.isel(seed=[0]), SLIDING), (run, SLIDING.isel(seed=[0]))):
        alone = superposition.departure(*pair)
        assert alone.value > 0.2 and alone.difference is None, "of one network alone nothing is known of their scatter"


def test_the_free_curve_is_that_of_the_error_function():
    found = superposition.free_master(np.array([1.0, 100.0, 1e6]))
    assert found.values[0] == pytest.approx(0.9) and found.values[1] == pytest.approx(0.1307, abs=1e-4)
    assert found.values[2] == pytest.approx(1.3124e-3, rel=1e-3), "and falls as t^-1/2"


@pytest.mark.parametrize("power", [-0.3, -0.5, -1.0])
def test_the_power_of_a_tail(power):
    time = np.geomspace(1, 1000, 200)
    curve = xr.DataArray(0.9 * time**power, {"time": time}, "time")
    assert superposition.tail_power(curve) == pytest.approx(power)
    assert np.isnan(superposition.tail_power(curve.isel(time=slice(0, 5))))


def test_the_master_curve_of_free_walks_comes_to_minus_one_half():
    found = superposition.master_power(FREE)
    master = superposition.free_master(superposition.collapsed(FREE)[1].rescaled)
    exact = superposition.tail_power(master)
    assert found.value == pytest.approx(exact, abs=0.01) and -0.5 < exact < -0.45
    two = sliding_run(speed=0.0, temperatures=[0.012, 0.01], times=LONG)
    short = two.sel(time=slice(None, 1.5 * float(phases.times(two).tau.max())))
    assert "too few points" in superposition.master_power(short).reason


def test_two_sides_of_a_collapse_show_the_same_curves():
    curves, free = superposition.before_and_after(FREE)
    assert curves.kind.values.tolist() == [superposition.IN_STEPS, superposition.IN_UNITS] == free.kind.values.tolist()
    assert float(abs(curves - free).max()) < 5e-3
    late = curves.sel(kind=superposition.IN_UNITS).dropna("time", how="all")
    assert float(late.time.min()) >= superposition.LATE


def test_phases_side_by_side_have_one_free_curve():
    curves, free = superposition.beside_free_walks({"a": FREE, "b": SLIDING})
    assert curves.phase.values.tolist() == free.phase.values.tolist() == ["a", "b"]
    assert float(abs((curves - free).sel(phase="a")).max()) < 5e-3 < float(abs((curves - free).sel(phase="b")).max())


def test_two_shapes_lie_apart_and_have_powers_of_their_own():
    assert superposition.spread_of_two_shapes(FREE) > 0.05 > 0.01 > superposition.collapsed(FREE)[1].spread
    free, slide = superposition.powers_of_shapes(FREE)
    assert -0.5 < free < -0.45 and -1 < slide < -0.9


@pytest.fixture(scope="module")
def waited():
    """Weights all at the bottom of the well."""
    heated = [t for t in TEMPERATURES if t > 0]
    sizes = {"seed": range(4), "temperature": heated, "weight": range(6)}
    return xr.DataArray(np.zeros((4, len(heated), 6)), sizes, tuple(sizes))


def test_the_last_overlap_of_free_walks_is_theirs_and_in_a_well_it_ends(waited):
    last = superposition.last_overlaps(FREE, waited, 0.01)
    assert last["networks"].dims == ("seed", "temperature") and (np.diff(last.temperature) > 0).all()
    np.testing.assert_allclose(last["networks"], last["free walks"], rtol=1e-6)
    for t in (0.01, 1.0):
        exact = erf(SIGMA / 300 / np.sqrt(2 * t / (0.01 * walks.P_D)))
        np.testing.assert_allclose(last["weight decay alone"].sel(temperature=t), exact, rtol=1e-6)


def test_powers_and_ratios_of_last_overlaps():
    t = np.array([0.01, 0.1, 1.0])
    scatter = np.array([0.9, 1.0, 1.1, 1.0])[:, None]
    kinds = {
        "networks": 3 * t**-0.25 * scatter,
        "free walks": t**-0.5 * scatter,
        "weight decay alone": t**-0.25 * scatter,
    }
    last = xr.Dataset({k: (("seed", "temperature"), v) for k, v in kinds.items()}, {"temperature": t})
    powers = superposition.last_powers(last)
    assert [round(powers[k].value, 6) for k in kinds] == [-0.25, -0.5, -0.25]
    found = superposition.over_the_well(last)
    np.testing.assert_allclose(found.value, 3) and np.testing.assert_allclose(found.interval, 3)


def test_simulated_weights_lie_about_the_closed_form():
    for k, step, end in ((1.0, 0.01, 4.0), (50.0, 2e-4, 0.1)):
        points = wells.simulated(k, step, end, Stream.of("wells", 0), n=4000)
        assert float(abs(points - wells.closed_form(points.time.values, k)).max()) < 4 * 0.5 / np.sqrt(4000)
    still = wells.simulated(1.0, 0.1, 1.0, Stream.of("wells", 0), n=10)
    assert still.time.values.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8, 1.0])


def test_what_is_left_after_infinite_time_falls_as_the_root_of_temperature():
    weights = np.zeros(5)
    hot = wells.final_overlaps(np.array([1e4, 1e6]), 0.01, 1e-3, weights)
    assert float(hot[0] / hot[1]) == pytest.approx(10, rel=1e-3)
    width = np.sqrt(Well(0.01, 0.1, walks.RATE, walks.P_D).variance)
    (one,) = wells.final_overlaps(np.array([0.1]), 0.01, 1e-3, weights)
    assert float(one) == pytest.approx(erf(1e-3 / width / np.sqrt(2)))


def test_weight_decay_of_a_run():
    assert phases.weight_decay(FREE) == 0.01
