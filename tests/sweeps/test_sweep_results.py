"""The one way to a result: shipped, with an entry of the record, from chunks of this code, or computed with a word; no
forgery is shown, and cells computed again find it out."""

import itertools
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_sweep_run import make, same

from deepmech import over
from deepmech.cli import main
from deepmech.core import provenance
from deepmech.sweeps import IncompleteError, Sweep, load, run, sweep_of
from deepmech.sweeps.store import read_netcdf, to_netcdf
from deepmech_book.cells import CELLS
from deepmech_book.sweeps import shipped, verification
from deepmech_book.sweeps.policy import CellFunction, Policy
from deepmech_book.sweeps.shipped import StaleError, publish, result
from deepmech_book.sweeps.verification import verify, verify_all

WALKS = make()
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
    return Sweep("obtained", "test.computed", cells, {"steps": steps}, **other)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A module to compute with, an empty folder of results, and nobody's memory of earlier ones."""
    (tmp_path / "code").mkdir()
    write(tmp_path, MODULE)
    monkeypatch.setitem(CELLS, "test.computed", "computed_here:compute")
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    (tmp_path / "results").mkdir()
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path / "results"))
    for name in ("DEEPMECH_STORES", "DEEPMECH_DRAWN"):
        monkeypatch.delenv(name, raising=False)
    forget()
    yield tmp_path
    forget()


def write(place: Path, text: str) -> None:
    (place / "code" / "computed_here.py").write_text(text)


def forget() -> None:
    """As in a new process: the module is read again, and nothing is known of results or digests."""
    sys.modules.pop("computed_here", None)
    shipped._read.clear()
    provenance.code_hash.cache_clear()


def edit(place: Path, old: str, new: str) -> None:
    assert old in MODULE
    write(place, MODULE.replace(old, new))
    forget()


def test_what_ships_is_taken_and_says_what_was_ever_recomputed(place):
    path = publish(run(sweep()), place / "results")
    found = result(sweep())
    assert found.attrs["obtained"].startswith("shipped with the book") and "none of 3 cells" in found.attrs["obtained"]
    assert np.array_equal(found["y"], read_netcdf(path)["y"])
    assert all(r.passed for r in verify(path, n=2, seed=3))
    edit(place, "2.0", "4.0 / 2.0")
    assert "2 of 3 cells were computed again and agreed, all before" in result(sweep()).attrs["obtained"]
    assert all(r.passed for r in verify(path, n=3))
    forget()
    assert "3 of 3 cells were computed again and agreed, 3 since" in result(sweep()).attrs["obtained"]


def test_a_part_of_a_grid_that_ships_is_taken_from_it(place, capsys):
    """Three of ten seeds are known; a finer grid, other steps or other data are not."""
    publish(run(sweep(n=10)), place / "results")
    found = result(sweep(n=3))
    assert found.attrs["obtained"].startswith("shipped") and sweep_of(found).key == sweep(n=3).key
    assert found.drop_attrs().identical(run(sweep(n=3)).drop_attrs())
    assert capsys.readouterr().err == ""
    for other in (sweep(n=11), sweep(n=3, steps=5), sweep(n=3, data="other")):
        assert result(other).attrs["obtained"] == "computed by this code"


def test_a_page_cannot_change_what_the_next_one_gets(place):
    path = publish(run(sweep()), place / "results")
    result(sweep())["y"].values[:] = 7
    assert not (result(sweep())["y"] == 7).any()
    made = run(sweep())
    made.attrs["remark"] = "shipped again"
    assert publish(made, place / "results") == path
    assert result(sweep()).attrs["remark"] == "shipped again"


def test_chunks_of_other_code_are_not_shown(place, monkeypatch):
    monkeypatch.setenv("DEEPMECH_STORES", str(place / "stores"))
    before = result(sweep())
    edit(place, "FACTOR = 2.0", "FACTOR = 3.0")
    after = result(sweep())
    assert float(before["y"].sel(base=1 / 7)[0]) == pytest.approx(2 / 7)
    assert float(after["y"].sel(base=1 / 7)[0]) == pytest.approx(3 / 7)
    assert len(list((place / "stores").iterdir())) == 2


def test_of_dear_cells_a_part_is_enough_to_find_an_edit(place):
    policy = "from deepmech_book.sweeps.policy import verification_policy\n\n\n"
    policy += "@verification_policy(part=lambda **f: part(**f))\n"
    marked = MODULE.replace("def compute", f"{policy}def compute")
    write(place, marked)
    forget()
    made = run(sweep(steps=1000))
    made.attrs["wall_seconds"] = 1e4
    path = publish(made, place / "results")
    assert next(verify(path, n=1)).in_part
    write(place, marked.replace("FACTOR = 2.0", "FACTOR = 3.0"))
    forget()
    assert not next(verify(path, n=2)).passed  # of one cell the base may be 0, with which no factor shows


