"""Growth of times with the wait, of weights that slide the slower the longer one waits: known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import TIMES, slide_time, sliding_run

from deepmech_book.analysis.glass import ageing, phases
from deepmech_book.sweeps.glass import walks

WAITS = (10_000, 20_000, 40_000)
SLOWING = 2e-5  # of the speed, a step: e-fold after 50,000
SLOWER = sliding_run(slowing=SLOWING, waits=WAITS)
FREE = sliding_run(speed=0.0, waits=WAITS)
TABLE, TABLE_FREE = (ageing.times_by_waiting(run, walks.PAPER_WINDOW) for run in (SLOWER, FREE))
GROWN = np.exp(SLOWING * (WAITS[-1] - WAITS[0]))


def test_overlaps_after_waits_are_means_over_runs():
    found = ageing.overlaps_after_waits(SLOWER, 1e-6, walks.PAPER_WINDOW)
    assert found.dims == ("waiting", "time") and (np.diff(found.sel(time=100_000)) > 0).all()
    one = phases.overlaps(SLOWER, wait=1).sel(temperature=1e-6).mean("seed")
    np.testing.assert_allclose(found.isel(waiting=1), one)


def test_times_after_each_wait_are_those_of_the_slide():
    at_rest = TABLE.tau.sel(temperature=0.0)
    exact = [slide_time(1e-7 * np.exp(-SLOWING * wait), window=1) for wait in WAITS]
    np.testing.assert_allclose(at_rest, exact, rtol=0.01)


def test_cold_times_grow_as_the_slide_slows_and_free_ones_do_not():
    found = ageing.growth(TABLE.sel(temperature=1e-6), 0.01)
    assert found.ratio.value == pytest.approx(GROWN, rel=0.01) and found.waits == "waits of 10,000 and 40,000 steps"
    assert found.alone == pytest.approx(np.exp(walks.RATE * 0.01 * 30_000)), "weight decay alone"
    assert found.words == "T = 1e-06; waits of 10,000 and 40,000 steps."
    free = ageing.growth(TABLE_FREE.sel(temperature=0.1), 0.0)
    assert free.ratio.value == pytest.approx(1) and free.alone == 1


def test_a_record_that_ends_before_the_crossing_bounds_growth_from_below():
    steep = sliding_run(slowing=1e-4, waits=WAITS)  # the last slide takes longer than the record
    table = ageing.times_by_waiting(steep, walks.PAPER_WINDOW)
    rest = table.sel(temperature=0.0)
    assert np.isnan(rest.tau[-1])
    found = ageing.growth(rest)
    assert found.bound and found.ratio.value == pytest.approx(float(TIMES[-1] / rest.tau[0]))
    assert found.ratio.value < np.exp(1e-4 * 30_000) and "bounds it from below" in found.words
    moved, words = ageing.crossover_shift(table)
    assert moved.value == pytest.approx(1 / found.ratio.value) and moved.low == 0 and "bounds T* from above" in words
    before = ageing.growth(rest.isel(waiting=[2, 1]))
    assert "before the first crossing" in before.ratio.reason and before.waits == ""
    assert "fewer than two" in ageing.growth(rest.isel(waiting=[0])).ratio.reason


def test_a_table_of_growth_has_a_row_for_each_temperature_that_is_seen():
    table = ageing.growth_by_temperature(TABLE_FREE, 0.01)
    assert set(table.index) == {"T = 1", "T = 0.1", "T = 0.01", "T = 0.001"}, "colder free walks outlast the record"
    assert (table["weight decay alone"] == "1.35").all() and table["τ₉₀ grows by"].str.startswith("1.00").all()


def test_where_noise_rules_times_do_not_grow():
    found, warm = ageing.hot_growth(TABLE)
    assert found.value == pytest.approx(1, abs=0.01) and warm == "1, 0.1"
    assert "fewer than two waiting times" in ageing.hot_growth(TABLE.isel(waiting=[0]))[0].reason
    assert ageing.hot_growth(TABLE.sel(temperature=[1e-6, 0.0]))[1] == "none"


@pytest.mark.parametrize("faster", [0.0, 1.0, 2.5])
def test_how_much_faster_times_grow_in_units_of_weight_decay(faster):
    decay = 0.01
    unit = walks.RATE * decay
    runs = [sliding_run(slowing=k * unit, waits=WAITS) for k in (1 + faster, 1.0)]
    cold = [ageing.times_by_waiting(run, walks.PAPER_WINDOW).sel(temperature=0.0) for run in runs]
    found = ageing.faster_with_decay(*cold, decay)
    assert found.value == pytest.approx(faster, abs=0.05) and found.low <= found.value <= found.high
    assert "fewer than two" in ageing.faster_with_decay(cold[0], cold[1].isel(waiting=[0]), decay).reason


def test_the_crossover_falls_as_times_grow():
    moved, waits = ageing.crossover_shift(TABLE)
    assert moved.value == pytest.approx(1 / GROWN, rel=0.01) and waits == "After 10,000 and after 40,000 steps."
    assert moved.low < moved.value < moved.high
    assert "before the first crossing" in ageing.crossover_shift(TABLE_FREE)[0].reason


def test_phases_with_loss_are_judged_where_coldest_and_that_without_at_a_thousandth():
    runs = {phase: SLOWER for phase in walks.PHASES}
    where = ageing.where_judged(runs)
    assert where["regularised"] == (1e-6, walks.FINE_WINDOW) and where["overparameterised"][0] == 1e-3
    at = ageing.at_judged(runs)
    exact = slide_time(1e-7 * np.exp(-SLOWING * WAITS[0]), window=walks.FINE_WINDOW)
    assert float(at["regularised"].tau[0]) == pytest.approx(exact, rel=0.02)
    assert ageing.panels_after_waits(runs).sizes["phase"] == 3
    assert ageing.growth_of_phases(runs).phase.values.tolist() == ["regularised", "underparameterised"]


def test_weight_decay_alone_goes_on_from_each_phase_s_first_wait():
    late = TABLE.sel(temperature=0.0).isel(waiting=[1, 2])
    both = ageing.times_and_decay({"a": TABLE.sel(temperature=0.0), "b": late}, {"a": 0.01, "b": 0.0})
    steps = both.waiting.values - WAITS[0]
    np.testing.assert_allclose(both.alone.sel(phase="a"), float(both.tau[0, 0]) * np.exp(walks.RATE * 0.01 * steps))
    assert np.isnan(both.alone.sel(phase="b", waiting=WAITS[0])) and np.ptp(both.alone.sel(phase="b").values[1:]) == 0
    assert both.tau.dims == ("phase", "waiting")


def test_waits_side_by_side_leave_out_the_temperature_zero():
    table = ageing.times_after_waits(TABLE)
    assert table.tau.dims == ("waiting", "temperature") and float(table.temperature.min()) > 0
    xr.testing.assert_allclose(table.tau.sel(waiting=20_000, drop=True), TABLE.tau.sel(waiting=20_000, drop=True).sel(
        temperature=table.temperature
    ))  # fmt: skip
