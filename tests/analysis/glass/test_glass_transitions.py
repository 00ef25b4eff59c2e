"""Where networks fall to the origin, and how suddenly, of losses that are made up."""

import json

import numpy as np
import pytest
import xarray as xr
from runs_glass import falling

from deepmech_book.analysis.glass import transitions
from deepmech_book.sweeps.glass import minima

REST = {"sgd_steps": 100, "learning_rate": 0.01}


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
    single, mean = transitions.sharpness(falling([0.01, 0.02, 0.02, 0.05]), 0.45)
    assert single.value > 0.9 and single.low <= single.value <= single.high and mean < 0.3
    same, mean = transitions.sharpness(falling([0.02, 0.02, 0.02]), 0.45)
    assert same.value == pytest.approx(mean)


def test_of_two_jumps_the_one_to_the_origin_counts():
    curve = xr.DataArray(
        [0.1, 0.35, 0.36, 0.5, 0.5], {"regularisation": [0.01, 0.02, 0.03, 0.04, 0.05]}, "regularisation"
    )
    assert float(transitions.last_step(curve, 0.45)) == pytest.approx(0.14 / 0.4)
    back = curve.copy(data=[0.1, 0.5, 0.2, 0.35, 0.5])
    assert float(transitions.last_step(back, 0.45)) == pytest.approx(0.15 / 0.4), "it came down again"
    assert np.isnan(transitions.last_step(curve.isel(regularisation=slice(0, 3)), 0.45))


def test_half_of_the_networks_have_fallen_between_two_decays():
    found = transitions.half_fallen(falling([0.01, 0.02, 0.05]))
    assert found.value == pytest.approx(0.015) and (found.low, found.high) == (0.001, 0.02)
    assert "do not enclose" in transitions.half_fallen(falling([1.0, 1.0])).reason
    halted = falling([0.02, 0.02])
    halted.data_loss[0, 1] = 0.33
    assert transitions.half_way(halted) == "One network of λ = 0.01 ends half-way, at 0.33. "


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


def test_decades_and_tables_of_networks_at_rest():
    sweep = minima.plane({"name": "digits", "n_data": 100, "whiten": True}, [5, 20], [0.0, 0.01, 0.1], 2, REST)
    loss = np.array([[0.1, 0.1, 0.5], [1e-5, 0.01, 0.5]])  # width, decay: at the last one the large ones do not learn
    names = ("seed", "width", "regularisation")
    plane = xr.Dataset(
        {"data_loss": (names, np.stack([loss, loss])), "error": (names, np.stack([loss, loss]))},
        {"seed": [0, 1], "width": [5, 20], "regularisation": [0.0, 0.01, 0.1]},
        {"spec": json.dumps(sweep.to_json())},
    )
    with_decay, without = transitions.decades(plane)
    assert with_decay.regularisation.values.tolist() == [0.01] and with_decay.values == pytest.approx([1])
    assert without == pytest.approx(4)
    curves = transitions.typical_by_ratio(plane)
    assert curves.ratio.values.tolist() == transitions.ratio(plane).values.tolist()
    np.testing.assert_allclose(curves.isel(ratio=1), loss[1], rtol=1e-12)
    table = transitions.by_program(plane)
    assert table["final data loss"].tolist() == ["0.1", "1e-05"] and next(iter(table)) == "N/P_D"
    fallen = transitions.fallen_by_decay(plane.isel(width=[1]))
    assert fallen["networks that fell"].tolist() == [0, 0, 2] and fallen["of"].tolist() == [2, 2, 2]


def test_digits_stand_beside_the_linear_fit():
    sizes, decays = transitions.on_digits()
    table = transitions.beside_linear_fits((sizes, decays, 0.45))
    assert float(table["N*/P_D"].iloc[0]) == pytest.approx(transitions.n_star(sizes), rel=0.05)
    loss = transitions.by_labels({"true": sizes, "again": sizes})
    xr.testing.assert_equal(loss.sel(labels="true", drop=True), loss.sel(labels="again", drop=True))
