"""At the front door of every trainer and walker: data and arguments are taken, or refused by name with a remedy.

What :func:`samples` and the specs' validators say is looked at once each; that every door asks them, door by door.
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
from deepmech.trainers.run import samples

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


LABELS = [
    (lambda y: y + 1, r"labels are out of range, the first at sample 2: 3.*0 … 2.*count classes from 0"),
    (lambda y: with_one(y, 5, -1), "1 of .* labels are out of range, the first at sample 5: -1"),
    (lambda y: with_one(y, 5, 0.7), "float64: must be whole numbers 0 … 2.*0.7 at sample 5"),
    (lambda y: y.astype(float), r"float64.*whole numbers.*y.astype\(int\)"),
    (lambda y: y > 0, r"bool.*whole numbers.*y.astype\(int\)"),
    (lambda y: y[:, None], r"shape \(\d+, 1\).*one number for each sample"),
    (lambda y: None, "NoneType.*real numbers"),
]
SIGN_LABELS = [
    (lambda y: (y > 0) * 1.0, r"neither -1 nor 1, the first at sample \d+: 0.0; np.where"),
    (lambda y: y > 0, "30 of 30 labels are neither -1 nor 1"),
    (lambda y: with_one(y, 3, np.nan), "1 of 30 numbers are not finite, the first at sample 3: nan"),
    (lambda y: y.astype(int).astype(np.uint8), "neither -1 nor 1.*255"),
    (lambda y: y[:, None], r"shape \(30, 1\)"),
    (lambda y: np.ones(30), "both classes"),
]
NUMBERS = [
    (lambda x: with_one(x, (3, 1), np.nan), r"1 of \S+ numbers are not finite, the first at sample 3, number 1: nan"),
    (lambda x: x.astype(float) * 1e300, "beyond float32"),
    (lambda x: x.astype(complex), "complex128.*real numbers"),
    (lambda x: x[:, None], r"must be \(samples, numbers\).*flatten"),
    (lambda x: x[:0], "at least one of each"),
    (lambda x: [[1.0], [1.0, 2.0]], "real numbers"),
]


@pytest.mark.parametrize(
    ("name", "spoil", "words"),
    [("y_train", *fault) for fault in LABELS] + [("x_test", *fault) for fault in NUMBERS],
)
def test_samples_are_finite_numbers_and_labels_whole_ones_from_0(name, spoil, words):
    with pytest.raises(ValueError, match=rf"here: data\.{name}.*{words}"):
        samples("here", changed(CLOUDS, **{name: spoil(getattr(CLOUDS, name))}), "float32")


@pytest.mark.parametrize(("spoil", "words"), SIGN_LABELS)
def test_labels_of_walkers_are_signs(spoil, words):
    with pytest.raises(ValueError, match=rf"here: data\.y.*{words}"):
        samples("here", changed(SIGNS, y=spoil(SIGNS.y)), "float32", signs=True)


def test_both_sets_fit_together_and_there_are_two_classes_at_least():
    alike = {"y_train": CLOUDS.y_train * 0, "y_test": CLOUDS.y_test * 0}
    for change, words in (
        ({"x_test": np.tile(CLOUDS.x_test, 2)}, r"x_train has 4 numbers in a sample, data\.x_test 8: must be equal"),
        ({"x_test": CLOUDS.x_test[:0], "y_test": CLOUDS.y_test[:0]}, r"data\.x_test has shape"),
        ({"n_classes": 1, **alike}, r"data\.n_classes = 1: must be .* at least 2"),
        ({"y_train": CLOUDS.y_train * 0}, r"data\.y_train: all .* labels are 0: must be of at least two classes"),
        *(({"n_classes": n}, f"data.n_classes = {n!r}: must be a whole number") for n in (3.0, True, "3", -3)),
    ):
        with pytest.raises(ValueError, match=words):
            samples("here", changed(CLOUDS, **change), "float32")


@pytest.mark.parametrize("door", DOORS)
def test_every_door_looks_at_its_data_before_anything_is_trained(door):
    go, data = DOORS[door]
    name = "x" if data is SIGNS else "x_test"
    with pytest.raises(ValueError, match=rf"{door}: data\.{name}: 1 of .* not finite"):
        go(changed(data, **{name: with_one(getattr(data, name), (3, 1), np.nan)}))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(3, 4)))
    for other in (loader, None, "digits", vars(data)):
        with pytest.raises(ValueError, match=rf"{door}: data = {type(other).__name__}: has no x.*fingerprint"):
            go(other)
    for missing in vars(data).keys() - {"shape"}:
        with pytest.raises(ValueError, match=f"has no {missing}; give an object with arrays"):
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


def test_no_message_lists_more_than_a_handful():
    for how, words in (
        ({"data": changed(CLOUDS, n_classes=50_000)}, "classes 3, 4, 5, 6, 7 and 49,992 more of 50,000"),
        ({"data": CLOUDS, "record": range(100_001)}, r"record = \[0, 1, 2, 3, 4 and 99,996 more\]"),
    ):
        with pytest.raises(ValueError, match=words) as error:
            train(*SMALL, **how)
        assert len(str(error.value)) < 300
    gap = changed(CLOUDS, y_train=np.where(CLOUDS.y_train == 1, 0, CLOUDS.y_train))
    with pytest.raises(ValueError, match="y_train: class 1 of 3: no sample"):
        train(*SMALL, gap)
    assert train(*SMALL, gap, metrics=())["state"].item() == "finished", "nothing measured needs every class"


def test_real_targets_need_no_classes():
    real = {"y_train": CLOUDS.x_train[:, 0], "y_test": CLOUDS.x_test[:, 0]}
    columns = {k: v[:, None] for k, v in real.items()}
    fit = partial(train, MLP(depth=2, width=3), Training(epochs=2, loss="mse"), metrics=())
    zero = fit(changed(CLOUDS, n_classes=0, **real))
    for targets in (real, columns):
        other = fit(changed(CLOUDS, n_classes=None, **targets))
        np.testing.assert_array_equal(other["loss"], zero["loss"])
        assert other["accuracy"].isnull().all() and other["state"].item() == "finished"
    with pytest.raises(ValueError, match=r"without classes Training\.loss must be 'mse'"):
        train(*SMALL, changed(CLOUDS, n_classes=None, **real))
    with pytest.raises(ValueError, match=r"data\.y_train.*not finite"):
        fit(changed(CLOUDS, n_classes=0, **{**real, "y_train": with_one(real["y_train"], 3, np.nan)}))
    with pytest.raises(ValueError, match=r"data\.y_train has shape \(60, 2\)"):
        fit(changed(CLOUDS, n_classes=0, y_train=CLOUDS.x_train[:, :2]))


def test_images_have_the_shape_that_is_said():
    for shape in ((1, 3, 3), (4,), None, "4x4", (1, 1, 4), (1.0, 2.0, 2.0)):
        with pytest.raises(ValueError, match=r"data\.shape = .*samples of 4 numbers: CNN needs images"):
            train(CNN(convolutions=1, channels=2), Training(epochs=1), changed(CLOUDS, shape=shape))
    cut = {name: getattr(IMAGES, name)[:, :1000] for name in ("x_train", "x_test")}
    with pytest.raises(ValueError, match=r"data\.shape = .*samples of 1000 numbers"):
        train_lenet(SingleSample(iterations=2), changed(IMAGES, **cut))


def test_what_lenets_want_of_data_is_said():
    with pytest.raises(ValueError, match=r"images must be \(channels, 32, 32\)"):
        train_lenet(SingleSample(iterations=3), changed(CLOUDS, shape=(1, 2, 2)))
    with pytest.raises(ValueError, match="one number for each of the 3 classes"):
        train_lenet(SingleSample(iterations=3, class_weights=(0.5, 0.5)), IMAGES)
    with pytest.raises(ValueError, match="dimension 'iteration'"):
        train_lenet(SingleSample(iterations=3), IMAGES, seed=over("iteration", [0, 1]))


def test_a_class_that_is_to_be_drawn_has_samples():
    data = changed(IMAGES, y_train=IMAGES.y_train % 2)
    with pytest.raises(ValueError, match=r"SingleSample\.class_weights: class 2 is to be drawn.*weight 0"):
        train_lenet(SingleSample(iterations=3, class_weights=(0.2, 0.2, 0.6)), data)
    made = train_lenet(SingleSample(iterations=30, class_weights=(0.5, 0.5, 0.0)), data)
    assert set(made["label"].values.tolist()) == {0, 1}


WRONG = {
    "threads": (1.5, "2", True, 0),
    "experiment": (None,),
    "engine": (None, ["torch"], "fast"),
    "seed": (None, True, -1),
    "device": ("warp", 0, "cuda:99", ""),
    "memory": ("2G", float("nan"), -1),
}


@pytest.mark.parametrize("door", DOORS)
def test_arguments_of_every_door_are_refused_by_name(door):
    go, data = DOORS[door]
    for name, values in WRONG.items():
        for value in values if door != "train_lenet" or name in ("threads", "experiment", "seed") else ():
            with pytest.raises(ValueError, match=rf"{door}: {name} = {re.escape(repr(value))}"):
                go(data, **{name: value})
    with pytest.raises(ValueError, match=rf"{door}.seed: dimension 'dim_0' has no labels.*over"):
        go(data, seed=[0, 1])


@pytest.mark.parametrize(
    ("door", "reach"),
    [
        ("train", "between 0 and Training.epochs = 2"),
        ("train_lenet", "between 0 and SingleSample.iterations = 3"),
        ("walk", r"between 1 and steps - min\(waiting\) = 10"),
    ],
)
def test_what_is_recorded_rises_within_reach(door, reach):
    go, data = DOORS[door]
    for record in ([], [0.5], [1, 1], [2, 1], ["a"], [True], [-1, 1], 1.5, "all"):
        words = rf"record = {re.escape(repr(record))}: must be a whole number, or a list of increasing whole numbers"
        with pytest.raises(ValueError, match=rf"{door}: {words},? {reach}"):
            go(data, record=record)
    with pytest.raises(ValueError, match=f"{door}: record = 0: must be a whole number"):
        go(data, record=0)


@pytest.mark.parametrize(
    ("door", "name", "values", "words"),
    [
        ("train", "metrics", (None, "D_hat"), "a list of some of 'D', 'D_hat'"),
        ("train", "class_means", ("no",), "True or False"),
        ("walk", "chi", ([], [0.0], [-1.0], [np.inf], [3.0, 3.0], 3.0, None, ["a"]), "a list of different numbers"),
        ("walk", "steps", (10.0, "10", True, None), "a whole number"),
        ("walk", "waiting", (0, [], [1.5], [1, 1], None, [10]), r"a list of .* between 0 and steps - 1 = 9"),
        ("walk", "motility_times", ([0], [1.5], None), ""),
    ],
)
def test_arguments_of_one_door_are_refused_by_name(door, name, values, words):
    go, data = DOORS[door]
    for value in values:
        with pytest.raises(ValueError, match=rf"{door}: {name} = {re.escape(repr(value))}: must be {words}"):
            go(data, **{name: value})


@pytest.mark.parametrize("door", DOORS)
def test_a_device_of_the_environment_that_is_not_there_is_named(door, monkeypatch):
    go, data = DOORS[door]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("DEEPMECH_DEVICE", "cuda")
    with pytest.raises(ValueError, match=f"{door}: DEEPMECH_DEVICE = 'cuda'.*device='cpu'"):
        go(data)
    monkeypatch.setenv("DEEPMECH_DEVICE", "")
    assert go(data).attrs["device"] == "cpu"


@pytest.mark.parametrize(
    ("go", "words"),
    [
        (lambda: train(MLP, Training(), CLOUDS), "train: network is the class MLP itself: make one first"),
        (lambda: train(None, Training(), CLOUDS), "train: network is of type NoneType: must be one of MLP, CNN"),
        (lambda: train(torch.nn.Linear(2, 2), Training(), CLOUDS), r"network = Linear\(.*or a function that makes"),
        (lambda: train(MLP(), Training, CLOUDS), "train: training is the class Training itself"),
        (lambda: train(MLP(), SingleSample(), CLOUDS), "train: training is of type SingleSample: must be a Training"),
        (lambda: train_lenet(Training(), IMAGES), "train_lenet: training is of type Training: must be a SingleSample"),
        (lambda: train(MLP(depth=3, width=5), Training(batch_size=59), CLOUDS), "leaves a batch of one sample"),
        (lambda: train(*SMALL, CLOUDS, engine="torch", together=2, memory=1000.0), r"memory = 1e\+03 bytes.*at least"),
        (lambda: walk(Preparation(), Dynamics(), SIGNS, steps=2), "walk: dynamics is of type Preparation"),
        (lambda: settle(Dynamics(width=over("record", [2, 3])), Preparation(), SIGNS), "settle: .*'record'"),
        (lambda: log_times(0), "log_times: last = 0"),
        (lambda: Dynamics(dtype=["mixed"]), r"Dynamics\.dtype = \['mixed'\]"),
        (lambda: Dynamics(width="5"), r"Dynamics\.width = '5': must be a number"),
        (lambda: Dynamics(temperature=-1.0), r"Dynamics\.temperature = -1\.0"),
        (lambda: Dynamics(batch_size=10, temperature=0.1), r"Dynamics\.temperature = 0\.1"),
        (lambda: Preparation(sgd_steps=1.5), r"Preparation\.sgd_steps = 1\.5"),
        (lambda: SingleSample(learning_rate=0.0), r"SingleSample\.learning_rate = 0\.0: must be positive"),
        (lambda: SingleSample(class_weights=(0.5, 0.6)), r"SingleSample\.class_weights"),
        (lambda: MLP(width=True), r"MLP\.width = True: must be a number"),
        (lambda: MLP(slope=over("slope", [None, 0.1])), r"over\('slope'\): values = \[None, 0.1\]: must be .* of real"),
        *[
            (lambda schedule=schedule: Training(schedule=schedule), r"Training\.schedule = .*made of \(epoch >= 1")
            for schedule in (
                None, (("a", "dropout", 0.1),), ((1, "dropout", "x"),), over("schedule", [1, 2]),
            )
        ],
    ],
)  # fmt: skip
def test_specs_and_numbers_are_refused_by_name(go, words):
    with pytest.raises(ValueError, match=words):
        go()
