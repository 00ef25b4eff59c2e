"""Pairs of the page glass/scaling, on weights that slide, steadily or more and more slowly."""

import numpy as np
from runs_glass import CHI, LONG, SIGMA, sliding_run

from deepmech_book import claims
from deepmech_book.claims.rules import NOT_TESTABLE
from deepmech_book.glass import phases
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/scaling")


@page.pair("C.A1.crossover_moves", panels=("",), usual=-0.6, reach=0.05, rival=False)
def slides_that_slow_down(level, rng, rival):
    """Networks go as far as t^b, where a window is left after a time in proportion to χ^(-1/b): T* to χ^(1/b - 2)."""
    power = level[""] + 0.12 * rng.standard_normal(25)
    bend = (1 / (2 + power))[:, None, None, None, None]
    speed = (SIGMA / CHI[1]) ** (1 / bend) / 1e5  # all leave the paper's window together
    times = np.geomspace(1, 1e8, 200)
    how = {"temperatures": (0.1, 0.0), "waits": (20_000,), "times": times, "n_seeds": 25}
    return {"regularised": sliding_run(speed, bend=bend, spread=0.0, **how)}


def by_size(ratio, rng, hot=1.0, slow=1e-7):
    """Tables of times as many and as scattered as those that ship."""
    how = {"temperatures": (1e-3, 0.0), "waits": (10_000,), "times": LONG, "spread": 0.13, "kicks": hot, "rng": rng}
    runs = {60_000: sliding_run(slow / ratio, n_seeds=4, **how), 4000: sliding_run(slow, n_seeds=12, **how)}
    return {n: phases.times(run, walks.FINE_WINDOW) for n, run in runs.items()}


@page.pair("C.scaling.cold_kept", panels=("",), usual=1.0, reach=0.25)
def slides_of_two_paces(level, rng, rival):
    """An interval of a fifth of the number on both sides, as what ships has, is 0.25 wide about the rule's middle."""
    return {"by_size": by_size(level[""], rng)}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_where_the_record_sees_one_window_only_nothing_is_said_of_the_power():
    found = claims.measure("C.A1.crossover_moves", sliding_run(3e-9, waits=(20_000,)))
    assert found.verdict == NOT_TESTABLE and "T*: 0 at χ = 42.9, 0 at χ = 300, 7.8e-06 at χ = 2.1e+03" in found.detail


def test_hot_times_are_said_over_those_of_free_walks():
    tables = by_size(1.0, np.random.default_rng(1), hot=0.5, slow=1e-9)
    words = claims.measure("C.scaling.cold_kept", tables).detail
    assert words.endswith("60,000: 2.00 [2.00, 2.00]; 4,000: 2.00 [2.00, 2.00].")
