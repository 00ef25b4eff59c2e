"""An engine takes what it knows and refuses the rest by name: no field and no value of a spec is ever ignored."""

from dataclasses import dataclass, fields
from types import SimpleNamespace

import numpy as np
import pytest
from trainer_data import clusters

from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, SingleSample, Training, rules, train, train_lenet
from deepmech.trainers.langevin import Dynamics, Preparation, settle, walk
from deepmech.trainers.training import ENGINES

DATA = clusters(60, 16, 3)
PICTURES = SimpleNamespace(**vars(DATA), shape=(1, 4, 4))


@pytest.fixture
def lax(monkeypatch):
    """Specs as they would be if they allowed more than any engine knows."""
    for spec in (MLP, CNN, Training, SingleSample, Dynamics):
        monkeypatch.setattr(spec, "__post_init__", lambda self: None)


@pytest.mark.parametrize("engine", ["auto", "compiled", "torch"])
@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        (Training, "optimizer", "lion"),
        (Training, "loss", "poisson"),
        (Training, "dtype", "float16"),
        (MLP, "init", "zeros"),
        (CNN, "pooling", "median"),
    ],
)
def test_a_value_that_no_engine_knows_is_refused_by_every_one(lax, spec, field, value, engine):
    network = spec(**{field: value}) if spec is not Training else MLP(depth=2, width=3)
    training = Training(epochs=1, **({field: value} if spec is Training else {}))
    said = f"{'CNN' if spec is CNN and engine == 'compiled' else rf'{spec.__name__}.{field} = .{value}.'}"
    with pytest.raises(ValueError, match=f"{said}|no engine knows {spec.__name__}.{field}"):
        train(network, training, PICTURES, engine=engine, metrics=())


@dataclass(frozen=True, eq=False)
class Residual(MLP):
    skip: int = 2


@dataclass(frozen=True, eq=False)
class Decayed(Training):
    weight_decay: float = 0.1


@pytest.mark.parametrize("engine", ["auto", "compiled", "torch"])
def test_what_is_derived_from_a_known_spec_is_another_one(engine):
    for network, training, name in (
        (Residual(depth=2, width=3), Training(epochs=1), "Residual"),
        (MLP(depth=2, width=3), Decayed(epochs=1), "Decayed"),
    ):
        with pytest.raises(ValueError, match=name):
            train(network, training, DATA, engine=engine)


@pytest.mark.parametrize("known", ["torch"])
def test_a_value_that_one_engine_knows_is_taken_by_that_one_alone(lax, monkeypatch, known):
    kind = ENGINES[known]
    monkeypatch.setitem(kind.KNOWN, Training, {**kind.KNOWN[Training], "optimizer": ("adam", "sgd", "lion")})
    monkeypatch.setitem(rules.OPTIMIZERS, "lion", rules.OPTIMIZERS["sgd"])
    network, training = MLP(depth=2, width=3), Training(epochs=1, optimizer="lion")
    assert train(network, training, DATA).attrs["engine"] == known
    for other in set(ENGINES) - {known}:
        with pytest.raises(ValueError, match=f"optimizer = 'lion'.*{known}"):
            train(network, training, DATA, engine=other)


def test_a_field_that_an_engine_does_not_list_is_refused(monkeypatch):
    for name, kind in ENGINES.items():
        listed = dict(kind.KNOWN[Training])
        del listed["momentum"]
        monkeypatch.setitem(kind.KNOWN, Training, listed)
        with pytest.raises(ValueError, match=r"Training\.momentum"):
            train(MLP(depth=2, width=3), Training(epochs=1), DATA, engine=name)


def test_every_engine_lists_every_name_it_knows():
    """A name (optimiser, loss, type of numbers, …) is known by its value, never as whatever the spec allows."""
    for kind in ENGINES.values():
        for spec, listed in kind.KNOWN.items():
            assert set(listed) == {f.name for f in fields(spec)}
            assert all(listed[f.name] is not None for f in fields(spec) if isinstance(f.default, str))


def test_lenets_engines_refuse_what_they_do_not_know(lax):
    s = Stream.of("images", 0)
    x, y = s.uniform("x", 0, (6, 1024)).astype(np.float32), np.arange(6) % 3
    data = SimpleNamespace(
        x_train=x, y_train=y, x_test=x, y_test=y, n_classes=3, shape=(1, 32, 32), fingerprint="images"
    )
    for engine in ("compiled", "torch"):
        with pytest.raises(ValueError, match=r"SingleSample\.dtype = 'float16'"):
            train_lenet(SingleSample(iterations=2, dtype="float16"), data, engine=engine)


@pytest.mark.parametrize("engine", ["auto", "compiled", "torch"])
def test_walkers_engines_refuse_what_they_do_not_know(lax, engine):
    x = Stream.of("walkers", 0).normal("x", 0, (20, 3))
    data = SimpleNamespace(x=x, y=np.sign(x[:, 0]), fingerprint="walkers")
    for go in (lambda d, p: settle(d, p, data, engine=engine), lambda d, p: walk(d, p, data, steps=2, engine=engine)):
        with pytest.raises(ValueError, match=r"Dynamics\.dtype = 'float16'"):
            go(Dynamics(width=2, hidden=1, dtype="float16"), Preparation(sgd_steps=2))
        with pytest.raises(ValueError, match="Tempered"):
            go(Tempered(width=2, hidden=1), Preparation(sgd_steps=2))


@dataclass(frozen=True, eq=False)
class Tempered(Dynamics):
    schedule: str = "linear"
