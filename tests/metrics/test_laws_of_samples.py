"""Laws of samples: whatever they come in and in whatever order, what a call saw is measured, and told."""

import warnings

import numpy as np
import pytest
import torch
from example_networks import CLASSES, WIDTH, mlp, seeded
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from deepmech.core.random import Stream
from deepmech.metrics.interpret import compare
from deepmech.metrics.load_curve import LoadCurve, PartialWarning, load_curve, predicted_labels

N = 400
STREAM = Stream.of("test laws of samples", 0)
Y = np.arange(N) // (N // CLASSES + 1)  # sorted
X = (STREAM.normal("x", 0, (N, WIDTH)) + 2 * STREAM.normal("m", 0, (CLASSES, WIDTH))[Y]).astype(np.float32)
ROWS = TensorDataset(torch.tensor(X), torch.tensor(Y))
WORDS = np.array(["cat", "dog", "eel"])[Y]
PAIRS = [(X[i : i + 32], Y[i : i + 32]) for i in range(0, N, 32)]


class Endless(IterableDataset):
    """It has no length."""

    def __iter__(self):
        yield from ROWS


class Samples:
    """As a data set of somebody who derives from nothing: rows by number."""

    def __len__(self):
        return N

    def __getitem__(self, i):
        if i >= N:
            raise IndexError
        return {"input": torch.tensor(X[i]), "y": int(Y[i])}

    def __iter__(self):
        return (self[i] for i in range(N))


