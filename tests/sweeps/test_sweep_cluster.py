"""A Dask cluster of two worker processes: workers and scheduler fail, and the store holds each cell once. What happens
in this process (full disks, chunks that raise) is the same for every executor: :mod:`test_sweep_store` has it."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client
from test_sweep_run import make, same
from test_sweep_store import nothing_recomputed

from deepmech import cli
from deepmech.sweeps import cli_run, connect, load, run
from deepmech.sweeps.store import Store

pytestmark = pytest.mark.slow
WALKS = make()
# A process of its own, so that it can be killed as a whole and what Dask logs about that is nobody's noise.
SERVE = """
import os, sys
from distributed import LocalCluster
if __name__ == "__main__":
    quiet = dict(host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster:
        print(cluster.scheduler_address, flush=True)
        if sys.stdin.read() == "stop the scheduler":
            cluster.sync(cluster.scheduler.close)
            os._exit(0)
"""


@contextmanager
def serve(folder):
    """A cluster's process and its scheduler's address; at the end every process of it is gone."""
    script = folder / "serve.py"
    script.write_text(SERVE)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "DASK_TEMPORARY_DIRECTORY": str(folder),
    }
    process = subprocess.Popen(
        [sys.executable, script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.stdout.read()  # ends with the last process that has inherited it
        process.wait()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("cluster")) as (_, address):
        yield address


@pytest.fixture
def executor(address):
    with connect(address) as executor:
        yield executor


@pytest.fixture(scope="module")
def whole():
    return run(WALKS, chunk=12)


def test_bits_are_those_of_the_local_run(tmp_path, whole, executor):
    assert same(run(WALKS, tmp_path, chunk=1, executor=executor), whole)
    assert same(run(WALKS, chunk=5, executor=executor), whole)
    with Client(executor._client.scheduler.address, set_as_default=False) as own:
        assert same(run(WALKS, chunk=3, executor=own.get_executor(pure=False)), whole)
        assert own.status == "running"


def test_a_worker_killed_in_the_middle_costs_nothing(tmp_path, whole, executor):
    mark = tmp_path / "mark"
    sweep = make("kills_a_worker_once", mark=str(mark))
    assert same(run(sweep, tmp_path / "store", chunk=1, executor=executor), whole)
    assert mark.exists()
    assert cells_of(tmp_path / "store") == [*range(12)]


def cells_of(store):
    """The cells of all chunk files of a grid computed one by one."""
    return sorted(int(f.name.split("-")[1]) for f in store.glob("cells-*.nc"))


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_lost_scheduler_stops_the_run_and_another_completes_it(tmp_path, whole, executor, monkeypatch, end):
    gate, store = tmp_path / "gate", tmp_path / "store"
    sweep = make("waits_at_the_end", gate=str(gate))
    real, written = Store.write, []
    with serve(tmp_path) as (cluster, address):

        def write(place, start, dataset):
            written.append(real(place, start, dataset))
            if len(written) == 2 and end == "killed":
                cluster.kill()
            elif len(written) == 2:
                cluster.stdin.write("stop the scheduler")
                cluster.stdin.close()
            return written[-1]

        monkeypatch.setattr(Store, "write", write)
        with (
            connect(address) as lost,
            pytest.raises(RuntimeError, match=r"cluster was lost.*run again"),
        ):
            run(sweep, store, chunk=1, executor=lost)
    assert cells_of(store) == sorted(int(f.name.split("-")[1]) for f in written)
    assert 2 <= len(written) < 12
    gate.touch()
    with nothing_recomputed(store):
        assert same(run(sweep, store, chunk=1, executor=executor), whole)
    assert cells_of(store) == [*range(12)]


def test_the_command_line_runs_completes_and_shows_progress(tmp_path, whole, address, capsys):
    store = tmp_path / "store"
    text = cli_run("test_sweep_cluster:WALKS", store=store, chunk=4, scheduler=address, progress=True)
    assert "3 drift × 4 seed = 12 cells" in text
    assert "12/12" in capsys.readouterr().err
    next(store.glob("cells-0000004-*")).unlink()
    again = ["sweep", "--store", str(store), "--scheduler", address]
    assert cli.main([*again, "--trust", WALKS.compute]) == 0
    assert same(load(WALKS, store), whole)
    assert cli.main([*again, "--workers", "2"]) == 1
    assert "leave it out with a scheduler" in capsys.readouterr().err


def test_without_dask_or_a_scheduler_the_remedy_is_named(monkeypatch):
    with pytest.raises(ValueError, match=r"no Dask scheduler answers there.*dask scheduler"), connect("nowhere", 0.1):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"needs Dask .*pip install 'distributed'"), connect("tcp://127.0.0.1:1"):
        pass
