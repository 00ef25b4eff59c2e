"""What one look foretells: derivatives against differences, and the walks of small networks."""

import numpy as np
import pytest

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.glass import forecast
from deepmech_book.sweeps.glass import forecasts
from deepmech_book.sweeps.glass.hinge_loss import HingeLoss

SIZES = layer_sizes(3, 4, 2)
STREAM = Stream.of("test forecasts")
X = STREAM.normal("x", 0, (20, 3))
Y = np.where(STREAM.uniform("y", 0, 20) < 0.5, -1.0, 1.0)
W = STREAM.normal("w", 0, n_weights(SIZES))


def test_derivatives_of_outputs_are_their_differences_and_give_the_gradient_of_the_loss():
    outputs, by_weight = forecasts.jacobian(W, SIZES, X)
    for i, step in enumerate(1e-6 * np.eye(len(W))):
        more, less = (forecasts.jacobian(W + sign * step, SIZES, X)[0] for sign in (1, -1))
        assert by_weight[:, i] == pytest.approx((more - less) / 2e-6, abs=1e-6)
    gradient = -(np.maximum(0, 1 - Y * outputs) * Y) @ by_weight / len(Y) + 0.1 * W
    assert gradient == pytest.approx(HingeLoss(SIZES, X, Y, 0.1).gradient(W), abs=1e-10)


def test_curvature_of_a_network_without_hidden_bends_is_that_of_its_loss():
    """Of one unit that is active on all samples the loss is quadratic in the outgoing weight."""
    x, w, sizes = np.abs(X[:, :1]), np.array([1.0, 0.3]), (1, 1, 1)
    y = np.ones(len(x))
    found = forecasts.gauss_newton(w, sizes, x, y, 0.2)
    loss, step = HingeLoss(sizes, x, y, 0.2), np.array([0.0, 1e-5])
    assert found[1, 1] == pytest.approx((loss.gradient(w + step)[1] - loss.gradient(w - step)[1]) / 2e-5, rel=1e-6)
    assert np.linalg.eigvalsh(found).min() >= 0.2 - 1e-12


def test_a_forecast_of_networks_of_the_book_tells_a_walk_better_than_a_free_one_does(tmp_path):
    """Small networks on digits, prepared for a short time: drift and curvature matter, and nothing is fitted."""
    from deepmech.sweeps import run
    from deepmech_book.sweeps.glass import walks

    short = {**walks.WHITENED["underparameterised"], "sgd_steps": 5000, "descent_steps": 0}
    how = {"n_data": 300, "steps": 3000, "waiting": [1000], "preparation": short, "width": 4}
    like = walks.phase_sweep("underparameterised", "digits", [1e-2, 0.0], 2, **how)
    real = run(like, tmp_path / "walks", progress=False)
    said = run(forecasts.forecasts(like), tmp_path / "said", progress=False)
    errors = forecast.distances(real, said).mean("seed")
    assert errors.sel(kind="forecast") < 0.15
    assert errors.sel(kind="forecast") < 0.5 * errors.sel(kind="free walk")
