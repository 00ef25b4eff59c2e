"""Slips of paper B that no other test shows: the law as it is, beside what the paper prints."""

import numpy as np
import pytest
import xarray as xr

from deepmech import ElasticSDE
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import V1, V2, integrated_effects
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import PowerLaw, mean_over_noise, mean_solution, separated_by_chance, simulate
from deepmech_book.elastic_sde.model import integrated, off, start

D = np.eye(3) - 1 / 3  # the matrix of the vector d


def l_model(k, class_weights=None):
    """The L-model with effects 1 and −0.3, and its drift: blocks E_kl H_kl p_l."""
    model = ElasticSDE(1.0, -0.3, k, structure="logits", class_weights=class_weights)
    intra, inter = (part[0] for part in model.drift_parts(model.grid()))
    return model, intra - 0.3 * inter


def printed_form(model, inner):
    """(E ⊗ inner) ∘ H, the form in which the paper prints that drift."""
    k = model.n_classes
    effects = np.where(np.eye(k, dtype=bool), 1.0, -0.3)
    return np.kron(effects, inner) * model.blocks().transpose(0, 2, 1, 3).reshape(k * k, k * k)


def test_classes_separate_though_the_smaller_rate_fades_faster_than_one_over_t():
    """Two classes with α − β = 1 and α + β = (1 + t)^−2."""
    model = ElasticSDE(PowerLaw(0.5, 2.0, 0.5), PowerLaw(0.5, 2.0, -0.5))
    run = simulate(model, [60.0], [[0.5], [-0.5]], 20, 200, 0.3, mean="infinite")
    share = float(separated_along(run.feature_value.isel(time=0), [1.0]).mean())
    assert share > 0.9 > separated_by_chance(20)


def test_at_equality_the_difference_of_the_means_stays():
    x0 = start(2, 1)
    x = mean_solution(ElasticSDE(0.002, 0.002, 2), [1000.0], x0)["mean"].values[0]
    assert x[0, 0] - x[1, 0] == pytest.approx(x0[0, 0] - x0[1, 0], rel=1e-9)


def test_between_one_over_t_log_log_t_and_one_over_t_mean_over_noise_falls():
    """It does in every decade of time; with 1.2/(1 + t), above the threshold, it rises in each."""
    decades = 10.0 ** np.arange(2, 13)
    at = np.append(0.0, np.geomspace(1e-3, decades[-1], 30001))
    slow = xr.DataArray(1 / ((1 + at) * np.sqrt(np.log(np.log(16 + at)))), {"time": at}, "time")  # linear in between
    between, above = (
        np.log10(mean_over_noise(ElasticSDE(rate, 0.0), decades, start_spread=1.0)).diff("time")
        for rate in (slow, PowerLaw(1.2, 1.0))
    )
    assert (between < 0).all() and (above > 0).all()


def test_mean_features_follow_c12_without_the_printed_factor():
    t, x0, model = 2.0, start(3, 2), ElasticSDE(1.0, 0.2, 3, 2)
    intra, inter = (part[0] for part in model.drift_parts(model.grid()))
    mu, vectors = np.linalg.eigh(np.kron(intra + 0.2 * inter, np.eye(2)))
    exact = integrated(model, [t], x0)[0].ravel()
    right, printed = (
        off(x0.ravel() + vectors @ (vectors.T @ x0.ravel() * (factor - 1)), exact)
        for factor in (np.exp(mu * t), mu * np.exp(mu * t))
    )
    assert right < 1e-8 and printed > 0.1


def test_d_is_an_eigenvector_of_the_blocks_of_eq_5_and_not_of_the_printed_product():
    (model, drift), d = l_model(3), D.ravel()
    printed, blocks = (
        np.linalg.norm(m @ d - 1.3 * d) / np.linalg.norm(d) for m in (printed_form(model, np.eye(3)), 3 * drift)
    )
    assert blocks < 1e-12 and printed > 0.1


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_eigenvalue_of_the_features_has_multiplicity_k_minus_one(k):
    gap = k * np.linalg.eigvals(l_model(k)[1]) - (1 - 0.3 / (k - 1))
    assert int((abs(gap) < 1e-6).sum()) == k - 1


def test_the_kronecker_product_of_appendix_e_weights_the_blocks_of_balanced_classes_only():
    wrong = {}
    for name, p in {"unequal": [0.6, 0.3, 0.1], "balanced": [1 / 3] * 3}.items():
        model, drift = l_model(3, p)
        wrong[name] = abs(printed_form(model, np.tile(p, (3, 1))) - drift).max()
    assert wrong["balanced"] < 1e-12 and wrong["unequal"] > 0.1


