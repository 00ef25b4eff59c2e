"""A second data set, other sizes, and populations of Gaussian groups whose histograms are known."""

import numpy as np
import pytest
import xarray as xr

from deepmech import sweeps
from deepmech.core.random import Stream
from deepmech.metrics.glass import MOTILITY_EDGES
from deepmech.metrics.glass_modes import uniform_dips
from deepmech_book.experiments.glass import cifar, phases, shapes, walks
from deepmech_book.experiments.glass.data import Binary, binary

BRIEF = {"sgd_steps": 200, "learning_rate": 0.05, "gain": 2.0}


@pytest.fixture(scope="module")
def run():
    data = {"name": "digits", "n_data": 300}
    sweep = walks.phase_sweep(
        "regularised", data, [1e-2, 1e-6, 0.0], 2, steps=300, waiting=[10, 40], preparation=BRIEF, width=6
    )
    return phases.survivors(sweeps.run(sweep, chunk=6))


def test_shuffled_labels_are_as_many_and_in_another_order():
    plain, shuffled = binary("digits", 600), binary("digits", 600, shuffle=3)
    np.testing.assert_array_equal(plain.x, shuffled.x)
    assert plain.y.sum() == shuffled.y.sum() and 0.3 < (plain.y != shuffled.y).mean() < 0.7
    assert len({plain.fingerprint, shuffled.fingerprint, binary("digits", 600, shuffle=4).fingerprint}) == 3


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


def test_where_no_network_has_learnt_the_remedy_is_named(run):
    unlearnt = run.assign(loss_waited=run.loss_waited * 0 + 0.5)
    with pytest.raises(
        ValueError, match=r"of 2 initial conditions 0 diverged, the others lie at the origin.*sgd_steps"
    ):
        phases.survivors(unlearnt)


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
