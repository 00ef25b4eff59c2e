"""The bench: what knows the gap is right everywhere, what knows nothing is a coin, and only the order counts."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech_book.bench import MEASURES, judge, judged, leaderboard, own_measures, pairs_of
from deepmech_book.experiments import zoo
from deepmech_book.experiments.anatomy import Anatomy

STARS = 60


@pytest.fixture(scope="module")
def record():
    """Networks of sixty stars whose measurements are random numbers."""
    numbers = np.arange(STARS * zoo.SIZE)
    stream, n = Stream.of("bench test"), len(numbers)
    sizes = {d: len(c) for d, c in Anatomy.COORDS.items()}
    made = {
        name: (("number", *dims), stream.uniform(name, 0, (n, *(sizes[d] for d in dims))))
        for name, dims in (Anatomy.DIMS | {"epoch": ()}).items()
    }
    each = [zoo.settings_of(int(i)) for i in numbers]
    coords = {name: ("number", np.array([s[name] for s in each])) for name in each[0]}
    return xr.Dataset(made, {"number": numbers, **coords, **Anatomy.COORDS})


def test_pairs_differ_in_one_setting(record):
    pairs = pairs_of(record)
    assert len(pairs) == STARS * len(zoo.LEVELS)
    for _, (_, first, second, environment) in pairs.iterrows():
        one, other = (zoo.settings_of(int(record.number[i])) for i in (first, second))
        name = environment.partition(", ")[2].replace(" ", "_")
        assert [k for k in one if one[k] != other[k]] == [name] and environment.startswith(one["data"])
    some = record.isel(number=slice(1, None))
    assert len(pairs_of(some)) == len(pairs) - len(zoo.LEVELS), "a star without its first network has no pairs"


def test_what_knows_the_gap_is_right_and_what_says_nothing_is_a_coin(record):
    gap = judge.gap(record)
    assert judged(gap, record).worst.value == 0 and judged(-gap, record).mean.value == 1
    still = judged(gap * 0, record)
    assert (still.errors == 0.5).all() and still.mean.value == still.worst.value == 0.5
    noise = judged(gap.copy(data=Stream.of("coin").uniform("x", 0, gap.size)), record)
    assert noise.mean.low < 0.5 < noise.mean.high and noise.worst.value > 0.5


@settings(max_examples=20, deadline=None)
@given(power=st.sampled_from([1, 3, 5]), shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
def test_only_the_order_counts(record, power, shift, scale):
    values = MEASURES["sharpness, random"](record)
    changed = judged(scale * values**power + shift, record)
    np.testing.assert_allclose(changed.errors, judged(values, record).errors, atol=1e-12)
    np.testing.assert_allclose(judged(-values, record).errors, 1 - changed.errors, atol=1e-12)


def test_a_pair_counts_as_its_gaps_can_be_told_apart():
    assert judge.weight(np.array([0.0]))[0] == 0 and judge.weight(np.array([1.0]))[0] == pytest.approx(1)
    assert judge.weight(np.array([0.1]), 1000)[0] == pytest.approx((1 - 2 * np.exp(-5)) ** 2)


def test_every_measure_gives_a_number_for_each_network(record):
    for name, measure in MEASURES.items():
        values = measure(record)
        assert values.dims == ("number",) and np.isfinite(values).all(), name
    flat = record.assign(load_curve=record.load_curve * 0 + record.layer)
    np.testing.assert_allclose(MEASURES["bend of the load curve"](flat), 0, atol=1e-12)
    np.testing.assert_array_equal(MEASURES["load after the last layer"](flat), record.depth - 1)


def test_an_own_measure_stands_among_the_others(record, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def oracle(r):\n    return r.accuracy.sel(split='train') - r.accuracy.sel(split='test')\n")
    own = own_measures(file)
    table = leaderboard(record, {k: lambda r, f=f: f(r).drop_vars("split", errors="ignore") for k, f in own.items()})
    assert table.index[0] == "oracle" and len(table) == len(MEASURES) + 1
    file.write_text("x = 1\n")
    with pytest.raises(ValueError, match="has no function; write def my_law"):
        own_measures(file)
    with pytest.raises(ValueError, match="must be a Python file"):
        own_measures(tmp_path / "absent.py")
    with pytest.raises(ValueError, match="one number for each network"):
        judged(record.load_curve, record)
