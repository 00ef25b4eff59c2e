"""Shipped results: exact, keyed, refused when stale; and their verification."""

import numpy as np
import pytest
from test_sweep_run import make, same

from deepmech.sweeps import NotShipped, Sweep, cli_run, cli_verify, partial, run, ship, shipped, verify
from deepmech.sweeps.store import read_netcdf, write_netcdf

WALKS = make()


def test_what_ships_comes_back_to_the_bit(tmp_path):
    result = run(make())
    path = ship(result, tmp_path / "results")
    back = shipped(make(), tmp_path / "results")
    assert path.name == f"walks-{make().key}.nc"
    assert same(back, result)
    assert back.attrs["spec"] == result.attrs["spec"]
    assert [f.name for f in path.parent.iterdir()] == [path.name]


def test_a_result_of_another_spec_version_or_data_is_not_taken(tmp_path):
    ship(run(make()), tmp_path)
    for stale in (make(pause=0.1), Sweep("walks", WALKS.compute, WALKS.cells, WALKS.fixed, version=2)):
        with pytest.raises(NotShipped, match=rf"walks-{make().key}.nc, of another spec, version or data"):
            shipped(stale, tmp_path)
    with pytest.raises(NotShipped, match="nothing in"):
        shipped(make(), tmp_path / "nowhere")


def test_a_result_with_holes_does_not_ship(tmp_path):
    run(make(), tmp_path / "store", chunk=4)
    next((tmp_path / "store").glob("cells-0000004-*")).unlink()
    with pytest.raises(ValueError, match="4 cells of sweep 'walks' are missing"):
        ship(partial(make(), tmp_path / "store"), tmp_path)
    with pytest.raises(ValueError, match="ship the whole grid"):
        ship(run(make()).isel(seed=[0, 1]), tmp_path)
    with pytest.raises(ValueError, match="does not say which sweep"):
        ship(run(make()).drop_attrs(), tmp_path)


def test_verification_recomputes_and_finds_one_changed_cell(tmp_path):
    path = ship(run(make(), tmp_path / "store"), tmp_path / "results")
    (report,) = verify(tmp_path / "store", n=2)
    assert report.passed and report.tolerance == 0 and len(report.cells) == 2
    (report,) = verify(tmp_path / "results", fraction=1.0)
    assert report.passed and report.cells == tuple(range(12))
    assert verify(path, n=2, seed=1)[0].cells != verify(path, n=2, seed=2)[0].cells
    wrong = read_netcdf(path)
    wrong["path"].values[1, 2, 3] += 1e-12
    write_netcdf(wrong, path)
    (report,) = verify(path, fraction=1.0)
    assert not report.passed and report.differences["path"] > 0 and report.differences["turns"] == 0
    assert "FAILED" in str(report) and "'path'" in str(report)
    (report,) = verify(path, fraction=1.0, tolerance=1e-9)
    assert report.passed
    text, passed = cli_verify([path], fraction=1.0)
    assert not passed and "bits must be equal" in text


def test_another_machine_gets_the_tolerance_of_the_sweep(tmp_path):
    result = run(make())
    result.attrs["machine"] = "some other processor, 96 cores"
    result["path"].values[0, 0, 0] += 1e-12
    (report,) = verify(ship(result, tmp_path), fraction=1.0)
    assert report.passed and report.tolerance == make().tolerance and not report.same_machine


@pytest.mark.parametrize("change", ["finite", "word", "sign"])
def test_differences_that_are_no_numbers_count(tmp_path, change):
    result = run(make())
    if change == "finite":
        result["path"].values[0, 0, 0] = np.nan
    elif change == "word":
        result["state"].values[0, 0] = "stopped"
    else:
        result["last"].values[0, 0] *= -1
    (report,) = verify(ship(result, tmp_path), fraction=1.0, tolerance=1e-6)
    assert not report.passed


def test_a_function_that_depends_on_its_neighbours_fails_verification(tmp_path):
    path = ship(run(make("depends_on_neighbours"), chunk=6), tmp_path)
    assert not verify(path)[0].passed


def test_verification_says_what_it_wants(tmp_path):
    with pytest.raises(ValueError, match="neither a shipped result"):
        verify(tmp_path)
    with pytest.raises(ValueError, match=r"fraction = 2"):
        verify(tmp_path, fraction=2)


def test_the_command_line_runs_completes_and_ships(tmp_path):
    text = cli_run("test_sweep_results:WALKS", store=tmp_path / "store", chunk=4, workers=2, progress=False)
    assert "3 drift × 4 seed = 12 cells" in text and "1 diverged" in text
    next((tmp_path / "store").glob("cells-0000004-*")).unlink()
    text = cli_run(store=tmp_path / "store", results=tmp_path / "results")
    assert "shipped:" in text
    assert same(shipped(make(), tmp_path / "results"), run(make()))
    assert cli_verify([tmp_path / "store", tmp_path / "results"])[1]
    with pytest.raises(ValueError, match="'module:name'"):
        cli_run("nowhere:nothing", store=tmp_path / "x")
