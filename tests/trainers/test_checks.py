"""At the front door of every trainer and walker, and of their specs: what is given is taken, or refused by name with a
remedy. What :func:`validate_data` and the specs say is looked at once each; that every door asks them, door by door.
"""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trainer_data import clusters

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, SingleSample, Training, train, train_lenet
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, settle, walk
from deepmech.trainers.run import validate_data

CLOUDS = clusters(60, 4, 3)
STREAM = Stream.of("front door", 0)
X = STREAM.uniform("x", 0, (9, 1024)).astype(np.float32)
IMAGES = SimpleNamespace(
    x_train=X, y_train=np.arange(9) % 3, x_test=X[:6], y_test=np.arange(6) % 3, n_classes=3, shape=(1, 32, 32),
    fingerprint="images",
)  # fmt: skip
POINTS = STREAM.normal("points", 0, (30, 4))
SIGNS = SimpleNamespace(x=POINTS, y=np.where(POINTS[:, 0] > 0, 1.0, -1.0), fingerprint="signs")
SMALL = MLP(depth=2, width=3), Training(epochs=2)
STILL = Dynamics(width=3, hidden=1), Preparation(sgd_steps=5)
DOORS = {
    "train": (partial(train, *SMALL), CLOUDS),
    "train_lenet": (partial(train_lenet, SingleSample(iterations=3)), IMAGES),
    "walk": (partial(walk, *STILL, steps=10), SIGNS),
    "settle": (partial(settle, *STILL), SIGNS),
}
ENTRIES = [("train_lenet", {})]
ENTRIES += [(door, {"engine": engine}) for door in ("train", "walk", "settle") for engine in ("compiled", "torch")]


def changed(data, **fields):
    return SimpleNamespace(**{**vars(data), **fields})


def with_one(array, place, value):
    out = np.array(array, dtype=float if isinstance(value, float) else None)
    out[place] = value
    return out


Y, X_TEST, SIGN = CLOUDS.y_train, CLOUDS.x_test, SIGNS.y
REAL = {"y_train": CLOUDS.x_train[:, 0], "y_test": CLOUDS.x_test[:, 0]}
#: What somebody gives instead, and what is said of it.
FAULTS = [
    ({"y_train": Y + 1}, r"y_train.*out of range, the first at sample 2: 3.*0 … 2.*count classes from 0"),
    ({"y_train": with_one(Y, 5, 0.7)}, r"y_train.*float64: must be whole numbers 0 … 2.*0.7 at sample 5"),
    ({"y_train": Y > 0}, r"y_train.*bool.*whole numbers.*y.astype\(int\)"),
    ({"y_train": Y[None]}, r"y_train.*shape \(1, \d+\).*one number for each sample"),
    ({"x_test": with_one(X_TEST, (3, 1), np.nan)}, r"x_test.*not finite, the first at sample 3, number 1: nan"),
    ({"x_test": X_TEST.astype(float) * 1e300}, "x_test.*beyond float32"),
    ({"x_test": X_TEST[:, None]}, r"x_test.*must be \(samples, numbers\).*x\.reshape\(len\(x\), -1\) flattens"),
    ({"x_test": X_TEST[:, 0]}, r"x_test has shape \(\d+,\).*x\[:, None\] makes samples of one number"),
    ({"x_test": X_TEST[:0], "y_test": CLOUDS.y_test[:0]}, r"data\.x_test has shape.*at least one of each"),
    ({"x_test": [[1.0], [1.0, 2.0]]}, "x_test.*real numbers"),
    ({"x_test": np.tile(X_TEST, 2)}, r"x_train has samples of shape \(4,\), data\.x_test \(8,\): must be equal"),
    ({"n_classes": 1, "y_train": Y * 0, "y_test": Y * 0}, r"data\.n_classes = 1: must be .* at least 2"),
    ({"n_classes": 3.0}, r"data\.n_classes = 3\.0: must be a whole number"),
    ({"y_train": Y * 0}, r"data\.y_train: all .* labels are 0: must be of at least two classes"),
    ({"y": (SIGN > 0) * 1.0}, r"y.*neither -1 nor 1, the first at sample \d+: 0.0; np.where"),
    ({"y": with_one(SIGN, 3, np.nan)}, "y.*1 of 30 numbers are not finite, the first at sample 3: nan"),
    ({"y": np.ones(30)}, "y.*both classes"),
]


