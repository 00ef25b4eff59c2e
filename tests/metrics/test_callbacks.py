"""The callbacks of *How do I …?*, called as the real trainers call them."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import torch
from example_networks import mlp

from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.monitor import LoadCurveMonitor

X, Y = torch.linspace(-1, 1, 48).sin().mul(50).frac().reshape(12, 4), [0, 1, 2] * 4
LIGHTNING, TRANSFORMERS = re.findall(
    r"^```py\n(.*?)^```", (Path(__file__).parents[2] / "book" / "howto.md").read_text(encoding="utf-8"), re.M | re.S
)


def watch(code, package, base, monkeypatch):
    """The class that the page defines, on a stand-in for the trainer's own base class, and a monitor for it."""
    stand_in = ModuleType(package)
    setattr(stand_in, base, object)
    monkeypatch.setitem(sys.modules, package, stand_in)
    monkeypatch.setitem(sys.modules, package.partition(".")[0], ModuleType(package.partition(".")[0]))
    monkeypatch.setitem(sys.modules, package, stand_in)
    there: dict = {}
    exec(code, there)
    model, logged = mlp(2, width=4), []
    monitor = LoadCurveMonitor(model, X, Y, every=2)
    monitor.on_record = logged.append
    return there["Watch"](monitor), monitor, model, logged


def test_lightning(monkeypatch):
    callback, monitor, model, logged = watch(LIGHTNING, "lightning.pytorch", "Callback", monkeypatch)
    for first in (True, False):
        trainer = SimpleNamespace(is_global_zero=first)
        for number in range(4):
            callback.on_train_batch_end(trainer, model, {"loss": torch.tensor(0.5)}, None, number)
    assert monitor.result().step.values.tolist() == [2, 4] and (monitor.result().loss == 0.5).all()
    np.testing.assert_array_equal(list(logged[-1].values())[:-1], load_curve(model, X, Y))
    assert list(logged[0]) == [*(f"load_curve/{n}" for n in ("input", "1", "3")), "load_curve/curvature"]


def test_transformers(monkeypatch):
    callback, monitor, model, logged = watch(TRANSFORMERS, "transformers", "TrainerCallback", monkeypatch)
    for first in (True, False):
        for _ in range(4):
            callback.on_step_end(None, SimpleNamespace(is_world_process_zero=first), None, model=model)
    assert monitor.result().step.values.tolist() == [2, 4] and len(logged) == 2