def test_what_did_not_pass_is_not_noted(place):
    path = publish(run(sweep()), place / "results")
    edit(place, "FACTOR = 2.0", "FACTOR = 3.0")
    assert not verify_all([place / "results"])[1]
    assert shipped.read_entry(path)["recomputed"] == []


def test_distinct_cells_add_up_from_call_to_call(place):
    path = publish(run(sweep(n=40)), place / "results")
    for _ in range(60):
        assert next(verify(path, n=2)).passed
    (entry,) = shipped.read_entry(path)["recomputed"]
    assert len(entry["cells"]) > 30 and {0, 39} <= set(entry["cells"]), "corners are chosen more often than others"


@pytest.fixture
def fast(monkeypatch):
    """A clock by which each look at it takes 0.3 s."""
    looks = partial(next, itertools.count(0.0, 0.3))
    monkeypatch.setattr(verification, "time", SimpleNamespace(monotonic=looks, perf_counter=time.perf_counter))


def test_a_store_is_verified_for_minutes_and_nothing_verified_is_an_error(place, fast):
    store = place / "store"
    run(sweep(), store)
    text, passed = verify_all([store], minutes=0.2)
    assert passed and re.match("[1-9][0-9]* of [1-9]", text)
    costly = publish(run(sweep()).assign_attrs(wall_seconds=3e6), place / "results")
    started = time.monotonic()
    assert verify_all([costly], minutes=0.5) == ("nothing was verified: give more minutes", False)
    assert time.monotonic() - started < 10
    with pytest.raises(StaleError, match=r"is not in record\.json"):
        (place / "results" / "record.json").unlink()
        verify_all([costly], minutes=0.01)


def test_minutes_go_round_all_results_and_end(place, fast):
    for steps in range(2, 6):
        publish(run(sweep(n=9, steps=steps)), place / "results")
    text, passed = verify_all([place / "results"], minutes=0.2)
    assert passed and "4 of 4 results" not in text
    entries = shipped.read_record(place / "results")
    assert len(entries) == 4 and all(e["recomputed"] for e in entries.values())


def _of_other_data(path):
    publish(run(sweep(data="one")), path.parent).replace(path)
    shipped.add_entry(path, read_netcdf(path), 3)


#: What becomes of a file or its entry. That a forgery whose checksum fits is found, :mod:`test_sweep_forged` has.
DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "one bit": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"!" + path.read_bytes()[-8:]),
    "no netCDF": lambda path: path.write_text("y = 1"),
    "another result": lambda path: publish(run(sweep(steps=3)), path.parent).replace(path),
    "other data, and an entry": _of_other_data,
    "entry lost": lambda path: (path.parent / shipped.RECORD).write_text("{}\n"),
    "record lost": lambda path: (path.parent / shipped.RECORD).unlink(),
    "record of another form": lambda path: (path.parent / shipped.RECORD).write_text('{"x": {"file": "1"}}'),
    "a cell that takes long": lambda path: path.write_bytes(
        to_netcdf(read_netcdf(path).assign_attrs(wall_seconds=1e9))
    ),
}


def test_what_was_made_from_a_result_is_not_shown_beside_another_one(place):
    source = sweep()
    first = run(source)
    publish(first, place / "results")
    derived = replace(sweep(n=4), data=source.key)
    path = publish(run(derived), place / "results")
    assert result(derived).attrs["obtained"].startswith("shipped")
    publish(first.assign(extra=first[next(iter(first.data_vars))]), place / "results")
    with pytest.raises(StaleError, match=rf"{path.name} was made from .*{source.key}\.nc, which is another one now"):
        shipped.read_entry(path)


@pytest.mark.parametrize("what", DAMAGES)
def test_no_forgery_is_shown(place, what):
    path = publish(run(sweep()), place / "results")
    shipped._read.clear()
    DAMAGES[what](path)
    with pytest.raises(StaleError, match="renamed or damaged" if what == "other data, and an entry" else None):
        result(sweep())


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("def compute(", "# Why.\ndef compute(", True),
        ("    base =", '    """Doubles."""\n    base =', True),
        ("2.0", "3.0", False),
    ],
    ids=["comment", "docstring", "number"],
)
def test_a_half_finished_sweep_goes_on_after_an_edit_of_words_and_of_no_number(place, old, new, kept):
    run(sweep(), place / "store", chunk=1)
    next((place / "store").glob("cells-0000001-*")).unlink()
    edit(place, old, new)
    if kept:
        assert run(sweep(), place / "store")["y"].equals(run(sweep())["y"])
    else:
        with pytest.raises(ValueError, match="made by other code"):
            run(sweep(), place / "store")
        with pytest.raises(IncompleteError, match="1 of 3"):
            load(sweep(), place / "store")


