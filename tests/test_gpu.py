"""``benchmarks/gpu.py`` on a CPU at toy size, and the library with torch alone, without numba."""

import importlib.util
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
BEFORE = f"import sys; sys.path[:0] = [{str(ROOT / 'benchmarks')!r}, {str(ROOT / 'lib')!r}]; import without_numba\n"
STREAM = """
from deepmech.core.random import Stream
import numpy as np
stream = Stream.of("without", 1)
bits, far, normal = stream.bits("a", 3, 1001), stream.bits("b", 2**40 + 1, 7), stream.normal("c", 2, 999)
np.savez(sys.argv[1], bits=bits, far=far, normal=normal)
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", BEFORE + code, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def gpu():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("gpu", ROOT / "benchmarks" / "gpu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(ROOT / "benchmarks"))


def test_streams_without_numba_are_the_same(tmp_path):
    exec(STREAM, {"sys": SimpleNamespace(argv=["", str(tmp_path / "with.npz")])})
    run("assert without_numba.install(always=True)\n" + STREAM, str(tmp_path / "without.npz"))
    one, other = np.load(tmp_path / "with.npz"), np.load(tmp_path / "without.npz")
    assert (one["bits"] == other["bits"]).all() and (one["far"] == other["far"]).all()
    np.testing.assert_allclose(one["normal"], other["normal"], rtol=0, atol=1e-14)


@pytest.mark.slow
def test_all_of_it_at_toy_size_without_numba(tmp_path):
    out = tmp_path / "out"
    code = "without_numba.install(always=True)\nimport gpu\nassert 'numba.core.types' not in sys.modules\n"
    said = run(
        f"{code}sys.exit(gpu.main(sys.argv[1:]))", "--device", "cpu", "--toy", "--minutes", "5", "--out", str(out)
    )
    report = json.loads((out / "report.json").read_text())
    assert report["numba"] is False and max(report["checks"].values()) < 1e-9
    assert set(report["rates"]) == {"mlp", "cnn", "langevin"} == set(report["checks"])
    assert all(0 < found["share of products"] < 2 for found in report["rates"].values()), report["rates"]
    assert all(row["left"] == 0 and not row["failed"] for row in report["sweeps"]), said
    files = list(out.iterdir())
    assert len(files) <= 8 and max(f.stat().st_size for f in files) <= 16 * 2**20


def test_what_time_did_not_allow_is_packed_and_resumed(gpu, tmp_path):
    first, out = tmp_path / "first", tmp_path / "out"
    first.mkdir(), out.mkdir()
    (row,) = gpu.make(iter([next(gpu.worth(True, None))]), first, time.time() - 1, out)
    assert row["left"] == 4 and not list(out.iterdir())
    gpu._pack(first, out / "stores.tar", [row["sweep"]])
    with tarfile.open(out / "stores.tar") as archive:
        archive.extractall(tmp_path / "second", filter="data")
    (row,) = gpu.make(iter([next(gpu.worth(True, None))]), tmp_path / "second", time.time() + 60, out)
    assert row["left"] == 0
    assert [f.name for f in out.glob("*.nc")] == [f"{row['sweep']}-{next(gpu.worth(True, None)).key}.nc"]


def test_a_chunk_fits_into_the_time_that_is_left(gpu):
    assert gpu._chunk(4, 8.0, left=7.0) == 3 and gpu._chunk(4, 8.0, left=1.0) == 0
    assert gpu._chunk(4, 8.0, left=1000) == 30, "a minute's worth"
    assert gpu._chunk(1, 0.1, left=1000) == 8, "many at once take less each"
    assert gpu._chunk(1, 90.0, left=1000) == 1 and gpu._chunk(1, 90.0, left=80.0) == 0


def test_the_sweeps_it_makes_are_those_that_pages_ask_for_at_paper(gpu):
    names = {sweep.name for sweep in gpu.worth(False, None)}
    assert {"glass-regularised-mnist", "figure-S6a-mnist", "dropout-raised-mnist"} <= names
    few = next(s for s in gpu.worth(False, 2) if s.name == "glass-regularised-mnist")
    assert few.grid.shape == (2, 14)
