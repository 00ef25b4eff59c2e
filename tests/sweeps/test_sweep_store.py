"""The store: kill -9 anywhere, full disks, damaged and foreign files, two processes at once."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from test_sweep_run import DRIFTS, SEEDS, make, same

from deepmech.sweeps import CellsFailedError, DamagedChunkWarning, Sweep, load, run
from deepmech.sweeps import store as storage
from deepmech.sweeps.store import TEMPORARY, Store, sweep_at

SLOW = make(pause=0.01)
ENDLESS = make("never_ends")


@pytest.fixture
def start():
    """Starts a process that runs the sweep on a store, cell by cell; forked, so that it imports nothing first."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    context = multiprocessing.get_context("fork")

    def go(store):
        process = context.Process(target=run, args=(SLOW, store), kwargs={"chunk": 1})
        process.start()
        return process

    return go


@pytest.fixture(scope="module")
def whole():
    return run(SLOW, chunk=12)


def test_killed_at_random_points_again_and_again(tmp_path, whole, start):
    """Each process is killed a random while after it has written another chunk, in the middle of whatever it does."""
    delay, codes = np.random.Generator(np.random.Philox(7)), []
    while 0 not in codes and len(codes) < 60:
        before = len(list(tmp_path.glob("cells-*")))
        process = start(tmp_path)
        while process.is_alive() and len(list(tmp_path.glob("cells-*"))) == before:
            time.sleep(0.001)
        time.sleep(delay.uniform(0, 0.06))
        process.kill()
        process.join()
        codes.append(process.exitcode)
    assert codes.count(-signal.SIGKILL) >= 3
    assert set(codes) <= {0, -signal.SIGKILL}
    assert same(run(SLOW, tmp_path), whole)


def test_of_two_processes_on_one_store_the_second_waits_and_computes_nothing(tmp_path, whole, start):
    processes = [start(tmp_path), start(tmp_path)]
    for process in processes:
        process.join()
    assert [p.exitcode for p in processes] == [0, 0]
    assert same(load(SLOW, tmp_path), whole)
    assert len(list(tmp_path.glob("cells-*"))) == SLOW.n_cells


def test_workers_do_not_outlive_a_run_that_is_killed(tmp_path):
    command = [sys.executable, "-m", "deepmech", "sweep", "test_sweep_store:ENDLESS", "--workers", "2"]
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "BEGAN": str(tmp_path / "began")}
    run = subprocess.Popen([*command, "--store", str(tmp_path / "s")], env=environment)
    family = psutil.Process(run.pid)
    until(lambda: (tmp_path / "began").exists())
    workers = family.children(recursive=True)
    run.kill()
    run.wait()
    until(lambda: not any(w.is_running() and w.status() != psutil.STATUS_ZOMBIE for w in workers))


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_function_that_leaves_the_program_is_one_that_failed(tmp_path):
    with pytest.raises(CellsFailedError, match="SystemExit"):
        run(make("leaves"), tmp_path)


def test_a_half_written_file_is_never_trusted_and_removed_by_the_next_run(tmp_path, whole):
    run(SLOW, tmp_path, chunk=3)
    half = tmp_path / f"{TEMPORARY}half.nc"
    half.write_bytes(next(tmp_path.glob("cells-0000003-*")).read_bytes()[:1000])
    assert same(load(SLOW, tmp_path), whole) and half.exists()
    assert same(run(SLOW, tmp_path), whole) and not half.exists()


def _foreign(chunk):
    other = Sweep("walks", "sweep_functions:walk", {"drift": DRIFTS + 1, "seed": SEEDS}, SLOW.fixed)
    run(other, chunk.parents[1] / "other", chunk=3)
    shutil.copy(next((chunk.parents[1] / "other").glob("cells-0000003-*")), chunk.parent)


def _seconds(chunk):
    Store(chunk.parent, SLOW).write(storage.from_netcdf(content(chunk)).assign_attrs(wall_seconds="long"))


def content(chunk):
    """The bytes of a chunk, which is taken away."""
    read = chunk.read_bytes()
    chunk.unlink()
    return read


