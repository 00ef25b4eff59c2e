"""What measured steps foretell: gradient descent where it is known, extrapolations of paths that are known."""

import numpy as np
import pytest
import xarray as xr

from deepmech.core.random import Stream
from deepmech.sweeps import run
from deepmech_book.analysis.elastic_sde import carried_steps as scores
from deepmech_book.sweeps.elastic_sde import carried_steps as sweeps
from deepmech_book.sweeps.spring_block.networks import sweep

STREAM = Stream.of("test carried steps")
N, INPUTS, K = 40, 3, 4
X, W = STREAM.normal("x", 0, (N, INPUTS)), STREAM.normal("w", 0, (INPUTS, K))
Y = (STREAM.uniform("y", 0, N) * K).astype(int)
BASIS = np.eye(INPUTS * K).reshape(-1, INPUTS, K)
TIMES = np.array([*sweeps.PAST, *sweeps.LATER])


def test_all_steps_of_a_linear_model_are_its_gradient_descent():
    """Every direction was measured, and outputs are linear in the weights: nothing is left out."""
    amounts = sweeps.step_amounts(X @ W, Y, X @ BASIS, np.eye(len(BASIS)), 0.5, [10.0, 40.0])
    w, small = W.copy(), 0.005
    for _ in range(round(40 * 0.5 / small)):
        p = np.exp(X @ w) / np.exp(X @ w).sum(1, keepdims=True)
        w -= small * X.T @ (p - np.eye(K)[Y]) / N
    assert W + np.tensordot(amounts[-1], BASIS, 1) == pytest.approx(w, abs=0.02)


@pytest.mark.parametrize("draw", range(3))
def test_steps_may_be_mixed_and_doubled_without_changing_what_is_foretold(draw):
    """What counts is the space of the steps, not which of them were taken, nor how often or how far."""
    few = BASIS[:5]
    mixed = np.tensordot(STREAM.normal("mix", draw, (7, 5)), few, 1)
    ways = []
    for steps in (few, mixed):
        flat = steps.reshape(len(steps), -1)
        amounts = sweeps.step_amounts(X @ W, Y, X @ steps, flat @ flat.T, 0.5, [5.0, 20.0])
        ways.append(np.tensordot(amounts, X @ steps, 1))
    assert ways[1] == pytest.approx(ways[0], abs=0.02)


def record(came, foretold=None):
    """Numbers of networks over time as a record; all three paths are the same."""
    came = np.asarray(came, float)
    both = np.stack([came, came if foretold is None else np.asarray(foretold, float)], 1)
    dims = ("number", "source", "time")
    wide = ("means", (*dims, "class", "logit"), np.broadcast_to(both[..., None, None], (*both.shape, 2, 2)))
    found = {wide[0]: wide[1:], **{name: (dims, both) for name in ("separation", "error", "loss", "accuracy")}}
    coords = {"number": np.arange(len(came)), "source": ["came", "foretold"], "time": TIMES}
    return xr.Dataset(found, coords)


@pytest.mark.parametrize("name", scores.PATHS)
def test_straight_lines_and_power_laws_are_extrapolated_exactly(name):
    line, power = 0.1 + 0.05 * TIMES, 0.2 + 0.1 * TIMES**0.4
    far = scores.distances(record([line, power]), name)
    assert far.sel(kind="straight line", number=0).values == pytest.approx(0, abs=1e-6)
    assert far.sel(kind="power law").values == pytest.approx(0, abs=2e-4)
    assert far.sel(kind="straight line", number=1).min() > 0.001
    assert far.sel(kind="measured steps").values.max() == 0


def test_the_horizon_ends_where_one_null_is_as_near():
    bent = np.stack([0.2 + 0.1 * np.sin(3 * TIMES + phase) for phase in np.linspace(0, 6, 40)])
    late = bent + 0.9 * (TIMES > 2.5)
    assert scores.horizon(scores.share_nearer(record(bent, bent + 1e-4), "separation")) == 4
    assert scores.horizon(scores.share_nearer(record(bent, late), "separation")) == 2
    assert scores.horizon(scores.share_nearer(record(bent, bent + 2.0 * (TIMES > 1)), "separation")) == 1


def test_order_of_pairs():
    truth, data = np.array([0.1, 0.2, 0.3, 0.5]), np.array(["a", "a", "a", "b"])
    assert scores.right_order(truth, truth, data) == 1
    assert scores.right_order(-truth, truth, data) == 0
    assert scores.right_order(np.ones(4), truth, data) == 0.5
    assert scores.right_order(np.array([1, 3, 2, 0]), truth, data) == pytest.approx(2 / 3)


def test_a_network_is_foretold_from_its_own_moment():
    """On digits, early: steps carry better than nothing does, and a network that never comes to the moment is nan."""
    images = {"name": "digits", "n_train": 300, "n_test": 200}
    fixed = {"most": 60, "groups": 4, "levels": {}}
    early, never = (
        run(sweep("small", "elastic_sde.carried_steps", {"number": [2, 3]}, images, stop_loss=stop, **fixed))
        for stop in (0.6, 0.0)
    )
    assert never.diverged.all() and np.isnan(never.means).all()
    known = early.isel(number=np.flatnonzero(~early.diverged))
    assert known.sizes["number"]
    assert (scores.distances(known, "means").sel(kind="measured steps", time=1.5) < 0.9).all()
    assert (known["loss"].sel(source="foretold", time=1.0) <= 0.6).all()
