"""At the front door of every trainer and walker, and of their specs: what is given is taken, or refused by name with a
remedy. What :func:`validate_data` and the specs say is looked at once each; that every door asks them, door by door.
"""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trainer_data import bent, clusters, noise

from deepmech import over
from deepmech.data.samples import validate_data, validate_signs
from deepmech.trainers import CNN, MLP, SingleSample, Training, train, train_lenet
from deepmech.trainers.langevin import Dynamics, Preparation, log_times, prepare, walk

CLOUDS, SIGNS, IMAGES = clusters(60, 4, 3), bent(30), noise(9, 1, 3)
SMALL = MLP(depth=2, width=3), Training(epochs=2)
STILL = Dynamics(width=3, hidden=1), Preparation(sgd_steps=5)
DOORS = {
    "train": (partial(train, *SMALL), CLOUDS),
    "train_lenet": (partial(train_lenet, SingleSample(iterations=3)), IMAGES),
    "walk": (partial(walk, *STILL, steps=10), SIGNS),
    "prepare": (partial(prepare, *STILL), SIGNS),
}


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
    ({"n_classes": 3.5}, r"data\.n_classes = 3\.5: must be a whole number"),
    ({"y_train": Y * 0}, r"data\.y_train: all .* labels are 0: must be of at least two classes"),
    ({"y": (SIGN > 0) * 1.0}, r"y.*neither -1 nor 1, the first at sample \d+: 0.0; np.where"),
    ({"y": with_one(SIGN, 3, np.nan)}, "y.*1 of 30 numbers are not finite, the first at sample 3: nan"),
    ({"y": np.ones(30)}, "y.*both classes"),
]


@pytest.mark.parametrize(("fields", "words"), FAULTS)
def test_samples_are_finite_numbers_and_labels_are_classes(fields, words):
    look, data = (validate_signs, SIGNS) if "y" in fields else (validate_data, CLOUDS)
    with pytest.raises(ValueError, match=f"here: .*{words}"):
        look("here", changed(data, **fields), "float32")


@pytest.mark.parametrize("door", DOORS)
def test_every_door_looks_at_its_data_before_anything_is_trained(door):
    go, data = DOORS[door]
    name = "x" if data is SIGNS else "x_test"
    with pytest.raises(ValueError, match=rf"{door}: data\.{name}: 1 of .* not finite"):
        go(changed(data, **{name: with_one(getattr(data, name), (3, 1), np.nan)}))
    for other in (None, "digits", 5):
        with pytest.raises(ValueError, match=rf"{door}: data = {type(other).__name__}: has no x.*give arrays"):
            go(other)
    for missing in vars(data).keys() - {"shape", "fingerprint"}:
        with pytest.raises(ValueError, match=f"has no {missing}; give arrays"):
            go(SimpleNamespace(**{k: v for k, v in vars(data).items() if k != missing}))


def test_real_targets_need_no_classes_and_what_is_not_measured_needs_no_samples():
    fit = partial(train, MLP(depth=2, width=3), Training(epochs=2, loss="mse"), metrics=())
    zero = fit(changed(CLOUDS, n_classes=0, **REAL))
    for targets in (REAL, {k: v[:, None] for k, v in REAL.items()}):
        other = fit(changed(CLOUDS, n_classes=None, **targets))
        np.testing.assert_array_equal(other["loss"], zero["loss"])
        assert other["accuracy"].isnull().all() and other["state"].item() == "finished"
    gap = changed(CLOUDS, y_train=np.where(Y == 1, 0, Y))
    with pytest.raises(ValueError, match=r"y_train: class 1 of 3 has no sample: .*\(metrics=\(\)\)"):
        train(*SMALL, gap)
    assert train(*SMALL, gap, metrics=())["state"].item() == "finished", "nothing measured needs every class"


def test_a_class_that_is_to_be_drawn_has_samples():
    data = changed(IMAGES, y_train=IMAGES.y_train % 2)
    with pytest.raises(ValueError, match=r"SingleSample\.class_weights: class 2 is to be drawn.*weight 0"):
        train_lenet(SingleSample(iterations=3, class_weights=(0.2, 0.2, 0.6)), data)
    made = train_lenet(SingleSample(iterations=30, class_weights=(0.5, 0.5, 0.0)), data)
    assert set(made["label"].values.tolist()) == {0, 1}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_goes_to_the_device_that_the_environment_names(door, monkeypatch):
    go, data = DOORS[door]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:99", "warp"):
        monkeypatch.setenv("DEEPMECH_DEVICE", device)
        with pytest.raises(ValueError, match=f"{door}: DEEPMECH_DEVICE = '{device}'"):
            go(data)
    monkeypatch.setenv("DEEPMECH_DEVICE", "")
    assert go(data).attrs["device"] == "cpu"


def fit(*specs, **how):
    return lambda: train(*specs, **({"data": CLOUDS} | how))


def lenet(data=IMAGES, seed=0, **how):
    return lambda: train_lenet(SingleSample(**{"iterations": 3} | how), data, seed=seed)


