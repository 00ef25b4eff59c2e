"""What is computed is what is kept: memory and store give one dataset, whatever the chunks, or refuse it at once; and a
sweep that was read from a file is the one that was written."""

import json
import re
import time

import numpy as np
import pytest
import sweep_functions
import xarray as xr
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from deepmech import over
from deepmech.simulators.spring_block import Chain
from deepmech.sweeps import CellsFailedError, Sweep, load, run, sweep_of
from deepmech.sweeps.run import chunks_of
from deepmech.sweeps.store import read_netcdf, sweep_at
from deepmech_book.sweeps.shipped import publish
from deepmech_book.sweeps.verification import verify, verify_all

N = 4
POWERS = "deepmech.sweeps.example:powers"
NAMES = st.sampled_from(["loss", "my loss", "é", "step", "x", "_v"])
TEXTS = st.sampled_from(["", "a", "bb", "é", "a much longer text"])
VALUES_OF_ATTRS = TEXTS | st.sampled_from([3, 2.5, True, None, 2**70, [1, 2], [1], np.float32(0.1), np.int64(3)])
ATTRS = st.dictionaries(st.sampled_from(["units", "long_name", "a b"]), VALUES_OF_ATTRS, max_size=2)
TYPES = ["f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "U", "O", "c16", "longdouble", ">f8"]


@st.composite
def variables(draw, dims):
    kind, shape = draw(st.sampled_from(TYPES)), (N, 2)[: len(dims)] if dims[0] == "cell" else (2,)
    size = int(np.prod(shape))
    if kind in ("U", "O"):
        values = np.array(draw(st.lists(TEXTS, min_size=size, max_size=size)), object if kind == "O" else None)
    else:
        values = np.arange(size).astype(kind)
    return dims, values.reshape(shape), draw(ATTRS)


@st.composite
def datasets(draw):
    """Datasets over ``cell`` with variables, coordinates, names, types and attributes of many kinds."""
    other = draw(NAMES)
    found = {draw(NAMES): draw(variables(draw(st.sampled_from([("cell",), ("cell", other)])))) for _ in range(2)}
    coords = {draw(st.sampled_from([other, "beside"])): draw(variables((other,)))} if draw(st.booleans()) else {}
    try:
        return xr.Dataset(found, coords)
    except (ValueError, TypeError):  # names that contradict one another
        return xr.Dataset({"plain": ("cell", np.arange(N))})


def grid():
    return Sweep("held", "sweep_functions:held", {"x": over("x", [0.5, 1.5]), "y": over("y", ["p", "q"])})


def identical(one, two):
    """Also in types, and in the kinds of attributes."""
    assert set(one.variables) == set(two.variables) and set(one.coords) == set(two.coords)
    for name, variable in one.variables.items():
        other = two.variables[name]
        assert variable.identical(other) and variable.dtype == other.dtype, name
        assert {k: type(v) for k, v in variable.attrs.items()} == {k: type(v) for k, v in other.attrs.items()}
    return True


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much])
@given(datasets(), st.integers(1, N))
def test_memory_and_store_give_one_dataset_or_refuse_it_at_once(tmp_path_factory, dataset, chunk):
    sweep_functions.HELD.update(dataset=dataset, called=0)
    store = tmp_path_factory.mktemp("store")
    try:
        kept = run(grid(), chunk=chunk)
    except CellsFailedError as refused:
        assert "returned" in str(refused) and "Traceback" not in str(refused)
        assert sweep_functions.HELD["called"] == 1, "no other cell is computed"
        with pytest.raises(CellsFailedError, match=re.escape(str(refused))):
            run(grid(), store, chunk=chunk)
        return
    assert identical(run(grid(), store, chunk=N), kept)
    for name, values in dataset.data_vars.items():
        assert kept[name].values.ravel().tolist() == values.values.ravel().tolist(), "as the function had it"
    file = publish(kept, store)
    assert identical(read_netcdf(file), kept)
    opened = xr.load_dataset(file, engine="h5netcdf", decode_times=False)  # as anybody does
    assert all(opened[name].equals(kept[name]) for name in kept.variables)


#: What of a chunk may not be otherwise than of the first one.
OTHERWISE = {
    "type": lambda made: made.astype("float32"),
    "attribute": lambda made: made.assign(v=made.v.assign_attrs(units="s")),
    "coordinate": lambda made: made.assign_coords(k=[1, 3]),
    "variable": lambda made: made.assign(w=made.v.isel(k=0, m=0, drop=True)),
    "length": lambda made: made.isel(m=slice(2)),
    "order": lambda made: made.transpose("cell", "m", "k"),
}


