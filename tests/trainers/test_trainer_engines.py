"""Every engine against the oracle: gradients, losses, parameters, averages and layers; and both against laws."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from oracle import Oracle, noisy_labels
from trainer_data import clusters

from deepmech.core.random import BatchedStream, Stream, stream_id
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.engines.compiled.mlp import CompiledMLP
from deepmech.trainers.engines.torch_func import CachedStreams, TorchEnsemble
from deepmech.trainers.modules import build_network
from deepmech.trainers.rules import LOSSES, OPTIMIZERS
from deepmech.trainers.specs import FactoryNetwork, Member

CLOUDS = clusters(64, 5, 3)
REAL = SimpleNamespace(**(vars(CLOUDS) | {"n_classes": None, "y_train": CLOUDS.x_test[:, 0] - CLOUDS.x_train[:, 1]}))
PARTS = {
    ("linear", "weight"): "weight", ("linear", "bias"): "shift", ("norm", "weight"): "gain", ("norm", "bias"): "shift",
}  # fmt: skip


def module(member, data):
    return build_network(member, getattr(data, "shape", data.x_train.shape[1:]), data.n_classes or 1)


def torch_engine(members, data):
    """As ``train`` has it, with attention of products: vmap runs other kinds network by network, and warns."""
    whole = isinstance(members[0].network, FactoryNetwork)
    return TorchEnsemble(members, TorchEnsemble.prepare(data, str(members[0].training.dtype), whole=whole))


def numbers(network):
    """Parameters and buffers by name, but for those of dropout."""
    named = dict(network.named_parameters()) | dict(network.named_buffers())
    own = {k: v for k, v in named.items() if k.rpartition(".")[2] not in ("which", "below", "factor")}
    return {k: v.detach().numpy().copy() for k, v in own.items()}


def layers(network, x):
    with torch.no_grad():
        x = torch.as_tensor(x).to(next(network.parameters()).dtype)
        return network.eval().layers(x) if hasattr(network, "layers") else [network.eval()(x)]


class TorchNetworks:
    epochs, rtol, atol = 3, 1e-9, 1e-11

    def __init__(self, members, data):
        self.engine = torch_engine(members, data)
        self.step = self.engine.step

    def numbers(self, i, like):
        return numbers(self.engine.ensemble.member(i))

    def layers(self, i, x):
        return layers(self.engine.ensemble.member(i), x)


class CompiledNetworks:
    """Networks one by one, whose parts have the names that a module gives them."""

    epochs, rtol, atol = 20, 1e-6, 1e-8

    def __init__(self, members, data):
        self.all = [CompiledMLP(m, CompiledMLP.prepare(data, str(m.training.dtype))) for m in members]

    def step(self, epoch):
        return np.concatenate([one.step(epoch) for one in self.all])

    def numbers(self, i, like):
        return {name: self.part(self.all[i], name, len(value)) for name, value in like.items() if value.ndim}

    def part(self, fused, name, size):
        kind, layer, what = name.split(".")
        layer, net = int(layer), fused.net
        if what.startswith("running"):
            return getattr(net, what)[layer, :size].copy()
        if fused.spec.batch_norm and (kind, what) == ("linear", "bias") and layer < fused.spec.depth - 1:
            return net.frozen_bias[layer + 1, :size].copy()  # biases that BatchNorm cancels: they stay as drawn
        return fused.part(net, net.p, PARTS[kind, what], layer + (kind == "linear")).copy()

    def layers(self, i, x):
        inner, output = self.all[i].features(x)
        return [*inner, output]


ENGINES = {"compiled": CompiledNetworks, "torch": TorchNetworks}


def both(engine, members, data):
    return ENGINES[engine](members, data), [Oracle(module(m, data), m, data) for m in members]


def agree(engine, members, data, epochs=3, **tolerance):
    """Losses, parameters, buffers and layers are those of an oracle for each member."""
    many, alone = both(engine, members, data)
    tolerance = {"rtol": many.rtol, "atol": many.atol} | tolerance
    for epoch in range(1, epochs + 1):
        np.testing.assert_allclose(many.step(epoch), [one.step(epoch) for one in alone], **tolerance)
    for i, one in enumerate(alone):
        theirs = numbers(one.module)
        ours = many.numbers(i, theirs)
        assert ours.keys() == {name for name in theirs if theirs[name].ndim or engine == "torch"}
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], err_msg=name, **tolerance)
        for ours, theirs in zip(many.layers(i, data.x_test), layers(one.module, data.x_test), strict=True):
            np.testing.assert_allclose(ours, theirs, **tolerance)


def gradients_agree(engine, members, data):
    """With a step of one the change of every parameter in an epoch of one step is its gradient."""
    many, alone = both(engine, members, data)
    before = [many.numbers(i, numbers(one.module)) for i, one in enumerate(alone)]
    losses = many.step(1)
    for i, one in enumerate(alone):
        loss = one.loss(1, 0, next(one.member.batches(1, len(one.y)))[1])
        loss.backward()
        assert np.isclose(losses[i], loss.item(), rtol=1e-12)
        after = many.numbers(i, numbers(one.module))
        for name, p in one.module.named_parameters():
            expected = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
            change = before[i][name] - after[name]
            np.testing.assert_allclose(change, expected, rtol=1e-8, atol=1e-12, err_msg=name)


@st.composite
def several(draw, engine, **fixed):
    """Members that differ in all that members of one group may differ in."""
    like = draw(
        st.fixed_dictionaries(
            {
                "depth": st.integers(2, 5),
                "width": st.integers(2, 20),
                "batch_norm": st.booleans(),
                "bias": st.booleans(),
            }
        )
    )
    known = (
        (["adam", "sgd"], ["cross_entropy", "mse"]) if engine == "compiled" else (sorted(OPTIMIZERS), sorted(LOSSES))
    )
    training = {
        "optimizer": st.sampled_from(known[0]),
        "loss": st.sampled_from(known[1]),
        "batch_size": st.sampled_from([None, 11, 16, 64]),
        "schedule": st.sampled_from([(), ((2, "dropout", 0.4), (3, "learning_rate", 1e-4))]),
    }
    training = Training(dtype="float64", **draw(st.fixed_dictionaries(training)))
    one = st.fixed_dictionaries(
        {
            "slope": st.sampled_from([0.0, 0.3, 0.9, 1.0]),
            "dropout": st.sampled_from([0.0, 0.1, 0.5]),
            "init": st.sampled_from(["torch", "orthogonal"]),
        }
    )
    how = st.fixed_dictionaries(
        {
            "learning_rate": st.sampled_from([1e-3, 1e-2]),
            "data_noise": st.sampled_from([0.0, 0.2]),
            "label_noise": st.sampled_from([None, 0.3]),
            "weight_decay": st.sampled_from([0.0, 2.0]),
        }
    )
    rows = draw(st.lists(st.tuples(one, how, st.integers(0, 1000)), min_size=1, max_size=4))
    return [Member(MLP(**like, **n), replace(training, **(t | fixed)), seed) for n, t, seed in rows]


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25)
@given(data=st.data())
def test_every_gradient_is_autograd_s(engine, data):
    step = {"optimizer": "sgd", "learning_rate": 1.0, "weight_decay": 0.0, "batch_size": None, "schedule": ()}
    gradients_agree(engine, data.draw(several(engine, **step)), CLOUDS)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25)
@given(data=st.data())
def test_trajectories_agree_in_parameters_running_statistics_and_layers(engine, data):
    members = data.draw(several(engine))
    whole = members[0].training.batch_size is None
    # Deep networks with BatchNorm under full-batch Adam were seen beyond 1e-9.
    amplified = {"rtol": 1e-6, "atol": 1e-8} if whole or engine == "compiled" else {}
    agree(engine, members, CLOUDS, ENGINES[engine].epochs if whole else 3, **amplified)


@pytest.mark.parametrize("engine", ENGINES)
def test_real_targets(engine):
    training = Training(loss="mse", batch_size=11, data_noise=0.1, dtype="float64")
    agree(engine, [Member(MLP(depth=3, width=7, dropout=0.2), training, seed) for seed in (0, 1)], REAL)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(40, 3, 300), (150, 60, 70), (2, 600, 2)])
def test_layers_wider_than_a_block_of_the_sum(engine, shape):
    n, inputs, width = shape
    agree(engine, [Member(MLP(depth=3, width=width), Training(dtype="float64"), 0)], clusters(n, inputs, 2))


@pytest.mark.parametrize("engine", ENGINES)
def test_single_precision_follows_for_twenty_steps(engine):
    members = [Member(MLP(width=30, slope=0.1, dropout=p), Training(), s) for p in (0.0, 0.2) for s in (0, 1)]
    many, alone = both(engine, members, clusters(300, 20, 5))
    for epoch in range(1, 21):
        np.testing.assert_allclose(many.step(epoch), [one.step(epoch) for one in alone], rtol=2e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_batch_norm_follows_the_averages_of_what_it_normalises(engine):
    """After one step over the whole set: 0.9 × (0, 1) + 0.1 × (mean, variance), and evaluation uses them."""
    still = Training(optimizer="sgd", learning_rate=1e-300, dtype="float64")
    members = [Member(MLP(depth=3, width=5), still, s) for s in (0, 1)]
    many, x = ENGINES[engine](members, CLOUDS), CLOUDS.x_train.astype(float)
    many.step(1)
    for i, member in enumerate(members):
        now = many.numbers(i, numbers(module(member, CLOUDS)))
        np.testing.assert_allclose(now["norm.0.running_mean"], 0.1 * x.mean(0), rtol=1e-12)
        np.testing.assert_allclose(now["norm.0.running_var"], 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-12)
        normed = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
        h = normed @ now["linear.0.weight"].T + now["linear.0.bias"]
        np.testing.assert_allclose(now["norm.1.running_mean"], 0.1 * h.mean(0), rtol=1e-9, atol=1e-15)
        shifted = (CLOUDS.x_test - now["norm.0.running_mean"]) / np.sqrt(now["norm.0.running_var"] + 1e-5)
        np.testing.assert_allclose(many.layers(i, CLOUDS.x_test)[0], shifted, rtol=1e-9)


@settings(max_examples=40)
@given(
    width=st.integers(1, 9), n=st.integers(1, 70), step=st.integers(0, 2**40), seed=st.integers(0, 99),
    drop=st.lists(st.floats(1e-4, 0.999) | st.just(0.0), min_size=2, max_size=2),
)  # fmt: skip
def test_what_engines_draw_and_keep_is_what_streams_do(width, n, step, seed, drop):
    streams = [Stream.of("tests", seed), Stream.of("other", seed)]
    keys, below = [s.key for s in streams], [round(p * 65536) for p in drop]
    many = BatchedStream(keys, torch.device("cpu"))
    for row, s in enumerate(streams):
        assert np.array_equal(many.words("x", step, n)[row], s.bits("x", step, n))
        assert np.array_equal(many.uniform("x", step, n)[row], s.uniform("x", step, n))
        assert np.array_equal(many.halves("x", step, n)[row] >= below[row], s.mask("x", step, n, drop[row]))
        np.testing.assert_allclose(many.normal("x", step, n)[row], s.normal("x", step, n), rtol=0, atol=1e-13)
    which, rows = torch.tensor([1, 0, 1]), CachedStreams(keys, torch.device("cpu"))
    kept = rows.mask("x", step, n, which, torch.tensor([below[k] for k in which], dtype=torch.int32))
    assert all(np.array_equal(kept[i], streams[k].mask("x", step, n, drop[k])) for i, k in enumerate(which))
    assert np.array_equal(rows.words("x", step, n), [s.bits("x", step, n) for s in streams])
    # The compiled engine's, a bit for each: a batch of n samples and one of half as many.
    words, bits = np.empty(n + 32, np.uint32), np.empty((2, 1, -(-n // 32), width), np.uint32)
    units, purposes = np.array([width]), np.array([stream_id("mask")], np.uint64)
    samples, drawn = n + (n + 1) // 2, (max(1, below[0]), np.uint64(keys[0]), step, purposes)
    mlp.masks(bits, units, samples, n, *drawn, words)
    for k, held in enumerate((n, samples - n)):
        i = np.arange(held)
        mask = bits[k, 0, i // 32] >> (i % 32)[:, None].astype(np.uint32) & 1
        assert np.array_equal(mask.T, streams[0].mask("mask", step + k, (width, held), max(2**-16, drop[0])))


def test_cross_entropy_is_finite_and_right_for_extreme_logits():
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, 1e4, 0.0], [0.0, 1e-8, -3.0]])
    bias, labels = np.array([0.5, 0.0, -0.5]), np.array([1, 1, 2])
    x = torch.tensor(logits + bias, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(x, torch.from_numpy(labels))
    expected.backward()
    cross_entropy = njit(mlp.cross_entropy.py_func)
    assert np.isclose(cross_entropy(logits, 3, bias, labels, 3) / 3, expected.item(), rtol=1e-14)
    np.testing.assert_allclose(logits, x.grad.numpy(), atol=1e-15)


def test_initial_weights_have_torch_s_distribution():
    member = Member(MLP(width=200), Training(), 1)
    weight, bias = member.weights(member.sizes(50, 10))[0]
    theirs = torch.nn.Linear(50, 200)
    bound = 1 / np.sqrt(50)
    for ours, torchs in ((weight, theirs.weight), (bias, theirs.bias)):
        assert np.abs(ours).max() <= bound >= torchs.abs().max().item()
        # The standard deviation of a uniform variable's sample variance is about var · sqrt(0.8 / n).
        assert abs(ours.var() / (bound**2 / 3) - 1) < 5 * np.sqrt(0.8 / ours.size)
        assert abs(ours.mean()) < 5 * bound / np.sqrt(3 * ours.size)
    orthogonal = Member(MLP(width=9, init="orthogonal"), Training(), 1)
    for weight, bias in orthogonal.weights(orthogonal.sizes(5, 3)):
        small = weight if weight.shape[0] <= weight.shape[1] else weight.T
        np.testing.assert_allclose(small @ small.T, np.eye(len(small)), atol=1e-12)
        assert not bias.any()


def test_every_sample_is_visited_once_per_epoch_in_a_new_order():
    member = Member(MLP(), Training(batch_size=16), 0)
    epochs = [list(member.batches(e, 50)) for e in (1, 2)]
    assert [step for batches in epochs for step, _ in batches] == list(range(8))
    orders = [np.concatenate([index for _, index in batches]) for batches in epochs]
    assert all(np.array_equal(np.sort(o), np.arange(50)) for o in orders)
    assert not np.array_equal(*orders)
    assert [len(index) for _, index in epochs[0]] == [16, 16, 16, 2]


def test_label_noise_replaces_the_stated_fraction_uniformly():
    member = Member(MLP(), Training(data_noise=0.4), 0)
    labels = np.zeros(20000, np.int64)
    noisy = noisy_labels(Stream.of("tests", 0), labels, 3, member.settings(1).label_noise, 5)
    # A fifth of the replaced labels is drawn equal to the true one.
    assert abs((noisy != 0).mean() - 0.4 * 0.8) < 5 * np.sqrt(0.32 * 0.68 / 20000)
    assert np.allclose(np.bincount(noisy[noisy != 0])[1:] / (noisy != 0).sum(), 0.25, atol=0.03)
