"""The torch engine against the oracle, for every network of the house and for anyone's own."""

import copy
import random
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from trainer_data import clusters, pictures

from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, Training, train
from deepmech.trainers.engines.torch_func import Rows, StackedModules, Torch, structure
from deepmech.trainers.modules import SMOOTH, Convolutional, Dropout, LeakyReLU, Residual, made, of_member
from deepmech.trainers.rules import LOSSES, OPTIMIZERS
from deepmech.trainers.specs import Member, Own
from deepmech_book.experiments.your_network import transformer

DOUBLE = Training(dtype="float64")


@pytest.fixture(autouse=True)
def attention_of_products():
    """As ``train`` has it: vmap runs other kinds network by network, and warns."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


def own(factory, **arguments):
    return Own(factory, arguments)


def module(member, data):
    return of_member(member, getattr(data, "shape", data.x_train.shape[1:]), data.n_classes or 1)


def engine(members, data):
    whole = isinstance(members[0].network, Own)
    return Torch(members, Torch.prepare(data, str(members[0].training.dtype), whole=whole))


def numbers(network):
    named = dict(network.named_parameters()) | dict(network.named_buffers())
    return {
        k: v.detach().numpy().copy()
        for k, v in named.items()
        if k.rpartition(".")[2] not in ("which", "below", "factor")
    }


def agree(members, data, epochs=3, rtol=1e-9, atol=1e-11):
    """The engine's losses, parameters, buffers and features are those of an oracle for each member."""
    many, alone = engine(members, data), [Oracle(module(m, data), m, data) for m in members]
    for epoch in range(1, epochs + 1):
        np.testing.assert_allclose(many.run_epoch(epoch), [one.run_epoch(epoch) for one in alone], rtol=rtol, atol=atol)
    for i, one in enumerate(alone):
        ours, theirs = numbers(many.together.shown(i)), numbers(one.module)
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=rtol, atol=atol, err_msg=name)
        with torch.no_grad():
            x = torch.tensor(data.x_test).to(one.dtype)
            np.testing.assert_allclose(many.together.shown(i)(x), one.module.eval()(x), rtol=rtol, atol=atol)


networks = st.fixed_dictionaries(
    {"depth": st.integers(2, 5), "width": st.integers(2, 20), "batch_norm": st.booleans(), "bias": st.booleans()}
)
profiles = st.sampled_from([(), (1.0, 1.0, 1.0, 1.0), (1.8, 1.0, 0.2, 0.0), (0.0, 0.3, 1.5, 1.9)])
trainings = st.fixed_dictionaries(
    {
        "optimizer": st.sampled_from(sorted(OPTIMIZERS)),
        "batch_size": st.sampled_from([None, 11, 64]),
        "loss": st.sampled_from(sorted(LOSSES)),
        "schedule": st.sampled_from([(), ((2, "dropout", 0.4), (3, "learning_rate", 1e-4))]),
    }
)
own_networks = st.fixed_dictionaries(
    {
        "slope": st.sampled_from([0.0, 0.3, 1.0]),
        "dropout": st.sampled_from([0.0, 0.1, 0.5]),
        "init": st.sampled_from(["torch", "orthogonal"]),
    }
)
own_trainings = st.fixed_dictionaries(
    {
        "learning_rate": st.sampled_from([1e-3, 1e-2]),
        "data_noise": st.sampled_from([0.0, 0.2]),
        "label_noise": st.sampled_from([None, 0.3]),
        "weight_decay": st.sampled_from([0.0, 2.0]),
    }
)


@settings(max_examples=25, deadline=None)
@given(
    network=networks,
    training=trainings,
    several=st.lists(st.tuples(own_networks, own_trainings, st.integers(0, 2), profiles), min_size=1, max_size=4),
)
def test_fully_connected_networks(network, training, several):
    training = Training(dtype="float64", **training)
    members = [
        Member(MLP(**network, **n, dropout_profile=p[: network["depth"] - 1]), replace(training, **t), seed)
        for n, t, seed, p in several
    ]
    agree(members, clusters(64, 5, 3))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("activation", sorted(SMOOTH))
