"""A file never runs code: what a result, a store or a manifest names is neither imported nor called, unless the book
gave it a name, or the user names the sweep."""

import copy
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech import over
from deepmech.cli import main
from deepmech.sweeps import Sweep, load, run, sweep_of
from deepmech.sweeps.store import Store, read_netcdf, sweep_at, to_netcdf
from deepmech_book.cells import CELLS
from deepmech_book.sweeps.shipped import add_entry, publish, result
from deepmech_book.sweeps.verification import compare, verify

MARK = "ran"
MODULE = f"""\
from pathlib import Path

import numpy as np
import xarray as xr

Path(__file__).with_name("{MARK}").touch()


def compute(cells):
    Path(__file__).with_name("{MARK}").touch()
    return xr.Dataset({{"y": ("cell", 2.0 * cells["x"].values)}})
"""
HONEST = "deepmech.sweeps.example:powers"
#: What a file might name: commands, ours that do something else than compute cells, nothing at all, and the honest one.
FORGED = [
    "hostile_here:compute", "os:system", "builtins:exec", "deepmech.cli:main", "deepmech_book.sweeps.shipped:publish",
    "deepmech.sweeps.store:write_whole", "deepmech.sweeps.sweep:importlib", "deepmech.nowhere:powers", HONEST,
]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "hostile_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path / "results"))
    (tmp_path / "results").mkdir()
    sys.modules.pop("hostile_here", None)
    yield tmp_path
    sys.modules.pop("hostile_here", None)


def forged(place: Path, compute: str) -> tuple[Path, Path]:
    """A shipped file with its entry, and a store, both whole, of an honest sweep that now names ``compute``."""
    sweep = Sweep("powers", HONEST, {"x": over("x", [1.0, 2.0])})
    named = replace(sweep, compute=compute)
    numbers = xr.Dataset({"y": ("cell", [2.0, 4.0]), "diverged": ("cell", [False, False])})
    store = place / "store"
    with Store(store, named).locked():
        Store(store, named).write(numbers.assign_coords(cell=[0, 1]).assign_attrs(code="", versions="", machine=""))
    whole = numbers.rename(cell="x").assign_coords(x=[1.0, 2.0])
    whole.attrs = {"spec": json.dumps(named.to_json()), "sweep": "powers", "sweep_key": named.key, "data": ""}
    whole.attrs |= {"seed": "none", "device": "cpu", "dtype": "float64", "wall_seconds": 0.1, "chunks": 1}
    whole.attrs |= {"machine": "one", "versions": "1"}
    file = place / "results" / f"powers-{named.key}.nc"
    file.write_bytes(to_netcdf(whole))
    add_entry(file, whole, 2)
    return file, store


def doors(file: Path, store: Path) -> dict:
    """Everything that reads a sweep from a file and may come to call its function."""
    read = sweep_at(store)
    other = sweep_of(read_netcdf(file))
    return {
        "verify a file": lambda: list(verify(file)),
        "verify a folder": lambda: list(verify(file.parent)),
        "verify for minutes": lambda: list(verify(file.parent, minutes=0.01)),
        "verify a store": lambda: list(verify(store)),
        "compare": lambda: compare("x", other, read_netcdf(file), 1, 0),
        "function": read.function,
        "run": lambda: run(read),
        "resume": lambda: run(read, store.with_name("other")),
        "on workers": lambda: run(read, executor=ThreadPoolExecutor(1)),
        "replaced": replace(read, version=2).function,
        "copied": copy.deepcopy(read).function,
        "pickled": pickle.loads(pickle.dumps(read)).function,
        "written again": Sweep.from_json(read.to_json()).function,
        "said in the file": Sweep.from_json({**read.to_json(), "from_file": False}).function,
        "another sweep named": lambda: list(verify(file, sweep=Sweep("s", HONEST, {"x": over("x", [1.0])}))),
    }


def ran(place: Path) -> bool:
    return (place / MARK).exists() or "hostile_here" in sys.modules


@pytest.mark.parametrize("compute", FORGED)
def test_no_door_calls_what_a_file_names(place, compute):
    file, store = forged(place, compute)
    for door, go in doors(file, store).items():
        if door == "verify for minutes":
            continue
        with pytest.raises(ValueError, match=f"only a file says that '{compute}'.*name the sweep itself"):
            go()
        assert not ran(place), door


def test_the_command_line_calls_nothing_that_only_a_file_names(place, capsys):
    file, store = forged(place, "hostile_here:compute")
    for paths in ([file], [file.parent], [store], [file.parent, "--minutes", "0.05"]):
        assert main(["verify", *map(str, paths)]) == 1
        assert "name the sweep itself" in capsys.readouterr().err
        assert not ran(place)


