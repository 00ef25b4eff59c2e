"""Labels broadcast or explain; specs survive JSON, compare by content and refuse nonsense."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech import over
from deepmech.core.labels import align
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw
from deepmech.simulators.spring_block import Chain
from deepmech.trainers import MLP, Training


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(0, 1), min_size=1, max_size=4, unique=True),
)
def test_align_is_the_outer_product_and_unflatten_its_inverse(a, b):
    batch = align("test", x=over("x", a), y=over("y", b), z=2.0)
    assert batch.n == len(a) * len(b)
    dims, x = batch.unflatten(batch.flat["x"])
    assert dims == ("x", "y")
    assert np.array_equal(x, np.broadcast_to(np.array(a)[:, None], (len(a), len(b))))
    assert [m["z"] for m in batch.members()] == [2.0] * batch.n


def test_clashing_labels_name_both_fields():
    with pytest.raises(ValueError, match=r"Chain\.friction_right and Chain\.noise both have dimension 'p'.*\(2 and 3"):
        Chain(friction_right=over("p", [0.0, 0.1]), noise=over("p", [0.0, 0.1, 0.2]))


def test_unlabelled_arrays_are_refused():
    with pytest.raises(ValueError, match="no labels; make the array with over"):
        Chain(friction_right=xr.DataArray([0.1, 0.2]), noise=0.0)
    with pytest.raises(ValueError, match="one-dimensional"):
        over("p", 3.0)


CHAIN = Chain(friction_right=over("mu", [0.0, 0.1]), friction_left=0.2, noise=0.01)
TABLE = over("time", [0.0, 1.0, 4.0]).copy(data=[0.0, 1.5, 0.4])
MODEL = ElasticSDE(PowerLaw(over("a", [1.0, 2.0]), 1.0), TABLE, 3, label_mixing=0.1, noise=0.5)


@pytest.mark.parametrize("spec", [CHAIN, MODEL, MLP(slope=over("slope", [0.0, 0.5])), Training(batch_size=20)])
def test_specs_survive_json(spec):
    again = type(spec).from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec and hash(again) == hash(spec) and again.fingerprint() == spec.fingerprint()


def test_specs_compare_by_content():
    assert replace(CHAIN, noise=0.02) != CHAIN
    assert replace(CHAIN, friction_right=over("mu", [0.0, 0.2])) != CHAIN
    with pytest.raises(ValueError, match="this is a Other"):
        Chain.from_json({"spec": "Other"})
