"""A stranger: README, book, a figure, its numbers, the same cell again, the same metric on a model of their own."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bs4 import BeautifulSoup
from matplotlib import pyplot
from miniature import ROOT
from prose import blocks

from deepmech import cli, data_separation
from deepmech_book.build import keys, run
from deepmech_book.build.sources import Checkout

HTML = Checkout(ROOT).html
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOWTO = (ROOT / "book" / "howto.md").read_text(encoding="utf-8")
built = pytest.mark.skipif(not (HTML / keys.MANIFEST).is_file(), reason="the book is not built yet: make book")


WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "book").glob("*.md"))]
WRITTEN += sorted((ROOT / "notebooks").glob("*/*.md"))


def commands(text: str) -> list[str]:
    """The commands of deepmech that a page gives to type, whole: in blocks, and in its sentences."""
    lines = "".join(block for name in ("bash", "sh") for block in blocks(text, name)).replace("\\\n", " ").splitlines()
    said = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    lines += [" ".join(one.split()) for one in re.findall(r"`(deepmech [^`]+)`", said)]
    found = [re.split(" #| :::", line[line.index("deepmech ") :])[0] for line in lines if "deepmech " in line]
    found = [re.sub(r"\$\w+|\{\d\}", "3", line) for line in found]  # what a shell puts there
    return [line for line in found if not re.search(r"[|…{}]|\.\.\.", line)]


@pytest.mark.parametrize("path", WRITTEN, ids=[str(path.relative_to(ROOT)) for path in WRITTEN])
def test_every_command_that_is_written_anywhere_is_understood(path, capsys):
    text = path.read_text(encoding="utf-8")
    for command in commands(text):
        words = shlex.split(command)[1:]
        try:
            options = cli.parser().parse_args(words)
        except SystemExit as end:
            said = capsys.readouterr().err
            # A sentence may name a command without what it works on.
            named = f"`{command}`" in " ".join(text.split()) and re.search("arguments are required|expected", said)
            assert end.code == 0 or named, f"{command}: {said}"
            continue
        if options.command == "run":
            checkout, source = run.notebook_of(ROOT / options.notebook)
            run.parameters_of(checkout, source, given={name: run.value(text) for name, text in options.given})


def ran(lines: str, there: dict) -> dict:
    exec(compile(lines, "pasted", "exec"), there)
    pyplot.close("all")
    return there


@pytest.mark.parametrize("number", range(len(blocks(README, "python"))))
def test_each_piece_of_readme_runs_when_pasted_into_an_empty_folder(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    there = ran(blocks(README, "python")[number], {"__name__": "pasted"})
    assert "runs" not in there or (there["runs"].accuracy > 0.7).all()
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == set(re.findall(r'savefig\("(.*?)"\)', blocks(README, "python")[number]))
    assert "print" not in there and ("print(" in blocks(README, "python")[number]) == bool(capsys.readouterr().out)


@built
def test_the_numbers_of_a_figure_are_read_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book").symlink_to(ROOT / "book")
    there = ran(blocks(HOWTO, "python")[0], {})
    assert there["mean"].dims == there["drawn"].isel(seed=0).dims
    assert len(there["load"]) == there["drawn"].size <= len(there["table"])


def test_the_lines_run_one_after_another_in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there: dict = {}
    for lines in blocks(HOWTO, "python")[1:]:
        ran(lines, there)
    assert (there["table"].low < there["table"].D).all() and list(there["table"].index) == list(there["curve"].layer)
    for name, h in there["features"].items():
        known = data_separation(h, there["digits"].y_train, debias=True)
        assert float(there["of_features"].sel(layer=name)) == pytest.approx(known, abs=1e-5)
    assert there["history"].step.values.tolist() == [0, 4] and there["history"].notnull().all()
    assert there["runs"].sizes["dropout"] == there["ends"].sizes["mu_right"] == 2
    assert (there["runs"].accuracy > 0.85).all()
    assert (tmp_path / "load_curve.pdf").is_file()


def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def follow(page: Path, words: str) -> Path:
    """Where the first link of a page leads that says this."""
    links = [a for a in soup(page).select("main a[href], nav a[href]") if words in " ".join(a.get_text().split())]
    assert links, f"{page.name} has no link that says {words!r}"
    return page.parent / links[0]["href"].partition("#")[0]


@built
@pytest.mark.page
@pytest.mark.slow
def test_a_strangers_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    index = ROOT / re.search(r"The site is `([^`]*index\.html)`", README)[1]
    start = index.parent / re.search(r'url=([^"]*)"', index.read_text())[1]

    page = follow(follow(start, "Springs and friction: the supplement"), "Does the measure matter?")
    (link,) = soup(page).select("main a[href$='fig-a-s12.csv']")
    numbers = page.parent / link["href"]

    made = soup(follow(page, "How this book was made"))
    (command,) = {text for code in made.select("details code") if "figure-S12" in (text := code.get_text())}
    program, verb, name, *options = shlex.split(command)
    stored = xr.open_dataset(ROOT / "book" / "results" / f"{name}.nc", engine="h5netcdf").load()
    rows = pd.read_csv(numbers)
    assert np.allclose(rows.value, stored["load_curve"].values.ravel(), rtol=1e-12)

    assert (program, verb) == ("deepmech", "verify")
    # What passes is written into the record: into that of a copy.
    copy = shutil.copytree(ROOT / "book" / "results", tmp_path / "results", ignore=shutil.ignore_patterns("pending"))
    monkeypatch.setenv("DEEPMECH_RESULTS", str(copy))
    assert cli.main([verb, name, *options]) == 0
    said = capsys.readouterr()
    assert said.err.startswith(f"verified: {name}") and "0 results differ" in said.out

    (lines,) = blocks(README.partition("## Measure my network")[2].partition("\n## ")[0], "python")
    ran(lines, {})
    assert "signed curvature" in capsys.readouterr().out
    assert (tmp_path / "load_curve.pdf").read_bytes().startswith(b"%PDF")
