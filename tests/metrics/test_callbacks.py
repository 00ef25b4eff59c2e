"""The callbacks of *How do I …?*, called as the real trainers call them."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from example_networks import mlp, sample

from deepmech.metrics.load_curve import load_curve

X, Y = sample()
LIGHTNING, TRANSFORMERS = re.findall(
    r"^```py\n(.*?)^```", (Path(__file__).parents[2] / "book" / "howto.md").read_text(encoding="utf-8"), re.M | re.S
)


def lightning(callback, model, step, first):
    callback.on_train_batch_end(SimpleNamespace(global_step=step, is_global_zero=first), model, {}, None, step)


def transformers(callback, model, step, first):
    state = SimpleNamespace(global_step=step, is_world_process_zero=first)
    callback.on_step_end(None, state, None, model=model, optimizer=None)


@pytest.mark.parametrize(
    ("code", "package", "base", "call"),
    [
        (LIGHTNING, "lightning.pytorch", "Callback", lightning),
        (TRANSFORMERS, "transformers", "TrainerCallback", transformers),
    ],
)
def test_a_callback_measures_each_hundredth_step_on_one_process(code, package, base, call, monkeypatch):
    stand_in = ModuleType(package)
    setattr(stand_in, base, object)
    monkeypatch.setitem(sys.modules, package.partition(".")[0], ModuleType(package.partition(".")[0]))
    monkeypatch.setitem(sys.modules, package, stand_in)
    there: dict = {"curves": {}, "load_curve": load_curve, "x": X, "y": Y}
    exec(code, there)
    model, callback = mlp(), there["Watch"]()
    for first in (False, True):
        for step in (99, 100, 150, 200):
            call(callback, model, step, first)
        assert list(there["curves"]) == ([100, 200] if first else [])
    np.testing.assert_array_equal(there["curves"][200], load_curve(model, X, Y))
