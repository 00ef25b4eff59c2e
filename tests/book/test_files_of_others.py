"""No command removes or overwrites a file that it did not write."""

from pathlib import Path

import pytest
from miniature import SWEEP, notebook_text, write_notebooks

from deepmech import cli
from deepmech_book.build import keys
from deepmech_book.build.sources import Checkout

PAGE = """\
import xarray as xr
from deepmech_book import figures
display(figures.lines(xr.DataArray([0.0, n], {"x": [0, 1]}, "x"), x="x", alt="A line that rises.", figure="A.3"))"""
COMMANDS = {
    "run": ["run", "springs/a", "-o", "mine"],
    "sweep": ["sweep", "elsewhere:sweep", "--store", "mine"],
    "ship": ["ship", "store", "mine"],
    "explore": ["explore", "--no-browser", "--output", "mine/a.html"],
}


@pytest.fixture
def place(checkout, monkeypatch):
    write_notebooks(checkout, a=notebook_text(PAGE))
    (checkout.root / "elsewhere.py").write_text(SWEEP)
    monkeypatch.chdir(checkout.root)
    monkeypatch.syspath_prepend(checkout.root)
    assert cli.main(["sweep", "elsewhere:sweep", "--store", "store"]) == 0  # what is shipped
    return checkout.root


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def put(folder: Path, names) -> dict[str, bytes]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"{name} is mine".encode())
    return files(folder)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_users_files_at_every_name_that_a_command_uses_stay_as_they_are(place, command, capsys):
    """All at once, each alone, and one that the command wrote but the user edited."""
    mine = place / "mine"
    assert cli.main(COMMANDS[command]) == 0, capsys.readouterr().err
    names = sorted(name for name in files(mine) if not name.endswith(".lock"))
    assert names
    mine.rename(place / "first")
    for theirs in [names, *([name] for name in names)][: 2 if command == "run" else None]:
        before = put(mine, theirs)
        capsys.readouterr()
        assert cli.main(COMMANDS[command]) != 0, theirs
        told = capsys.readouterr().err
        assert "mine" in told and "Traceback" not in told
        assert files(mine) == before
        for name in theirs:
            (mine / name).unlink()
    if command != "sweep":  # a store mends what was damaged, and keeps what it found
        (place / "first").rename(place / "mine2")
        for name in names[-1:]:
            (place / "mine2" / name).write_bytes(b"edited")
            again = [word.replace("mine", "mine2") for word in COMMANDS[command]]
            before = files(place / "mine2")
            assert cli.main(again) != 0 and files(place / "mine2") == before


@pytest.mark.parametrize("command", ["explore", "ship"])
def test_a_command_replaces_what_it_wrote_and_leaves_all_else(place, command, capsys):
    assert cli.main(COMMANDS[command]) == 0
    theirs = put(place / "mine", ["notes.txt", "data/a.csv"])
    assert cli.main(COMMANDS[command]) == 0, capsys.readouterr().err
    assert files(place / "mine").items() >= {k: v for k, v in theirs.items() if b"is mine" in v}.items()


def test_another_run_of_a_page_leaves_no_figure_of_the_one_before(place):
    assert cli.main(COMMANDS["run"]) == 0
    before = set(files(place / "mine"))
    assert {"a/a.ipynb", "a/a.claims.json", "a/a.figures/01-A.3.svg"} <= before
    write_notebooks(Checkout(place), a=notebook_text("print(n)"))
    put(place / "mine", ["data/notes.txt"])
    assert cli.main(COMMANDS["run"]) == 0
    assert {name for name in files(place / "mine") if not name.startswith(".")} == {
        *(f"a/{name}" for name in ("a.ipynb", "a.claims.json", "summary.csv", "parameters.yml", keys.MANIFEST)),
        "data/notes.txt",
    }  # fmt: skip
