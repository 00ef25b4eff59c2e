"""Displacements of walks whose every time is known: heat, and a steady slide."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import TIMES, sliding_run

from deepmech_book.analysis.glass import displacement, phases
from deepmech_book.sweeps.glass import walks

SLIDING, FREE = sliding_run(), sliding_run(speed=0.0)


def test_free_walks_go_as_far_as_free_walks():
    moved = displacement.displacement(FREE).sel(temperature=[0.1, 1e-3])
    free = displacement.free_displacement(FREE)
    xr.testing.assert_allclose((moved / free.sel(temperature=moved.temperature)).transpose(*moved.dims), moved * 0 + 1)
    assert 0.0 not in free.temperature and float(free.sel(temperature=0.1)[-1]) == pytest.approx(
        2 * walks.diffusion(0.1) * TIMES[-1]
    )


def test_panels_have_no_free_walk_where_there_is_no_heat():
    moved, free = displacement.displacements_by_phase({"a": SLIDING, "b": FREE})
    assert moved.temperature.values.tolist() == free.temperature.values.tolist()
    assert bool(free.sel(temperature=0.0).isnull().all()) and bool(free.sel(temperature=0.1).notnull().all())
    np.testing.assert_allclose(moved.sel(phase="b", temperature=0.1), free.sel(phase="b", temperature=0.1))


def test_weights_in_a_well_come_to_a_level_and_free_ones_do_not():
    kinds = displacement.beside_nulls(FREE, 0.1)
    np.testing.assert_allclose(kinds.sel(kind="networks"), kinds.sel(kind="free walks"))
    rise = 1 - np.exp(-walks.RATE * phases.weight_decay(FREE) * TIMES[-1])
    level = 2 * 0.1 / (phases.weight_decay(FREE) * walks.P_D)
    assert float(kinds.sel(kind="weight decay alone")[-1]) == pytest.approx(level * rise, rel=1e-3)


def test_local_powers_are_one_when_hot_and_two_in_a_slide():
    powers = displacement.local_powers(SLIDING)
    assert float(powers.sel(temperature=1.0)[:50].max()) == pytest.approx(1, abs=0.01)
    assert float(powers.sel(temperature=0.0).min()) == pytest.approx(2, abs=0.01)
    assert powers.sizes["time"] == len(TIMES) - 4
    assert float(displacement.end_power(displacement.displacement(SLIDING).mean("seed")).sel(temperature=0.0)) == (
        pytest.approx(2, abs=0.02)
    )


def test_early_hot_weights_diffuse():
    power, ratio = displacement.early_diffusion(SLIDING, 1.0)
    assert power.value == pytest.approx(1, abs=0.01) and ratio.value == pytest.approx(1, abs=0.01)
    far = SLIDING.assign(msd=3 * SLIDING.msd)
    assert displacement.early_diffusion(far, 1.0)[1].value == pytest.approx(3, abs=0.02)
    power, _ = displacement.early_diffusion(SLIDING, 1e-6)
    assert power.value > 1.5, "a cold one slides"
    at_once = sliding_run(speed=1e-4)
    assert displacement.early_diffusion(at_once, 1.0)[0].reason == displacement.TOO_FAST


def test_a_cage_is_one_and_the_first_steps_are_none():
    t = FREE.time.astype(float)
    caged = SLIDING.assign(msd=SLIDING.msd * 0 + 1e-6 * (1 - np.exp(-t)) + 1e-12 * t**2)
    first = SLIDING.assign(msd=SLIDING.msd.where(t > 8, 1e-3))
    found = displacement.cages({"slides": SLIDING, "caged": caged, "swings": first})
    assert found["slides"] == found["swings"] == 0 and found["caged"] > 1


def test_the_last_displacement_over_that_of_a_free_walk():
    found, words = displacement.last_over_free(FREE)
    np.testing.assert_allclose(found.value, 1) and np.testing.assert_allclose(found.interval, 1)
    assert words == "One by one, where coldest: 1, 1, 1, 1."
    found, _ = displacement.last_over_free(SLIDING)
    exact = 1 + (1e-7 * TIMES[-1]) ** 2 / (2 * walks.diffusion(1e-6) * TIMES[-1])
    assert float(found.value.sel(temperature=1e-6)) == pytest.approx(exact, rel=1e-3)


def test_the_paper_s_record_ends_between_two_times():
    moved = xr.DataArray([1.0, 2.0, 3.0], {"time": [1e5, 3.1e5, 1e6]}, "time")
    assert float(displacement.at_paper_record(moved)) == 2


def test_swings_are_compared_at_equal_lengths():
    """Displacements fall by a half once at the first rate, and grow at the second, where every tenth time counts."""
    at = np.arange(1, 6)
    time = np.union1d(at, 10 * at)
    large = np.where(time == 3, 0.5, np.where(time < 3, 1.0, 2.0))
    small = np.where(np.isin(time, 10 * at), time, 0.0)
    square = xr.DataArray(
        np.broadcast_to(np.stack([large, small])[:, None, :, None, None], (2, 3, len(time), 2, 2)),
        {"time": time}, ("rate", "seed", "time", "layer", "alive"),
    )  # fmt: skip
    walked = xr.Dataset({"square": square * 7, "count": (("layer", "alive"), np.full((2, 2), 7))})
    first, second = displacement.swings(walked, at, (1, 10))
    assert first == pytest.approx(0.5) and second == pytest.approx(1 - 50 / 40)
