"""Laws of verification: whatever is changed in a shipped file, whose checksum is then made to fit, is found or told.

The forger may write the entry of the record anew, as :func:`deepmech_book.sweeps.shipped.add_entry` does; what a result
was recomputed with before, if it was, stays.
"""

import json
import os
import shutil
import sys
import zlib

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepmech import over
from deepmech.cli import main
from deepmech.core import provenance
from deepmech.data import load as load_data
from deepmech.sweeps import Sweep, run
from deepmech.sweeps.files import require_contained
from deepmech.sweeps.store import DamagedChunkWarning, Store, checksum, read_netcdf, sweep_at, to_netcdf
from deepmech_book.build.sources import mapping
from deepmech_book.cells import CELLS
from deepmech_book.sweeps import shipped, verification
from deepmech_book.sweeps.shipped import StaleError, publish, result, sweep_in
from deepmech_book.sweeps.verification import verify, verify_all

MODULE = """\
import numpy as np
import xarray as xr

from deepmech_book.sweeps.policy import verification_policy

OFF = 0.0


@verification_policy(tolerance={"sum": 3e-2})
def compute(cells, steps):
    base = cells["base"].values[:, None] + np.arange(1.0, steps + 1)
    return xr.Dataset(
        {
            "loss": (("cell", "step"), np.sqrt(base), {"long_name": "loss", "units": "nat"}),
            "single": (("cell", "step"), np.sqrt(base).astype("float32")),
            "sum": (("cell", "step"), (1 + OFF) * np.exp(base)),
            "count": (("cell", "step"), (10 * base).astype("int64")),
            "word": (("cell",), np.array(["calm", "lively"])[cells["base"].values.astype(int) % 2]),
            "pair": (("cell", "side"), base[:, :2]),
        },
        {"step": ("step", np.arange(steps), {"units": "step"}), "side": [0, 1]},
    )
"""
FLOATS = ("loss", "single", "sum")
pytestmark = pytest.mark.filterwarnings("ignore:numpy.ndarray size changed")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a module that computes, and a result of it that ships."""
    folder = tmp_path_factory.mktemp("forged")
    (folder / "forged_here.py").write_text(MODULE)
    CELLS["test.forged"] = "forged_here:compute"
    sys.path.insert(0, str(folder))
    sweep = Sweep("forged", "test.forged", {"base": over("base", np.arange(3.0))}, {"steps": 4})
    yield publish(run(sweep), folder / "results")
    sys.path.remove(str(folder))
    del CELLS["test.forged"]
    sys.modules.pop("forged_here", None)


def forge(path, change, entered=True):
    """A copy of the folder in which ``change`` was made to the dataset, or to the entry, and the checksum fits."""
    folder = path.parents[1] / "copy"
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    dataset = read_netcdf(path)
    dataset = change(dataset) or dataset
    copy.write_bytes(to_netcdf(dataset))
    enter(copy, shipped.read_record(path.parent)[path.name])
    if entered:
        shipped.add_entry(copy, dataset, 3)
    return copy


def enter(copy, entry):
    """Write an entry of the record by hand; the checksum fits."""
    (copy.parent / shipped.RECORD).write_text(json.dumps({copy.name: {**entry, "file": checksum(copy)}}))


def found(path, **how) -> bool:
    """Whether verification of all cells tells a change: it fails, or refuses the file."""
    try:
        (report,) = verify(path, n=99, **how)
    except StaleError:
        return True
    assert report.passed or "DIFFERENT" in str(report)
    return not report.passed


def test_an_honest_copy_passes(place):
    for entered in (True, False):
        (report,) = verify(forge(place, lambda d: d, entered), n=99)
        assert report.passed and report.largest == 0 and len(report.cells) == 3


many = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@many
@given(st.sampled_from(FLOATS), st.integers(0, 11), st.floats(-16, 3), st.booleans(), st.booleans())
def test_any_number_that_changes_by_any_size_is_found(place, name, where, size, up, entered):
    """Where it was made bits are equal, however little a number changes; of torch's sums rounding is left."""

    def change(dataset):
        values = dataset[name].values.reshape(-1)
        before = values[where]
        values[where] = before * (1 + 10**size if up else 1 - 10**size)
        changed.append(abs(float(values[where]) - float(before)) / abs(float(before)))

    changed: list[float] = []
    told = found(forge(place, change, entered))
    assert told == (changed[0] > (verification.LAST_BITS_OF_TORCH if name == "sum" else 0)) or changed[0] < 1e-6


