"""What a slip meets: an error that names the field, its value and the remedy; never a raw one, and never silence."""

import copy
import re
import tracemalloc
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from deepmech import over
from deepmech.core.labels import align
from deepmech.core.random import Stream
from deepmech.metrics import elasticity as el
from deepmech.metrics import glass, relaxation
from deepmech.metrics.load_curve import load_curve
from deepmech.metrics.separation import data_separation
from deepmech.simulators import brownian, folding_ruler
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution, train_discrete
from deepmech.simulators.spring_block import Chain, averaged, simulate
from deepmech.trainers import Training, train
from deepmech.trainers.langevin import Dynamics, Preparation, walk

STREAM = Stream.of("bad inputs", 0)
QUIET, ELASTIC = Chain(noise=0.0), ElasticSDE()
START = [[1.0], [0.0]]
NET = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
X, Y = STREAM.normal("x", 0, (8, 3)).astype(np.float32), np.arange(8) % 2
LOADER = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y)))
LOG, DRAWN = STREAM.normal("log", 0, (6, 20, 2)), np.tile([0, 1], (6, 10))


def labelled(labels, **coords):
    return xr.DataArray(np.arange(float(len(labels))), dims="x", coords={"x": labels, **coords})


NUMBER = "must be a number or a labelled array of numbers; use over(name, values)"


@pytest.mark.parametrize("far", [1_000_000, 2**62])
def test_room_is_made_for_the_classes_that_occur_and_not_for_the_largest_label(far):
    labels = np.array([0, 1, far] * 3)[:8]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(labels)))
    tracemalloc.start()
    try:
        for measure in (
            lambda: data_separation(X, labels),
            lambda: load_curve(NET, X, labels),
            lambda: load_curve(NET, loader),
        ):
            with pytest.raises(ValueError, match=f"class 2, 3, 4, 5, 6 and [\\d,]+ more of {far + 1} has no sample"):
                measure()
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_classes_of_a_loader_may_come_in_any_order():
    order = np.argsort(-Y, kind="stable")  # class 1 first
    own = torch.utils.data.TensorDataset(torch.tensor(X[order]), torch.tensor(Y[order]))
    curve = load_curve(NET, torch.utils.data.DataLoader(own, batch_size=3))
    np.testing.assert_allclose(curve, load_curve(NET, X, Y), rtol=1e-6)
    assert curve.attrs["classes"] == 2


HIDDEN = np.ma.masked_array(X, np.arange(24).reshape(8, 3) == 5)
SIGNS = SimpleNamespace(x=X, y=np.where(Y, 1.0, -1.0), fingerprint="bad inputs")
WALKS = {"dynamics": Dynamics(width=3), "preparation": Preparation(sgd_steps=1), "data": SIGNS}


