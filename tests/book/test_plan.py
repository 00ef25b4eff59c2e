"""``deepmech plan``: what shipped results cost; and what pages and profiles owe to one another."""

import ast
import json

import pytest
import yaml
from miniature import ROOT

from deepmech import cli, over
from deepmech.sweeps import Sweep, run, ship
from deepmech.sweeps.results import folder
from deepmech.sweeps.spec import sweep_of
from deepmech.sweeps.store import read_netcdf
from deepmech_book.press.plan import prices
from deepmech_book.press.sources import BookError, Checkout

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
