"""Times, powers and distances of walks whose times are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import CHI, LONG, SIGMA, TEMPERATURES, TIMES, slide_time, sliding_run, trained
from scipy.special import erf

from deepmech.core.random import Stream
from deepmech.simulators.brownian import free_overlap
from deepmech_book.analysis.glass import phases, relaxation, summaries
from deepmech_book.sweeps.glass import walks

SLIDING = sliding_run()
FREE = sliding_run(speed=0.0)
TABLE = phases.times(SLIDING)


def test_hot_times_follow_free_walks_and_cold_ones_do_not_depend_on_temperature():
    powers = relaxation.hot_powers(SLIDING, "a")
    assert list(powers) == ["a, after 10,000", "a, after 20,000", "a, to 1/e"]
    np.testing.assert_allclose([one.value for one in powers.values()], -1, atol=0.03)
    cold, free = relaxation.cold_over_rest(SLIDING)
    assert cold.value == pytest.approx(1, abs=0.05) and free > 10
    fine, _ = relaxation.cold_over_rest(SLIDING, fine=True)
    fold, _ = relaxation.cold_over_rest(sliding_run(times=LONG), e_fold=True)
    assert fine.value == pytest.approx(1, abs=0.05) and fold.value == pytest.approx(1, abs=0.05)
    assert "ten times slower" in relaxation.cold_over_rest(FREE)[0].reason


def test_free_walks_are_as_fast_as_themselves_in_the_finest_window():
    assert relaxation.cold_over_free(FREE, 1e-3).value.values == pytest.approx(1, abs=0.02)


def test_the_power_over_all_temperatures():
    assert relaxation.overall_power(phases.times(FREE)).value == pytest.approx(-1, abs=0.01)
    assert -1 < relaxation.overall_power(TABLE).value < -0.2


def test_free_walks_are_at_no_distance_from_themselves_and_sliding_ones_far():
    for temperature in (0.1, 1e-6):
        assert relaxation.distance_from_free(FREE, temperature).value == pytest.approx(0, abs=1e-12)
    far = relaxation.distance_from_free(SLIDING, 1e-6)
    assert 0.9 < far.value <= 1 and far.is_finite
    # Where the variance of the slide is that of the heat, the gap is erf(z) - erf(z/√2).
    speed, temperature = 1e-7, 0.01
    gaps = free_overlap(TIMES, SIGMA / CHI[1], walks.diffusion(temperature))
    both = SLIDING.overlap.sel(temperature=temperature, chi=CHI[1], waiting=10_000).mean("seed")
    assert relaxation.distance_from_free(SLIDING, temperature).value == pytest.approx(
        float((gaps - both.values)[gaps > 0.3].max()), abs=1e-3
    ), speed
    late = SLIDING.sel(time=slice(50_000, None))
    assert "before the first recorded time" in relaxation.distance_from_free(late, 1.0).reason


def test_weaker_kicks_are_as_far_from_free_walks_as_the_error_function_says():
    exact = max(erf(2**0.5 * z) - erf(z) for z in np.linspace(0.3, 3, 500))
    assert relaxation.distance_of_kicks(0.5) == pytest.approx(exact, abs=1e-3)
    half = relaxation.distance_from_free(sliding_run(speed=0.0, kicks=0.5), 0.01)
    assert half.value == pytest.approx(exact, abs=5e-3)


def test_what_is_said_of_those_that_learnt_most_is_of_those_alone():
    loss = SLIDING.loss_waited.copy()
    loss[:3] = 0.1
    some = SLIDING.assign(loss_waited=loss)
    assert phases.learnt_most(some).seed.values.tolist() == [0, 1, 2]
    words = summaries.of_learnt_most(some, lambda run: relaxation.distance_from_free(run, 0.1))
    one = relaxation.distance_from_free(SLIDING.isel(seed=[0, 1, 2]), 0.1)
    assert words == f"Of the 3 that learnt as much as the paper's alone: {one}."
    assert summaries.of_learnt_most(SLIDING, lambda run: relaxation.distance_from_free(run, 0.1)) == ""
    cold = summaries.of_learnt_most(some, lambda run: relaxation.cold_over_free(run, 1e-3))
    assert "estimates" not in cold and "[" in cold, "of an array of one number the number is said"


def test_powers_between_neighbours_are_one_when_hot_and_nought_on_a_plateau():
    found = relaxation.successive_powers([TABLE, phases.times(FREE)])
    np.testing.assert_allclose(found.value[-1], 1, atol=0.02)  # free walks, hottest pair
    np.testing.assert_allclose([found.value[0], found.value[4]], [0, 1], atol=0.02)  # coldest and hottest pair
    assert (found.low <= found.high).all()
    assert "give more of them" in relaxation.successive_powers([TABLE.sel(temperature=[0.1, 0.0])]).reason


@pytest.mark.parametrize("power", [0.5, 1.0, 7.0])
def test_a_power_of_temperature_is_found(power):
    t = xr.DataArray(np.array(TEMPERATURES[:5]), dims="temperature")
    tau = (t**-power).assign_coords(temperature=t.values)
    np.testing.assert_allclose(relaxation.temperature_powers(tau), power)
    np.testing.assert_allclose(relaxation.temperature_powers(tau[::-1]), power)


def test_times_that_diverge_have_a_power_that_grows():
    """τ = 100 exp(1/T): between T and T' the power of 1/T is (1/T' - 1/T)/log(T/T')."""
    temperatures = np.array([1.0, 0.5, 0.25])
    times = np.geomspace(1, 1e5, 300)
    tau = 100 * np.exp(1 / temperatures)
    overlap = xr.DataArray(
        0.9 ** (times / tau[:, None])[:, None], {"temperature": temperatures, "time": times},
        ("temperature", "seed", "time"),
    )  # fmt: skip
    assert relaxation.largest_power(overlap) == pytest.approx(2 / np.log(2), rel=1e-3)


def test_a_plateau_of_the_loss_and_a_fall():
    assert relaxation.loss_drift(SLIDING).value.values == pytest.approx(1)
    assert relaxation.loss_drift(sliding_run(levels=(0.4, 0.1))).value.values == pytest.approx(0.25)


def test_one_step_and_two():
    t = xr.DataArray(TIMES, {"time": TIMES}, "time")
    one = np.exp(-t / 1000)
    found = relaxation.second_steps({"one": one, "two": 0.5 * np.exp(-t / 5) + 0.5 * np.exp(-t / 5000)})
    assert float(found.sel(phase="one")) == pytest.approx(0, abs=0.01) and float(found.sel(phase="two")) > 0.8


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_power_of_the_length_of_training(power):
    table = relaxation.times_by_training(trained(power))
    assert table.length.values == pytest.approx([1, 10, 100]) and table.chi.values.tolist() == [42.9, 300.0, 2100.0]
    np.testing.assert_allclose(relaxation.training_power(table, 1).value, power, atol=0.02)
    np.testing.assert_allclose(table.tau.sel(chi=300.0)[0], slide_time(1e-6), rtol=0.01)


def test_a_record_that_ends_early_bounds_the_power_from_below():
    table = relaxation.times_by_training(trained(1.0, end=10_000))
    found = relaxation.training_power(table, 1).value
    assert (found <= 1.02).all() and 0 < float(found.sel(chi=42.9)) < 0.95


def test_who_has_learnt():
    run = trained(0.5)
    run.loss_waited[-1, 2, -1] = 0.5  # the third network, after the longest training
    assert relaxation.learnt(run).seed.values.tolist() == [0, 1, 3]


def test_e_fold_times_go_as_free_walks_where_hot():
    for run in (sliding_run(times=LONG), sliding_run(speed=0.0, times=LONG)):
        assert relaxation.e_fold_power(run).value == pytest.approx(-1, abs=0.05)


def test_both_clocks_stand_beside_one_another():
    found = relaxation.times_by_clock(trained(0.5))
    assert found.tau.dims == ("kind", "length") and found.sizes["kind"] == 6
    assert found.kind.values[0] == r"$\chi$ = 42.9, $t_w$ = 10,000"


def test_the_overlap_of_a_walk_counts_all_weights_and_its_free_walk_has_its_window():
    """Weights of two layers, simulated as a free walk: the count lies about the closed form."""
    n, temperature = 20_000, xr.DataArray([0.1], dims="temperature")
    far = np.sqrt(2 * walks.diffusion(0.1) * TIMES)[:, None] * Stream.of("walk").normal("z", 0, (len(TIMES), n))
    within = (abs(far) < SIGMA / 300).sum(1)
    parts = np.stack([within // 3, within - within // 3])  # of two layers
    walked = xr.Dataset(
        {
            "within": (("temperature", "layer", "alive", "time"), parts[None, :, None]),
            "count": (("layer", "alive"), [[n // 4], [n - n // 4]]),
            "sigma": ("temperature", [SIGMA]),
        },
        {"time": TIMES},
    )
    overlap, free = relaxation.overlap_of_walk(walked, temperature, 300.0)
    assert overlap.dims == free.dims and float(abs(overlap - free).max()) < 5 * 0.5 / np.sqrt(n)


def test_the_loss_of_a_protocol_goes_on_where_it_was():
    before = xr.Dataset({"loss_history": ("steps", [0.5, 0.2])}, {"steps": [0, 100]})
    after = xr.Dataset({"loss": ("time", [0.2, 0.1])}, {"time": [1, 10]})
    found = relaxation.loss_history(before, after)
    assert found.step.values.tolist() == [0, 100, 101, 110] and found.values.tolist() == [0.5, 0.2, 0.2, 0.1]


def test_origins_say_how_many_and_which():
    run = SLIDING.assign_attrs(left_out=2, fallen=0)
    words = summaries.origins({"regularised": run}, "", "And more.")
    assert words.startswith("Regularised: ") and "4 initial conditions (2 more diverged)" in words
    assert words.endswith(" And more.")


def test_phases_side_by_side():
    runs = {"a": SLIDING, "b": FREE}
    assert phases.mean_overlaps(runs).phase.values.tolist() == ["a", "b"]
    table = phases.times_of_phases(runs)
    np.testing.assert_allclose(
        table.tau.sel(phase="b", temperature=0.1), table.free.sel(phase="b", temperature=0.1), rtol=0.02
    )
    later = phases.times_of_phases(runs, e_fold=True).tau.sel(phase="b", temperature=1.0)
    assert float(later) > 10 * float(table.tau.sel(phase="b", temperature=1.0))
    assert relaxation.hot_power(TABLE).value == pytest.approx(-1, abs=0.02)