@pytest.mark.parametrize("ratio", [10, 100, 1e4, 1e6])
def test_ten_times_what_an_honest_recomputation_differs_is_found(place, monkeypatch, ratio):
    """Sums that differ by 1e-7 on another processor: a forgery by 1e-6 is found there, although 3e-2 is stated."""
    monkeypatch.setattr(provenance, "processor", lambda: "another processor")
    honest = forge(place, lambda d: d)
    module = sys.modules["forged_here"]
    monkeypatch.setattr(module, "OFF", 1e-7)
    (report,) = verify(honest, n=99)
    assert report.passed and report.differences["sum"] == pytest.approx(1e-7, rel=1e-3)
    entry = shipped.read_record(honest.parent)[honest.name]

    def change(dataset):
        dataset["sum"].values[1, 2] *= 1 - ratio * 1e-7

    forged = forge(place, change)
    for kept in (entry["recomputed"], []):
        enter(forged, {**entry, "recomputed": kept})
        (report,) = verify(forged, n=99)
        assert not report.passed
        assert ("--accept" in str(report)) == (ratio * 1e-7 < 3e-2)
    assert found(forged, accept=True) == (ratio * 1e-7 > 3e-2)


def _retype(name, kind):
    return lambda d: d.assign({name: d[name].astype(kind)})


def _attribute(name, value):
    return lambda d: d.assign_attrs({name: value})


def _without(name):
    def change(dataset):
        del dataset.attrs[name]

    return change


def _units(name):
    def change(dataset):
        dataset[name].attrs["units"] = "bit"

    return change


CHANGES = {
    **{f"{name} as {kind}": _retype(name, kind) for name, kind in {
        "loss": "float32", "single": "float64", "count": "int32", "diverged": "int8", "step": "int32",
    }.items()},
    "count as float": _retype("count", "float64"),
    "base as float32": lambda d: d.assign_coords(base=d.base.astype("float32")),
    **{f"without {name}": lambda d, name=name: d.drop_vars(name)
       for name in ("loss", "single", "sum", "count", "word", "diverged", "step")},
    "another variable": lambda d: d.assign(more=d.loss),
    "renamed": lambda d: d.rename(loss="lost"),
    "units of a variable": _units("loss"),
    "units of a coordinate": _units("step"),
    "a word": lambda d: d.assign(word=d.word.str.upper()),
    "one cell less": lambda d: d.isel(base=slice(2)),
    "cells in another order": lambda d: d.isel(base=[1, 0, 2]),
    "labels in another order": lambda d: d.assign_coords(base=d.base.values[::-1]),
    "labels of a dimension": lambda d: d.assign_coords(step=d.step.values + 1),
    "dimension of the grid": lambda d: d.rename(base="ground"),
    "another dimension": lambda d: d.rename(step="epoch"),
    "what diverged": lambda d: d.assign(diverged=~d.diverged),
    **{f"attribute {name}": _attribute(name, value) for name, value in {
        "sweep": "other", "sweep_key": "0" * 16, "data": "mnist", "seed": "7", "spec": "{}", "device": "cuda",
        "dtype": "float16", "code": 3, "chunks": "many", "wall_seconds": "long", "added": "by hand",
    }.items()},
    "a specification nested deep": _attribute("spec", "[" * 100_000 + "]" * 100_000),
    **{f"without attribute {name}": _without(name) for name in (
        "sweep", "sweep_key", "data", "seed", "spec", "machine", "versions", "device", "dtype", "wall_seconds",
    )},
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("entered", [True, False], ids=["entered anew", "checksum alone"])
def test_any_change_of_type_name_attribute_or_variable_is_found(place, what, entered):
    assert found(forge(place, CHANGES[what], entered))


@pytest.mark.parametrize("name", ["machine", "versions"])
def test_a_file_cannot_switch_equality_off(place, name):
    """That it was made elsewhere is believed of the entry alone; elsewhere rounding is allowed, no more."""

    def change(dataset):
        dataset.attrs[name] = "another, 96 cores"
        dataset["loss"].values[0, 0] *= 1 + 1e-8

    assert found(forge(place, change, entered=False))
    assert found(forge(place, change))
    assert found(forge(place, lambda d: d.assign_attrs({name: "another"}), entered=False))


@pytest.mark.parametrize(
    "change",
    [{"of": 4}, {"seconds": 99.0}, {"made": {"on": "x", "versions": "y"}}, {"variables": {"loss": "float64"}}],
    ids=str,
)
def test_what_the_record_says_of_a_file_is_checked(place, change):
    copy = forge(place, lambda d: d)
    enter(copy, shipped.read_record(copy.parent)[copy.name] | change)
    assert found(copy)


@many
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
), st.sampled_from(["", "file", "of", "seconds", "part_seconds", "recomputed", "made", "variables", "source",
                    "left_out", "cells", "largest", "on"]))  # fmt: skip