SOURCES = {
    "arrays": lambda: (X, Y),
    "data set": lambda: (ROWS,),
    "data set of nobody": lambda: (Samples(),),
    "iterable data set": lambda: (Endless(),),
    "loader": lambda: (DataLoader(ROWS, batch_size=32),),
    "loader without a length": lambda: (DataLoader(Endless(), batch_size=32),),
    "list of batches": lambda: (PAIRS,),
    "tuple of batches": lambda: (tuple(PAIRS),),
    "list of dicts": lambda: ([{"input": torch.tensor(x), "y": torch.tensor(y)} for x, y in PAIRS],),
    "generator": lambda: (pair for pair in [iter(PAIRS)]),
    "empty last batch": lambda: ([*PAIRS, (X[:0], Y[:0])],),
    "words": lambda: (X, WORDS),
    "list of words": lambda: (X, WORDS.tolist()),
    "objects": lambda: (X, WORDS.astype(object)),
    "column of labels": lambda: (X, Y[:, None]),
    "negative strides": lambda: (X[:, ::-1][:, ::-1][::-1][::-1], Y[::-1][::-1]),
    "other order of bytes": lambda: (X.astype(">f4"), Y.astype(">i2")),
    "other numbers": lambda: (X.astype(np.longdouble), Y.astype(np.uint32)),
    "batches with negative strides": lambda: ([(x[::-1], y[::-1]) for x, y in PAIRS],),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_curve_of_its_samples(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = load_curve(mlp(), *SOURCES[name](), batch_size=32)
    np.testing.assert_allclose(curve, load_curve(mlp(), X, Y), atol=1e-5)
    assert (curve.attrs["samples"], curve.attrs["taken"], curve.attrs["classes"]) == (N, "all", CLASSES)


@pytest.mark.parametrize("name", SOURCES)
def test_some_samples_of_a_sorted_source_are_drawn_or_the_call_says_what_it_saw(name):
    """Of all classes if the source can be drawn from, near the curve of all; else a warning counts the classes."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        curve = load_curve(mlp(), *SOURCES[name](), n_samples=150, batch_size=32)
    said = [str(one.message) for one in told if issubclass(one.category, PartialWarning)]
    if curve.attrs["taken"] == f"drawn from {N}":
        assert not said and curve.attrs["samples"] == 150 and curve.attrs["classes"] == CLASSES
        np.testing.assert_allclose(curve, load_curve(mlp(), X, Y), atol=0.35)
    else:
        assert curve.attrs["taken"] == "the first" and curve.attrs["sorted"] == 1
        assert len(said) == 1 and f"{curve.attrs['classes']} classes, one after the other" in said[0]


def test_what_is_drawn_is_drawn_alike_and_shuffled_sources_are_not_warned_about():
    one, two = (load_curve(mlp(), X, Y, n_samples=100) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert compare({"a": one, "b": two}).attrs["paired"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = DataLoader(ROWS, batch_size=32, shuffle=True, generator=torch.Generator().manual_seed(0))
        assert load_curve(mlp(), loader, n_samples=100).attrs["sorted"] == 0
        order = STREAM.permutation("order", 0, N)
        mixed = [(X[rows], Y[rows]) for rows in np.array_split(order, 10)]
        assert load_curve(mlp(), mixed, n_samples=100).attrs["taken"] == "the first"


def test_classes_that_are_known_and_not_seen_are_counted():
    class Named(Dataset):
        classes = ("ant", "bee", "cat", "dog")

        def __len__(self):
            return N

        def __getitem__(self, i):
            return ROWS[i]

    with pytest.warns(PartialWarning, match="3 of 4 classes are among the 50 samples"):
        curve = load_curve(mlp(), DataLoader(Named(), batch_size=32), n_samples=50)
    assert (curve.attrs["classes"], curve.attrs["classes_known"]) == (3, 4)
    for samples in (list(ROWS), [{"input": x, "y": int(y)} for x, y in ROWS]):
        with pytest.raises(ValueError, match=r"a batch has the label .*of samples make batches, DataLoader"):
            load_curve(mlp(), samples)
    with pytest.raises(ValueError, match=r"all samples are of class 0.*shuffled ones if they are sorted"):
        load_curve(mlp(), PAIRS, n_samples=32)


def test_labels_that_the_network_gives_need_not_be_of_every_class():
    for seed in range(5):
        model = mlp(classes=10, seed=seed)
        with torch.no_grad():
            said = model(torch.tensor(X)).argmax(1).numpy()
        if len(np.unique(said)) > 1:
            curve = load_curve(model, X, predicted_labels)
            assert curve.attrs["classes"] == len(np.unique(said)) < 10
            numbered = np.unique(said, return_inverse=True)[1]
            np.testing.assert_allclose(curve, load_curve(model, X, numbered), atol=1e-5)
    with torch.no_grad():
        model[-1].bias[3] = 1e6
    with pytest.raises(ValueError, match="all samples are of class 3"):
        load_curve(model, X, predicted_labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.eye(CLASSES)[Y], r"y has shape \(400, 3\).*of one column for each class give y.argmax\(1\)"),
        (torch.eye(CLASSES)[Y], r"give y.argmax\(1\), of batches \(\(x, y.argmax\(1\)\) for x, y in loader\)"),
        (Y + 0.5, r"y has type float64: expected classes, words or whole numbers, y.astype\(int\)"),
    ],
)
def test_labels_of_another_form_are_named_with_the_remedy(labels, message):
    for source in ((X, labels), ([(X, labels)],)):
        with pytest.raises(ValueError, match=message):
            load_curve(mlp(), *source)


# --- after an exception -----------------------------------------------------------------------------------------------


def poison(kind):
    x, y = X[:16].copy(), Y[:16].copy()
    if kind == "nan":
        x[-1, 0] = np.nan
    return {
        "nan": (x, y), "shape": (x[:, :5], y), "lengths": (x, y[:-1]), "labels": (x, y - 5), "kind": (x, y + 0.5),
        "late": ([(x, y), (x[:, :5], y)],),
    }[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["nan", "shape", "lengths", "labels", "kind", "late"])
@pytest.mark.parametrize("d_hat", [False, True])
def test_after_a_refused_batch_a_measure_is_what_it_was_or_asks_to_be_reset(kind, d_hat):
    order = STREAM.permutation("updates", 0, N)
    parts = [(X[rows], Y[rows]) for rows in np.array_split(order, 3)]
    how = {"metric": "D_hat" if d_hat else "D"}
    metric, untouched = LoadCurve(mlp(), **how), LoadCurve(mlp(), **how).update(*parts[0]).update(*parts[1])
    metric.update(*parts[0])
    with pytest.raises((ValueError, RuntimeError)):
        metric.update(*poison(kind))
    if kind in ("nan", "shape", "labels", "late"):
        for refused in (metric.compute, lambda: metric.update(*parts[1])):
            with pytest.raises(ValueError, match=r"samples were taken in part.*call reset\(\)"):
                refused()
        metric.reset()
        metric.update(*parts[0])
    one, two = metric.update(*parts[1]).compute(), untouched.compute()
    np.testing.assert_array_equal(one, two)
    assert one.attrs.keys() == two.attrs.keys() and one.attrs["order"] == two.attrs["order"]
    np.testing.assert_array_equal(one.attrs.get("jackknife", 0), two.attrs.get("jackknife", 0))


# --- what is kept is a copy -------------------------------------------------------------------------------------------


class Residual(nn.Module):
    """A block whose output is overwritten afterwards, or not."""

    def __init__(self, in_place, linear=False):
        super().__init__()
        self.fc, self.act, self.in_place, self.linear = nn.Linear(WIDTH, WIDTH), nn.ReLU(), in_place, linear

    def forward(self, h):
        r = self.fc(self.act(h)) if self.linear else self.act(self.fc(h))
        if self.in_place:
            r += h
            return r
        return r + h


def blocks(in_place, linear=False):
    return seeded(lambda: nn.Sequential(*(Residual(in_place, linear) for _ in range(3)), nn.Linear(WIDTH, CLASSES)))


@pytest.mark.parametrize(
    "how", [{}, {"metric": "D_hat"}, {"y": predicted_labels}, {"layers": "blocks"}, {"n_folds": 1}]
)
def test_a_later_operation_in_place_does_not_reach_what_was_measured(how):
    y = how.pop("y", Y) if "y" in how else Y
    np.testing.assert_array_equal(load_curve(blocks(True), X, y, **how), load_curve(blocks(False), X, y, **how))


def test_networks_trained_together_are_measured_before_anything_is_overwritten():
    from deepmech import Training, train
    from deepmech.data import Data

    order = STREAM.permutation("train", 0, N)
    data = Data.of(X[order[:300]], Y[order[:300]], X[order[300:]], Y[order[300:]])
    how = {"layers": [f"{i}.fc" for i in range(3)]}
    training = Training(epochs=1, batch_size=50)
    curves = [train(blocks, training, data, in_place=i, linear=True, **how).load_curve for i in (1, 0)]
    np.testing.assert_array_equal(*curves)


@pytest.mark.parametrize("scale", [1e-36, 1e-30, 1e-20, 1e20, 1e35])
def test_a_curve_has_no_scale_wherever_the_numbers_are_finite(scale):
    model = seeded(lambda: nn.Sequential(nn.Linear(WIDTH, 9, bias=False), nn.ReLU(), nn.Linear(9, CLASSES)))
    small = load_curve(model, (X * np.float32(scale)).astype(np.float32), Y, batch_size=100)
    np.testing.assert_allclose(small, load_curve(model, X, Y), atol=1e-4)