@pytest.mark.parametrize(("fields", "words"), FAULTS)
def test_samples_are_finite_numbers_and_labels_are_classes(fields, words):
    signs = "y" in fields
    with pytest.raises(ValueError, match=f"here: .*{words}"):
        validate_data("here", changed(SIGNS if signs else CLOUDS, **fields), "float32", signs=signs)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_looks_at_its_data_before_anything_is_trained(door):
    go, data = DOORS[door]
    name = "x" if data is SIGNS else "x_test"
    with pytest.raises(ValueError, match=rf"{door}: data\.{name}: 1 of .* not finite"):
        go(changed(data, **{name: with_one(getattr(data, name), (3, 1), np.nan)}))
    for other in (None, "digits", vars(data)):
        with pytest.raises(ValueError, match=rf"{door}: data = {type(other).__name__}: has no x.*give arrays"):
            go(other)
    for missing in vars(data).keys() - {"shape", "fingerprint"}:
        with pytest.raises(ValueError, match=f"has no {missing}; give arrays"):
            go(SimpleNamespace(**{k: v for k, v in vars(data).items() if k != missing}))


@pytest.mark.parametrize(("door", "how"), ENTRIES)
def test_any_array_of_the_same_numbers_gives_the_same_bits(door, how):
    go, data = DOORS[door]
    plain = go(data, **how)
    kinds = {
        "list": lambda v, label: v.tolist(),
        "tensor": lambda v, label: torch.tensor(v, requires_grad=v.dtype.kind == "f"),
        "other byte order": lambda v, label: v.astype(v.dtype.newbyteorder(">")),
        "wide": lambda v, label: v.astype((np.float32 if data is SIGNS else np.uint64) if label else float),
        "narrow": lambda v, label: v.astype(np.int8) if label else v,
    }
    for kind, turned in kinds.items():
        arrays = {k: turned(v, k[0] == "y") for k, v in vars(data).items() if isinstance(v, np.ndarray)}
        made = go(changed(data, **arrays), **how)
        for name in plain.data_vars:
            np.testing.assert_array_equal(made[name], plain[name], err_msg=f"{kind}: {name}")


def test_real_targets_need_no_classes_and_what_is_not_measured_needs_no_samples():
    fit = partial(train, MLP(depth=2, width=3), Training(epochs=2, loss="mse"), metrics=())
    zero = fit(changed(CLOUDS, n_classes=0, **REAL))
    for targets in (REAL, {k: v[:, None] for k, v in REAL.items()}):
        other = fit(changed(CLOUDS, n_classes=None, **targets))
        np.testing.assert_array_equal(other["loss"], zero["loss"])
        assert other["accuracy"].isnull().all() and other["state"].item() == "finished"
    gap = changed(CLOUDS, y_train=np.where(Y == 1, 0, Y))
    with pytest.raises(ValueError, match="y_train: class 1 of 3: no sample"):
        train(*SMALL, gap)
    assert train(*SMALL, gap, metrics=())["state"].item() == "finished", "nothing measured needs every class"


def test_a_class_that_is_to_be_drawn_has_samples():
    data = changed(IMAGES, y_train=IMAGES.y_train % 2)
    with pytest.raises(ValueError, match=r"SingleSample\.class_weights: class 2 is to be drawn.*weight 0"):
        train_lenet(SingleSample(iterations=3, class_weights=(0.2, 0.2, 0.6)), data)
    made = train_lenet(SingleSample(iterations=30, class_weights=(0.5, 0.5, 0.0)), data)
    assert set(made["label"].values.tolist()) == {0, 1}