@pytest.mark.parametrize("change", OTHERWISE)
def test_chunks_that_do_not_fit_are_refused_before_the_last(change):
    """Joined, they would be other numbers, and which depended on how cells were cut into chunks."""

    def made(cells):
        one = xr.Dataset({"v": (("cell", "k", "m"), np.zeros((len(cells), 2, 3)))}, {"k": [1, 2]})
        return OTHERWISE[change](one) if cells[0] == 1 else one

    sweep_functions.HELD.update(dataset=made, called=0)
    with pytest.raises(ValueError, match="must return the same variables, of the same types"):
        run(grid(), chunk=1)
    assert sweep_functions.HELD["called"] == 2


def test_names_and_units_do_not_pass_from_one_quantity_to_another():
    attrs = {"long_name": "length", "units": "m"}

    def made(cells):
        v = xr.DataArray(cells * 0.5, dims="cell", attrs=attrs)
        return xr.Dataset({"v": v, "square": v**2, "negative": v < 0})

    sweep_functions.HELD["dataset"] = made
    kept = run(grid())
    assert kept["v"].attrs == attrs
    assert kept["square"].attrs == kept["negative"].attrs == kept["diverged"].attrs == {}


WRITTEN = st.sampled_from(["i8", "i1", "u8", "f8", "f4", ">f8", "?", "U"])
VALUES = st.sampled_from([[0, 1], [1, 0], [1], [0], [1, 2, 30]])
PLAIN = st.sampled_from([0, 0.0, -0.0, False, "0", 1, 1.0, True, "1", None, np.float32(1), [0, 0.5], [0.0, 0.5]])


@given(VALUES, VALUES, WRITTEN, WRITTEN, PLAIN, PLAIN)
def test_labels_with_one_key_reach_a_function_as_equal_values_of_equal_type(a, b, kind_a, kind_b, fixed_a, fixed_b):
    sweeps = []
    for values, kind, fixed in ((a, kind_a, fixed_a), (b, kind_b, fixed_b)):
        labels = np.array(values).astype(kind)
        assume(len(set(labels.tolist())) == len(values))
        sweeps.append(Sweep("s", "sweep_functions:held", {"x": over("x", labels)}, {"y": fixed}))
    one, two = sweeps
    given_one, given_two = (sweep.slice(range(sweep.n_cells)) for sweep in sweeps)
    alike = given_one.identical(given_two) and given_one["x"].dtype == given_two["x"].dtype
    alike &= repr(one.fixed) == repr(two.fixed)
    assert (one.key == two.key) == (one == two) == alike
    read = Sweep.from_json(json.loads(json.dumps(one.to_json())))
    assert read == one and read.slice(range(one.n_cells)).identical(given_one), "what was read is what was written"
    assert not one.contains(two) or given_one["x"].dtype == given_two["x"].dtype


@given(*[st.integers(0, 2**60) | st.floats(0, 2.0**60)] * 2)
def test_specs_are_equal_if_their_numbers_are(one, two):
    assert (Chain(noise=one) == Chain(noise=two)) == (one == two)


@pytest.mark.parametrize("zero", [0, -0.0, np.float32(0), np.int64(0)])
def test_specs_that_are_equal_have_equal_hashes(zero):
    assert Chain(noise=zero) == Chain(noise=0.0) and hash(Chain(noise=zero)) == hash(Chain(noise=0.0))
    assert Chain(noise=over("noise", [0, 1])) == Chain(noise=over("noise", [0.0, 1.0]))
    assert hash(Chain(noise=over("noise", [0, 1]))) == hash(Chain(noise=over("noise", [0.0, 1.0])))


def test_a_store_names_what_differs(tmp_path):
    def powers(x, **more):
        return Sweep("s", "deepmech.sweeps.example:powers", {"base": over("base", x)}, {"highest": 2, **more})

    run(powers([1.0, 2.0]), tmp_path)
    for other in (powers([1.0, 3.0]), powers([1, 2]), powers([1.0, 2.0], also=True), powers([1.0, 2.0], highest=True)):
        with pytest.raises(ValueError, match=r"differs in (cells|fixed)\["):
            run(other, tmp_path)