def test_smooth_activations(activation, n):
    spec = MLP(depth=4, width=9, dropout=0.1, activation=activation)
    agree([Member(spec, replace(DOUBLE, batch_size=16), seed) for seed in range(n)], clusters(64, 5, 3))
    result = train(spec, Training(epochs=2), clusters(64, 5, 3))
    assert (result.attrs["engine"], result.attrs["not_compiled"]) == (
        "torch",
        f"it does not know MLP.activation = {activation!r}",
    )


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm(bias, n):
    spec = MLP(depth=4, width=9, dropout=0.1, slope=0.2, bias=bias, batch_norm=False, layer_norm=True)
    members, data = [Member(spec, replace(DOUBLE, batch_size=16), seed) for seed in range(n)], clusters(64, 5, 3)
    agree(members, data)
    x = torch.tensor(data.x_test, dtype=torch.float64)
    network = module(members[0], data)
    norm, linear = network.norm[1], network.linear[0]
    with torch.no_grad():
        expected = F.leaky_relu(F.layer_norm(linear(F.layer_norm(x, (5,))), (9,), norm.weight, norm.bias), 0.2)
        np.testing.assert_allclose(network.layers(x)[1], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("pooling", "side"), [("max", 6), ("average", 7)])
def test_convolutional_networks(n, pooling, side):
    networks = [
        CNN(convolutions=2, channels=3, slope=s, dropout=p, pooling=pooling) for s, p in ((0.2, 0.1), (0, 0), (0, 0.3))
    ]
    training = Training(batch_size=16, dtype="float64", data_noise=0.1)
    agree([Member(network, training, seed) for seed, network in enumerate(networks[:n])], pictures(side=side))


def small_cnn(channels=4, dropout=0.1, size=6):
    """As one would write it, with a dropout of whole channels and one module called twice."""
    relu, drop = nn.ReLU(), nn.Dropout(dropout)
    return nn.Sequential(
        nn.Unflatten(1, (2, size, size)),
        nn.Conv2d(2, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels),
        relu,
        nn.Dropout2d(dropout),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, channels, 3, bias=False),
        nn.BatchNorm2d(channels),
        relu,
        nn.Flatten(),
        drop,
        nn.Linear(channels, 8),
        nn.Tanh(),
        drop,
        nn.Linear(8, 3),
    )


def small_transformer(width=8, dropout=0.0):
    rows = nn.Sequential(nn.Unflatten(1, (12, 6)), nn.Linear(6, width))
    block = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout, batch_first=True)
    return nn.Sequential(rows, block, nn.Flatten(), nn.Linear(12 * width, 3))


@pytest.mark.parametrize(
    "factory",
    [
        small_cnn,
        lambda: small_transformer(),
        lambda: transformer(0.0, depth=2, width=8),
        lambda: Residual(64, 10, 5, 7, 0.2, 0.1),
    ],
    ids=["cnn", "encoder", "vision transformer", "residual"],
)
@pytest.mark.parametrize("seeds", [[3], [0, 1, 0]])
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_networks_of_one_s_own(factory, seeds, optimizer):
    probed = made(factory, Stream.of("x"))
    data = pictures() if isinstance(probed, nn.Sequential) and not hasattr(probed, "rows") else clusters(40, 64, 3)
    training = Training(batch_size=16, dtype="float64", data_noise=0.1, optimizer=optimizer, learning_rate=0.01)
    # Attention's biases of keys have gradients of zero, whose rounding the optimisers divide by their ε of 1e-8.
    agree([Member(own(factory), training, seed) for seed in seeds], data, atol=1e-10)


def test_members_that_differ_in_numbers_of_their_own_run_together():
    members = [
        Member(own(small_cnn, dropout=p), replace(DOUBLE, learning_rate=r, optimizer="sgd"), s)
        for p, r, s in ((0.0, 1e-2, 0), (0.4, 1e-3, 1), (0.1, 0.1, 0))
    ]
    agree(members, pictures())


