"""The bench: what knows the gap is right everywhere, what knows nothing is a coin, and only the order counts."""

import sys

import numpy as np
import pytest
import runs_laws
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech import cli
from deepmech.core.random import Stream
from deepmech_book.bench import MEASURES, judge, judged, leaderboard, networks, own_measures, pairs_of
from deepmech_book.sweeps.extras import zoo

STARS = 60


@pytest.fixture(scope="module")
def record():
    """Networks of sixty stars whose measurements are random numbers."""
    return runs_laws.random_networks(np.random.default_rng(0), STARS)


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


LAWS = """
import sys
import beside

def oracle(record):
    return record.accuracy.sel(split="train") - record.accuracy.sel(split="test")

def levels(record):
    accuracy = record.accuracy
    accuracy -= accuracy.mean()
    del record["loss"]
    return -accuracy.sel(split="test")

def imports_late(record):
    import later
    return later.of(record)

def raises(record):
    return record.losses

def leaves(record):
    sys.exit(0)

def array(record):
    return record.epoch.values

def nothing(record):
    pass

def nan(record):
    return record.epoch * float("nan")

def short(record):
    return record.epoch[:7]

def renumbered(record):
    return record.epoch.assign_coords(number=record.number + 1)

def table(record):
    return record.accuracy

def texts(record):
    return record.data

def parameters(record):
    return record.width
"""
WHY = {
    "raises": r"mine.py, line 19: AttributeError: 'Dataset' object has no attribute 'losses'",
    "leaves": r"mine.py, line 22: calls sys.exit",
    "array": r"values of type ndarray: must be one number for each network, over 'number' alone",
    "nothing": r"values of type NoneType: must be",
    "nan": r"values are nan or infinite for every network",
    "short": r"values over {'number': 7}: must be",
    "renumbered": r"values over {'number': 720}: must be",
    "table": r"values over {'number': 720, 'split': 3}: must be",
    "texts": r"values of type <U13: must be",
}


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(LAWS)
    (tmp_path / "beside.py").touch()
    (tmp_path / "later.py").write_text("def of(record):\n    return record.epoch\n")
    return file


def test_whatever_a_law_does_the_others_are_judged_by_the_same_truth(record, mine):
    before, path = record.copy(deep=True), list(sys.path)
    alone = leaderboard(record)
    table = leaderboard(record, own_measures(mine))
    assert record.identical(before) and sys.path == path
    assert table.index[0] == "oracle" and table.worst["oracle"] == 0
    assert table.loc[alone.index].equals(alone), "the book's measures stay what they are"
    judged_too = {"oracle", "levels", "imports_late", "parameters (yours)"}
    assert set(table.index) == {*MEASURES, *judged_too, *WHY} and set(table.index[-len(WHY) :]) == set(WHY)
    for name, why in table.attrs["faults"].items():
        assert WHY[name] in why and "\n" not in why, (name, why)
    assert table.loc[list(WHY)].isna().all(axis=None)


def test_the_command_tells_a_line_for_each_law_that_cannot_be_judged(record, mine, monkeypatch, capsys):
    monkeypatch.setattr(networks, "record", lambda stop: record)
    assert cli.main(["bench", str(mine)]) == 1
    said = capsys.readouterr()
    assert said.out.count("<-- yours") == 4 and "NaN" not in said.out
    assert [line.partition(" ")[0] for line in said.err.splitlines()] == list(WHY)
    mine.write_text("def law(record): return record.epoch\n")
    assert cli.main(["bench", str(mine)]) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1\n", "mine.py: has no function; write def my_law"),
        ("\ndef law(record)\n", r"mine.py, line 2: SyntaxError: expected ':'"),
        ("1 / 0\n", r"mine.py, line 1: ZeroDivisionError: division by zero"),
        ("\nimport sys\nsys.exit(0)\n", r"mine.py, line 3: calls sys.exit"),
        ("import absent_here\n", r"mine.py, line 1: ModuleNotFoundError: No module named 'absent_here'"),
    ],
)
def test_a_file_that_is_no_law_is_named_in_one_line(tmp_path, capsys, text, why):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert cli.main(["bench", str(file)]) == 1
    said = capsys.readouterr()
    assert why in said.err and said.err.count("\n") == 1 and said.out == ""
    with pytest.raises(ValueError, match="must be a Python file"):
        own_measures(tmp_path / "absent.py")


def test_a_law_handed_to_the_bench_cannot_change_what_it_is_judged_by(record):
    def levels(r):
        r.accuracy.values[:] = 0
        return r.epoch

    before = record.copy(deep=True)
    assert judged(levels, record).mean == judged(record.epoch, record).mean and record.identical(before)
    with pytest.raises(ValueError, match="one number for each network"):
        judged(record.load_curve, record)
