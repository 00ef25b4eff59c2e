"""However a network with dropout is written, it is trained as written, with our streams' masks, or refused by name."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle
from torch import nn
from torch.nn import functional as F
from trainer_data import clusters

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import Training, train
from deepmech.trainers.modules import instantiate
from deepmech.trainers.specs import FactoryNetwork, Member

DATA = clusters(30, 6, 3)


class Plain(nn.Dropout):
    """A subclass that changes nothing."""


class Named(nn.Dropout):
    def __init__(self, p, name="mine"):
        super().__init__(p)
        self.name = name


class Halved(nn.Dropout):
    def forward(self, x):
        return super().forward(x) / 2


class Net(nn.Module):
    """Linear, ReLU, dropout, Linear, ReLU, dropout, Linear; ``way`` calls the dropouts, given a tensor and a place."""

    def __init__(self, way, drops):
        super().__init__()
        self.linear = nn.ModuleList([nn.Linear(6, 7), nn.Linear(7, 7), nn.Linear(7, 3)])
        self.way, self.drop = way, drops

    def forward(self, x):
        for i, linear in enumerate(self.linear[:-1]):
            x = self.way(self, torch.relu(linear(x)), i)
        return self.linear[-1](x)


def call(net, x, i):
    return net.drop[i](x)


def by(test):
    """Looks for its dropouts among all modules."""
    return lambda net, x, i: [m for m in net.modules() if test(m)][i](x)


def in_place(net, x, i):
    x = x + 0  # what relu made is needed for its gradient
    net.drop[i](x)
    return x


def guarded(net, x, i):
    """A rate that is read: without dropout another network."""
    return net.drop[i](x) * (1 + net.drop[i].p)


def rising(net, x, i):
    net.drop[i].p = min(0.9, net.drop[i].p + 0.01)
    return net.drop[i](x)


def functional(net, x, i):
    return F.dropout(x, net.drop[i].p, net.training)


def apart(kind, **how):
    return lambda p: nn.ModuleList([kind(p, **how), kind(p / 2, **how)])


def shared(p):
    return nn.ModuleList([nn.Dropout(p)] * 2)


def raised(module, given, made):
    return made + 0.1


def hooked(p):
    drops = apart(nn.Dropout)(p)
    drops[0].register_forward_hook(raised)
    return drops


def maps(net, x, i):
    shape = (len(x), 7, *[1] * (net.drop[i].__class__.__name__ in ("Dropout2d", "Dropout3d")))
    shape = (*shape, *[1] * (net.drop[i].__class__ is nn.Dropout3d), 1)
    return (
        (net.drop[i](x.view(shape).repeat(*[1] * (len(shape) - 1), 2)) * torch.arange(1.0, 3.0, dtype=x.dtype))
        .sum(-1)
        .view(x.shape)
    )


TRAINED = {
    "called": (call, apart(nn.Dropout)),
    "one module twice": (call, shared),
    "by isinstance": (by(lambda m: isinstance(m, nn.Dropout)), apart(nn.Dropout)),
    "by type": (by(lambda m: type(m) is nn.Dropout), apart(nn.Dropout)),
    "by name of class": (by(lambda m: m.__class__.__name__ == "Dropout"), apart(nn.Dropout)),
    "by what it says of itself": (by(lambda m: repr(m).startswith("Dropout(p=")), apart(nn.Dropout)),
    "by its rate": (by(lambda m: hasattr(m, "p")), apart(nn.Dropout)),
    "subclass": (by(lambda m: isinstance(m, Plain)), apart(Plain)),
    "subclass with a name": (by(lambda m: getattr(m, "name", "") == "mine"), apart(Named)),
    "in place": (in_place, apart(nn.Dropout, inplace=True)),
    "rate is read": (guarded, apart(nn.Dropout)),
    "rate rises": (rising, apart(nn.Dropout)),
    "hooked": (call, hooked),
    "whole samples": (call, apart(nn.Dropout1d)),  # torch reads an array of two axes as (channels, length)
    "channels, 1d": (maps, apart(nn.Dropout1d)),
    "channels, 2d": (maps, apart(nn.Dropout2d)),
    "channels, 3d": (maps, apart(nn.Dropout3d)),
    "slope and mean": (
        lambda net, x, i: F.leaky_relu(net.drop[i](x) - 0.3, 0.2) if isinstance(net.drop[0], nn.Dropout) else x,
        apart(nn.Dropout),
    ),
}
REFUSED = {
    "functional": (functional, apart(nn.Dropout), "Net"),
    "functional, of its own module": (lambda net, x, i: F.dropout(x, net.drop[i].p, net.drop[i].training),
                                      apart(nn.Dropout), "Net"),
    "own forward": (call, apart(Halved), r"drop\.0.*Halved"),
    "alpha": (call, apart(nn.AlphaDropout), r"drop\.0.*AlphaDropout"),
    "alpha of maps": (call, apart(nn.FeatureAlphaDropout), r"drop\.0.*FeatureAlphaDropout"),
    "in a plain list": (call, lambda p: [nn.Dropout(p), nn.Dropout(p)], "Net"),
    "random slopes": (call, lambda p: nn.ModuleList([nn.RReLU(), nn.RReLU()]), r"drop\.0.*RReLU"),
    "bernoulli": (lambda net, x, i: x * torch.bernoulli(torch.full_like(x, 0.5)), shared, "Net"),
    "while it is measured only": (lambda net, x, i: x if net.training else F.dropout(x, 0.5), shared, "measured"),
    "scripted": (call, lambda p: torch.jit.script(apart(nn.Dropout)(p)), "Net"),
    "forward of one object": (call, lambda p: own_forward(p), r"drop\.0"),
    "a rate beyond 16 bits": (call, lambda p: nn.ModuleList([nn.Dropout(1e-6)] * 2), r"drop\.0'? has p = 1e-06"),
}  # fmt: skip


def own_forward(p):
    drops = apart(nn.Dropout)(p)
    drops[0].forward = lambda x: F.dropout(x, p)
    return drops


HOW = {
    "rate": st.floats(0.01, 0.9), "seed": st.integers(0, 9), "batch": st.sampled_from([None, 7, 15]),
    "many": st.booleans(),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
@settings(max_examples=5)
@given(**HOW)
def test_networks_are_trained_as_they_are_written(name, rate, seed, batch, many):
    way, drops = TRAINED[name]
    training = Training(epochs=3, optimizer="sgd", learning_rate=0.1, batch_size=batch, dtype="float64")
    network = FactoryNetwork(lambda: Net(way, drops(rate)), {})
    seeds = [seed, seed + 1] if many else [seed]
    found = []
    for one in seeds:
        member = Member(network, training, one)
        oracle = Oracle(instantiate(network.factory, member.stream).double(), member, DATA)
        found.append([oracle.step(e) for e in (1, 2, 3)])
    trained = train(network.factory, training, DATA, seed=over("seed", seeds), metrics=(), ensemble_size=len(seeds))
    np.testing.assert_allclose(trained.loss, found, rtol=1e-9)
    assert np.ptp(found[0]) > 0


def test_the_oracle_of_these_laws_drops_what_torch_drops():
    """Its masks, laid beside torch's: shares and shapes of what goes."""
    member = Member(FactoryNetwork(None, {}), Training(), 0)
    for kind, shape in [
        (nn.Dropout, (40, 50)), (nn.Dropout1d, (40, 50)), (nn.Dropout1d, (40, 50, 3)), (nn.Dropout2d, (40, 50, 3, 2)),
        (nn.Dropout2d, (40, 50, 3)), (nn.Dropout3d, (40, 50, 2, 3)), (nn.Dropout3d, (40, 50, 2, 3, 2)),
    ]:  # fmt: skip
        x, one = torch.ones(shape), kind(0.4)
        theirs = one(x)
        Oracle.draw(type("O", (), {"member": member}), one, None, 0, "")
        ours = one(x)
        for axis in range(len(shape)):
            assert (ours.std(axis).max() == 0) == (theirs.std(axis).max() == 0), (kind, shape, axis)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("many", [False, True])
