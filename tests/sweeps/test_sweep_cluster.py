"""A Dask cluster of two worker processes, one of which fails, and the store holds each cell once. What happens in this
process (full disks, chunks that raise) is the same for every executor: :mod:`test_sweep_store` has it."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client
from test_sweep_run import make, same

from deepmech.sweeps import run

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
        sys.stdin.read()
"""


@contextmanager
def serve(folder):
    """A cluster's process and its scheduler's address; at the end every process of it is gone."""
    script = folder / "serve.py"
    script.write_text(SERVE)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
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
    with Client(address, set_as_default=False) as client:
        yield client.get_executor(pure=False)


@pytest.fixture(scope="module")
def whole():
    return run(WALKS, chunk=12)


def test_bits_are_those_of_the_local_run(tmp_path, whole, executor):
    assert same(run(WALKS, tmp_path, chunk=1, executor=executor), whole)
    assert same(run(WALKS, chunk=5, executor=executor), whole)


def test_a_worker_killed_in_the_middle_costs_nothing(tmp_path, whole, executor):
    mark = tmp_path / "mark"
    sweep = make("kills_a_worker_once", mark=str(mark))
    assert same(run(sweep, tmp_path / "store", chunk=1, executor=executor), whole)
    assert mark.exists()
    assert cells_of(tmp_path / "store") == [*range(12)]


def cells_of(store):
    """The cells of all chunk files of a grid computed one by one."""
    return sorted(int(f.name.split("-")[1]) for f in store.glob("cells-*.nc"))
