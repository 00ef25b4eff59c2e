"""What is said of a curve follows its shape."""

import numpy as np
import pytest
import torch
import xarray as xr
from example_networks import CLASSES, WIDTH, N, paper_network, tensors
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from deepmech.core.random import Stream
from deepmech.metrics.curvature import curvature
from deepmech.metrics.interpret import BEND, interpret
from deepmech.metrics.load_curve import load_curve


@given(bend=st.floats(-0.16, 0.16), depth=st.integers(2, 30))
def test_thresholds_in_terms_of_the_layers_work(bend, depth):
    """On a parabola of curvature c, in the limit of many layers, last over first layer is (1 + 6c) / (1 − 6c)."""
    at = np.linspace(0, 1, 2000)
    fine = 1 - at + 6 * bend * at * (1 - at)
    assert curvature(fine) == pytest.approx(bend, abs=1e-5)
    first, last = fine[0] - fine[1], fine[-2] - fine[-1]
    assert last / first == pytest.approx((1 + 6 * bend) / (1 - 6 * bend), rel=0.05, abs=0.05)
    d = np.interp(np.linspace(0, 1, depth + 1), at, fine)
    bent = curvature(d)
    said = interpret(d).verdict
    assert said == ("lazy" if bent > BEND else "over-noisy" if bent < -BEND else "balanced")
    assert interpret(3 * d - 7).verdict == said


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [
        ([1.0, 1.0, 1.0], "no shape: The curve is flat"),
        ([1.0, np.nan, 0.0], "no shape: The curve is flat or not finite"),
        ([0.0, 1.0, 2.0], "not falling; only rises; D rises by 2 nats"),
        ([0.0, -0.5, 2.0], "not falling; rises more than it falls"),
        ([1.0, 0.0, 0.9], "not falling; rises about as much as it falls"),
        ([1.0, 0.98, 0.5, 0.02, 0.0], "uneven; D falls by 1 nats"),
        ([2.0, 2.1, 2.0, 1.0], "lazy; D falls by 1 nats"),
        ([0.101, 0.1, 0.09, 0.0], "lazy; D falls by 0.101 nats"),
        ([0.099, 0.098, 0.09, 0.0], "no shape: D falls by 0.099 nats in all, too little"),
    ],
)
def test_shapes_without_a_bend_or_a_fall(curve, verdict):
    """A shape takes a tenth of a nat of D; a chain's is of its own units."""
    verdict, *words = verdict.split("; ")
    assert str(interpret(curve)).startswith(verdict) and all(one in str(interpret(curve)) for one in words)
    verdict = interpret(curve).verdict
    assert "nats" not in str(interpret(xr.DataArray(curve, dims="block")))
    assert str(interpret(curve)).startswith(verdict) and f"**{verdict}**" in interpret(curve)._repr_markdown_()


@pytest.mark.parametrize(("classes", "share"), [(2, 0.005), (2, 0.1), (10, 0.02), (10, 0.1)])
def test_a_reading_names_the_wrong_labels_behind_which_a_curve_is_straight(classes, share):
    """Of a straight curve of right labels; a lazy curve, and one that ends in a rise, have none."""

    def told(curve):
        bounded = np.log((np.exp(curve) + 1 - a) / a)
        return interpret(xr.DataArray(bounded, dims="layer", attrs={"metric": "D", "classes": classes}))

    a = (1 - share * classes / (classes - 1)) ** 2
    straight = told(np.linspace(2.0, -8.0, 8))
    assert straight.verdict == "over-noisy" and straight.wrong_labels == pytest.approx(share, rel=1e-6)
    assert f"if {share:.1%} of the labels are wrong" in str(straight)
    assert np.isnan(told(np.array([3.0, 2.9, 2.5, 0.0])).wrong_labels)
    assert np.isnan(told(np.array([3.0, 0.0, -8.0, -7.0])).wrong_labels) and np.isnan(
        interpret([3.0, 1, 0]).wrong_labels
    )


def test_a_reading_names_the_layers():
    x, y = tensors()
    made = load_curve(paper_network(2), x, y)
    made.values[:] = [1.0, 1.2, -1.0]
    said = interpret(made)
    assert (said.largest, said.rising) == ("act2", ("act1",)) and said.share == 1.0
    assert "D rises at 'act1'" in str(said)
    with pytest.raises(ValueError, match="give one curve"):
        interpret(made.expand_dims("seed"))
    with pytest.raises(ValueError, match="2 layers"):
        interpret([1.0, 0.0])


def test_of_blocks_a_reading_says_that_the_word_is_of_the_shape():
    curve = [3.0, 2.9, 0.0]
    assert "of the curve's shape" not in str(interpret(curve))
    assert "adds blocks to a stream" in str(interpret(xr.DataArray(curve, dims="layer", attrs={"stream": 1})))


def test_a_reading_refuses_what_chance_shows_as_well():
    """With shuffled labels in either form."""
    x, y = tensors()
    shuffled = y[torch.tensor(Stream.of("test shuffled", 0).permutation("labels", 0, N))]
    for debias in (True, False):
        null = load_curve(paper_network(2), x, shuffled, debias=debias)
        assert null.attrs["ceiling"] == pytest.approx(np.log((N - CLASSES) / (CLASSES - 1)))
        said = interpret(null)
        assert said.verdict == "too few samples" and set(said.unresolved) <= {"bn0", "act1", "act2"}
        assert "what chance shows, too" in str(said)
        assert interpret(load_curve(paper_network(2), x, y, debias=debias)).verdict != "too few samples"
    assert load_curve(paper_network(2), x, shuffled).attrs.get("unresolved", "").split(", ")[0] in (
        "",
        *null.layer.values,
    )
    constant = load_curve(nn.Sequential(nn.Linear(WIDTH, 2), nn.Threshold(1e9, 0.0), nn.ReLU(), nn.Linear(2, 2)), x, y)
    assert np.isnan(constant[1:]).all() and interpret(constant).verdict == "no shape"