def test_what_cannot_be_trained_as_written_is_refused_by_name(name, many):
    way, drops, said = REFUSED[name]
    seeds = over("seed", [0, 1]) if many else 0
    with pytest.raises(ValueError, match=said):
        train(lambda: Net(way, drops(0.3)), Training(epochs=1), DATA, seed=seeds, metrics=(), ensemble_size=1 + many)


@pytest.mark.parametrize("batch", [None, 7])
def test_what_is_written_into_samples_stays_with_the_network(batch):
    """Networks that change what they are given see the same samples in every epoch."""
    data = copy.deepcopy(DATA)
    training = Training(epochs=3, optimizer="sgd", batch_size=batch)
    found = []
    for first in (lambda x: x.mul_(2), lambda x: x * 2):

        class Doubled(nn.Module):
            def __init__(self, first=first):
                super().__init__()
                self.first, self.linear, self.relu = first, nn.Linear(6, 3), nn.ReLU()

            def forward(self, x):
                return self.linear(self.relu(self.first(x)))

        found.append(train(Doubled, training, data, metrics=()).loss)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(data.x_train, DATA.x_train)


def test_rates_and_modes_of_a_module_are_as_torch_has_them():
    kinds = [nn.Dropout(0.3, inplace=True), nn.Dropout2d(0.2), Named(0.1), nn.Dropout(0.0), nn.Dropout(1.0)]
    network = instantiate(lambda: nn.ModuleList(kinds), Stream.of("x"))
    assert [(type(m), m.p, m.inplace, m.training) for m in network] == [
        (type(m), m.p, m.inplace, m.training) for m in kinds
    ]
    assert network.state_dict().keys() == nn.ModuleList(kinds).state_dict().keys()


def test_a_rate_of_one_drops_everything():
    losses = []
    for drop in (lambda: nn.Dropout(1.0), Zero):

        def network(drop=drop):
            return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), drop(), nn.Linear(5, 3))

        losses.append(train(network, Training(epochs=2), DATA, metrics=()).loss)
    np.testing.assert_array_equal(*losses)


class Zero(nn.Module):
    def forward(self, x):
        return x * 0
