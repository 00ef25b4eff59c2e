"""Load curves over named layers, drawn in one call."""

import matplotlib
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib import pyplot
from torch import nn

import deepmech
from deepmech.data import load
from deepmech.metrics.load_curve import load_curve
from deepmech_book import figures

matplotlib.use("agg")


@pytest.fixture(scope="module")
def curve():
    data = load("digits", n_train=200)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 10))
    return load_curve(model, data.x_train, data.y_train)


def test_pictures_of_named_layers(curve):
    """Points where the values are, a chord from end to end, words below; arrays that do not fit are refused."""
    picture = figures.layer_curves({"mine": curve, "again": curve, "third": curve}, alt="Three made-up curves.")
    axes = picture.render().axes
    assert [ax.get_title(loc="left") for ax in axes if ax.get_visible()] == ["mine", "again", "third"]
    line, chord = axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), curve)
    np.testing.assert_array_equal(chord.get_xydata(), [[0, float(curve[0])], [2, float(curve[-1])]])
    assert [t.get_text() for t in axes[0].get_xticklabels()] == ["input", "1 ReLU", "3 ReLU"]
    two = curve.expand_dims(kind_of=["a", "b"])
    fig = figures.layer_curves({"mine": two}, by="kind_of", alt="Two made-up curves.").render()
    assert [t.get_text() for t in fig.legends[0].get_texts()] == ["a", "b"] and len(fig.axes[0].get_lines()) == 2
    with pytest.raises(ValueError, match="at least one title"):
        figures.layer_curves({}, alt="No curves at all.")
    with pytest.raises(ValueError, match=r"curves\['mine'\]: dimensions are"):
        figures.layer_curves({"mine": two}, alt="Two made-up curves.")


def test_one_call_draws(curve):
    try:
        ax = deepmech.plot_load_curve(curve)
        assert ax.get_ylabel() == "data separation"
        _, own = pyplot.subplots()
        assert deepmech.plot_load_curve(curve, ax=own) is own
        history = xr.concat([curve, curve - 1], "step").assign_coords(step=[0, 10])
        assert len(deepmech.plot_load_curve(history).get_lines()) == 2
        with pytest.raises(ValueError, match="curve is a list: give a load curve"):
            deepmech.plot_load_curve([1.0, 2.0])
        with pytest.raises(ValueError, match="dimensions are"):
            deepmech.plot_load_curve(history.expand_dims("seed"))
    finally:
        pyplot.close("all")
