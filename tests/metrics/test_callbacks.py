"""Callbacks log what the monitor records. The stand-ins call what the real trainers call, in their order."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from example_networks import mlp
from torch import nn

from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.monitor import LoadCurveMonitor, lightning_callback, transformers_callback

X, Y = torch.linspace(-1, 1, 48).sin().mul(50).frac().reshape(12, 4), [0, 1, 2] * 4


class Base:
    """A callback's base class, in which every event is there."""

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)


@pytest.fixture
def model():
    return mlp(2, width=4)


def steps(model, callback_step):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(X), torch.tensor(Y))
        loss.backward()
        optimiser.step()
        callback_step(loss)


def demand(logged, model, monitor):
    """At steps 0, 3 and 4 (the end): D of each layer, and curvature."""
    assert [step for step, _ in logged] == [0, 3, 4]
    assert list(logged[0][1]) == [*(f"load_curve/{n}" for n in ("input", "1", "3")), "load_curve/curvature"]
    curve = load_curve(model, X, Y, debias=False)
    np.testing.assert_allclose([logged[-1][1][f"load_curve/{n}"] for n in curve.layer.values], curve, rtol=1e-6)
    result = monitor.result()
    assert [values["load_curve/curvature"] for _, values in logged] == result.curvature.values.tolist()


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning(model, monkeypatch, package):
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    if package == "lightning.pytorch":
        monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    stand_in = ModuleType(package)
    stand_in.Callback = Base
    monkeypatch.setitem(sys.modules, package, stand_in)
    logged = []
    trainer = SimpleNamespace(is_global_zero=True, global_step=0)
    trainer.loggers = [SimpleNamespace(log_metrics=lambda values, step: logged.append((step, values)))]
    monitor = LoadCurveMonitor(model, X, Y, every=3, debias=False)
    callback = lightning_callback(monitor)
    assert isinstance(callback, Base)

    def step(loss):
        trainer.global_step += 1
        callback.on_train_batch_end(trainer, model, {"loss": loss}, None, 0)

    callback.on_train_start(trainer, model)
    steps(model, step)
    callback.on_train_end(trainer, model)
    demand(logged, model, monitor)
    assert "loss" in monitor.result()
    other = SimpleNamespace(is_global_zero=False)
    callback.on_train_start(other, model)
    callback.on_train_batch_end(other, model, None, None, 0)
    callback.on_train_end(other, model)
    assert len(logged) == 3


def test_transformers(model, monkeypatch):
    stand_in = ModuleType("transformers")
    stand_in.TrainerCallback = Base
    monkeypatch.setitem(sys.modules, "transformers", stand_in)
    logged = []
    state = SimpleNamespace(is_world_process_zero=True, global_step=0)
    control = SimpleNamespace(should_log=True)

    def log(values):
        logged.append((state.global_step, values))
        control.should_log = False  # as the real one does

    trainer = SimpleNamespace(log=log)
    monitor = LoadCurveMonitor(model, X, Y, every=3, debias=False)
    callback = transformers_callback(monitor, trainer)
    assert isinstance(callback, Base)

    def step(loss):
        state.global_step += 1
        control.should_log = True
        callback.on_step_end(None, state, control, model=model)
        assert control.should_log

    callback.on_train_begin(None, state, control, model=model)
    steps(model, step)
    callback.on_train_end(None, state, None, model=model)
    demand(logged, model, monitor)
    callback.on_step_end(None, SimpleNamespace(is_world_process_zero=False), None)
    assert monitor.steps == 4


def test_nothing_is_imported_before_it_is_asked_for(model, monkeypatch):
    code = (
        "import sys\nimport deepmech.metrics.monitor\n"
        "sys.exit(bool({'transformers', 'lightning', 'pytorch_lightning'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    monitor = LoadCurveMonitor(model, X, Y)
    with pytest.raises(ModuleNotFoundError, match=r"needs lightning\.pytorch or pytorch_lightning: pip"):
        lightning_callback(monitor)
    with pytest.raises(ModuleNotFoundError, match="needs transformers: pip install transformers"):
        transformers_callback(monitor, None)
