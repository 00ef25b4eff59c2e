"""``deepmech run``: one notebook with parameters of one's own."""

import json
import re
import shlex

import pytest
import yaml
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli
from deepmech_book.build import run

PAGE = """\
import xarray as xr
from deepmech import over
from deepmech.sweeps import Sweep
from deepmech_book.sweeps.shipped import result
from deepmech_book import figures
from deepmech_book.claims.entries import Measurement, judged

powers = result(Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", bases)}, {"highest": highest}))
display(figures.lines(xr.DataArray([0.0, n], {"x": [0, 1]}, "x"), x="x", alt="A line that rises.", figure="A.3"))
judged("A.3.eq8", Measurement(float(n), expected=3.0, null=0.0))"""
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
    assert {f.name for f in (there / "a.figures").iterdir()} == {"01-A.3.svg", "01-A.3.csv"}
    (claim,) = json.loads((there / "a.claims.json").read_text())
    assert claim["id"] == "A.3.eq8" and claim["verdict"] == "fails" and claim["parameters"]["n"] == 4


def test_parameters_come_from_a_profile_or_a_file_and_then_the_command(own, tmp_path):
    source = run.notebook_of(own, "springs/a")
    mine = tmp_path / "mine.yml"
    mine.write_text(yaml.safe_dump({"springs/a": {"n": 5, "highest": 7}}))
    found = run.parameters_of(own, source, str(mine), {"n": 6, "bases": [3.0]})
    assert found == {"profile": "mine", "n": 6, "highest": 7, "bases": [3.0]}
    assert run.parameters_of(own, source, "laptop") == {"profile": "laptop"}
    assert re.search(r"n +whole number +3 +springs\n(.*\n)+ +what +anything +None", run.describe(source))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-p", "m", "4"], "has no parameter 'm'; its parameters are n, highest, bases, what"),
        (["-p", "n", "four"], "n = 'four': must be a whole number"),
        (["--profile", "gigantic"], "gigantic: cannot be read.*quick, laptop, paper"),
    ],
)
def test_mistakes_are_named_before_anything_runs(own, words, told, capsys):
    assert cli.main(["run", "springs/a", *words]) == 1
    assert re.search(told, capsys.readouterr().err)
    assert not (own.root / "out").exists()


def test_the_commands_on_the_page_about_it_are_understood(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "book" / "papermill.md").read_text().replace("\\\n", "")
    commands = re.findall(r"^ *deepmech (run .+)$|^parallel .* deepmech (run .+?) :::", text, re.M)
    assert sum(map(bool, commands)) == 5
    for command in map("".join, commands):
        options = cli.parser().parse_args(shlex.split(re.sub(r"\$\w+|\{\d\}", "3", command)))
        source = run.notebook_of(run.Checkout.find(), options.notebook)
        run.parameters_of(run.Checkout.find(), source, given={name: run.value(text) for name, text in options.given})