def test_a_record_of_any_shape_is_read_or_named(place, value, field):
    """What is wrong in its form is one line with the file's name, whatever it is."""
    copy = forge(place, lambda d: d)
    entries = shipped.read_record(copy.parent)
    entry = entries[copy.name]
    entry["recomputed"] = [{"code": "c0de", "on": "x", "cells": [0], "parts": [], "largest": 0.0}]
    if field in ("cells", "largest", "on"):
        entry["recomputed"][0][field] = value
    elif field:
        entry[field] = value
    (copy.parent / shipped.RECORD).write_text(json.dumps(entries if field else value))
    try:
        (report,) = verify(copy, n=1)
    except StaleError as error:
        assert (shipped.RECORD in str(error) or copy.name in str(error)) and "\n" not in str(error)
    else:
        assert report.passed or "DIFFERENT" in str(report)


def test_a_cell_that_raises_today_is_a_difference(place, monkeypatch):
    copy = forge(place, lambda d: d)
    monkeypatch.setattr(sys.modules["forged_here"], "np", None)
    (report,) = verify(copy)
    assert not report.passed and "raised AttributeError" in str(report)
    assert verify_all([copy])[1] is False


def test_what_is_left_out_on_purpose_is_no_difference(place, tmp_path):
    dataset = run(sweep_in(place))
    assert [r.passed for r in verify(publish(dataset, tmp_path, without=["count"]), n=99)] == [True]
    alone = dataset.drop_vars("side")  # labels of the pair and of nothing else
    assert [r.passed for r in verify(publish(alone, tmp_path, without=["pair"]), n=99)] == [True]
    assert [r.passed for r in verify(publish(alone, tmp_path), n=99)] == [False]
    assert [r.passed for r in verify(publish(dataset.drop_vars("count"), tmp_path), n=99)] == [False]


def test_a_damaged_file_that_the_record_lists_is_named(place):
    copy = forge(place, lambda d: d)
    copy.write_bytes(b"no netCDF")
    enter(copy, shipped.read_record(copy.parent)[copy.name])
    with pytest.raises(StaleError, match=copy.name):
        list(verify(copy))


