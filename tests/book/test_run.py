"""``deepmech run``: one notebook with parameters of one's own."""

import json
import os
import re
import resource
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli
from deepmech_book.build import keys, run
from deepmech_book.build.sources import BookError

PAGE = """\
import xarray as xr
from deepmech import over
from deepmech.sweeps import Sweep
from deepmech_book.sweeps.shipped import result
from deepmech_book import figures
from deepmech_book.claims.functions import Measurement, judged

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
    there = own.root / "there" / "a"
    notebook = json.loads((there / "a.ipynb").read_text())
    assert notebook["metadata"]["deepmech"]["parameters"]["n"] == 4
    assert {f.name for f in (there / "a.figures").iterdir()} == {"01-A.3.svg", "01-A.3.csv"}
    (claim,) = json.loads((there / "a.claims.json").read_text())
    assert claim["id"] == "A.3.eq8" and claim["verdict"] == "fails" and claim["parameters"]["n"] == 4


def test_a_run_is_made_again_from_its_parameters_and_the_lines_of_the_page_about_it_collect_both(own, tmp_path):
    assert cli.main(["run", "springs/a", "-p", "n", "4", "-o", "grid/n=4"]) == 0
    assert cli.main(["run", "springs/a", "--profile", "grid/n=4/a/parameters.yml", "--output", "grid/again"]) == 0
    (collect,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "book" / "papermill.md").read_text(), re.M | re.S)
    exec(collect, {})
    rows = pd.read_csv("claims.csv").drop(columns="profile").astype(object).fillna("").to_dict("records")
    assert rows == 2 * [{
        "page": "springs/a", "n": 4, "highest": 2, "bases": "[1.0, 2.0]", "what": "", "claim": "A.3.eq8",
        "verdict": "fails", "measured": 4.0, "low": "", "high": "", "null": 0.0,
    }]  # fmt: skip


def test_parameters_come_from_a_profile_or_a_file_and_then_the_command(own, tmp_path):
    _, source = run.notebook_of("springs/a")
    mine = tmp_path / "mine.yml"
    mine.write_text("springs/a: {n: 5, highest: 7, bases: [1e-3, 2E+5, -1e2]}\n")  # to YAML 1.1 words without a point
    found = run.parameters_of(own, source, str(mine), {"n": 6})
    assert found == {"profile": "mine", "n": 6, "highest": 7, "bases": [0.001, 2e5, -100.0]}
    assert run.parameters_of(own, source, "laptop") == {"profile": "laptop"}
    typed = ("1e-3", "[0.0, 0.1]", "mnist", "None")
    assert list(map(run.value, typed)) == [0.001, [0.0, 0.1], "mnist", None]
    assert re.search(r"n +whole number +3 +springs\n(.*\n)+ +what +anything +None", run.describe(source))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-p", "m", "4"], "has no parameter 'm'; its parameters are n, highest, bases, what"),
        (["-p", "n", "four"], "n = 'four': must be a whole number"),
        (["-p", "n", "None"], "n = None: must be a whole number like its default 3"),
        (["-p", "bases", "[1.0, None]"], r"bases = \[1.0, None\]: must be a number like its default 1.0"),
        (["-p", "bases", f"[1{400 * '0'}]"], "bases = .*: must be finite numbers"),
        (["--profile", "gigantic"], "gigantic: cannot be read.*quick, laptop, paper"),
    ],
)
def test_mistakes_are_named_before_anything_runs(own, words, told, capsys):
    assert cli.main(["run", "springs/a", *words]) == 1
    assert re.search(told, capsys.readouterr().err)
    assert not (own.root / "out").exists()


def test_a_path_is_its_page_from_anywhere_or_none(own, tmp_path, monkeypatch):
    theirs = tmp_path / "springs" / "a.md"
    theirs.parent.mkdir()
    shutil.copy(own.root / "notebooks" / "springs" / "a.md", theirs)
    for path in (theirs, tmp_path / "nowhere" / "springs" / "a.md", "elsewhere/springs/a.md", "springs/a.ipynb", "a"):
        with pytest.raises(BookError, match=r"is no page of a book|is not there|is not in notebooks/"):
            run.notebook_of(path)
    monkeypatch.chdir(tmp_path)  # a job's folder
    for path in (own.root / "notebooks/springs/a.md", "checkout/notebooks/springs/a"):
        checkout, source = run.notebook_of(path)
        assert checkout.root == own.root and source.name == "springs/a"
    with pytest.raises(BookError, match=r"is no page of a book"):
        run.notebook_of("springs/a.md")


@pytest.mark.parametrize("fault", ["a file", "a full disk", "a file of theirs"])
def test_a_folder_that_cannot_take_the_result_is_refused_before_the_notebook_runs(own, fault, capsys, request):
    if fault == "a file":
        (own.root / "out").write_text("mine")
    elif fault == "a file of theirs":
        (own.root / "out" / "a").mkdir(parents=True)
        (own.root / "out" / "a" / "notes.txt").write_text("mine")
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        request.addfinalizer(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, limits[1]))
    assert cli.main(["run", "springs/a"]) == 1
    told = capsys.readouterr().err
    assert re.search("notes.txt is in the way" if "theirs" in fault else "out cannot take the result", told)
    assert "starts" not in told and told.count("\n") == 1


def test_what_was_computed_before_a_late_fault_is_kept_and_named(own, capsys):
    meanwhile = "from pathlib import Path\nPath('out/a').mkdir()\nPath('out/a/notes.txt').write_text('mine')"
    write_notebooks(own, a=notebook_text("print(n)", meanwhile))
    assert cli.main(["run", "springs/a"]) == 1
    told = capsys.readouterr().err
    (kept,) = re.findall(r"out/a/notes.txt is in the way.*; what the notebook made is kept in (.+)\n", told)
    assert "a.ipynb" in os.listdir(kept) and os.listdir("out/a") == ["notes.txt"]
    (row,) = pd.read_csv(f"{kept}/summary.csv").to_dict("records")
    assert row["n"] == 3 and pd.isna(row["claim"]), "a page without claims has a row of parameters"
    shutil.rmtree(kept)


def made_of(folder, words):
    (folder / "a.figures").mkdir(parents=True)
    for name in ("a.ipynb", "a.figures/01.csv", f"{words}.txt"):
        (folder / name).write_text(words)
    return folder


def inside(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files if path.name != keys.MANIFEST}


def killed(step, made, target):
    """Whether a process that hands over was killed before it touched files for the ``step``-th time."""
    if (child := os.fork()) == 0:
        left = iter(range(step))
        sys.addaudithook(lambda event, _: os._exit(9) if event in TOUCHES and next(left, None) is None else None)
        try:
            run.hand_over(made, target)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


TOUCHES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.copyfile"}


def test_a_hand_over_killed_anywhere_leaves_a_whole_result_and_can_be_done_again(tmp_path):
    one, two, place = made_of(tmp_path / "1", "one"), made_of(tmp_path / "2", "two"), tmp_path / "out"
    step, seen = 0, set()
    while True:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        run.hand_over(one, place / "a")
        if not killed(step, two, place / "a"):
            break
        found = inside(place / "a") or inside(place / ".deepmech-a.old")  # between two renames
        assert found in (inside(one), inside(two)), step
        seen.add("".join(found["a.ipynb"]))
        run.hand_over(two, place / "a")
        assert inside(place / "a") == inside(two) and {p.name for p in place.iterdir()} == {"a", ".deepmech-a.lock"}
        step += 1
    assert step > 20 and seen == {"one", "two"}


def test_of_two_at_once_one_is_there_whole(tmp_path):
    both = [made_of(tmp_path / words, words) for words in ("one", "two")]
    place = tmp_path / "out"
    place.mkdir()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: run.hand_over(both[k % 2], place / "a"), range(40)))
    assert inside(place / "a") in [inside(one) for one in both]
