"""A whole number is one rule: 5.0 is 5 in every spec and public function; 5.5 and True are refused, by name."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn
from trainer_data import bent, clusters, noise

import deepmech
from deepmech import over
from deepmech.core.estimates import bootstrap, proportion
from deepmech.core.random import Stream
from deepmech.core.specs import Spec
from deepmech.data import fingerprint, load, resize
from deepmech.metrics import elasticity, glass
from deepmech.metrics.load_curve import LoadCurve, load_curve
from deepmech.metrics.separation import data_separation
from deepmech.plots import layer_curves
from deepmech.simulators import elastic_sde, folding_ruler, spring_block
from deepmech.sweeps import Sweep, run
from deepmech.trainers import MLP, Dynamics, Preparation, SingleSample, Training, prepare, train, train_lenet, walk
from deepmech.trainers.langevin import log_times

PACKAGES = ["deepmech", *(m.name for m in pkgutil.walk_packages(deepmech.__path__, "deepmech.") if m.ispkg)]
PUBLIC = {
    id(thing): thing
    for package in map(importlib.import_module, PACKAGES)
    for thing in (getattr(package, name) for name in getattr(package, "__all__", ()))
}.values()
#: What a spec needs besides.
NEEDED = {spring_block.Chain: {"noise": 0.1}, elastic_sde.PowerLaw: {"scale": 1.0, "exponent": 1.0}}


def is_whole(check):
    try:
        return type(check("", 9.0)) is int
    except ValueError:
        return False


FIELDS = [
    (spec, field)
    for spec in PUBLIC
    if inspect.isclass(spec) and issubclass(spec, Spec)
    for field, check in spec.CHECKS.items()
    if is_whole(check)
]


@pytest.mark.parametrize(("spec", "field"), FIELDS)
def test_a_field_that_counts_takes_nine_in_any_type(spec, field):
    made = partial(spec, **NEEDED.get(spec, {}))
    for nine in (9.0, np.float32(9), np.int8(9), np.array(9.0)):
        one = made(**{field: nine})
        assert type(getattr(one, field)) is int and one.to_json() == made(**{field: 9}).to_json()
    for other in (9.5, True, "9", np.nan, 2.0**60):
        with pytest.raises(ValueError, match=re.escape(f"{spec.__name__}.{field} = {other!r}: must be a ")):
            made(**{field: other})


def test_every_field_with_a_whole_number_as_default_is_one_that_counts():
    defaults = {(s, f) for s in PUBLIC if inspect.isclass(s) and issubclass(s, Spec) for f in s.CHECKS}
    counted = {(s, f) for s, f in defaults if type(getattr(s, f, None)) is int}
    assert counted <= set(FIELDS) and len(FIELDS) > 15


def test_epochs_of_a_schedule_and_versions_of_a_sweep_count_too():
    schedule = Training(schedule=((5.0, "dropout", 0.1),)).schedule
    assert schedule == ((5, "dropout", 0.1),) and type(schedule[0][0]) is int
    assert sweep(version=2.0).key == sweep(version=2).key and type(sweep(version=2.0).version) is int
    for slip in (lambda: Training(schedule=((5.5, "dropout", 0.1),)), lambda: sweep(version=True)):
        with pytest.raises(ValueError, match="must be"):
            slip()


def test_members_of_labelled_floats_are_trained_with_whole_numbers():
    """Labels stay what they were given as."""
    network, seeds = MLP(depth=2, width=over("width", [3.0, 4.0])), over("seed", [0.0, 1.0])
    made = train(network, Training(epochs=2), CLOUDS, seed=seeds)
    like = train(MLP(depth=2, width=over("width", [3, 4])), Training(epochs=2), CLOUDS, seed=over("seed", [0, 1]))
    np.testing.assert_array_equal(made.load_curve, like.load_curve)
    assert made.attrs["seed"] == like.attrs["seed"] == "[0, 1]"


def sweep(**how):
    compute = "deepmech.sweeps.example:powers"
    return Sweep("whole", compute, {"base": over("base", [1.0, 2.0, 3.0])}, {"highest": 2}, **how)


CLOUDS, IMAGES, SIGNS = clusters(30, 4, 3), noise(9, 1, 3), bent(20)
X, Y = CLOUDS.x_train, CLOUDS.y_train
NET = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
CURVE = xr.DataArray([3.0, 2.0], dims="layer", coords={"layer": ["input", "relu"]})
LOG, DRAWN = Stream.of("whole", 0).normal("log", 0, (9, 6, 2)), np.add.outer(range(9), range(6)) % 2
EFFECTS = elasticity.integrated_effects(elasticity.class_means(LOG, DRAWN))
CHAIN, MODEL, START = spring_block.Chain(n_blocks=2, noise=0.1), elastic_sde.ElasticSDE(), [[1.0], [0.0]]
RULER = folding_ruler.Ruler(n_pairs=2), folding_ruler.Pull(duration=5.0)
WALK = partial(walk, Dynamics(width=2, hidden=1), Preparation(sgd_steps=3), SIGNS)
SDE = {"n_samples": 3, "n_runs": 2, "seed": 4}
#: What counts in public functions: the function, and whole numbers that it takes.
COUNTS = {
    "train": (partial(train, MLP(depth=2, width=3), Training(epochs=3), CLOUDS, engine="torch"),
              {"seed": 1, "record": 2, "ensemble_size": 1, "threads": 1}),
    "train_lenet": (partial(train_lenet, SingleSample(iterations=3), IMAGES), {"seed": 1, "record": 2, "threads": 1}),
    "walk": (partial(WALK, steps=6), {"seed": 1, "record": 2, "threads": 1}),
    "walk steps": (WALK, {"steps": 6}),
    "prepare": (partial(prepare, Dynamics(width=2, hidden=1), Preparation(sgd_steps=3), SIGNS),
                {"seed": 1, "threads": 1}),
    "log_times": (partial(log_times, 100), {"per_decade": 3}),
    "load": (partial(load, "digits", n_train=9, n_test=9), {"size": 5, "n_train": 9, "n_test": 9, "seed": 1}),
    "fingerprint": (partial(fingerprint, "geomnist"), {"size": 5, "n_train": 9, "n_test": 9, "seed": 1}),
    "resize": (partial(resize, np.zeros((1, 1, 4, 4), np.float32)), {"size": 2}),
    "data_separation": (partial(data_separation, X, Y), {"n_classes": 3}),
    "load_curve": (partial(load_curve, NET, X, Y), {"batch_size": 7, "n_samples": 20, "n_folds": 5}),
    "load_curve axes": (partial(load_curve, NET, [(torch.tensor(X), Y)]), {"sample_axis": 0}),
    "LoadCurve": (lambda n_folds: LoadCurve(NET, n_folds=n_folds).update(X, Y).compute(), {"n_folds": 5}),
    "proportion": (partial(proportion, 0.5), {"n": 20}),
    "bootstrap": (partial(bootstrap, lambda mean: mean, np.arange(12.0)), {"n_draws": 30}),
    "class_means": (partial(elasticity.class_means, LOG, DRAWN), {"n_classes": 2, "pool": 3}),
    "integrated_effects": (partial(elasticity.integrated_effects, elasticity.class_means(LOG, DRAWN)),
                           {"reference": 2}),
    "effects": (partial(elasticity.effects, EFFECTS), {"window": 3}),
    "tail_index": (partial(elasticity.tail_index, EFFECTS.A), {"last": 3}),
    "displacement_sums": (partial(glass.displacement_sums, X[0], X[1], [0, 1, 1, 0], windows=[0.1]), {"n_groups": 2}),
    "chains": (partial(spring_block.simulate, CHAIN, 0.1), {"n_runs": 2, "seed": 1}),
    "rulers": (partial(folding_ruler.simulate, *RULER), {"n_runs": 2, "n_frames": 3, "seed": 1}),
    "elastic": (partial(elastic_sde.simulate, MODEL, [0.0, 1.0], START), SDE),
    "train_discrete": (partial(elastic_sde.train_discrete, MODEL, [0.0, 1.0], START, 0.5), SDE),
    "mixed_logits": (partial(elastic_sde.mixed_logits, own=1.0), {"n_classes": 3}),
    "critical_strength": (elastic_sde.critical_strength, {"n_classes": 3}),
    "separated_by_chance": (elastic_sde.separated_by_chance, {"n": 3}),
    "separation_probability": (partial(elastic_sde.separation_probability, 1.0), {"n": 3}),
    "run": (partial(run, sweep()), {"chunk": 2}),
    "layer_curves": (lambda columns: len(layer_curves({"a": CURVE, "b": CURVE}, columns=columns).axes), {"columns": 1}),
    "Stream": (lambda **step: Stream.of("a", step.get("seed", 1)).bits("p", step.get("step", 0), 3),
               {"seed": 2, "step": 3}),
}  # fmt: skip


def plain(found):
    """Without what differs from call to call."""
    if isinstance(found, xr.Dataset | xr.DataArray):
        attrs = {k: v for k, v in found.attrs.items() if k != "wall_seconds"}
        return found.drop_attrs(deep=False).to_dict(), repr(attrs)
    return dataclasses.astuple(found) if dataclasses.is_dataclass(found) else found


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n, (_, counts) in COUNTS.items() for a in counts])
def test_an_argument_that_counts_is_the_same_with_a_decimal_point(name, argument):
    call, counts = COUNTS[name]
    whole = counts[argument]
    np.testing.assert_equal(plain(call(**{argument: float(whole)})), plain(call(**{argument: whole})))
    for other in (whole + 0.5, True):
        with pytest.raises(ValueError, match=rf"\b{argument.replace('seed', '(seed|a word)')} = {other}: must be "):
            call(**{argument: other})


def test_no_argument_that_counts_is_forgotten():
    tested = {argument for _, counts in COUNTS.values() for argument in counts} | {field for _, field in FIELDS}
    counting = {
        parameter.name
        for thing in PUBLIC
        if inspect.isfunction(thing) or (inspect.isclass(thing) and issubclass(thing, Spec | LoadCurve))
        for parameter in inspect.signature(thing).parameters.values()
        if re.search(r"(?<!\[)\bint\b", str(parameter.annotation))
    }
    assert counting - tested == {"version"}
