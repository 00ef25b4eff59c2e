"""What a trainer's result says of its making: another number has another record, and the record makes it again."""

import inspect
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
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
SAME = {"engine", "threads", "device", "ensemble_size", "keep_models", "more", "arguments", "layers"}
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


def test_the_code_of_a_factory_is_its_text():
    assert code_of(factory) == code_of(partial(factory, layers=2)) != code_of(other)
    assert code_of(nn.Linear) == code_of(nn.Linear) != code_of(nn.Bilinear)
    text = {}
    exec("def made_in_memory(): return 1", text)
    assert code_of(text["made_in_memory"]) is None
    assert FactoryNetwork(text["made_in_memory"], {}).to_json()["code"] is None


def test_a_record_of_a_factory_is_no_spec():
    with pytest.raises(
        ValueError, match=r"FactoryNetwork\.from_json: the record names the factory 'factory'.*call train with"
    ):
        FactoryNetwork.from_json(FactoryNetwork(factory, {"width": 3}).to_json())
