"""In a build nothing is shown that today's page, code and data did not make."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from miniature import ROOT, notebook_text, write_notebooks

from deepmech_book.build import notebooks
from deepmech_book.build.sources import Checkout

MODULE = """\
import xarray as xr
import numpy as np

RATE = 0.25


def compute(cells, steps):
    path = np.array([[start * (1 - RATE) ** k for k in range(steps)] for start in cells["start"].values])
    return xr.Dataset({"path": (("cell", "step"), path)}, {"step": np.arange(steps)})
"""
PAGE = """\
from deepmech import over
from deepmech.sweeps import Sweep
from deepmech_book.sweeps.shipped import result

sweep = Sweep("decay", "trainer_here:compute", {"start": over("start", [1.0, 2.0])}, {"steps": steps})
print(float(result(sweep)["path"].sum()))"""
SHIP = """\
from deepmech import over
from deepmech.sweeps import Sweep, run
from deepmech_book.sweeps.shipped import publish

publish(run(Sweep("decay", "trainer_here:compute", {"start": over("start", [1.0, 2.0])}, {"steps": 5})), "book/results")
"""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A trainer (``code``) and a result that it made, as it ships (``book/results``)."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "code").mkdir()
    (folder / "code" / "trainer_here.py").write_text(MODULE)
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "code"), *sys.path])}
    subprocess.run([sys.executable, "-c", SHIP], cwd=folder, env=here, check=True, capture_output=True)
    return folder


@pytest.fixture
def built(checkout, shipped, monkeypatch):
    """A checkout whose page draws a shipped result, made by a trainer beside it."""
    shutil.copytree(shipped, checkout.root, dirs_exist_ok=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(checkout.root / "code"), *sys.path]))
    monkeypatch.syspath_prepend(checkout.root / "code")  # of this process, from which those of the build take it
    page = notebook_text(PAGE, parameters='profile = "quick"\nsteps = 5')
    return write_notebooks(checkout, a=page)


def built_page(checkout, **options):
    (page_run,) = notebooks.execute_notebooks(Checkout(checkout.root), **options)
    made = page_run.notebook["metadata"]["deepmech"]["results"]
    text = "".join("".join(o.get("text", "")) for c in page_run.notebook["cells"] for o in c.get("outputs", []))
    return float(text), made


def test_a_page_tells_what_it_draws(built):
    value, (drawn,) = built_page(built)
    assert value == pytest.approx(3 * sum(0.75**k for k in range(5)))
    assert drawn["name"] == "decay" and drawn["obtained"] == "shipped" and drawn["of"] == 2
    assert "not checked: none of 2 cells" in drawn["words"] and drawn["source"].startswith("decay-")


def test_a_page_edited_in_one_parameter_shows_other_numbers(built):
    before, _ = built_page(built)
    write_notebooks(built, a=notebook_text(PAGE, parameters='profile = "quick"\nsteps = 6'))
    after, (drawn,) = built_page(built)
    assert drawn["obtained"] == "computed" and after == pytest.approx(before + 3 * 0.75**5)


def test_fingerprints_need_no_data(tmp_path, monkeypatch):
    """The keys of everything that ships follow from specs alone, with data at hand or without."""
    from deepmech_book.spring_block.experiments import experiment
    from deepmech_book.sweeps import shipped
    from deepmech_book.sweeps.glass import walks

    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path / "none"))
    for sweep in (experiment("figure-1c"), walks.standard("regularised", "cifar10-jpeg")):
        assert (ROOT / "book" / "results" / shipped.filename(sweep)).exists()


@pytest.mark.slow
def test_a_notebook_runs_wherever_it_is_opened(tmp_path):
    """By plain papermill, without the build, in an empty folder: it finds what ships, and computes nothing."""
    import jupytext
    import papermill

    page = ROOT / "notebooks" / "spring_block" / "dropout_diagram.md"
    written, out = tmp_path / "page.ipynb", tmp_path / "out.ipynb"
    jupytext.write(jupytext.read(page), written)
    folder = tmp_path / "empty"
    folder.mkdir()
    papermill.execute_notebook(written, out, cwd=folder, progress_bar=False, kernel_name="python3")
    cells = json.loads(out.read_text())["cells"]
    said = json.dumps(cells)
    assert "claim-A." in said
    streams = [o for c in cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert "computing" not in "".join("".join(o["text"]) for o in streams), "what ships is not computed again"
