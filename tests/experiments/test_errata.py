"""The errata's experiments against closed forms they do not use."""

import numpy as np
import pytest

from deepmech.metrics.separation import data_separation
from deepmech_book.experiments.spring_block import errata


def test_printed_weights_shift_balanced_classes_by_twice_the_logarithm_of_their_number():
    found = errata.class_weights("digits", per_class=20)
    assert found["shift"].values == pytest.approx(np.full(8, 2 * np.log(10)), abs=1e-10)
    assert found["moved"].sel(weights="samples") < 1e-10 < found["moved"].sel(weights="printed")


def test_balanced_classes_are_balanced():
    x, y = errata.balanced("digits", 30)
    assert x.shape == (300, 64)
    assert np.bincount(y).tolist() == [30] * 10
    assert np.isfinite(data_separation(x, y))


def test_d_hat_is_blind_to_maps_of_few_features_only():
    change = errata.d_hat_under_maps("digits", per_class=30, n_maps=2)
    assert float(change.D_hat.sel(features=[4, 9]).max()) < 1e-10
    assert float(change.D_hat.sel(features=[20, 40]).min()) > 0.01
    assert float(change.D.min()) > 0.01


def test_creep_without_static_friction_shrinks_with_the_step():
    def creep(dt):
        rest = errata.rest_without_static_friction(dt=dt, t_end=150.0)
        return float(abs(rest.direct - rest.closed_form).isel(block=slice(1, 4)).max())

    assert 3 < creep(0.02) / creep(0.005) < 5  # first order


def test_classes_that_move_do_not_change_the_covariance_within_them():
    moved = errata.classes_moved("digits", per_class=20)
    assert float(moved.sel(covariance="first").max()) < 1e-10 < 1 < float(moved.sel(covariance="second").min())


def test_white_noise_has_no_increments_of_finite_variance():
    found = errata.increments(0.01, [1e-3, 1e-4])
    np.testing.assert_allclose(found.wiener, 1, atol=0.05)
    np.testing.assert_allclose(found.white, [2e5, 2e6], rtol=0.05)  # 2/(η δ)