def test_a_store_has_its_cells_in_one_order_and_says_so(tmp_path):
    """Another order of parameters has another numbering of cells."""
    cells = {"base": over("base", [1.0, 2.0, 3.0]), "seed": over("seed", [0, 1])}
    one = Sweep("s", POWERS, cells, {"highest": 1})
    two = Sweep("s", POWERS, dict(reversed(cells.items())), {"highest": 1})
    assert one.key == two.key and run(one).equals(run(two).transpose(*run(one)["power"].dims))
    run(one, tmp_path)
    for door in (run, load):
        with pytest.raises(ValueError, match="over base, seed, in this order"):
            door(two, tmp_path)


def test_a_second_coordinate_stays_through_memory_and_store(tmp_path):
    base = over("base", [1.0, 2.0]).assign_coords(label=("base", ["one", "two"]), scale=3.0)
    base.attrs["long_name"] = "base of the power"
    base["base"].attrs["units"] = "1"
    sweep = Sweep("second", "deepmech.sweeps.example:powers", {"base": base}, {"highest": 2})
    again = Sweep.from_json(json.loads(json.dumps(sweep.to_json())))
    assert again == sweep and again.key == sweep.key and again.cells["base"].identical(sweep.cells["base"])
    kept = run(sweep)
    assert kept["label"].values.tolist() == ["one", "two"] and kept["scale"] == 3.0
    assert identical(run(sweep, tmp_path / "store", chunk=1), kept)
    assert identical(load(again, tmp_path / "store"), kept)
    shipped = publish(kept, tmp_path / "results")
    assert identical(read_netcdf(shipped), kept) and sweep_of(kept) == sweep
    assert all(next(verify(path, sweep=sweep)).passed for path in (shipped, tmp_path / "store"))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"x": over("cell", [1])}, "a name of ours"),
        ({"cell": over("x", [1])}, "a name of ours"),
        ({"diverged": over("x", [1])}, "a name of ours"),
        ({"x": over("x", np.array([1], "c16").real) * 1j}, "numbers, booleans or texts"),
        ({"x": over("a/b", [1])}, "a/b"),
        ({"a\0b": over("x", [1])}, "embedded NULL"),
    ],
)
def test_a_grid_that_no_file_keeps_is_refused_before_the_first_cell(cells, said):
    sweep_functions.HELD.update(dataset=xr.Dataset({"v": ("cell", [1.0])}), called=0)
    with pytest.raises(ValueError, match=said):
        run(Sweep("s", "sweep_functions:held", cells))
    assert not sweep_functions.HELD["called"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{}", '{"key": 3, "sweep": {}}', '{"key": "a", "sweep": 3}', '{"key": "a", "sweep": {}}', "\\xff",
     '{"key": "a", "sweep": {"name": "s", "compute": "a:b", "cells": 5}}', '{"key": "a", "sweep": {"cells": {"x": 1}}}',
     '{"key": "a", "sweep": {"name": "s", "compute": "a:b", "cells": {"x": {"labelled": {}}}}}',
     '{"key": "a", "sweep": {"name": "s", "compute": 5, "cells": {}, "more": 1}}'],
)  # fmt: skip
def test_a_manifest_of_another_shape_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    for door in (
        lambda: sweep_at(tmp_path), lambda: verify_all([tmp_path]), lambda: load(grid(), tmp_path),
        lambda: run(grid(), tmp_path),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
            door()


def test_small_chunks_cost_no_more_the_more_there_are():
    started = time.perf_counter()
    assert chunks_of(list(range(200_000)), 1)[-1] == range(199_999, 200_000)
    assert time.perf_counter() - started < 5


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=8) | st.sampled_from(["a/b", "a\0b", "..", ".", "-", "a\n", "é", "a" * 300, "con ", "a\\b"]))
def test_any_name_is_refused_or_names_a_store_and_a_file(tmp_path_factory, name):
    sweep_functions.HELD["dataset"] = xr.Dataset({"v": ("cell", np.arange(N))})
    folder = tmp_path_factory.mktemp("names")
    try:
        sweep = Sweep(name, "sweep_functions:held", grid().cells)
    except ValueError as refused:
        assert str(refused).startswith("Sweep.name = ")
        return
    path = publish(run(sweep, folder / name), folder / "results")
    assert path.parent == folder / "results" and sweep_of(read_netcdf(path)) == sweep
    assert {one.name for one in folder.iterdir()} == {name, "results"}