DAMAGES = {
    "truncated": lambda chunk: chunk.write_bytes(chunk.read_bytes()[:-1000]),
    "flipped": lambda chunk: chunk.write_bytes((old := chunk.read_bytes())[:-100] + bytes([old[-100] ^ 1]) + old[-99:]),
    "empty": lambda chunk: chunk.write_bytes(b""),
    "foreign": lambda chunk: (chunk.unlink(), _foreign(chunk)),
    "renamed": lambda chunk: chunk.rename(chunk.with_name(chunk.name.replace("0000003-0000005", "0000004-0000006"))),
    "folder": lambda chunk: (chunk.unlink(), chunk.mkdir()),
    "loop": lambda chunk: (chunk.unlink(), chunk.symlink_to(chunk)),
    "pipe": lambda chunk: (chunk.unlink(), os.mkfifo(chunk)),
    "seconds": _seconds,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_chunk_is_named_and_computed_again(tmp_path, whole, damage):
    run(SLOW, tmp_path / "store", chunk=3)
    before = {file.name for file in (tmp_path / "store").iterdir()}
    chunk = next((tmp_path / "store").glob("cells-0000003-*"))
    DAMAGES[damage](chunk)
    (named,) = {file.name for file in (tmp_path / "store").iterdir()} - before or {chunk.name}
    with pytest.warns(DamagedChunkWarning, match=f"{named}: .*delete it"):
        assert same(run(SLOW, tmp_path / "store"), whole)


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, whole, monkeypatch):
    written, real = [], os.fsync

    def full(handle):
        if len(written) == 6:  # the manifest and two chunks, and their entries in the folder
            raise OSError(28, "No space left on device")
        written.append(handle)
        real(handle)

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run(SLOW, tmp_path, chunk=3)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("cells-*")}
    assert not list(tmp_path.glob(TEMPORARY + "*")) and len(kept) == 2
    monkeypatch.undo()
    assert same(run(SLOW, tmp_path, chunk=3), whole)
    assert all(file.stat().st_mtime_ns == written for file, written in kept.items()), "nothing is computed again"


def test_a_store_belongs_to_one_sweep(tmp_path):
    run(make(), tmp_path)
    with pytest.raises(ValueError, match=r"holds another sweep.*differs in fixed\['pause'\]"):
        run(make(pause=0.5), tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"no manifest.json"):
        run(make(), tmp_path)
    (file := tmp_path / "result.nc").touch()
    for read in (lambda: load(make(), file), lambda: sweep_at(file)):
        with pytest.raises(ValueError, match=r"result.nc is a file, and a sweep's store is a folder"):
            read()


def test_two_files_may_hold_one_cell(tmp_path, whole):
    """Whoever joins two stores of one sweep has it once: by one code and one key it is the same in both."""
    run(SLOW, tmp_path / "one", chunk=2)
    run(SLOW, tmp_path / "two", chunk=3)
    for chunk in (tmp_path / "two").glob("cells-*"):
        shutil.copy(chunk, tmp_path / "one")
    assert same(load(SLOW, tmp_path / "one"), whole) and same(run(SLOW, tmp_path / "one"), whole)


def test_cells_that_other_code_computed_are_neither_kept_nor_mixed_with_ours(tmp_path, monkeypatch):
    """A worker of yesterday's version, or a chunk of another code among those of today."""
    runs = sys.modules["deepmech.sweeps.run"]
    real = runs.compute_chunk

    def of_yesterday(sweep, indices):
        outcome = real(sweep, indices)
        outcome.dataset.attrs["code"] = "0" * 16
        return outcome

    monkeypatch.setattr(runs, "compute_chunk", of_yesterday)
    with pytest.raises(ValueError, match=r"a worker runs other code \(0{16}.*same version everywhere"):
        run(make(), tmp_path / "worker")
    assert not list((tmp_path / "worker").glob("cells-*"))
    monkeypatch.undo()
    run(make(), tmp_path / "store", chunk=6)
    place = Store(tmp_path / "store", make())
    chunk = place.read()[0].assign_attrs(code="0" * 16)
    next((tmp_path / "store").glob("cells-0000000-*")).unlink()
    place.write(chunk)
    with pytest.raises(ValueError, match=r"holds cells made by other code \(0{16}; .*use another directory"):
        run(make(), tmp_path / "store")
    with pytest.raises(ValueError, match=r"cells were made by different code: 0{16} \| "):
        load(make(), tmp_path / "store")


@pytest.mark.parametrize(
    ("what", "error", "remedy"),
    [("a file", ValueError, "name another"), ("a file/store", OSError, ""), ("other files", ValueError, "name a new")],
)
def test_what_is_no_store_is_named_and_stays(tmp_path, what, error, remedy):
    (tmp_path / "a file").write_text("mine")
    (tmp_path / "other files").mkdir()
    (tmp_path / "other files" / "mine").write_text("mine")
    with pytest.raises(error, match=f"{what}.*{remedy}"):
        run(make(), tmp_path / what)
    assert (tmp_path / "a file").read_text() == (tmp_path / "other files" / "mine").read_text() == "mine"
