"""The fused engine against the reference, and both against laws."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from trainer_data import clusters

from deepmech.core.random import Stream, purpose_word
from deepmech.trainers import MLP, Training, kernels
from deepmech.trainers.draws import Draws
from deepmech.trainers.fused import Fused
from deepmech.trainers.reference import Reference
from deepmech.trainers.specs import Member

NAMES = {
    ("linear", "weight"): "weight",
    ("linear", "bias"): "bias",
    ("norm", "weight"): "gamma",
    ("norm", "bias"): "beta",
}


def engines(network, training, data, seed=0):
    member = Member(network, training, seed)
    draws = Draws.of(member, "tests")
    dtype = str(training.dtype)
    return [kind(member, draws, kind.prepare(data, dtype)) for kind in (Reference, Fused)]


def fused_name(name: str) -> str:
    """ "linear.0.weight" -> "weight 1", "norm.0.bias" -> "beta 0"."""
    kind, i, what = name.split(".")
    return f"{NAMES[kind, what]} {int(i) + (kind == 'linear')}"


networks = st.builds(
    MLP,
    depth=st.integers(2, 5),
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
    dtype=st.just("float64"),
)


@settings(max_examples=40, deadline=None)
@given(network=networks, training=trainings, seed=st.integers(0, 1000))
def test_one_step_agrees_in_loss_and_in_every_gradient(network, training, seed):
    data = clusters(64, 5, 3)
    reference, fused = engines(network, training, data, seed)
    step, index = next(fused.draws.batches(1, 64))
    loss = reference.loss(1, step, index)
    loss.backward()
    now = fused.member.settings(1)
    assert np.isclose(fused.gradient(now, step, index), loss.item(), rtol=1e-12)
    gradients = reference.gradients()
    # Without biases the fused engine keeps them at zero.
    assert {fused_name(k) for k in gradients} == {k for k in fused.g.array if network.bias or "bias" not in k}
    for name, g in gradients.items():
        np.testing.assert_allclose(fused.g.array[fused_name(name)], g, rtol=1e-8, atol=1e-12, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(network=networks, training=trainings, seed=st.integers(0, 1000))
def test_trajectories_agree_in_parameters_running_statistics_and_features(network, training, seed):
    data = clusters(64, 5, 3)
    reference, fused = engines(network, training, data, seed)
    epochs = 20 if training.batch_size is None else 3
    for epoch in range(1, epochs + 1):
        assert np.isclose(fused.run_epoch(epoch), reference.run_epoch(epoch), rtol=1e-8)
    for name, value in reference.parameters().items():
        kind, i, what = name.split(".")
        if what == "running_mean":
            ours = fused.running_mean[int(i)]
        elif what == "running_var":
            ours = fused.running_var[int(i)]
        elif fused_name(name) in fused.p.array:
            ours = fused.p.array[fused_name(name)]
        else:  # shifts that BatchNorm cancels: they stay as drawn
            ours = fused.still[int(i) + 1] if kind == "linear" else np.zeros(5)
        np.testing.assert_allclose(ours, value, rtol=1e-6, atol=1e-8, err_msg=name)
    ours, theirs = fused.features(data.x_test), reference.features(data.x_test)
    for f, g in zip([*ours[0], ours[1]], [*theirs[0], theirs[1]], strict=True):
        np.testing.assert_allclose(f, g, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_single_precision_follows_for_twenty_steps(dropout):
    data = clusters(300, 20, 5)
    reference, fused = engines(MLP(width=30, slope=0.1, dropout=dropout), Training(), data)
    for epoch in range(1, 21):
        assert np.isclose(fused.run_epoch(epoch), reference.run_epoch(epoch), rtol=2e-4)


@settings(max_examples=40, deadline=None)
@given(
    width=st.integers(1, 9),
    n=st.integers(1, 70),
    drop=st.floats(1e-4, 0.999),
    step=st.integers(0, 2**40),
    seed=st.integers(0, 99),
)
def test_fused_masks_are_the_streams_masks(width, n, drop, step, seed):
    stream = Stream.of("tests", seed)
    ours = np.empty((width, n), np.float32)
    words = np.empty(4 * (n // 8 + 2), np.uint32)
    dropout = (
        np.uint16(round(drop * 65536)),
        2.0,
        np.uint64(stream.key),
        np.uint64(step),
        np.uint64(purpose_word("mask")),
    )
    kernels.forward_plain(np.ones_like(ours), n, ours, np.zeros(width, np.float32), 0.5, 1.0, dropout, words)
    assert np.array_equal(ours, 2.0 * stream.keep("mask", step, (width, n), drop))


def test_cross_entropy_is_finite_and_right_for_extreme_logits():
    logits = np.array([[1e4, -1e4, 0.0], [0.0, 1e4, 1e-8], [-1e4, 0.0, -3.0]])
    bias, labels, d_bias = np.array([0.5, 0.0, -0.5]), np.array([1, 1, 2]), np.zeros(3)
    x = torch.tensor(logits.T + bias, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(x, torch.from_numpy(labels))
    expected.backward()
    assert np.isclose(kernels.cross_entropy(logits, 3, bias, labels, d_bias), expected.item(), rtol=1e-14)
    np.testing.assert_allclose(logits.T, x.grad.numpy(), atol=1e-15)
    np.testing.assert_allclose(d_bias, x.grad.numpy().sum(0), atol=1e-15)


def test_initial_weights_have_torch_s_distribution():
    member = Member(MLP(width=200), Training(), 1)
    weight, bias = Draws.of(member, "tests").weights(member.sizes(50, 10))[0]
    theirs = torch.nn.Linear(50, 200)
    bound = 1 / np.sqrt(50)
    for ours, torchs in ((weight, theirs.weight), (bias, theirs.bias)):
        assert np.abs(ours).max() <= bound >= torchs.abs().max().item()
        # The standard deviation of a uniform variable's sample variance is about var · sqrt(0.8 / n).
        assert abs(ours.var() / (bound**2 / 3) - 1) < 5 * np.sqrt(0.8 / ours.size)
        assert abs(ours.mean()) < 5 * bound / np.sqrt(3 * ours.size)


def test_orthogonal_initialisation_is_orthogonal():
    member = Member(MLP(width=9, init="orthogonal"), Training(), 1)
    for weight, bias in Draws.of(member, "tests").weights(member.sizes(5, 3)):
        small = weight if weight.shape[0] <= weight.shape[1] else weight.T
        np.testing.assert_allclose(small @ small.T, np.eye(len(small)), atol=1e-12)
        assert not bias.any()


def test_every_sample_is_visited_once_per_epoch_in_a_new_order():
    draws = Draws.of(Member(MLP(), Training(batch_size=16), 0), "tests")
    epochs = [list(draws.batches(e, 50)) for e in (1, 2)]
    assert [step for batches in epochs for step, _ in batches] == list(range(8))
    orders = [np.concatenate([index for _, index in batches]) for batches in epochs]
    assert all(np.array_equal(np.sort(o), np.arange(50)) for o in orders)
    assert not np.array_equal(*orders)
    assert [len(index) for _, index in epochs[0]] == [16, 16, 16, 2]


def test_label_noise_replaces_the_stated_fraction_uniformly():
    member = Member(MLP(), Training(data_noise=0.4), 0)
    labels = np.zeros(20000, np.int64)
    noisy = Draws.of(member, "tests").noisy_labels(labels, 3, member.settings(1), 5)
    # A fifth of the replaced labels is drawn equal to the true one.
    assert abs((noisy != 0).mean() - 0.4 * 0.8) < 5 * np.sqrt(0.32 * 0.68 / 20000)
    assert np.allclose(np.bincount(noisy[noisy != 0])[1:] / (noisy != 0).sum(), 0.25, atol=0.03)
