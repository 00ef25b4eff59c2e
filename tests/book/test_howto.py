"""A stranger: README, book, a figure, its numbers, the same cell again, the same metric on a model of their own."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from bs4 import BeautifulSoup
from matplotlib import pyplot
from miniature import ROOT
from prose import blocks
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from deepmech import cli, load
from deepmech_book.press import site
from deepmech_book.press.sources import Checkout

HTML = Checkout(ROOT).html
HOWTO = (ROOT / "book" / "howto.md").read_text(encoding="utf-8")
built = pytest.mark.skipif(not (HTML / site.SEAL).is_file(), reason="the book is not built yet: make book")


def test_the_commands_are_understood():
    commands = "".join(blocks(HOWTO, "bash")).splitlines()
    assert len(commands) == 5
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "deepmech"
        options = cli.parser().parse_args(words)
        if options.command == "run":
            assert (ROOT / options.notebook).is_file()


@built
@pytest.mark.slow
def test_the_lines_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book").symlink_to(ROOT / "book")
    there: dict = {}
    for lines in blocks(HOWTO, "python"):
        exec(lines, there)
    assert there["mean"].dims == there["drawn"].isel(seed=0).dims
    assert len(there["load"]) == there["drawn"].size <= len(there["table"])
    assert there["history"].step.values.tolist() == [0, 4, 8]
    assert there["runs"].sizes["dropout"] == 2 and there["ends"].sizes["mu_right"] == 2
    assert (tmp_path / "load_curve.pdf").is_file()
    pyplot.close("all")


class Reader:
    """Somebody who opens a page and follows links by what they say."""

    def __init__(self, page: Path):
        self.page = page.resolve()
        self.soup = BeautifulSoup(self.page.read_text(encoding="utf-8"), "html.parser")

    def target(self, words: str) -> Path:
        links = [a for a in self.soup.select("main a[href], nav a[href]") if words in " ".join(a.get_text().split())]
        assert links, f"{self.page.name} has no link that says {words!r}"
        return self.page.parent / links[0]["href"].partition("#")[0]

    def follow(self, words: str) -> "Reader":
        return Reader(self.target(words))


@built
@pytest.mark.page
@pytest.mark.slow
def test_a_strangers_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    index = ROOT / re.search(r"The site is `([^`]*index\.html)`", readme)[1]
    start = index.parent / re.search(r'url=([^"]*)"', index.read_text())[1]

    page = Reader(start).follow("Springs and friction: the other figures").follow("What if there are no classes?")
    numbers = page.target("CSV of Figure")

    (command,) = {code.get_text() for code in page.soup.select(".dm-results code")}
    program, verb, name, *options = shlex.split(command)
    stored = xr.open_dataset(ROOT / "book" / "results" / f"{name}.nc", engine="h5netcdf").load()
    rows = pd.read_csv(numbers)
    assert np.allclose(rows.value, stored["load_curve"].values.ravel(), rtol=1e-12)

    assert (program, verb) == ("deepmech", "verify")
    assert cli.main([verb, name, *options]) == 0
    said = capsys.readouterr()
    assert said.err.startswith(f"verified: {name}") and "0 results differ" in said.out

    digits = load("digits", n_train=200)
    model = nn.Sequential(nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 10))
    loader = DataLoader(TensorDataset(torch.tensor(digits.x_train), torch.tensor(digits.y_train)), batch_size=40)
    (lines,) = blocks(readme.partition("## Measure my network")[2].partition("\n## ")[0], "python")
    exec(lines, {"model": model, "loader": loader})
    assert "signed curvature" in capsys.readouterr().out
    assert (tmp_path / "load_curve.pdf").read_bytes().startswith(b"%PDF")
    pyplot.close("all")
