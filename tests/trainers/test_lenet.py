"""LeNet's engines against one another, gradient by gradient; trials that do not know their neighbours."""

import numpy as np
import pytest
from trainer_data import noise

from deepmech import over
from deepmech.core.random import Stream
from deepmech.data import load
from deepmech.trainers.engines.compiled.lenet import CompiledLeNet, padded
from deepmech.trainers.engines.torch_lenet import TorchLeNet
from deepmech.trainers.lenet import SingleSample, corrupt_labels, initial_weights, sample_indices, train_lenet

NONE = np.array([], np.int64)


def fresh(data, dtype, seed=0, rate=1.0):
    """A compiled network and one of torch, with the same initial weights."""
    stream = Stream.of("test lenet weights", seed)
    compiled = CompiledLeNet(initial_weights(stream, data.shape[0], data.n_classes), rate, dtype)
    return compiled, TorchLeNet([stream], data.shape[0], data.n_classes, [rate], dtype)


def weights_of(network):
    layers = [*network.ensemble.member(0).convolution, *network.ensemble.member(0).linear]
    return [(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in layers]


def run(trained, data, order, at=NONE):
    x, x_test = (padded(z, data.shape[0], trained.dtype) for z in (data.x_train, data.x_test))
    return trained.run(x, data.y_train, np.asarray(order, np.int64), (x_test, data.y_test), at)


def run_torch(trained, data, order, at=NONE):
    """Of one network: logits, losses, what was measured, and whether all is finite."""
    order = np.asarray(order, np.int64)[None]
    found = trained.run(data.x_train, data.y_train[None], order, (data.x_test, data.y_test), at)
    return [values[0] for values in found]


@pytest.mark.parametrize(("n_channels", "n_classes"), [(1, 3), (3, 2), (2, 10)])
def test_every_gradient_agrees_with_autograd(n_channels, n_classes):
    data = noise(6, n_channels, n_classes, seed=n_classes)
    for i in range(6):
        engine, network = fresh(data, "float64", seed=i)
        before, start = engine.weights(), weights_of(network)
        for (weight, bias), (own, own_bias) in zip(before, start, strict=True):
            np.testing.assert_array_equal(weight, own)
            np.testing.assert_array_equal(bias, own_bias)
        ours, theirs = run(engine, data, [i]), run_torch(network, data, [i])
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=1e-13)
        # With a step size of one the change of a parameter is its gradient.
        for old, own, other in zip(before, engine.weights(), weights_of(network), strict=True):
            for kind in (0, 1):
                gradient = other[kind] - old[kind]
                assert np.abs(gradient).max() > 0
                np.testing.assert_allclose(own[kind] - old[kind], gradient, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-5), ("float64", 1e-13)])
def test_twenty_steps_agree(dtype, tolerance):
    data = noise(12, 1, 3)
    order = (Stream.of("order").uniform("order", 0, 20) * 12).astype(np.int64)
    engine, network = fresh(data, dtype, rate=0.05)
    at = np.array([0, 7, 20])
    for own, other in zip(run(engine, data, order, at), run_torch(network, data, order, at), strict=False):
        np.testing.assert_allclose(own, other, rtol=0, atol=tolerance)
    for own, other in zip(engine.weights(), weights_of(network), strict=True):
        for kind in (0, 1):
            np.testing.assert_allclose(own[kind], other[kind], rtol=0, atol=tolerance)


def test_real_images_agree_too():
    # Their backgrounds are exactly zero, so that maxima are tied; torch takes the first.
    data = load("geomnist", n_train=30, n_test=9)
    engine, network = fresh(data, "float64", rate=0.05)
    order, at = np.arange(60) % 30, np.array([60])
    ours, theirs = run(engine, data, order, at), run_torch(network, data, order, at)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=0, atol=1e-12)


def test_torch_trains_the_trials_of_a_call_as_the_compiled_engine_does_and_says_so():
    """Wrong labels, unequal classes and trials that diverge too; several at once, to rounding, as each alone."""
    data, rates = noise(12, 1, 3), over("rate", [0.01, 0.05, 1e200])
    weights = {"class_weights": (0.6, 0.3, 0.1), "dtype": "float64"}
    training = SingleSample(learning_rate=rates, iterations=20, label_error=0.25, **weights)
    ours, theirs = (train_lenet(training, data, record=[0, 7, 20], engine=engine) for engine in ("compiled", "torch"))
    assert theirs.state.values.tolist() == ["finished", "finished", "diverged"] and theirs.engine == "torch"
    for name in ours:
        if name == "state":
            np.testing.assert_array_equal(ours[name], theirs[name])
        else:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-9)
    streams, order = [Stream.of("several", i) for i in range(3)], np.arange(36).reshape(3, 12) % 12
    labels, last = np.stack([data.y_train, 2 - data.y_train, data.y_train]), (data.x_test, data.y_test)
    several = TorchLeNet(streams, 1, 3, [0.05, 0.1, 0.2], "float64").run(data.x_train, labels, order, last, NONE)
    one = TorchLeNet(streams[1:2], 1, 3, [0.1], "float64").run(data.x_train, labels[1:2], order[1:2], last, NONE)
    np.testing.assert_allclose(several[0][1], one[0][0], rtol=0, atol=1e-12)


