"""A user's own samples and factories at every door of the trainers: taken as they are, or refused in a sentence."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import TensorDataset

from deepmech import over
from deepmech.core.random import Stream
from deepmech.trainers import CNN, MLP, Dynamics, Preparation, SingleSample, Training, settle, train, train_lenet, walk
from deepmech.trainers.run import fingerprint

X = Stream.of("own").normal("x", 0, (30, 4)).astype("float32")
Y = np.arange(30) % 3
SIGNS = np.where(X[:, 0] > 0, 1.0, -1.0)
IMAGES = Stream.of("own").normal("images", 0, (9, 1, 32, 32))
TWO = Training(epochs=2)
SHORT = Dynamics(width=3, hidden=1), Preparation(sgd_steps=4)
#: Every door: what it is called with, its arrays (x, y), and whether it takes test samples.
DOORS = {
    "own": (lambda data: train(small, TWO, data), (X, Y), True),
    "MLP": (lambda data: train(MLP(depth=3, width=4), TWO, data), (X, Y), True),
    "CNN": (lambda data: train(CNN(convolutions=1, channels=2), TWO, data), (X.reshape(30, 1, 2, 2), Y), True),
    "lenet": (lambda data: train_lenet(SingleSample(iterations=3), data), (IMAGES, Y[:9]), True),
    "settle": (lambda data: settle(*SHORT, data), (X, SIGNS), False),
    "walk": (lambda data: walk(*SHORT, data, steps=3), (X, SIGNS), False),
}


def small(width=5, norm=False):
    hidden = [nn.BatchNorm1d(width)] if norm else []
    return nn.Sequential(nn.Linear(4, width), *hidden, nn.ReLU(), nn.Linear(width, 3))


def lists(x, y, *rest):
    return [np.asarray(a).tolist() for a in (x, y, *rest)]


def tensors(*arrays):
    return TensorDataset(*map(torch.as_tensor, arrays))


@pytest.mark.parametrize("door", DOORS)
def test_samples_may_come_as_arrays_and_give_what_they_give_by_name(door):
    call, (x, y), tested = DOORS[door]
    wide = x.reshape(len(x), -1)
    named = {"x_train": wide, "y_train": y, "x_test": wide, "y_test": y, "n_classes": 3, "shape": x.shape[1:]}
    whole = call(SimpleNamespace(**named) if tested else SimpleNamespace(x=x, y=y))
    for form in (tuple, tensors, lists):
        arrays = (x, y, x, y) if tested else (x, y)
        found = call(form(arrays) if form is tuple else form(*arrays))
        xr.testing.assert_equal(found, whole)
        assert len(found.attrs["data"]) == 16
        alone = call((x, y) if form is tuple else form(x, y))
        for name in alone.data_vars:
            there = found[name].sel(split=["train"]) if "split" in found[name].dims else found[name]
            xr.testing.assert_equal(alone[name], there)


def test_images_may_keep_their_shape_and_the_rest_is_said():
    with pytest.raises(ValueError, match=r"record: there are no test samples to validate on; give \(x, y, x_test"):
        train_lenet(SingleSample(iterations=3), (IMAGES, Y[:9]), record=1)
    for bad, said in [
        ((X, Y, X), r"data = tuple of 3 arrays: must be 2 or 4, \(x, y\) or \(x, y, x_test, y_test\)"),
        ((X, np.eye(3)[Y]), r"data\.y_train has shape \(30, 3\).*y\.argmax\(1\) makes labels"),
        ((X, Y.astype(float)), r"without classes.*y\.astype\(int\)"),
        ((X, Y == 1), "labels of type bool.*astype"),
        ((X[:, None], Y), "must be .samples, numbers.*flatten"),
        (None, r"data = NoneType: has no .*give arrays \(x, y\)"),
    ]:
        with pytest.raises(ValueError, match=said):
            train(small, TWO, bad)


@given(
    a=st.lists(st.integers(-3, 3), min_size=4, max_size=4), b=st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    wide=st.booleans(), kinds=st.tuples(*[st.sampled_from(["int8", "int64", "float32", "float64", ">f8"])] * 2),
)  # fmt: skip
def test_fingerprints_are_equal_if_and_only_if_the_numbers_are(a, b, wide, kinds):
    shape = (2, 2) if wide else (4, 1)
    one, two = (np.array(n, k) for n, k in zip((a, b), kinds, strict=True))
    same = fingerprint({"x": one.reshape(shape)}) == fingerprint({"x": two.reshape(2, 2)})
    assert same == (a == b and wide)
    assert fingerprint({"x": one}) != fingerprint({"y": one})
    big = np.array([2**53, 2**53 + 1])
    assert fingerprint({"x": big}) != fingerprint({"x": big[::-1]}) != fingerprint({"x": big[[0, 0]]})


ARGUMENTS = ["layers", "device", "seed", "metrics", "memory", "record", "arguments", "more", "network", "data"]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_any_name_of_an_argument_can_be_given_to_a_factory(name):
    seen = []

    def factory(**given):
        seen.append(given[name])
        return small(given[name])

    made = train(factory, TWO, (X, Y), arguments={name: over("width", [3, 4])})
    assert set(seen) == {3, 4} and made.sizes["width"] == 2
    plain = train(small, TWO, (X, Y), width=over("width", [3, 4]))
    xr.testing.assert_equal(made, plain)


def test_arguments_that_do_not_fit_are_named():
    for how, said in [
        ({"width": [3, 4]}, r"small does not take width = \[3, 4\].*give width=over\('width', values\)"),
        ({"width": 3, "arguments": {"width": 3}}, "'width': given in arguments and by itself"),
        ({"arguments": [("width", 3)]}, "train: arguments = .*must be a dictionary"),
        ({"width": 10**12}, "small makes a network that no memory holds"),
    ]:
        with pytest.raises(ValueError, match=said):
            train(small, TWO, (X, Y), **how)


ONE = small()
ACTIVATION = nn.PReLU()


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("factory", [lambda: ONE, lambda: nn.Sequential(nn.Linear(4, 3), ACTIVATION, nn.Linear(3, 3))])
def test_modules_that_several_seeds_would_share_are_refused(factory, together):
    with pytest.raises(
        ValueError, match=r"returns .*the same .*for the seeds 0 and 1.*make a new module in every call"
    ):
        train(factory, TWO, (X, Y), seed=over("seed", [0, 1]), together=together)


@pytest.mark.parametrize("training", [True, False])
def test_a_user_s_module_comes_back_as_it_went(training):
    module = small(norm=True).double().train(training)
    before = copy.deepcopy(module.state_dict())
    first, second = (train(lambda: module, Training(epochs=3), (X, Y)) for _ in range(2))
    xr.testing.assert_equal(first, second)
    assert module.training == training == module[1].training
    assert all(torch.equal(v, before[k]) and v.dtype == before[k].dtype for k, v in module.state_dict().items())


@given(n=st.integers(2, 12), size=st.integers(1, 12))
@settings(max_examples=15)
def test_a_rest_of_one_sample_is_refused_only_with_a_batch_norm(n, size):
    training = Training(epochs=1, batch_size=size)
    data = X[:n], Y[:n] % 2
    assert train(small, training, data, metrics=()).state == "finished"
    if 1 in (min(n, size), n % size):
        with pytest.raises(ValueError, match=r"Training\.batch_size.*a batch of one sample.*BatchNorm"):
            train(small, training, data, norm=True, metrics=())
    else:
        assert train(small, training, data, norm=True, metrics=()).state == "finished"
