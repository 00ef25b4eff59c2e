"""The torch engine with networks that it alone knows, anyone's own among them, and the modules that it is made of."""

import copy
import random
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from oracle import Oracle
from test_trainer_engines import agree, gradients_agree, module, numbers
from test_trainer_engines import torch_engine as engine
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from trainer_data import clusters, pictures

from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, Training
from deepmech.trainers.engines.torch_func import ModuleEnsemble, module_signature
from deepmech.trainers.modules import Convolutional, Dropout, LeakyReLU, instantiate
from deepmech.trainers.rules import OPTIMIZERS
from deepmech.trainers.specs import FactoryNetwork, Member
from deepmech_book.sweeps.spring_block.architectures import transformer

DOUBLE = Training(dtype="float64")
PICTURES = pictures()


@pytest.fixture(autouse=True)
def attention_of_products():
    """As ``train`` has it: vmap runs other kinds network by network, and warns."""
    with sdpa_kernel(SDPBackend.MATH):
        yield


def own(factory, **arguments):
    return FactoryNetwork(factory, arguments)


def small_cnn(channels=4, dropout=0.1, size=6):
    """As one would write it, with a dropout of whole channels and one module called twice."""
    relu, drop = nn.ReLU(), nn.Dropout(dropout)
    return nn.Sequential(
        nn.Unflatten(1, (2, size, size)),
        nn.Conv2d(2, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), relu, nn.Dropout2d(dropout),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, channels, 3, bias=False), nn.BatchNorm2d(channels), relu, nn.Flatten(), drop,
        nn.Linear(channels, 8), nn.Tanh(), drop,
        nn.Linear(8, 3),
    )  # fmt: skip


class Block(nn.Module):
    """x + f(x)."""

    def __init__(self, width, dropout):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(width, width, bias=False), nn.BatchNorm1d(width), nn.LeakyReLU(0.2), nn.Dropout(dropout)
        )

    def forward(self, x):
        return x + self.inner(x)


def residual(inputs, dropout, width=7):
    return nn.Sequential(nn.Linear(inputs, width), *(Block(width, dropout) for _ in range(3)), nn.Linear(width, 3))


def small_transformer(width=8, dropout=0.0):
    rows = nn.Sequential(nn.Unflatten(1, (12, 6)), nn.Linear(6, width))
    block = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout, batch_first=True)
    return nn.Sequential(rows, block, nn.Flatten(), nn.Linear(12 * width, 3))


NOISY = {"batch_size": 16, "data_noise": 0.1}
#: By name: three networks that may differ in numbers, the data, and how they are trained.
NETWORKS = {
    **{
        f"convolutions, {pooling}": (
            [
                CNN(convolutions=2, channels=3, slope=s, dropout=p, pooling=pooling)
                for s, p in ((0.2, 0.1), (0, 0), (0, 0.3))
            ],
            pictures(side=side), NOISY,
        )
        for pooling, side in (("max", 6), ("average", 7))
    },
    **{
        f"{name}, {optimizer}": ([own(factory)] * 3, data, NOISY | {"optimizer": optimizer, "learning_rate": 0.01})
        for optimizer in OPTIMIZERS
        for name, factory, data in (
            ("cnn", small_cnn, PICTURES),
            ("encoder", small_transformer, PICTURES),
            ("vision transformer", lambda: transformer(0.2, 0.0, width=8), clusters(40, 64, 3)),
            ("residual", lambda: residual(64, 0.1), clusters(40, 64, 3)),
        )
    },
    "numbers of one's own": ([own(small_cnn, dropout=0.4)] * 3, PICTURES, {"optimizer": "sgd"}),
}  # fmt: skip


