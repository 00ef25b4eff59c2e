"""Sweeps: the same bits under any chunking, executor, order or interruption; and what a grid refuses."""

import random
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from deepmech import over
from deepmech.core import provenance
from deepmech.sweeps import CellsFailedError, IncompleteError, Sweep, example, load, run
from deepmech.sweeps.run import chunks_of, missing
from deepmech.sweeps.store import Store, equal_bits

DRIFTS, SEEDS = over("drift", [0.0, 1.0, 2.0]), over("seed", range(4))


def make(function="walk", **fixed):
    return Sweep("walks", f"sweep_functions:{function}", {"drift": DRIFTS, "seed": SEEDS}, {"steps": 5, **fixed})


def same(one: xr.Dataset, two: xr.Dataset) -> bool:
    assert set(one.variables) == set(two.variables)
    return all(one[k].dims == two[k].dims and equal_bits(one[k].values, two[k].values) for k in one.variables)


@pytest.fixture(scope="module")
def whole():
    return run(make(), chunk=12)


class Shuffled(Executor):
    """Computes submitted chunks one by one in a random order."""

    def __init__(self, order):
        self.order, self.waiting = order, []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, fn, args))
        if len(self.waiting) == self.order[0]:
            random.Random(self.order[1]).shuffle(self.waiting)
            for waiting, function, arguments in self.waiting:
                waiting.set_result(function(*arguments))
        return future


def test_the_grid_is_labelled_and_carries_its_provenance(whole):
    assert whole["path"].dims == ("drift", "seed", "step")
    assert whole["drift"].values.tolist() == [0, 1, 2]
    assert whole["path"].sel(drift=1.0, seed=3).values == pytest.approx(whole["path"].sel(drift=0.0, seed=3).values + 1)
    assert {"spec", "versions", "machine", "device", "dtype", "wall_seconds", "sweep_key"} <= set(whole.attrs)
    assert "numpy" in whole.attrs["versions"] and whole.attrs["machine"] == provenance.machine()
    assert whole.attrs["wall_seconds"] > 0


def test_a_diverged_member_is_recorded_and_kept(whole):
    assert whole["diverged"].values.sum() == 1
    blown = whole.sel(drift=2.0, seed=1)
    assert bool(blown["diverged"])
    assert np.isinf(blown["path"].values[-1])
    assert blown["state"].item() == "diverged at the end"


@settings(max_examples=6)
@given(first=st.integers(1, 12), second=st.integers(1, 12), holes=st.sets(st.integers(0, 11)), order=st.integers(0, 99))
def test_bits_do_not_depend_on_chunks_order_or_what_was_there(tmp_path_factory, whole, first, second, holes, order):
    store = tmp_path_factory.mktemp("store")
    run(make(), store, chunk=first)
    for path in sorted(store.glob("cells-*.nc")):
        if int(path.name[6:13]) in holes:
            path.unlink()
    left = absent(store)
    executor = Shuffled((len(list(chunks_of(left, second))), order)) if left else None
    assert same(run(make(), store, chunk=second, executor=executor), whole)


def absent(store):
    return missing(make(), Store(store, make()).read())


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_bits_do_not_depend_on_the_executor(tmp_path, whole, pool):
    with pool(2) as executor:
        assert same(run(make(), tmp_path, chunk=2, executor=executor), whole)
        assert same(run(make(), chunk=5, executor=executor), whole)


def test_arrays_that_share_a_dimension_vary_together():
    noise = over("level", [1, 2])
    sweep = Sweep("w", "sweep_functions:walk", {"drift": noise * 0.5, "seed": noise + 3}, {"steps": 2})
    result = run(sweep)
    assert result["path"].dims == ("level", "step")
    assert result["drift"].values.tolist() == [0.5, 1.0]
    assert same(run(sweep, chunk=1), result)


def test_what_is_there_is_not_computed_again(tmp_path, whole):
    log = tmp_path / "log"
    sweep = make(log=str(log))
    run(sweep, tmp_path / "store", chunk=3)
    assert len(log.read_text().splitlines()) == 12
    run(sweep, tmp_path / "store", chunk=1)
    assert len(log.read_text().splitlines()) == 12


def test_an_incomplete_grid_refuses_and_says_how_to_complete_it(tmp_path, whole):
    run(make(), tmp_path, chunk=4)
    next(tmp_path.glob("cells-0000004-*")).unlink()
    with pytest.raises(IncompleteError, match=r"4 of 12.*drift=1.0; seed=0.*Run it again with this store"):
        load(make(), tmp_path)
    assert absent(tmp_path) == [4, 5, 6, 7]
    assert same(run(make(), tmp_path), whole)
    assert same(load(make(), tmp_path), whole)


