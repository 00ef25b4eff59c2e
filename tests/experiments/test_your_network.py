"""The four example networks: they learn, they repeat themselves, and leave the global random state alone."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from deepmech.data import load
from deepmech.metrics.load_curve import load_curve, over_positions
from deepmech.metrics.monitor import LoadCurveMonitor
from deepmech.metrics.reading import read
from deepmech_book import figures
from deepmech_book.experiments import your_network as examples


@pytest.fixture(scope="module")
def digits():
    return load("digits", n_train=500)


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_each_example_learns_and_has_a_falling_curve(name, digits):
    """A guess is right once in ten; an untrained network carries no load."""
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    layers, x, y = examples.EXAMPLES[name].layers, digits.x_train, digits.y_train
    raw = examples.example(name)
    said = read(load_curve(raw, x, y, layers=layers))
    assert "not falling" in (said.verdict, *said.possible)
    model = examples.trained(name, digits)
    assert examples.accuracy(model, digits) > 0.6
    curve = load_curve(model, x, y, layers=layers)
    assert curve[-1] < curve[0] - 0.3
    assert load_curve(model, x, y, layers=layers, pool=over_positions).layer.equals(curve.layer)
    assert torch.equal(state, torch.get_rng_state())
    assert np.array_equal(numpy_state, np.random.get_state()[1])  # noqa: NPY002


def test_a_seed_names_one_network(digits):
    def weights(seed, dropout=0.3, after_step=None):
        model = examples.fit(examples.example("MLP", dropout, seed), digits, 2, seed=seed, after_step=after_step)
        return torch.cat([p.detach().ravel() for p in model.parameters()])

    torch.rand(3)  # whatever was drawn before
    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_watching_an_example_changes_nothing(digits):
    def final(watch):
        model = examples.example("ResNet", 0.2)
        with LoadCurveMonitor(model, digits.x_train[:100], digits.y_train[:100], every=2) as monitor:
            examples.fit(model, digits, 1, after_step=(lambda loss: monitor.step(loss=loss)) if watch else None)
        return torch.cat([v.ravel().double() for v in model.state_dict().values()])

    assert torch.equal(final(False), final(True))


def test_unknown_example():
    with pytest.raises(ValueError, match="name = 'RNN': must be one of MLP, CNN, ResNet, transformer"):
        examples.example("RNN")


def test_pictures_of_named_layers(digits):
    """Points where the values are, a chord from end to end, words below; arrays that do not fit are refused."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 9), torch.nn.ReLU(), torch.nn.Linear(9, 9), torch.nn.ReLU())
    curve = load_curve(model, digits.x_train, digits.y_train)
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


def test_the_table_of_other_makes_on_the_page(digits):
    """Each is measured in one call, over the layers that it has, or refused with the line to write."""
    page = (Path(__file__).parents[2] / "notebooks" / "beyond" / "your_network.md").read_text(encoding="utf-8")
    cells = re.findall(r"```{code-cell} ipython3\n(?::tags[^\n]*\n)?(.*?)```", page, re.DOTALL)
    there = {
        "torch": torch, "nn": torch.nn, "x": digits.x_train, "y": digits.y_train, "data": digits, "read": read,
        "examples": examples, "load_curve": load_curve, "pd": pd, "other_epochs": 1, "display": lambda table: None,
    }  # fmt: skip
    for cell in cells:
        if "others = {" in cell or "said = {}" in cell:
            exec(cell, there)
    said = there["said"]
    assert len(said) == 11
    assert [name for name, row in said.items() if row["said"].startswith("refused")] == ["scripted"]
    assert said["functions"]["layers"] == "input, relu():1, relu():2, relu():3"
    assert said["torch.compile"]["layers"] == said["nn.Sequential"]["layers"] == "input, 1, 3, 5"
    assert said["ResNet"]["layers"].startswith("before blocks, block1")
    assert "fully connected" not in said["nn.Sequential"]["said"]
