"""A user's own samples and factories at every door of the trainers: taken as they are, or refused in a sentence."""

import copy
import itertools
import warnings
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, StackDataset, TensorDataset

from deepmech import over
from deepmech.core import specs
from deepmech.core.random import Stream
from deepmech.data import Data
from deepmech.data.samples import validate_data
from deepmech.trainers import CNN, MLP, Dynamics, Preparation, SingleSample, Training, prepare, train, train_lenet, walk

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
    "prepare": (lambda data: prepare(*SHORT, data), (X, SIGNS), False),
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
        ((X[:, None, None], Y), r"Sequential returns \(4, 1, 1, 3\) for 4 samples: must be"),
    ]:
        with pytest.raises(ValueError, match=said):
            train(small, TWO, bad)


def bits(x):
    return np.round(8 * x) / 8  # which a bfloat16 holds


#: What holds the samples (x, y), of which all trainers make the same numbers.
FORMS = {
    "lists": lambda x, y: (x.tolist(), y.tolist()),
    "tensors with gradients": lambda x, y: (torch.tensor(x, requires_grad=True), torch.tensor(y)),
    "wide": lambda x, y: (x.astype(float), y.astype(np.float32 if y.min() < 0 else np.uint64)),
    "narrow": lambda x, y: (x, y.astype(np.int8)),
    "labels (n, 1)": lambda x, y: (x, y[:, None]),
    "read only": lambda x, y: (np.broadcast_to(x, x.shape), np.broadcast_to(y, y.shape)),
    "reversed": lambda x, y: (x[::-1].copy()[::-1], y),
    "longdouble": lambda x, y: (x.astype(np.longdouble), y),
    "other byte order": lambda x, y: (x.astype(">f8"), y),
    "bfloat16": lambda x, y: (torch.tensor(x).bfloat16(), torch.tensor(y)),
    "dataset": StackDataset,
    "loader": lambda x, y: DataLoader(StackDataset(x, y), batch_size=4),
    "Data": Data.of,
    "dict": lambda x, y: {"pixel_values": x, "labels": torch.tensor(y)},
    "dicts": lambda x, y: DataLoader([{"input": a, "label": b} for a, b in zip(x, y, strict=True)], batch_size=4),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_same_numbers_in_any_form_give_the_same_bits(door):
    call, (x, y), _ = DOORS[door]
    x, y = bits(x), y
    wanted = call((x, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form, made in FORMS.items():
            found = call(made(x, y))
            xr.testing.assert_equal(found, wanted)
            # Data do not know yet whether images are to be flattened.
            assert found.attrs["data"] == wanted.attrs["data"] or form == "Data", form


def test_words_are_labels_in_every_form_and_a_network_may_return_its_logits_among_other_things():
    words = np.array(["cat", "dog", "eel"])[Y].tolist()
    wanted = train(small, TWO, (X, Y, X, Y), seed=over("seed", [0, 1]), ensemble_size=2)
    pairs = StackDataset(X, words), StackDataset(X, words)
    for data in ((X, words, X, words), pairs, Data.of(X, words, X, words), Data.of(*pairs[:1], x_test=pairs[1])):
        xr.testing.assert_equal(train(small, TWO, data, seed=over("seed", [0, 1]), ensemble_size=2), wanted)

    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = small()

        def forward(self, x):
            return {"hidden": self.body[:2](x), "logits": self.body(x)}

    for size in (1, 2):
        made = train(Several, TWO, (X, Y, X, Y), seed=over("seed", [0, 1]), ensemble_size=size, layers=["body.1:1"])
        np.testing.assert_allclose(made.loss, wanted.loss, rtol=1e-5)
        np.testing.assert_array_equal(made.accuracy, wanted.accuracy)


def test_a_factory_gets_images_in_their_own_shape():
    shapes = set()

    class Reads(nn.Flatten):
        def forward(self, x):
            shapes.add(x.shape[1:])
            return super().forward(x)

    images = X.reshape(30, 1, 2, 2)
    own = train(lambda: nn.Sequential(Reads(), small()), TWO, (images, Y, images, Y))
    assert shapes == {(1, 2, 2)}
    flat = train(lambda: nn.Sequential(nn.Flatten(), small()), TWO, (X, Y, X, Y))
    xr.testing.assert_equal(own.drop_vars("layer_name"), flat.drop_vars("layer_name"))


#: What no trainer takes: as (x, y), and what the message says.
REFUSED = {
    "no numbers": (lambda x, y: (x[..., :0], y), "at least one of each|needs images|does not take"),
    "sparse": (lambda x, y: (torch.tensor(x).to_sparse(), y), r"x\.to_dense\(\)"),
    "meta": (lambda x, y: (torch.tensor(x, device="meta"), y), "not on the device 'meta'"),
    "complex": (lambda x, y: (x + 0j, y), "real numbers"),
    "beyond": (lambda x, y: (x.astype(np.longdouble) * np.longdouble("1e4000"), y), "not finite"),
    "no pairs": (lambda x, y: DataLoader(x, batch_size=3), "must yield pairs"),
    "two a batch": (lambda x, y: DataLoader(x, batch_size=2), r"must yield pairs .*\(Tensor\)"),
    "one a sample": (lambda x, y: DataLoader(TensorDataset(torch.tensor(x))), r"must yield pairs .*\(Tensor\)"),
    "three": (lambda x, y: DataLoader(TensorDataset(*map(torch.tensor, (x, y, y)))), "must yield pairs .*r, Tensor, T"),
    "no labels": (lambda x, y: DataLoader([{"x": a, "other": b} for a, b in zip(x, y, strict=True)]), "must have lab"),
    "two inputs": (lambda x, y: {"ids": x, "mask": x, "labels": y}, "has ids, mask, labels: must have labels"),
    "nothing": (lambda x, y: StackDataset(x[:0], y[:0]), "must yield pairs .* no sample"),
    "unequal": (lambda x, y: StackDataset([x[0], x[0].reshape(-1)[:3]], y[:2]), "must yield pairs .* of one shape"),
    "generator": (lambda x, y: iter([(x, y)]), "a Dataset or DataLoader"),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_no_trainer_takes_is_refused_by_name(door):
    call, (x, y), _ = DOORS[door]
    for form, (made, said) in REFUSED.items():
        with pytest.raises(ValueError, match=rf"(?s)(walk|prepare|train|train_lenet): .*({said})") as error:
            call(made(x, y))
        assert "deepmech" in str(error.traceback[-1].path), form


def test_samples_without_an_end_are_refused_before_memory_ends(monkeypatch):
    class Endless(IterableDataset):
        def __iter__(self):
            yield from zip(itertools.cycle(X), itertools.cycle(Y))

    monkeypatch.setattr(specs, "total_memory", lambda: 1e6)
    with pytest.raises(ValueError, match="train: data: number of batches"):
        validate_data("train", Endless(), "float32")


def test_seeds_reach_to_64_bits_experiments_are_printable_and_rates_are_those_of_16_bits():
    fit = partial(train, MLP(depth=2, width=3), Training(epochs=1), (X, Y))
    for seed in (0, 2**63, 2**64 - 1, -1, 2**64, 10**30, None, "", [0]):
        taken = isinstance(seed, int) and 0 <= seed < 2**64
        with nullcontext() if taken else pytest.raises(ValueError, match="seed"):
            fit(seed=seed)
    for experiment in ("a", "", "a\x1fb", "\ud800", b"x", 5):
        taken = isinstance(experiment, str) and experiment.isprintable()
        with nullcontext() if taken else pytest.raises(ValueError, match="train: experiment = "):
            fit(experiment=experiment)
    for dropout in (0.0, 1 - 2.0**-16, 1 - 2.0**-17, 1.0):
        with nullcontext() if dropout < 1 - 2.0**-17 else pytest.raises(ValueError, match=r"MLP\.dropout = "):
            MLP(dropout=dropout)


def test_sizes_that_no_memory_holds_blame_the_field():
    with pytest.raises(ValueError, match=r"Dynamics\.hidden = 1000000000000, Dynamics\.width"):
        prepare(Dynamics(width=3, hidden=10**12), SHORT[1], (X, SIGNS))
    for seeds in ([0, 2**63], [1, 2**64 - 1]):
        assert over("seed", seeds).values.tolist() == seeds
    with pytest.raises(ValueError, match=r"over\('seed'\): values.*whole numbers of which one type"):
        over("seed", [-1, 2**63])


@given(
    a=st.lists(st.integers(-3, 3), min_size=4, max_size=4), b=st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    wide=st.booleans(), kinds=st.tuples(*[st.sampled_from(["int8", "int64", "float32", "float64", ">f8"])] * 2),
)  # fmt: skip
def test_fingerprints_are_equal_if_and_only_if_the_numbers_are(a, b, wide, kinds):
    shape = (2, 2) if wide else (4, 1)
    one, two = (np.array(n, k) for n, k in zip((a, b), kinds, strict=True))
    same = Data(one.reshape(shape), one).numbers == Data(two.reshape(2, 2), two).numbers
    assert same == (a == b and wide)
    assert Data(one, two).numbers != Data(one, None, two).numbers


ARGUMENTS = ["layers", "device", "seed", "metrics", "record", "arguments", "more", "network", "data"]


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


@pytest.mark.parametrize("ensemble_size", [1, 2])
@pytest.mark.parametrize("factory", [lambda: ONE, lambda: nn.Sequential(nn.Linear(4, 3), ACTIVATION, nn.Linear(3, 3))])
def test_modules_that_several_seeds_would_share_are_refused(factory, ensemble_size):
    with pytest.raises(
        ValueError, match=r"returns .*the same .*for the seeds 0 and 1.*make a new module in every call"
    ):
        train(factory, TWO, (X, Y), seed=over("seed", [0, 1]), ensemble_size=ensemble_size)


def test_torch_s_generator_stays_where_it_is():
    before = torch.get_rng_state()
    train(small, TWO, StackDataset(X, Y))
    assert torch.equal(torch.get_rng_state(), before)


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