def test_room_in_vectors_stays_empty():
    data = noise(4, 3, 3)
    engine, _ = fresh(data, "float32", rate=0.1)
    run(engine, data, np.arange(40) % 4)
    _, _, w2, _, _, _, w4, b4, w5, _ = engine.parameters
    for unused in (w2.reshape(-1, 8)[:, 6:], w4.reshape(-1, 88)[:, 84:], b4[84:], w5.reshape(-1, 88)[:, 84:]):
        assert not unused.any()


def test_a_trial_does_not_know_its_neighbours():
    data = noise(12, 1, 3)
    training = SingleSample(learning_rate=over("rate", [0.01, 0.05]), iterations=30, label_error=0.25)
    seven = train_lenet(training, data, seed=over("trial", range(7)), record=[0, 30], threads=2)
    alone = train_lenet(
        SingleSample(learning_rate=0.05, iterations=30, label_error=0.25), data, seed=3, record=[0, 30], threads=1
    )
    there = seven.sel(rate=0.05, trial=3)
    for name in ("logits", "loss", "label", "true_class", "validation_loss", "validation_accuracy"):
        assert np.array_equal(alone[name], there[name]), name
    assert not np.array_equal(there["logits"], seven["logits"].sel(rate=0.05, trial=4))
    # The beginning of a longer training is the shorter training.
    longer = train_lenet(SingleSample(learning_rate=0.05, iterations=45, label_error=0.25), data, seed=3)
    assert np.array_equal(longer["logits"][:30], alone["logits"])


def test_records_are_of_the_sample_before_its_step():
    data = noise(12, 1, 3)
    made = train_lenet(SingleSample(iterations=25, label_error=0.5), data, seed=1, record=[0])
    start = train_lenet(SingleSample(iterations=1, learning_rate=1e-30), data, seed=1)
    assert np.array_equal(made["logits"][0], start["logits"][0])
    z = made["logits"].values.astype(float)
    cost = np.log(np.exp(z).sum(1)) - z[np.arange(25), made["label"]]
    np.testing.assert_allclose(made["loss"], cost, rtol=1e-5)
    order = sample_indices(Stream.of("lenet", 1), data.y_train, 3, 25, None)
    assert np.array_equal(made["true_class"], data.y_train[order])
    assert 0 < np.mean(made["label"] != made["true_class"]) < 1


@pytest.mark.parametrize("share", [0.0, 0.1, 1 / 3, 2 / 3, 0.8, 1.0])
def test_wrong_labels(share):
    y = np.arange(1500) % 3
    found = corrupt_labels(y, 3, share, Stream.of("test"))
    table = np.array([[np.sum((y == k) & (found == j)) for j in range(3)] for k in range(3)])
    wrong = round(share * 500)
    assert np.array_equal(np.diag(table), [500 - wrong] * 3)
    off = table[~np.eye(3, dtype=bool)]
    assert off.min() >= wrong // 2 and off.max() <= wrong // 2 + 1
    # What is wrong at this share is wrong at every larger one, and wrong in the same way.
    more = corrupt_labels(y, 3, min(1.0, share + 0.1), Stream.of("test"))
    assert np.array_equal(found[found != y], more[found != y])


def test_samples_are_drawn_evenly_or_by_weight():
    y = np.arange(300) % 3
    stream = Stream.of("test draws")
    counts = np.bincount(sample_indices(stream, y, 3, 30_000, None), minlength=300)
    # χ² with 299 degrees of freedom: mean 299, standard deviation 24.
    assert abs(np.sum((counts - 100) ** 2 / 100) - 299) < 5 * 24
    order = sample_indices(stream, y, 3, 30_000, (0.7, 0.2, 0.1))
    shares = np.bincount(y[order], minlength=3) / 30_000
    assert shares == pytest.approx([0.7, 0.2, 0.1], abs=0.015)
    inside = np.bincount(order[y[order] == 0], minlength=300)[y == 0]
    assert inside.min() > 140 and inside.max() < 285
