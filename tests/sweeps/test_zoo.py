"""The zoo: a number is a network, stars change one setting at a time, and what is measured is what it is called."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from deepmech.core.random import Stream
from deepmech.metrics.separation import data_separation
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.specs import Member
from deepmech_book.sweeps.extras import zoo
from deepmech_book.sweeps.extras.layer_diagnostics import RANDOM, WORST, LayerDiagnostics

NAMES = list(zoo.LEVELS)


@given(st.integers(0, 10**7))
def test_a_number_says_which_network(number):
    found, base = zoo.settings_of(number), zoo.settings_of(number - number % zoo.SIZE)
    assert all(found[name] in values for name, values in zoo.LEVELS.items())
    place = number % zoo.SIZE
    changed = [name for name in ("data", "seed", *NAMES) if found[name] != base[name]]
    assert changed == ([] if place == 0 else ["seed"] if place == zoo.SIZE - 1 else [NAMES[place - 1]])
    member = zoo.member_of(number)
    share = member.training.learning_rate * member.training.weight_decay
    assert np.isclose(share, found["shrinkage"], rtol=1e-12)
    assert member.stream.key != zoo.member_of(number, seed=1).stream.key


def test_every_value_is_drawn_about_equally_often():
    bases = [zoo.settings_of(zoo.SIZE * star) for star in range(2000)]
    for name, values in zoo.LEVELS.items():
        counts = np.array([sum(b[name] == v for b in bases) for v in values])
        expected = len(bases) / len(values)
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all(), (name, counts)


def test_data_sets_share_the_numbers():
    parts = [zoo.numbers_of(name, 50) for name in dict.fromkeys(zoo.DATASETS)]
    assert sorted(n for part in parts for n in part) == list(range(50 * zoo.SIZE))
    with pytest.raises(ValueError, match="number = -1: must be a whole number"):
        zoo.settings_of(-1)


def pictures(n=120, d=20, classes=3):
    stream = Stream.of("zoo test")
    y = np.arange(n) % classes
    x = (np.eye(classes, d)[y] + 0.3 * stream.normal("x", 0, (n, d))).astype("float32")
    return SimpleNamespace(x_train=x, y_train=y, x_test=x[::-1] + 0.1, y_test=y[::-1].copy(), n_classes=classes)


@pytest.fixture(params=[True, False], ids=["BatchNorm", "without"])
def trained(request):
    data = pictures()
    network = MLP(depth=4, width=9, slope=0.1, batch_norm=request.param, dropout=0.1)
    engine = CompiledMLP(Member(network, Training(batch_size=16), 0), CompiledMLP.prepare(data, "float32"))
    diagnostics = LayerDiagnostics(engine, data, 40, 8)
    for epoch in range(1, 6):
        engine.step(epoch)
    return engine, diagnostics, data, diagnostics.measure()


def test_the_layers_taken_apart_are_those_of_the_engine(trained):
    engine, diagnostics, data, found = trained
    linear, bent, activations, out = diagnostics._forward(data.x_train, *diagnostics._affine())
    features, output = engine.features(data.x_train)
    for ours, theirs in zip([*activations, out], [*features, output], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
    for name, layers in (("load_linear", linear), ("load_norm", bent)):
        each = [data_separation(h, data.y_train, debias=True) for h in layers]
        np.testing.assert_allclose(found[name][1:4], each, rtol=1e-9)
    if not engine.normed:  # shifts alone change no separation
        np.testing.assert_allclose(found["load_linear"][1:4], found["load_norm"][1:4], atol=1e-4)
    assert np.isnan(found["load_curve"][:, 4:]).all() and np.isfinite(found["load_curve"][:2, :4]).all()


def test_gradients_and_noise_are_those_of_autograd_sample_by_sample(trained):
    engine, diagnostics, data, found = trained
    gains, shifts = (list(map(torch.tensor, part)) for part in diagnostics._affine())
    weights = [torch.tensor(np.array(w), requires_grad=True) for w in diagnostics._weights()]
    moved = [torch.zeros(len(w), requires_grad=True) for w in weights]
    x, y = torch.tensor(data.x_train), torch.tensor(data.y_train)

    def loss(one):
        a = x[one] * gains[0] + shifts[0]
        for i, (w, b) in enumerate(zip(weights, moved, strict=True), start=1):
            a = a @ w.T + b
            if i < len(weights):
                a = engine.member.scale * F.leaky_relu(a * gains[i] + shifts[i], engine.spec.slope)
        return F.cross_entropy(a + shifts[-1], y[one])

    each = [torch.autograd.grad(loss(slice(i, i + 1)), [*weights, *moved]) for i in range(len(y))]
    stacked = [torch.stack(g).flatten(1).double() for g in zip(*each, strict=True)]
    noise = [float(g.var(0, correction=0).sum()) for g in stacked]
    np.testing.assert_allclose(found["noise_weights"][:4], noise[:4], rtol=1e-3)
    np.testing.assert_allclose(found["noise_bias"][:4], noise[4:], rtol=1e-3)
    np.testing.assert_allclose(found["gradient"][:4], [float(g.mean(0).square().sum()) for g in stacked[:4]], rtol=1e-2)
    uphill = torch.autograd.grad(loss(slice(None)), weights)
    length = torch.sqrt(sum((w * g).square().sum() for w, g in zip(weights, uphill, strict=True)))
    before = float(loss(slice(None)).detach())
    with torch.no_grad():
        for w, g in zip(weights, uphill, strict=True):
            w += WORST / length * w * w * g
    np.testing.assert_allclose(found["sharpness_worst"], float(loss(slice(None)).detach()) - before, rtol=1e-2)
    assert found["sharpness_worst"] > found["sharpness_random"], f"a random change of {RANDOM} is not the worst"


def test_norms_of_paths_bound_those_of_layers(trained):
    _, diagnostics, _, found = trained
    assert (found["spectral"][:4] <= found["frobenius"][:4] * (1 + 1e-6)).all()
    assert found["path_norm"] <= np.prod(found["frobenius"][:4]) * (1 + 1e-6)
    assert ((found["overlap"][:4] >= 0) & (found["overlap"][:4] <= 1)).all() and (found["distance"][:4] > 0).all()
    untouched = LayerDiagnostics(diagnostics.engine, pictures(), 40, 8).measure()
    assert (untouched["overlap"][:4] == 1).all() and (untouched["distance"][:4] == 0).all()


def test_a_network_that_is_not_finite_is_nan_throughout(trained):
    engine, diagnostics, *_ = trained
    engine.net.p[:] = np.inf
    assert all(np.isnan(v).all() for v in diagnostics.measure().values())
