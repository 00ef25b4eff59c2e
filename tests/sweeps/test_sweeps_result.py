"""The one way to a result: shipped and answering to today's code, from chunks of this code, or computed with a word."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deepmech import over
from deepmech.sweeps import Incomplete, NotShipped, Stale, Sweep, cli_verify, load, result, results, run, ship, verify
from deepmech.sweeps.runner import chunks_of
from deepmech.sweeps.store import read_netcdf, write_netcdf

MODULE = """\
import numpy as np
import xarray as xr

FACTOR = 2.0


def compute(cells, steps):
    base = cells["base"].values[:, None]
    return xr.Dataset({"y": (("cell", "step"), FACTOR * base + np.arange(steps))}, {"step": np.arange(steps)})


def part(**fixed):
    return fixed | {"steps": 2}, ["y"]
"""


def sweep(n=3, steps=4, **other):
    cells = {"base": over("base", np.arange(n) / 7)}
    return Sweep("obtained", "computed_here:compute", cells, {"steps": steps}, **other)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A module to compute with, an empty folder of results, and nobody's memory of earlier ones."""
    (tmp_path / "code").mkdir()
    write(tmp_path, MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    (tmp_path / "results").mkdir()
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path / "results"))
    for name in ("DEEPMECH_STORES", "DEEPMECH_CHECK", "DEEPMECH_PATIENCE", "DEEPMECH_DRAWN"):
        monkeypatch.delenv(name, raising=False)
    forget()
    yield tmp_path
    forget()


def write(place: Path, text: str) -> None:
    (place / "code" / "computed_here.py").write_text(text)


def forget() -> None:
    """As in a new process: the module is read again, and nothing is known of results or digests."""
    from deepmech.core import code

    sys.modules.pop("computed_here", None)
    results._read.clear()
    results._spent = 0.0
    for cached in (code.digest, code.reach, code.source, code._tree, code._bare):
        cached.cache_clear()


def edit(place: Path, old: str, new: str) -> None:
    assert old in MODULE
    write(place, MODULE.replace(old, new))
    forget()


def test_a_result_of_this_code_is_taken_and_says_so(place):
    shipped = ship(run(sweep()), place / "results")
    found = result(sweep())
    assert found.attrs["obtained"].startswith("shipped with the book") and "this code" in found.attrs["obtained"]
    assert np.array_equal(found["y"], read_netcdf(shipped)["y"])


def test_what_ships_anew_loses_the_note_of_its_former_bytes(place):
    shipped = ship(run(sweep()), place / "results")
    edit(place, "2.0", "4.0 / 2.0")
    for report in results.verify(shipped, noted=True):
        assert report.passed and report.cells
    assert shipped.name in results.notes(place / "results")
    ship(run(sweep()), place / "results")
    assert results.notes(place / "results") == {}
    assert "this code" in result(sweep()).attrs["obtained"]


def test_an_edit_of_the_code_that_changes_numbers_refuses_what_ships(place):
    ship(run(sweep()), place / "results")
    edit(place, "FACTOR = 2.0", "FACTOR = 2.0001")
    with pytest.raises(Stale, match=r"DIFFERENT: 'y' by .*cell \(base="):
        result(sweep())


def test_an_edit_that_changes_no_number_is_found_harmless_and_said(place):
    ship(run(sweep()), place / "results")
    edit(place, "2.0", "4.0 / 2.0")
    obtained = result(sweep()).attrs["obtained"]
    assert "made by other code" in obtained and "recomputed 3 of 3 cells" in obtained and "equal" in obtained


def test_chunks_of_other_code_are_not_shown(place, monkeypatch):
    monkeypatch.setenv("DEEPMECH_STORES", str(place / "stores"))
    before = result(sweep())
    edit(place, "FACTOR = 2.0", "FACTOR = 3.0")
    after = result(sweep())
    assert float(before["y"].sel(base=1 / 7)[0]) == pytest.approx(2 / 7)
    assert float(after["y"].sel(base=1 / 7)[0]) == pytest.approx(3 / 7)
    assert len(list((place / "stores").iterdir())) == 2


