"""The command line says what is wrong in a line, and its exit status can be relied on."""

import io
import sys

import nbformat
import pytest
from miniature import SWEEP, notebook_text, write_notebooks

from deepmech import cli


def test_book_from_a_folder_inside_the_house(checkout, monkeypatch, capsys):
    write_notebooks(checkout, a=notebook_text("print(n)"))
    monkeypatch.chdir(checkout.root / "notebooks")
    assert cli.main(["book", "--no-site"]) == 0
    assert "[1/1] springs/a executed" in capsys.readouterr().err
    assert cli.main(["book", "--no-site", "--chapters", "winter"]) == 1
    assert capsys.readouterr().err == "deepmech book: CHAPTERS: 'winter' is unknown; chapters are springs\n"


def test_sweep_then_verify(tmp_path, monkeypatch, capsys):
    (tmp_path / "mysweep.py").write_text(SWEEP)
    monkeypatch.syspath_prepend(tmp_path)
    store, shipped = str(tmp_path / "store"), str(tmp_path / "shipped")
    named = ["--sweep", "mysweep:sweep"]
    assert cli.main(["sweep", "mysweep:sweep", "--store", store]) == 0
    assert "2 cells" in capsys.readouterr().out
    assert cli.main(["ship", store, shipped]) == 0
    assert cli.main(["verify", store, shipped, "--cells", "2", *named]) == 0
    capsys.readouterr()
    monkeypatch.setenv("DEEPMECH_RESULTS", shipped)
    assert cli.main(["verify", "powers", "--cells", "1", "--seed", "7", *named]) == 0  # as a page of the book names it
    assert "recomputed 1 of 2 cells (seed 7): equal" in capsys.readouterr().err
    assert cli.main(["verify", "power", *named]) == 0  # names of results begin so
    assert cli.main(["verify", "pwoers"]) == 1
    assert "no shipped result; near: powers" in capsys.readouterr().err


@pytest.mark.parametrize("page", ["ascii", "cp1252", "cp437", "utf-8"])
def test_a_terminal_of_another_code_page_gets_every_line(page, checkout, monkeypatch):
    """No sign that it lacks stops a command, and signs that numbers need have another form there."""
    write_notebooks(checkout, a=notebook_text("import sys\nprint('− ł', file=sys.stderr)"))
    monkeypatch.chdir(checkout.root)
    (checkout.root / "mysweep.py").write_text(SWEEP)
    monkeypatch.delitem(sys.modules, "mysweep", raising=False)
    monkeypatch.syspath_prepend(str(checkout.root))

    def said(*words, status=0):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=page, write_through=True) for _ in range(2))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        try:
            found = cli.main(list(words))
        except SystemExit as done:
            found = done.code
        told = (out.buffer.getvalue() + err.buffer.getvalue()).decode(page)
        assert found == status, told
        return told

    verbs = ("book", "run", "sweep", "verify", "ship", "data", "lab", "explore")
    assert all("usage: deepmech" in said(*command, "--help") for command in [(), *((verb,) for verb in verbs)])
    assert "- " in said("book", "--no-site") or page == "utf-8"
    assert "2 base" in said("sweep", "mysweep:sweep", "--store", "store")
    assert "powers" in said("ship", "store", "shipped")
    assert "results recomputed" in said("verify", "shipped", "--sweep", "mysweep:sweep")
    assert "mnist" in said("data")
    assert "notebooks are copied" in said("lab", "--no-browser")
    assert "is written" in said("explore", "--no-browser", "--output", "chain.html")
    assert "springs/a" in said("run", "springs/a", "--help-notebook")
    assert "unknown" in said("book", "--chapters", "Ł−…", status=1)


@pytest.mark.parametrize(
    ("variable", "value", "command"),
    [
        ("DEEPMECH_RESULTS", "nowhere", ["verify"]),
        ("DEEPMECH_RESULTS", "a file", ["verify"]),
        ("DEEPMECH_DATA", "a file", ["data", "fetch", "mnist"]),
        ("DEEPMECH_CORES", "many", ["sweep", "mysweep:sweep", "--store", "c"]),
        ("DEEPMECH_CORES", "-1", ["sweep", "mysweep:sweep", "--store", "c"]),
    ],
)
def test_a_variable_of_wrong_shape_is_named_or_left_aside(variable, value, command, tmp_path, monkeypatch, capsys):
    (tmp_path / "a file").write_text("mine")
    (tmp_path / "mysweep.py").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mysweep", raising=False)
    monkeypatch.setenv(variable, value)
    status, told = cli.main(command), capsys.readouterr().err
    assert (status == 1 and (variable in told or value in told)) or (status == 0 and variable == "DEEPMECH_CORES"), told
    assert (tmp_path / "a file").read_text() == "mine"


def test_copies_of_notebooks_have_the_words_and_code_of_the_originals_and_stay_when_they_are_there(
    checkout, monkeypatch, capsys
):
    monkeypatch.chdir(checkout.root)
    originals = {path: path.read_bytes() for path in checkout.root.glob("notebooks/*/*")}
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "2 notebooks are copied into lab" in capsys.readouterr().err
    for name in checkout.names:
        copy = nbformat.read(checkout.root / "lab" / f"{name}.ipynb", as_version=4)
        nbformat.validate(copy)
        written = checkout.source(name).notebook.cells
        assert [(c.cell_type, c.source) for c in copy.cells] == [(c.cell_type, c.source) for c in written]
    mine = checkout.root / "lab" / "springs" / "one.ipynb"
    mine.write_text("mine")
    assert cli.main(["lab", "--no-browser"]) == 0
    assert "0 notebooks are copied" in capsys.readouterr().err and mine.read_text() == "mine"
    assert originals == {path: path.read_bytes() for path in originals}


@pytest.mark.parametrize(
    "arguments, file, kind",
    [
        ([], "spring-block-chain.html", "chain"),
        (["elastic", "--output", "points.html"], "points.html", "elastic"),
        (["elastic", "-o", "a/b.html"], "a/b.html", "elastic"),
    ],
)
def test_explore_writes_one_file(arguments, file, kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explore", *arguments, "--no-browser"]) == 0
    assert capsys.readouterr().out == f"{file} is written\n"
    text = (tmp_path / file).read_text()
    assert text.lower().startswith("<!doctype html>") and f"data-deepmech-{kind}" in text
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == [file]


def test_in_a_terminal_the_next_line_takes_the_place_of_one_of_progress(monkeypatch):
    for terminal, written in ((True, f"\r\x1b[K{79 * 'x'}\r\x1b[Kdone\n"), (False, f"{200 * 'x'}\ndone\n")):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "80")
        cli.say(cli.Passing(200 * "x"))
        cli.say("done")
        assert stream.getvalue() == written


def test_explore_names_its_explorers(capsys):
    assert cli.main(["explore", "glass"]) == 1
    assert "explorer = 'glass': must be one of chain, elastic, ruler" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError("cells failed; run again"), OSError(28, "No space left on device")])
def test_lost_clusters_and_full_disks_are_told_in_words(monkeypatch, capsys, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("deepmech.sweeps.run", fails)
    assert cli.main(["sweep", "mysweep:sweep", "--store", "anywhere"]) == 1
    told = capsys.readouterr()
    assert str(error) in told.out + told.err and "Traceback" not in told.out + told.err
