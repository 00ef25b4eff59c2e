"""Pair of the page spring_block/folding_ruler, and unevenness of rulers whose answer is known."""

import numpy as np
import pytest
import xarray as xr

from deepmech import Pull, Ruler, over, simulate
from deepmech.simulators.folding_ruler import slow_profile
from deepmech_book.spring_block.folding_ruler import side_by_side, unevenness
from pairs import Page

page = Page("spring_block/folding_ruler")
FRICTION = [0.05, 0.2, 0.5]
RULER = Ruler(table_friction=over("table_friction", FRICTION))


@page.pair("A.S1.jerky", panels=FRICTION, usual=0.05, reach=0.01)
def even_where_shaken(level, rng, rival):
    """Shaken rulers have their level of the unevenness of slow ones, jerked ones twice of it, in any order of pairs."""
    slow = slow_profile(RULER, 0.6)
    mean, levels = slow.mean("pair"), slow.table_friction.copy(data=list(level.values()))

    def dealt(size):
        return mean + size * (slow - mean).isel(pair=rng.permutation(8)).assign_coords(pair=slow.pair)

    pulls = {"slow": slow, "jerked along the line": dealt(2.0), "shaken sideways": dealt(levels)}
    runs = {name: one.to_dataset(name="extension").expand_dims(run=1) for name, one in pulls.items()}
    runs["jerked along the line"] = runs["jerked along the line"].isel(run=[0] * 12)
    return {"final": side_by_side(runs)["extension"]}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_a_slow_pull_is_nearly_as_uneven_as_an_infinitely_slow_one_and_half_of_it_half():
    run = simulate(RULER, Pull(extension=0.6, duration=2000.0), n_frames=2)
    mean = run.extension.mean("pair")
    half = run.assign(extension=mean + 0.5 * (run.extension - mean))
    assert unevenness(run, RULER, 0.6).values == pytest.approx(1.0, abs=0.05)
    xr.testing.assert_allclose(unevenness(half, RULER, 0.6), 0.5 * unevenness(run, RULER, 0.6))


def test_a_pull_without_chance_stands_beside_each_run_of_a_random_one():
    one, three = (xr.Dataset({"extension": xr.DataArray(np.arange(n), dims="run")}) for n in (1, 3))
    assert side_by_side({"slow": one, "jerked": three})["extension"].values.tolist() == [[0, 0, 0], [0, 1, 2]]
