"""Pairs of the page elastic_sde/model; single steps, closed forms and drifts where the answer is known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from deepmech import ElasticSDE, over
from deepmech.simulators.elastic_sde import PowerLaw, mean_solution, mixed_logits
from deepmech_book.elastic_sde import model
from deepmech_book.elastic_sde.model import integrated, off, start
from pairs import Page

page = Page("elastic_sde/model")
CORNERS = np.eye(3) - 1 / 3
T = np.linspace(0, 10_000, 101)


def factor(s):
    """C of Eq. B.5 for logits s (e_k − 1/3), whose softmax is even over the others."""
    return 3 / ((np.exp(s) + 2) * s)


def at_factor(c):
    return brentq(lambda s: factor(s) - c, 1.0, 8.0)


def grown(s):
    """A result of networks in groups, with class means s (e_k − 1/3); s over (group, time, class)."""
    coords = {"slow_time": T[: s.shape[1]], "class": range(3), "logit": range(3)}
    return xr.Dataset({"group_mean": xr.DataArray(s[..., None] * CORNERS, coords, ("group", *coords))})


HALF_WIDTHS = {"shapes": (0.31, 0.41, 0.27), "photos": (0.13, 0.125, 0.12)}
"""Of the intervals that ship, of the logarithm of the factor, by class."""


@page.pair("B.B5.constant", panels=[(data, k) for data in HALF_WIDTHS for k in range(3)], usual=12.0, reach=1.2)
def pull_that_falls(level, rng, rival):
    """Margins that grow towards 4 in the second half, where ten groups end with a scatter; the widest panel decides."""
    found = {}
    for data, halves in HALF_WIDTHS.items():
        middle = [at_factor(level[data, k] * factor(4.0)) for k in range(3)]
        ends = 4 + 1.15 * np.array(halves) * rng.standard_normal((10, 3))
        knots = np.stack([np.ones((10, 3)), np.broadcast_to(middle, (10, 3)), ends], 1)
        at = T / T[-1]
        first, second = np.minimum(2 * at, 1)[:, None], np.maximum(2 * at - 1, 0)[:, None]
        s = knots[:, :1] + first * (knots[:, 1:2] - knots[:, :1]) + second * (knots[:, 2:] - knots[:, 1:2])
        found[data] = grown(s)
    return {"networks": found}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_the_error_of_the_mean_is_that_of_eulers_method():
    """Two classes that do not touch one another: (1 + hα/2)^(t/h) in place of e^(αt/2)."""
    alone = ElasticSDE(1.0, 0.0, noise=0.0)
    error = model.distance_from_limit(alone, np.array([[2.0], [0.5]]), 2.0, [0.5, 0.25], 20).sel(of="mean")
    exact = [2 * (np.e - (1 + h / 2) ** (2 / h)) for h in (0.5, 0.25)]
    np.testing.assert_allclose(error, np.repeat(np.array(exact)[:, None], model.GROUPS, 1), rtol=1e-12)


def test_the_variance_of_one_step_is_that_of_the_draw():
    """After one step a class has moved by hα times its mean if it was drawn (1/2), and not at all if it was not."""
    alone, h = ElasticSDE(1.0, 0.0, noise=0.0), 0.1
    error = model.distance_from_limit(alone, np.array([[1.0], [0.5]]), h, [h], 4000, n_samples=1)
    found = float(error.sel(of="variance").mean())
    assert found == pytest.approx(h**2 / 4, rel=0.02)  # each of ten variances of 400 coins is off by 0.1 %


def test_both_distances_from_the_limit_fall_in_proportion_to_the_step():
    steps = [0.0125, 0.025, 0.05, 0.1]
    error = model.distance_from_limit(ElasticSDE(1.0, -0.5, noise=0.0), np.array([[1.0], [-0.4]]), 2.0, steps, 2000)
    logs = (np.log(error.mean("group").sel(of=one)) for one in ("mean", "variance"))
    mean, variance = (np.polyfit(np.log(steps), one, 1)[0] for one in logs)
    assert 0.9 < mean < 1.1 and 0.8 < variance < 1.2


FADING = PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2)


@pytest.mark.parametrize(
    "le",
    [
        *(ElasticSDE(*FADING, k, k, structure) for k in (2, 3, 5, 10) for structure in ("isotropic", "logits")),
        ElasticSDE(1.0, -0.3, 3, 2, class_weights=[0.6, 0.3, 0.1]),
        ElasticSDE(1.0, -0.3, 3, structure=mixed_logits(3, 0.6)),
        ElasticSDE(*FADING, 3, structure="logits", label_mixing=0.3),
    ],
)
def test_closed_forms_solve_the_equation(le):
    """Eq. 7; Eq. 9 mended, by own-class margins; App. E: unequal classes, Eq. E.1, mixed labels with fading effects."""
    x0, times = start(le.n_classes, le.n_features or 1), np.linspace(0, 5, 6)[1:]
    assert off(mean_solution(le, times, x0)["mean"].values, integrated(le, times, x0)) < 1e-7


def test_eq_9_is_exact_only_for_effects_that_fade_alike():
    left = model.unexplained_by_eq_9(over("exponent", [0.8, 0.3, 1.0, 1.5, 2.0]))
    assert float(left[0]) < 1e-7 and float(left[1:].min()) > 1e-5


@given(st.floats(0.01, 8.0))
def test_along_the_simplex_the_constant_has_its_closed_form(size):
    means = xr.DataArray(size * CORNERS[None], dims=("time", "class", "logit"))
    np.testing.assert_allclose(model.factor(means), factor(size), rtol=1e-6)


def test_factors_of_the_pull_begin_where_margins_are_above_zero_and_end_at_one():
    """Margins that first point the wrong way, alike in all groups."""
    s = np.linspace(-1.05, 4.95, 61)
    found = model.pull_factors(grown(s[None, :, None] * np.ones((4, 1, 3)))).isel({"class": 0})
    s = s[-found.sizes["time"] :]
    assert s[0] == pytest.approx(0.05) and float(found["time"][-1]) == 1.0
    np.testing.assert_allclose(found, factor(s) / factor(s[-1]), rtol=1e-9)
