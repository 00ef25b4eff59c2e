"""The command line says what is wrong in a line, and its exit status can be relied on."""

import pytest
from miniature import notebook_text, write_notebooks

from deepmech import cli


@pytest.mark.parametrize("command", ["book", "sweep", "verify", "data", "explore", "lab"])
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as done:
        cli.main([command, "--help"])
    assert done.value.code == 0 and "usage: deepmech" in capsys.readouterr().out


def test_book_from_a_folder_inside_the_house(checkout, monkeypatch, capsys):
    write_notebooks(checkout, a=notebook_text("print(n)"))
    monkeypatch.chdir(checkout.root / "notebooks")
    assert cli.main(["book", "--no-site"]) == 0
    assert "[1/1] springs/a executed" in capsys.readouterr().err
    assert cli.main(["book", "--no-site", "--chapters", "winter"]) == 1
    assert capsys.readouterr().err == "deepmech book: CHAPTERS: 'winter' is unknown; chapters are springs\n"


SWEEP = """\
from deepmech import over
from deepmech.sweeps import Sweep

powers = Sweep("powers", compute="deepmech.sweeps.example:powers", cells={"base": over("base", [1.0, 2.0, 3.0])},
               fixed={"highest": 2})
"""


def test_sweep_then_verify(tmp_path, monkeypatch, capsys):
    (tmp_path / "mysweep.py").write_text(SWEEP)
    monkeypatch.syspath_prepend(tmp_path)
    store, shipped = str(tmp_path / "store"), str(tmp_path / "shipped")
    assert cli.main(["sweep", "mysweep:powers", "--store", store, "--ship", shipped]) == 0
    assert "3 cells" in capsys.readouterr().out
    assert cli.main(["verify", store, shipped, "--cells", "2"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("DEEPMECH_RESULTS", shipped)
    assert cli.main(["verify", "powers", "--cells", "1", "--seed", "7"]) == 0  # as a page of the book names it
    assert "recomputed 1 of 3 cells (seed 7): equal" in capsys.readouterr().err
    assert cli.main(["verify", "power"]) == 0  # names of results begin so
    assert cli.main(["verify", "pwoers"]) == 1
    assert "no shipped result; near: powers" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, file, kind",
    [([], "spring-block-chain.html", "chain"), (["elastic", "--output", "points.html"], "points.html", "elastic")],
)
def test_explore_writes_one_file(arguments, file, kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explore", *arguments, "--no-browser"]) == 0
    assert capsys.readouterr().out == f"{file} is written\n"
    text = (tmp_path / file).read_text()
    assert text.lower().startswith("<!doctype html>") and f"data-deepmech-{kind}" in text
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_explore_names_its_explorers(capsys):
    assert cli.main(["explore", "glass"]) == 1
    assert "explorer = 'glass': must be one of chain, elastic, ruler" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError("cells failed; run again"), OSError(28, "No space left on device")])
def test_lost_clusters_and_full_disks_are_told_in_words(monkeypatch, capsys, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("deepmech.sweeps.cli_run", fails)
    assert cli.main(["sweep", "--store", "anywhere"]) == 1
    told = capsys.readouterr()
    assert str(error) in told.out + told.err and "Traceback" not in told.out + told.err
