"""A second data set, other sizes, and populations of Gaussian groups whose histograms are known."""

import json

import numpy as np
import pytest
import xarray as xr

from deepmech import sweeps
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.metrics.glass_modes import uniform_dips
from deepmech.simulators.brownian import free_overlap, free_time
from deepmech.trainers.langevin import log_times
from deepmech_book.experiments.glass import cifar, phases, relaxation, scaling, shapes, transitions, walks
from deepmech_book.experiments.glass.data import Binary, binary

BRIEF = {"sgd_steps": 200, "learning_rate": 0.05, "gain": 2.0}


@pytest.fixture(scope="module")
def run():
    data = {"name": "digits", "n_data": 300}
    sweep = walks.phase_sweep(
        "regularised", data, [1e-2, 1e-6, 0.0], 2, steps=300, waiting=[10, 40], preparation=BRIEF, width=6
    )
    return phases.survivors(sweeps.run(sweep, chunk=6))


def test_labels_dealt_out_anew_are_as_many_and_in_another_order():
    plain, dealt = binary("digits", 600), binary("digits", 600, shuffle=3)
    np.testing.assert_array_equal(plain.x, dealt.x)
    assert plain.y.sum() == dealt.y.sum() and 0.3 < (plain.y != dealt.y).mean() < 0.7
    assert len({plain.fingerprint, dealt.fingerprint, binary("digits", 600, shuffle=4).fingerprint}) == 3


def test_what_is_not_run_says_what_is():
    with pytest.raises(ValueError, match="'uot', 'ttt'"):
        transitions.standard("uot-random", "mnist")
    with pytest.raises(ValueError, match="'cifar10-jpeg'"):
        transitions.standard("uot", "digits")


def test_groups_are_those_that_were_measured(run):
    total = run.end_square.sum(["layer", "alive"]) / run.end_count.sum(["layer", "alive"])
    last = [run.msd.isel(waiting=i).dropna("time").isel(time=-1, drop=True) for i in range(2)]
    xr.testing.assert_allclose(total, xr.concat(last, "waiting").transpose(*total.dims), rtol=1e-5)
    size, count = shapes.scales(run, 1e-2)
    whole, layers = shapes.scales(run, 1e-2, apart=False)
    assert count.sum() == layers.sum() == 2 * 246 and len(whole) == 2 * 7 <= len(size)
    np.testing.assert_allclose(count @ size**2, layers @ whole**2)


def test_histograms_of_groups_hold_every_weight_and_have_the_median_of_a_gaussian(run):
    one = run.assign(end_square=run.end_count * 1e-6)
    share = shapes.gaussian_motilities(one, [1e-2]).isel(temperature=0)
    assert float(share.sum()) == pytest.approx(1, abs=0.02)
    middle = float(share.bin[int(np.searchsorted(np.cumsum(share), 0.5))])
    assert middle == pytest.approx(np.log10(0.6745e-3), abs=0.2)


def test_layers_far_apart_have_two_modes_and_equal_ones_do_not(run):
    equal = run.assign(end_square=run.end_count * 1e-6)
    scale = xr.where(run.layer > 3, 1e-6, 1e-18)
    critical = np.quantile(uniform_dips(Stream.of("dips"), 2 * 246, 200), 0.95)
    assert shapes.grouped_dips(equal, 1e-2)[-1] < critical
    assert shapes.grouped_dips(equal.assign(end_square=run.end_count * scale), 1e-2)[0] > critical


def test_a_second_mode_that_groups_have_is_no_news(run):
    low = run.sel(temperature=[1e-6])
    scale = xr.where(low.layer > 3, 1e-6, 1e-18)
    # Every group at one of two places: two modes, and the null has them too.
    places = low.motility.copy(data=np.zeros_like(low.motility.values))
    places[dict(bin=np.r_[100:110, 160:170])] = 5
    split = low.assign(end_square=low.end_count * scale, motility=places)
    found, null = shapes.modes(split, 1e-6), shapes.grouped_dips(split, 1e-6)
    assert found.dip > found.critical and null[0] > found.critical
    assert shapes.grouped_dips(split.assign(end_square=low.end_count * 1e-6), 1e-6)[-1] < found.critical


def test_one_linear_path_gives_way_at_a_decay_that_grows_with_what_it_explains():
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    # L = ½(1 - a)²: -L' a^(5/7)/2 is largest at a = 5/12.
    exact = 7 / 12 * (5 / 12) ** (5 / 7) / 2
    assert cifar.single_path(Binary(x, np.array([1.0, -1.0]), "", "")) == pytest.approx(exact, rel=1e-3)
    assert cifar.single_path(binary("digits", 600, shuffle=1)) < 0.5 * cifar.single_path(binary("digits", 600))


