"""Unevenness of rulers whose answer is known."""

import numpy as np
import pytest
import xarray as xr

from deepmech import Pull, Ruler, over, simulate
from deepmech_book.spring_block.folding_ruler import side_by_side, table, unevenness

RULER = Ruler(table_friction=over("table_friction", [0.05, 0.2, 0.5]))


def test_a_shaken_ruler_opens_evenly_and_a_jerked_one_does_not():
    """What the page finds, by the simulator, at the speeds of the page."""
    quick = {"extension": 0.6, "duration": 40.0}
    pulls = {
        "slow": Pull(extension=0.6, duration=400.0),
        "shaken": Pull(shake_speed=1.0, **quick),
        "jerked": Pull(jerk_speed=2.0, **quick),
        "both": Pull(jerk_speed=2.0, shake_speed=1.0, **quick),
    }
    runs = side_by_side({name: simulate(RULER, pull, n_runs=3, n_frames=2) for name, pull in pulls.items()})
    found = table(runs["extension"].isel(frame=-1)).T
    assert (found.shaken < 0.1 * found.slow).all() and (found[["jerked", "both"]].min(axis=1) > found.slow).all()


def test_a_slow_pull_is_nearly_as_uneven_as_an_infinitely_slow_one_and_half_of_it_half():
    run = simulate(RULER, Pull(extension=0.6, duration=2000.0), n_frames=2)
    mean = run.extension.mean("pair")
    half = run.assign(extension=mean + 0.5 * (run.extension - mean))
    assert unevenness(run, RULER, 0.6).values == pytest.approx(1.0, abs=0.05)
    xr.testing.assert_allclose(unevenness(half, RULER, 0.6), 0.5 * unevenness(run, RULER, 0.6))


def test_a_pull_without_chance_stands_beside_each_run_of_a_random_one():
    one, three = (xr.Dataset({"extension": xr.DataArray(np.arange(n), dims="run")}) for n in (1, 3))
    assert side_by_side({"slow": one, "jerked": three})["extension"].values.tolist() == [[0, 0, 0], [0, 1, 2]]