def _replaced(**how):
    """A change of an HDF5 file: other storage of ``loss``, of the same shape and type unless ``how`` says so."""

    def change(file, secret):
        old = file["loss"]
        made = {"shape": old.shape, "dtype": old.dtype, **how}
        del file["loss"]
        if made.pop("external", None):
            made["external"] = [(str(secret), 0, h5py.h5f.UNLIMITED)]
        return file.create_dataset("loss", **made)

    return change


def _linked(link):
    def change(file, secret):
        del file["loss"]
        file["loss"] = link(secret)

    return change


def _virtual(file, secret):
    layout = h5py.VirtualLayout((3, 4), "f8")
    layout[:] = h5py.VirtualSource(secret, "loss", (3, 4))
    del file["loss"]
    file.create_virtual_dataset("loss", layout)


def _added(name, value, where="loss"):
    return lambda file, secret: file[where].attrs.create(name, value(file) if callable(value) else value)


def _inflated(file, secret):
    one = _replaced(chunks=(3, 4), compression="gzip")(file, secret)
    one.id.write_direct_chunk((0, 0), zlib.compress(bytes(10**7)))


#: What an HDF5 file may show or declare, and what is said of it.
SHOWN = {
    "external storage": (_replaced(external=True, shape=(4,)), "'/loss' lies in another file"),
    "a virtual variable": (_virtual, "'/loss' lies in another file"),
    "an external link": (_linked(lambda secret: h5py.ExternalLink(secret, "/loss")), "'loss' is a link"),
    "a soft link": (_linked(lambda secret: h5py.SoftLink("/single")), "'loss' is a link"),
    "a group": (lambda file, secret: file.create_group("more"), "'more' is a group"),
    "a type": (lambda file, secret: file.__setitem__("more", np.dtype("f8")), "'more' is a group or a type"),
    "a filter of somebody's": (_replaced(chunks=True, compression="lzf"), r"'/loss' has the filters \[32000\]"),
    "two deflations": (_replaced(chunks=True, compression="gzip", fletcher32=True), r"filters \[1, 3\]"),
    "references": (_replaced(dtype=h5py.ref_dtype), "'/loss' holds references"),
    "lists": (_replaced(dtype=h5py.vlen_dtype("f8")), "'/loss' holds values of type"),
    "records": (_replaced(dtype=[("a", "f8")]), "'/loss' holds values of type"),
    "a reference as an attribute": (_added("r", lambda file: file["single"].ref), "'r' of '/loss' holds references"),
    "a region as an attribute": (_added("r", lambda f: f["single"].regionref[:]), "'r' of '/loss' holds references"),
    "a reference of the file": (_added("r", lambda file: file["single"].ref, "/"), "'r' of '/' holds references"),
    "a reference as dimensions": (_added("DIMENSION_LIST", lambda f: f["single"].ref), "'/loss' holds references"),
    "73 TiB": (_replaced(shape=(10**13,), chunks=(10**6,)), "'/loss' unpacks to 80,000,000,000,000 bytes"),
    "a piece of 2 GiB": (_replaced(shape=(1,), maxshape=(None,), chunks=(2**28,)), "'/loss' unpacks to 2,147,483,648"),
    "a piece that is larger than it says": (_inflated, "'/loss' has a piece that unpacks to more"),
    "many small ones": (lambda f, s: [f.create_dataset(f"n{i}", (10**7,), "f8") for i in range(20)], "unpacks to"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_no_door_reads_what_is_not_in_the_file_or_beyond_all_bounds(place, tmp_path, monkeypatch, what, capsys):
    """In one sentence, wherever such a file lies: shipped, or a chunk of a store, whose checksums fit."""
    change, words = SHOWN[what]
    secret = tmp_path / "secret"
    secret.write_bytes(place.read_bytes())
    copy = forge(place, lambda d: d)
    sweep = sweep_in(copy)
    store = Store(tmp_path / "store", sweep)
    with store.locked():
        chunk = store.write(read_netcdf(place).rename(base="cell").assign_coords(cell=range(3)).assign_attrs(code=""))
    for path in (copy, chunk):
        with h5py.File(path, "r+") as file:
            change(file, secret)
    enter(copy, shipped.read_record(copy.parent)[copy.name])
    chunk = chunk.rename(chunk.with_name(f"cells-0000000-0000002-{checksum(chunk)}.nc"))
    doors = [lambda: read_netcdf(copy), lambda: sweep_in(copy), lambda: list(verify(copy)), lambda: result(sweep)]
    monkeypatch.setenv("DEEPMECH_RESULTS", str(copy.parent))
    for door in doors:
        with pytest.raises(ValueError, match=words) as refused:
            door()
        assert "\n" not in str(refused.value)
    with pytest.warns(DamagedChunkWarning, match=words):
        assert main(["ship", str(store.path), str(tmp_path / "published")]) == 1
    assert "is incomplete" in capsys.readouterr().err and not (tmp_path / "published").exists()


def test_texts_that_are_one_text_many_times_count_as_often_as_they_are_read(tmp_path):
    """A file of 3 MB that would give 200 GB of texts: references to its longest, which HDF5 follows."""
    path, n = tmp_path / "texts.nc", 10**5
    with h5py.File(path, "w") as file:
        file.create_dataset("word", data=["short"] * n)
        file.create_dataset("long", data=["x" * 2 * 10**6])
        file.flush()
        first, second = (file[name].id.get_offset() for name in ("word", "long"))
    require_contained(path.read_bytes())
    content = bytearray(path.read_bytes())
    content[first : first + 16 * n] = content[second : second + 16] * n
    with pytest.raises(ValueError, match="'/word' unpacks to"):
        require_contained(bytes(content))


@pytest.mark.parametrize("name", ["result", "record", "manifest", "profile", "data"])
def test_a_pipe_is_no_file(place, tmp_path, monkeypatch, name):
    """It is refused in a sentence, and not waited for."""
    store, copy = tmp_path / "store", forge(place, lambda d: d)
    copy = shutil.copytree(copy.parent, tmp_path / "copy") / copy.name
    pipe = {
        "result": copy, "record": copy.parent / shipped.RECORD, "manifest": store / "manifest.json",
        "profile": tmp_path / "mine.yml", "data": tmp_path / "mnist" / "train-images-idx3-ubyte.gz",
    }[name]  # fmt: skip
    pipe.unlink(missing_ok=True)
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path))
    door = {"profile": lambda: mapping(pipe), "data": lambda: load_data("mnist"), "manifest": lambda: sweep_at(store)}
    with pytest.raises(ValueError, match=r"is no file|: not in "):
        door.get(name, lambda: list(verify(copy)))()


