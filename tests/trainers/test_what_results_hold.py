"""What a result cannot hold is refused before the first step; what numbers depend on is set, or said cell by cell."""

import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainer_data import bent, clusters, noise, pictures

from deepmech import Chain, ElasticSDE, Pull, Ruler, data_separation, load_curve, over, simulate
from deepmech.core import specs
from deepmech.core.random import Stream
from deepmech.metrics.separation import ClassMoments
from deepmech.simulators.elastic_sde import mean_solution, train_discrete
from deepmech.simulators.folding_ruler import slow_profile
from deepmech.simulators.spring_block import averaged, equilibrium
from deepmech.trainers import CNN, MLP, SingleSample, Training, rules, train, train_lenet
from deepmech.trainers.engines.compiled import mlp
from deepmech.trainers.langevin import Dynamics, Preparation, prepare, walk
from deepmech.trainers.run import FallbackWarning, TrainerRun

DATA, SIGNS, IMAGES = clusters(60, 4, 3), bent(30), noise(9, 1, 3)
ENGINES = "compiled", "torch"
STILL = Preparation(sgd_steps=2)
TWO = Training(epochs=2, batch_size=20)
BOTH = ["D", "D_hat"]
SDE = [0.0, 1.0], [[1.0], [-1.0]]


def effect(of):
    return ElasticSDE(intra=2.0, inter=0.0, noise=of)


#: Every verb that takes labels, with one of its numbers.
VERBS = {
    "train": lambda of: train(MLP(depth=2, width=3, slope=of), TWO, DATA, record=1, metrics=BOTH, class_means=True),
    "own": lambda of: train(plain, TWO, DATA, slope=of),
    "train_lenet": lambda of: train_lenet(SingleSample(iterations=2, learning_rate=of), IMAGES, record=1),
    "prepare": lambda of: prepare(Dynamics(width=2, hidden=1, temperature=of), STILL, SIGNS),
    "walk": lambda of: walk(Dynamics(width=2, hidden=1, temperature=of), STILL, SIGNS, steps=2, motility_times=[1]),
    "chain": lambda of: simulate(Chain(n_blocks=3, noise=of), t_end=1.0, record=[0, 1]),
    "averaged": lambda of: averaged(Chain(n_blocks=3, noise=of), t_end=1.0, record=[0, 1]),
    "equilibrium": lambda of: equilibrium(Chain(n_blocks=3, noise=0.0, friction_right=of)),
    "sde": lambda of: simulate(effect(of), *SDE, n_samples=2),
    "discrete": lambda of: train_discrete(effect(of), *SDE, step=0.5, n_samples=2),
    "mean": lambda of: mean_solution(effect(of), *SDE),
    "ruler": lambda of: simulate(Ruler(n_pairs=3, table_friction=of), Pull(duration=50.0), dt=0.02),
    "profile": lambda of: slow_profile(Ruler(n_pairs=3, table_friction=of), 0.5).to_dataset(),
}  # fmt: skip


def plain(slope=0.0, width=5):
    return nn.Sequential(nn.Linear(4, width), nn.LeakyReLU(slope), nn.Dropout(0.1), nn.Linear(width, 3))


@pytest.mark.parametrize("verb", VERBS)
def test_no_label_may_have_a_name_that_the_result_uses_and_nothing_is_computed_before(verb, monkeypatch):
    go, values = VERBS[verb], [0.1, 0.2]
    made = go(over("mine", values))
    assert made.sizes["mine"] == 2
    monkeypatch.setattr(TrainerRun, "run", lambda *of, **how: pytest.fail("the first step was taken"))
    monkeypatch.setattr(import_module("deepmech.simulators.spring_block.simulate"), "_run_on_cores", TrainerRun.run)
    for name in {*map(str, made.variables), *map(str, made.dims)} - {"mine"}:
        with pytest.raises(ValueError, match=f" has the dimension '{name}', a name that results use"):
            go(over(name, values))
        with pytest.raises(ValueError, match=f" has the coordinate '{name}', a name that results use"):
            go(over("mine", values).assign_coords({name: ("mine", [1, 2])}))


