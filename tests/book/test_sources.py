"""What is written must be consistent before anything runs."""

import ast
import json

import pytest
import yaml
from miniature import ROOT, notebook_text, write_notebooks

from deepmech.sweeps import sweep_of
from deepmech.sweeps.store import read_netcdf
from deepmech_book.build.sources import BookError, Checkout, Source, checked, format_duration
from deepmech_book.sweeps.shipped import folder


def test_order_of_the_contents(checkout):
    assert checkout.names == ("springs/one", "springs/two")
    assert checkout.select(["springs/two"]) == ("springs/two",)
    assert checkout.select(["springs"]) == checkout.select(None) == checkout.names
    with pytest.raises(BookError, match=r"'springz' is unknown; chapters are springs"):
        checkout.select(["springz"])
    notebooks = checkout.root / "notebooks" / "springs"
    (notebooks / "three.md").write_text(notebook_text())
    with pytest.raises(BookError, match=r"generated/springs/three"):
        _ = Checkout(checkout.root).names
    (notebooks / "two.md").unlink()
    with pytest.raises(BookError, match=r"springs/two.*no such file"):
        _ = Checkout(checkout.root).names


@pytest.mark.parametrize(
    "raw", [b"---\njupytext:\n  langua\n", "é: ü".encode("latin-1"), b"---\n- 1\n---\n", b"\0" * 9, b""]
)
def test_a_notebook_that_cannot_be_read_is_named(checkout, raw):
    (checkout.root / "notebooks" / "springs" / "two.md").write_bytes(raw)
    with pytest.raises(BookError, match="notebook springs/two: "):
        checkout.source("springs/two")


def test_find_looks_upwards_and_says_what_it_misses(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(checkout.root / "notebooks" / "springs")
    assert Checkout.find().root == checkout.root
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BookError, match=r"_toc\.yml"):
        Checkout.find()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("root: intro", "root:\n\t- intro", "cannot be read"),
        ("file: generated/springs/one", "file:", "docname"),
        ("- file: generated/springs/one", "- [file]", "entry not a mapping"),
        ("springs/two", "springs/one", "springs/one"),
        ("numbered: true", "caption: Blocks", "'caption' is set twice"),
        ("format: jb-book", f"format: {'[' * 5000}", "cannot be read"),
    ],
)
def test_faulty_contents(checkout, old, new, complaint):
    text = (checkout.root / "_toc.yml").read_text()
    assert old in text
    (checkout.root / "_toc.yml").write_bytes(text.replace(old, new).encode("latin-1"))
    with pytest.raises(BookError, match=rf"(?s)_toc\.yml.*{complaint}"):
        _ = Checkout(checkout.root).names


@pytest.mark.parametrize(
    ("profile", "complaint"),
    [
        ("springs/one: {points: 3, points: 4}", "laptop.yml: .*'points' is set twice"),
        ("springs/one: 3", "laptop.yml: springs/one: must set parameters to values"),
        ("3: {points: 3}\nspringz: {}", "laptop.yml sets parameters of 3, springz: no such notebook"),
        ("springs/two: {stiffness: [2020-01-01]}", "laptop.yml: springs/two: stiffness = .*must be a number"),
        ("extends: paper", "extends: 'laptop': must be one of quick"),
        ("springs/one: {pionts: 41}", r"no parameter 'pionts'; its parameters are stiffness, points"),
        ("springs/noe: {points: 41}", r"springs/noe: no such notebook"),
        ("springs/one: {points: many}", r"points = 'many': must be a whole number like its default 21"),
        ("springs/one: {profile: paper}", r"no parameter 'profile'"),
    ],
)
def test_faulty_profile(checkout, profile, complaint):
    (checkout.root / "notebooks" / "profiles" / "paper.yml").write_text("extends: laptop")
    (checkout.root / "notebooks" / "profiles" / "laptop.yml").write_text(profile)
    with pytest.raises(BookError, match=complaint):
        checkout.profile("laptop")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (notebook_text(parameters="n = 3"), "must begin with profile"),
        (notebook_text(parameters='profile = "quick"\nn = 3\nm = 2 * n'), "line 3: is not of the form name = plain"),
        (notebook_text(parameters='profile = "quick"\nimport os'), "line 2: is not of the form"),
        (
            notebook_text(parameters='profile = "quick"\nn = (3'),
            "notebook springs/a: the parameters cell, line 2: is no Python",
        ),
        (notebook_text(parameters=f'profile = "quick"\nn = {"-" * 10000}3'), "notebook springs/a: the parameters cell"),
        (notebook_text(':tags: [parameters]\n\nprofile = "quick"'), "2 cells are tagged"),
        (notebook_text().replace(":tags: [parameters]", ""), "0 cells are tagged"),
        (notebook_text().replace("name: python3", "name: julia"), "kernelspec python3"),
        (notebook_text(title="").replace("# \n", ""), "no '# Title'"),
    ],
)
def test_faulty_notebook(checkout, text, complaint):
    with pytest.raises(BookError, match=complaint):
        write_notebooks(checkout, a=text).profile("quick")