def test_opening_calls_nothing(place):
    file, store = forged(place, "hostile_here:compute")
    mine = Sweep("powers", HONEST, {"x": over("x", [1.0])})
    assert load(sweep_at(store), store)["y"].size == 2
    with pytest.raises(ValueError, match="differs in compute"):
        run(mine, store)
    mine = Sweep("powers", HONEST, {"base": over("base", [1.0])}, {"highest": 1})
    assert result(mine)["power"].size == 2  # beside a forged one of its name
    assert publish(read_netcdf(file), place / "elsewhere").exists()
    assert not ran(place)


def test_what_a_user_names_is_called(place, monkeypatch, capsys):
    file, store = forged(place, "hostile_here:compute")
    mine = Sweep("powers", "hostile_here:compute", {"x": over("x", [1.0, 2.0])})
    monkeypatch.setitem(globals(), "mine", mine)
    assert [report.passed for report in verify(file, sweep=mine)] == [True]
    assert main(["verify", str(store), "--sweep", f"{__name__}:mine"]) == 0
    assert main(["sweep", "--store", str(place / "new"), "hostile_here:compute"]) == 1  # which is no sweep


def test_a_function_moves_and_its_results_stay(place, monkeypatch):
    monkeypatch.setitem(CELLS, "doc.powers", "deepmech.sweeps.nowhere:powers")
    asked = Sweep("powers", "doc.powers", {"base": over("base", [1.0, 2.0])}, {"highest": 3})
    monkeypatch.setitem(CELLS, "doc.powers", HONEST)
    made = run(asked)
    path = publish(made, place / "results")
    assert path.name == f"powers-{asked.key}.nc" and asked.target == HONEST
    assert result(asked).obtained.startswith("shipped")
    assert [report.passed for report in verify(path)] == [True]
    assert asked.code == replace(asked, compute=HONEST).code != ""
    assert asked.key != replace(asked, compute=HONEST).key


@given(st.text("abz_.:0 \0/", max_size=12))
@settings(max_examples=100)
def test_what_is_no_name_is_refused(compute):
    parts = compute.split(":")
    reference = len(parts) == 2 and all(word.isidentifier() for part in parts for word in part.split("."))
    if not reference:
        with pytest.raises(ValueError, match=r"Sweep\.compute"):
            Sweep("s", compute, {"x": over("x", [1.0])})


def test_a_folder_beside_the_file_is_not_the_book(tmp_path):
    """Somebody sends a folder with a result and a package called like ours; verifying there imports nothing of it."""
    (tmp_path / "deepmech_book").mkdir()
    (tmp_path / "deepmech_book" / "__init__.py").write_text(f"open({str(tmp_path / MARK)!r}, 'w')\n")
    data = {**Sweep("s", HONEST, {"x": over("x", [1.0])}).to_json(), "compute": "glass.walks"}
    code = f"import sys; sys.path.insert(0, ''); from deepmech.sweeps import Sweep; Sweep.from_json({data!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert "a name from a package's table" in done.stderr and not (tmp_path / MARK).exists()


def test_a_sweep_beside_the_user_runs_by_its_name(tmp_path, monkeypatch, capsys):
    """``deepmech sweep mysweep:s`` sees the folder that it is called in, also as the installed command and in workers;
    a module there hides no other, and one that cannot be imported is named."""
    (tmp_path / "mysweep.py").write_text(
        MODULE + "\n\nfrom deepmech import over\nfrom deepmech.sweeps import Sweep\n\n"
        's = Sweep("mine", "mysweep:compute", {"x": over("x", [1.0, 2.0])})\n'
    )
    (tmp_path / "json.py").write_text("raise SystemExit('hidden')\n")
    (tmp_path / "broken.py").write_text("s = (\n")
    (tmp_path / "needy.py").write_text("import nowhere_to_be_found\n")
    command = "import sys; sys.path = [p for p in sys.path if p]; from deepmech.cli import main; sys.exit(main())"
    more = ["mysweep:s", "--workers", "2", "--chunk", "1", "--store", "store"]
    words = [sys.executable, "-P", "-c", command, "sweep", *more]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 cells" in done.stdout
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the command adds the folder
    for module, why in (("broken", "never closed"), ("needy", "nowhere_to_be_found"), ("absent", "absent")):
        assert main(["sweep", f"{module}:s", "--store", "other"]) == 1
        assert why in capsys.readouterr().err
