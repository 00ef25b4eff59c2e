"""``deepmech run``: one notebook with parameters of one's own, or a grid of them."""

import csv
import json
import re
import shlex

import pytest
import yaml
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli
from deepmech_book.press import run

PAGE = """\
import xarray as xr
from deepmech import over
from deepmech.sweeps import Sweep, result
from deepmech_book import figures, ledger

powers = result(Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", bases)}, {"highest": highest}))
display(figures.lines(xr.DataArray([0.0, n], {"x": [0, 1]}, "x"), x="x", alt="A line that rises.", figure="A.3"))
ledger.check("A.3.eq8", measured=float(n), expected=3.0, null=0.0)"""
OWN = 'profile = "quick"\nn = 3  # springs\nhighest = 2\nbases = [1.0, 2.0]\nwhat = None'


@pytest.fixture
def own(checkout, monkeypatch):
    (checkout.book / "results").mkdir()
    monkeypatch.chdir(checkout.root)
    return write_notebooks(checkout, a=notebook_text(PAGE, parameters=OWN))


def test_a_notebook_comes_with_its_figures_results_and_claims(own, capsys):
    assert cli.main(["run", "notebooks/springs/a.md", "-p", "n", "4", "-o", "there"]) == 0, capsys.readouterr().err
    there = own.root / "there"
    notebook = json.loads((there / "a.ipynb").read_text())
    assert notebook["metadata"]["deepmech"]["parameters"]["n"] == 4
    kinds = ("svg", "pdf", "png", "nc", "csv")
    assert {f.name for f in (there / "a.figures").iterdir()} == {f"01-A.3.{kind}" for kind in kinds}
    (result,) = (there / "data").glob("powers-*.nc")
    from deepmech.sweeps.store import read_netcdf

    assert read_netcdf(result)["base"].values.tolist() == [1.0, 2.0]
    (claim,) = json.loads((there / "claims.json").read_text())
    assert claim["id"] == "A.3.eq8" and claim["verdict"] == "fails" and claim["parameters"]["n"] == 4


def test_a_grid_is_gathered_and_completed(own, capsys):
    command = ["run", "springs/a", "--grid", "n=2,3", "--grid", "bases=[2.0, 3.0]", "-o", "grid"]
    assert cli.main(command) == 0
    assert "2 to have, 2 to execute" in capsys.readouterr().err
    with open(own.root / "grid" / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [(r["n"], r["bases"], r["id"], r["verdict"]) for r in rows]
    assert found == [("2", "[2.0, 3.0]", "A.3.eq8", "fails"), ("3", "[2.0, 3.0]", "A.3.eq8", "holds")]
    (own.root / "grid" / "n=2,bases=2.0_3.0" / "a.ipynb").unlink()
    assert cli.main(command) == 0
    assert "2 to have, 1 to execute" in capsys.readouterr().err


def test_a_point_that_fails_spoils_no_other(checkout, monkeypatch, capsys):
    monkeypatch.chdir(checkout.root)
    page = 'import ipykernel, json\nprint(json.loads(ipykernel.get_connection_info())["transport"], 1 / n)'
    write_notebooks(checkout, a=notebook_text(page))
    assert cli.main(["run", "springs/a", "--grid", "n=0,1", "-o", "out"]) == 1
    said = capsys.readouterr().err
    assert "1 of 2 notebooks failed" in said and "n=0 FAILED: ZeroDivisionError: division by zero" in said
    # Kernels that start together cannot be given one port: they have none.
    assert "ipc 1.0" in (checkout.root / "out" / "n=1" / "a.ipynb").read_text()
    assert not (checkout.root / "out" / "n=0" / "a.ipynb").exists()


def test_parameters_come_from_a_profile_or_a_file_and_then_the_command(own, tmp_path):
    source = run.notebook_of(own, "springs/a")
    mine = tmp_path / "mine.yml"
    mine.write_text(yaml.safe_dump({"springs/a": {"n": 5, "highest": 7}}))
    found = run.parameters_of(own, source, str(mine), {"n": 6, "bases": [3.0]})
    assert found == {"profile": "mine", "n": 6, "highest": 7, "bases": [3.0]}
    assert run.parameters_of(own, source, "laptop") == {"profile": "laptop"}
    assert re.search(r"n +number +3 +springs\n(.*\n)+ +what +anything +None", run.describe(source))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-p", "m", "4"], "has no parameter 'm'; its parameters are n, highest, bases, what"),
        (["-p", "n", "four"], "n = 'four': must be a number"),
        (["--grid", "n"], "must be name=value,value"),
        (["--grid", "n=1,1"], "two of its points have one name"),
        (["--profile", "gigantic"], "gigantic: cannot be read.*quick, laptop, paper"),
    ],
)
def test_mistakes_are_named_before_anything_runs(own, words, told, capsys):
    assert cli.main(["run", "springs/a", *words]) == 1
    assert re.search(told, capsys.readouterr().err)
    assert not (own.root / "out").exists()


def test_the_commands_on_the_page_about_it_are_understood(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "book" / "papermill.md").read_text()
    commands = re.findall(r"^deepmech (run .+)$", text, re.M)
    assert len(commands) == 4
    for command in commands:
        options = cli.parser().parse_args(shlex.split(command.replace("$n", "3")))
        source = run.notebook_of(run.Checkout.find(), options.notebook)
        run.parameters_of(run.Checkout.find(), source, given={name: run.value(text) for name, text in options.given})
        run.points(source, {}, dict(map(run.values, options.grid)), ROOT / "never")