def test_a_network_that_a_later_member_would_fail_with_is_refused_before_any_is_trained(monkeypatch):
    monkeypatch.setattr(TrainerRun, "run", lambda *of, **how: pytest.fail("the first step was taken"))
    for factory, words in {
        lambda n: nn.Linear(4, n): "Linear returns 2 outputs for a sample: must be at least 3, one for each class",
        lambda n: nn.Sequential(nn.Linear(n + 1, 3)): r"does not take samples of shape \(4, 4\)",
    }.items():
        with pytest.raises(ValueError, match=words):
            train(factory, TWO, DATA, n=over("n", [3, 2]), metrics=())
    with pytest.raises(ValueError, match="nope"):
        train(plain, TWO, DATA, layers=["nope"], seed=over("seed", [0, 1]))
    monkeypatch.undo()
    real = DATA.x_train, DATA.x_train[:, 0]
    with pytest.raises(ValueError, match="returns 3 outputs for a sample: must be 1, as targets are real"):
        train(plain, Training(epochs=1, loss="mse"), real, metrics=())


def test_a_grid_of_several_engines_says_which_trained_each_cell_and_warns_once_of_the_slower():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rules.OPTIMIZERS, "none_such", rules.OPTIMIZERS["sgd"])
        many = Training(epochs=1, optimizer=over("optimizer", ["none_such", "sgd"])), DATA
        with pytest.warns(FallbackWarning, match=r"does not know Training\.optimizer = 'none_such'$") as told:
            made = train(MLP(depth=2, width=3), *many, seed=over("seed", [0, 1]))
        assert len(told) == 1 and told[0].filename == __file__
        with warnings.catch_warnings(action="error"):
            train(MLP(depth=2, width=3), *many, engine="torch")
            train(CNN(convolutions=1, channels=2), Training(epochs=1), pictures())
    assert made.engine.dims == ("optimizer", "seed") and not {"engine", "fallback_reason"} & made.attrs.keys()
    assert made.engine.values.tolist() == [["torch"] * 2, ["compiled"] * 2]
    assert made.fallback_reason.values.tolist() == [["it does not know Training.optimizer = 'none_such'"] * 2, [""] * 2]
    alone = train(MLP(depth=2, width=3), Training(epochs=1, optimizer="sgd"), DATA, seed=1)
    np.testing.assert_array_equal(made.loss.sel(optimizer="sgd", seed=1), alone.loss)


def test_a_field_that_is_added_is_compiled_while_it_has_its_default(monkeypatch):
    @dataclass(frozen=True, eq=False)
    class Gated(MLP):  # the spec as it would be after such an edit
        gate: float = 0.0

    where = import_module("deepmech.trainers.training")
    for module in (where, mlp):
        monkeypatch.setattr(module, "MLP", Gated)
    with warnings.catch_warnings(action="error"):
        made = train(Gated(depth=2, width=3, gate=np.float64(0)), TWO, DATA)
    assert made.attrs["engine"] == "compiled" and "fallback_reason" not in made.attrs
    with pytest.warns(FallbackWarning, match=r"does not know Gated\.gate = 0\.5"):
        made = train(Gated(depth=2, width=3, gate=over("gate", [0.0, 0.5])), TWO, DATA)
    assert made.engine.values.tolist() == ["compiled", "torch"]


@pytest.fixture
def torch_as_it_was():
    before = torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.get_num_threads()
    yield
    for put, value in zip(
        (torch.set_default_dtype, torch.set_float32_matmul_precision, torch.set_num_threads), before, strict=True
    ):
        put(value)
    torch.set_default_device(None)
    torch.use_deterministic_algorithms(False)


