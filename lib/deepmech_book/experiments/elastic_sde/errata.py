"""Slips and silent assumptions of Zhang, Wang, Su 2021, each as a small computation for the errata page."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import V1, V2, integrated_effects
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, mean_over_noise, mean_solution, simulate
from deepmech_book.experiments.elastic_sde.model import integrated, off, start


def l_model(n_classes: int, class_weights: Any = None) -> tuple[ElasticSDE, np.ndarray]:
    """The L-model with α = 1, β = −0.3, and its blocks E_kl H_kl p_l, (K², K²)."""
    model = ElasticSDE(1.0, -0.3, n_classes, structure="logits", class_weights=class_weights)
    a, b = model.drift_parts(model.batch())
    return model, a[0] - 0.3 * b[0]


def printed_form(model: ElasticSDE, inner: np.ndarray) -> np.ndarray:
    """(E ⊗ inner) ∘ H, the form in which the paper prints the drift of :func:`l_model`."""
    k = model.n_classes
    e = np.where(np.eye(k, dtype=bool), 1.0, -0.3)
    return np.asarray(np.kron(e, inner) * model.blocks().transpose(0, 2, 1, 3).reshape(k * k, k * k))


def multiplicity(n_classes: Any) -> xr.DataArray:
    """How often α + β/(K − 1) is an eigenvalue of the L-model's drift, over ``classes``."""
    gaps = [np.linalg.eigvals(k * l_model(k)[1]) - (1.0 - 0.3 / (k - 1)) for k in n_classes]
    return over("classes", n_classes).copy(data=[int(np.sum(np.abs(gap) < 1e-6)) for gap in gaps])


def frame_residual(n_classes: int = 3) -> tuple[float, float]:
    """|M d − (α − β) d| / |d| for M = (E ⊗ I_K) ∘ H as printed, and for the blocks E_kl H_kl."""
    k = n_classes
    d = (np.eye(k) - 1 / k).ravel()
    model, blocks = l_model(k)
    both = printed_form(model, np.eye(k)), k * blocks
    return tuple(float(np.linalg.norm(m @ d - 1.3 * d) / np.linalg.norm(d)) for m in both)  # type: ignore[return-value]


def fixed_vectors(exponent_inter: float) -> float:
    """What Eq. 9 with fixed vectors leaves unexplained of the L-model's means, over their size.

    α = 1.5/(1 + t)^0.8 and β = −0.5/(1 + t)^``exponent_inter``: with 0.8 their ratio is constant.
    """
    times = np.linspace(0.2, 6, 12)
    model = ElasticSDE(PowerLaw(1.5, 0.8), PowerLaw(-0.5, exponent_inter), 3, structure="logits")
    (_, big_a), (_, big_b) = model.rates()
    a, b = big_a(times)[0], big_b(times)[0]
    basis = np.stack([np.ones(12), np.exp((a - b) / 3), np.exp((a + b / 2) / 3)], 1)
    x = integrated(model, times, start(3, 3)).reshape(len(times), -1)
    left = x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]
    return float(np.abs(left).max() / np.abs(x).max())


def proof_solution() -> tuple[float, float]:
    """Distance of C.12's mean feature from integration, over its size: with e^{μt}, and with μe^{μt} as printed."""
    t = 2.0
    model = ElasticSDE(1.0, 0.2, 3, 2)
    parts = model.drift_parts(model.batch())
    values, vectors = np.linalg.eigh(np.kron(parts[0][0] + 0.2 * parts[1][0], np.eye(2)))
    x0 = start(3, 2)
    c = vectors.T @ x0.ravel()
    exact = integrated(model, [t], x0)[0].ravel()
    right, printed = (x0.ravel() + vectors @ (c * (f - 1)) for f in (np.exp(values * t), values * np.exp(values * t)))
    return off(right, exact), off(printed, exact)


def ratio_of_means() -> tuple[float, float]:
    """Mean logarithm of (c₀/c_k)(X̄^k − X̌)/X̌ in the I-model (the first expression of D.6), and B there."""
    model = ElasticSDE(PowerLaw(1.0, 0.5), 0.3, 3, 4)
    t = 3.0
    x0, x = start(3, 4), mean_solution(model, [t], start(3, 4))["mean"].values[0]
    centre0, centre = x0.mean(0), x.mean(0)
    return float(np.log(np.abs(centre0 / (x0 - centre0) * (x - centre) / centre)).mean()), 0.3 * t