def test_weight_decay_counts_what_the_preparation_did(run):
    assert cifar.decayed(run) == pytest.approx(200 * 0.05 * 0.01)


def made_up(size, rest, sigma):
    """Free walks in a window of their own, cut off by a landscape."""
    temperatures, times = [0.01, 1e-4, 0.0], log_times(20_000, 12)
    sweep = scaling.standard("digits", [size], n_seeds=[3], steps=[30_000])[size]
    free = [free_time(sigma / 2100, walks.RATE * t / walks.P_D) if t else np.inf for t in temperatures]
    curves = [free_overlap(times, 1.0, free_time(1.0, 1.0) * (1 / f + 1 / rest)) for f in free]
    overlap = np.broadcast_to(np.array(curves)[None, :, None, :, None], (3, 3, 1, len(times), 3))
    flat = {k: (("seed", "temperature"), np.full((3, 3), v)) for k, v in (("sigma", sigma), ("n_weights", 200))}
    waited = {k: (("seed", "temperature", "waiting"), np.full((3, 3, 1), 0.5)) for k in ("loss_waited", "alive_share")}
    flat["diverged"] = (("seed", "temperature"), np.zeros((3, 3), bool))
    return xr.Dataset(
        {"overlap": (("seed", "temperature", "waiting", "time", "chi"), overlap), **flat, **waited},
        {"seed": range(3), "temperature": temperatures, "time": times, "chi": [42.0, 300.0, 2100.0], "waiting": [500]},
        {"spec": json.dumps(sweep.to_json())},
    )


def test_sizes_are_compared_in_their_own_windows():
    runs = {1000: made_up(1000, 2000.0, 0.6), 1400: made_up(1400, 4000.0, 0.3), 1796: made_up(1796, 4000.0, 0.2)}
    tables = {n: relaxation.taus(run, chi=relaxation.FINEST) for n, run in runs.items()}
    table = relaxation.beside(tables, "size")
    assert table.temperature.values.tolist() == [1e-4, 0.01]
    free = np.array([free_time(s / 2100, walks.RATE * 0.01 / walks.P_D) for s in (0.6, 0.3, 0.2)])
    np.testing.assert_allclose(scaling.hot(tables, 0.01).value, 1 / (1 + free / [2000, 4000, 4000]), rtol=0.01)
    roots = {n: relaxation.taus(made_up(n, 2e5 / np.sqrt(n), 0.3), chi=relaxation.FINEST) for n in runs}
    power, factor = scaling.carried_on(roots, 60_000, over=600)
    assert power.value == pytest.approx(-0.5, abs=0.03) and factor.value == pytest.approx(0.1, rel=0.15)
    assert power.low <= power.value <= power.high and factor.low <= factor.value
    runs[1000]["loss_waited"] = runs[1000].loss_waited.where(runs[1000].loss_waited.seed > 0, 0.1)
    words = scaling.table({n: phases.survivors(run, 0.51) for n, run in runs.items()})
    assert phases.survivors(runs[1000]).attrs["fallen"] == 2 and words.loc["more, at the origin"].tolist() == ["0"] * 3
    assert words.loc["weights at silent units"].tolist() == ["50 %"] * 3
    assert float(words.loc["T*"].iloc[0]) > float(words.loc["T*"].iloc[1])


def test_where_no_network_has_learnt_the_remedy_is_named():
    with pytest.raises(
        ValueError, match=r"of 3 initial conditions 0 diverged, the others lie at the origin.*sgd_steps"
    ):
        phases.survivors(made_up(1000, 2000.0, 0.6))
    for one in scaling.carried_on(scaling.times({1796: made_up(1796, 4000.0, 0.2)}), 60_000, over=600):
        assert "fewer than two sizes" in one.why and relaxation.in_words(one) == "–"


def test_bins_of_the_null_are_those_of_the_measurement(run):
    some = run.sel(temperature=[1e-2])
    measured, null = shapes.motilities(some), shapes.gaussian_motilities(run, [1e-2])
    assert float(abs(measured.sum() - null.sum())) < 0.02
    step = np.diff(null.bin)[0]
    assert (
        step
        == pytest.approx(4 * np.diff(MOTILITY_EDGES)[0], rel=1e-3)
        == pytest.approx(np.diff(measured.bin)[0], rel=1e-3)
    )
    assert phases.origin(run).startswith("digits parity, P_D = 300, width 6")
