"""Pairs of the page glass/cifar, on as few made-up networks as ship, and what its tables say."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import (
    LONG,
    crossing,
    falling,
    gaussian_run,
    jumping,
    motilities_of,
    scatter,
    sliding_run,
    some_without_loss,
    two_kinds,
    uneven,
)  # fmt: skip

from deepmech_book import claims
from deepmech_book.claims.rules import HOLDS
from deepmech_book.glass import cifar, phases, transitions
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.glass import minima
from deepmech_book.sweeps.glass.walks import PHASES
from deepmech_book.sweeps.shipped import result
from pairs import Page

page = Page("glass/cifar")
LOSSY = phases.WITH_LOSS
TEMPERATURES = np.array([1.0, 0.1, 0.01, 1e-8, 0.0])


@page.pair("C.A3.n_star", usual=0.4, power=0)
def vanishing_between_the_phases(level, rng, rival):
    """Three networks, whose N* lie too far apart to be sure of a true sentence."""
    return {"sizes": crossing(level[""] + scatter(0.58, 3, rng)), "shuffled": crossing([0.4 if rival else 1.4])}


@page.pair("C.A3.scatter", usual=0.7, rival=False)
def some_fit_all(level, rng, rival):
    return {"sizes": some_without_loss(rng.random((3, 3)) < level[""])}


@page.pair("C.A3.sharp", usual=0.7)
def eight_networks_fall(level, rng, rival):
    shares = level[""] + 0.25 * rng.standard_normal(8)
    return {"decays": jumping(shares.clip(min=0.01), alike=rival)}


def walks(speed=1e-7, **how):
    """Three networks that slide, at a speed by network and temperature."""
    return sliding_run(speed, temperatures=TEMPERATURES, n_seeds=3, waits=(10_000,), spread=0.0, times=LONG, **how)


HOT = {"regularised": 0.185, "underparameterised": 0.257}


@page.pair("C.A4.hot_slope", panels=LOSSY, usual=-1.0, reach=HOT, expected=-1.0, rival=False, power=0)
def heat_moves_weights(level, rng, rival):
    """Kicks such that times go with a power of T, of each network its own: too few to be sure of a true sentence."""

    def kicks(power):
        hot = np.where(TEMPERATURES > 0.05, TEMPERATURES, 1.0) ** (-1 - power[:, None])
        return hot[:, :, None, None, None]

    return {"runs": {p: walks(phase=p, kicks=kicks(level[p] + scatter(HOT[p], 3, rng))) for p in LOSSY}}


COLD = {"regularised": 0.076, "underparameterised": 0.03}


@page.pair("C.A4.cold_flat", panels=LOSSY, usual=1.0, reach=COLD, expected=1.0, rival=False, power=0.5)
def cold_weights_slide(level, rng, rival):
    """At T > 0 slower by a factor than at 0; half of the draws of three networks are too uneven to be sure."""

    def speed(factor):
        return 1e-7 / np.where(TEMPERATURES > 0, factor[:, None], 1.0)[:, :, None, None, None]

    return {"runs": {p: walks(speed(level[p] * np.exp(scatter(COLD[p], 3, rng))), phase=p) for p in LOSSY}}


@page.pair("C.A8.cold_is_not", panels=LOSSY, usual=6.0, reach=2.2)
def beyond_gaussian_groups(level, rng, rival):
    return {"runs": {p: uneven(level[p] + scatter(2.2, 3, rng), 6.0 if rival else 0.0) for p in LOSSY}}


@page.pair("C.A8.less", usual=0.0115, reach=0.002)
def nearer_to_gaussian(level, rng, rival):
    levels = {"regularised": [-2.0, -2.1, -1.9], "underparameterised": [2.3] * 3, "overparameterised": 2 * level[""]}
    return {"runs": {phase: uneven(levels[phase]) for phase in PHASES}}


CRITICAL = 0.01424
"""The dip that one in twenty samples of 966 uniform numbers exceeds; it falls as 1/√n."""


@page.pair("C.A8.bimodal", panels=LOSSY, usual=4.0, reach=1.1, told=0.3)
def slow_and_fast(level, rng, rival):
    """Networks that differ by less than those that ship, of which three would decide nothing."""
    runs = {p: two_kinds(3 * CRITICAL * level[p] * np.exp(0.12 * rng.standard_normal(3))) for p in LOSSY}
    if rival:  # layers that move at two speeds, in which there is nothing else
        runs = {p: run.assign(end_square=run.end_square * [[1.0], [1e-6]]) for p, run in runs.items()}
    return {"runs": runs, "on_mnist": two_kinds([0.4] * 3)}


@page.pair("C.A8.unimodal", usual=0.5, reach=0.1)
def one_kind_without_loss(level, rng, rival):
    large = two_kinds([3 * CRITICAL * level[""]] * 3)
    return {"runs": {"overparameterised": large} | {p: two_kinds([0.02 if rival else 0.4] * 3) for p in LOSSY}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


class Still:
    """A generator without scatter."""

    def standard_normal(self, n):
        return np.zeros(n)


@pytest.mark.parametrize("claim", ["C.A3.n_star", "C.A4.hot_slope", "C.A8.cold_is_not"])
def test_what_three_networks_leave_open_is_told_of_networks_that_are_alike(claim):
    pair = page.pairs[claim]

    def told(panel, level, rival=False):
        return claims.measure(claim, **pair.maker({**pair.usual, panel: level}, Still(), rival))

    for panel, end, side in pair.turns:
        inside, beyond = told(panel, end + 0.02 * side), told(panel, end - 0.02 * side)
        assert (inside.verdict, beyond.verdict == HOLDS) == (HOLDS, False)
        assert inside.measured == pytest.approx(end + 0.02 * side, abs=0.01)
    assert not pair.rival or told(panel, pair.usual[panel], rival=True).verdict != HOLDS


def test_networks_fall_where_their_loss_stays_high():
    networks = falling([0.01, 0.05, 1.0])
    assert cifar.falls_at(networks, 0.45).values[:2].tolist() == [0.01, 0.05]
    assert np.isnan(cifar.falls_at(networks, 0.45).values[2])
    # A loss that comes down again has not fallen there; one that diverged says nothing.
    networks.data_loss[0, 0, 2] = 0.1
    assert float(cifar.falls_at(networks, 0.45)[0]) == 0.05
    networks.data_loss[1, 0, 0] = np.nan
    assert np.isnan(cifar.falls_at(networks, 0.45)[1])


def test_digits_and_photographs_stand_beside_their_lines():
    weights = [1e-4, 3e-4, 1e-3, 0.002, 0.004, 0.006, 0.008, 0.01, 0.012, 0.014, 0.017, 0.02, 0.03]
    how = {"dataset": minima.CIFAR, "n_data": 3000, "sgd_steps": 60_000, "learning_rate": 0.02, "gain": 6**0.5}
    cells = {"width": [7], "regularisation": weights, "seed": range(8)}
    decays = result(experiment("glass-ttt", cells, descent_steps=2000, slow_steps=2000, **how))
    sizes = result(experiment("glass-uot"))
    falls, at = cifar.falls_over_lines(decays), cifar.falls_at(result(experiment("glass-ttt")), phases.LEARNT)
    assert [name.split(":")[0] for name in falls.data.values.tolist()] == ["MNIST", "CIFAR-10"]
    there = falls.isel(data=0).max("line")  # each has its own line; the other's place is empty
    assert [float(there[name]) for name in ("middle", "first", "last")] == [at.median(), at.min(), at.max()]
    again = cifar.by_labels({"true": sizes, "again": sizes})
    xr.testing.assert_equal(*(again.sel(labels=label, drop=True) for label in ("true", "again")))
    np.testing.assert_allclose(again.ratio, transitions.ratio(sizes))


def test_sets_of_networks_show_two_modes_where_there_are_two():
    one, two = motilities_of(gaussian_run(), (-5, -4, 9)), motilities_of(gaussian_run(), (-8, -7, 9), (-5, -4, 9))
    assert cifar.share_bimodal(one, n=3, every=1) == (4, 0.0) and cifar.share_bimodal(two, n=2, every=2) == (3, 1.0)


def test_a_table_of_silent_weights_holds_their_displacements():
    run = gaussian_run()
    runs = {"a": run.assign(end_square=run.end_square * [0.01, 1.0])}
    runs["other"] = run.assign(end_count=run.end_count * [0, 1])  # without silent units
    table = cifar.silent_weights(runs, 1e-3)
    assert table.loc["a", "at silent units"] == "1e-05" and table.loc["a", "other weights"] == "0.0001"
    assert table.loc["other", "at silent units"] == "–"


def test_panels_show_the_coldest_alpha_and_its_null():
    found, null = cifar.coldest_alphas({"regularised": uneven([0.0, 0.0]), "underparameterised": uneven([0.0])})
    assert found.phase.values.tolist() == list(LOSSY) and found.temperature.values.tolist() == [1e-3]
    assert float(found.max()) == 0 and float(null.min()) == 0.5
