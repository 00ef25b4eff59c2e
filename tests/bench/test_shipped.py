"""What ships of the zoo: networks are where they were to be stopped, and a law of three lines is judged in seconds."""

import time

import numpy as np
import pytest

from deepmech import cli
from deepmech_book.bench import judge, judged, leaderboard, networks
from deepmech_book.sweeps.extras import zoo

LAW = '''
def my_law(record):
    """Networks generalise worse if some layer moves much further than another."""
    return record.distance.max("map") / record.distance.min("map")
'''


def test_networks_were_stopped_where_they_should():
    start, loss, after = (networks.record(stop) for stop in zoo.STOPS)
    assert start.sizes["number"] == zoo.SIZE * zoo.STARS
    assert (start.epoch == 0).all() and (after.epoch == zoo.EPOCHS).all() and (loss.epoch % zoo.EVERY == 0).all()
    assert (loss.loss.sel(split="train") <= zoo.STOP_LOSS).all()
    assert abs(float(start.accuracy.sel(split="train").mean()) - 0.1) < 0.01, "untrained networks guess"
    assert (start.overlap.isel(map=0) == 1).all() and (start.distance.isel(map=0) == 0).all()
    assert (np.isfinite(after.load_curve.sel(split="train")).sum("layer") <= after.depth).all()
    with pytest.raises(ValueError, match="stop = 'end': must be one of 'start', 'loss', 'epochs'"):
        networks.record("end")


def test_networks_of_another_seed_alone_are_as_good_on_average():
    after = networks.record("epochs")
    place = after.number.values % zoo.SIZE
    both = np.intersect1d(after.number[place == 0], after.number[place == zoo.SIZE - 1] - zoo.SIZE + 1)
    one, other = (judge.gap(after.sel(number=both + shift)).values for shift in (0, zoo.SIZE - 1))
    assert abs(np.mean(one - other)) < 4 * np.std(one - other) / np.sqrt(len(both))


def test_the_validation_loss_knows_the_gap_and_the_order_of_numbers_does_not():
    loss = networks.record("loss")
    told = judged(loss.loss.sel(split="validation", drop=True), loss)
    assert told.mean.high < 0.5
    shuffled = loss.number.copy(data=np.sin(1e4 * loss.number.values)).drop_vars([*zoo.LEVELS, "data", "seed"])
    blind = judged(shuffled, loss)
    assert blind.mean.low < 0.5 < blind.mean.high


def test_a_law_of_three_lines_is_judged_in_seconds(tmp_path, capsys):
    (tmp_path / "my_law.py").write_text(LAW)
    started = time.perf_counter()
    assert cli.main(["bench", str(tmp_path / "my_law.py")]) == 0
    assert time.perf_counter() - started < 120
    said = capsys.readouterr().out
    assert "<-- yours" in said and "my_law" in said and len(leaderboard(networks.record())) == said.count("\n") - 4


def test_a_number_says_what_was_measured(capsys):
    assert cli.main(["zoo", "1"]) == 0
    said = capsys.readouterr().out
    assert "network 1 of zoo-1" in said and f"at 'epochs', epoch {zoo.EPOCHS}: loss" in said and "nan" not in said
    assert cli.main(["zoo", "-1"]) == 1
