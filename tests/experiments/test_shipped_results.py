"""What ships with the book says where it comes from, and comes out again when it is computed anew."""

import re
from pathlib import Path

import numpy as np
import pytest

from deepmech.sweeps import record
from deepmech.sweeps.results import sweep_of
from deepmech.sweeps.store import read_netcdf
from deepmech_book.experiments.spring_block import networks

RESULTS = sorted((Path(__file__).parents[2] / "book" / "results").glob("*.nc"))


def stored(name: str) -> Path:
    return next(p for p in RESULTS if p.name.startswith(name))


def test_something_ships():
    assert RESULTS
    assert sum(path.stat().st_size for path in RESULTS) < 20_000_000


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_shipped_results_are_whole_and_say_where_they_come_from(path):
    result = read_netcdf(path)
    sweep = sweep_of(result)
    assert path.name == f"{sweep.name}-{sweep.key}.nc"
    assert tuple(result.sizes[d] for d in sweep.grid.dims) == sweep.grid.shape
    for name, variable in result.data_vars.items():
        assert variable.dtype.kind not in "f" or np.isfinite(variable).any(), name
    if "diverged" in result and "load_curve" in result and "number" not in result.dims:  # in the zoo depths differ
        assert (np.isfinite(result["load_curve"]).all("layer") | result["diverged"]).all()
    for attribute in ("machine", "versions", "wall_seconds", "data", "device"):
        assert attribute in result.attrs
    assert not re.search(r"/\w+/", result.attrs["machine"])
    assert path.stat().st_size < 2_000_000


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_what_ships_is_in_the_record_and_was_recomputed(path):
    entry = record.entry_of(path)
    assert entry["of"] == sweep_of(read_netcdf(path)).n_cells
    assert any(one["cells"] or one["parts"] for one in entry["recomputed"]), f"deepmech verify {path.name}"


def test_the_record_is_of_files_that_are_there():
    assert set(record.read(RESULTS[0].parent)) == {path.name for path in RESULTS}


def test_panels_that_share_an_experiment_hold_the_same_networks():
    quiet = read_netcdf(stored("figure-1a-mnist")).sel(data_noise=0.0)
    plain = read_netcdf(stored("figure-1c-mnist")).sel(dropout=0.0)
    for name in ("load_curve", "accuracy", "loss"):
        np.testing.assert_allclose(quiet[name], plain[name], rtol=0, atol=1e-12)


def test_figure_1_as_printed_has_1920_networks():
    assert sum(networks.figure_1(panel, "digits").n_cells for panel in networks.PANELS) == 1920
