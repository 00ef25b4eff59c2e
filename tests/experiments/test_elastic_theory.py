"""Experiments of the elastic SDE's theory pages: what they return, and laws that their claims rest on."""

import numpy as np
import pytest

from deepmech_book.experiments.elastic_sde import errata as theory_errata
from deepmech_book.experiments.elastic_sde import estimators as theory_estimators
from deepmech_book.experiments.elastic_sde import model as theory_model
from deepmech_book.experiments.elastic_sde import separation as theory_separation


def test_closed_forms_and_steps():
    assert float(theory_model.closed_form_error([2, 4], t_end=2.0).max()) < 1e-8
    error = theory_model.step_error([0.1, 0.05, 0.025], n_runs=1000).mean("group")
    order = np.log(error).assign_coords(step=np.log(error.step)).polyfit("step", 1).sel(degree=1)
    assert 0.9 < order.mean_polyfit_coefficients < 1.1
    assert 0.6 < order.variance_polyfit_coefficients < 1.4


def test_corruption_follows_the_closed_form_for_any_number_of_classes():
    for k in (2, 3, 5):
        rate = theory_model.corrupted_gap([0.0, 0.3, (k - 1) / k, 0.9], k)
        np.testing.assert_allclose(rate, 1 - rate.p_err * k / (k - 1), atol=1e-7)
    share = theory_model.corrupted_separation([0.0, 0.8], n_runs=50)
    assert share.values.tolist() == [1.0, 0.0]


def test_imbalanced_training_follows_the_prediction():
    made = theory_model.imbalance([0.7, 0.3], n_runs=300, t_end=3.0)
    assert (abs(made.trained - made.predicted) < 4 * made.error + 0.02 * made.predicted).all()


def test_equation_e1_joins_the_two_models():
    for k in (3, 4):
        found = theory_model.between_the_models([1 / k, 0.7, 1.0], k)
        assert found.sel(end="I")[0] < 1e-12 and found.sel(end="L")[2] < 1e-12 and found[1].min() > 0.05


def test_binary_shares_lie_on_the_closed_form():
    made = theory_separation.binary([-0.2, 0.04, 0.06, 0.5], [2, 5], n_runs=2000)
    spread = np.sqrt(made.theory * (1 - made.theory) / 2000)
    assert (abs(made.share - made.theory) < 4 * spread + 1e-9).all()
    assert ((made.low <= made.share) & (made.share <= made.high)).all()


@pytest.mark.parametrize("label_noise", [0.0, 0.3])
def test_the_crossing_lies_at_the_critical_strength(label_noise):
    runs = theory_separation.threshold(2, [0.9, 1.0, 1.1], [1e2, 1e6], n_runs=60, label_noise=label_noise)
    at = theory_separation.crossing(runs)
    assert at.low <= at.value <= at.high and abs(at.value - 1) < 0.06
    assert not theory_separation.crossing(runs.isel(run=slice(9))).known


def test_collapse_and_its_rate():
    distance = theory_separation.collapse([-0.3, 0.2], n_starts=5, t_end=60)
    rate = theory_separation.collapse_rate(distance)
    assert float(rate[0]) == pytest.approx(0.15, rel=0.05) and abs(float(rate[1])) < 0.01
    assert 0.2 < float((theory_separation.stationary_inter(n_starts=30) > 0.1).mean()) < 0.95


def test_directions_never_beat_the_best():
    gap = theory_separation.directions(50).gap
    assert (gap <= 1 + 1e-9).all() and (gap.sel(choice="best") == 1).all()


def test_estimators_recover_known_effects_on_their_own_model():
    for structure, model in (("isotropic", "I"), ("logits", "L")):
        found = theory_estimators.errors(theory_estimators.recovered(structure, 60, 4)).sel(model=model)
        assert found.A_error < 0.45 and found.B_error < 0.45 and found.intra_error < 0.12


def test_units_matter_to_the_printed_formula_only():
    found = theory_estimators.error_over("scale", [0.3, 3.0], n_logs=2)
    ratio = found.max("scale") / found.min("scale")
    assert ratio.sel(model=["I", "L"]).max() < 1 + 1e-9 and ratio.sel(model="L-paper") > 1.2


def test_tails():
    found = theory_estimators.tails([0.5, 2.0], [3.0])
    np.testing.assert_allclose(found.slope[0], [0.5, 2.0], atol=1e-3)
    assert found.by_A[0, 1] < 1


def test_errata_numbers():
    assert theory_errata.multiplicity([3, 4]).values.tolist() == [2, 3]
    printed, right = theory_errata.frame_residual(4)
    assert right < 1e-12 < 0.1 < printed
    assert theory_errata.fixed_vectors(0.8) < 1e-9 < 1e-6 < theory_errata.fixed_vectors(2.0)
    right, printed = theory_errata.proof_solution()
    assert right < 1e-8 < 0.1 < printed
    found, big_b = theory_errata.ratio_of_means()
    assert found == pytest.approx(-big_b)
    assert theory_errata.offset_of_null_vectors().std() > 0.5
    assert theory_errata.v2_on_d() == pytest.approx(4 / 3)
    assert theory_errata.smaller_rate(n_runs=20)[0] == 1
    between, above = theory_errata.between_the_rates(8)
    assert (between < 0).all() and (above > 0).all()
    assert theory_errata.midpoint() < 0
    unbalanced, balanced = theory_errata.kronecker_weights()
    assert balanced < 1e-12 < 0.1 < unbalanced
    isotropic, logits = theory_errata.by_the_first_formula()
    assert isotropic < 1e-9 < 0.1 < logits
    assert theory_errata.left_at_equality() == pytest.approx(1)
    assert theory_errata.different_images(2000, 2000) == pytest.approx(2000 * (1 - np.exp(-1)), rel=0.01)


def test_once_separated_is_not_for_ever_at_the_threshold():
    found = theory_separation.for_all_times([0.9, 1.0, 1.2], (2, 6), 10, n_runs=60).mean("run")
    assert (found.ever_since <= found.now).all() and (found.ever_since.diff("time") <= 0).all()
    last = found.isel(time=-1)
    assert last.ever_since.sel(factor=1.0) < 0.8 < last.now.sel(factor=1.0) and last.ever_since.sel(factor=1.2) == 1
