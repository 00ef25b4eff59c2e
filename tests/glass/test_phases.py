"""Times of made-up walks, whose answers are known."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import made_up, sliding_run

from deepmech.data import Data
from deepmech.metrics import relaxation
from deepmech.simulators.brownian import free_time
from deepmech_book.glass import displacement, phases, regimes
from deepmech_book.glass import relaxation as memory
from deepmech_book.sweeps.glass import minima, walks
from deepmech_book.sweeps.glass.data import binary

SIGMA = 0.3


def test_two_regimes_and_their_crossover():
    run = made_up()
    table = phases.times(run)
    rest = regimes.time_at_rest(table)
    assert rest == pytest.approx(3000, rel=0.02)
    warm = regimes.select_hot(table)
    assert warm.temperature.values.tolist() == [0.1]
    np.testing.assert_allclose(warm.tau / warm.free, 1, atol=0.06)
    assert regimes.select_cold(table, ratio=2).temperature.values.tolist() == [1e-3]
    free = 0.1 * free_time(SIGMA / 300, walks.RATE * 0.1 / walks.P_D)
    assert regimes.crossover(table) == pytest.approx(free / rest, rel=1e-6)
    np.testing.assert_allclose(regimes.crossover_without(table), regimes.crossover(table))
    # A landscape that slides weights steadily: its time goes as the window, so T* as 1/χ.
    tables = [phases.times(run, window) for window in (1, 2)]
    stars = np.array([regimes.crossover(one) for one in tables])
    without = np.array([regimes.crossover_without(one) for one in tables]).T
    power = regimes.power(run.chi.values[1:], stars, without)
    assert power.value == pytest.approx(-1.0, abs=0.02) and power.low <= power.value <= power.high
    ratio = regimes.over_free(warm)
    np.testing.assert_allclose(ratio.interval, [ratio.value] * 2)  # these networks are all alike
    # Windows that differ by factors, and times with them: of free walks nothing is left.
    wider = np.array([1.0, 1.1, 0.8, 1.3])[:, None] * np.ones((1, len(run.temperature)))
    uneven = run.assign(sigma=run.sigma * wider)
    ratio = regimes.over_free(phases.times(uneven).sel(temperature=[0.1]))
    assert (ratio.low < ratio.value).all() and (ratio.value < ratio.high).all()
    assert not regimes.over_free(phases.times(uneven.isel(seed=[0, 1])).sel(temperature=[0.1])).is_finite
    words = "digits parity with whitened inputs, P_D = 1796, width 6, N/P_D = 0.137, 4 initial"
    assert phases.origin(run).startswith(words)


def test_where_the_record_ends_first_its_end_is_a_lower_bound():
    """Memory that lasts as a power of another dimension, and scatters by a few per cent between runs."""
    times, length, runs = np.geomspace(1, 1e3, 60), np.array([1e0, 1e1, 1e2, 1e3]), 1 + 0.02 * np.arange(5)
    fall = np.exp(-0.05 * times / (length[:, None] ** 1.2 * runs)[..., None])
    overlap = xr.DataArray(fall, {"length": length, "time": times}, ("length", "seed", "time"))
    table = relaxation.decorrelation_times(overlap)
    exact = -np.log(0.9) / 0.05 * length**1.2
    assert np.allclose(table.tau[:2], exact[:2], rtol=0.08) and np.isnan(table.tau[-1])
    assert table.least[-1] == table.least_without[-1, 0] == times[-1] and table.state[-1] == "censored"
    assert ((table.low <= table.tau) & (table.tau <= table.high))[:2].all()


def test_records_far_apart_in_time_do_not_tell_a_second_step():
    rare = xr.DataArray([0.9, 0.5, 0.1], {"time": [1.0, 10.0, 100.0]}, "time")
    with pytest.raises(ValueError, match="second_step: overlap: no three records lie within a factor of four"):
        memory.second_step(rare)


def test_a_regime_that_the_record_does_not_show_is_not_testable():
    table = phases.times(made_up())
    slope = regimes.power_of_temperature(table.sel(temperature=[0.1]))
    assert "fewer than two temperatures" in slope.reason
    assert "no temperature" in regimes.over_free(table.sel(temperature=[])).reason
    assert regimes.select_hot(phases.times(made_up(still=1.0))).sizes["temperature"] == 0
    assert regimes.crossover(phases.times(made_up(still=1e12))) == 0


def test_waits_and_phases_are_read_off_where_they_are():
    early, late = (phases.times(made_up(ages=1.5), wait=i) for i in range(2))
    assert float(late.tau.sel(temperature=0.0) / early.tau.sel(temperature=0.0)) == pytest.approx(1.5, rel=0.02)
    run = made_up()
    both = phases.beside({"one": phases.times(run), "two": phases.times(run.sel(temperature=[0.1, 0.0]))}, "phase")
    assert np.isfinite(both.free).all() and np.isnan(both.tau.sel(phase="two", temperature=1e-3))
    np.testing.assert_allclose(both.free.sel(phase="two"), both.free.sel(phase="one"))


def test_panels_keep_every_curve_at_its_own_times():
    long = xr.DataArray([1.0, 0.5, 0.0], {"time": [1, 10, 100]}, "time")
    short = xr.DataArray([1.0, 0.0], {"time": [1, 30]}, "time")
    made = phases.panels({"long": long, "short": short})
    np.testing.assert_allclose(made.sel(phase="long", time=[1, 10, 100]), long, atol=1e-12)
    assert np.isnan(made.sel(phase="short", time=100)) and np.isfinite(made.sel(phase="short", time=10))


def test_a_swing_within_the_first_steps_is_no_cage():
    msd = made_up().msd.isel(waiting=0).mean("seed")
    t = msd.time.values.astype(float)
    for end, is_cage in ((5.0, False), (500.0, True)):
        held = msd.copy(data=np.broadcast_to(1e-9 + 1e-9 * (t / end) ** 2, msd.shape))
        assert (displacement.rise_after_plateau(held.sel(time=slice(10, None))) > 1) == is_cage


def test_shuffled_labels_are_as_many_and_in_another_order():
    plain, shuffled = binary("digits", 600), binary("digits", 600, shuffle=3)
    np.testing.assert_array_equal(plain.x_train, shuffled.x_train)
    assert plain.y_train.sum() == shuffled.y_train.sum() and 0.3 < (plain.y_train != shuffled.y_train).mean() < 0.7
    assert len({plain.fingerprint, shuffled.fingerprint, binary("digits", 600, shuffle=4).fingerprint}) == 3


def test_one_linear_path_gives_way_at_a_decay_that_grows_with_what_it_explains():
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    # L = ½(1 - a)²: -L' a^(5/7)/2 is largest at a = 5/12.
    exact = 7 / 12 * (5 / 12) ** (5 / 7) / 2
    assert minima.single_path(Data(x, np.array([1.0, -1.0]))) == pytest.approx(exact, rel=1e-3)
    assert minima.single_path(binary("digits", 600, shuffle=1)) < 0.5 * minima.single_path(binary("digits", 600))


def test_where_no_network_has_learnt_the_remedy_is_named():
    unlearnt = sliding_run(levels=(0.5, 0.5))
    with pytest.raises(ValueError, match=r"of 4 initial conditions 0 diverged, .* lie at the origin.*sgd_steps"):
        phases.survivors(unlearnt)
