"""Unevenness of a folding ruler: known answers."""

import numpy as np
import pytest
import xarray as xr

from deepmech import Pull, Ruler, over, simulate
from deepmech.simulators.folding_ruler import slow_profile
from deepmech_book.analysis.spring_block.ruler import side_by_side, unevenness

RULER = Ruler(n_pairs=6, table_friction=over("table_friction", [0.1, 0.3]))


def test_unevenness_is_one_of_the_slow_profile_and_scales_with_the_distance_from_its_mean():
    slow = slow_profile(RULER, 0.6)
    mean = slow.mean("pair")
    frames = xr.concat([slow * 0, mean + 0.5 * (slow - mean)], "frame")
    assert unevenness(frames.to_dataset(name="extension"), RULER, 0.6).values == pytest.approx([0.5, 0.5])
    order = np.random.default_rng(0).permutation(6)
    dealt = frames.isel(pair=order).assign_coords(pair=slow.pair).to_dataset(name="extension")
    assert unevenness(dealt, RULER, 0.6).values == pytest.approx([0.5, 0.5])


def test_a_slow_pull_is_nearly_as_uneven_as_an_infinitely_slow_one():
    run = simulate(RULER, Pull(extension=0.6, duration=2000.0), n_frames=2)
    assert unevenness(run, RULER, 0.6).values == pytest.approx(1.0, abs=0.05)


def test_a_pull_without_chance_stands_beside_each_run_of_a_random_one():
    one, three = (xr.Dataset({"extension": xr.DataArray(np.arange(n), dims="run")}) for n in (1, 3))
    assert side_by_side({"slow": one, "jerked": three})["extension"].values.tolist() == [[0, 0, 0], [0, 1, 2]]
