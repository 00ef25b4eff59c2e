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

from deepmech.sweeps import CellsFailedError, DamagedChunkWarning, Sweep, load, run, sweep_at
from deepmech.sweeps import store as storage
from deepmech.sweeps.run import open_store
from deepmech.sweeps.store import HOUR, TEMPORARY

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


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_function_that_leaves_the_program_is_one_that_failed(tmp_path):
    with pytest.raises(CellsFailedError, match="SystemExit"):
        run(make("leaves"), tmp_path)


def test_a_half_written_file_is_never_trusted_and_later_removed(tmp_path, whole):
    sweep = SLOW
    run(sweep, tmp_path, chunk=3)
    chunk = next(tmp_path.glob("cells-0000003-*"))
    old, new = tmp_path / f"{TEMPORARY}old.nc", tmp_path / f"{TEMPORARY}new.nc"
    old.write_bytes(chunk.read_bytes()[:1000])
    new.write_bytes(chunk.read_bytes()[:1000])
    os.utime(old, (0, time.time() - 2 * HOUR))
    assert same(run(sweep, tmp_path), whole)
    assert new.exists() and not old.exists()


@pytest.mark.parametrize(
    "damage", ["truncated", "flipped", "empty", "foreign", "renamed", "folder", "loop", "pipe", "seconds"]
)
def test_a_damaged_or_foreign_chunk_is_named_and_computed_again(tmp_path, whole, damage):
    sweep = SLOW
    run(sweep, tmp_path / "store", chunk=3)
    chunk = next((tmp_path / "store").glob("cells-0000003-*"))
    content = chunk.read_bytes()
    if damage == "truncated":
        chunk.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        chunk.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    elif damage == "empty":
        chunk.write_bytes(b"")
    elif damage == "foreign":
        other = Sweep("walks", "sweep_functions:walk", {"drift": DRIFTS + 1, "seed": SEEDS}, sweep.fixed)
        run(other, tmp_path / "other", chunk=3)
        chunk.unlink()
        chunk = shutil.copy(next((tmp_path / "other").glob("cells-0000003-*")), tmp_path / "store")
    elif damage == "folder":
        chunk.unlink()
        chunk.mkdir()
    elif damage == "pipe":
        chunk.unlink()
        os.mkfifo(chunk)
    elif damage == "seconds":
        dataset = storage.read_netcdf(chunk).assign_attrs(wall_seconds="long")
        chunk.unlink()
        chunk = storage.Store(tmp_path / "store", sweep.key, sweep.n_cells).write(dataset)
    elif damage == "loop":
        chunk.unlink()
        chunk.symlink_to(chunk)
    else:
        chunk = chunk.rename(chunk.with_name(chunk.name.replace("0000003-0000005", "0000004-0000006")))
    with pytest.warns(DamagedChunkWarning, match=Path(chunk).name):
        result = run(sweep, tmp_path / "store")
    assert same(result, whole)
    assert same(load(sweep, tmp_path / "store"), whole)


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, whole, monkeypatch):
    sweep, written = SLOW, []
    real = storage.write_netcdf

    def full(dataset, path, compress=False):
        if len(written) == 2:
            path.write_bytes(b"half a chu")
            raise OSError(28, "No space left on device")
        written.append(path)
        real(dataset, path, compress)

    monkeypatch.setattr(storage, "write_netcdf", full)
    with pytest.raises(OSError, match="No space left"):
        run(sweep, tmp_path, chunk=3)
    assert not list(tmp_path.glob(TEMPORARY + "*"))
    monkeypatch.undo()
    with nothing_recomputed(tmp_path):
        assert same(run(sweep, tmp_path, chunk=3), whole)


class nothing_recomputed:
    """The chunks that were there before the block are the same files after it."""

    def __init__(self, store):
        self.store = store

    def __enter__(self):
        self.before = {f: f.stat().st_mtime_ns for f in self.store.glob("cells-*")}
        assert self.before

    def __exit__(self, *error):
        assert all(f.stat().st_mtime_ns == t for f, t in self.before.items())


def test_a_store_belongs_to_one_sweep(tmp_path):
    run(make(), tmp_path)
    with pytest.raises(ValueError, match=r"holds another sweep.*differs in fixed\['pause'\]"):
        run(make(pause=0.5), tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"no manifest.json"):
        run(make(), tmp_path)
    for content in (b"{", b"[]", b"{}", "{ä".encode("latin-1")):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(ValueError, match=r"manifest.json is damaged"):
            run(make(), tmp_path)
    (file := tmp_path / "result.nc").touch()
    for read in (lambda: load(make(), file), lambda: sweep_at(file)):
        with pytest.raises(ValueError, match=r"result.nc is a file, and a sweep's store is a folder"):
            read()


def test_two_files_that_hold_one_cell_are_named(tmp_path):
    """No run leaves such files; which of them counts, nobody can say."""
    run(make(), tmp_path / "one", chunk=2)
    run(make(), tmp_path / "two", chunk=3)
    for chunk in (tmp_path / "two").glob("cells-*"):
        shutil.copy(chunk, tmp_path / "one")
    for go in (load, run):
        with pytest.raises(ValueError, match=r"cells-.*both hold cell 0: delete one"):
            go(make(), tmp_path / "one")


def test_chunk_files_carry_their_provenance(tmp_path):
    run(make(), tmp_path, chunk=4)
    for chunk in open_store(make(), tmp_path).read():
        assert {"machine", "versions", "wall_seconds", "sweep_key"} <= set(chunk.attrs)


def test_cells_that_other_code_computed_are_neither_kept_nor_read(tmp_path, monkeypatch):
    """A worker of yesterday's version, or a chunk that was made before an edit that nobody noticed: both are named."""
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
    place = open_store(make(), tmp_path / "store")
    chunk = place.read()[0].assign_attrs(code="0" * 16)
    next((tmp_path / "store").glob("cells-0000000-*")).unlink()
    place.write(chunk)
    for go in (load, run):
        with pytest.raises(ValueError, match=r"cells-0000000.* was made by other code .*delete it, and run again"):
            go(make(), tmp_path / "store")


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
