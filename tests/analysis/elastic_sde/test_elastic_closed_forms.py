"""Single steps and closed forms where the answer is known."""

import numpy as np
import pytest

from deepmech import ElasticSDE, over
from deepmech.simulators.elastic_sde import PowerLaw, mean_solution, mixed_logits
from deepmech_book.analysis.elastic_sde import closed_forms
from deepmech_book.analysis.elastic_sde.model import integrated, off, start


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


def test_both_distances_from_the_limit_fall_in_proportion_to_the_step():
    model, steps = ElasticSDE(1.0, -0.5, noise=0.0), [0.0125, 0.025, 0.05, 0.1]
    error = closed_forms.distance_from_limit(model, np.array([[1.0], [-0.4]]), 2.0, steps, 2000).mean("group")
    mean, variance = (np.polyfit(np.log(steps), np.log(error.sel(of=one)), 1)[0] for one in ("mean", "variance"))
    assert 0.9 < mean < 1.1 and 0.8 < variance < 1.2


@pytest.mark.parametrize("structure", ["isotropic", "logits"])
@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_closed_forms_solve_the_equation(structure, k):
    """Eq. 7 for the I-model; for the L-model Eq. 9 mended, by own-class margins. Effects change in time."""
    model, x0 = ElasticSDE(PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2), k, k, structure), start(k, k)
    times = np.linspace(0, 5, 6)[1:]
    assert off(mean_solution(model, times, x0)["mean"].values, integrated(model, times, x0)) < 1e-7


FADING = PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2)


@pytest.mark.parametrize(
    "model",
    [
        ElasticSDE(1.0, -0.3, 3, 2, class_weights=[0.6, 0.3, 0.1]),
        ElasticSDE(1.0, -0.3, 3, structure=mixed_logits(3, 0.6)),
        ElasticSDE(*FADING, 3, structure="logits", label_mixing=0.3),
    ],
    ids=["unequal classes", "Eq. E.1", "mixed labels, fading effects"],
)
def test_the_general_solution_of_app_e_solves_the_equation(model):
    x0, times = start(3, model.n_features or 1), np.linspace(0, 4, 4)[1:]
    assert off(mean_solution(model, times, x0)["mean"].values, integrated(model, times, x0)) < 1e-7


def test_eq_9_is_exact_only_for_effects_that_fade_alike():
    left = closed_forms.unexplained_by_eq_9(over("exponent", [0.8, 0.3, 1.0, 1.5, 2.0]))
    assert float(left[0]) < 1e-7 and float(left[1:].min()) > 1e-5
