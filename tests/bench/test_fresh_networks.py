"""The second and third prediction on generalisation: pairs, weights and sign errors where the truth is known."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.core.random import Stream
from deepmech_book.bench import fresh_networks as fresh
from deepmech_book.bench import tables
from deepmech_book.bench.judge import Judgement
from deepmech_book.sweeps.extras.zoo import LEVELS, SIZE

STARS = 40
RNG = Stream.of("test fresh networks")


@pytest.fixture(scope="module")
def record():
    """Networks of equal training loss whose test error and loss are drawn at random, far apart."""
    n = STARS * SIZE
    error = 0.1 + 0.3 * RNG.uniform("error", 0, n)
    split = ["train", "validation", "test"]
    accuracy = np.stack([np.ones(n), 1 - error, 1 - error], 1)
    loss = np.stack([np.full(n, 0.19), error, 2 * error], 1)
    names = ("number", "split")
    coords = {"number": np.arange(n), "split": split, "data": ("number", ["mnist"] * n)}
    return xr.Dataset({"accuracy": (names, accuracy), "loss": (names, loss)}, coords)


@pytest.mark.parametrize("part", ["equal loss", "fit"])
@pytest.mark.parametrize("truth", ["error", "loss"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_truth_is_never_wrong_its_reverse_always_and_a_constant_as_often_as_a_coin(record, part, truth, equal):
    pairs = fresh.pairs_of(record, part, truth, equal)
    true = fresh.truth_of(record, truth)
    assert fresh.sign_error(true, pairs).value == 0
    assert fresh.sign_error(-true, pairs).value == 1
    assert fresh.sign_error(np.zeros(len(true)), pairs).value == 0.5
    assert fresh.sign_error(np.full(len(true), np.nan), pairs).value == 0.5


def test_pairs_are_the_first_network_of_a_star_and_each_that_differs_in_one_setting(record):
    pairs = fresh.pairs_of(record, equal=True)
    assert len(pairs.first) == STARS * len(LEVELS)
    assert (pairs.second - pairs.first == pairs.setting + 1).all() and (pairs.first % SIZE == 0).all()
    assert (pairs.twin - pairs.first == SIZE - 1).all()
    missing = record.drop_sel(number=[0, SIZE + 3, 3 * SIZE - 1])
    fewer = fresh.pairs_of(missing, equal=True)
    assert len(fewer.first) == len(pairs.first) - len(LEVELS) - 1 and (fewer.twin == -1).sum() == len(LEVELS)


def test_parts_keep_pairs_of_equal_loss_and_of_networks_that_fit(record):
    changed = record.copy(deep=True)
    changed["loss"].loc[{"number": 1, "split": "train"}] -= 0.03
    changed["accuracy"].loc[{"number": SIZE, "split": "train"}] = 0.98
    assert len(fresh.pairs_of(changed, "equal loss").first) == STARS * len(LEVELS) - 1
    assert len(fresh.pairs_of(changed, "fit").first) == (STARS - 1) * len(LEVELS)


def test_errors_that_the_test_images_cannot_tell_apart_weigh_nothing_and_are_not_judged(record):
    close = record.copy(deep=True)
    close["accuracy"].loc[{"split": "test"}] = 0.9 + 0.001 * RNG.uniform("close", 0, STARS * SIZE)
    pairs = fresh.pairs_of(close, "fit")
    assert pairs.sums.max() == 0
    with pytest.raises(ValueError, match="3 are asked for"):
        fresh.sign_error(fresh.truth_of(close, "error"), pairs)
    assert fresh.sign_error(fresh.truth_of(close, "error"), fresh.pairs_of(close, "fit", equal=True)).value == 0


def test_a_measure_that_knows_nothing_lies_in_the_band_of_coins_and_its_interval_holds_one_half(record):
    pairs = fresh.pairs_of(record)
    low, high = fresh.coin(pairs)
    found = [fresh.sign_error(RNG.normal("blind", k, STARS * SIZE), pairs) for k in range(100)]
    inside = [low <= one.value <= high for one in found]
    covers = [one.interval[0] <= 0.5 <= one.interval[1] for one in found]
    assert sum(inside) >= 88 and sum(covers) >= 85  # 95 are expected of each; fewer in one of ten thousand runs


def test_an_oracle_is_hardly_wrong_where_errors_lie_far_apart_and_a_twin_tells_what_seeds_change(record):
    pairs = fresh.pairs_of(record)
    assert 0 < fresh.oracle(record, pairs, 50) < 0.02
    assert 0.2 < fresh.noise_floor(record, pairs).value < 0.4  # twins are drawn as all others: one of two is known


def test_no_measure_sees_test_samples(record):
    hidden = fresh.without_test(record)
    assert np.isnan(hidden.accuracy.sel(split="test")).all() and np.isfinite(record.accuracy).all()
    assert np.isfinite(hidden.loss.sel(split="train")).all()


def test_a_measure_beside_another_is_an_estimate_of_both_and_of_their_difference(record):
    pairs = fresh.pairs_of(record)
    true, blind = (fresh.sign_error(m, pairs) for m in (fresh.truth_of(record, "error"), np.zeros(STARS * SIZE)))
    found = fresh.beside_null(true, blind, pairs.n_stars)
    assert (found.value, found.null, found.difference) == (0, 0.5, (-0.5, -0.5)) and found.n == STARS
    errors = {fresh.BEND: true, "one": blind, "two": blind, fresh.HELD_OUT[0]: true}
    assert fresh.less_median(errors, STARS).interval == (-0.5, -0.5)


def test_a_table_of_several_parts_has_the_errors_and_intervals_of_each_in_the_order_of_the_last(record, monkeypatch):
    true = fresh.truth_of(record, "error")
    laws = {"knows": lambda r: xr.DataArray(true, [r.number]), "reversed": lambda r: xr.DataArray(-true, [r.number])}
    monkeypatch.setattr(fresh, "MEASURES", laws)
    pairs = {part: fresh.pairs_of(record, part) for part in ("fit", "equal loss")}
    errors, found = tables.errors_of_parts({part: record for part in pairs}, pairs)
    values, (low, high) = errors.value, errors.interval
    assert values.dims == ("measure", "part") and list(values.measure) == ["knows", "reversed"]
    assert values.transpose("measure", "part").values.tolist() == [[0, 0], [1, 1]]
    assert (low <= values).all() and (values <= high).all() and found["fit"]["knows"].value == 0
    assert tables.by_part_and_truth({"fit": record}).loc["reversed"].tolist() == [1, 1]


def test_a_summary_of_parts_lies_between_the_band_of_coins_and_the_floor_of_twins(record):
    pairs = fresh.pairs_of(record, "fit", "loss")
    true = fresh.sign_error(fresh.truth_of(record, "loss"), pairs)
    found = dict.fromkeys([fresh.BEND, "training loss", "other"], true)
    column = tables.summaries_of_parts({"fit": record}, {"fit": pairs}, {"fit": found})["fit"]
    assert column["bend"] == column["training loss"] == column["bend less the median of the others"] == 0
    low, high = map(float, column.iloc[0].split(" to "))
    assert low < 0.5 < high and 0.2 < column["the twin in place of the first network"] < 0.4


def test_mean_errors_are_those_of_each_leaderboard_with_their_intervals():
    one = pd.DataFrame({"mean": [0.2, 0.4], "low": [0.1, 0.3], "high": [0.3, 0.6]}, index=["a", "b"])
    means = tables.mean_errors({"one": one, "two": 2 * one}, ["b"])
    assert means.value.sel(measure="b", rule="two") == 0.8 and means.value.dims == ("measure", "rule")
    assert [end.sel(measure="b").values.tolist() for end in means.interval] == [[0.3, 0.6], [0.6, 1.2]]


def test_the_least_worst_error_leaves_measures_of_held_out_samples_out():
    runs = {"one": np.array([[1.0, 0.0], [1.0, 2.0]]), "two": np.array([[0.5, 0.5], [0.5, 0.5]])}
    total = np.full((2, 2), 2.0)

    def judgement(wrong):
        worst = Estimate(float((wrong.sum(0) / total.sum(0)).max()), 0.0, 1.0)
        return Judgement(xr.DataArray(np.zeros(2), dims="environment"), worst, worst, (wrong, total), 2)

    found = {name: judgement(wrong) for name, wrong in runs.items()} | {fresh.HELD_OUT[0]: judgement(np.zeros((2, 2)))}
    best, least = tables.least_worst(found)
    assert best == "two" and float(least.value) == 0.25