def test_an_edit_while_it_runs_stamps_nothing_false(place):
    """What was imported runs on under its own digest."""
    first = run(sweep())
    write(place, MODULE.replace("FACTOR = 2.0", "FACTOR = 3.0"))
    second = run(sweep())
    assert second.attrs["code"] == first.attrs["code"] and second["y"].equals(first["y"])


def test_what_is_computed_is_said_with_the_near_file_and_its_difference(place, capsys):
    publish(run(sweep(n=3)), place / "results")
    assert result(sweep(n=4)).attrs["obtained"] == "computed by this code"
    said = capsys.readouterr().err
    assert "computing 4 cells of 'obtained'" in said and "differs in cells['base']" in said


def test_nothing_is_kept_where_no_place_is_named(place, monkeypatch):
    monkeypatch.delenv("DEEPMECH_RESULTS")
    empty = place / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert result(sweep(2)).sizes["base"] == 2
    assert list(empty.iterdir()) == []


def test_results_are_found_by_variable_then_checkout_around_then_that_of_the_library(place, monkeypatch):
    ours = Path(__file__).parents[2] / "book" / "results"
    assert shipped.folder() == place / "results"
    monkeypatch.delenv("DEEPMECH_RESULTS")
    other = place / "checkout"
    (other / "book" / "results").mkdir(parents=True)
    (other / "notebooks" / "glass").mkdir(parents=True)
    (other / "_toc.yml").touch()
    monkeypatch.chdir(other / "notebooks" / "glass")
    assert shipped.folder() == other / "book" / "results"
    monkeypatch.chdir(place)
    assert shipped.folder() == ours
    monkeypatch.setenv("DEEPMECH_RESULTS", str(place / "nowhere"))
    with pytest.raises(match="DEEPMECH_RESULTS"):
        shipped.folder()


def test_without_a_store_all_cells_are_one_call_unless_a_chunk_is_named(place, monkeypatch):
    seen, real = [], sys.modules["deepmech.sweeps.run"].compute_chunk

    def counted(spec, indices):
        seen.append(len(indices))
        return real(spec, indices)

    def calls(sweep, *store, **how):
        seen.clear()
        run(sweep, *store, **how)
        return seen

    monkeypatch.setattr(sys.modules["deepmech.sweeps.run"], "compute_chunk", counted)
    assert calls(sweep(n=32)) == [32] and calls(sweep(n=32), chunk=10) == [10, 10, 10, 2]
    assert calls(sweep(n=64), place / "store") == [2] * 32


def test_workers_share_the_cores(monkeypatch):
    monkeypatch.delenv("DEEPMECH_CORES", raising=False)
    with ProcessPoolExecutor(1, get_context("spawn"), provenance.start_worker, (1,)) as pool:
        assert pool.submit(provenance.cores).result() == 1
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert provenance.cores() == len(os.sched_getaffinity(0))


def test_what_ships_comes_back_to_the_bit(place):
    made = run(make())
    path = publish(made, place / "results")
    assert path.name == f"walks-{make().key}.nc" and same(result(make()), made)
    assert {f.name for f in path.parent.glob("[!.]*")} == {path.name, shipped.RECORD}
    with pytest.raises(ValueError, match="publish the whole grid"):
        publish(made.isel(seed=[0, 1]), place)
    with pytest.raises(ValueError, match="does not say which sweep"):
        publish(made.drop_attrs(), place)


of_walks = partial(verify, sweep=WALKS)


def test_verification_finds_one_changed_cell_in_a_store_and_in_a_file(tmp_path):
    made = run(make(), tmp_path / "store")
    path = publish(made, tmp_path / "results")
    (report,) = of_walks(tmp_path / "store", n=2)
    assert report.passed and report.largest == 0 and len(report.cells) == 2
    (report,) = of_walks(tmp_path / "results", n=99)
    assert report.passed and report.cells == tuple(range(12))
    assert next(of_walks(path, n=2, seed=1)).cells != next(of_walks(path, n=2, seed=2)).cells
    made["path"].values[1, 2, 3] += 1e-12
    publish(made, tmp_path / "results")
    (report,) = of_walks(path, n=99)
    assert not report.passed and len(report.wrong) == 1
    assert "DIFFERENT: 'path' by" in str(report) and "allowed 0, in cell (drift=1.0; seed=2)" in str(report)
    lines = []
    text, passed = verify_all([path], sweep=WALKS, n=99, say=lines.append)
    assert not passed and "1 results differ" in text and lines[0].startswith("FAILED")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(ValueError, match="neither a shipped result"):
        list(verify(tmp_path / "elsewhere"))


