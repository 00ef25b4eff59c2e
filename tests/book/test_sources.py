"""What is written must be consistent before anything runs."""

import ast
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli, over
from deepmech.sweeps import Sweep, run, ship
from deepmech.sweeps.results import folder
from deepmech.sweeps.store import read_netcdf
from deepmech.sweeps.sweep import sweep_of
from deepmech_book.press.cli import prices
from deepmech_book.press.sources import BookError, Checkout, with_values


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
        ("springs/two: {stiffness: [2020-01-01]}", "laptop.yml: springs/two: stiffness = .*numbers and words"),
        ("extends: paper", "extends: 'laptop': must be one of quick"),
        ("springs/one: {pionts: 41}", r"no parameter 'pionts'; its parameters are stiffness, points"),
        ("springs/noe: {points: 41}", r"springs/noe: no such notebook"),
        ("springs/one: {points: many}", r"points = 'many': must be a number like its default 21"),
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
        (notebook_text(parameters='profile = "quick"\nn = 3\nm = 2 * n'), "line 3 .* not of the form name = plain"),
        (notebook_text(parameters='profile = "quick"\nimport os'), "line 2 .* not of the form"),
        (notebook_text(':tags: [parameters]\n\nprofile = "quick"'), "2 cells are tagged"),
        (notebook_text().replace(":tags: [parameters]", ""), "0 cells are tagged"),
        (notebook_text().replace("name: python3", "name: julia"), "kernelspec python3"),
        (notebook_text(title="").replace("# \n", ""), "no '# Title'"),
    ],
)
def test_faulty_notebook(checkout, text, complaint):
    with pytest.raises(BookError, match=complaint):
        write_notebooks(checkout, a=text).profile("quick")


names = st.sampled_from(["n", "alpha", "size", "label"])
values = st.one_of(
    st.integers(-9, 9), st.floats(-1, 1), st.text("aé#'\" ", max_size=5), st.lists(st.integers(0, 3), max_size=3)
)


@given(st.dictionaries(names, values), st.dictionaries(names, values))
def test_the_parameters_cell_shows_what_is_in_force(defaults, profile):
    code = '# first words\nprofile = "quick"\n' + "".join(f"{k} = {v!r}  # é of {k}\n" for k, v in defaults.items())
    chosen = {k: v for k, v in profile.items() if k in defaults}
    shown = with_values("a/b", code, {"profile": "paper", **chosen})
    force: dict = {}
    exec(shown, force)
    assert {k: force[k] for k in defaults} == {**defaults, **chosen} and force["profile"] == "paper"
    assert all(f"# é of {k}" in shown for k in defaults) and "# first words" in shown


REAL = Checkout(ROOT)


def test_what_ships_has_a_price(checkout, monkeypatch, capsys):
    sweep = Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 20})
    ship(run(sweep), checkout.book / "results")
    (row,) = prices(checkout.book / "results", "pow")
    assert (row["result"], row["cells"], row["at"]) == (f"powers-{sweep.key}", 2, "highest 20")
    assert row["a cell took"].endswith(" s") and row["all took"].endswith(" s")
    assert list(prices(checkout.book / "results", "sums")) == []
    monkeypatch.setenv("DEEPMECH_RESULTS", str(checkout.book / "results"))
    assert cli.main(["plan"]) == 0 and row["result"] in capsys.readouterr().out
    assert cli.main(["plan", "sums"]) == 1 and "no result that ships has 'sums'" in capsys.readouterr().err


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
    assert {name for name in ships - drawn if name.rpartition("-")[2] not in sources} == set()


def test_every_parameter_is_used_by_its_page():
    for name in REAL.names:
        source = REAL.source(name)
        cells = [
            c for c in source.notebook.cells if c.cell_type == "code" and "parameters" not in c.metadata.get("tags", [])
        ]
        used = {n.id for c in cells for n in ast.walk(ast.parse(c.source)) if isinstance(n, ast.Name)}
        assert set(source.parameters) - used <= {"profile"}, name


def test_paper_takes_nothing_reduced_from_laptop():
    """What it does not name itself is at least as large as the page's own value."""
    named = yaml.safe_load((ROOT / "notebooks" / "profiles" / "paper.yml").read_text())
    for name, values in REAL.profile("paper").items():
        for key in values.keys() - (named.get(name) or {}).keys() - {"profile"}:
            mine, default = values[key], REAL.source(name).parameters[key]
            assert isinstance(mine, str) or mine >= default, f"{name}: {key} = {mine!r} comes from laptop.yml"
