"""Pairs of the page elastic_sde/collapse, and its model where the answer is known."""

import numpy as np
import xarray as xr

from deepmech import over
from deepmech_book.elastic_sde import collapse
from pairs import Page

page = Page("elastic_sde/collapse")
TIMES = np.linspace(0, 120, 31)


def ending(shares, rng):
    """Distances of 60 starts, of which a share ends in a simplex, by effect between classes."""
    inside = rng.random((60, len(shares))) < list(shares.values())
    end = xr.DataArray(np.where(inside, 0.05, 1.0), {"inter": list(shares)}, ("start", "inter"))
    return end.expand_dims(time=TIMES).transpose("start", "inter", "time")


@page.pair("B.prop34.collapses", panels=(-0.3, -0.1), usual=1.0, reach=0.04)
def repelled_classes_end_in_a_simplex(level, rng, rival):
    return {"distance": ending(level | {0.1: 0.0, 0.3: 1.0 if rival else 0.0}, rng)}


@page.pair("B.prop34.printed", usual=1.0, reach=0.04)
def bounded_repulsion(level, rng, rival):
    """Of starts in which B stays bounded a share ends in a simplex."""
    constant = ending({-0.3: 1.0, 0.3: 1.0 if rival else 0.0}, rng)
    return {"bounded": ending({-0.4: level[""]}, rng).isel(inter=0), "distance": constant}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_means_fall_into_the_simplex_at_the_rate_of_the_two_speeds():
    """Late the corners are ahead by e^(βt/2); attracting classes do not get there; a simplex stays one."""
    starts = collapse.random_starts(20)
    distance = collapse.distance(over("inter", [-0.3, -0.1, 0.3]), np.linspace(100, 160, 7), starts)
    late = np.log(distance.sel(inter=[-0.3, -0.1]).isel(time=slice(3, None)))
    rate = -late.polyfit("time", 1).polyfit_coefficients.sel(degree=1)
    np.testing.assert_allclose(rate.mean("start"), [0.15, 0.05], rtol=1e-3)
    assert collapse.in_simplex(distance).value.values.tolist() == [1, 1, 0]
    assert float(collapse.distance(-0.2, TIMES, 7.0 * (np.eye(3) - 1 / 3)[None]).max()) < 1e-9


def test_starts_have_a_positive_mean_margin_and_do_not_depend_on_their_number():
    x = collapse.random_starts(40)
    assert ((np.einsum("skk->sk", x) - x.mean(-1)).mean(-1) > 0).all()
    assert np.array_equal(collapse.random_starts(3), x[:3])


def test_repulsion_that_fades_ends_at_its_size():
    assert round(float(collapse.fading(0.4).integrate("time")), 3) == -0.4


def test_means_of_repelling_classes_point_at_three_corners():
    starts = collapse.random_starts(20)
    repelled, attracted = (collapse.directions(beta, [0.0, 200.0], starts) for beta in (-0.3, 0.3))
    corners = (np.eye(3) - 1 / 3) / np.sqrt(2 / 3) @ np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])
    np.testing.assert_allclose(repelled[0], attracted[0])
    np.testing.assert_allclose(repelled[1], corners[repelled["class"]], atol=1e-6)
    assert abs(attracted[1] - corners[attracted["class"]]).max() > 0.1
