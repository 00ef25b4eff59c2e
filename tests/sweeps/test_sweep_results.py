"""Shipped results: exact, keyed, refused when stale; and their verification."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_sweep_run import make, same

from deepmech import over
from deepmech.core.random import Stream
from deepmech.sweeps import Stale, Sweep, cli_run, cli_verify, record, result, results, run, ship, verification, verify
from deepmech.sweeps.store import read_netcdf, write_netcdf

WALKS = make()


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(results, "_read", {})


def test_what_ships_comes_back_to_the_bit(tmp_path, monkeypatch):
    made = run(make())
    path = ship(made, tmp_path / "results")
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path / "results"))
    back = result(make())
    assert path.name == f"walks-{make().key}.nc"
    assert same(back, made)
    assert back.attrs["spec"] == made.attrs["spec"]
    assert {f.name for f in path.parent.glob("[!.]*")} == {path.name, record.FILE}


def test_a_result_with_holes_does_not_ship(tmp_path):
    with pytest.raises(ValueError, match="ship the whole grid"):
        ship(run(make()).isel(seed=[0, 1]), tmp_path)
    with pytest.raises(ValueError, match="does not say which sweep"):
        ship(run(make()).drop_attrs(), tmp_path)


def test_verification_recomputes_and_finds_one_changed_cell(tmp_path):
    path = ship(run(make(), tmp_path / "store"), tmp_path / "results")
    (report,) = verify(tmp_path / "store", n=2)
    assert report.passed and set(report.allowed.values()) == {0.0} and len(report.cells) == 2
    (report,) = verify(tmp_path / "results", fraction=1.0)
    assert report.passed and report.cells == tuple(range(12))
    assert next(verify(path, n=2, seed=1)).cells != next(verify(path, n=2, seed=2)).cells
    wrong = read_netcdf(path)
    wrong["path"].values[1, 2, 3] += 1e-12
    write_netcdf(wrong, path)
    with pytest.raises(Stale, match="bytes are not those of the record"):
        list(verify(path))
    record.enter(path, wrong, 12)
    (report,) = verify(path, fraction=1.0)
    assert not report.passed and report.differences["path"] > 0 and report.differences["turns"] == 0
    assert "DIFFERENT: 'path'" in str(report) and "(drift=1.0; seed=2)" in str(report)
    (report,) = verify(path, fraction=1.0, tolerance=1e-9)
    assert report.passed
    lines = []
    text, passed = cli_verify([path], fraction=1.0, say=lines.append)
    assert not passed and "1 results differ" in text and lines[0].startswith("FAILED")


def test_another_processor_gets_the_tolerance_that_the_function_states(tmp_path, monkeypatch):
    made = run(make())
    made.attrs["machine"] = "some other processor, 96 cores"
    made["path"].values[0, 0, 0] += 1e-12
    path = ship(made, tmp_path)
    (report,) = verify(path, fraction=1.0)
    assert report.passed and report.allowed["path"] == 1e-9
    monkeypatch.setattr(make().function(), "tolerance", {"path": 1e-15}, raising=False)
    assert not next(verify(path, fraction=1.0)).passed
    monkeypatch.setattr(make().function(), "chaotic", True, raising=False)
    assert "it was made on some other processor" in next(verify(path)).reason
    monkeypatch.undo()
    made.attrs["machine"] = run(make()).attrs["machine"]
    (report,) = verify(ship(made, tmp_path), fraction=1.0)
    assert not report.passed, "where a result was made, bits are equal"


@pytest.mark.parametrize("change", ["finite", "word", "sign"])
def test_differences_that_are_no_numbers_count(tmp_path, change):
    made = run(make())
    if change == "finite":
        made["path"].values[0, 0, 0] = np.nan
    elif change == "word":
        made["state"].values[0, 0] = "stopped"
    else:
        made["last"].values[0, 0] *= -1
    (report,) = verify(ship(made, tmp_path), fraction=1.0, tolerance=1e-6)
    assert not report.passed


def test_a_function_that_depends_on_its_neighbours_fails_verification(tmp_path):
    path = ship(run(make("depends_on_neighbours"), chunk=6), tmp_path)
    assert not next(verify(path, n=3)).passed


GRID = Sweep("grid", "sweep_functions:walk", {"a": over("a", range(48)), "b": over("b", range(10))}, {"steps": 1})


def seen(changed, builds, count=3, trials=600):
    """In how many trials builds of ``count`` cells each meet one of the changed cells of 480."""
    stream, found = Stream.of("seen", changed, builds), 0
    for trial in range(trials):
        wrong = set(stream.permutation("wrong", trial, GRID.n_cells)[:changed].tolist())
        seeds = (1e6 * stream.uniform("seeds", trial, builds)).astype(int).tolist()
        found += any(wrong & set(verification.sample(GRID, count, seed)) for seed in seeds)
    return found / trials


def test_how_likely_it_is_that_a_change_is_seen_in_builds(capsys):
    """One changed cell of 480: 6 in 100 in ten builds. 96 of them, as an edit changes: half in one, nearly 1 in ten.

    The page ``howto`` says so. Without the preference for corners the first is 1 - (1 - 3/480)**10 = 0.061.
    """
    found = {
        f"{changed} changed, {builds} builds": seen(changed, builds) for changed, builds in ((1, 10), (96, 1), (96, 10))
    }
    with capsys.disabled():
        print(found)
    one, edit, edits = found.values()
    assert one == pytest.approx(1 - (1 - 3 / 480) ** 10, abs=0.03)
    assert edit == pytest.approx(1 - (384 / 480) ** 3, abs=0.06) and edits > 0.99


def test_how_likely_it_is_that_a_change_is_seen_in_half_an_hour(monkeypatch, capsys):
    """One changed cell of 480 in one ``deepmech verify --minutes 30``: 3 in 100, by what cells cost that ship."""
    folder = Path(__file__).parents[2] / "book" / "results"
    entries, clock, missed = record.read(folder), [0.0], {}

    def verified(file, count, *_):
        entry = entries[file.name]
        clock[0] += count * min(entry["seconds"], entry.get("part_seconds", np.inf)) + 0.05
        missed[file.name] = missed.get(file.name, 1.0) * (1 - count / entry["of"])

    monkeypatch.setattr(verification, "_verified", verified)
    monkeypatch.setattr(verification, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    large, chances = [name for name, entry in entries.items() if entry["of"] == 480], []
    for _ in range(20):
        clock[0] = 0.0
        missed.clear()
        list(verification.verify(folder, minutes=30))
        chances += [1 - missed.get(name, 1.0) for name in large]
        assert clock[0] < 1900 and len(missed) > len(entries) / 2, "dear results do not take the time of the others"
    with capsys.disabled():
        print(f"seen in half an hour: {np.mean(chances):.3f}")
    assert 0.02 < np.mean(chances) < 0.05


def test_verification_says_what_it_wants(tmp_path):
    with pytest.raises(ValueError, match="neither a shipped result"):
        list(verify(tmp_path))
    with pytest.raises(ValueError, match=r"fraction = 2"):
        list(verify(tmp_path, fraction=2))


def test_the_command_line_runs_completes_and_ships(tmp_path):
    text = cli_run("test_sweep_results:WALKS", store=tmp_path / "store", chunk=4, workers=2, progress=False)
    assert "3 drift × 4 seed = 12 cells" in text and "1 diverged" in text
    next((tmp_path / "store").glob("cells-0000004-*")).unlink()
    text = cli_run(store=tmp_path / "store", results=tmp_path / "results")
    assert "shipped:" in text
    assert same(read_netcdf(next((tmp_path / "results").glob("*.nc"))), run(make()))
    assert cli_verify([tmp_path / "store", tmp_path / "results"])[1]
    with pytest.raises(ValueError, match="'module:name'"):
        cli_run("nowhere:nothing", store=tmp_path / "x")