WRONG = {
    "threads": (1.5, True, 0), "experiment": (None,), "engine": (None, "fast"), "seed": (None, -1),
    "device": ("warp", 0, "cuda:99"), "memory": ("2G", float("nan"), -1),
}  # fmt: skip
REACH = {
    "train": "between 0 and Training.epochs = 2",
    "train_lenet": "between 0 and SingleSample.iterations = 3",
    "walk": r"between 1 and steps - min\(waiting\) = 10",
}


@pytest.mark.parametrize("door", DOORS)
def test_arguments_of_every_door_are_refused_by_name(door, monkeypatch):
    go, data = DOORS[door]
    for name, values in WRONG.items():
        for value in values if door != "train_lenet" or name in ("threads", "experiment", "seed") else ():
            with pytest.raises(ValueError, match=rf"{door}: {name} = {re.escape(repr(value))}"):
                go(data, **{name: value})
    with pytest.raises(ValueError, match=rf"{door}.seed: dimension 'dim_0' has no labels.*over"):
        go(data, seed=[0, 1])
    for record in ([], [0.5], [2, 1], ["a"], [-1, 1], "all") if door in REACH else ():
        words = rf"record = {re.escape(repr(record))}: must be a whole number, or a list of increasing whole numbers"
        with pytest.raises(ValueError, match=rf"{door}: {words},? {REACH[door]}"):
            go(data, record=record)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("DEEPMECH_DEVICE", "cuda")
    with pytest.raises(ValueError, match=f"{door}: DEEPMECH_DEVICE = 'cuda'.*device='cpu'"):
        go(data)
    monkeypatch.setenv("DEEPMECH_DEVICE", "")
    assert go(data).attrs["device"] == "cpu"


def fit(*specs, **how):
    return lambda: train(*specs, **({"data": CLOUDS} | how))


def lenet(data=IMAGES, seed=0, **how):
    return lambda: train_lenet(SingleSample(**{"iterations": 3} | how), data, seed=seed)


def walks(**how):
    return lambda: walk(*STILL, SIGNS, **{"steps": 10} | how)


CALLS = [
    (fit(MLP, Training()), "train: network is the class MLP itself: make one first"),
    (fit(None, Training()), "train: network is of type NoneType: must be one of MLP, CNN"),
    (fit(torch.nn.Linear(2, 2), Training()), r"network = Linear\(.*or a function that makes"),
    (fit(MLP(), SingleSample()), "train: training is of type SingleSample: must be a Training"),
    (fit(MLP(depth=3, width=5), Training(batch_size=59)), "leaves a batch of one sample"),
    (fit(*SMALL, engine="torch", together=2, memory=1000.0), r"memory = 1e\+03 bytes.*at least"),
    (fit(*SMALL, metrics="D_hat"), "train: metrics = 'D_hat': must be a list of some of 'D', 'D_hat'"),
    (fit(*SMALL, class_means="no"), "train: class_means = 'no': must be True or False"),
    (fit(*SMALL, data=changed(CLOUDS, n_classes=50_000)), "classes 3, 4, 5, 6, 7 and 49,992 more of 50,000"),
    (fit(*SMALL, record=range(100_001)), r"record = \[0, 1, 2, 3, 4 and 99,996 more\]"),
    (fit(*SMALL, data=changed(CLOUDS, n_classes=None, **REAL)), r"without classes Training\.loss must be 'mse'"),
    *(
        (fit(CNN(convolutions=1, channels=2), Training(), data=changed(CLOUDS, shape=shape)),
         r"data\.shape = .*samples of 4 numbers: CNN needs images")
        for shape in ((1, 3, 3), (4,), None, "4x4", (1.0, 2.0, 2.0))
    ),
    (lenet(changed(IMAGES, x_train=X[:, :1000], x_test=X[:6, :1000])), r"data\.shape = .*samples of 1000 numbers"),
    (lenet(changed(CLOUDS, shape=(1, 2, 2))), r"images must be \(channels, 32, 32\)"),
    (lenet(class_weights=(0.5, 0.5)), "one number for each of the 3 classes"),
    (lambda: torch.inference_mode()(fit(*SMALL, engine="torch"))(), r"train: torch.inference_mode\(\) is on"),
    (fit(partial(torch.nn.Linear, 5, 3), Training(), metrics=()), r"Linear does not take samples of shape \(4, 4\)"),
    (lenet(seed=over("iteration", [0, 1])), "dimension 'iteration'"),
    (walks(chi=[0.0]), r"walk: chi = \[0.0\]: must be a list of different numbers"),
    (walks(steps="10"), "walk: steps = '10': must be a whole number"),
    (walks(waiting=[10]), r"walk: waiting = \[10\]: must be a list of .* between 0 and steps - 1 = 9"),
    (walks(motility_times=[0]), r"walk: motility_times = \[0\]: must be"),
    (lambda: walk(Preparation(), Dynamics(), SIGNS, steps=2), "walk: dynamics is of type Preparation"),
    (lambda: settle(Dynamics(width=over("record", [2, 3])), Preparation(), SIGNS), "settle: .*'record'"),
    (lambda: log_times(0), "log_times: last = 0"),
    (lambda: MLP(dropout=over("dropout", [0.1, 1.2])), r"MLP\.dropout.*1\.2"),
    (lambda: MLP(slope=over("slope", [None, 0.1])), r"over\('slope'\): values = \[None, 0.1\]: must be .* of real"),
    (lambda: Dynamics(batch_size=10, temperature=0.1), r"Dynamics\.temperature = 0\.1"),
]  # fmt: skip


