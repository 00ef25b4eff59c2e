"""Kinks of a network: derivatives against differences, and small networks whose kinks are known."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, layer_sizes, n_weights
from deepmech_book.sweeps.glass import kinks

SIZES = layer_sizes(4, 5, 3)
STREAM = Stream.of("test kinks")
DATA = SimpleNamespace(
    x_train=STREAM.normal("x", 0, (60, 4)), y_train=np.where(STREAM.uniform("y", 0, 60) < 0.5, -1.0, 1.0)
)
W = 0.6 * STREAM.normal("w", 0, n_weights(SIZES))


@pytest.mark.parametrize("softplus", [0.0, 5.0])
def test_the_hessian_is_the_difference_of_gradients(softplus):
    """Of ReLU nearly everywhere: no unit switches within the step."""
    engine = CompiledWalk(SIZES, DATA.x_train, DATA.y_train, "float64", softplus)

    def gradient(weights):
        engine.set(weights)
        return engine.gradient()[0] + 0.1 * weights

    rows = [(gradient(W + step) - gradient(W - step)) / 2e-7 for step in 1e-7 * np.eye(len(W))]
    np.testing.assert_allclose(kinks.hessian(W, SIZES, DATA, 0.1, softplus), rows, atol=1e-6)


def test_normals_are_derivatives_of_what_units_get():
    pairs = kinks.Kinks(np.array([3, 5, 7]), np.array([0, 1, 2]), np.array([4, 0, 2]))

    def given(weights):
        return kinks.pre_activations(weights, SIZES, DATA.x_train)[0][pairs.sample, pairs.layer, pairs.unit]

    differences = [(given(W + step) - given(W - step)) / 2e-6 for step in 1e-6 * np.eye(len(W))]
    np.testing.assert_allclose(pairs.normals(W, SIZES, DATA.x_train), np.transpose(differences), atol=1e-8)


def test_pairs_that_keep_flipping_are_told_from_those_that_are_passed_or_only_near():
    """Three samples of one unit get w - 1, w - 2 and w - 3; w goes to and fro across 1, then once across 2."""
    x = np.array([[1.0, -1.0], [1.0, -2.0], [1.0, -3.0]])
    data = SimpleNamespace(x_train=x, y_train=np.array([-1.0, -1.0, -1.0]))
    path = np.array([[w, 1.0, 0.1] for w in (0.9, 1.1, 0.9, 1.1, 1.9, 2.1)])
    flips, near = kinks.flipping(path, (2, 1, 1), data)
    assert (flips.sample.tolist(), flips.layer.tolist(), flips.unit.tolist()) == ([0], [0], [0])
    assert near.sample.tolist() == [2], "the second sample was passed, and is no pair that stays on its side"


def test_shares_are_those_of_squares_in_a_span():
    basis = kinks.span(np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))
    assert basis.shape == (3, 2) and kinks.share(basis, np.array([3.0, 0.0, 4.0])) == pytest.approx(0.36)


@pytest.mark.parametrize("softplus", [0.0, 5.0])
def test_the_gradient_of_smooth_networks_is_their_drift_and_of_relu_it_lies_in_the_kinks(softplus):
    fixed = {
        "data": {"name": "digits", "n_data": 300, "whiten": True}, "width": 4, "regularisation": 0.0, "chi": 300.0,
        "softplus": softplus, "waiting": [2000, 3000], "times": [100, 300, 1000],
        "preparation": {"gain": 6**0.5, "sgd_steps": 4000, "learning_rate": 0.02},
    }  # fmt: skip
    found = kinks.kink_cells(xr.Dataset({"seed": ("cell", [0])}, {"cell": [0]}), **fixed).isel(cell=0)
    ratio = (found.gradient_norm / found.drift_norm).values
    walked, instant = (found.msd.sel(source=name).values for name in ("walk", "one instant"))
    if softplus:
        np.testing.assert_allclose(ratio, 1, atol=0.02)
        np.testing.assert_allclose(instant[0, :2], walked[0, :2], rtol=0.05)
        assert found.in_gradient.isnull().all()
    else:
        assert (found.in_gradient.sel(set="kinks") > found.in_gradient.sel(set="random directions")).all()
        assert (ratio > 1).all() and instant[0, -1] > walked[0, -1]