SLIPS = {
    "nan": (lambda: over("x", [1.0, np.nan]), "over('x'): a label along 'x' is nan"),
    "twice": (lambda: over("x", [1.0, 2.0, 1.0]), "over('x'): label 1.0 stands twice along 'x'"),
    "ragged": (
        lambda: over("x", [[1, 2], [3]]),
        "over('x'): values = [[1, 2], [3]]: must be a one-dimensional sequence",
    ),
    "nul": (lambda: over("x", ["a\0", "b"]), "over('x'): values = "),  # NumPy cuts a text's last NULs
    "no labels": (lambda: align("t", a=labelled([])), "t.a: dimension 'x' has no labels at all"),
    "clash along": (
        lambda: align("t", a=labelled([1, 2], q=("x", [1, 2])), b=labelled([1, 2], q=("x", [3, 4]))),
        "t.a and t.b both have a coordinate 'q' but different values of it",
    ),
    "step too large": (lambda: STREAM.bits("p", 2**70, 3), "must be a whole number from 0 to 2^64 - 1"),
    "drop of nan": (lambda: STREAM.mask("p", 0, 5, np.nan), "Stream.mask: drop = nan: must be a probability"),
    "float word": (lambda: Stream.of("a", 1.5), "a word = 1.5: must be text or a whole number"),
    "list": (lambda: Chain(friction_right=[0.1, 0.2], noise=0.0), f"Chain.friction_right = [0.1, 0.2]: {NUMBER}"),
    "hidden": (lambda: Chain(friction_right=np.ma.masked, noise=0.0), f"Chain.friction_right = masked: {NUMBER}"),
    "hidden, no axis": (lambda: Chain(target=HIDDEN[1, 2], noise=0.0), f"Chain.target = masked: {NUMBER}"),
    "layers of train": (
        lambda: train(partial(copy.deepcopy, NET), Training(epochs=1), (X, Y), layers=["nope"]),
        "train: no layer 'nope'; this model has input",
    ),
    "averaged": (lambda: averaged(QUIET, 1.0, record=[9.0]), "averaged: record = [9.0]: must be times between 0 and"),
    "no ruler": (lambda: folding_ruler.slow_profile(3, 0.5), "slow_profile: ruler is of type int: must be a Ruler"),
    "falling times": (lambda: mean_solution(ELASTIC, [2, 1], START), "mean_solution: times = [2, 1]: must be finite"),
    "the class": (lambda: simulate(Chain, 1.0), "simulate: chain is the class Chain itself: make one first"),
    "shared by text": (lambda: simulate(QUIET, 1.0, shared_noise="no"), "simulate: shared_noise = 'no': must be True"),
    "no model": (
        lambda: mean_solution(None, [1.0], START),
        "mean_solution: model is of type NoneType: must be a ElasticSDE",
    ),
    "negative spread": (lambda: train_discrete(ELASTIC, [1.0], START, 0.5, start_spread=-1.0), "start_spread = -1.0"),
    "labels that are no classes": (lambda: load_curve(NET, X, Y / 2), "y has type float64: expected classes"),
    "yes-or-no labels": (
        lambda: load_curve(NET, X, Y[:, None] == range(3)),
        "y has shape (8, 3): expected one label for each",
    ),
    "a loader and labels": (
        lambda: load_curve(NET, LOADER, Y),
        "x is a DataLoader: beside y give an array or a tensor; a loader's batches hold",
    ),
    "groups beyond": (lambda: glass.displacement_sums(X[0], X[0], [0, 1, 5], 2, [0.1]), "group = [0, 1, 5]"),
    "endless": (lambda: relaxation.decorrelation_time([1, np.inf], [1, 0.5]), "decorrelation_time: times (2,)"),
    "masked samples": (lambda: data_separation(HIDDEN, Y), "features: 1 entries are masked: leave them out"),
    "record beyond": (lambda: walk(**WALKS, steps=5, record=[7]), "walk: record = [7]: must be a whole number, or a"),
    "runs": (lambda: simulate(QUIET, 1.0, n_runs=10**12), "simulate: n_runs = 1000000000000: 65.5 TiB would have"),
}


@pytest.mark.parametrize(("call", "words"), SLIPS.values(), ids=SLIPS)
def test_the_field_its_value_and_the_remedy_are_named(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_missing_classes_of_a_log_are_named_before_anything_is_laid_out_for_them():
    with pytest.raises(ValueError, match="class 1, 2, 3, 4, 5 and 9,999,994 more of 10000001 has no sample") as error:
        el.class_means(LOG, DRAWN * 10_000_000)
    assert len(str(error.value)) < 200


def test_what_is_right_is_still_taken():
    """Integers of any type, zero-dimensional arrays, equal coordinates, labels of text, a mask that hides nothing."""
    assert data_separation(np.ma.masked_array(X), Y) == data_separation(X, Y)
    assert Stream.of("a", np.int8(1)).key == Stream.of("a", 1).key == Stream.of("a", np.uint64(1)).key
    np.testing.assert_array_equal(STREAM.bits("p", np.int64(3), np.int32(5)), STREAM.bits("p", 3, 5))
    assert STREAM.normal("p", 0, [2, 3]).shape == (2, 3) and STREAM.normal("p", 0, ()).shape == ()
    assert STREAM.mask("p", 0, 5, np.float32(0)).all() and not STREAM.mask("p", 0, 5, 1).any()
    assert Chain(n_blocks=np.int64(3), noise=np.array(0.1), stiffness=np.float32(1)).grid().n == 1
    assert over("regime", ["lazy", "rich"]).sizes == {"regime": 2}
    both = align("t", a=labelled([1, 2], q=("x", [1, 2])), b=labelled([1, 2], q=("x", [1, 2])))
    assert both.coords["q"].values.tolist() == [1, 2]
    assert folding_ruler.Ruler(n_pairs=np.int64(3)).n_pairs == 3
    assert brownian.free_time(1.0, 0.0) == np.inf