@pytest.mark.parametrize("n", [1, 2])
def test_with_a_step_of_one_the_change_of_every_parameter_is_its_gradient(n):
    """Gradient by gradient, without an optimiser's help."""
    data = pictures()
    for network in (
        MLP(depth=4, width=7, slope=0.3, dropout=0.2),
        CNN(convolutions=2, channels=3, dropout=0.2),
        own(small_cnn),
        own(lambda: Residual(72, 3, 4, 6, 0.1, 0.3)),
    ):
        members = [Member(network, Training(optimizer="sgd", learning_rate=1.0, dtype="float64"), s) for s in range(n)]
        many = engine(members, data)
        before = [numbers(many.together.shown(i)) for i in range(n)]
        many.run_epoch(1)
        for i, m in enumerate(members):
            one = Oracle(module(m, data), m, data)
            one.loss(1, 0, np.arange(40)).backward()
            after = numbers(many.together.shown(i))
            for name, p in one.module.named_parameters():
                expected = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
                np.testing.assert_allclose(before[i][name] - after[name], expected, rtol=1e-9, atol=1e-14, err_msg=name)


def test_gradients_are_those_of_finite_differences():
    data = pictures()
    m = Member(CNN(convolutions=2, channels=3, dropout=0.3, slope=0.2, pooling="average"), DOUBLE, 0)
    one = Oracle(module(m, data), m, data)
    index = np.arange(40)
    one.loss(1, 0, index).backward()
    for name, parameter in one.module.named_parameters():
        if parameter.grad is None:
            continue
        direction = torch.from_numpy(one.member.stream.normal(name, 0, tuple(parameter.shape)))
        h, values = 1e-6, []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.add_(sign * h * direction)
                values.append(one.loss(1, 0, index).item())
                parameter.sub_(sign * h * direction)
        assert np.isclose((values[0] - values[1]) / (2 * h), (parameter.grad * direction).sum().item(), atol=1e-6), name


def test_real_targets_and_whole_numbers_as_inputs():
    data = clusters(64, 5, 3)
    real = SimpleNamespace(**(vars(data) | {"n_classes": None, "y_train": data.x_test[:, 0] - data.x_train[:, 1]}))
    agree(
        [
            Member(MLP(depth=3, width=7, dropout=0.2), replace(DOUBLE, loss="mse", batch_size=11, data_noise=0.1), s)
            for s in (0, 1)
        ],
        real,
    )
    words = (Stream.of("words").uniform("x", 0, (40, 6)) * 10).astype(np.int64)
    text = SimpleNamespace(
        x_train=words, x_test=words[:9], y_train=words[:, 0] % 3, y_test=words[:9, 0] % 3, n_classes=3
    )
    members = [
        Member(own(lambda: nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(24, 3))), DOUBLE, s)
        for s in (0, 1)
    ]
    many = engine(members, text)
    losses = np.array([many.run_epoch(e) for e in range(1, 200)])
    assert (losses[-1] < 0.9 * losses[0]).all()


def test_single_precision_follows_for_twenty_steps():
    data = clusters(300, 20, 5)
    members = [Member(MLP(width=30, slope=0.1, dropout=p), Training(), s) for p in (0.0, 0.2) for s in (0, 1)]
    many, alone = engine(members, data), [Oracle(module(m, data), m, data) for m in members]
    for epoch in range(1, 21):
        np.testing.assert_allclose(many.run_epoch(epoch), [one.run_epoch(epoch) for one in alone], rtol=2e-4)


def test_a_member_is_the_same_to_rounding_alone_and_among_others():
    data, training = pictures(), replace(DOUBLE, batch_size=16, data_noise=0.1)
    for network in (
        lambda p: MLP(depth=4, width=9, dropout=p, slope=p),
        lambda p: CNN(convolutions=2, channels=4, dropout=p),
        lambda p: own(small_cnn, dropout=p),
    ):
        members = [Member(network(p), training, s) for p in (0.0, 0.2) for s in (0, 1)]
        many = engine(members, data)
        losses = [many.run_epoch(e) for e in (1, 2, 3)]
        for i, m in enumerate(members):
            alone = engine([m], data)
            np.testing.assert_allclose(
                [alone.run_epoch(e)[0] for e in (1, 2, 3)], [loss[i] for loss in losses], rtol=1e-10
            )
            ours, theirs = numbers(many.together.shown(i)), numbers(alone.together.shown(0))
            for name in ours:
                np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-8, atol=1e-11, err_msg=name)


