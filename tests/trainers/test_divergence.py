"""A network that diverges is told in every result, by every engine and from the same step; none of its numbers stay."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from oracle import hinge_gradient, lenet, single_samples
from trainer_data import bent, clusters, noise

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, SingleSample, Training, train, train_lenet
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, Loss, initial, layer_sizes
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.langevin import Dynamics, Preparation, settle, walk
from deepmech.trainers.lenet import drawn

DATA, SIGNS, IMAGES = clusters(90, 6, 3), bent(name="divergence"), noise(12, 1, 3)
MEASURED = ("load_curve", "load_curve_hat", "accuracy", "class_mean", "class_spread")
ENGINES = ({"engine": "compiled"}, {"engine": "torch"}, {"engine": "torch", "together": 80})


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_in_the_last_update_of_training_is_told(engine):
    """The loss of an epoch is that before its updates, so the last update shows in the network alone."""
    training = Training(optimizer="sgd", learning_rate=over("rate", [1e-3, 1e30]), epochs=2)
    made = train(
        MLP(depth=3, width=6, batch_norm=False), training, DATA, **engine, metrics=("D", "D_hat"), class_means=True
    )
    assert made["state"].values.tolist() == ["finished", "diverged"]
    one = train(
        MLP(depth=3, width=6, batch_norm=False), Training(optimizer="sgd", learning_rate=1e30, epochs=1), DATA,
        **engine, metrics=("D", "D_hat"), class_means=True,
    )  # fmt: skip
    assert one["state"].item() == "diverged" and one["epochs_run"].item() == 1 and np.isfinite(one["loss"]).all()
    for name in MEASURED:
        assert one[name].isnull().all(), name
        assert made[name].isel(rate=1).isnull().all(), name
        assert made[name].isel(rate=0).notnull().any(), name


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_told_too_if_nothing_is_measured_at_the_end(engine):
    training = Training(optimizer="sgd", learning_rate=1e30, epochs=1)
    for how in ({"record": [0]}, {"metrics": ()}):
        made = train(MLP(depth=3, width=6, batch_norm=False), training, DATA, **engine, **how)
        assert made["state"].item() == "diverged"
    assert made["accuracy"].isnull().all()
    before = train(MLP(depth=3, width=6, batch_norm=False), training, DATA, **engine, record=[0])
    assert before["accuracy"].notnull().all(), "what was measured before stays"


@pytest.mark.parametrize("engine", ENGINES)
def test_no_accuracy_of_a_network_that_is_no_longer_finite(engine):
    training = Training(optimizer="sgd", learning_rate=1e30, epochs=3)
    made = train(MLP(depth=3, width=6, batch_norm=False), training, DATA, **engine, record=[0, 1, 3])
    assert made["accuracy"].sel(at_epoch=[1, 3]).isnull().all() and made["accuracy"].sel(at_epoch=0).notnull().all()
    assert made["state"].item() == "diverged" and made["epochs_run"].item() == 2
    assert not np.isinf(made["loss"]).any()


def test_a_convolutional_network_that_diverges_last_is_told():
    s = Stream.of("images", 0)
    x, y = s.uniform("x", 0, (30, 36)).astype(np.float32), np.arange(30) % 3
    data = SimpleNamespace(x_train=x, y_train=y, x_test=x, y_test=y, n_classes=3, shape=(1, 6, 6), fingerprint="images")
    made = train(CNN(convolutions=1, channels=2), Training(optimizer="sgd", learning_rate=1e38, epochs=1), data)
    assert made["state"].item() == "diverged" and made["accuracy"].isnull().all() and made["load_curve"].isnull().all()


@pytest.mark.parametrize(
    ("network", "training"),
    [
        ({"batch_norm": False}, {}),
        ({"batch_norm": False, "dropout": 0.5}, {}),
        ({"batch_norm": False, "dropout": 0.7}, {"batch_size": 16, "loss": "mse"}),
        ({"batch_norm": False, "dropout": 0.5}, {"optimizer": "adam"}),
        ({}, {}),
        ({"dropout": 0.3}, {"batch_size": 32}),
    ],
)
def test_engines_agree_on_when_a_network_is_lost(network, training):
    """In single precision, over ten seeds and rates from the edge of stability to overflow in one step."""
    rates = over("rate", [1.0, 10.0, 1e3, 1e6, 1e10, 1e15, 1e20, 1e30])
    how = Training(**{"optimizer": "sgd", "epochs": 15, "learning_rate": rates, **training})
    made = [
        train(MLP(depth=4, width=6, **network), how, DATA, seed=over("s", range(10)), **engine,
              metrics=())
        for engine in ENGINES
    ]  # fmt: skip
    assert 20 < int((made[0]["state"] == "diverged").sum()) < 80
    for other in made[1:]:
        np.testing.assert_array_equal(other["state"], made[0]["state"])
        np.testing.assert_array_equal(other["epochs_run"], made[0]["epochs_run"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [1e5, 1e25])
def test_batch_norm_knows_no_scale_or_the_network_has_diverged(engine, scale):
    """A variance that overflows would make every input, and with it the network, a constant: finite and of no use."""
    large = SimpleNamespace(**{**vars(DATA), "x_train": DATA.x_train * np.float32(scale)})
    large.x_test = DATA.x_test * np.float32(scale)
    network, training = MLP(depth=3, width=16), Training(epochs=30, learning_rate=1e-2)
    plain, scaled = (train(network, training, data, **engine) for data in (DATA, large))
    if scaled["state"].item() != "diverged":
        np.testing.assert_allclose(scaled["loss"], plain["loss"], rtol=1e-2)
    else:
        assert scale == 1e25 and scaled["accuracy"].isnull().all()


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_what_diverges_while_it_settles_is_told(engine):
    start = Preparation(sgd_steps=60, descent_steps=8, learning_rate=over("rate", [0.01, 1e6]))
    made = settle(Dynamics(width=8, hidden=3), start, SIGNS, engine=engine)
    assert made["state"].values.tolist() == ["finished", "diverged"]
    for name in ("loss", "data_loss", "error", "norm"):
        assert np.isfinite(made[name][0]) and np.isnan(made[name][1]), name
    history = made["loss_history"][1].values
    assert np.isfinite(history[0]) and np.isnan(history[-1])
    assert not np.isfinite(history[np.argmax(np.isnan(history)) :]).any(), "nan from there on"


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_weights_beyond_all_reason_have_diverged_though_they_are_finite(engine):
    made = settle(Dynamics(width=4, hidden=1), Preparation(gain=1e8, sgd_steps=0), SIGNS, engine=engine)
    assert made["state"].item() == "diverged" and np.isnan(made["norm"]) and np.isnan(made["error"])


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_what_diverges_in_its_preparation_does_not_walk(engine):
    start = Preparation(sgd_steps=60, learning_rate=over("rate", [0.01, 1e6]))
    made = walk(Dynamics(width=8, hidden=3), start, SIGNS, steps=20, motility_times=[5], engine=engine)
    assert made["state"].values.tolist() == ["finished", "diverged"]
    lost, calm = made.isel(rate=1), made.isel(rate=0)
    for name in ("within", "square", "fourth", "loss", "loss_waited", "sigma"):
        assert lost[name].isnull().all() and calm[name].notnull().any(), name
    assert not lost["motility"].any() and not lost["count"].any() and calm["motility"].any()


def test_walkers_engines_agree_on_when_a_network_is_lost():
    start = Preparation(
        gain=over("gain", [1.0, 3.0, 10.0, 1e4]), sgd_steps=60, descent_steps=8,
        learning_rate=over("rate", [0.1, 1.0, 100.0, 1e6]),
    )  # fmt: skip
    made = [
        settle(
            Dynamics(width=8, hidden=6, dtype="float32"),
            start,
            SIGNS,
            engine=engine,
            seed=over("s", [0, 1]),
        )
        for engine in ("compiled", "torch")
    ]
    known = [np.isfinite(one["loss_history"].values).sum(-1) for one in made]
    assert 0 < int((made[0]["state"] == "diverged").sum()) < made[0]["state"].size
    for one, n in zip(made[1:], known[1:], strict=True):
        np.testing.assert_array_equal(one["state"], made[0]["state"])
        np.testing.assert_array_equal(n, known[0])


def test_no_gradient_hides_what_overflows():
    """ReLU and hinge keep what is not a number: the compiled engine's gradient says so where torch's does."""
    data, sizes = SIGNS, layer_sizes(4, 8, 6)
    agreed = set()
    for gain in np.geomspace(1, 1e12, 25):
        weights = gain * initial(sizes, Stream.of("overflow", 0))
        compiled, many = CompiledWalk(sizes, data.x, data.y, "float32"), TorchWalk(sizes, data.x, data.y, "float32", 2)
        compiled.set(weights)
        many.set(np.stack([weights, weights]))
        found = bool(np.isfinite(compiled.gradient()).all())
        assert found == np.isfinite(hinge_gradient(weights, sizes, data.x, data.y, torch.float32)).all(), gain
        assert np.array_equal(np.isfinite(many.gradient()).all(1), [found, found]), gain
        agreed.add(found)
    assert agreed == {True, False}, "the range must contain both"


def test_no_loss_hides_what_overflows():
    data, sizes = SIGNS, layer_sizes(4, 8, 6)
    weights = 1e60 * initial(sizes, Stream.of("overflow", 0))
    assert np.isfinite(weights @ weights)
    assert not np.isfinite(Loss(sizes, data.x, data.y).value(weights))


def finite_steps(module, rate, data, order):
    """After how many steps of the oracle a loss or a weight is no longer finite, and whether it is lost in the end."""
    for m, i in enumerate(order):
        (loss,) = single_samples(module, rate, data.x_train, data.y_train, [i])[1]
        if not np.isfinite(loss):
            return m, True
        if not all(p.isfinite().all() for p in module.parameters()):
            return m + 1, True
    return len(order), not module(torch.from_numpy(data.x_train[order[-1:]])).isfinite().all()


@pytest.mark.parametrize(("n_channels", "n_classes"), [(1, 3), (3, 2)])
def test_lenets_are_lost_at_the_oracle_s_iteration(n_channels, n_classes):
    """ReLU and maxima drop what is not a number; among these trials are two that lived on by it."""
    rates, data = [1.0, 10.0, 1e4, 1e8, 1e25], noise(12, n_channels, n_classes)
    training = SingleSample(learning_rate=over("rate", rates), iterations=60)
    made = train_lenet(training, data, seed=over("trial", range(9)), record=[0, 7, 60])
    steps, lost = np.isfinite(made["loss"].values).sum(-1), (made["state"] == "diverged").values
    assert 5 < lost.sum() < lost.size
    for (r, trial), _ in np.ndenumerate(lost):
        stream = Stream.of("lenet", trial)
        order = drawn(stream, data.y_train, n_classes, 60, None)
        found = finite_steps(lenet(stream, data, "float32"), rates[r], data, order)
        assert (steps[r, trial], lost[r, trial]) == found, (rates[r], trial)
    # Nothing comes back, nothing is inf, and what did not diverge is whole.
    later = np.arange(60) >= steps[..., None]
    assert np.isnan(made["loss"].values[later]).all() and np.isnan(made["logits"].values[later]).all()
    assert np.isfinite(made["logits"].values[~later]).all()
    for name in ("validation_loss", "validation_accuracy"):
        assert np.isnan(made[name].values[lost, -1]).all() and np.isfinite(made[name].values[~lost]).all(), name
        assert np.isfinite(made[name].values[..., 0]).all()


def test_a_lenet_that_is_lost_in_its_last_step_is_told():
    for record in (None, [0, 1]):
        made = train_lenet(SingleSample(learning_rate=1e38, iterations=1), IMAGES, record=record)
        assert made["state"].item() == "diverged" and np.isfinite(made["loss"]).all()
    assert np.isnan(made["validation_accuracy"][1]) and np.isfinite(made["validation_accuracy"][0])


def test_a_trial_does_not_know_that_its_neighbour_diverged():
    rates = over("rate", [0.01, 1e30])
    both = train_lenet(SingleSample(learning_rate=rates, iterations=30), IMAGES, record=[0, 30])
    calm = train_lenet(SingleSample(learning_rate=0.01, iterations=30), IMAGES, record=[0, 30])
    assert both["state"].values.tolist() == ["finished", "diverged"]
    for name in ("logits", "loss", "validation_loss"):
        np.testing.assert_array_equal(both[name].sel(rate=0.01), calm[name])