def test_a_store_of_other_code_is_not_added_to_but_can_be_read(place):
    run(sweep(), place / "store", chunk=1)
    next((place / "store").glob("cells-0000001-*")).unlink()
    edit(place, "FACTOR = 2.0", "FACTOR = 3.0")
    with pytest.raises(ValueError, match="made by other code"):
        run(sweep(), place / "store")
    with pytest.raises(Incomplete, match="1 of 3"):
        load(sweep(), place / "store")


def test_a_note_vouches_for_other_code_until_code_or_file_change(place):
    path = ship(run(sweep()), place / "results")
    edit(place, "2.0", "4.0 / 2.0")
    text, passed = cli_verify([place / "results"], n=2, noted=True)
    assert passed and "2 of 3 cells: 2 equal to the bit" in text
    noted = json.loads((place / "results" / "verified.json").read_text())[path.name]
    assert noted["cells"] == 2 and noted["of"] == 3 and noted["code"] == sweep().code
    assert "other code, verified" in result(sweep()).attrs["obtained"]

    wrong = read_netcdf(path)
    wrong["y"].values[0, 0] += 1e-9
    write_netcdf(wrong, path)
    forget()
    with pytest.raises(Stale, match="bytes are not those that were verified"):
        result(sweep())


def test_what_did_not_pass_is_not_noted(place):
    ship(run(sweep()), place / "results")
    edit(place, "FACTOR = 2.0", "FACTOR = 3.0")
    assert not cli_verify([place / "results"], noted=True)[1]
    assert not (place / "results" / "verified.json").exists()


def test_a_result_that_nobody_can_check_is_not_drawn(place, monkeypatch):
    """Dear cells, other code, no note: there is no way to know, so nothing is shown."""
    made = run(sweep())
    made.attrs["wall_seconds"] = 1e4
    path = ship(made, place / "results")
    assert "this code" in result(sweep()).attrs["obtained"]
    edit(place, "2.0", "4.0 / 2.0")
    with pytest.raises(Stale, match=r"cannot be checked here: a cell takes \d+ s"):
        result(sweep())
    assert all(r.passed for r in verify(path, noted=True))
    forget()
    assert "other code, verified" in result(sweep()).attrs["obtained"]


def test_of_dear_cells_a_part_is_enough_to_find_an_edit(place, monkeypatch, capsys):
    marked = MODULE.replace(
        "def compute",
        "from deepmech.sweeps import recomputed\n\n\n@recomputed(part=lambda **f: part(**f))\ndef compute",
    )
    write(place, marked)
    forget()
    made = run(sweep(steps=1000))
    made.attrs["wall_seconds"] = 1e4
    ship(made, place / "results")
    monkeypatch.setenv("DEEPMECH_CHECK", "3")
    assert "a part of each of 1 of 3 cells (seed 3): equal" in result(sweep(steps=1000)).attrs["obtained"]
    write(place, marked.replace("FACTOR = 2.0", "FACTOR = 3.0").replace("part(**f))", "part(**f))"))
    forget()
    assert "deepmech:" not in capsys.readouterr().err
    with pytest.raises(Stale, match="DIFFERENT"):
        result(sweep(steps=1000))
    assert "computed again before it is shown" in capsys.readouterr().err


def test_dear_cells_without_a_part_are_left_to_verify(place, monkeypatch):
    marked = "from deepmech.sweeps import recomputed\n\n\n@recomputed(tolerance={'*': 1e-3})\ndef compute"
    write(place, MODULE.replace("def compute", marked))
    forget()
    made = run(sweep(steps=1000))
    made.attrs["wall_seconds"] = 1e4
    ship(made, place / "results")
    monkeypatch.setenv("DEEPMECH_CHECK", "3")
    assert "deepmech verify does it" in result(sweep(steps=1000)).attrs["obtained"]


