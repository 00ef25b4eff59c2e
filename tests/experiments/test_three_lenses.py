"""Three lenses on one training run: looking changes nothing, and times are told apart where they differ."""

import numpy as np
import xarray as xr
from scipy.special import erf

from deepmech import SingleSample, over, train_lenet
from deepmech.trainers.engines.compiled.lenet import padded
from deepmech_book.experiments import tangent_kernel, three_lenses
from deepmech_book.experiments.elastic_sde.data import images

TIMES = [0.0, *np.geomspace(10, 10_000, 61)]


def test_looking_changes_nothing():
    data = images("geomnist", 3, 40, 10)
    whole = train_lenet(SingleSample(0.005, 60), data, seed=over("trial", [4]), experiment=tangent_kernel.EXPERIMENT)
    trial = tangent_kernel.Trial(4, data, 0.005, np.array([0, 20, 60]), 5)
    found = three_lenses._look(trial, [0, 20], 1.0)
    np.testing.assert_array_equal(trial.log, whole["logits"].values[0])
    assert found["load"].shape == (3, 5)
    np.testing.assert_array_equal(found["load"][:, 0], found["load"][0, 0])
    assert (found["load"][1:, 1:] != found["load"][0, 1:]).all()
    moved = found["msd"]  # since the start, since iteration 20, since the stop before
    assert moved[0].tolist()[::2] == [0.0, 0.0] and np.isnan(moved[0, 1])
    assert moved[1, 1] == 0 and moved[1, 0] == moved[1, 2] > 0
    assert moved[2, 1] == moved[2, 2] != moved[2, 0]


def test_mean_logits_are_those_of_the_engine_that_trains():
    data = images("geomnist", 3, 40, 10)
    trial = tangent_kernel.Trial(2, data, 0.005, np.array([0, 50]), 4)
    found = three_lenses._look(trial, [0], 1.0)["logits"][-1]
    x, y = padded(data.x_test[trial.chosen], 1, "float32"), data.y_test[trial.chosen]
    trial.engine.rate = 0.0
    z = trial.engine.run(x, y, np.arange(len(y)), (x[:0], y[:0]), np.zeros(0, np.int64))[0]
    np.testing.assert_allclose(found, z.reshape(3, 4, 3).mean(1), rtol=0, atol=1e-5)


def test_normal_displacements_are_normal_and_two_paces_are_not():
    rng = np.random.default_rng(0)
    layer, steps = np.repeat([0, 1], 50_000), rng.standard_normal(100_000)
    overlap, msd, alpha, layers = three_lenses.moves(steps, 0 * steps, layer, 2.0, 4.0)
    np.testing.assert_allclose([overlap, msd, alpha, layers], [erf(0.5 / np.sqrt(2)), 0.25, 0, 0], rtol=0, atol=0.02)
    uneven = steps * np.where(layer, 3.0, 1.0)
    _, _, alpha, layers = three_lenses.moves(uneven, 0 * steps, layer, 1.0, 1.0)
    np.testing.assert_allclose([alpha, layers], [0.64, 0.64], rtol=0, atol=0.04)


def waves(delay, width=0.2, times=TIMES):
    """Quantities that rise from 0 to 1 about the times ``delay``, over ``network`` and ``time``."""
    t = xr.DataArray(times, {"time": times}, "time")
    with np.errstate(divide="ignore"):
        late = (np.log(t) - xr.DataArray(np.log(delay), dims="network")) / width
    return (1 / (1 + np.exp(-late))).transpose("network", "time")


def test_half_times_do_not_depend_on_any_scale():
    delay = np.array([300.0, 700.0, 2000.0])
    curve = waves(delay)
    found = three_lenses.half_times(three_lenses.progress(curve))
    np.testing.assert_allclose(found, delay, rtol=2e-2)
    np.testing.assert_allclose(three_lenses.half_times(three_lenses.progress(3 - 7 * curve)), found, rtol=1e-12)
    squared = curve.assign_coords(time=curve.time**2)
    np.testing.assert_allclose(three_lenses.half_times(three_lenses.progress(squared)), found**2, rtol=1e-9)


def test_the_interval_of_a_rank_correlation_covers():
    rng, true, n = np.random.default_rng(3), 0.6, 60
    x = rng.standard_normal((300, n))
    y = true * x + np.sqrt(1 - true**2) * rng.standard_normal((300, n))
    rho = 6 / np.pi * np.arcsin(true / 2)
    ends = [three_lenses.rank_over(a, b).interval for a, b in zip(x, y, strict=True)]
    assert 0.91 < np.mean([low < rho < high for low, high in ends]) < 0.98


def test_what_a_third_time_explains_is_taken_out():
    rng = np.random.default_rng(4)
    third = rng.standard_normal(200)
    x, y = (third + 0.5 * rng.standard_normal(200) for _ in range(2))
    assert three_lenses.rank_over(x, y).value > 0.6
    low, high = three_lenses.rank_over(x, y, third).interval
    assert low < 0 < high
