"""Networks of the usual make: their blocks are found, and a part of a cell is the beginning of the whole."""

import numpy as np
import pytest
import torch

from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.metrics.load_curve import load_curve
from deepmech_book.experiments import real_networks

NAMES = tuple(real_networks.NETWORKS)


@pytest.fixture(scope="module")
def noise():
    """Pictures of nothing, in the shape of photographs."""
    stream = Stream.of("test real networks", 0)
    x = [stream.uniform("pixels", i, (40, 3072)).astype("float32") for i in range(2)]
    y = np.arange(40) % 10
    return Data("noise", x[0], y, x[1], y, 10, "none", "noise", (3, 32, 32))


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_runs_over_what_enters_the_blocks_and_what_each_returns(name, noise):
    curve = load_curve(real_networks.NETWORKS[name]().eval(), noise.x_train, noise.y_train, layers="blocks")
    assert curve.layer.values.tolist() == ["before blocks", *(f"block{i}" for i in range(1, 7))]


@pytest.mark.parametrize("name", NAMES)
def test_the_part_that_is_recomputed_is_the_beginning_of_the_whole(name, noise):
    fixed, compared = real_networks._begin(**real_networks.photographs().fixed)
    assert fixed["steps"] < real_networks.photographs().fixed["steps"]
    small = {"features": fixed["features"], "splits": fixed["splits"]}
    part = real_networks._one(name, 1, noise, 2, **small)
    whole = real_networks._one(name, 1, noise, 4, ["flattened", "mean over positions"], ["train", "test"])
    for variable in compared:
        same = whole[variable].sel({d: part[d] for d in part[variable].dims if d in part.coords})
        np.testing.assert_array_equal(part[variable], same)
    assert not np.array_equal(whole.trained, whole.untrained)


def test_an_untrained_network_learns_nothing_from_being_shown_samples(noise):
    model = real_networks.resnet()
    before = [p.clone() for p in model.parameters()]
    shown = real_networks.acquainted(model, torch.tensor(noise.x_train))
    assert all(map(torch.equal, shown.parameters(), before))
    norm = shown.get_submodule("input_norm")
    pixels = torch.tensor(noise.x_train).unflatten(1, (3, -1)).mean((0, 2))
    torch.testing.assert_close(norm.running_mean, pixels)
    assert torch.equal(model.get_submodule("input_norm").running_mean, torch.zeros(3))
