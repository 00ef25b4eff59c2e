"""Collapse, displacement, heterogeneity and ageing as functions of made-up walks, whose answers are known."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.special import erf

from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.metrics.glass_times import exponent
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.trainers.langevin import log_times
from deepmech_book.experiments.glass import (
    ageing,
    displacement,
    phases,
    relaxation,
    shapes,
    superposition,
    walks,
    wells,
)

SIGMA, SEEDS = 0.3, 4
TEMPERATURES = [0.1, 0.01, 1e-3, 0.0]


def made_up(still=3000.0, ages=1.0):
    """A regularised phase of free walks that a landscape cuts off: τ₉₀ = 1/(1/free + 1/still), slower by ``ages``."""
    sweep = walks.standard("regularised", "digits")
    times = log_times(4500, 12)
    waiting = [500, 1000]
    chi = np.array([300 / 7, 300, 2100])
    shape = (SEEDS, len(TEMPERATURES), 2, len(times), 3)
    overlap = np.empty(shape)
    for k, t in enumerate(TEMPERATURES):
        for c, x in enumerate(chi):
            for w in range(2):
                free = free_time(SIGMA / x, walks.RATE * t / walks.P_D) if t > 0 else np.inf
                tau = 1 / (1 / free + 1 / (still * ages**w * 300 / x))
                overlap[:, k, w, :, c] = free_overlap(times, 1.0, free_time(1.0, 1.0) / tau)
    dims = ("seed", "temperature", "waiting", "time")
    coords = {"seed": range(SEEDS), "temperature": TEMPERATURES, "waiting": waiting, "time": times}
    d = walks.RATE * np.array(TEMPERATURES) / walks.P_D
    msd = np.broadcast_to(2 * d[None, :, None, None] * times + 1e-14 * times**2.0, shape[:-1])
    flat = np.zeros((SEEDS, len(TEMPERATURES), 2, len(MOTILITY_EDGES) - 1), int)
    flat[..., 100:130] = 5
    return xr.Dataset(
        {
            "overlap": ((*dims, "chi"), overlap),
            "msd": (dims, msd),
            "sigma": (("seed", "temperature"), np.full(shape[:2], SIGMA)),
            "n_weights": (("seed", "temperature"), np.full(shape[:2], 246)),
            "diverged": (("seed", "temperature"), np.zeros(shape[:2], bool)),
            "motility": (("seed", "temperature", "waiting", "bin"), flat),
            "still": (("seed", "temperature", "waiting"), np.zeros(shape[:3], int)),
        },
        {**coords, "chi": chi},
        {"spec": json.dumps(sweep.to_json())},
    )


def test_two_regimes_and_their_crossover():
    run = made_up()
    table = relaxation.taus(run)
    still = relaxation.at_rest(table)
    assert still == pytest.approx(3000, rel=0.02)
    warm = relaxation.hot(table, still)
    assert warm.temperature.values.tolist() == [0.1]
    np.testing.assert_allclose(warm.tau / warm.free, 1, atol=0.06)
    cold = relaxation.cold(table, still, ratio=2)
    assert cold.temperature.values.tolist() == [1e-3]
    free = 0.1 * free_time(SIGMA / 300, walks.RATE * 0.1 / walks.P_D)
    assert relaxation.crossover(table) == pytest.approx(free / still, rel=1e-6)
    # A landscape that slides weights steadily: its time goes as the window, so T* as 1/χ.
    power = relaxation.crossover_power({chi: relaxation.taus(run, chi=i) for i, chi in enumerate(run.chi.values)})
    assert power.value == pytest.approx(-1.0, abs=0.02)
    assert power.low <= power.value <= power.high
    ratio = relaxation.prefactor(warm)
    np.testing.assert_allclose(ratio.interval, [ratio.value] * 2)  # these networks are all alike
    # Windows that differ by factors, and times with them: of free walks nothing is left.
    wider = np.array([1.0, 1.1, 0.8, 1.3])[:, None] * np.ones((1, len(run.temperature)))
    uneven = run.assign(sigma=run.sigma * wider)
    ratio = relaxation.prefactor(relaxation.taus(uneven).sel(temperature=[0.1]))
    assert (ratio.low < ratio.value).all() and (ratio.value < ratio.high).all()
    assert not relaxation.prefactor(relaxation.taus(uneven.isel(seed=[0, 1])).sel(temperature=[0.1])).known
    far = relaxation.distance_from_free(run, 0.1)
    assert 0 < far.value < 0.03 and far.low <= far.value <= far.high
    assert phases.origin(run).startswith("digits parity, P_D = 1796, width 6, N/P_D = 0.137, 4 initial")
    assert "T*" in relaxation.summary({"phase": run}).index


def test_powers_between_temperatures_are_one_when_hot_and_none_when_cold():
    found = relaxation.steps_between(relaxation.taus(made_up(still=50.0)))
    powers = found.value
    assert powers.temperature.values.tolist() == [0.01, 0.1]
    assert 0 <= float(powers[0]) < float(powers[1]) < 1
    assert (found.low <= powers).all() and (powers <= found.high).all()
    free = relaxation.steps_between(relaxation.taus(made_up(still=1e12))).value
    np.testing.assert_allclose(free, 1, atol=0.02)


def test_a_second_step_is_seen_and_a_single_one_is_not():
    overlap = made_up().overlap.isel(chi=1, waiting=0).mean("seed")
    assert relaxation.second_step(overlap) < 0.05
    t = overlap.time.values.astype(float)
    two = overlap.copy(data=np.broadcast_to(0.5 * np.exp(-t / 5) + 0.5 * np.exp(-t / 1000), overlap.shape))
    assert relaxation.second_step(two) > 0.5


def test_a_regime_that_the_record_does_not_show_is_not_testable():
    table = relaxation.taus(made_up())
    slope, prefactor = relaxation.slope(table.sel(temperature=[0.1])), relaxation.prefactor(table.sel(temperature=[]))
    assert "fewer than two temperatures" in slope.why
    assert "no temperature" in prefactor.why
    assert "fewer than two windows" in relaxation.crossover_power({300.0: table}).why
    assert np.isnan(superposition.tail_power(superposition.free_master(np.array([1e-3, 1e-2]))).value)
    early, _ = ageing.aged(made_up().isel(waiting=[0]), 0.1)
    assert np.isnan(early.value) and "fewer than two waits" in early.why


def test_what_takes_two_waits_is_not_testable_after_one():
    """Else a time over itself would be 1, and nothing would ever age."""
    one, cold = made_up().isel(waiting=[0]), {"regularised": 0.0, "underparameterised": 0.0}
    for found, _ in (ageing.hot(one), ageing.stronger(made_up(), one, cold)):
        assert np.isnan(found.value) and found.why == ageing.ONE_WAIT
    tables = {wait: relaxation.taus(made_up(ages=1.5), waiting=i) for i, wait in enumerate((500, 1000))}
    moved, waits = ageing.crossovers(tables)
    assert moved == ageing.crossover(*tables.values()) and waits == "After 500 and after 1000 steps."
    for unseen in ({500: tables[500]}, {**tables, 1000: relaxation.taus(made_up(still=1e12))}):
        moved, _ = ageing.crossovers(unseen)
        assert np.isnan(moved.value) and "after fewer than two waits" in moved.why


def test_a_record_without_a_hot_temperature_says_so():
    assert ageing.hot(made_up(still=1.0))[0].why == relaxation.NEVER_HOT
    gap = relaxation.distance_from_free(made_up().assign(sigma=made_up().sigma * 1e-6), 0.1)
    assert np.isnan(gap.value) and "before the first recorded time" in gap.why


def test_steps_of_several_phases_stand_one_after_the_other():
    runs = {"one": made_up(still=50.0), "two": made_up(still=3000.0)}
    alone = [relaxation.steps_between(relaxation.taus(run)) for run in runs.values()]
    found = relaxation.all_steps(runs)
    for end in ("value", "low", "high"):
        np.testing.assert_array_equal(getattr(found, end), np.concatenate([getattr(one, end) for one in alone]))
    few = relaxation.all_steps({**runs, "two": runs["two"].isel(seed=[0, 1])})
    assert "too few runs" in few.why
    none = relaxation.all_steps({"one": runs["one"].sel(temperature=[0.1, 0.0])})
    assert "at two temperatures" in none.why


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_initial_conditions_depart_without_an_interval(n):
    few = superposition.least_departure(made_up().isel(seed=range(n)))
    assert np.isfinite(few.value) and "too few runs" in few.why
    assert superposition.least_departure(made_up()).known


def test_networks_without_loss_are_told_apart():
    loss = np.array([1e-9, 1e-2, 1e-5, 0.3])[:, None, None] * np.ones((1, len(TEMPERATURES), 2))
    run = made_up().assign(loss_waited=(("seed", "temperature", "waiting"), loss))
    assert phases.judged({"overparameterised": run})["overparameterised"].seed.values.tolist() == [0, 2]


def test_curves_of_one_shape_collapse_and_fall_as_a_root():
    curves, found = superposition.collapsed(made_up())
    assert found.quality > 0.998
    master = superposition.free_master(curves.rescaled.values)
    assert float(abs(curves - master).max()) < 0.02
    assert superposition.tail_power(curves.sel(temperature=0.1)).value == pytest.approx(-0.48, abs=0.03)


def test_displacement_without_and_with_a_cage():
    run = made_up()
    msd = displacement.displacement(run)
    assert displacement.recovery(msd) == 0
    powers = displacement.local_powers(msd).isel(time=slice(3, -3))
    assert powers.sel(temperature=0.1).values == pytest.approx(1.0, abs=0.01)
    assert powers.sel(temperature=0.0).values == pytest.approx(2.0, abs=0.01)
    # A plateau of two decades and an escape from it.
    t = msd.time.values.astype(float)
    caged = msd.copy(data=np.broadcast_to(1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2, msd.shape))
    assert displacement.recovery(caged) > 1


def test_ageing_is_measured_and_weight_decay_drawn_beside_it():
    run = made_up(ages=1.5)
    ratio, waits = ageing.aged(run, 0.0)
    assert ratio.value == pytest.approx(1.5, rel=0.02) and ratio.low <= ratio.value <= ratio.high
    assert ratio.null == pytest.approx(np.exp(1e-3 * 0.01 * 500)) and waits == "from t_w = 500 to 1000"
    assert list(ageing.summary(run).index) == ["T = 0.1", "T = 0.01", "T = 0.001", "T = 0"]


def test_ageing_where_noise_rules_is_none_and_between_phases_it_is_a_rate():
    hot, words = ageing.hot(made_up(ages=1.5))
    assert hot.value == pytest.approx(1.0, abs=0.02) and hot.low <= hot.value <= hot.high
    assert words == "0.1; from t_w = 500 to 1000"
    cold = {"regularised": 0.0, "underparameterised": 0.0}
    rate, _ = ageing.stronger(made_up(ages=1.5), made_up(ages=1.2), cold)
    assert rate.value == pytest.approx(np.log(1.5 / 1.2) / (1e-5 * 500), rel=0.05)
    assert rate.low <= rate.value <= rate.high
    early, late = (relaxation.taus(made_up(ages=1.5), waiting=i) for i in range(2))
    moved = ageing.crossover(early, late)
    assert moved.value == pytest.approx(1 / 1.5, rel=0.02) and moved.low <= moved.value <= moved.high


def test_curves_that_leave_above_and_below_are_told_apart():
    found = superposition.departures(made_up())
    assert float(found.above) < 0.02 and float(found.below) < 0.02


def test_flat_motilities_have_one_mode():
    run = made_up()
    found = shapes.modes(run, 0.1, n_null=20)
    assert found.n == SEEDS * 150 and found.p > 0.5
    assert float(shapes.motilities(run).sum("bin").min()) == pytest.approx(1.0)


def test_wells_agree_with_their_simulation():
    for points in superposition.simulated_well(n_weights=4000):
        exact = superposition.exact_well(points.time.values, float(points.stiffness))
        assert float(abs(points - exact).max()) < 0.035


def test_a_swing_within_the_first_steps_is_no_cage_but_a_plateau_later_is():
    run = made_up()
    t = run.time.values.astype(float)
    for end, caged in ((5.0, False), (500.0, True)):
        held = run.assign(msd=run.msd.copy(data=np.broadcast_to(1e-9 + 1e-9 * (t / end) ** 2, run.msd.shape)))
        found = displacement.recovery(displacement.displacement(held).sel(time=slice(10, None)))
        assert (found > 1) == caged


def test_weights_in_a_well_are_free_at_first_and_held_at_last():
    run = made_up()
    weights = xr.DataArray(
        np.zeros((SEEDS, 3, 5)), {"seed": run.seed, "temperature": TEMPERATURES[:3]}, ("seed", "temperature", "weight")
    )
    last = superposition.last_overlap(run, weights)
    free = free_overlap(np.array(last.attrs["time"]), SIGMA / 300, walks.RATE * 0.01 / walks.P_D)
    np.testing.assert_allclose(last.free.sel(temperature=0.01), free)
    powers = exponent(last.temperature.values[-2:], last.free.values[:, -2:]).value
    assert -0.5 < powers < -0.4
    # Forever is 1e8 steps: erf(ε/√(2T/(λP_D))). Far out a weight has slid away from where it was.
    window = walks.window(run)
    ends = wells.overlap(weights, window, 0.01, 1e8).sel(temperature=0.1)
    np.testing.assert_allclose(ends, erf(SIGMA / 300 / np.sqrt(2 * 0.1 / (0.01 * walks.P_D))))
    assert float(wells.overlap(weights + 1.0, window, 0.01, 1e8).max()) < 1e-9


def test_phases_at_other_temperatures_share_one_line_of_free_walks():
    run = made_up()
    both = relaxation.by_phase({"one": run, "two": run.sel(temperature=[0.1, 0.0])})
    assert np.isfinite(both.free).all() and np.isnan(both.tau.sel(phase="two", temperature=1e-3))
    np.testing.assert_allclose(both.free.sel(phase="two"), both.free.sel(phase="one"))


def test_both_nulls_begin_together_and_one_is_held():
    run = made_up()
    free, held = displacement.free_msd(run).sel(temperature=0.1), displacement.held_msd(run, 0.1)
    assert float(held[0] / free[0]) == pytest.approx(1, rel=1e-3)
    assert (held < free).all() and float(held.max()) < 2 * 0.1 / (0.01 * walks.P_D)


def test_weight_decay_is_drawn_through_the_waits_of_both_phases():
    run = made_up()
    later = run.assign_coords(waiting=[500, 3000])
    both = ageing.both_phases(
        {"regularised": run, "underparameterised": later}, {"regularised": 0.0, "underparameterised": 0.0}
    )
    assert both.waiting.values.tolist() == [500, 1000, 3000]
    np.testing.assert_allclose(
        both.decay / both.tau.sel(waiting=500), np.exp(1e-5 * (both.waiting - 500)).broadcast_like(both.decay)
    )
