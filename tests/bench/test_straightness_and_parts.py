"""Straightness of curves and parts of layers, in networks whose curves are known."""

import numpy as np
import pytest
import runs_laws
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech_book.bench import layer_parts, straightness

BLANK = runs_laws.networks()
N = BLANK.sizes["number"]


def test_parts_are_those_that_were_put_in():
    put = np.random.default_rng(0).normal(size=(3, N))
    found = layer_parts.parts(runs_laws.with_parts(BLANK, *put))
    np.testing.assert_allclose([found[name] for name in ("linear", "norm", "activation")], put, atol=1e-9)
    table = layer_parts.by_slope(runs_laws.with_parts(BLANK, *put))
    for slope in np.unique(BLANK.slope):
        mean = put[:, BLANK.slope.values == slope].mean(1)
        np.testing.assert_allclose(table.sel(slope=slope), mean, atol=1e-9)


@given(st.floats(0.1, 3), st.floats(-5, 5))
def test_a_line_has_correlation_one_whatever_its_slope_and_a_symmetric_bend_none(slope, shift):
    layer = xr.DataArray(np.arange(7.0), {"layer": range(7)}, ["layer"])
    line = slope * layer + shift
    assert (
        np.isnan(straightness.correlation(line)) if not line.std() else abs(straightness.correlation(line) - 1) < 1e-6
    )
    assert float(straightness.correlation((layer - 3) ** 2)) == pytest.approx(0, abs=1e-12)


def test_random_curves_fall_have_as_many_points_and_even_steps_on_average():
    like = runs_laws.with_curves(BLANK, np.zeros(N)).load_curve_hat
    curves = straightness.random_curves(like)
    np.testing.assert_array_equal(np.isfinite(curves), np.isfinite(like))
    assert (curves.diff("layer").fillna(-1) < 0).all() and (curves.isel(layer=0) == 0).all()
    steps = -curves.isel(number=np.flatnonzero(BLANK.depth == 8)).diff("layer")
    assert float(abs(steps.mean("number") - 1).max()) < 5 / np.sqrt(steps.sizes["number"])  # of exponential numbers


def test_networks_are_selected_by_accuracy_depth_and_when_they_came_to_the_loss():
    accuracy = np.repeat(np.where(np.arange(N) % 2, 0.95, 0.8)[:, None], 3, 1)
    start = BLANK.assign(epoch=("number", np.zeros(N)))
    after = start.assign(accuracy=(("number", "split"), accuracy), epoch=("number", np.full(N, 120)))
    loss = after.assign(epoch=("number", np.where(np.arange(N) < 100, 60, 120))).isel(number=slice(5, None))
    stops = straightness.select({"start": start, "loss": loss, "epochs": after}, 0.9, 6)
    assert (stops.trained.number % 2 == 1).all() and stops.trained.sizes == stops.untrained.sizes
    assert (stops.deep.depth >= 6).all() and set(stops.deep.number.values) < set(stops.trained.number.values)
    assert list(stops.early.number) == list(stops.late.number) == list(range(5, 100))


def test_shares_and_quantiles_are_those_of_the_numbers():
    bend = 0.01 + 0.1 * np.random.default_rng(1).random(N)
    early, late = (runs_laws.with_curves(BLANK, factor * bend) for factor in (1.0, 0.5))
    assert (straightness.smaller_bends(early, late).value == 1).all()
    assert (straightness.smaller_bends(late, early, "load_curve").value == 0).all()
    table = straightness.shares_table({"of D": straightness.smaller_bends(early, late)})
    assert table.loc["of D", "mnist"] == "100% [100%, 100%]"
    assert straightness.never_rises(late).all() and not straightness.never_rises(-1 * late[["load_curve"]]).any()
    found = straightness.quantiles({"bends": xr.DataArray(bend)})
    assert float(found.sel(of="bends", share=50.0)) == pytest.approx(np.median(bend))
    assert (found.diff("share") > 0).all()
