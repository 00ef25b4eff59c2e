"""What a researcher draws with the library alone."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
import xarray as xr

from deepmech import plots

matplotlib.use("agg")

ell = xr.DataArray(np.arange(5), dims="layer")
ell = ell.assign_coords(layer=("layer", ell.values, {"long_name": "depth", "units": "layers"}))
load = xr.concat([(4.0 - ell) * c for c in (0.5, 1.0, 2.0)], "noise").assign_coords(noise=[0.0, 0.1, 0.5])


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def test_axes_are_named_by_the_data_unless_names_are_given():
    ax = plots.load_curves(load, layer="layer", by="noise")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth (layers)", "load $D_\\ell$")
    said = load.assign_attrs(long_name="log load", units="nats")
    assert plots.load_curves(said, layer="layer", by="noise").get_ylabel() == "log load (nats)"
    assert plots.load_curves(said, layer="layer", by="noise", y_label="$D$").get_ylabel() == "$D$"


def test_a_diagram_names_its_axes_and_scales_by_the_data():
    grid = load.expand_dims(slope=[0.0, 1.0])
    shade = grid.mean("layer").assign_attrs(long_name="energy", units="J")
    bend = (shade - 1).drop_attrs()
    fig = plots.phase_diagram(grid, x="noise", y="slope", layer="layer", shade=shade, curvature=bend)
    left, right, energy, curvature = fig.axes
    named = left.get_ylabel(), right.get_ylabel(), left.get_xlabel(), right.get_xlabel()
    assert named == (r"negative slope $\alpha$", "", *2 * (r"noise $\varepsilon$",))
    assert (energy.get_title(loc="left"), curvature.get_title()) == ("energy (J)", "signed curvature")


def test_curves_go_where_they_are_asked_to():
    _, (left, right) = matplotlib.pyplot.subplots(1, 2)
    assert plots.load_curves(load, layer="layer", by="noise", ax=right) is right
    assert not left.lines and len(right.lines) == 3


def test_the_library_draws_without_the_book_pyplot_and_is_imported_without_matplotlib():
    code = """
import sys, deepmech
assert "matplotlib" not in sys.modules
from deepmech import plots
bad = {"deepmech_book", "matplotlib.pyplot", "scipy.stats", "torch"} & set(sys.modules)
sys.exit(", ".join(bad) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
