"""The compiled engine against the oracle, and both against laws."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from oracle import Oracle, noisy_labels
from trainer_data import clusters

from deepmech.core.random import Stream, purpose_word
from deepmech.trainers import MLP, Training
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.engines.compiled.mlp import Fused
from deepmech.trainers.modules import of_member
from deepmech.trainers.specs import Member

PARTS = {
    ("linear", "weight"): "weight",
    ("linear", "bias"): "shift",
    ("norm", "weight"): "gain",
    ("norm", "bias"): "shift",
}


def engines(network, training, data, seed=0):
    member = Member(network, training, seed)
    module = of_member(member, data.x_train.shape[1:], data.n_classes or 1)
    return Oracle(module, member, data), Fused(member, Fused.prepare(data, str(training.dtype)))


def trained(module, what=lambda p: p):
    """Parameters and averages by name, or what belongs to them."""
    named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    found = {k: what(v) for k, v in named.items() if k.startswith(("linear", "norm"))}
    return {k: v.detach().numpy() for k, v in found.items() if v is not None}


def layers(module, x):
    with torch.no_grad():
        return module.eval().layers(torch.from_numpy(x).to(module.linear[0].weight.dtype))


def ours(fused, vector, name: str) -> np.ndarray:
    """What the fused engine calls "linear.0.weight" (weight of layer 1) or "norm.0.bias" (shift of layer 0)."""
    kind, i, what = name.split(".")
    return fused.part(fused.net, vector, PARTS[kind, what], int(i) + (kind == "linear"))


PROFILES = [(), (1.8, 1.0, 0.2, 0.0), (0.0, 0.3, 1.5, 1.9)]
networks = st.builds(
    lambda depth, profile, **own: MLP(depth=depth, dropout_profile=profile[: depth - 1], **own),
    depth=st.integers(2, 5),
    profile=st.sampled_from(PROFILES),
    width=st.integers(2, 20),
    slope=st.sampled_from([0.0, 0.3, 0.9]),
    dropout=st.sampled_from([0.0, 0.1, 0.5]),
    batch_norm=st.booleans(),
    bias=st.booleans(),
    init=st.sampled_from(["torch", "orthogonal"]),
)
trainings = st.builds(
    Training,
    optimizer=st.sampled_from(["adam", "sgd"]),
    learning_rate=st.sampled_from([1e-3, 1e-2]),
    batch_size=st.sampled_from([None, 11, 16, 64]),
    data_noise=st.sampled_from([0.0, 0.2]),
    weight_decay=st.sampled_from([0.0, 2.0]),
    loss=st.sampled_from(["cross_entropy", "mse"]),
    dtype=st.just("float64"),
)


@settings(max_examples=40, deadline=None)
@given(network=networks, training=trainings, seed=st.integers(0, 1000))
def test_one_step_agrees_in_loss_and_in_every_gradient(network, training, seed):
    data = clusters(64, 5, 3)
    oracle, fused = engines(network, training, data, seed)
    step, index = next(fused.member.batches(1, 64))
    loss = oracle.loss(1, step, index)
    loss.backward()
    now = fused.member.settings(1)
    assert np.isclose(fused.gradient(now, step, index), loss.item(), rtol=1e-12)
    gradients = trained(oracle.module, lambda p: p.grad)
    left = np.abs(fused.net.g)
    for name, g in gradients.items():
        np.testing.assert_allclose(ours(fused, fused.net.g, name), g, rtol=1e-8, atol=1e-12, err_msg=name)
        ours(fused, left, name)[...] = 0
    assert not left.any(), "what the oracle does not train has no gradient"


@settings(max_examples=25, deadline=None)
@given(network=networks, training=trainings, seed=st.integers(0, 1000))
def test_trajectories_agree_in_parameters_running_statistics_and_features(network, training, seed):
    data = clusters(64, 5, 3)
    oracle, fused = engines(network, training, data, seed)
    epochs = 20 if training.batch_size is None else 3
    for epoch in range(1, epochs + 1):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-8)
    net = fused.net
    for name, value in trained(oracle.module).items():
        kind, i, what = name.split(".")
        if what.startswith("running"):
            found = getattr(net, what)[int(i), : len(value)]
        elif network.batch_norm and kind == "linear" and what == "bias" and int(i) < network.depth - 1:
            found = net.unlearnt[int(i) + 1, : len(value)]  # biases that BatchNorm cancels: they stay as drawn
        else:
            found = ours(fused, net.p, name)
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-8, err_msg=name)
    mine = fused.features(data.x_test)
    for f, g in zip([*mine[0], mine[1]], layers(oracle.module, data.x_test), strict=True):
        np.testing.assert_allclose(f, g, rtol=1e-6, atol=1e-7)


def test_real_targets():
    data = clusters(64, 5, 3)
    real = SimpleNamespace(**(vars(data) | {"n_classes": None, "y_train": data.x_test[:, 0] - data.x_train[:, 1]}))
    training = Training(loss="mse", batch_size=11, data_noise=0.1, dtype="float64")
    oracle, fused = engines(MLP(depth=3, width=7, dropout=0.2), training, real)
    for epoch in (1, 2, 3):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-8)
    np.testing.assert_allclose(fused.features(data.x_test)[1], layers(oracle.module, data.x_test)[-1], rtol=1e-6)


@pytest.mark.parametrize("shape", [(40, 3, 300), (150, 60, 70), (2, 600, 2)])
def test_layers_wider_than_a_block_of_the_sum(shape):
    n, inputs, width = shape
    oracle, fused = engines(MLP(depth=3, width=width), Training(dtype="float64"), clusters(n, inputs, 2))
    for epoch in (1, 2, 3):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-8)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_single_precision_follows_for_twenty_steps(dropout):
    data = clusters(300, 20, 5)
    oracle, fused = engines(MLP(width=30, slope=0.1, dropout=dropout), Training(), data)
    for epoch in range(1, 21):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=2e-4)


@settings(max_examples=40, deadline=None)
@given(
    width=st.integers(1, 9),
    n=st.integers(1, 70),
    drop=st.floats(1e-4, 0.999) | st.just(0.0),
    step=st.integers(0, 2**40),
    seed=st.integers(0, 99),
)
def test_fused_masks_are_the_streams_masks(width, n, drop, step, seed):
    stream = Stream.of("tests", seed)
    words, bits = np.empty(n + 32, np.uint32), np.empty((2, 1, -(-n // 32), width), np.uint32)
    units, purposes = np.array([width]), np.array([purpose_word("mask")], np.uint64)
    samples, drawn = n + (n + 1) // 2, (np.array([round(drop * 65536)]), np.uint64(stream.key), step, purposes)
    mlp.masks(bits, units, samples, n, *drawn, words)
    for k, held in enumerate((n, samples - n)):
        i = np.arange(held)
        mask = bits[k, 0, i // 32] >> (i % 32)[:, None].astype(np.uint32) & 1
        assert np.array_equal(mask.T, stream.keep("mask", step + k, (width, held), drop))


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


def test_orthogonal_initialisation_is_orthogonal():
    member = Member(MLP(width=9, init="orthogonal"), Training(), 1)
    for weight, bias in member.weights(member.sizes(5, 3)):
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
