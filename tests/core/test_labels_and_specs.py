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
from deepmech.simulators.spring_block import Chain


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


def test_specs_survive_json_and_compare_by_content():
    chain = Chain(friction_right=over("mu", [0.0, 0.1]), friction_left=0.2, noise=0.01)
    again = Chain.from_json(json.loads(json.dumps(chain.to_json())))
    assert again == chain and hash(again) == hash(chain) and again.fingerprint() == chain.fingerprint()
    assert replace(chain, noise=0.02) != chain
    assert replace(chain, friction_right=over("mu", [0.0, 0.2])) != chain
    with pytest.raises(ValueError, match="this is a Other"):
        Chain.from_json({"spec": "Other"})