def offset_of_null_vectors() -> xr.DataArray:
    """v₁ · c₀ + (w₁ + w₂ + w₃)/4 for random c₀ that the L-model leaves alone (K = 3); D.10 says 1. Over ``draw``.

    Such a c₀ has margins zero: by class, (w₁ + w₂, 2w₁, 2w₂), (2w₃ − w₄, w₃, w₄) and (2w₆ − w₅, w₅, w₆), six free
    numbers.
    """
    w1, w2, w3, w4, w5, w6 = Stream.of("elastic null", 0).normal("w", 0, (200, 6)).T
    c0 = np.stack([w1 + w2, 2 * w1, 2 * w2, 2 * w3 - w4, w3, w4, 2 * w6 - w5, w5, w6], 1)
    if np.abs(c0 @ (3 * l_model(3)[1]).T).max() > 1e-12:
        raise AssertionError("these vectors are not in the null space")
    return xr.DataArray(c0 @ V1.ravel() + (w1 + w2 + w3) / 4, dims="draw")


def v2_on_d() -> float:
    """v₂ · d, which D.10 gives as 4/3 and D.11 uses as 3/4."""
    return float(np.sum(V2 * (np.eye(3) - 1 / 3)))


def smaller_rate(n_runs: int) -> tuple[float, float]:
    """Share of runs that are separated where γ of Theorem 3.1 is (1 + t)^−2, and γ · (1 + t) at the end.

    K = 2, I-model, 20 samples per class: α + β = (1 + t)^−2 and α − β = 1.
    """
    model, t_end = ElasticSDE(PowerLaw(0.5, 2.0, 0.5), PowerLaw(0.5, 2.0, -0.5)), 60.0
    run = simulate(model, [t_end], [[0.5], [-0.5]], 20, n_runs, 0.3, mean="infinite")
    share = separated_along(run.feature_value.isel(time=0), [1.0]).mean()
    return float(share), (1 + t_end) ** -1


def between_the_rates(decades: int = 12) -> tuple[xr.DataArray, xr.DataArray]:
    """log₁₀ of mean over noise (K = 2) per decade of time, for α − β = 1/((1 + t)√(log log(16 + t))) and 1.2/(1 + t).

    The first lies between 1/(t log log t) and 1/t. Over ``time``.
    """
    times = 10.0 ** np.arange(2, decades + 1)

    def slow(t: Any) -> Any:
        return 1 / ((1 + t) * np.sqrt(np.log(np.log(16 + t))))

    ratios = [mean_over_noise(ElasticSDE(rate, 0.0), times, start_spread=1.0) for rate in (slow, PowerLaw(1.2, 1.0))]
    between, above = (xr.apply_ufunc(np.log10, ratio).diff("time") for ratio in ratios)
    return between, above


def midpoint() -> float:
    """C.23's objective halfway between ν and −ν, minus its mean there: never negative if it were concave. Largest."""

    def objective(m: np.ndarray, v: np.ndarray) -> float:
        return float(np.diff(np.sort(m @ v)).min())

    gaps = []
    for draw in range(50):
        s = Stream.of("elastic midpoint", draw)
        m, nu = s.normal("means", 0, (3, 3)), s.normal("nu", 0, 3)
        nu /= np.linalg.norm(nu)
        gaps.append(objective(m, 0 * nu) - (objective(m, nu) + objective(m, -nu)) / 2)
    return max(gaps)


def kronecker_weights() -> tuple[float, float]:
    """Largest distance of (E ⊗ P) ∘ H from the blocks E_kl H_kl p_l, P with rows p: unbalanced, and balanced.

    L-model, K = 3. In the balanced case P = 1/K in every entry stands beside the same 1/K of the blocks.
    """
    out = []
    for p in ([0.6, 0.3, 0.1], [1 / 3] * 3):
        model, blocks = l_model(3, p)
        out.append(float(np.abs(printed_form(model, np.tile(p, (3, 1))) - blocks).max()))
    return out[0], out[1]


def by_the_first_formula() -> tuple[float, float]:
    """Largest distance of Â from A, over A, by Eq. 11's I-model, on means of the isotropic model and of the L-model."""
    times = np.linspace(0, 4, 9)
    off_by = []
    for structure in ("isotropic", "logits"):
        model = ElasticSDE(PowerLaw(1.0, 0.5), -0.3, 3, 3, structure)
        means = mean_solution(model, times, start(3, 3))["mean"].rename(feature="logit").reset_coords(drop=True)
        found, (_, exact) = integrated_effects(means, "I")["A"], model.rates()[0]
        off_by.append(float(np.abs(found.values - exact(times)[0])[1:].max() / exact(times)[0, -1]))
    return off_by[0], off_by[1]


def left_at_equality() -> float:
    """Difference of two classes' means at t = 1,000 where α = β, over that at the start."""
    x0 = start(2, 1)
    x = mean_solution(ElasticSDE(0.002, 0.002, 2), [1000.0], x0)["mean"].values[0]
    return float((x[0, 0] - x[1, 0]) / (x0[0, 0] - x0[1, 0]))


def different_images(drawn: int, available: int, n_draws: int = 50) -> float:
    """How many different ones are among as many drawn with replacement, mean over draws."""
    dice = Stream.of("with replacement")
    picks = (available * dice.uniform("image", 0, (n_draws, drawn))).astype(int)
    return float(np.mean([len(np.unique(p)) for p in picks]))
