"""``deepmech plan``: what pages ask for is found without computing it, and what it costs is said."""

import ast
import csv

import pytest
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli, over
from deepmech.sweeps import Sweep, run, ship
from deepmech.sweeps.results import folder
from deepmech_book.press import plan
from deepmech_book.press.sources import PROFILES, BookError, Checkout

REAL = Checkout(ROOT)
IMPORTS = """\
from pathlib import Path
from deepmech import over
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of

def powers(bases, highest=2, name="powers"):
    return Sweep(name, "deepmech.sweeps.example:powers", {"base": over("base", bases)}, {"highest": highest})
"""
PAGE = (
    IMPORTS
    + """
Path("ran").write_text("a figure, a claim or a live computation")
first = result(powers([1.0, 2.0]))
made = {n: result(powers([float(i) for i in range(n)], name="more")) for n in counts}
again = result(powers(list(sweep_of(first).cells["base"].values) + [3.0], name="after"))"""
)
OWN = 'profile = "quick"\ncounts = [2, 3]'
SAME = f"{IMPORTS}\nresult(powers([1.0, 2.0]))"
LOST = f"{IMPORTS}\nmade = result(powers([1.0]))['no such variable'] + result(powers([2.0]))"


@pytest.fixture
def own(checkout, monkeypatch):
    sweep = Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 2})
    ship(run(sweep), checkout.book / "results")
    monkeypatch.setenv("DEEPMECH_RESULTS", str(checkout.book / "results"))
    monkeypatch.chdir(checkout.root)
    plan.shipped.cache_clear()
    yield write_notebooks(checkout, a=notebook_text(PAGE, parameters=OWN), b=notebook_text(SAME))
    plan.shipped.cache_clear()


def test_sweeps_are_found_and_nothing_is_computed(own):
    found = plan.asked(own.source("springs/a"), {"counts": [2, 3, 4]})
    sweeps = list(found.sweeps.values())
    assert [(s.name, s.n_cells) for s in sweeps] == [("powers", 2), *(("more", n) for n in (2, 3, 4)), ("after", 3)]
    assert found.shipped == {sweeps[0].key} and found.unsure == []
    assert not (own.root / "ran").exists()


def test_what_may_be_more_is_said(own):
    checkout = write_notebooks(own, a=notebook_text(LOST))
    (words,) = plan.asked(checkout.source("springs/a"), {}).unsure
    assert "stopped after 1 sweeps" in words and "no such variable" in words


def test_cells_are_priced_as_those_of_the_most_similar_result_that_ships(own, capsys):
    rows = plan.plan(own, "quick")
    assert [(r.page, r.cells, r.left, r.shared) for r in rows] == [
        ("springs/a", 2, 0, ""),
        ("springs/a", 2, 2, ""),
        ("springs/a", 3, 3, ""),
        ("springs/a", 3, 3, ""),
        ("springs/b", 2, 0, "springs/a"),
    ]
    ((path, ships),) = plan.shipped().items()
    each = plan.read(path).attrs["wall_seconds"] / 2
    assert [(row.seconds, row.larger) for row in rows if row.left] == [(n * each, "") for n in (2, 3, 3)]
    other = Sweep("other", ships.compute, {"base": over("base", [1.0])}, {"highest": 5})
    assert plan.price(other)[1] == "highest 5 (2)"
    assert plan.price(Sweep("sums", "operator:add", {"x": over("x", [1])})) == (None, "")
    (page, book) = plan.by_page(rows)
    assert (page["page"], page["cells"], page["left"]) == ("springs/a", 10, 8) and book["left"] == 8
    assert cli.main(["plan"]) == 0 and "whole book  10     8" in capsys.readouterr().out
    assert cli.main(["plan", "--chapters", "springs/b", "--csv", "left.csv"]) == 0
    assert "all ships" in capsys.readouterr().out and (own.root / "left.csv").read_text() == "\n"


def test_profiles_extend_one_another(checkout):
    profiles = checkout.root / "notebooks" / "profiles"
    (profiles / "laptop.yml").write_text("springs/one: {points: 41, stiffness: 2.0}\n")
    (profiles / "paper.yml").write_text("extends: laptop\nsprings/one: {points: 50}\n")
    assert checkout.profile("paper")["springs/one"] == {"profile": "paper", "points": 50, "stiffness": 2.0}
    (profiles / "paper.yml").write_text("extends: paper\n")
    with pytest.raises(BookError, match=r"extends: 'paper': must be one of quick, laptop"):
        checkout.profile("paper")


# --- the book itself --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages():
    """What every page asks for at every profile."""
    parameters = {profile: REAL.profile(profile) for profile in PROFILES}
    return {(p, n): plan.asked(REAL.source(n), parameters[p][n]) for p in PROFILES for n in REAL.names}


@pytest.mark.slow
def test_every_page_builds_its_sweeps_at_every_profile(pages):
    assert {where: found.unsure for where, found in pages.items() if found.unsure} == {}


@pytest.mark.slow
def test_the_quick_profile_asks_for_all_that_ships(pages):
    """The parameters that pages name have the values that results were made with: by their keys. What a sweep is made
    from counts, too: its key stands for the sweep's data."""
    asked_for = [s for (profile, _), found in pages.items() if profile == "quick" for s in found.sweeps.values()]
    keys = {s.key for s in asked_for} | {s.data for s in asked_for}
    ships = {path.stem.rpartition("-")[2] for path in folder().glob("*.nc")}
    assert ships - keys == set()


@pytest.mark.slow
def test_the_table_of_paper_size_is_of_today(pages):
    with (ROOT / "book" / "paper_size.csv").open(encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    owners = {}
    rows = [row for name in REAL.names for row in plan.rows_of(name, pages["paper", name], owners)]
    assert kept == [{name: str(value) for name, value in row.items()} for row in plan.by_page(rows)]


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
    import yaml

    named = yaml.safe_load((ROOT / "notebooks" / "profiles" / "paper.yml").read_text())
    for name, values in REAL.profile("paper").items():
        for key in values.keys() - (named.get(name) or {}).keys() - {"profile"}:
            mine, default = values[key], REAL.source(name).parameters[key]
            assert isinstance(mine, str) or mine >= default, f"{name}: {key} = {mine!r} comes from laptop.yml"