def test_the_press_checks_other_cells_in_every_build(place, monkeypatch):
    ship(run(sweep(n=40)), place / "results")
    drawn = place / "drawn"
    monkeypatch.setenv("DEEPMECH_DRAWN", str(drawn))
    for seed in (1, 2):
        monkeypatch.setenv("DEEPMECH_CHECK", str(seed))
        results._read.clear()
        assert f"recomputed 3 of 40 cells (seed {seed}): equal" in result(sweep(n=40)).attrs["obtained"]
    lines = [json.loads(line) for line in drawn.read_text().splitlines()]
    assert [line["obtained"] for line in lines] == ["shipped"] * 2
    assert lines[0]["cells"] != lines[1]["cells"] and lines[0]["of"] == 40


def test_what_is_computed_is_said_with_the_near_file_and_its_difference(place, capsys):
    ship(run(sweep(n=3)), place / "results")
    assert result(sweep(n=4)).attrs["obtained"] == "computed by this code"
    said = capsys.readouterr().err
    assert "computing 4 cells of 'obtained', about 1 s" in said and "differs in cells['base']" in said


def test_an_edited_spec_does_not_silently_compute_for_hours(place, monkeypatch):
    made = run(sweep())
    made.attrs["wall_seconds"] = 3000.0
    path = ship(made, place / "results")
    monkeypatch.setenv("DEEPMECH_PATIENCE", "120")
    with pytest.raises(NotShipped, match=rf"{path.name} differs in fixed\['steps'\].*about 3000 s"):
        result(sweep(steps=5))


def test_a_file_of_other_data_or_another_spec_under_this_name_is_named(place):
    path = ship(run(sweep(data="one")), place / "results")
    with pytest.raises(Stale, match="renamed or damaged"):
        path.rename(path.with_name(results.filename(sweep(data="two"))))
        result(sweep(data="two"))


def test_nothing_is_kept_where_no_place_is_named(place, monkeypatch):
    monkeypatch.delenv("DEEPMECH_RESULTS")
    empty = place / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert result(sweep(2)).sizes["base"] == 2
    assert list(empty.iterdir()) == []


def test_results_are_found_by_variable_then_checkout_around_then_that_of_the_library(place, monkeypatch):
    ours = Path(__file__).parents[2] / "book" / "results"
    assert results.folder() == place / "results"
    monkeypatch.delenv("DEEPMECH_RESULTS")
    other = place / "checkout"
    (other / "book" / "results").mkdir(parents=True)
    (other / "notebooks" / "glass").mkdir(parents=True)
    (other / "_toc.yml").touch()
    monkeypatch.chdir(other / "notebooks" / "glass")
    assert results.folder() == other / "book" / "results"
    monkeypatch.chdir(place)
    assert results.folder() == ours
    monkeypatch.setenv("DEEPMECH_RESULTS", str(place / "nowhere"))
    with pytest.raises(NotShipped, match="DEEPMECH_RESULTS"):
        results.folder()


def test_a_run_in_this_process_gives_calls_as_many_cells_as_they_digest(place, monkeypatch):
    seen = []
    monkeypatch.setattr("deepmech.sweeps.runner.compute_chunk", _counting(seen))
    run(sweep(n=320))
    assert seen[0] == 10 and seen == sorted(seen[:-1]) + seen[-1:] and max(seen) >= 80 and sum(seen) == 320
    seen.clear()
    monkeypatch.setenv("DEEPMECH_DEVICE", "cuda")
    run(sweep(n=320))
    assert seen == [320]
    seen.clear()
    run(sweep(n=320), chunk=100)
    assert seen == [len(c) for c in chunks_of(range(320), 100)]


def _counting(seen):
    from deepmech.sweeps.runner import compute_chunk

    def counted(spec, indices):
        seen.append(len(indices))
        return compute_chunk(spec, indices)

    return counted


def test_workers_share_the_cores():
    program = (
        "from deepmech.core import provenance\n"
        "import os\n"
        "with provenance.shared_by(4):\n"
        "    print(provenance.cores(), os.environ['OMP_NUM_THREADS'])\n"
        "print(provenance.cores() == len(os.sched_getaffinity(0)), os.environ.get('OMP_NUM_THREADS'))"
    )
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "DEEPMECH_CORES")}
    env["PYTHONPATH"] = os.pathsep.join(sys.path)
    said = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True).stdout
    share = max(1, len(os.sched_getaffinity(0)) // 4)
    assert said.splitlines() == [f"{share} {share}", "True None"]