@pytest.mark.parametrize(
    ("text", "words"),
    [("[" * 10**5 + "]" * 10**5, "nested"), ("[" * 99 + "]" * 99, "nested"), ("[" + "0," * 10**7 + "0]", "bytes")],
    ids=["deep", "not so deep", "long"],
)
def test_json_that_takes_all_memory_is_named_with_its_file(place, tmp_path, text, words):
    copy = forge(place, lambda d: d)
    for path in (copy.parent / shipped.RECORD, tmp_path / "manifest.json"):
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"{path.name}.*{words}"):
            list(verify(copy if path.parent == copy.parent else tmp_path))


@pytest.mark.parametrize("minutes", [float("inf"), float("nan"), -1.0, 1e300])
def test_minutes_are_finite(place, minutes):
    with pytest.raises(ValueError, match=r"verify: minutes = .*: must be a number from 0 to a million"):
        verify_all([place], minutes=minutes)


def test_types_that_a_file_gives_back_are_those_that_are_computed(place):
    assert isinstance(read_netcdf(place), xr.Dataset)
    entry = shipped.read_record(place.parent)[place.name]
    assert entry["variables"] == {
        "count": "int64", "diverged": "bool", "loss": "float64", "pair": "float64", "single": "float32",
        "sum": "float64", "word": "text",
    }  # fmt: skip
