"""Where networks fall to the origin, and how suddenly, of losses that are made up."""

import json

import numpy as np
import pytest
import xarray as xr

from deepmech_book.analysis.glass import transitions
from deepmech_book.sweeps.glass import minima

DECAYS = [0.001, 0.01, 0.02, 0.05]
REST = {"sgd_steps": 100, "learning_rate": 0.01}


def falling(places):
    """Networks whose loss rises with λ, and jumps to ½ at a place of their own."""
    at = np.array(DECAYS)
    loss = np.array([np.where(at >= place, 0.5, at) for place in places])
    coords = {"seed": range(len(places)), "regularisation": DECAYS, "width": [5]}
    return xr.Dataset({"data_loss": (("seed", "regularisation", "width"), loss[..., None])}, coords)


def test_networks_fall_where_their_loss_stays_high():
    result = falling([0.01, 0.05, 1.0])
    found = transitions.falls_at(result, 0.45)
    assert found.values.tolist()[:2] == [0.01, 0.05] and np.isnan(found.values[2])
    # A loss that comes down again has not fallen there; one that diverged says nothing.
    result.data_loss[0, 2] = 0.1
    assert float(transitions.falls_at(result, 0.45)[0]) == 0.05
    result.data_loss[1, 0] = np.nan
    assert np.isnan(transitions.falls_at(result, 0.45)[1])


def test_single_networks_jump_and_their_mean_does_not():
    single, mean = transitions.sharpness(falling([0.01, 0.02, 0.02, 0.05]))
    assert single.value > 0.9 and single.low <= single.value <= single.high and 0.4 < mean < 0.6
    same, mean = transitions.sharpness(falling([0.02, 0.02, 0.02]))
    assert same.value == pytest.approx(mean)


def test_a_row_of_transitions():
    sweep = minima.plane({"name": "digits", "n_data": 100, "whiten": True}, [5, 20], [0.0], 2, REST, "uot")
    loss = np.array([[1e-2, 1e-9], [1e-2, 1e-9]])[..., None]
    sizes = xr.Dataset(
        {"data_loss": (("seed", "width", "regularisation"), loss)},
        {"seed": [0, 1], "width": [5, 20], "regularisation": [0.0]},
        {"spec": json.dumps(sweep.to_json())},
    )
    low, high = transitions.ratio(sizes).values
    line = xr.Dataset({"explained": 0.25, "gives_way": 0.031})
    row = transitions.summary(sizes, falling([0.01, 0.05, 0.05]), 0.45, line)
    assert row["λ*, median"] == "0.05" and row["least"] == "0.01" and row["a line explains"] == "25 %"
    # Linear in the logarithm: from 1e-2 to 1e-9, 1e-4 lies at two sevenths.
    assert float(row["N*/P_D"]) == pytest.approx(low + (high - low) * 2 / 7, rel=0.05)
    assert transitions.mean_losses(sizes) == f"0.01 at {low:.2f}, 1e-09 at {high:.2f}"
    assert transitions.summary(sizes.isel(width=[0]), falling([1.0]), 0.45, line)["N*/P_D"] == "not reached"
