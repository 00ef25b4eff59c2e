"""Laws of the shape of load curves."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deepmech.metrics.curvature import curvature, descent, steps
from deepmech.metrics.elasticity import margins

curves = hnp.arrays(float, st.integers(3, 12), elements=st.floats(-10, 10))


@given(st.integers(2, 40), st.floats(-5, 5), st.floats(0.01, 100))
def test_straight_lines_have_none(length, start, drop):
    line = start - drop * np.arange(length + 1) / length
    assert curvature(line) == pytest.approx(0, abs=1e-12)


def test_what_is_made_of_a_load_is_not_called_a_load():
    load = xr.DataArray([2.0, 1.0, 0.0], dims="layer", attrs={"long_name": "load", "units": "1"})
    assert curvature(load).attrs["long_name"] == "signed curvature" and descent(load).attrs["long_name"] == "descent"
    means = xr.DataArray(np.ones((1, 2, 2)), dims=("time", "class", "logit"), attrs={"long_name": "mean"})
    assert not margins(means).attrs and load.attrs["long_name"] == "load" and means.attrs["long_name"] == "mean"


@given(st.integers(2, 40))
def test_closed_forms(length):
    depth = np.arange(length + 1) / length
    assert curvature(1 - depth**2) == pytest.approx((1 - 1 / length**2) / 6)
    assert curvature((1 - depth) ** 2) == pytest.approx(-(1 - 1 / length**2) / 6)
    last, first = np.ones(length + 1), np.zeros(length + 1)
    last[-1], first[0] = 0, 1
    assert curvature(last) == pytest.approx((length - 1) / (2 * length))
    assert curvature(first) == pytest.approx(-(length - 1) / (2 * length))


@given(st.integers(3, 10), st.floats(1.05, 3))
def test_sign_says_who_does_more(length, ratio):
    """Steps that grow with depth: concave, positive; the same steps in reverse: convex, the exact negative."""
    grow = ratio ** np.arange(length)
    concave, convex = (-np.concatenate([[0], np.cumsum(s)]) for s in (grow, grow[::-1]))
    assert curvature(concave) > 0 > curvature(convex)
    assert curvature(concave) == pytest.approx(-curvature(convex))


@given(curves, st.floats(0.1, 10), st.floats(-10, 10))
def test_scale_and_origin_of_d_do_not_matter_and_a_mirror_turns_the_sign(d, scale, shift):
    assume(np.ptp(d) > 1e-3)
    assert curvature(scale * d + shift) == pytest.approx(curvature(d), abs=1e-9)
    assert curvature(-d) == pytest.approx(-curvature(d), abs=1e-12)
    assert -1 < curvature(d) < 1


@given(curves)
def test_points_on_the_curve_add_nothing(d):
    """Refining the polygon does not change its curvature: it belongs to the curve, not to the number of layers."""
    assume(np.ptp(d) > 1e-3)
    fine = np.interp(np.arange(2 * len(d) - 1) / 2, np.arange(len(d)), d)
    assert curvature(fine) == pytest.approx(curvature(d), abs=1e-12)


@given(curves)
def test_steps_are_what_each_layer_takes_off(d):
    np.testing.assert_allclose(steps(d), -np.diff(d))


@given(st.integers(1, 10), st.floats(0, 1))
def test_the_chain_of_eq_7_is_a_parabola(blocks, friction):
    """L blocks, k = 1, all moving: Δd_ℓ = μ, so n = L + 1 springs give curvature μ (n² − 1)/(12 y)."""
    n, y = blocks + 1, 100.0
    level = np.arange(n + 1)
    position = y * level / n - friction * (blocks * level / 2 - level * (level - 1) / 2)
    assert curvature(y - position) == pytest.approx(friction * (n**2 - 1) / (12 * y), abs=1e-12)


def test_curves_without_a_shape_give_nan():
    for d in ([1.0, 1.0, 1.0], [0.1 + 1e-16, 0.1, 0.1 - 1e-16], [np.inf, 1, 0], [np.nan, 1, 0], [2, -np.inf, 0]):
        assert np.isnan(curvature(np.array(d))) and np.isnan(descent(np.array(d)))
    assert curvature(np.array([1.0, 1.01, 1.0])) == pytest.approx(0.5)


def test_rising_curves_keep_their_sign_and_show_their_descent():
    rising = np.array([0.0, 0.9, 1.0])
    assert curvature(rising) > 0 and descent(rising) == -1
    back = np.array([0.0, 1.0, 0.0])
    assert curvature(back) == pytest.approx(0.5) and descent(back) == 0
    assert descent(np.array([3.0, 1.0, 0.0])) == 1


def test_axes_and_labels():
    rng = np.linspace(0, 1, 2 * 3 * 5).reshape(2, 3, 5) ** 2
    labelled = xr.DataArray(
        rng, dims=("dropout", "seed", "layer"), coords={"dropout": [0.0, 0.1], "layer": list("abcde")}, name="D"
    )
    plain = curvature(rng)
    assert plain.shape == (2, 3)
    for order in (("dropout", "seed", "layer"), ("layer", "dropout", "seed")):
        out = curvature(labelled.transpose(*order))
        assert out.dims == ("dropout", "seed") and out.dropout.values.tolist() == [0.0, 0.1]
        assert "layer" not in out.coords
        np.testing.assert_array_equal(out, plain)
    by_step = steps(labelled)
    assert by_step.layer.values.tolist() == list("bcde")
    np.testing.assert_allclose(by_step, steps(rng))
    np.testing.assert_array_equal(curvature(labelled.rename(layer="block")), plain)
    with pytest.raises(ValueError, match="say which one runs over layers"):
        curvature(labelled.rename(layer="depth"))
    np.testing.assert_array_equal(curvature(labelled.rename(layer="depth"), dim="depth"), plain)


def test_bad_axes_are_named():
    with pytest.raises(ValueError, match="load has 2 layers: at least 3"):
        curvature(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="dim = 'layer': load is a plain array"):
        curvature(np.zeros((4, 4)), dim="layer")
    with pytest.raises(ValueError, match="dim = 'x': load has dimensions"):
        curvature(xr.DataArray(np.zeros(4), dims="layer"), dim="x")