def test_the_one_of_d10_is_whatever_the_free_numbers_make_it():
    """Random constants c₀ that the L-model leaves alone, class by class; D.10 says 1 for all."""
    w1, w2, w3, w4, w5, w6 = Stream.of("elastic null", 0).normal("w", 0, (200, 6)).T
    c0 = np.stack((w1 + w2, 2 * w1, 2 * w2, 2 * w3 - w4, w3, w4, 2 * w6 - w5, w5, w6), 1)
    assert abs(c0 @ (3 * l_model(3)[1]).T).max() < 1e-12
    assert (c0 @ V1.ravel() + (w1 + w2 + w3) / 4).std() > 0.5


def test_the_projection_of_d_is_four_thirds():
    assert (V2 * D).sum() == pytest.approx(4 / 3)


def test_the_first_expression_of_d6_is_the_exponential_of_minus_b():
    """In the I-model with β = 0.3, so that B = 0.9 at t = 3."""
    t, x0 = 3.0, start(3, 4)
    x = mean_solution(ElasticSDE(PowerLaw(1.0, 0.5), 0.3, 3, 4), [t], x0)["mean"].values[0]
    ratio = x0.mean(0) / (x0 - x0.mean(0)) * (x - x.mean(0)) / x.mean(0)
    assert np.log(abs(ratio)).mean() == pytest.approx(-0.3 * t, abs=1e-9)


def test_the_first_formula_of_eq_11_is_wrong_where_the_logits_model_holds():
    times, errors = np.linspace(0, 4, 9), {}
    for structure in ("isotropic", "logits"):
        model = ElasticSDE(PowerLaw(1.0, 0.5), -0.3, 3, 3, structure)
        means = mean_solution(model, times, start(3, 3))["mean"].rename(feature="logit")
        exact = model.rates()[0][1](times)[0]
        gap = integrated_effects(means.reset_coords(drop=True), "I")["A"].values - exact
        errors[structure] = abs(gap)[1:].max() / exact[-1]
    assert errors["isotropic"] < 1e-9 and errors["logits"] > 0.1


def test_the_objective_of_c23_is_not_concave():
    """It is the same at ν and −ν, and smaller halfway between."""

    def smallest_gap(means, direction):
        return np.diff(np.sort(means @ direction)).min()

    for draw in range(50):
        dice = Stream.of("elastic midpoint", draw)
        means, nu = dice.normal("means", 0, (3, 3)), dice.normal("nu", 0, 3)
        assert smallest_gap(means, 0 * nu) < smallest_gap(means, nu)
        assert smallest_gap(means, nu) == pytest.approx(smallest_gap(means, -nu))


def test_images_drawn_with_replacement_return():
    """As many different ones as the expectation says, of 2,000 draws from 5,000."""
    picks = (5000 * Stream.of("with replacement").uniform("image", 0, (50, 2000))).astype(int)
    different = np.mean([len(np.unique(p)) for p in picks])
    assert different == pytest.approx(5000 * (1 - (1 - 1 / 5000) ** 2000), rel=0.005)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_rates_of_whole_blocks_exceed_the_bound_of_schur_and_those_of_their_diagonals_do_not(p):
    """Largest eigenvalues over λ_max(E) max H_ii, of random positive semi-definite E and H with p features: at most 1
    for (E ⊗ I_p) ∘ H, as printed; for blocks E_kl H_kl, which the dynamics has, at most p, and often above 1."""
    ratios = []
    for draw in range(50):
        dice = Stream.of("elastic hadamard", draw, p)
        root = dice.normal("E", 0, (3, 3))
        e = root @ root.T
        shared = np.kron(dice.normal("H", 0, (3,)), np.ones(p))  # features of a class act alike
        h = np.outer(shared, shared) + 0.1 * np.eye(3 * p)
        bound = np.linalg.eigvalsh(e)[-1] * h.diagonal().max()
        ratios.append([np.linalg.eigvalsh(np.kron(e, inner) * h)[-1] / bound for inner in (np.eye(p), np.ones((p, p)))])
    printed, whole = np.max(ratios, 0)
    assert printed <= 1 + 1e-12 and whole <= p + 1e-12
    assert whole > 1.5 if p > 1 else whole == printed