def test_a_member_that_diverges_leaves_its_neighbours_alone():
    training = [Training(optimizer="sgd", learning_rate=r, dtype="float64") for r in (1e-3, 1e200, 1e-2)]
    for network, data in ((MLP(depth=3, width=6, batch_norm=False), clusters(90, 6, 3)), (own(small_cnn), pictures())):
        many = engine([Member(network, t, 0) for t in training], data)
        calm = engine([Member(network, t, 0) for t in training[::2]], data)
        for epoch in range(1, 6):
            losses, others = many.run_epoch(epoch), calm.run_epoch(epoch)
            np.testing.assert_allclose(losses[::2], others, rtol=1e-10)
        assert np.isfinite(others).all() and not np.isfinite(losses[1])


def test_batch_norm_follows_the_averages_of_what_it_normalises():
    """After one step over the whole set: 0.9 × (0, 1) + 0.1 × (mean, variance), and evaluation uses them."""
    data = clusters(90, 6, 3)
    many = engine(
        [Member(MLP(depth=3, width=5), replace(DOUBLE, optimizer="sgd", learning_rate=1e-300), s) for s in (0, 1)], data
    )
    many.run_epoch(1)
    x = data.x_train.astype(float)
    for i in (0, 1):
        now = numbers(many.together.shown(i))
        np.testing.assert_allclose(now["norm.0.running_mean"], 0.1 * x.mean(0), rtol=1e-12)
        np.testing.assert_allclose(now["norm.0.running_var"], 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-12)
        normed = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
        h = normed @ now["linear.0.weight"].T + now["linear.0.bias"]
        np.testing.assert_allclose(now["norm.1.running_mean"], 0.1 * h.mean(0), rtol=1e-9)
        (first, *_), _ = many.features(i, data.x_test)
        shifted = (data.x_test - now["norm.0.running_mean"]) / np.sqrt(now["norm.0.running_var"] + 1e-5)
        np.testing.assert_allclose(first, shifted, rtol=1e-9)