@pytest.mark.parametrize("seeds", [[3], [0, 1, 0]])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_is_trained_as_by_the_oracle(name, seeds):
    specs, data, how = NETWORKS[name]
    training = [replace(DOUBLE, **{"learning_rate": r} | how) for r in (1e-2, 1e-3, 0.1)[: len(seeds)]]
    # Attention's biases of keys have gradients of zero, whose rounding the optimisers divide by their ε of 1e-8.
    agree("torch", list(map(Member, specs, training, seeds)), data, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(
    "network",
    [CNN(convolutions=2, channels=3, dropout=0.2), own(small_cnn), own(lambda: residual(72, 0.3))],
    ids=["CNN", "own", "residual"],
)
def test_every_gradient_is_autograd_s(network, n):
    step = Training(optimizer="sgd", learning_rate=1.0, dtype="float64")
    gradients_agree("torch", [Member(network, step, seed) for seed in range(n)], PICTURES)


def test_gradients_are_those_of_finite_differences():
    m = Member(CNN(convolutions=2, channels=3, dropout=0.3, slope=0.2, pooling="average"), DOUBLE, 0)
    one, index = Oracle(module(m, PICTURES), m, PICTURES), np.arange(40)
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


def test_whole_numbers_as_inputs():
    words = (Stream.of("words").uniform("x", 0, (40, 6)) * 10).astype(np.int64)
    y = words[:, 0] % 3
    text = SimpleNamespace(x_train=words, x_test=words[:9], y_train=y, y_test=y[:9], n_classes=3)
    network = own(lambda: nn.Sequential(nn.Embedding(10, 4), nn.Flatten(), nn.Linear(24, 3)))
    many = engine([Member(network, DOUBLE, s) for s in (0, 1)], text)
    losses = np.array([many.step(e) for e in range(1, 200)])
    assert (losses[-1] < 0.9 * losses[0]).all()


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
        many.step(epoch)
    for i in range(n):
        np.testing.assert_allclose(many.ensemble.member(i).mean, 1.75 * data.x_train.astype(float).mean(0), rtol=1e-12)


def test_dropout_by_itself_is_torch_s():
    x, rate = torch.ones(400, 30), 0.3
    ours, theirs = Dropout(rate), nn.Dropout(rate)
    assert set(ours(x).unique().tolist()) == set(theirs(x).unique().tolist())
    shares = [(f(x) == 0).double().mean().item() for f in (ours, theirs)]
    assert np.allclose(shares, rate, atol=5 * np.sqrt(rate * (1 - rate) / x.numel()))
    assert torch.equal(ours.eval()(x), x)


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


ATTENTION = nn.TransformerEncoderLayer(2, 1, 4, 0.1, batch_first=True)
RANDOM = {
    "functional dropout": partial(Functional, lambda x, training: F.dropout(x, 0.1, training)),
    "noise": partial(Functional, lambda x, training: x + torch.randn_like(x)),
    "python": partial(Functional, lambda x, training: x * (1 + random.random())),
    "numpy": partial(Functional, lambda x, training: x * (1 + np.random.rand())),  # noqa: NPY002
    "attention": lambda: nn.Sequential(nn.Unflatten(1, (3, 2)), copy.deepcopy(ATTENTION), nn.Flatten()),
    "alpha dropout": lambda: nn.Sequential(nn.Linear(6, 3), nn.AlphaDropout(0.1)),
}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("kind", RANDOM)
def test_random_numbers_of_a_module_s_own_are_refused(kind, n):
    with pytest.raises(ValueError, match=r"draws random numbers by itself.*nn\.Dropout"):
        engine([Member(own(RANDOM[kind]), DOUBLE, s) for s in range(n)], clusters(20, 6, 3))


def test_what_cannot_be_trained_is_named():
    data = clusters(20, 6, 3)
    lstm = partial(nn.Sequential, nn.Unflatten(1, (3, 2)), nn.LSTM(2, 3, batch_first=True))
    with pytest.raises(ValueError, match=r"Sequential returns \(4, 3, 3\) for 4 samples: must be \(samples, outputs\)"):
        engine([Member(own(lstm), DOUBLE, 0)], data)
    branch = partial(Functional, lambda x, training: x if x.sum() > 0 else -x)
    members = [Member(own(branch), replace(DOUBLE, batch_size=10), s) for s in (0, 1)]
    assert engine(members[:1], data).step(1) > 0
    with pytest.raises(ValueError, match="Functional cannot be run for several networks at once: vmap"):
        engine(members, data).step(1)
    with pytest.raises(ValueError, match=r"factory returned a str: must be an nn\.Module"):
        instantiate(lambda: "network", Stream.of("x"))


def test_only_modules_that_differ_in_nothing_but_tensors_run_together():
    def heads(n):
        return nn.MultiheadAttention(4, n)

    assert module_signature(heads(2)) == module_signature(heads(2)) != module_signature(heads(4))
    assert module_signature(LeakyReLU(0.1)) == module_signature(LeakyReLU(0.2)) and module_signature(
        Dropout(0.1)
    ) == module_signature(Dropout(0.5))
    assert module_signature(nn.LeakyReLU(0.1)) != module_signature(nn.LeakyReLU(0.2))
    assert (
        module_signature(nn.Linear(3, 2))
        != module_signature(nn.Linear(3, 2, bias=False))
        != module_signature(nn.Linear(2, 3))
    )
    same = torch.relu
    assert (
        module_signature(Functional(same))
        == module_signature(Functional(same))
        != module_signature(Functional(torch.tanh))
    )
    frozen = nn.Linear(3, 2)
    frozen.bias.requires_grad_(False)
    assert module_signature(frozen) != module_signature(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="differ in more than the values of their tensors"):
        ModuleEnsemble([nn.LeakyReLU(0.1), nn.LeakyReLU(0.2)], torch.float32)


def test_weights_of_one_s_own_network_come_from_its_seed_alone():
    def drawn(seed):
        return numbers(instantiate(small_cnn, Stream.of("tests", seed)))["1.weight"]

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = drawn(0)
    assert torch.equal(torch.rand(3), expected), "torch's generator goes on as if nothing had been"
    np.testing.assert_array_equal(drawn(0), first)
    assert np.abs(drawn(1) - first).max() > 0.01


def test_dropouts_of_one_s_own_network_draw_apart_and_one_module_stays_one():
    network = instantiate(small_cnn, Stream.of("x"))
    assert [type(m) for m in network] == [type(m) for m in small_cnn()] and network[10] is network[13]
    many, seen = engine([Member(own(small_cnn, dropout=0.5), DOUBLE, 0)], PICTURES), {}
    keep = many.stream.mask
    many.stream.mask = lambda purpose, step, n, *rest: seen.setdefault((purpose, step), keep(purpose, step, n, *rest))
    many.step(1)
    assert {purpose for purpose, _ in seen} == {"dropout 1", "dropout 1 of 2", "dropout 2 of 2"}


@pytest.mark.parametrize("network", [MLP(depth=4, width=5), CNN(convolutions=2, channels=3)], ids=["MLP", "CNN"])
def test_layers_are_what_a_hook_would_see(network):
    """The normalised input, what every activation returns, and the output apart."""
    one, seen = module(Member(network, DOUBLE, 0), PICTURES).eval(), []
    x = torch.from_numpy(PICTURES.x_train).double()
    one.activation.register_forward_hook(lambda _, __, output: seen.append(output))
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
    many, twin = (engine([Member(own(small_cnn), DOUBLE, s) for s in (0, 1)], PICTURES) for _ in range(2))
    for epoch in (1, 2):
        np.testing.assert_array_equal(many.step(epoch), twin.step(epoch))
        before = copy.deepcopy(many.ensemble.buffers)
        many.features(PICTURES.x_test, 1)
        assert all(torch.equal(v, before[k]) for k, v in many.ensemble.buffers.items())
