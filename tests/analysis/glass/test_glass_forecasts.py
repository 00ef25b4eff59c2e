"""What one look foretells: derivatives against differences, scores on curves that are known."""

import numpy as np
import pytest
import xarray as xr

from deepmech.core.random import Stream
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.analysis.glass import forecasts as scores
from deepmech_book.sweeps.glass import forecasts
from deepmech_book.sweeps.glass.hinge_loss import HingeLoss

SIZES = layer_sizes(3, 4, 2)
STREAM = Stream.of("test forecasts")
X = STREAM.normal("x", 0, (20, 3))
Y = np.where(STREAM.uniform("y", 0, 20) < 0.5, -1.0, 1.0)
W = STREAM.normal("w", 0, n_weights(SIZES))
T = np.array([1.0, 10.0, 100.0, 1000.0])


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


def walked(tau):
    """Overlaps that fall as exp(-t/τ), for networks of times ``tau``."""
    dims = ("seed", "temperature", "waiting", "time", "chi")
    curves = np.exp(-T / np.asarray(tau, float)[:, None])[:, None, None, :, None]
    coords = {"seed": np.arange(len(tau)), "temperature": [1e-3], "waiting": [10], "time": T, "chi": [1, 2]}
    alpha = np.ones((len(tau), 1, 1, len(T)))
    shape = np.broadcast_to(curves, (len(tau), 1, 1, len(T), 2))
    return xr.Dataset({"overlap": (dims, shape), "alpha": (dims[:-1], alpha)}, coords)


def test_scores_of_the_truth_are_zero_and_of_times_ten_times_as_long_one():
    real, slow = walked([200.0, 400.0]), walked([2000.0, 4000.0])
    assert scores.curve_errors(real, real.overlap).values.max() == 0
    assert scores.time_errors(real, real).values.tolist() == [0, 0]
    off = scores.time_errors(real, slow).values
    assert off == pytest.approx([1, 1], abs=0.2)  # read between the recorded times
    assert scores.alpha_errors(real, 4 * real.alpha).values.tolist() == [2, 2]


def test_the_mean_of_other_networks_does_not_know_the_network():
    real = walked([100.0, 200.0, 400.0])
    others = scores.of_other_networks(real)
    assert others.isel(seed=0).values == pytest.approx(real.overlap.isel(seed=[1, 2]).mean("seed").values)


def test_times_without_an_end_count_as_the_records_end():
    real, still = walked([1e9]), walked([500.0])
    assert scores.time_errors(still, real).item() > 0
    assert np.isnan(scores.time_errors(real, walked([1e8])).item())  # both say that nothing happens


def test_a_forecast_of_networks_of_the_book_tells_a_walk_better_than_a_free_one_does(tmp_path):
    """Small networks on digits, prepared for a short time: drift and curvature matter, and nothing is fitted."""
    from deepmech.sweeps import run
    from deepmech_book.sweeps.glass import walks

    data = {"name": "digits", "n_data": 300, "whiten": True}
    short = {**walks.WHITENED["underparameterised"], "sgd_steps": 5000, "descent_steps": 0}
    like = walks.phase_sweep("underparameterised", data, [1e-2, 0.0], 2, 3000, [1000], short, width=4)
    real, said = (
        run(like, tmp_path / "walks", progress=False),
        run(forecasts.forecasts(like), tmp_path / "said", progress=False),
    )
    errors = scores.errors_by_kind(real, said).mean(["temperature", "waiting", "seed"])
    assert errors.sel(kind="forecast") < 0.15
    assert errors.sel(kind="forecast") < 0.5 * errors.sel(kind="free walk")
