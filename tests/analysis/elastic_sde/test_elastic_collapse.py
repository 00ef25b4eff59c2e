"""Measures of neural collapse on class means whose distance from a simplex is known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech import over
from deepmech.simulators.elastic_sde import PowerLaw
from deepmech_book.analysis.elastic_sde import collapse


def test_starts_have_a_positive_mean_margin_and_do_not_depend_on_their_number():
    x = collapse.random_starts(40)
    margins = np.einsum("skk->sk", x) - x.mean(-1)
    assert (margins.mean(-1) > 0).all()
    assert np.array_equal(collapse.random_starts(3), x[:3])
    assert abs(x.mean(0)[~np.eye(3, dtype=bool)]).max() < 4 / np.sqrt(40)  # others than the own logit stay normal


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=4), st.integers(1, 5))
def test_the_rate_of_exponentials_is_found_whatever_their_size(rates, n_starts):
    t, size = np.linspace(3.0, 9.0, 12), xr.DataArray(10.0 ** np.arange(n_starts), dims="start")
    true = xr.DataArray(rates, dims="inter")
    curves = size * np.exp(-true * xr.DataArray(t, {"time": t}, "time"))
    np.testing.assert_allclose(collapse.decay_rate(curves), rates, rtol=1e-9)


@pytest.mark.parametrize("beta", [-0.3, -0.1])
def test_means_fall_into_the_simplex_at_the_rate_of_the_two_speeds(beta):
    """Eq. 10's corners grow at (α − β)/K and the rest at (α + β/(K − 1))/K: late, their quotient is e^(βt/2)."""
    distance = collapse.simplex_distance(over("inter", [beta]), np.linspace(100, 160, 7), collapse.random_starts(5))
    np.testing.assert_allclose(collapse.decay_rate(distance), -beta / 2, rtol=1e-3)


def test_only_repelling_classes_end_in_a_simplex():
    inter = over("inter", [-0.3, 0.3])
    ends = collapse.simplex_distance(inter, [200.0], collapse.random_starts(20)).isel(time=0)
    assert collapse.share_in_simplex(ends).value.values.tolist() == [1.0, 0.0]


def test_a_simplex_stays_one_and_its_size_does_not_matter():
    simplex = 7.0 * (np.eye(3) - 1 / 3)[None]
    distance = collapse.simplex_distance(PowerLaw(0.2, 0.5), [0.0, 1.0, 30.0], simplex)
    assert float(distance.max()) < 1e-9
    start = collapse.random_starts(1)
    one, three = (collapse.simplex_distance(-0.2, [0.0, 4.0], unit * start) for unit in (1, 3))
    np.testing.assert_allclose(one, three, rtol=1e-9)


def test_a_share_counts_starts_below_the_bound():
    found = collapse.share_in_simplex(xr.DataArray([[0.0, 0.099, 0.101, 1.2]], dims=("inter", "start")))
    assert found.value.values.tolist() == [0.5] and found.n == 4
    assert float(found.low[0]) < 0.5 < float(found.high[0])


def test_means_of_repelling_classes_point_at_three_corners_and_those_of_attracting_ones_at_more():
    starts = collapse.random_starts(20)
    repelled, attracted = (collapse.mean_directions(beta, [0.0, 200.0], starts) for beta in (-0.3, 0.3))
    np.testing.assert_allclose(repelled[0], attracted[0])  # the start is no matter of the effects
    corners = (np.eye(3) - 1 / 3) / np.sqrt(2 / 3) @ np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])
    np.testing.assert_allclose(repelled[1], corners[repelled["class"]], atol=1e-6)
    assert abs(attracted[1] - corners[attracted["class"]]).max() > 0.1