CALLS = [
    (fit(MLP, Training()), "train: network is the class MLP itself"),
    (fit(None, Training()), "train: network is of type NoneType"),
    (fit(torch.nn.Linear(2, 2), Training()), r"network = Linear\(.*or a function that makes"),
    (fit(MLP(), SingleSample()), "train: training is of type SingleSample"),
    (fit(MLP(depth=3, width=5), Training(batch_size=59)), "leaves a batch of one sample"),
    (fit(*SMALL, data=changed(CLOUDS, n_classes=50_000)), "class 3, 4, 5, 6, 7 and 49,992 more of 50000 has no sample"),
    (fit(*SMALL, record=range(100_001)), r"record = \[0, 1, 2, 3, 4 and 99,996 more\]"),
    (fit(*SMALL, data=changed(CLOUDS, n_classes=None, **REAL)), r"without classes Training\.loss must be 'mse'"),
    *(
        (fit(CNN(convolutions=1, channels=2), Training(), data=changed(CLOUDS, shape=shape)), r"data\.shape = ")
        for shape in ((1, 3, 3), (4,), None, "4x4", (1.0, 2.0, 2.0))
    ),
    (
        lenet(changed(IMAGES, x_train=IMAGES.x_train[:, :1000], x_test=IMAGES.x_test[:, :1000])),
        r"data\.shape = .*samples of 1000 numbers",
    ),
    (lenet(changed(CLOUDS, shape=(1, 2, 2))), r"images must be \(channels, 32, 32\)"),
    (lenet(class_weights=(0.5, 0.5)), "one number for each of the 3 classes"),
    (lambda: torch.inference_mode()(fit(*SMALL, engine="torch"))(), r"train: torch.inference_mode\(\) is on"),
    (fit(partial(torch.nn.Linear, 5, 3), Training(), metrics=()), r"Linear does not take samples of shape \(4, 4\)"),
    (lambda: walk(Preparation(), Dynamics(), SIGNS, steps=2), "walk: dynamics is of type Preparation"),
    (lambda: log_times(0), "log_times: last = 0"),
    (lambda: MLP(dropout=over("dropout", [0.1, 1.2])), r"MLP\.dropout.*1\.2"),
    (lambda: Dynamics(batch_size=10, temperature=0.1), r"Dynamics\.temperature = 0\.1"),
    (
        lambda: Dynamics(batch_size=over("b", [0, 5]), temperature=over("t", [0.0, 0.1])),
        r"Dynamics\.temperature = 0\.1",
    ),
    (lambda: MLP(scale=2.0, batch_norm=over("norm", [False, True])), r"MLP\.scale = 2\.0"),
]
STEPS, KEPT = "steps, one after another, take .* days", "would have to be kept, and this machine has"
#: Sizes that no machine has time or room for.
CALLS += [
    (fit(MLP(), Training(epochs=10**12)), r"Training\.epochs = .*" + KEPT),
    (fit(MLP(), Training(epochs=10**12, batch_size=1)), r"Training\.epochs = .*" + KEPT),
    (fit(MLP(width=10**6), Training()), r"= 8, with \d outputs, MLP\.width = .*" + KEPT),
    (fit(MLP(depth=10**9), Training()), r"MLP\.depth = 1000000000.*" + KEPT),
    (fit(CNN(channels=10**6), Training(), data=IMAGES), r"with \d outputs, CNN\.channels = .*" + KEPT),
    (fit(lambda n: torch.nn.Linear(4, n), Training(), n=10**12), "network that no memory holds"),
    (lenet(iterations=10**11), r"iterations = .*" + KEPT),
    (lambda: walk(*STILL, SIGNS, steps=10**13), "steps = .*" + STEPS),
    (lambda: walk(Dynamics(width=10**6), Preparation(), SIGNS, steps=1), r"= 6, Dynamics\.width.*" + KEPT),
    (lambda: prepare(Dynamics(), Preparation(sgd_steps=10**13), SIGNS), "sgd_steps = .*" + STEPS),
]


@pytest.mark.parametrize(("go", "words"), CALLS)
def test_what_does_not_fit_together_is_said_in_few_words(go, words):
    with pytest.raises(ValueError, match=words) as error:
        go()
    assert len(str(error.value)) < 300


#: Values that each field refuses: a law of :mod:`test_own_networks` says how, for any value that is refused.
BAD = {
    MLP: {"depth": (1, 2.5), "width": (True, 0), "slope": (-0.1, 1.5), "dropout": (1.0, np.nan), "batch_norm": ("yes",),
          "bias": (2,), "scale": (2.0, -1.0), "init": ("xavier",)},
    CNN: {"convolutions": (0,), "channels": (0.5,), "pooling": ("median",)},
    Training: {"optimizer": ("lbfgs",), "loss": ("hinge",), "learning_rate": (0.0,), "momentum": (0.9, -0.1),
               "weight_decay": (-0.1,), "batch_size": (0,), "epochs": (-1,), "data_noise": (-0.1, 1.5),
               "label_noise": (1.5,), "dtype": ("float16",), "stop_loss": (-1.0,),
               "schedule": (((10, "width", 5.0),), ((10, "dropout", 1.0),), ((0, "dropout", 0.1),), None)},
    Dynamics: {"dtype": (["mixed"], "float32"), "temperature": (-1.0,), "width": (0,), "batch_size": (-1,)},
    Preparation: {"sgd_steps": (1.5,), "gain": (0.0,)},
    SingleSample: {"learning_rate": (0.0,), "class_weights": ([0.5, 0.6],), "label_error": (1.2,), "dtype": ("mixed",)},
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "field", "value"), [(s, f, v) for s, fields in BAD.items() for f, bad in fields.items() for v in bad]
)
def test_values_out_of_range_are_refused_by_spec_field_and_value(spec, field, value):
    with pytest.raises(ValueError, match=rf"{spec.__name__}\.{field} = {re.escape(repr(value))}: must be"):
        spec(**{field: value})