@pytest.mark.parametrize(
    ("default", "value", "found"),
    [
        (10, 3.0, 3), (10, 3.5, None), (10, True, None), (10, 0, None), (10, -1, None), (0, -1, -1), 
        (10, 1e300, int(1e300)), (10, None, None),
        (0.1, 2, 2.0), (0.1, True, None), (0.1, float("nan"), None), (0.1, "x", None), (True, 1, None),
        ([1, 2], [3.0], [3]), ([1, 2], [0.5], None), ([1, 2], [], None), ([0, 0.5], [1, 2], [1.0, 2.0]), ([1], 1, None),
        ([[1.0], [2.0]], [[3]], [[3.0]]), (["a"], [1], None), ("mnist", 3, None), (None, [1, "a"], [1, "a"]),
    ],
)  # fmt: skip
def test_a_value_is_of_its_defaults_type_or_refused(checkout, default, value, found):
    """As papermill, YAML or a command line hands it over: 3.0 for 3, nothing or words for numbers."""
    source = Source("a/b", None, {"profile": "quick", "x": default})
    if found is None:
        with pytest.raises(BookError, match=r"here: x = .*must be "):
            checked("here", source, {"x": value})
    else:
        assert repr(checked("here", source, {"x": value})) == repr({"x": found})


REAL = Checkout(ROOT)


def test_profiles_extend_one_another(checkout):
    profiles = checkout.root / "notebooks" / "profiles"
    assert checkout.profile("laptop")["springs/one"] == {"profile": "laptop", "points": 41}
    assert checkout.profile("laptop")["springs/two"] == {"profile": "laptop"}
    with pytest.raises(BookError, match=r"'quik': must be one of quick, laptop, paper"):
        checkout.profile("quik")
    (profiles / "laptop.yml").write_text("springs/one: {points: 41, stiffness: 2.0}\n")
    (profiles / "paper.yml").write_text("extends: laptop\nsprings/one: {points: 50}\n")
    assert checkout.profile("paper")["springs/one"] == {"profile": "paper", "points": 50, "stiffness": 2.0}
    (profiles / "paper.yml").write_text("extends: paper\n")
    with pytest.raises(BookError, match=r"extends: 'paper': must be one of quick, laptop"):
        checkout.profile("paper")


def test_durations_are_said_as_people_say_them():
    assert [format_duration(seconds) for seconds in (4.21, 75, 3700)] == ["4.2 s", "1 min 15 s", "1 h 1 min"]


# --- the book itself --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_pages_draw_all_that_ships():
    """The parameters that pages name have the values that results were made with: by the keys of what was drawn. What a
    sweep is made from counts, too: its key stands for the sweep's data."""
    executed = [REAL.executed("quick", name) for name in REAL.names]
    if not all(path.is_file() for path in executed):
        pytest.skip("the book is not built yet: make book")
    made = [json.loads(path.read_text(encoding="utf-8"))["metadata"]["deepmech"] for path in executed]
    drawn = {one["source"] for page in made for one in page["results"] if one["obtained"] == "shipped"}
    sources = {sweep_of(read_netcdf(folder() / f"{name}.nc")).data for name in drawn}
    ships = {path.stem for path in folder().glob("*.nc")}
    # What the front page draws, and what the test of an erratum asks for.
    elsewhere = {"shaken-1c-mnist-c692d182b3082530", "figure-1b-mnist-e085c6d24da38829"}
    assert {name for name in ships - drawn if name.rpartition("-")[2] not in sources} == elsewhere


def test_every_parameter_is_used_by_its_page():
    for name in REAL.names:
        source = REAL.source(name)
        cells = [c for c in source.notebook.cells if c.cell_type == "code" and c not in source.cells]
        used = {n.id for c in cells for n in ast.walk(ast.parse(c.source)) if isinstance(n, ast.Name)}
        assert set(source.parameters) - used <= {"profile"}, name


def test_paper_takes_nothing_reduced_from_laptop():
    """What it does not name itself is at least as large as the page's own value."""
    named = yaml.safe_load((ROOT / "notebooks" / "profiles" / "paper.yml").read_text())
    for name, values in REAL.profile("paper").items():
        for key in values.keys() - (named.get(name) or {}).keys() - {"profile"}:
            mine, default = values[key], REAL.source(name).parameters[key]
            assert isinstance(mine, str) or mine >= default, f"{name}: {key} = {mine!r} comes from laptop.yml"
