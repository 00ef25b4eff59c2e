"""Specs say what holds when; what the compiled engine does not read of them goes to torch."""

from dataclasses import dataclass, fields
from types import SimpleNamespace

import numpy as np
import pytest
from trainer_data import clusters

from deepmech.core.random import Stream
from deepmech.trainers import MLP, SingleSample, Training, rules, train, train_lenet
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.langevin import Dynamics, Preparation, prepare, walk
from deepmech.trainers.run import FallbackWarning
from deepmech.trainers.specs import FactoryNetwork, Member

DATA = clusters(60, 16, 3)
SMALL, ONCE = MLP(depth=2, width=3), Training(epochs=1)


def test_schedule_sets_what_holds_in_each_epoch():
    schedule = ((30, "dropout", 0.3), (10, "dropout", 0.05), (20, "data_noise", 0.2))
    member = Member(MLP(), Training(schedule=schedule), 0)
    assert [member.settings(e).dropout for e in (1, 9, 10, 29, 30)] == [0.0, 0.0, 0.05, 0.05, 0.3]
    assert member.settings(20).label_noise == 0.2, "label noise follows data noise unless given"


def test_scale_keeps_the_mean_square_at_initialisation():
    # E x² is kept by c² (1 + α²)/2 E h² with E h² = E x² / 3 (uniform weights in ±1/√n) or E x² (orthogonal).
    for init, share in (("torch", 1 / 3), ("orthogonal", 1.0)):
        for slope in (0.0, 0.4, 1.0):
            c = Member(MLP(slope=slope, batch_norm=False, init=init), Training(), 0).scale
            assert np.isclose(c**2 * (1 + slope**2) / 2 * share, 1.0)


@dataclass(frozen=True, eq=False)
class Residual(MLP):
    skip: int = 2


@dataclass(frozen=True, eq=False)
class Clipped(Training):
    largest_gradient: float = 0.1


@dataclass(frozen=True, eq=False)
class Tempered(Dynamics):
    schedule: str = "linear"


@dataclass(frozen=True, eq=False)
class Weighted(SingleSample):
    momentum: float = 0.9


def test_what_is_derived_from_a_spec_is_another_one():
    assert (mlp.unsupported(Residual(), ONCE), mlp.unsupported(SMALL, Clipped())) == ("Residual", "Clipped")
    assert mlp.unsupported(FactoryNetwork(MLP, {}), ONCE) == "FactoryNetwork"
    x = Stream.of("walkers", 0).normal("x", 0, (20, 3))
    signs = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="walkers")
    walker = Tempered(width=2, hidden=1), Preparation(sgd_steps=2), signs
    for name, go in {
        "Residual": lambda: train(Residual(depth=2), ONCE, DATA),
        "Clipped": lambda: train(SMALL, Clipped(epochs=1), DATA),
        "Tempered.*": lambda: prepare(*walker),
        "Tempered": lambda: walk(*walker, steps=2),
        "Weighted": lambda: train_lenet(Weighted(iterations=2), DATA),
    }.items():
        with pytest.raises(ValueError, match=name):
            go()


def test_a_rule_that_is_added_is_torch_s_until_the_compiled_engine_knows_it(monkeypatch):
    """An optimiser is a function in ``rules`` and a word in a docstring: CONTRIBUTING says so."""
    monkeypatch.setitem(rules.OPTIMIZERS, "none_such", rules.OPTIMIZERS["sgd"])
    training = Training(epochs=3, optimizer="none_such", learning_rate=0.1)
    with pytest.warns(FallbackWarning):
        made = train(SMALL, training, DATA)
    assert (made.engine, made.fallback_reason) == ("torch", "it does not know Training.optimizer = 'none_such'")
    like = train(SMALL, Training(epochs=3, optimizer="sgd", learning_rate=0.1), DATA, engine="torch")
    np.testing.assert_array_equal(made.loss, like.loss)
    with pytest.raises(ValueError, match=r"does not know Training\.optimizer = 'none_such'; use engine='auto' or 'torch'"):
        train(SMALL, training, DATA, engine="compiled")


def test_every_field_has_to_be_listed_and_every_name_by_its_value(monkeypatch):
    listed = [field for spec in (MLP, Training) for field in fields(spec)]
    assert {field.name for field in listed} == set(mlp.KNOWN)
    assert all(mlp.KNOWN[field.name] for field in listed if isinstance(field.default, str))
    monkeypatch.delitem(mlp.KNOWN, "momentum")
    with pytest.raises(ValueError, match=r"Training\.momentum = 0\.5"):
        train(SMALL, Training(epochs=1, optimizer="sgd", momentum=0.5), DATA, engine="compiled")