def test_no_setting_of_the_process_changes_a_number_and_all_are_left_alone(torch_as_it_was):
    model = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3))

    def numbers():
        ways = [(plain, {}), (plain, {"ensemble_size": 2}), *((MLP(depth=2, width=3), {"engine": e}) for e in ENGINES)]
        found = [train(network, TWO, DATA, seed=over("seed", [0, 1]), **how) for network, how in ways]
        walked = walk(Dynamics(width=2, hidden=1, temperature=0.1), STILL, SIGNS, steps=5, engine="torch")
        kept = [one[name].values for one in found for name in ("load_curve", "loss")] + [walked.square.values]
        return [*kept, data_separation(DATA.x_train, DATA.y_train, debias=True)]

    expected = numbers()
    for put, get, value in (
        (torch.set_default_dtype, torch.get_default_dtype, torch.float64),
        (torch.set_default_dtype, torch.get_default_dtype, torch.float16),
        (torch.set_float32_matmul_precision, torch.get_float32_matmul_precision, "medium"),
        (torch.set_num_threads, torch.get_num_threads, 2),
        (torch.set_default_device, torch.get_default_device, torch.device("meta")),
        (torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled, True),
    ):
        before = get()
        put(value)
        for one, other in zip(expected, numbers(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert get() == value
        put(None if put is torch.set_default_device else before)
    x = torch.tensor(DATA.x_train)
    plainly = load_curve(model, x, DATA.y_train)
    torch.set_float32_matmul_precision("medium")
    assert load_curve(model, x, DATA.y_train).matmul_precision == "medium" and "matmul_precision" not in plainly.attrs
    torch.set_float32_matmul_precision("highest")
    torch.set_default_dtype(torch.float64)
    xr.testing.assert_identical(load_curve(model, x, DATA.y_train), plainly)


def test_members_of_an_ensemble_draw_what_they_draw_alone_and_differ_by_rounding_of_sums():
    def normed(bias):
        return nn.Sequential(nn.Linear(4, 9, bias), nn.BatchNorm1d(9), nn.ReLU(), nn.Dropout(0.2), nn.Linear(9, 3))

    def off(bias, optimizer):
        training = Training(epochs=10, batch_size=20, optimizer=optimizer, data_noise=0.1)
        alone, beside = (
            train(normed, training, DATA, seed=over("seed", [0, 1]), ensemble_size=n, bias=bias) for n in (1, 2)
        )
        return abs(alone.load_curve - beside.load_curve).max().item(), abs(alone.loss - beside.loss).max().item()

    assert max(off(False, "adam") + off(True, "sgd")) < 3e-6
    curves, losses = off(True, "adam")  # the one case in which rounding grows: a bias that does nothing
    assert losses < 3e-6 < curves < 1e-2


def test_two_data_sets_train_and_test_and_words_are_labels():
    arrays = DATA.x_train, DATA.y_train, DATA.x_test[:30], DATA.y_test[:30]
    sets = [TensorDataset(*map(torch.tensor, pair)) for pair in (arrays[:2], arrays[2:])]
    words = np.array(["cat", "dog", "eel"])
    expected = train(MLP(depth=2, width=3), TWO, arrays)
    named = (arrays[0], words[arrays[1]], arrays[2], words[arrays[3]].tolist())
    for data in (tuple(sets), [sets[0], DataLoader(sets[1], 7)], named):
        made = train(MLP(depth=2, width=3), TWO, data)
        assert made.split.values.tolist() == ["train", "test"] and made.samples == expected.samples
        np.testing.assert_array_equal(made.load_curve, expected.load_curve)
    with pytest.raises(ValueError, match=r"data\.y_test is a ndarray.*must be an array of real numbers"):
        train(MLP(depth=2, width=3), TWO, (*named[:3], np.array([None] * 30)))


def test_sizes_that_no_machine_holds_are_said_in_one_sentence(monkeypatch):
    x, y = DATA.x_train, DATA.y_train
    model = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3))
    wide, long = over("a", np.arange(10.0**5)), over("b", np.arange(10.0**5))
    for go, words in {
        lambda: data_separation(x, y, n_classes=10**6): "class 3, .* of 1000000 has no sample",
        lambda: load_curve(model, x, y, n_folds=10**12): "n_folds = 1000000000000: .*must be smaller",
        lambda: Chain(noise=wide, stiffness=1 + long): "number of members = 10000000000: .*must be smaller",
        lambda: train(MLP(slope=wide / 1e6, dropout=long / 1e6), Training(), DATA): "number of members = 10000000000: ",
        lambda: walk(Dynamics(), STILL, SIGNS, steps=10**12, record=1): "record = 1: .*must be smaller",
        lambda: import_module("deepmech.data").load("geomnist", n_train=3, n_test=3, size=10**6): "size = 1000000: ",
        lambda: import_module("deepmech.data").load("geomnist", n_train=10**12): "n_train = 1000000000000: ",
    }.items():
        with pytest.raises(ValueError, match=words) as error:
            go()
        assert "\n" not in str(error.value)
    monkeypatch.setattr(specs, "total_memory", lambda: 1e6)
    with pytest.raises(ValueError, match=r"n_classes = 9999: .*must be smaller"):
        ClassMoments(9999).update(x, y)


def test_debiased_separation_is_that_of_a_load_curve_to_double_precision():
    y = np.arange(200) % 4
    for seed in range(5):
        x = Stream.of("debiased", seed).normal("x", 0, (200, 30)) + 2 * np.eye(4, 30)[y] + 3
        curve = load_curve(nn.Sequential(nn.ReLU(), nn.Linear(30, 4)).double(), x, y, layers=["input"])
        assert curve.item() == pytest.approx(data_separation(x, y, debias=True), abs=1e-12)
