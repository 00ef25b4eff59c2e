"""What a trainer's result says of its making: another number has another record, and the record makes it again."""

import inspect
import json
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from deepmech import over
from deepmech.core.random import Stream
from deepmech.core.specs import decode
from deepmech.trainers import MLP, Dynamics, Preparation, SingleSample, Training, prepare, train, train_lenet, walk
from deepmech.trainers.specs import FactoryNetwork, code_of

X = Stream.of("records").normal("x", 0, (24, 4)).astype("float32")
DATA, OTHERS = (X, np.arange(24) % 3), (X + 1, np.arange(24) % 3)
IMAGES = Stream.of("records").normal("images", 0, (9, 1, 32, 32))
SIGNS = X, np.where(X[:, 0] > 0, 1.0, -1.0)
QUICK = Preparation(sgd_steps=6, batch_size=8)


def factory(width=4, layers=1):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))


def other(width=4, layers=1):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


#: What a door is called with, and other values of each argument. Threads change nothing, devices are not all there.
VERBS = {
    "own": (train, {"network": factory, "training": Training(epochs=3), "data": DATA}, {
        "network": other, "training": Training(epochs=3, learning_rate=0.01), "data": OTHERS, "seed": over("s", [1, 5]),
        "record": [0, 3], "metrics": ["D_hat"], "class_means": True, "layers": ["1"], "experiment": "another",
        "arguments": {"width": over("width", [3, 5])},
    }),
    "MLP": (train, {"network": MLP(depth=3, width=4), "training": Training(epochs=3), "data": DATA}, {
        "network": MLP(depth=3, width=5), "training": Training(epochs=3, loss="mse"), "data": OTHERS, "seed": 1,
        "record": 2, "metrics": [], "class_means": True, "experiment": "another",
    }),
    "lenet": (train_lenet, {"training": SingleSample(iterations=4), "data": (IMAGES, np.arange(9) % 3) * 2}, {
        "training": SingleSample(iterations=4, learning_rate=0.02), "data": (-IMAGES, np.arange(9) % 3) * 2,
        "seed": over("trial", [0, 2]), "record": 2, "experiment": "another",
    }),
    "prepare": (prepare, {"dynamics": Dynamics(width=3, hidden=1), "preparation": QUICK, "data": SIGNS}, {
        "dynamics": Dynamics(width=3, hidden=1, regularisation=0.1), "preparation": Preparation(sgd_steps=7),
        "data": (-X, SIGNS[1]), "seed": 1, "experiment": "another",
    }),
    "walk": (walk, {"dynamics": Dynamics(width=3, hidden=1, temperature=0.1), "preparation": QUICK, "data": SIGNS,
                    "steps": 9, "record": [2, 4], "waiting": [0, 3]}, {
        "dynamics": Dynamics(width=3, hidden=1, temperature=over("T", [0.1, 0.2])), "preparation": Preparation(gain=2.0,
        sgd_steps=3), "data": (-X, SIGNS[1]), "steps": 6, "seed": 1, "waiting": [0, 2], "record": [3], "chi": [10.0],
        "motility_times": [2], "experiment": "another",
    }),
}  # fmt: skip
#: Of these only the last digits, or nothing, depend.
SAME = {"engine", "threads", "device", "ensemble_size", "more", "arguments", "layers"}
CHANGES = [(verb, name) for verb, (_, _, others) in VERBS.items() for name in others]


