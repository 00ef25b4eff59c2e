"""Estimators of local elasticity against data whose effects are known."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech.core.random import Stream
from deepmech.metrics.elasticity import (
    V1,
    V2,
    class_means,
    effects,
    integrated_effects,
    log_slope,
    margins,
    relative_difference,
    tail_index,
)

REFERENCE = Path(__file__).parents[3] / "shared" / "papers" / "reference"


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="numbers made by the authors' program are not at hand")
@pytest.mark.parametrize("course", ["constant", "late"])
def test_both_estimators_are_those_of_the_authors_program(course):
    made = np.load(REFERENCE / f"effects_by_program_{course}.npz")
    for model in ("I", "L", "L-program"):
        found = integrated_effects(made["class_means"], model)
        for name in ("A", "B"):
            np.testing.assert_allclose(found[name], made[f"{name}_{model[0]}"], atol=1e-12)
    np.testing.assert_allclose(integrated_effects(made["class_means"], "L").A, made["A_true"], atol=1e-12)


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_programs_estimator_is_that_of_the_program_on_means_that_obey_no_model(seed):
    """Column by column, as the program has it: it sums logits (class by class, nine columns) along two vectors."""
    x = np.random.default_rng(seed).normal(size=(8, 9))
    along = x[:, [0, 4]].sum(1) - x[:, [6, 7]].sum(1) - x[:, [1, 2, 3, 5, 6, 7]].sum(1)
    rest = x - np.outer(along / 4, (np.eye(3) - 1 / 3).ravel())
    across = rest @ np.array([2, -1, -1, -1, 2, -1, 0, 0, 0])
    first, second = (3 * np.log(np.abs(one / one[0])) for one in (along, across))
    found = integrated_effects(x.reshape(8, 3, 3), "L-program")
    np.testing.assert_allclose(found.A, (first + 2 * second) / 3, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.B, (second - first) * 2 / 3, rtol=1e-9, atol=1e-9)
    ours = integrated_effects(x.reshape(8, 3, 3), "L")
    assert not np.allclose(found.A, ours.A)


T = np.arange(0.0, 400.0)
ALPHA = 0.03 * (T / 60) * np.exp(1 - T / 60)  # rises, then falls, as networks' effects do
BETA = -0.4 * ALPHA


def integral(rate, t=T):
    return np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t))])


def isotropic_means(start, a, b):
    """Eq. 7, from A and B."""
    k = len(start)
    centre = start.mean(0)
    a, b = a[:, None, None], b[:, None, None]
    return (start - centre) * np.exp((a - b) / k) + centre * np.exp((a + (k - 1) * b) / k)


def logits_means(start, alpha, beta, steps=20):
    """The L-model from its definition, by Euler steps much finer than the recorded times."""
    k = len(start)
    d = np.eye(k) - 1 / k
    x, out = start.copy(), [start.copy()]
    for i in range(len(T) - 1):
        for j in range(steps):
            w = (j + 0.5) / steps
            al, be = (r[i] * (1 - w) + r[i + 1] * w for r in (alpha, beta))
            e = np.full((k, k), be)
            np.fill_diagonal(e, al)
            pulled = np.einsum("ll->l", x @ d) / (1 - 1 / k)  # d_l·X^l / |d_l|²
            x = x + (T[1] - T[0]) / steps * (e * pulled) @ d / k
        out.append(x.copy())
    return np.array(out)


def generic(k, p, key=0):
    return Stream.of("test elasticity", k, p, key).normal("start", 0, (k, p))


@pytest.mark.parametrize("k,p", [(2, 2), (3, 3), (4, 7)])
def test_the_isotropic_estimator_inverts_equation_7(k, p):
    a, b = integral(ALPHA), integral(BETA)
    found = integrated_effects(isotropic_means(generic(k, p), a, b), "I")
    np.testing.assert_allclose(found.A, a, atol=1e-12)
    np.testing.assert_allclose(found.B, b, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_margins_recover_the_logits_model_for_any_number_of_classes(k):
    """Whatever the logits have in common, and whatever else stands in the null space of the model."""
    means = logits_means(generic(k, k), ALPHA, BETA)
    found = integrated_effects(means + 5 * generic(1, k, 9)[0, 0], "L")
    np.testing.assert_allclose(found.A, integral(ALPHA), atol=2e-3)
    np.testing.assert_allclose(found.B, integral(BETA), atol=2e-3)


def test_the_papers_formula_is_the_margins_minus_an_arbitrary_one():
    """For logits that sum to zero: v₁·X = ½ Σ s_k, (v₂ − 4/3 v₁)·X = −(s_3 − mean s), so only the 1 is in the way."""
    x = generic(3, 3)
    x -= x.mean(1, keepdims=True)
    s = margins(x[None]).values[0]
    assert np.sum(V1 * x) == pytest.approx(s.sum() / 2)
    assert np.sum((V2 - 4 / 3 * V1) * x) == pytest.approx(s.mean() - s[2])
    means = logits_means(x, ALPHA, BETA)
    printed, exact = (integrated_effects(means, m) for m in ("L-paper", "L"))
    up = np.einsum("tkl,kl->t", means, V1)
    wrong = np.log(np.abs((up - 1) / (up[0] - 1))) - np.log(up / up[0])
    # A = A' + 2B', B = 2(B' − A'): the error of A' goes into A once and into B minus twice.
    np.testing.assert_allclose(printed.A - exact.A, wrong, atol=1e-12)
    np.testing.assert_allclose(printed.B - exact.B, -2 * wrong, atol=1e-12)
    assert np.abs(wrong).max() > 0.5
    # Multiplied by a thousand, the same logits make the 1 negligible.
    large = integrated_effects(1000 * means, "L-paper")
    np.testing.assert_allclose(large.A, exact.A, atol=0.01)


def test_the_papers_formula_sees_what_all_logits_of_a_class_share():
    means = 1000 * logits_means(generic(3, 3), ALPHA, BETA)
    shifted = means + np.array([300.0, 0, -900.0])[:, None]
    assert np.abs(integrated_effects(shifted, "L") - integrated_effects(means, "L")).to_array().max() < 1e-9
    assert np.abs(integrated_effects(shifted, "L-paper") - integrated_effects(means, "L-paper")).to_array().max() > 0.1


@given(st.floats(0.1, 10), st.integers(2, 5))
def test_estimates_ignore_scale_and_order_of_classes(scale, k):
    means = logits_means(generic(k, k), ALPHA, BETA, steps=1)[::40]
    order = Stream.of("test elasticity order", k).permutation("order", 0, k)
    for model in ("I", "L"):
        one = integrated_effects(means, model)
        same = integrated_effects(scale * means[:, order][:, :, order], model)
        xr.testing.assert_allclose(one.drop_attrs(), same.drop_attrs(), atol=1e-9)


def log_of(means, n_trials, noise, key):
    """A training log: every trial draws a class at every iteration and reports its mean with noise."""
    s = Stream.of("test elasticity log", key)
    k = means.shape[1]
    drawn = (s.uniform("class", 0, (n_trials, len(means))) * k).astype(int)
    logits = means[np.arange(len(means)), drawn] + noise * s.normal("noise", 0, (n_trials, len(means), k))
    return logits, drawn


def test_bias_and_spread_on_simulated_logs():
    """100 trials, noise 0.3 about margins near 1.4: measured bias and spread, and what the printed formula makes of it.

    Over 40 logs: margins give Â to +0.01 ± 0.21 and α̂ (window 51) to 4 % of its height. The paper's is off by 1.0
    in Â and 3.2 in B̂, because its arbitrary 1 is as large as the margins.
    """
    means = logits_means(2 * np.eye(3) + 0.7 * generic(3, 3), ALPHA, BETA)
    logs = [class_means(*log_of(means, 100, 0.3, key)) for key in range(40)]
    found = xr.concat([integrated_effects(x, "L", reference=3) for x in logs], "log")
    error = found.A - integral(ALPHA)
    spread = float(error.std("log").mean())
    assert 0.15 < spread < 0.3
    assert abs(float(error.mean())) < 3 * spread / np.sqrt(40)
    slope = effects(found, window=51).intra.mean("log")
    assert abs(slope - ALPHA)[30:370].max() < 0.05 * ALPHA.max()
    printed = xr.concat([integrated_effects(x, "L-paper", reference=3) for x in logs], "log").mean("log")
    assert abs(printed.A - integral(ALPHA)).mean() > 0.8
    assert abs(printed.B - integral(BETA)).mean() > 2.5


def test_smoothing_takes_height_from_a_bump_and_nothing_from_a_parabola():
    rate = 0.2 + 0.001 * T
    made = xr.Dataset({"A": ("time", 0.2 * T + 0.0005 * T**2), "B": ("time", 0 * T)}, {"time": T})
    np.testing.assert_allclose(effects(made, 101).intra, rate, atol=1e-9)
    peak = np.exp(-(((T - 200) / 40) ** 2))
    bump = xr.Dataset({"A": ("time", integral(peak)), "B": ("time", 0 * T)}, {"time": T})
    heights = [float(effects(bump, w).intra[200]) for w in (21, 101, 301)]
    assert heights[0] > heights[1] > heights[2]
    assert heights[0] == pytest.approx(1, rel=0.02)


def test_an_end_without_a_value_is_named():
    lost = xr.Dataset({"A": ("time", 0.1 * T), "B": ("time", np.where(T[-1] == T, np.nan, T))}, {"time": T})
    with pytest.raises(ValueError, match="effects: B is not finite within a window of its ends"):
        effects(lost, 11)
    assert np.isfinite(effects(lost.isel(time=slice(-1)), 11)).all().to_array().all()


@given(st.integers(1, 6), st.integers(1, 4))
def test_class_means_are_means(trials, k):
    s = Stream.of("test class means", trials, k)
    logits = s.normal("x", 0, (trials, 12, k))
    drawn = (s.uniform("class", 0, (trials, 12)) * k).astype(int)
    means = class_means(logits, drawn, k, pool=101) if k == 1 or trials > 2 else None
    if means is None or (k > 1 and any((drawn == c).sum() == 0 for c in range(k))):
        return
    for c in range(k):  # a window wider than the log: every draw of the class
        np.testing.assert_allclose(means[5, c], logits[drawn == c].mean(0))


def test_tail_index_of_power_laws():
    t = np.arange(1e5)
    for r in (0.3, 0.5, 0.8):
        a = xr.DataArray(((1 + t) ** (1 - r) - 1) / (1 - r), dims="time", coords={"time": t})
        assert float(tail_index(a)) == pytest.approx(r - -np.log(1 - r) / np.log(1e5), abs=0.02)
        alpha = xr.DataArray((1 + t) ** -r, dims="time", coords={"time": t})
        assert float(tail_index(alpha)) == pytest.approx(1 + r)
        np.testing.assert_allclose(log_slope(alpha, [10, 100, 1e4]), r)
    # An effect that dies out like 1/t² is integrable: A → 1, and the index says 1, not 2.
    integrable = xr.DataArray(1 - 1 / (1 + t), dims="time", coords={"time": t})
    assert float(tail_index(integrable)) == pytest.approx(1.0, abs=1e-4)
    # Saturating at e² instead, it even reports a heavy tail.
    assert float(tail_index(np.e**2 * integrable)) < 0.85


def test_relative_difference_bounds():
    x, y = isotropic_means(generic(3, 3), integral(ALPHA), integral(BETA)), logits_means(generic(3, 3, 1), ALPHA, BETA)
    euclid, along = relative_difference(x, y, "I"), relative_difference(x, y, "L")
    assert (along <= euclid + 1e-12).all() and (euclid <= 2).all() and (euclid > 0).any()
    assert (relative_difference(x, -x, "I") == 2).all()
    assert (relative_difference(x, x + np.ones(3), "L") < 1e-12).all()


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match="no trial drew class 1 within 1 iteration"):
        class_means(np.zeros((1, 2, 2)), np.array([[0, 1]]), 2)
    with pytest.raises(ValueError, match="class 1 of 2 has no sample"):
        class_means(np.zeros((1, 2, 2)), np.array([[0, 0]]), 2)
    with pytest.raises(ValueError, match="formula for 3 classes, not 2"):
        integrated_effects(np.ones((2, 2, 2)), "L-paper")
    with pytest.raises(ValueError, match="exactly zero at t = 0"):
        integrated_effects(np.ones((2, 3, 3)), "L")
    with pytest.raises(ValueError, match="window = 10: must be odd"):
        effects(integrated_effects(isotropic_means(generic(2, 2), integral(ALPHA), integral(BETA)), "I"), 10)
    with pytest.raises(ValueError, match="as many logits as classes"):
        margins(np.zeros((2, 3, 4)))
