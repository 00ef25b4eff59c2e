"""Rates: what a smooth network does in a time does not depend on its steps, and times are those of the whole rate."""

import numpy as np
import xarray as xr

from deepmech_book.sweeps.glass import kinks, rates

FIXED = {
    "data": {"name": "digits", "n_data": 300, "whiten": True}, "width": 4, "regularisation": 0.0, "softplus": 5.0,
    "preparation": {"gain": 6**0.5, "sgd_steps": 4000, "learning_rate": 0.02},
}  # fmt: skip
CELL = xr.Dataset({"seed": ("cell", [0])}, {"cell": [0]})


def test_smooth_networks_go_as_far_in_smaller_steps():
    found = rates.rate_cells(CELL, **FIXED, temperature=0.0, waiting=2000, slower=[1, 4], look=100).isel(cell=0)
    np.testing.assert_allclose(found.gradient_norm / found.drift_norm, 1, atol=0.02)
    assert 0 < found.steepness < 2, "steps do not turn back"
    whole, quarter = (found.msd.sel(slower=one) for one in (1, 4))
    assert np.isnan(whole.sel(time=0.25)) and found.time.values[-1] == 100
    np.testing.assert_allclose(whole.sel(time=[1, 4, 100]), quarter.sel(time=[1, 4, 100]), rtol=1e-3)
    np.testing.assert_allclose(found.early.sel(slower=4), quarter.sel(time=slice(None, 4)).mean(), rtol=1e-5)


def test_a_look_at_the_whole_rate_is_that_of_the_page_on_kinks():
    found = rates.rate_cells(CELL, **FIXED, temperature=0.0, waiting=2000, slower=[1], look=100).isel(cell=0)
    other = kinks.kink_cells(CELL, **FIXED, chi=300.0, waiting=[2000 + rates.REST], times=[100]).isel(cell=0)
    for name in ("gradient_norm", "drift_norm"):
        np.testing.assert_allclose(found[name].values, other[name].values, rtol=1e-3)


def test_heat_moves_free_weights_as_far_in_smaller_steps():
    """A network that has collapsed feels its noise alone."""
    hot = FIXED | {"regularisation": 0.5, "temperature": 1e-6, "waiting": 3000, "slower": [1, 4], "look": 100}
    found = rates.rate_cells(CELL, **hot).isel(cell=0)
    free = 2 * 1e-3 * 1e-6 / 60_000 * found.time
    np.testing.assert_allclose(found.msd.sel(slower=4, time=100), free.sel(time=100), rtol=0.5)
