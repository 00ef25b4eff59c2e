"""Pairs of the page glass/transitions, and its numbers on losses that are made up."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import at_rest, crossing, falling, jumping, some_without_loss

from deepmech_book import claims
from deepmech_book.claims.rules import HOLDS
from deepmech_book.glass import transitions
from pairs import Page

page = Page("glass/transitions")


@page.pair("C.1.scatter", usual=0.7, rival=False)
def some_fit_all(level, rng, rival):
    """Seven networks of two widths are wide enough; an eighth diverged."""
    sizes = some_without_loss(rng.random((4, 2)) < level[""])
    sizes.data_loss[0, -1] = np.nan
    return {"sizes": sizes}


@page.pair("C.1.lambda_star", usual=0.025, power=0, told=0.3)
def three_networks_fall(level, rng, rival):
    """Each at a λ of its own, as far apart as those that ship: too far to be sure of a true sentence."""
    decays = 0.0064 * 1.3 ** np.arange(12)
    return {"networks": falling(level[""] * np.exp(0.35 * rng.standard_normal(3)), decays)}


@page.pair("C.1.sharp", usual=0.7)
def ten_networks_fall(level, rng, rival):
    """Each in two jumps; in the null all at one λ, so that their mean falls as suddenly."""
    return {"decays": jumping(level[""] + 0.18 * rng.standard_normal(10), alike=rival)}


FALLS = {0.003: 0.686, 0.01: 0.48, 0.02: 0.52}
"""Half-widths of the intervals that ship, 2.48 times the scatter of three pairs."""


@page.pair("C.1.no_uot_with_decay", panels=FALLS, usual={0.003: 1.1, 0.01: 0.3, 0.02: 0.1}, reach=FALLS)
def size_matters_without_decay_alone(level, rng, rival):
    """Small and large networks whose losses are so many factors of ten apart; with strong decay none learns."""
    apart = np.array([0.5 if rival else 2.7, *level.values(), 0.0])
    size = np.array([0.0, *(reach / 2.48 for reach in FALLS.values()), 0.0])
    each = apart + size * rng.standard_normal((3, 5))
    logs = np.log10(0.5) - np.stack([0 * each, each], 1) - np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    loss = 10**logs
    loss[:, 1, -1] = 0.5
    return {"plane": at_rest(loss, (5, 20), (0.0, *level, 0.1))}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_the_loss_vanishes_where_a_straight_line_in_its_logarithm_does():
    found = crossing([0.3, 0.5])
    assert transitions.n_star(found) == pytest.approx(0.4, abs=1e-3)
    assert np.isnan(transitions.n_star(found, 1e-12))
    lost = found.assign(data_loss=found.data_loss.where((found.seed == 0) | (found.width > 7)))
    middle = transitions.typical(transitions.by_ratio(lost))
    np.testing.assert_allclose(middle.isel(ratio=0), found.data_loss[0, 0, 0])
    assert transitions.origin(lost.assign(diverged=lost.data_loss.isnull())).endswith("5 of 22 diverged.")
    assert transitions.without_loss(found.isel(width=[0, 1])).reason == transitions.NOWHERE


def test_of_two_jumps_the_one_to_the_origin_counts():
    curve = xr.DataArray([0.1, 0.35, 0.36, 0.5, 0.5], {"regularisation": [0.01, 0.02, 0.03, 0.04, 0.05]})
    assert float(transitions.last_step(curve, 0.45)) == pytest.approx(0.14 / 0.4)
    back = curve.copy(data=[0.1, 0.5, 0.2, 0.35, 0.5])
    assert float(transitions.last_step(back, 0.45)) == pytest.approx(0.15 / 0.4), "it came down again"
    assert np.isnan(transitions.last_step(curve.isel(regularisation=slice(0, 3)), 0.45))


def test_half_of_the_networks_have_fallen_between_two_decays():
    found = transitions.lambda_star(falling([0.01, 0.02, 0.05])).measured
    assert found.value == pytest.approx(0.015) and (found.low, found.high) == (0.001, 0.05)
    assert transitions.lambda_star(falling([1.0, 0.02])).measured.reason == transitions.NOT_ENCLOSED
    near = {"networks": falling([0.025, 0.03, 0.035], [0.01, 0.02, 0.03, 0.04])}
    assert claims.measure("C.1.lambda_star", **near).verdict == HOLDS
    halted = falling([0.02, 0.02])
    halted.data_loss[0, 0, 1] = 0.33
    assert "One network of λ = 0.01 ends half-way, at 0.33. " in transitions.lambda_star(halted).detail


def test_tables_and_curves_of_networks_at_rest():
    loss = np.array([[0.1, 0.1, 0.5], [1e-5, 0.01, 0.5]])  # width, decay: at the last one the large ones do not learn
    plane = at_rest([loss, loss], (5, 20), (0.0, 0.01, 0.1))
    assert transitions.no_uot_with_decay(plane).measured.value.regularisation.values.tolist() == [0.01]
    curves = transitions.typical_by_ratio(plane)
    assert curves.ratio.values.tolist() == transitions.ratio(plane).values.tolist()
    np.testing.assert_allclose(curves.isel(ratio=1), loss[1], rtol=1e-12)
    table = transitions.by_program(plane)
    assert table["final data loss"].tolist() == ["0.1", "1e-05"] and next(iter(table)) == "N/P_D"
    fallen = transitions.fallen_by_decay(plane.isel(width=[1]))
    assert fallen["networks that fell"].tolist() == [0, 0, 2] and fallen["networks in all"].tolist() == [2, 2, 2]
    mean, *single = transitions.single_and_mean(plane.isel(width=[1]), 2)
    assert all(np.array_equal(one, mean) for one in single) and len(single) == 2
