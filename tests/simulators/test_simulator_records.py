"""What a result says of its making: another number has another record, and the record makes the numbers again."""

import inspect
import json
from functools import partial

import pytest
import xarray as xr

from deepmech import over
from deepmech.core.specs import decode
from deepmech.simulators import elastic_sde, folding_ruler, spring_block
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech.simulators.spring_block import Chain

CHAIN = Chain(n_blocks=3, friction_right=over("mu", [0.0, 0.05]), noise=0.1)
MODEL = ElasticSDE(intra=over("intra", [0.5, 1.0]), inter=0.2, noise=0.5)
START = [[1.0], [-1.0]]


def specs_of(record, *kinds):
    """A spec from a record in which it stands beside the other arguments, and these."""
    found = []
    for name, kind in kinds:
        own = record.pop(name) if name else {k: record.pop(k) for k in ("spec", *inspect.signature(kind).parameters)}
        found.append(kind.from_json(own))
    return *found, {k: decode(v) for k, v in record.items()}


def chain_again(record, made):
    chain, how = specs_of(record, ("", Chain))
    how.pop("averaged", None)
    return (chain,), how | ({"record": made.time.values} if "time" in made.dims else {})


def elastic_again(record, made):
    model, how = specs_of(record, ("", ElasticSDE))
    how.pop("discrete", None)
    return (model, made.time.values), how


def ruler_again(record, made):
    ruler, pull, how = specs_of(record, ("ruler", Ruler), ("pull", Pull))
    return (ruler, pull), how


#: Every public verb: what it is called with, other values of each argument, and how its record is read.
VERBS = {
    "chain": (spring_block.simulate, {"chain": CHAIN, "t_end": 2.0}, {
        "chain": Chain(n_blocks=3, friction_right=over("mu", [0.0, 0.05]), noise=0.2), "t_end": 3.0, "dt": 0.02,
        "order": "second", "n_runs": 2, "shared_noise": True, "truncation": 1.0, "noise_decay": over("tau", [0.5, 1.0]),
        "record": [1.0, 2.0], "start": [0.1, 0.0, 0.3], "seed": 1,
    }, chain_again),
    "averaged chain": (spring_block.averaged, {"chain": CHAIN, "t_end": 2.0}, {
        "chain": Chain(n_blocks=3, friction_right=0.01, noise_bar=0.2), "t_end": 3.0, "dt": 0.02, "record": [1.0],
    }, chain_again),
    "elastic": (elastic_sde.simulate, {"model": MODEL, "times": [1.0, 2.0], "start": START, "n_samples": 3}, {
        "model": ElasticSDE(intra=PowerLaw(over("scale", [1.0, 2.0]), 1.0)), "times": [1.5], "start": [[1.0], [0.0]],
        "n_samples": 4, "n_runs": 2, "start_spread": 0.3, "mean": "infinite", "seed": 1,
    }, elastic_again),
    "mean solution": (elastic_sde.mean_solution, {"model": MODEL, "times": [1.0, 2.0], "start": START}, {
        "model": ElasticSDE(label_mixing=0.1), "times": [1.5], "start": [[1.0], [0.5]],
    }, elastic_again),
    "training in steps": (
        elastic_sde.train_discrete, {"model": MODEL, "times": [1.0], "start": START, "step": 0.1, "n_samples": 3}, {
            "model": ElasticSDE(noise=0.1), "times": [0.5], "start": [[1.0], [0.0]], "step": 0.2, "n_samples": 4,
            "n_runs": 2, "start_spread": 0.3, "seed": 1,
        }, elastic_again,
    ),
    "ruler": (
        folding_ruler.simulate,
        {"ruler": Ruler(n_pairs=3), "pull": Pull(duration=50.0, jerk_speed=0.2), "dt": 0.02, "n_frames": 3}, {
            "ruler": Ruler(n_pairs=3, table_friction=over("f", [0.1, 0.3])), "pull": Pull(duration=60.0), "dt": 0.01,
            "n_runs": 2, "n_frames": 4, "seed": 1,
        }, ruler_again,
    ),
}  # fmt: skip
CHANGES = [(verb, name) for verb, (_, _, others, _) in VERBS.items() for name in others]


def record(made):
    """All that a result says of its making and its places."""
    attrs = {k: v for k, v in made.attrs.items() if k != "wall_seconds"}
    return attrs, {k: (v.dims, v.values.tolist()) for k, v in made.coords.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_tried(verb):
    call, _, others, _ = VERBS[verb]
    assert others.keys() == inspect.signature(call).parameters.keys()


@pytest.mark.parametrize(("verb", "name"), [(verb, "") for verb in VERBS] + CHANGES)
def test_another_argument_is_another_record_and_a_record_makes_its_numbers_again(verb, name):
    call, base, others, again = VERBS[verb]
    made = call(**base | ({name: others[name]} if name else {}))
    if name:
        one = call(**base)
        assert not one.equals(made), "an argument that changes nothing proves nothing"
        assert record(one) != record(made)
    given, how = again(json.loads(made.attrs["spec"]), made)
    how |= {} if made.attrs["seed"] == "none" else {"seed": made.attrs["seed"]}
    rerun = call(*given, **how)
    xr.testing.assert_identical(rerun.drop_attrs(), made.drop_attrs())
    assert record(rerun) == record(made)


#: What a result of each verb is, and of closed forms, which have no record.
RESULTS = {verb: partial(call, **base) for verb, (call, base, _, _) in VERBS.items()} | {
    "equilibrium": lambda: spring_block.equilibrium(CHAIN),
    "slow pull": lambda: folding_ruler.slow_profile(Ruler(table_friction=over("f", [0.1, 0.2])), 0.5).to_dataset(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_of_everything_what_it_is_and_in_what_units_and_where_it_comes_from(name):
    made = RESULTS[name]()
    own = {"mu", "intra", "f"}  # labels of the caller's
    assert all(v.attrs.get("long_name") and v.attrs["units"] for n, v in made.variables.items() if n not in own)
    if name in VERBS:
        assert {"versions", "machine", "device", "dtype", "wall_seconds"} <= made.attrs.keys()
