"""At the front door of every trainer and walker: data and arguments are taken, or refused by name with a remedy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trainer_data import clusters

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, SingleSample, Training, train, train_lenet
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, settle, walk

CLOUDS = clusters(60, 4, 3)


def _images():
    s = Stream.of("front door", 0)
    x, y = s.uniform("x", 0, (9, 1024)).astype(np.float32), np.arange(9) % 3
    return SimpleNamespace(
        x_train=x, y_train=y, x_test=x[:6], y_test=y[:6], n_classes=3, shape=(1, 32, 32), fingerprint="images"
    )


def _signs():
    x = Stream.of("front door", 1).normal("x", 0, (30, 4))
    return SimpleNamespace(x=x, y=np.where(x[:, 0] > 0, 1.0, -1.0), fingerprint="signs")


IMAGES, SIGNS = _images(), _signs()
TRAINERS = {
    "train compiled": lambda data, **how: train(*SMALL, data, **{"engine": "compiled", **how}),
    "train torch": lambda data, **how: train(*SMALL, data, **{"engine": "torch", **how}),
    "train without metrics": lambda data, **how: train(*SMALL, data, **{"metrics": (), **how}),
    "train_lenet compiled": lambda data, **how: train_lenet(SingleSample(iterations=3), data, **how),
    "train_lenet torch": lambda data, **how: train_lenet(
        SingleSample(iterations=3), data, **{"engine": "torch", **how}
    ),
}
WALKERS = {
    f"{name} {engine}": lambda data, go=go, engine=engine, **how: go(data, **{"engine": engine, **how})
    for name, go in {
        "walk": lambda data, **how: walk(*STILL, data, **{"steps": 10, **how}),
        "settle": lambda data, **how: settle(*STILL, data, **how),
    }.items()
    for engine in ("compiled", "torch")
}
SMALL = MLP(depth=2, width=3), Training(epochs=2)
STILL = Dynamics(width=3, hidden=1), Preparation(sgd_steps=5)


def data_of(trainer):
    return SIGNS if trainer in WALKERS else IMAGES if "lenet" in trainer else CLOUDS


def changed(data, **fields):
    return SimpleNamespace(**{**vars(data), **fields})


def with_one(array, place, value):
    out = np.array(array, dtype=float if isinstance(value, float) else None)
    out[place] = value
    return out


LABELS = {
    "1 … K": (lambda y: y + 1, r"labels are out of range, the first at sample 2: 3.*0 … 2.*count classes from 0"),
    "-1": (lambda y: with_one(y, 5, -1), "1 of .* labels are out of range, the first at sample 5: -1"),
    "130": (lambda y: with_one(y, 5, 130), "sample 5: 130"),
    "a billion": (lambda y: with_one(y, 5, 10**9), "sample 5: 1000000000"),
    "0.7": (lambda y: with_one(y, 5, 0.7), "float64: must be whole numbers 0 … 2.*0.7 at sample 5"),
    "nan": (lambda y: with_one(y, 5, np.nan), "whole numbers.*nan at sample 5"),
    "whole floats": (lambda y: y.astype(float), r"float64.*whole numbers.*y.astype\(int\)"),
    "booleans": (lambda y: y > 0, r"bool.*whole numbers.*y.astype\(int\)"),
    "words": (lambda y: y.astype(str), "real numbers"),
    "one column": (lambda y: y[:, None], r"shape \(\d+, 1\).*one number for each sample"),
    "too few": (lambda y: y[:-1], "one number for each sample"),
    "none": (lambda y: None, "NoneType.*real numbers"),
}


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("fault", LABELS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_labels_are_whole_numbers_from_0(trainer, fault, split):
    spoil, words = LABELS[fault]
    data = data_of(trainer)
    bad = changed(data, **{f"y_{split}": spoil(getattr(data, f"y_{split}"))})
    with pytest.raises(ValueError, match=rf"{trainer.split()[0]}: data\.y_{split}.*{words}"):
        TRAINERS[trainer](bad)


@pytest.mark.parametrize("trainer", WALKERS)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda y: (y > 0) * 1.0, r"neither -1 nor 1, the first at sample \d+: 0.0; np.where"),
        (lambda y: y > 0, "30 of 30 labels are neither -1 nor 1"),
        (lambda y: with_one(y, 3, 0.7), "1 of 30 labels.*sample 3: 0.7"),
        (lambda y: with_one(y, 3, np.nan), "1 of 30 numbers are not finite, the first at sample 3: nan"),
        (lambda y: y.astype(int).astype(np.uint8), "neither -1 nor 1.*255"),
        (lambda y: y.astype(str), "real numbers"),
        (lambda y: y[:, None], r"shape \(30, 1\)"),
        (lambda y: y[:-1], "one number for each sample"),
        (lambda y: np.ones(30), "both classes"),
    ],
)
def test_labels_of_walkers_are_signs(trainer, spoil, words):
    with pytest.raises(ValueError, match=rf"{trainer.split()[0]}: data\.y.*{words}"):
        WALKERS[trainer](changed(SIGNS, y=spoil(SIGNS.y)))


@pytest.mark.parametrize("trainer", [*TRAINERS, *WALKERS])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda x: with_one(x, (3, 1), np.nan),
            r"1 of \S+ numbers are not finite, the first at sample 3, number 1: nan",
        ),
        (lambda x: with_one(x, (3, 1), np.inf), r"1 of .* not finite, the first at sample 3, number 1: inf"),
        (lambda x: x.astype(float) * 1e300, "beyond float32"),
        (lambda x: x.astype(complex), "complex128.*real numbers"),
        (lambda x: x.astype(str), "real numbers"),
        (lambda x: x[:, 0], r"must be \(samples, numbers\)"),
        (lambda x: x[:, None], r"must be \(samples, numbers\).*flatten"),
        (lambda x: x[:0], "at least one of each"),
        (lambda x: [[1.0], [1.0, 2.0]], "real numbers"),
    ],
)
def test_samples_are_finite_numbers_one_row_each(trainer, spoil, words):
    data, name = data_of(trainer), "x" if trainer in WALKERS else "x_train"
    with pytest.raises(ValueError, match=rf"{trainer.split()[0]}: data\.{name}.*{words}"):
        {**TRAINERS, **WALKERS}[trainer](changed(data, **{name: spoil(getattr(data, name))}))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_test_set_is_looked_at_as_well(trainer):
    data = data_of(trainer)
    with pytest.raises(ValueError, match=r"data\.x_test.*not finite"):
        TRAINERS[trainer](changed(data, x_test=with_one(data.x_test, (0, 0), np.inf)))
    with pytest.raises(ValueError, match=r"data\.x_train has .* numbers in a sample, data\.x_test .*: must be equal"):
        TRAINERS[trainer](changed(data, x_test=np.tile(data.x_test, 2)))
    with pytest.raises(ValueError, match=r"data\.x_test has shape"):
        TRAINERS[trainer](changed(data, x_test=data.x_test[:0], y_test=data.y_test[:0]))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_there_are_two_classes_at_least(trainer):
    data = data_of(trainer)
    alike = {"y_train": data.y_train * 0, "y_test": data.y_test * 0}
    with pytest.raises(ValueError, match=r"data\.n_classes = 1: must be .* at least 2"):
        TRAINERS[trainer](changed(data, n_classes=1, **alike))
    with pytest.raises(ValueError, match=r"data\.y_train: all .* labels are 0: must be of at least two classes"):
        TRAINERS[trainer](changed(data, y_train=data.y_train * 0))
    for wrong in (3.0, True, "3", -3):
        with pytest.raises(ValueError, match=f"data.n_classes = {wrong!r}: must be a whole number"):
            TRAINERS[trainer](changed(data, n_classes=wrong))


@pytest.mark.parametrize("trainer", [*TRAINERS, *WALKERS])
@pytest.mark.parametrize("kind", ["list", "tensor", "other byte order", "wide", "narrow"])
def test_any_array_of_the_same_numbers_gives_the_same_bits(trainer, kind):
    data = data_of(trainer)
    fields = {}
    for name, value in vars(data).items():
        if not isinstance(value, np.ndarray):
            continue
        other = value.dtype.newbyteorder(">")
        label, signs = name.startswith("y"), trainer in WALKERS
        fields[name] = {
            "list": value.tolist(),
            "tensor": torch.tensor(value, requires_grad=value.dtype.kind == "f"),
            "other byte order": value.astype(other),
            "wide": value.astype(np.float32 if signs else np.uint64) if label else value.astype(float),
            "narrow": value.astype(np.int8) if label else value,
        }[kind]
    go = {**TRAINERS, **WALKERS}[trainer]
    plain, made = go(data), go(changed(data, **fields))
    for name in plain.data_vars:
        np.testing.assert_array_equal(made[name], plain[name], err_msg=name)


@pytest.mark.parametrize("trainer", [*TRAINERS, *WALKERS])
@pytest.mark.parametrize("what", ["DataLoader", "None", "name", "dictionary"])
def test_what_is_no_data_set_is_refused_by_name(trainer, what):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(3, 4)))
    data = {"DataLoader": loader, "None": None, "name": "digits", "dictionary": vars(data_of(trainer))}[what]
    kind = type(data).__name__
    with pytest.raises(ValueError, match=rf"{trainer.split()[0]}: data = {kind}: has no x.*fingerprint"):
        {**TRAINERS, **WALKERS}[trainer](data)


@pytest.mark.parametrize("trainer", [*TRAINERS, *WALKERS])
def test_what_is_missing_is_missed_before_training(trainer):
    fields = vars(data_of(trainer))
    for name in fields.keys() - {"shape"}:
        lacking = SimpleNamespace(**{k: v for k, v in fields.items() if k != name})
        with pytest.raises(ValueError, match=f"has no {name}; give an object with arrays"):
            {**TRAINERS, **WALKERS}[trainer](lacking)


def test_no_message_lists_more_than_a_handful():
    many = changed(CLOUDS, n_classes=50_000)
    with pytest.raises(ValueError, match="classes 3, 4, 5, 6, 7 and 49,992 more of 50,000") as error:
        train(*SMALL, many)
    assert len(str(error.value)) < 300
    with pytest.raises(ValueError, match=r"record = \[0, 1, 2, 3, 4 and 99,996 more\]") as error:
        train(*SMALL, CLOUDS, record=range(100_001))
    assert len(str(error.value)) < 300
    gap = changed(CLOUDS, y_train=np.where(CLOUDS.y_train == 1, 0, CLOUDS.y_train))
    with pytest.raises(ValueError, match="y_train: class 1 of 3: no sample"):
        train(*SMALL, gap)
    assert train(*SMALL, gap, metrics=())["state"].item() == "finished", "nothing measured needs every class"


def test_real_targets_need_no_classes():
    real = {"y_train": CLOUDS.x_train[:, 0], "y_test": CLOUDS.x_test[:, 0]}
    network, training = MLP(depth=2, width=3), Training(epochs=2, loss="mse")
    zero, none, column = (
        train(network, training, changed(CLOUDS, **fields), metrics=())
        for fields in (
            {"n_classes": 0, **real},
            {"n_classes": None, **real},
            {"n_classes": None, **{k: v[:, None] for k, v in real.items()}},
        )
    )
    for other in (none, column):
        np.testing.assert_array_equal(other["loss"], zero["loss"])
        assert other["accuracy"].isnull().all() and other["state"].item() == "finished"
    for n_classes in (0, None):
        with pytest.raises(ValueError, match=r"without classes Training\.loss must be 'mse'"):
            train(*SMALL, changed(CLOUDS, n_classes=n_classes, **real))
    with pytest.raises(ValueError, match=r"data\.y_train.*not finite"):
        broken = with_one(real["y_train"], 3, np.nan)
        train(network, training, changed(CLOUDS, n_classes=0, **{**real, "y_train": broken}), metrics=())
    with pytest.raises(ValueError, match=r"data\.y_train has shape \(60, 2\)"):
        train(network, training, changed(CLOUDS, n_classes=0, y_train=CLOUDS.x_train[:, :2]), metrics=())


def test_images_have_the_shape_that_is_said():
    for shape in ((1, 3, 3), (4,), None, "4x4", (1, 1, 4), (1.0, 2.0, 2.0)):
        with pytest.raises(ValueError, match=r"data\.shape = .*samples of 4 numbers: CNN needs images"):
            train(CNN(convolutions=1, channels=2), Training(epochs=1), changed(CLOUDS, shape=shape))
    with pytest.raises(ValueError, match=r"data\.shape = .*samples of 1000 numbers"):
        train_lenet(SingleSample(iterations=2), changed(IMAGES, x_train=IMAGES.x_train[:, :1000],
                                                       x_test=IMAGES.x_test[:, :1000]))  # fmt: skip


def test_a_class_that_is_to_be_drawn_has_samples():
    data = changed(IMAGES, y_train=IMAGES.y_train % 2)
    with pytest.raises(ValueError, match=r"SingleSample\.class_weights: class 2 is to be drawn.*weight 0"):
        train_lenet(SingleSample(iterations=3, class_weights=(0.2, 0.2, 0.6)), data)
    made = train_lenet(SingleSample(iterations=30, class_weights=(0.5, 0.5, 0.0)), data)
    assert set(made["label"].values.tolist()) == {0, 1}


REQUESTS = [
    # What every entry has.
    *[
        (trainer, how, words)
        for trainer in (*TRAINERS, *WALKERS)
        for how, words in (
            ({"threads": 1.5}, r"threads = 1\.5: must be a whole number"),
            ({"threads": "2"}, "threads = '2'"),
            ({"threads": True}, "threads = True"),
            ({"experiment": None}, "experiment = None: must be a name"),
            ({"engine": None}, "engine = None: must be"),
            ({"engine": ["torch"]}, r"engine = \['torch'\]: must be"),
            ({"seed": None}, "seed = None: must be a whole number"),
            ({"seed": [0, 1]}, r"seed: dimension 'dim_0' has no labels.*over"),
            ({"seed": True}, "seed = True: must be a whole number"),
        )
    ],
    *[
        (trainer, how, words)
        for trainer in ("train compiled", "train torch", *WALKERS)
        for how, words in (
            ({"device": "warp"}, r"device = 'warp': must be 'cpu', 'cuda'"),
            ({"device": 0}, "device = 0: must be 'cpu', 'cuda'"),
            ({"device": "cuda:99"}, "device = 'cuda:99': .*"),
            ({"device": ""}, "device = '': must be"),
            ({"memory": "2G"}, "memory = '2G': must be a number of bytes"),
            ({"memory": float("nan")}, "memory = nan: must be"),
            ({"memory": -1}, "memory = -1: must be"),
            ({"tf32": "no"}, "tf32 = 'no': must be True or False"),
        )
    ],
    *[
        ("train compiled", how, words)
        for how, words in (
            ({"metrics": None}, "metrics = None: must be a list of some of 'D', 'D_hat'"),
            ({"metrics": "D_hat"}, "metrics = 'D_hat': must be a list"),
            ({"class_means": "no"}, "class_means = 'no': must be True or False"),
        )
    ],
    *[
        (f"{trainer} compiled", {"record": record}, words)
        for trainer, reach in (
            ("train", "between 0 and Training.epochs = 2"),
            ("train_lenet", "between 0 and SingleSample.iterations = 3"),
            ("walk", r"between 1 and steps - min\(waiting\) = 10"),
        )
        for record, words in (
            ([], rf"record = \[\]: must be a whole number, or a list of increasing whole numbers,? {reach}"),
            ([0.5], r"record = \[0.5\]: must be"),
            ([1, 1], r"record = \[1, 1\]: must be .*increasing"),
            ([2, 1], r"record = \[2, 1\]: must be .*increasing"),
            (["a"], r"record = \['a'\]: must be"),
            ([True], r"record = \[True\]: must be"),
            ([-1, 1], r"record = \[-1, 1\]: must be"),
            (0, "record = 0: must be a whole number"),
            (1.5, "record = 1.5: must be"),
            ("all", "record = 'all': must be"),
        )
    ],
    *[
        ("walk compiled", how, words)
        for how, words in (
            ({"chi": ()}, r"chi = \[\]: must be a list of different numbers above 0"),
            ({"chi": [0.0]}, r"chi = \[0.0\]: must be"),
            ({"chi": [-1.0]}, r"chi = \[-1.0\]: must be"),
            ({"chi": [np.inf]}, r"chi = \[inf\]: must be"),
            ({"chi": [3.0, 3.0]}, r"chi = \[3.0, 3.0\]: must be a list of different"),
            ({"chi": 3.0}, "chi = 3.0: must be a list"),
            ({"chi": None}, "chi = None: must be a list"),
            ({"chi": ["a"]}, r"chi = \['a'\]: must be"),
            ({"steps": 10.0}, "steps = 10.0: must be a whole number"),
            ({"steps": "10"}, "steps = '10': must be"),
            ({"steps": True}, "steps = True: must be"),
            ({"steps": None}, "steps = None: must be"),
            ({"waiting": 0}, "waiting = 0: must be a list of different whole numbers between 0 and steps - 1 = 9"),
            ({"waiting": ()}, r"waiting = \[\]: must be"),
            ({"waiting": [1.5]}, r"waiting = \[1.5\]: must be"),
            ({"waiting": [1, 1]}, r"waiting = \[1, 1\]: must be"),
            ({"waiting": None}, "waiting = None: must be"),
            ({"motility_times": [0]}, r"motility_times = \[0\]: must be"),
            ({"motility_times": [1.5]}, r"motility_times = \[1.5\]: must be"),
            ({"motility_times": None}, "motility_times = None: must be"),
        )
    ],
]


@pytest.mark.parametrize(("trainer", "how", "words"), REQUESTS)
def test_arguments_are_refused_by_name(trainer, how, words):
    with pytest.raises(ValueError, match=rf"{trainer.split()[0]}[:.] ?{words}"):
        {**TRAINERS, **WALKERS}[trainer](data_of(trainer), **how)


@pytest.mark.parametrize("trainer", [*TRAINERS, *WALKERS])
@pytest.mark.parametrize("name", ["warp", "cuda:99"])
def test_a_device_of_the_environment_that_is_not_there_is_named(trainer, name, monkeypatch):
    monkeypatch.setenv("DEEPMECH_DEVICE", name)
    with pytest.raises(ValueError, match=f"{trainer.split()[0]}: DEEPMECH_DEVICE = '{name}'"):
        {**TRAINERS, **WALKERS}[trainer](data_of(trainer))
    monkeypatch.setenv("DEEPMECH_DEVICE", "")
    made = {**TRAINERS, **WALKERS}[trainer](data_of(trainer))
    assert made.attrs["device"] == "cpu"


@pytest.mark.parametrize(
    ("go", "words"),
    [
        (lambda: train(MLP, Training(), CLOUDS), "train: network is the class MLP itself: make one first"),
        (lambda: train(None, Training(), CLOUDS), "train: network is of type NoneType: must be one of MLP, CNN"),
        (lambda: train(torch.nn.Linear(2, 2), Training(), CLOUDS), r"network = Linear\(.*or a function that makes"),
        (lambda: train(Training(), MLP(), CLOUDS), "train: network is of type Training"),
        (lambda: train(MLP(), Training, CLOUDS), "train: training is the class Training itself"),
        (lambda: train(MLP(), SingleSample(), CLOUDS), "train: training is of type SingleSample: must be a Training"),
        (lambda: train_lenet(Training(), IMAGES), "train_lenet: training is of type Training: must be a SingleSample"),
        (lambda: train_lenet(None, IMAGES), "train_lenet: training is of type NoneType"),
        (lambda: walk(None, Preparation(), SIGNS, steps=2), "walk: dynamics is of type NoneType"),
        (lambda: walk(Preparation(), Dynamics(), SIGNS, steps=2), "walk: dynamics is of type Preparation"),
        (lambda: settle(Dynamics(), None, SIGNS), "settle: preparation is of type NoneType"),
        (lambda: settle(Dynamics, Preparation(), SIGNS), "settle: dynamics is the class Dynamics itself"),
        (lambda: settle(Dynamics(width=over("record", [2, 3])), Preparation(), SIGNS), "settle: .*'record'"),
        (lambda: log_times(0), "log_times: last = 0"),
        (lambda: log_times(10, first=0), "log_times: first = 0"),
        (lambda: log_times(10, per_decade=0), "log_times: per_decade = 0"),
        (lambda: log_times(5, first=10), "log_times: last = 5: .*at least 10"),
        (lambda: log_times(float("nan")), "log_times: last = nan"),
        (lambda: Dynamics(dtype=["mixed"]), r"Dynamics\.dtype = \['mixed'\]"),
        (lambda: Dynamics(dtype=over("dtype", ["mixed"])), r"Dynamics\.dtype"),
        (lambda: Dynamics(width="5"), r"Dynamics\.width = '5': must be a number"),
        (lambda: Dynamics(width=True), r"Dynamics\.width = True: must be a number"),
        (lambda: Dynamics(width=None), r"Dynamics\.width = None: must be a number"),
        (lambda: Preparation(sgd_steps=None), r"Preparation\.sgd_steps = None: must be a number"),
        (lambda: SingleSample(learning_rate="0.1"), r"SingleSample\.learning_rate = '0.1': must be a number"),
        (lambda: SingleSample(learning_rate=True), r"SingleSample\.learning_rate = True: must be a number"),
        (lambda: SingleSample(class_weights="abc"), r"SingleSample\.class_weights = 'abc'"),
        (lambda: SingleSample(class_weights=(0.5, "b")), r"SingleSample\.class_weights"),
        (lambda: SingleSample(dtype=over("dtype", ["float32"])), r"SingleSample\.dtype"),
        (lambda: MLP(width="5"), r"MLP\.width = '5': must be a number"),
        (lambda: MLP(width=True), r"MLP\.width = True: must be a number"),
        (lambda: MLP(slope=over("slope", [None, 0.1])), r"over\('slope'\): values = \[None, 0.1\]: must be real"),
        (lambda: Training(epochs="5"), r"Training\.epochs = '5': must be a number"),
        (lambda: Training(epochs=True), r"Training\.epochs = True: must be a number"),
        (lambda: Training(batch_size=True), r"Training\.batch_size = True: must be a number"),
        *[
            (lambda schedule=schedule: Training(schedule=schedule), r"Training\.schedule = .*made of \(epoch >= 1")
            for schedule in (
                5, None, (1, "dropout", 0.1), (("a", "dropout", 0.1),), ((1, "dropout", "x"),),
                ((1, "dropout", None),), ((True, "dropout", 0.1),), ((float("inf"), "dropout", 0.1),),
                over("schedule", [1, 2]),
            )
        ],
    ],
)  # fmt: skip
def test_specs_and_numbers_are_refused_by_name(go, words):
    with pytest.raises(ValueError, match=words):
        go()
