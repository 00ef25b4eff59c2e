"""A network that diverges is told in every result, by every engine and from the same step; none of its numbers stay."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from oracle import hinge_gradient
from trainer_data import bent, clusters, noise, pictures

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, SingleSample, Training, train, train_lenet
from deepmech.trainers.engines.compiled.langevin import CompiledWalk, initial, layer_sizes
from deepmech.trainers.engines.torch_walk import TorchWalk
from deepmech.trainers.langevin import Dynamics, Preparation, prepare, walk

DATA, SIGNS, IMAGES = clusters(90, 6, 3), bent(name="divergence"), noise(12, 1, 3)
PLAIN, SIZES = MLP(depth=3, width=6, batch_norm=False), layer_sizes(4, 8, 6)
ENGINES = ({"engine": "compiled"}, {"engine": "torch"}, {"engine": "torch", "ensemble_size": 80})


def steps(rate, network=PLAIN, data=DATA, epochs=2, **how):
    training = Training(optimizer="sgd", learning_rate=rate, epochs=epochs)
    return train(network, training, data, record=[0, epochs], **{"metrics": ("D", "D_hat"), "class_means": True} | how)


def settled(rate, **how):
    start = Preparation(sgd_steps=60, descent_steps=8, learning_rate=rate)
    return prepare(Dynamics(width=8, hidden=3), start, SIGNS, **how)


def walked(rate, **how):
    start = Preparation(sgd_steps=60, learning_rate=rate)
    return walk(Dynamics(width=8, hidden=3), start, SIGNS, steps=20, motility_times=[5], **how)


def by_ones(rate, iterations=30, engine="compiled"):
    training = SingleSample(learning_rate=rate, iterations=iterations)
    return train_lenet(training, IMAGES, record=[0, iterations], engine=engine)


TRAINED = ("load_curve", "load_curve_hat", "accuracy", "class_mean", "class_spread")
#: By name: what runs at a rate, one that is calm and one that is wild, and what a lost network has no numbers of.
RUNS = {
    **{f"train, {how}": (partial(steps, **how), 1e-3, 1e30, TRAINED) for how in ENGINES},
    "train, CNN": (partial(steps, network=CNN(convolutions=1, channels=2), data=pictures()), 1e-3, 1e38, TRAINED),
    "train_lenet": (by_ones, 0.01, 1e30, ("validation_loss", "validation_accuracy")),
    **{
        f"prepare, {engine}": (partial(settled, engine=engine), 0.01, 1e6, ("loss", "data_loss", "error", "norm"))
        for engine in ("compiled", "torch")
    },
    **{
        f"walk, {engine}": (
            partial(walked, engine=engine), 0.01, 1e6, ("within", "square", "fourth", "loss", "loss_waited", "sigma")
        )
        for engine in ("compiled", "torch")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_who_diverges_is_told_has_no_numbers_and_leaves_its_neighbours_alone(name):
    go, calm, wild, measured = RUNS[name]
    both, alone = go(over("rate", [calm, wild])), go(calm)
    assert both["state"].values.tolist() == ["finished", "diverged"]
    lost, kept = both.isel(rate=1), both.isel(rate=0)
    exact = name == "train_lenet" or "compiled" in name
    at = next((d for d in ("at_epoch", "at_iteration") if d in both.dims), None)
    for variable in measured:
        end = lost[variable].isel({at: -1}) if at else lost[variable]
        assert end.isnull().all(), variable
        assert at is None or lost[variable].isel({at: 0}).notnull().any(), "what was measured before stays"
        np.testing.assert_allclose(
            kept[variable],
            alone[variable],
            **({"rtol": 0} if exact else {"rtol": 1e-4, "atol": 1e-5}),
            err_msg=variable,
        )
    assert not any(np.isinf(lost[v]).any() for v in ("loss", "loss_history", "logits") if v in lost)
    if name == "train_lenet":
        np.testing.assert_array_equal(kept["logits"], alone["logits"])
    for counted in {"motility", "count"} & set(lost):
        assert not lost[counted].any() and kept[counted].any()


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_in_the_last_update_of_training_is_told(engine):
    """The loss of an epoch is that before its updates, so the last update shows in the network alone."""
    one = steps(1e30, epochs=1, **engine)
    assert one["state"].item() == "diverged" and one["epochs_run"].item() == 1 and np.isfinite(one["loss"]).all()
    assert all(one[name].sel(at_epoch=1).isnull().all() for name in TRAINED)
    training = Training(optimizer="sgd", learning_rate=1e30, epochs=1)
    for how in ({"record": [0]}, {"metrics": ()}):
        assert train(PLAIN, training, DATA, **engine, **how)["state"].item() == "diverged", "though nothing is measured"
    three = train(PLAIN, Training(optimizer="sgd", learning_rate=1e30, epochs=3), DATA, **engine, record=[1, 3])
    assert three["accuracy"].isnull().all() and three["epochs_run"].item() == 2


def test_a_lenet_that_is_lost_in_its_last_step_is_told():
    made = by_ones(1e38, iterations=1)
    assert made["state"].item() == "diverged" and np.isfinite(made["loss"]).all()
    assert np.isfinite(made["validation_accuracy"]).values.tolist() == [True, False]
    unseen = train_lenet(SingleSample(learning_rate=1e38, iterations=1), IMAGES)
    assert unseen["state"].item() == "diverged"


@pytest.mark.parametrize(
    ("network", "training"),
    [
        ({"batch_norm": False}, {}),
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
    spec, seeds = MLP(depth=4, width=6, **network), over("s", range(10))
    first, *others = (train(spec, how, DATA, seed=seeds, **engine, metrics=()) for engine in ENGINES)
    assert 20 < int((first["state"] == "diverged").sum()) < 80
    for other in others:
        np.testing.assert_array_equal(other["state"], first["state"])
        np.testing.assert_array_equal(other["epochs_run"], first["epochs_run"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scale", [1e5, 1e25])
def test_batch_norm_knows_no_scale_or_the_network_has_diverged(engine, scale):
    """A variance that overflows would make every input, and with it the network, a constant: finite and of no use."""
    grown = {name: getattr(DATA, name) * np.float32(scale) for name in ("x_train", "x_test")}
    network, training = MLP(depth=3, width=16), Training(epochs=30, learning_rate=1e-2)
    large = SimpleNamespace(**{**vars(DATA), **grown})
    plain, scaled = (train(network, training, data, **engine) for data in (DATA, large))
    if scaled["state"].item() != "diverged":
        np.testing.assert_allclose(scaled["loss"], plain["loss"], rtol=1e-2)
    else:
        assert scale == 1e25 and scaled["accuracy"].isnull().all()


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_what_diverges_while_it_settles_is_nan_from_there_on(engine):
    history = settled(over("rate", [0.01, 1e6]), engine=engine)["loss_history"][1].values
    assert np.isfinite(history[0]) and np.isnan(history[-1])
    assert not np.isfinite(history[np.argmax(np.isnan(history)) :]).any()
    # Weights beyond all reason have diverged though they are finite.
    made = prepare(Dynamics(width=4, hidden=1), Preparation(gain=1e8, sgd_steps=0), SIGNS, engine=engine)
    assert made["state"].item() == "diverged" and np.isnan(made["norm"]) and np.isnan(made["error"])


def test_walkers_engines_agree_on_when_a_network_is_lost():
    gains, rates = over("gain", [1.0, 3.0, 10.0, 1e4]), over("rate", [0.1, 1.0, 100.0, 1e6])
    start = Preparation(gain=gains, sgd_steps=60, descent_steps=8, learning_rate=rates)
    dynamics, seeds = Dynamics(width=8, hidden=6, dtype="mixed"), over("s", [0, 1])
    one, other = (prepare(dynamics, start, SIGNS, engine=engine, seed=seeds) for engine in ("compiled", "torch"))
    assert 0 < int((one["state"] == "diverged").sum()) < one["state"].size
    np.testing.assert_array_equal(other["state"], one["state"])
    np.testing.assert_array_equal(np.isfinite(other["loss_history"]), np.isfinite(one["loss_history"]))


def test_no_gradient_and_no_loss_hides_what_overflows():
    """ReLU and hinge keep what is not a number: the compiled engine's gradient says so where torch's does."""
    agreed, start = set(), initial(SIZES, Stream.of("overflow", 0))
    for gain in np.geomspace(1, 1e12, 25):
        weights = gain * start
        one = CompiledWalk(SIZES, SIGNS.x, SIGNS.y, "mixed")
        many = TorchWalk(SIZES, SIGNS.x, SIGNS.y, "mixed", 2)
        one.set(weights)
        many.set(np.stack([weights, weights]))
        found = bool(np.isfinite(one.gradient()).all())
        assert found == np.isfinite(hinge_gradient(weights, SIZES, SIGNS.x, SIGNS.y, torch.float32)).all(), gain
        assert np.array_equal(np.isfinite(many.gradient()).all(1), [found, found]), gain
        agreed.add(found)
    assert agreed == {True, False}, "the range must contain both"


@pytest.mark.parametrize(("n_channels", "n_classes"), [(1, 3), (3, 2)])
def test_lenets_are_lost_at_torch_s_iteration(n_channels, n_classes):
    """Or later, where ReLU and maxima drop what is not a number of a weight's and no loss tells it: of these two live
    on by it, and are lost in the end."""
    rates, data = [1.0, 10.0, 1e4, 1e8, 1e25], noise(12, n_channels, n_classes)
    training = SingleSample(learning_rate=over("rate", rates), iterations=60)
    made, theirs = (
        train_lenet(training, data, seed=over("trial", range(9)), record=[0, 7, 60], engine=engine)
        for engine in ("compiled", "torch")
    )
    known, lost = np.isfinite(made["loss"].values).sum(-1), (made["state"] == "diverged").values
    assert 5 < lost.sum() < lost.size
    np.testing.assert_array_equal(made["state"], theirs["state"])
    late = known - np.isfinite(theirs["loss"].values).sum(-1)
    assert late.min() >= 0 and (late > 0).sum() <= 2
    # Nothing comes back, nothing is inf, and what did not diverge is whole.
    later = np.arange(60) >= known[..., None]
    for name in ("loss", "logits"):
        assert np.isnan(made[name].values[later]).all() and np.isfinite(made[name].values[~later]).all(), name
    for name in ("validation_loss", "validation_accuracy"):
        assert np.isnan(made[name].values[known < 60, -1]).all() and np.isfinite(made[name].values[~lost]).all(), name
        assert np.isfinite(made[name].values[..., 0]).all()
