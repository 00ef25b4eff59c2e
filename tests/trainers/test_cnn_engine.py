"""The compiled engine of convolutional networks against the oracle and against torch, and laws of its tiles."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from test_convolutional import pictures

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, Training, train
from deepmech.trainers.draws import Draws
from deepmech.trainers.engines.compiled.cnn import ALONG, FusedCNN
from deepmech.trainers.modules import of_member
from deepmech.trainers.specs import Member


def engines(network, training, data, seed=0):
    member = Member(network, training, seed)
    draws = Draws.of(member, "tests")
    module = of_member(member, data.shape, data.n_classes or 1, draws.stream)
    return Oracle(module, member, data), FusedCNN(member, draws, FusedCNN.prepare(data, str(training.dtype)))


def ours(fused, vector, name, like):
    part = fused.part(vector, name)
    return None if part is None else part.reshape(like.shape)


networks = st.builds(
    CNN,
    convolutions=st.integers(1, 4),
    channels=st.integers(1, 12),
    slope=st.sampled_from([0.0, 0.3, 1.0]),
    dropout=st.sampled_from([0.0, 0.1, 0.5]),
)
trainings = st.builds(
    Training,
    optimizer=st.sampled_from(["adam", "sgd"]),
    learning_rate=st.sampled_from([1e-3, 1e-2]),
    batch_size=st.sampled_from([None, 11, 16, 64]),
    data_noise=st.sampled_from([0.0, 0.2]),
    loss=st.sampled_from(["cross_entropy", "mse"]),
    dtype=st.just("float64"),
)
shapes = st.tuples(st.integers(1, 3), st.sampled_from([2, 4, 6, 10]), st.sampled_from([2, 4, 8, 10]))


def images(n, shape):
    data = pictures(n, side=10, channels=shape[0])
    cut = {k: getattr(data, k).reshape(n, *data.shape)[:, :, : shape[1], : shape[2]] for k in ("x_train", "x_test")}
    vars(data).update({k: v.reshape(n, -1).copy() for k, v in cut.items()}, shape=shape)
    return data


@settings(max_examples=40, deadline=None)
@given(network=networks, training=trainings, shape=shapes, n=st.integers(10, 70), seed=st.integers(0, 1000))
def test_one_step_agrees_in_loss_and_in_every_gradient(network, training, shape, n, seed):
    oracle, fused = engines(network, training, images(n, shape), seed)
    step, index = next(fused.draws.batches(1, n))
    loss = oracle.loss(1, step, index)
    loss.backward()
    assert np.isclose(fused.gradient(fused.member.settings(1), step, index), loss.item(), rtol=1e-12)
    left = fused.net.g.copy()
    for name, p in oracle.module.named_parameters():
        assert p.requires_grad == (ours(fused, fused.net.g, name, p) is not None)
        if p.requires_grad:
            np.testing.assert_allclose(ours(fused, fused.net.g, name, p), p.grad, rtol=1e-8, atol=1e-12, err_msg=name)
            fused.part(left, name)[...] = 0
    assert not left.any(), "what the oracle does not train has no gradient"


@settings(max_examples=20, deadline=None)
@given(network=networks, training=trainings, seed=st.integers(0, 1000))
def test_trajectories_agree_in_parameters_running_statistics_and_features(network, training, seed):
    data = images(40, (1, 6, 6))
    oracle, fused = engines(network, training, data, seed)
    for epoch in range(1, 9 if training.batch_size is None else 4):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-7)
    for name, p in oracle.module.named_parameters():
        value = p.detach().numpy()
        if p.requires_grad:
            np.testing.assert_allclose(ours(fused, fused.net.p, name, p), value, rtol=1e-5, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(fused.net.unlearnt[int(name.split(".")[1])], value)
    for i, norm in enumerate(oracle.module.norm):
        for what in ("running_mean", "running_var"):
            np.testing.assert_allclose(getattr(fused.net, what)[i], getattr(norm, what), rtol=1e-6, atol=1e-8)
    with torch.no_grad():
        theirs = oracle.module.eval()(torch.from_numpy(data.x_test).double(), every=True)
    layers, output = fused.features(data.x_test)
    for f, g in zip([*layers, output], theirs, strict=True):
        torch.testing.assert_close(f, g.flatten(1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("channels", [16, 20, 40])
def test_single_precision_follows_while_dropout_is_raised(channels):
    """The paper's network, on few images; the rate of dropout changes on the way."""
    training = Training(learning_rate=1e-4, schedule=((3, "dropout", 0.05), (5, "dropout", 0.3)))
    oracle, fused = engines(CNN(channels=channels), training, pictures(100, side=10, channels=1))
    for epoch in range(1, 8):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=2e-4)


def test_the_whole_call_agrees_with_torch_s_in_everything_it_records():
    training = Training(epochs=6, batch_size=16, data_noise=0.1, dtype="float64", schedule=((4, "dropout", 0.3),))
    network = CNN(convolutions=3, channels=over("channels", [3, 8]), slope=0.2)
    results = [
        train(network, training, pictures(), engine=e, record=2, class_means=True) for e in ("compiled", "torch")
    ]
    for name in results[0].data_vars:
        if name == "state":
            assert (results[0][name] == results[1][name]).all()
        else:
            np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-6, atol=1e-8, err_msg=name)


