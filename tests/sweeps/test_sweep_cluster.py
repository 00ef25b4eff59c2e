"""A Dask cluster of two worker processes, one of which fails, and the store holds each cell once. What happens in this
process (full disks, chunks that raise) is the same for every executor: :mod:`test_sweep_store` has it."""

import os
import sys
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from test_sweep_run import make, same

from deepmech.sweeps import run

pytestmark = pytest.mark.slow
WALKS = make()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Of the scheduler; workers find the functions of these tests, and what Dask logs of their deaths is not shown."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    own = {"env": {"PYTHONPATH": path}, "local_directory": str(tmp_path_factory.mktemp("cluster"))}
    with LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, **own) as cluster:
        yield cluster.scheduler_address


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