@pytest.mark.parametrize(("go", "words"), CALLS)
def test_what_does_not_fit_together_is_said_in_few_words(go, words):
    with pytest.raises(ValueError, match=words) as error:
        go()
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("spec", "field", "value", "remedy"),
    [
        (MLP, "depth", 1, "at least 2"),
        (MLP, "depth", 2.5, "whole"),
        (MLP, "width", True, "must be a number"),
        (MLP, "slope", 1.5, "between 0"),
        (MLP, "dropout", 1.0, "below 1"),
        (MLP, "dropout", float("nan"), "finite"),
        (MLP, "batch_norm", "yes", "True, False"),
        (MLP, "scale", 2.0, "batch_norm"),
        (CNN, "pooling", "median", "average"),
        (Training, "optimizer", "lbfgs", "sgd"),
        (Training, "learning_rate", 0.0, "positive"),
        (Training, "momentum", 0.9, "adam"),
        (Training, "weight_decay", -0.1, "zero or positive"),
        (Training, "epochs", -1, "at least 0"),
        (Training, "data_noise", 1.5, "label_noise"),
        (Training, "label_noise", 1.5, "fraction"),
        (Training, "dtype", "float16", "float64"),
        (Training, "schedule", ((10, "width", 5.0),), "dropout"),
        (Training, "schedule", ((10, "dropout", 1.0),), "value it allows"),
        (Training, "schedule", ((0, "dropout", 0.1),), "epoch >= 1"),
        (Training, "schedule", None, r"made of \(epoch >= 1"),
        (Dynamics, "dtype", ["mixed"], ""),
        (Dynamics, "temperature", -1.0, ""),
        (Preparation, "sgd_steps", 1.5, ""),
        (SingleSample, "learning_rate", 0.0, "must be positive"),
        (SingleSample, "class_weights", [0.5, 0.6], ""),
    ],
)
def test_errors_of_specs_name_field_value_and_remedy(spec, field, value, remedy):
    with pytest.raises(ValueError, match=rf"{spec.__name__}\.{field}.*{remedy}") as error:
        spec(**{field: value})
    assert str(value if not isinstance(value, str) else repr(value)) in str(error.value)