def test_nothing_at_all_is_incomplete_too(tmp_path):
    with Store(tmp_path, make()).locked():
        pass
    with pytest.raises(IncompleteError, match="12 of 12"):
        load(make(), tmp_path)
    with pytest.raises(ValueError, match="no sweep's store"):
        load(make(), tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_chunk_that_raises_is_recorded_and_the_others_go_on(tmp_path, whole):
    repaired = tmp_path / "repaired"
    sweep, store = make("fragile", repaired=str(repaired)), tmp_path / "store"
    with pytest.raises(
        CellsFailedError, match=r"1 of 12 cells.*drift=1.0; seed=2(?s:.*)FloatingPointError: no such walk"
    ):
        run(sweep, store, chunk=1)
    with pytest.raises(IncompleteError, match="1 of 12"):
        load(sweep, store)
    with pytest.raises(CellsFailedError, match="4 of 12"):
        run(sweep, chunk=4)
    repaired.touch()
    assert same(run(sweep, store), whole)


def test_a_function_with_the_wrong_result_is_named():
    with pytest.raises(CellsFailedError, match=r"wrong_shape returned 'path'.*'cell', of length 12"):
        run(make("wrong_shape"), chunk=12)


def test_a_dead_worker_is_an_error_that_says_so(tmp_path):
    with ProcessPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="a worker process died"):
        run(make("kills_its_worker"), tmp_path, executor=executor)


def test_ctrl_c_keeps_what_is_done(tmp_path, whole):
    with pytest.raises(KeyboardInterrupt):
        run(make("interrupted"), tmp_path, chunk=1)
    assert {f.name[:13] for f in tmp_path.glob("[!.]*")} == {"manifest.json", "cells-0000000", "cells-0000001"}
    for cell, chunk in enumerate(Store(tmp_path, make("interrupted")).read()):
        assert equal_bits(chunk["path"].values[0], whole["path"].values[0, cell])


def test_progress_shows_an_estimate_only_when_asked_or_on_a_terminal(capsys):
    run(make(), chunk=4)
    assert capsys.readouterr().err == ""
    run(make(), chunk=4, progress=True)
    assert "12/12" in capsys.readouterr().err


def test_progress_goes_into_a_file_that_somebody_watches(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DEEPMECH_PROGRESS", str(tmp_path / "told"))
    run(make(), chunk=4)
    told = [line.strip() for line in (tmp_path / "told").read_text().splitlines()]
    counts = dict.fromkeys(line.partition(" cells, ")[0] for line in told if line)
    assert [*counts] == [f"walks: {n} of 12" for n in (0, 4, 8, 12)]
    run(make(), chunk=4, progress=False)
    assert capsys.readouterr().err == "" and len((tmp_path / "told").read_text().splitlines()) == len(told)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "a b"}, "Sweep.name = 'a b'"),
        ({"compute": "walk"}, "Sweep.compute = 'walk': must be 'module:function'"),
        ({"cells": {}}, "Sweep.cells"),
        ({"cells": {"drift": [1, 2]}}, r"use over\('drift', values\)"),
        ({"fixed": {"seed": 1}}, r"Sweep.fixed\['seed'\]: 'seed' varies in cells"),
        ({"fixed": {"steps": (1, 2)}}, "survives JSON"),
        ({"fixed": {"steps": float("nan")}}, r"Sweep.fixed\['steps'\]: must be a JSON value"),
        ({"fixed": {"steps": 5, "place": Path()}}, r"Sweep.fixed\['place'\]: .*Path"),
        ({"fixed": {"steps": np.arange(3)}}, r"Sweep.fixed\['steps'\]: .*ndarray"),
        ({"fixed": {"steps": [{"of": {1}}]}}, r"Sweep.fixed\['steps'\]: .*set"),
        ({"version": 0}, "Sweep.version = 0"),
        ({"cells": {"drift": DRIFTS, "seed": over("drift", [1])}}, "different labels"),
    ],
)
def test_bad_specs_name_the_field(change, words):
    good = {"name": "walks", "compute": "sweep_functions:walk", "cells": {"drift": DRIFTS, "seed": SEEDS}}
    with pytest.raises(ValueError, match=words):
        Sweep(**{**good, **change})


def test_what_decides_results_decides_the_key():
    """Labels and fixed values, too: :mod:`test_sweep_kept` has them of all types."""
    base = make()
    assert Sweep.from_json(base.to_json()) == base and Sweep.from_json(base.to_json()).key == base.key
    assert len({base.key, make(pause=0.1).key, replace(base, version=2).key, replace(base, data="0123").key}) == 4


def test_a_spec_cannot_be_changed_from_outside():
    fixed, values = {"steps": [1]}, np.array([0.0, 1.0])
    sweep = Sweep("w", "sweep_functions:walk", {"x": over("x", values)}, fixed)
    key = sweep.key
    fixed["steps"].append(2)
    values[0] = 9.0
    assert Sweep.from_json(sweep.to_json()).key == key


def test_a_function_that_cannot_be_imported_is_named():
    with pytest.raises(ValueError, match="'sweep_functions:nowhere': cannot be imported"):
        run(make("nowhere"))
    with pytest.raises(ValueError, match="chunk = 0"):
        run(make(), chunk=0)


def test_cells_are_computed_with_one_thread_of_the_library_behind_products(monkeypatch):
    """It cuts sums by their number, and a long descent amplifies the difference."""
    seen, powers = [], example.powers

    def watched(cells, **fixed):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return powers(cells, **fixed)

    monkeypatch.setattr(example, "powers", watched)
    with threadpool_limits(2, "blas"):
        run(Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 2}))
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {2}
    assert set(seen) == {1}
