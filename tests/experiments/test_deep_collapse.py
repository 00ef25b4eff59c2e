"""Deep collapse: losses in closed form are those of weights that exist, and descent goes down their slope."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from deepmech_book.experiments import deep_collapse as dc

DECAY = 0.004
FRAMES = {"relu": "frame", "linear": "simplex"}


def objective(kind, h, w, y, k, decay):
    """The loss in plain torch: features h (sample, unit), weights w (layer, in, out)."""
    x = h
    for i, layer in enumerate(w):
        x = x @ layer
        if kind == "relu" and i + 1 < len(w):
            x = x.relu()
    z = x[:, :k]
    fit = F.mse_loss(z, F.one_hot(y, k).to(z), reduction="sum") / (2 * len(y)) if kind == "relu" else None
    fit = F.cross_entropy(z, y) if fit is None else fit
    return fit + decay / 2 * sum((part**2).sum() for part in (h, *w))


def least_of(kind, factors, k, n):
    """The least loss, over the scale of the output, of equally large factors H_1, W_1, … of one sample a class."""
    y = torch.arange(k).repeat_interleave(n)
    sizes = [float(np.linalg.norm(f)) for f in factors]
    samples = np.repeat(factors[0], n, axis=1) / np.sqrt(n)  # as large as that of one sample a class
    found = []
    for alpha in np.exp(np.linspace(-4, 4, 4001)):
        grown = (alpha * np.sqrt(n) * np.prod(sizes)) ** (1 / len(factors))
        parts = [f / s * grown for f, s in zip((samples, *factors[1:]), sizes, strict=True)]
        h, w = torch.tensor(parts[0].T), [torch.tensor(p.T) for p in parts[1:]]
        found.append(float(objective(kind, h, w, y, k, DECAY)))
    return min(found)


@pytest.mark.parametrize(("corners", "depth"), [(3, 3), (4, 4), (5, 4)])
def test_the_solution_of_a_graph_exists_and_has_its_loss(corners, depth):
    factors, k = dc.graph(corners, depth), corners * (corners - 1) // 2
    x = factors[0]
    for i, w in enumerate(factors[1:]):
        x = w @ x
        assert np.linalg.matrix_rank(x) <= (corners if i + 2 < depth + 1 else k)
        x = np.maximum(x, 0) if i + 1 < depth else x
    np.testing.assert_allclose(x, np.eye(k), atol=1e-12)
    assert least_of("relu", factors, k, 3) == pytest.approx(dc.least_loss("graph", corners, depth, DECAY, 3), rel=1e-5)


@pytest.mark.parametrize("kind", dc.KINDS)
def test_collapse_and_pairs_have_their_losses(kind):
    k, depth = 6, 3
    frame = np.eye(k) - (kind == "linear") / k
    found = least_of(kind, [frame] * (depth + 1), k, 2)
    assert found == pytest.approx(dc.least_loss(FRAMES[kind], k, depth, DECAY, 2), rel=1e-5)
    if kind == "linear":
        opposite = np.kron(np.eye(k // 2), [[1.0, -1.0], [-1.0, 1.0]])
        found = least_of(kind, [opposite] * (depth + 1), k, 2)
        assert found == pytest.approx(dc.least_loss("pairs", k, depth, DECAY, 2), rel=1e-5)


def test_pairs_win_from_where_the_theorem_says():
    cases = [(k, depth) for k in (4, 6) for depth in (2, 3)]
    wins = {case: dc.least_loss("pairs", *case) < dc.least_loss("simplex", *case) for case in cases}
    assert wins == {(4, 2): False, (4, 3): True, (6, 2): True, (6, 3): True}
    heavy = dc.least_loss("simplex", 6, 2, 10.0)
    assert heavy == pytest.approx(np.log(6)), "a decay that no fit is worth leaves nothing but zeros"


def start(kind, k=4, depth=3, width=7, n=2):
    draws = np.random.default_rng(0)
    h, w = draws.normal(size=(k * n, width)), draws.normal(size=(depth, width, width)) / np.sqrt(width)
    w[-1, :, k:] = 0
    return h, w, np.repeat(np.arange(k), n)


@pytest.mark.parametrize("kind", dc.KINDS)
def test_a_step_goes_down_the_slope_that_autograd_finds(kind):
    h, w, y = start(kind)
    leaves = [torch.tensor(a, requires_grad=True) for a in (h, *w)]
    loss = objective(kind, leaves[0], leaves[1:], torch.tensor(y), 4, 0.01)
    loss.backward()
    expected = [a.detach() - 0.1 * a.grad for a in leaves]
    assert dc.descend(h, w, y, 4, kind == "relu", 0.1, 0.01, 1) == pytest.approx(float(loss.detach()), rel=1e-12)
    for found, wanted in zip((h, *w), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("kind", dc.KINDS)
def test_where_descent_ends_all_factors_are_equally_large_and_two_layers_collapse(kind):
    for depth in (2, 3):
        h, w, y = start(kind, k=3, depth=depth, width=24)
        loss = dc.descend(h, w, y, 3, kind == "relu", 0.5, 0.01, 8000)
        sizes = [(h**2).sum(), *(w**2).sum((1, 2))]
        assert all(a == pytest.approx(b, rel=1e-3) for a, b in pairwise(sizes)), "homogeneous in each factor"
        if depth == 2:
            assert loss == pytest.approx(dc.least_loss(FRAMES[kind], 3, depth, 0.01), rel=1e-3)


def test_geometry_of_a_simplex_of_one_point_and_of_noise():
    y = np.repeat(np.arange(4), 3)
    frame = np.eye(4)[y]
    flat = frame * [1, 1, 1, 0]
    noisy = frame + 0.1 * np.random.default_rng(1).normal(size=frame.shape)
    rows = [dc.geometry([frame, last], y, np.eye(4)) for last in (frame, flat, noisy, 0 * frame)]
    found = dc.rounded(rows)
    assert dc.collapsed(found).values.tolist() == [1, 0, 0, 0]
    exact, flat, noisy, none = (found.isel(cell=i) for i in range(4))
    assert exact.dual == 1 and (exact.within[:2] == 0).all() and (exact.spectrum[:2, :3] == 1).all()
    assert flat.within[1] == 0 and flat.simplex[1] > 0.1 and flat.spectrum[1, 2] < 1
    assert 0 < noisy.within[1] < 0.1 and none.within[1] == 1 and np.isnan(none.simplex[1])


def test_networks_are_trained_on_their_first_classes_alone():
    sweep = dc.networks(classes=(2, 3), depth=(3,), decay=(0.0,), seed=(0,))
    fixed = sweep.fixed | {"data": {"name": "digits"}, "epochs": 40, "per_class": 20}
    found = dc.train_cells(sweep.slice([0, 1]), **fixed)
    assert (found.accuracy == 1).all()
    assert np.isfinite(found.spectrum.isel(layer=1)).sum("number").values.tolist() == [2, 3]
    assert (found.within.isel(layer=1) < found.within.isel(layer=0)).all()