def test_another_processor_gets_the_tolerance_that_the_function_states(tmp_path, monkeypatch):
    made = run(make())
    made.attrs["machine"] = "some other processor, 96 cores"
    made["path"].values[0, 0, 0] += 1e-12
    path = publish(made, tmp_path)
    (report,) = of_walks(path, n=99)
    assert report.passed and 0 < report.largest < 1e-9
    walk = make().function()
    monkeypatch.setattr("sweep_functions.walk", CellFunction(walk, Policy({"path": 1e-15})))
    assert not next(of_walks(path, n=99)).passed
    monkeypatch.setattr("sweep_functions.walk", CellFunction(walk, Policy(platform_dependent=True)))
    assert "it was made on some other processor" in next(of_walks(path)).reason
    monkeypatch.undo()
    made.attrs["machine"] = run(make()).attrs["machine"]
    (report,) = of_walks(publish(made, tmp_path), n=99)
    assert not report.passed, "where a result was made, bits are equal"


def test_a_function_that_depends_on_its_neighbours_fails_verification(tmp_path):
    sweep = make("depends_on_neighbours")
    assert not next(verify(publish(run(sweep, chunk=6), tmp_path), n=3, sweep=sweep)).passed


def test_how_likely_it_is_that_a_change_is_seen_in_half_an_hour(monkeypatch):
    """One changed cell of 480 in one ``deepmech verify --minutes 30``: 3 in 100, by what cells cost that ship."""
    folder = Path(__file__).parents[2] / "book" / "results"
    entries, clock, missed = shipped.read_record(folder), [0.0], {}

    def verified(file, count, *_):
        entry = entries[file.name]
        clock[0] += count * min(entry["seconds"], entry.get("part_seconds", np.inf)) + 0.05
        missed[file.name] = missed.get(file.name, 1.0) * (1 - count / entry["of"])

    monkeypatch.setattr(verification, "_verify", verified)
    monkeypatch.setattr(verification, "_entry", lambda file: entries[file.name])
    monkeypatch.setattr(verification, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    large, chances = [name for name, entry in entries.items() if entry["of"] == 480], []
    for _ in range(20):
        clock[0] = 0.0
        missed.clear()
        list(verify(folder, minutes=30))
        chances += [1 - missed.get(name, 1.0) for name in large]
        assert clock[0] < 1900 and len(missed) > len(entries) / 2, "dear results do not take the time of the others"
    assert 0.02 < np.mean(chances) < 0.05


def test_the_command_line_completes_a_store_and_ships_no_half(tmp_path, capsys):
    store, results, name = str(tmp_path / "store"), str(tmp_path / "results"), "test_sweep_results:WALKS"
    assert main(["sweep", name, "--store", store, "--chunk", "4"]) == 0
    said = capsys.readouterr().out
    assert "3 drift × 4 seed = 12 cells" in said and "1 diverged" in said
    next((tmp_path / "store").glob("cells-0000004-*")).unlink()
    assert main(["ship", store, results]) == 1 and "4 of 12 cells are missing" in capsys.readouterr().err
    assert main(["sweep", name, "--store", store]) == main(["ship", store, results]) == 0
    assert same(read_netcdf(next((tmp_path / "results").glob("*.nc"))), run(make()))
    assert main(["sweep", "nowhere:nothing", "--store", str(tmp_path / "x")]) == 1


def test_a_tolerance_is_a_small_part_of_a_range():
    with pytest.raises(ValueError, match=r"tolerance\['path'\] = 1.5"):
        Policy({"path": 1.5})


@pytest.mark.parametrize("variable", ["DEEPMECH_RESULTS", "DEEPMECH_STORES", "DEEPMECH_DRAWN"])
@pytest.mark.parametrize("kind", ["a file", "a folder", "nowhere", "a file/below", ""])
@pytest.mark.parametrize("ships", [True, False])
def test_a_variable_of_any_shape_works_or_is_named(place, monkeypatch, variable, kind, ships):
    """An error names it, nothing is lost, and the numbers are the same."""
    (place / "a file").write_text("mine\n")
    (place / "a folder").mkdir()
    if ships:
        publish(run(sweep()), place / "results")
    monkeypatch.setenv(variable, str(place / kind) if kind else "")
    monkeypatch.chdir(place)
    try:
        found = result(sweep())
    except ValueError as refused:
        assert variable in str(refused) and kind in ("a file", "a folder", "nowhere", "a file/below")
    except OSError as refused:
        assert kind in str(refused)
    else:
        assert found["y"].equals(run(sweep())["y"])
    assert (place / "a file").read_text().startswith("mine\n")
