"""Logs of known models, errors of estimators, and tail indices of effects whose exponent is known."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book.analysis.elastic_sde import recovery


def test_logs_begin_with_the_starts_of_the_classes_drawn():
    x, drawn = recovery.training_log("logits", 1.0, 0.03, seed=0)
    assert x.shape == (recovery.TRIALS, recovery.ITERATIONS, 3) and set(np.unique(drawn)) == {0, 1, 2}
    off = x[:, 0] - (recovery.STARTS - recovery.STARTS.mean(1, keepdims=True))[drawn[:, 0]]
    assert abs(off.mean()) < 4 * 0.3 / np.sqrt(off.size) and off.std() == pytest.approx(0.3, rel=0.2)
    again, other = (recovery.training_log("logits", 1.0, 0.03, seed)[0] for seed in (0, 1))
    assert np.array_equal(x, again) and not np.array_equal(x, other)


def test_truth_is_the_integral_of_the_known_effects():
    found = recovery.recovered_effects("isotropic", 1)
    t = found["time"].values
    alpha = 0.03 * t / 60 * np.exp(1 - t / 60)
    np.testing.assert_allclose(found["intra_true"], alpha, rtol=1e-9)
    np.testing.assert_allclose(found["B_true"], -0.4 * found["A_true"], rtol=1e-9)
    total = 0.03 * 60 * np.e * (1 - (1 + t / 60) * np.exp(-t / 60))
    np.testing.assert_allclose(found["A_true"], total - total[2], atol=2e-4)  # effects are linear between iterations
    assert found["model"].values.tolist() == recovery.ESTIMATORS


def test_each_estimator_finds_the_effects_of_its_own_model():
    of_i, of_l = (recovery.recovered_effects(model, 3) for model in ("isotropic", "logits"))
    found = recovery.recovery_error(["A", "B", "intra"], of_i, of_l)
    assert found.value.dims == ("effect", "model") and float((found.value / found.null).max()) < 0.3
    assert float(recovery.error(of_i, "A").sel(model="I").max()) < 0.1 * float(of_i["A_true"][-1])


def laid_out(off):
    """Effects that are known and found with an error of ``off`` (log, model)."""
    off = xr.DataArray(off, {"model": recovery.ESTIMATORS}, ("log", "model"))
    true = xr.DataArray(np.linspace(0, 2, 80), dims="time")
    values = {name: true + off for name in ("A", "B", "intra")}
    return xr.Dataset({**values, **{f"{name}_true": true for name in values}})


def test_errors_are_root_mean_squares_of_the_own_model_by_the_largest_effect():
    of_i, of_l = laid_out(np.full((4, 3), 0.3)), laid_out([[0.1, 0.5, -0.2]] * 4)
    found = recovery.recovery_error(["A", "intra"], of_i, of_l)
    np.testing.assert_allclose(found.value, [[0.15, 0.1]] * 2)  # the largest is 2
    np.testing.assert_allclose(found.low, [[0.15, 0.1]] * 2)  # equal logs
    straight = np.sqrt((np.linspace(0, 1, 80) ** 2).mean())  # of effects that are never seen
    np.testing.assert_allclose(found.null.sel(effect="A"), straight)


def test_the_local_slope_is_the_exponent_and_the_index_is_not():
    tails = recovery.tail_indices([0.25, 0.5, 1.5, 2.0], [0.3, 3.0])
    np.testing.assert_allclose(tails["slope"], [tails["r"].values] * 2, atol=0.001)
    weak, strong = (tails["index"].sel(strength=a) for a in (0.3, 3.0))
    # A grows in proportion to the strength, so that indices differ by log 10 / log(1 + t), whatever r is.
    np.testing.assert_allclose(weak - strong, np.log(10) / np.log(9500), rtol=0.01)