def test_members_have_the_same_bits_in_any_company():
    training = Training(epochs=3, batch_size=24)
    call = {"training": training, "data": pictures(), "engine": "compiled"}
    network = CNN(convolutions=2, channels=5, dropout=over("p", [0.0, 0.2]))
    both = [train(network, seed=over("seed", [0, 1]), threads=k, **call) for k in (1, 2)]
    alone = train(CNN(convolutions=2, channels=5, dropout=0.2), seed=1, **call)
    for name in ("loss", "load_curve", "accuracy"):
        np.testing.assert_array_equal(both[0][name], both[1][name])
        np.testing.assert_array_equal(both[0][name].sel(p=0.2, seed=1), alone[name])


def test_dropout_of_nothing_is_no_dropout():
    """The path of pixels and that of tiles: at a rate that 16 bits resolve as zero, and at the least one."""
    data = pictures(40, side=6, channels=1)
    losses = []
    for rate in (0.0, 1e-6):
        _, fused = engines(CNN(convolutions=3, channels=4, dropout=rate), Training(dtype="float64"), data)
        losses.append([fused.run_epoch(epoch) for epoch in (1, 2, 3)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_a_negative_gain_makes_pooling_take_the_least():
    data = pictures(40, side=6, channels=1)
    oracle, fused = engines(CNN(convolutions=2, channels=6), Training(dtype="float64"), data)
    with torch.no_grad():
        for i, norm in enumerate(oracle.module.norm):
            norm.weight.copy_(torch.tensor([1.0, -1.0, 0.5, -0.5, 2.0, -2.0]))
            fused.part(fused.net.p, f"norm.{i}.weight")[...] = norm.weight.numpy()
    for epoch in (1, 2, 3):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-8)


def test_moments_lose_no_digits_far_from_zero():
    data = pictures(100, side=6, channels=1)
    data.x_train = data.x_train + 3000
    oracle, fused = engines(CNN(convolutions=1, channels=4), Training(), data)
    exact, _ = engines(CNN(convolutions=1, channels=4), Training(dtype="float64"), data)
    oracle.run_epoch(1), fused.run_epoch(1), exact.run_epoch(1)
    true = exact.module.norm[0].running_var.numpy()
    assert np.abs(fused.net.running_var[0] / true - 1).max() < 1e-5


def test_real_targets():
    data = pictures(40, side=6, channels=1)
    data.n_classes, data.y_train = None, data.x_test[:, 0] - data.x_train[:, 1]
    training = Training(loss="mse", batch_size=11, data_noise=0.1, dtype="float64")
    oracle, fused = engines(CNN(convolutions=2, channels=5, dropout=0.2), training, data)
    for epoch in (1, 2, 3):
        assert np.isclose(fused.run_epoch(epoch), oracle.run_epoch(epoch), rtol=1e-8)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_divergence_is_told_and_ends_the_member_alone(engine):
    training = Training(
        epochs=8, optimizer="sgd", learning_rate=over("rate", [1e-3, 1e30]), batch_size=16, loss="mse",
        stop_loss=0.0, stop_change=0.0,
    )  # fmt: skip
    made = train(CNN(convolutions=2, channels=4), training, pictures(), engine=engine)
    assert made["state"].values.tolist() == ["finished", "diverged"]
    assert made["epochs_run"][0] == 8 and made["epochs_run"][1] < 8
    assert np.isnan(made["load_curve"][1]).all() and np.isfinite(made["load_curve"][0]).all()


@settings(max_examples=20, deadline=None)
@given(
    channels=st.integers(1, 9), n=st.integers(2, 40), drop=st.floats(1e-4, 0.9), step=st.integers(0, 2**40),
    seed=st.integers(0, 99), dtype=st.sampled_from(["float32", "float64"]),
)  # fmt: skip
def test_masks_are_the_streams_masks(channels, n, drop, step, seed, dtype):
    data = pictures(n, side=6, channels=1)
    training = Training(dtype=dtype, schedule=((1, "dropout", drop),))
    _, fused = engines(CNN(convolutions=2, channels=channels), training, data, seed)
    fused.gradient(fused.member.settings(1), step, np.arange(n))
    bits = fused.work.keep.reshape(2, -1, 6, 6, channels)
    i = np.arange(n)
    kept = bits[:, i // fused.lanes] >> (i % fused.lanes)[:, None, None, None].astype(np.uint16) & 1
    for layer in (0, 1):
        mask = Stream.of("tests", seed).keep(f"dropout {layer + 1}", step, (n, 6, 6, channels), drop)
        np.testing.assert_array_equal(kept[layer], mask)


def test_odd_images_and_average_pooling_are_torch_s():
    for network, data, why in (
        (CNN(convolutions=1, channels=2), pictures(side=5), "it does not know images of odd sides, 5 × 5"),
        (CNN(convolutions=1, channels=2, pooling="average"), pictures(), "it does not know CNN.pooling = 'average'"),
    ):
        made = train(network, Training(epochs=1), data)
        assert (made.attrs["engine"], made.attrs["not_compiled"]) == ("torch", why)


def test_four_products_make_two_outputs_and_three_where_pixels_are_equal():
    """Minimal filtering: F(2, 3) by its definition, in exact binary numbers."""
    x, w = np.array([3.0, -1.0, 4.0, 2.0]), np.array([1.0, -2.0, 5.0])
    m = np.array([x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]]) * (ALONG @ w)
    assert [m[0] + m[1] + m[2], m[1] - m[2] - m[3]] == np.correlate(x, w).tolist()
