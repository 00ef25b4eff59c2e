"""Orders of convergence and closed forms where the answer is known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech import ElasticSDE
from deepmech_book.analysis.elastic_sde import closed_forms


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-5, 5))
def test_the_order_of_powers_is_their_exponent(first, second, size):
    h = np.array([0.01, 0.03, 0.1, 0.2])
    error = xr.DataArray(np.exp(size) * np.stack([h**first, h**second]), {"step": h}, ("of", "step"))
    np.testing.assert_allclose(closed_forms.order_of_convergence(error), [first, second], atol=1e-9)


def test_the_error_of_the_mean_is_that_of_eulers_method():
    """Two classes that do not touch one another: (1 + hα/2)^(t/h) in place of e^(αt/2)."""
    model = ElasticSDE(1.0, 0.0, noise=0.0)
    error = closed_forms.distance_from_limit(model, np.array([[2.0], [0.5]]), 2.0, [0.5, 0.25], 20).sel(of="mean")
    exact = [2 * (np.e - (1 + h / 2) ** (2 / h)) for h in (0.5, 0.25)]
    np.testing.assert_allclose(error, np.repeat(np.array(exact)[:, None], closed_forms.GROUPS, 1), rtol=1e-12)


def test_the_variance_of_one_step_is_that_of_the_draw():
    """After one step a class has moved by hα times its mean if it was drawn (1/2), and not at all if it was not."""
    model, h = ElasticSDE(1.0, 0.0, noise=0.0), 0.1
    error = closed_forms.distance_from_limit(model, np.array([[1.0], [0.5]]), h, [h], 4000, n_samples=1)
    found = float(error.sel(of="variance").mean())
    assert found == pytest.approx(h**2 / 4, rel=0.02)  # each of ten variances of 400 coins is off by 0.1 %


@pytest.mark.parametrize("structure", ["isotropic", "logits"])
def test_closed_forms_solve_the_equation(structure):
    error = closed_forms.closed_form_error(structure, [2, 3, 4])
    assert error["classes"].values.tolist() == [2, 3, 4] and float(error.max()) < 1e-6


def test_eq_9_is_exact_only_for_effects_that_fade_alike():
    assert closed_forms.unexplained_by_eq_9(0.8) < 1e-7
    assert min(closed_forms.unexplained_by_eq_9(r) for r in (0.3, 1.0, 1.5, 2.0)) > 1e-5
