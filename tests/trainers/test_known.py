"""What the compiled engine reads it trains, and all else goes to torch: no field and no value is ever ignored."""

from dataclasses import dataclass, fields
from types import SimpleNamespace

import numpy as np
import pytest
from trainer_data import clusters

from deepmech.core.random import Stream
from deepmech.trainers import MLP, SingleSample, Training, rules, train, train_lenet
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.langevin import Dynamics, Preparation, settle, walk
from deepmech.trainers.specs import Own

DATA = clusters(60, 16, 3)
SMALL, ONCE = MLP(depth=2, width=3), Training(epochs=1)


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
    assert (mlp.unknown(Residual(), ONCE), mlp.unknown(SMALL, Clipped())) == ("Residual", "Clipped")
    assert mlp.unknown(Own(MLP, {}), ONCE) == "Own"
    for network, training, name in ((Residual(depth=2), ONCE, "Residual"), (SMALL, Clipped(epochs=1), "Clipped")):
        with pytest.raises(ValueError, match=name):
            train(network, training, DATA)
    x = Stream.of("walkers", 0).normal("x", 0, (20, 3))
    signs = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="walkers")
    for go in (settle, lambda *specs: walk(*specs, steps=2)):
        with pytest.raises(ValueError, match="Tempered"):
            go(Tempered(width=2, hidden=1), Preparation(sgd_steps=2), signs)
    with pytest.raises(ValueError, match="Weighted"):
        train_lenet(Weighted(iterations=2), DATA)


def test_a_rule_that_is_added_is_torch_s_until_the_compiled_engine_knows_it(monkeypatch):
    """An optimiser is a function in ``rules`` and a word in a docstring: CONTRIBUTING says so."""
    monkeypatch.setitem(rules.OPTIMIZERS, "lion", rules.OPTIMIZERS["sgd"])
    training = Training(epochs=3, optimizer="lion", learning_rate=0.1)
    made = train(SMALL, training, DATA)
    assert (made.engine, made.not_compiled) == ("torch", "it does not know Training.optimizer = 'lion'")
    like = train(SMALL, Training(epochs=3, optimizer="sgd", learning_rate=0.1), DATA, engine="torch")
    np.testing.assert_array_equal(made.loss, like.loss)
    with pytest.raises(ValueError, match=r"does not know Training\.optimizer = 'lion'; use engine='auto' or 'torch'"):
        train(SMALL, training, DATA, engine="compiled")


def test_every_field_has_to_be_listed_and_every_name_by_its_value(monkeypatch):
    listed = [field for spec in (MLP, Training) for field in fields(spec)]
    assert {field.name for field in listed} == set(mlp.KNOWN)
    assert all(mlp.KNOWN[field.name] for field in listed if isinstance(field.default, str))
    monkeypatch.delitem(mlp.KNOWN, "momentum")
    with pytest.raises(ValueError, match=r"Training\.momentum"):
        train(SMALL, ONCE, DATA, engine="compiled")
