"""What one look foretells: derivatives against differences, and the walks of small networks."""

from dataclasses import replace

import numpy as np
import pytest

from deepmech.core.random import Stream
from deepmech.simulators.harmonic import QuadraticLandscape
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech_book.glass import forecast
from deepmech_book.sweeps.glass import forecasts, papers_size
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
    errors = forecast.curve_errors(real, said, walks.PAPER_WINDOW).mean("seed").isel(waiting=0)
    assert errors.sel(kind="parabola").max() < 0.15
    assert errors.sel(kind="parabola").mean() < 0.5 * errors.sel(kind="free walk").mean()
    still = {"kind": "walk at T = 0", "temperature": 0.0}
    assert errors.sel(still) == 0, "a walk without noise foretells itself"
    alone = said.overlap.sel(kind=["weight decay", "free walk"])
    assert (alone.isel(kind=0) == alone.isel(kind=1)).all(), "there is no weight decay"


def test_few_products_foretell_as_all_directions_do():
    """The mean to rounding with all directions, and nearly so with a fifth of them."""
    spread = STREAM.normal("spread", 0, (200, 60)) * np.geomspace(1, 1e-2, 60)
    curvature, drift = spread.T @ spread / 200, STREAM.normal("drift", 0, 60)
    whole = QuadraticLandscape.around(drift, curvature)
    few, all_of_them = (papers_size.krylov(curvature.__matmul__, drift, n) for n in (12, 60))
    means = [one.displacement([10, 1000], learning_rate=1e-2, diffusion=0.0).mean for one in (whole, few, all_of_them)]
    assert means[2] == pytest.approx(means[0], rel=1e-6, abs=1e-9)
    assert np.linalg.norm(means[1] - means[0], axis=1) == pytest.approx(0, abs=0.05 * np.linalg.norm(means[0][1]))


def test_a_network_of_any_size_is_foretold_by_products_as_by_all_directions(tmp_path):
    from deepmech.sweeps import run

    like = papers_size.sweep("underparameterised")
    short = {"gain": 6**0.5, "sgd_steps": 5000, "learning_rate": 0.02}
    small = {"data": {"name": "digits", "n_data": 300, "whiten": True}, "width": 4, "waiting": 1000}
    times = like.fixed["times"][:25]
    fixed = {**like.fixed, **small, "times": times, "preparation": short}
    found = run(replace(like, fixed=fixed), tmp_path, progress=False).isel(seed=0).sel(temperature=0.0, chi=500.0)
    by, walk = found.overlap, found.overlap.sel(source="walk")
    assert by.sel(source=papers_size.SOURCES[2]).values == pytest.approx(by.sel(source="parabola").values, abs=0.02)
    assert abs(by - walk).max("time").sel(source="parabola") < 0.15 and (by.sel(source="free walk") == 1).all()