class Average(nn.Module):
    """A mean carried along by putting another tensor in the buffer's place."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        if self.training:
            self.mean = 0.5 * self.mean + x.mean(0)
        return self.linear(x - self.mean.detach())


@pytest.mark.parametrize("n", [1, 3])
def test_buffers_that_are_put_in_the_place_of_others_are_kept(n):
    data = clusters(30, 6, 3)
    many = engine([Member(own(Average), DOUBLE, s) for s in range(n)], data)
    for epoch in (1, 2, 3):
        many.run_epoch(epoch)
    for i in range(n):
        np.testing.assert_allclose(many.together.shown(i).mean, 1.75 * data.x_train.astype(float).mean(0), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 70), step=st.integers(0, 2**40), drop=st.lists(st.floats(1e-4, 0.999), min_size=2, max_size=2))
def test_what_is_kept_is_what_the_streams_keep(n, step, drop):
    streams, which = [Stream.of("tests", 0), Stream.of("other", 0)], torch.tensor([1, 0, 1])
    rows = Rows([s.key for s in streams], torch.device("cpu"))
    below = torch.tensor([round(drop[k] * 65536) for k in which], dtype=torch.int32)
    kept = rows.keep("x", step, n, which, below).numpy()
    for row, k in enumerate(which):
        np.testing.assert_array_equal(kept[row], streams[k].keep("x", step, n, drop[k]))
    np.testing.assert_array_equal(rows.words("x", step, n), [s.bits("x", step, n) for s in streams])


def test_dropout_by_itself_is_torch_s():
    x = torch.ones(400, 30, 5, 5)
    for channels, rate in ((False, 0.3), (True, 0.5)):
        ours, theirs = Dropout(rate, channels), (nn.Dropout2d if channels else nn.Dropout)(rate)
        assert set(ours(x).unique().tolist()) == set(theirs(x).unique().tolist())
        shares = [(f(x) == 0).double().mean().item() for f in (ours, theirs)]
        drawn = x[:, :, 0, 0].numel() if channels else x.numel()
        assert np.allclose(shares, rate, atol=5 * np.sqrt(rate * (1 - rate) / drawn))
        assert torch.equal(ours.eval()(x), x)
    whole = Dropout(0.5, channels=True)(x)
    assert torch.equal(whole, whole[:, :, :1, :1].expand_as(x))


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_leaky_relu_is_torch_s_in_value_and_gradient(slope):
    x = torch.from_numpy(Stream.of("x").normal("x", 0, (9, 4)))
    x[0] = 0
    ours, theirs = (x.clone().requires_grad_() for _ in range(2))
    weights = torch.arange(36.0).view(9, 4)
    (LeakyReLU(slope)(ours) * weights).sum().backward()
    (F.leaky_relu(theirs, slope) * weights).sum().backward()
    torch.testing.assert_close(LeakyReLU(slope)(x), F.leaky_relu(x, slope), rtol=1e-15, atol=0)
    # At zero both slopes are right; between networks the one of negative arguments is taken.
    torch.testing.assert_close(ours.grad[1:], theirs.grad[1:], rtol=1e-15, atol=0)


class Functional(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.linear, self.how = nn.Linear(6, 3), how

    def forward(self, x):
        return self.linear(self.how(x, self.training))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    "factory",
    [
        partial(Functional, lambda x, training: F.dropout(x, 0.1, training)),
        partial(Functional, lambda x, training: x + torch.randn_like(x)),
        partial(Functional, lambda x, training: x * (1 + random.random())),
        partial(Functional, lambda x, training: x * (1 + np.random.rand())),  # noqa: NPY002
        lambda: nn.Sequential(
            nn.Unflatten(1, (3, 2)), nn.TransformerEncoderLayer(2, 1, 4, 0.1, batch_first=True), nn.Flatten()
        ),
        lambda: nn.Sequential(nn.Linear(6, 3), nn.AlphaDropout(0.1)),
    ],
    ids=["functional dropout", "noise", "python", "numpy", "attention", "alpha dropout"],
)
def test_random_numbers_of_a_module_s_own_are_refused(factory, n):
    with pytest.raises(ValueError, match=r"draws random numbers by itself.*nn\.Dropout"):
        engine([Member(own(factory), DOUBLE, s) for s in range(n)], clusters(20, 6, 3))


def test_what_cannot_be_trained_is_named():
    data = clusters(20, 6, 3)
    lstm = partial(nn.Sequential, nn.Unflatten(1, (3, 2)), nn.LSTM(2, 3, batch_first=True))
    with pytest.raises(ValueError, match=r"Sequential returns tuple for 4 samples: must be \(samples, outputs\)"):
        engine([Member(own(lstm), DOUBLE, 0)], data)
    branch = partial(Functional, lambda x, training: x if x.sum() > 0 else -x)
    members = [Member(own(branch), replace(DOUBLE, batch_size=10), s) for s in (0, 1)]
    assert engine(members[:1], data).run_epoch(1) > 0
    with pytest.raises(ValueError, match="Functional cannot be run for several networks at once: vmap"):
        engine(members, data).run_epoch(1)
    with pytest.raises(ValueError, match=r"factory returned a str: must be an nn\.Module"):
        made(lambda: "network", Stream.of("x"))


def test_only_modules_that_differ_in_nothing_but_tensors_run_together():
    def heads(n):
        return nn.MultiheadAttention(4, n)

    assert structure(heads(2)) == structure(heads(2)) != structure(heads(4))
    assert structure(LeakyReLU(0.1)) == structure(LeakyReLU(0.2)) and structure(Dropout(0.1)) == structure(Dropout(0.5))
    assert structure(nn.LeakyReLU(0.1)) != structure(nn.LeakyReLU(0.2))
    assert structure(nn.Linear(3, 2)) != structure(nn.Linear(3, 2, bias=False)) != structure(nn.Linear(2, 3))
    same = torch.relu
    assert structure(Functional(same)) == structure(Functional(same)) != structure(Functional(torch.tanh))
    frozen = nn.Linear(3, 2)
    frozen.bias.requires_grad_(False)
    assert structure(frozen) != structure(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="differ in more than the values of their tensors"):
        StackedModules([nn.LeakyReLU(0.1), nn.LeakyReLU(0.2)], torch.float32)


def test_weights_of_one_s_own_network_come_from_its_seed_alone():
    def drawn(seed):
        return numbers(made(small_cnn, Stream.of("tests", seed)))["1.weight"]

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = drawn(0)
    assert torch.equal(torch.rand(3), expected), "torch's generator goes on as if nothing had been"
    np.testing.assert_array_equal(drawn(0), first)
    assert np.abs(drawn(1) - first).max() > 0.01


def test_dropouts_of_one_s_own_network_draw_apart_and_one_module_stays_one():
    network = made(small_cnn, Stream.of("x"))
    kinds = [type(m).__name__ for m in network]
    assert (
        kinds.count("Dropout") == 3 and network[10] is network[13] and network[4].channels and not network[10].channels
    )
    many = engine([Member(own(small_cnn, dropout=0.5), DOUBLE, 0)], pictures())
    seen = {}
    keep = many.stream.keep
    many.stream.keep = lambda purpose, step, n, *rest: seen.setdefault((purpose, step), keep(purpose, step, n, *rest))
    many.run_epoch(1)
    assert {purpose for purpose, _ in seen} == {"dropout 1", "dropout 1 of 2", "dropout 2 of 2"}


def test_the_estimate_of_memory_grows_with_everything_that_takes_memory():
    data = clusters(90, 6, 3)
    shared = Torch.prepare(data, "float32")

    def need(**fields):
        training = Training(**{k: fields.pop(k) for k in ("batch_size",) if k in fields})
        m = Member(MLP(**{"depth": 4, "width": 9} | fields), training, 0)
        return Torch.bytes_per_member(m, module(m, data), shared)

    assert need() < min(need(depth=5), need(width=10))
    assert need(batch_size=10) < need(batch_size=20) < need(batch_size=None) == need(batch_size=500)
    # Parameters, gradient and two moments at least; activations of every layer at least twice.
    assert need() > 4 * (4 * (9 * 6 + 2 * 81 + 27) + 2 * 90 * 27)


def test_layers_are_what_a_hook_would_see():
    """The normalised input, what every activation returns, and the output apart."""
    data = pictures()
    for network in (MLP(depth=4, width=5), CNN(convolutions=2, channels=3)):
        one = module(Member(network, DOUBLE, 0), data).eval()
        x = torch.from_numpy(data.x_train).double()
        seen = []
        one.activation.register_forward_hook(lambda _, __, output, seen=seen: seen.append(output))
        layers = one.layers(x)
        torch.testing.assert_close(layers[-1], one(x))
        assert len(layers) == 2 + len(seen) / 2
        if isinstance(one, Convolutional):
            torch.testing.assert_close(layers[0].flatten(1), x)
            torch.testing.assert_close(layers[1], one.upsample(one.pool(seen[0])))
        else:
            torch.testing.assert_close(layers[0], one.norm[0](x))
            for layer, output in zip(layers[1:-1], seen, strict=False):
                torch.testing.assert_close(layer, output[0].T)


def test_modules_are_left_as_they_were_by_what_looks_at_them():
    data = pictures()
    many = engine([Member(own(small_cnn), DOUBLE, s) for s in (0, 1)], data)
    twin = engine([Member(own(small_cnn), DOUBLE, s) for s in (0, 1)], data)
    for epoch in (1, 2):
        np.testing.assert_array_equal(many.run_epoch(epoch), twin.run_epoch(epoch))
        before = copy.deepcopy(many.together.buffers)
        many.features(1, data.x_test)
        assert all(torch.equal(v, before[k]) for k, v in many.together.buffers.items())
