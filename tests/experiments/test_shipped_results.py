"""What ships with the book says where it comes from, and comes out again when it is computed anew."""

import re
from pathlib import Path

import numpy as np
import pytest

from deepmech.data import DataError, load
from deepmech.experiments.spring_block import networks
from deepmech.sweeps import verify
from deepmech.sweeps.results import sweep_of
from deepmech.sweeps.store import read_netcdf

RESULTS = sorted((Path(__file__).parents[2] / "book" / "results").glob("*.nc"))


def mnist_is_here() -> bool:
    try:
        load("mnist", n_train=10, n_test=10)
    except DataError:
        return False
    return True


def test_something_ships():
    assert RESULTS


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_shipped_results_are_whole_and_say_where_they_come_from(path):
    result = read_netcdf(path)
    sweep = sweep_of(result)
    assert path.name == f"{sweep.name}-{sweep.key}.nc"
    assert tuple(result.sizes[d] for d in sweep.grid.dims) == sweep.grid.shape
    finite = np.isfinite(result["load_curve"]).all("layer") | result["diverged"]
    assert finite.all()
    for attribute in ("machine", "versions", "wall_seconds", "data", "device"):
        assert attribute in result.attrs
    assert not re.search(r"/\w+/", result.attrs["machine"])
    assert path.stat().st_size < 2_000_000


@pytest.mark.skipif(not mnist_is_here(), reason="MNIST is not in DEEPMECH_DATA (deepmech data fetch mnist)")
@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_a_stored_cell_is_computed_again(path):
    for report in verify(path, n=1, seed=3):
        assert report.passed, str(report)


def test_panels_that_share_an_experiment_hold_the_same_networks():
    a, c = (next(p for p in RESULTS if p.name.startswith(f"figure-1{letter}-mnist")) for letter in "ac")
    quiet, plain = read_netcdf(a).sel(data_noise=0.0), read_netcdf(c).sel(dropout=0.0)
    for name in ("load_curve", "accuracy", "loss"):
        np.testing.assert_allclose(quiet[name], plain[name], rtol=0, atol=1e-12)


def test_figure_1_as_printed_has_1920_networks():
    assert sum(networks.figure_1(panel, "digits").n_cells for panel in networks.PANELS) == 1920