def record(made):
    attrs = {k: v for k, v in made.attrs.items() if k not in ("wall_seconds", "fallback_reason")}
    return attrs, {k: (v.dims, v.values.tolist()) for k, v in made.coords.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_tried(verb):
    call, _, others = VERBS[verb]
    assert inspect.signature(call).parameters.keys() - SAME <= others.keys()


@pytest.mark.parametrize(("verb", "name"), CHANGES)
def test_another_argument_is_another_record_and_a_record_makes_its_numbers_again(verb, name):
    call, base, others = VERBS[verb]
    asked = base | {name: others[name]}
    one, two = call(**base), call(**asked)
    assert not one.equals(two), "an argument that changes nothing proves nothing"
    assert record(one) != record(two)
    spec, how = json.loads(two.attrs["spec"]), json.loads(two.attrs["call"])
    kinds = {"training": Training, "network": MLP, "dynamics": Dynamics, "preparation": Preparation}
    specs = {"training": SingleSample.from_json(spec)} if verb == "lenet" else {}
    for part in {} if verb == "lenet" else spec:
        if spec[part]["spec"] == "FactoryNetwork":
            specs |= {"network": {"factory": factory, "other": other}[spec[part]["factory"]]}
            specs["arguments"] = {k: decode(v) for k, v in spec[part]["arguments"].items()}
            assert code_of(specs["network"]) == spec[part]["code"]
        else:
            specs[part] = kinds[part].from_json(spec[part])
    how = {k: decode(v) for k, v in how.items() if v not in (None, [], ()) or k == "metrics"}
    again = call(**specs, data=asked["data"], experiment=two.attrs["experiment"], **how)
    xr.testing.assert_identical(again.drop_attrs(), two.drop_attrs())
    assert record(again) == record(two)


@pytest.mark.parametrize("name", ["x_train", "y_train", "x_test", "y_test"])
def test_a_name_given_to_other_samples_is_no_record_of_them(name):
    arrays = dict(zip(("x_train", "y_train", "x_test", "y_test"), DATA * 2, strict=True))
    changed = arrays | {name: arrays[name][::-1]}
    one, two = (
        train(factory, Training(epochs=1), SimpleNamespace(**given, n_classes=3, fingerprint="mine"))
        for given in (arrays, changed)
    )
    assert one.data == two.data == "mine" and one.samples != two.samples
    assert one.samples == train(factory, Training(epochs=1), DATA * 2).data


def make(text):
    found = {"nn": nn, "torch": torch, "SimpleNamespace": SimpleNamespace, "mine": mine, "__name__": "somewhere"}
    exec(text, found)
    return found["f"]


def mine(number):
    """A module of a user's own, whose network depends on this."""
    module = ModuleType("my_networks")
    exec(f"class Net:\n  def __call__(self): return {number}", vars(module))
    return module


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("f = lambda: nn.ReLU()", "f = lambda: nn.Tanh()"),
        ("f = lambda p=0.1: nn.Dropout(p)", "f = lambda p=0.2: nn.Dropout(p)"),
        ("W = 3\ndef f(): return nn.Linear(4, W)", "W = 4\ndef f(): return nn.Linear(4, W)"),
        ("def g(): return nn.ReLU()\ndef f(): return g()", "def g(): return nn.Tanh()\ndef f(): return g()"),
        (
            "def h(w):\n  return lambda: nn.Linear(4, w)\nf = h(3)",
            "def h(w):\n  return lambda: nn.Linear(4, w)\nf = h(4)",
        ),
        (
            "class f(nn.Module):\n  def forward(self, x): return x",
            "class f(nn.Module):\n  def forward(self, x): return -x",
        ),
        (
            "class f(nn.Module):\n  @property\n  def n(self): return 1",
            "class f(nn.Module):\n  @property\n  def n(self): return 2",
        ),
        (
            "torch.manual_seed(0)\nm = nn.Linear(2, 2)\nf = lambda m=m: m",
            "torch.manual_seed(1)\nm = nn.Linear(2, 2)\nf = lambda m=m: m",
        ),
        (
            "S = {'width': [3]}\ndef f(): return nn.Linear(*S['width'])",
            "S = {'width': [4]}\ndef f(): return nn.Linear(*S['width'])",
        ),
        (
            "W = 3\ndef f(): return [*(nn.Linear(W, W) for _ in '12')]",
            "W = 4\ndef f(): return [*(nn.Linear(W, W) for _ in '12')]",
        ),
        (
            "S = SimpleNamespace(width=3)\ndef f(): return nn.Linear(S.width, 3)",
            "S = SimpleNamespace(width=4)\ndef f(): return nn.Linear(S.width, 3)",
        ),
        (
            "class S: pass\ns = S()\ns.width = 3\ndef f(): return nn.Linear(s.width, 3)",
            "class S: pass\ns = S()\ns.width = 4\ndef f(): return nn.Linear(s.width, 3)",
        ),
        ("S = torch.zeros(3)\ndef f(): return S", "S = torch.ones(3)\ndef f(): return S"),
        ("f = mine(1).Net", "f = mine(2).Net"),
        ("m = mine(1)\nf = lambda: m.Net()", "m = mine(2)\nf = lambda: m.Net()"),
        ("Net = mine(1).Net\nf = lambda: Net()", "Net = mine(2).Net\nf = lambda: Net()"),
    ],
)
def test_another_factory_has_another_code(one, two):
    assert code_of(make(one)) == code_of(make(one)) == code_of(make("# moved\n\n" + one)) != code_of(make(two))


def test_code_that_goes_in_circles_ends():
    text = "L = []\nL.append(L)\ndef g(): return f()\ndef f(): return g(), L"
    assert code_of(make(text)) == code_of(make(text)) != code_of(make(text + ", 1"))


def test_a_record_of_a_factory_is_no_spec():
    with pytest.raises(
        ValueError, match=r"FactoryNetwork\.from_json: the record names the factory 'factory'.*call train with"
    ):
        FactoryNetwork.from_json(FactoryNetwork(factory, {"width": 3}).to_json())
