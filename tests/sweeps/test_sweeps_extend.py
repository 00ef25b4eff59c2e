"""A grid grows without computing again what is known."""

import pytest
import xarray as xr

from deepmech import over
from deepmech.sweeps import Sweep, adopt, run, runner, ship
from deepmech.sweeps.assemble import missing
from deepmech.sweeps.store import Store, read_netcdf


def walks(drifts, seeds, **more):
    cells = {"drift": over("drift", drifts), "seed": over("seed", seeds)}
    return Sweep(
        **{"name": "walks", "compute": "sweep_functions:walk", "cells": cells, "fixed": {"steps": 6, "pause": 0.0}}
        | more
    )


FEW, MORE = walks([0.5, 2.0], [0, 1]), walks([0.5, 1.0, 2.0], [0, 1, 2])


def bare(result):
    return result.drop_attrs()


def test_the_grown_grid_has_the_bits_of_one_made_at_once(tmp_path):
    assert adopt(MORE, tmp_path, run(FEW)) == 4
    assert missing(MORE, Store.open(tmp_path, MORE).read()) == [2, 3, 4, 5, 8]
    xr.testing.assert_identical(bare(run(MORE, tmp_path)), bare(run(MORE)))


def test_a_shipped_result_will_do(tmp_path):
    shipped = read_netcdf(ship(run(FEW), tmp_path / "shipped"))
    adopt(MORE, tmp_path / "store", shipped)
    assert adopt(MORE, tmp_path / "store", shipped) == 0
    grown = run(MORE, tmp_path / "store", chunk=2)
    xr.testing.assert_identical(bare(grown), bare(run(MORE)))
    assert 0 < shipped.attrs["wall_seconds"] < grown.attrs["wall_seconds"]


def test_what_other_code_made_is_computed_again_in_part(tmp_path):
    """Seed 0 of two shipped diagrams had come from an earlier engine, among nine seeds of the present one."""
    other = run(FEW).assign_attrs(code="0123456789abcdef")
    assert adopt(MORE, tmp_path / "same", other) == 4
    with pytest.raises(ValueError, match=r"DIFFERENT.*Compute the cells anew"):
        adopt(MORE, tmp_path / "changed", other.assign(path=other["path"] + 1e-12))
    assert not (tmp_path / "changed").exists()


def test_only_cells_that_are_not_known_are_computed(tmp_path, monkeypatch):
    computed, compute = [], runner.compute_chunk

    def noted(spec, indices):
        computed.extend(indices)
        return compute(spec, indices)

    monkeypatch.setattr(runner, "compute_chunk", noted)
    adopt(MORE, tmp_path, run(FEW))
    computed.clear()
    run(MORE, tmp_path)
    assert sorted(computed) == [2, 3, 4, 5, 8]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (walks([0.5], [0], fixed={"steps": 7, "pause": 0.0}), "fixed"),
        (walks([0.5], [0], version=2), "version"),
        (walks([0.5], [0], data="abc"), "data"),
        (walks([0.7], [5]), "no cell"),
    ],
)
def test_results_of_other_experiments_are_refused(tmp_path, other, message):
    with pytest.raises(ValueError, match=message):
        adopt(MORE, tmp_path, run(other))
