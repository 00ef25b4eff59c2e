"""The locally elastic SDE itself: its closed forms against integration, small steps against the limit, and App. E."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import margins
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import (
    ElasticSDE,
    PowerLaw,
    mean_solution,
    mixed_logits,
    simulate,
    train_discrete,
)

INTRA, INTER = PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2)
"""Effects that change in time, and their ratio with them: a test that constants would not be."""


def start(n_classes: int, n_features: int) -> np.ndarray:
    """Standard normal class means, (K, p)."""
    return Stream.of("elastic theory", 0).normal("start", n_classes, (n_classes, n_features))


def integrated(model: ElasticSDE, times: Any, x0: np.ndarray) -> np.ndarray:
    """The LE-ODE straight from the words of Eqs. 1 and 4, by Runge–Kutta steps: (time, class, feature).

    Class c is drawn with probability p_c and labelled l with P_cl; class k moves by E_kl H_kl X̄^c. Nothing of the
    closed forms or of the matrices behind them is used.
    """
    blocks, times = model.blocks(), np.asarray(times, float)
    (alpha, _), (beta, _) = model.rates()
    mixing, p = model.mixing(model.batch())[0], model.weights()
    k = model.n_classes
    factor = np.ones((k, k)) if model.effect_matrix is None else np.asarray(model.effect_matrix, float)

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        x, same, other = y.reshape(k, -1), float(np.ravel(alpha(t))[0]), float(np.ravel(beta(t))[0])
        out = np.zeros_like(x)
        for j in range(k):
            for label in range(k):
                seen = (p * mixing[:, label]) @ x
                out[j] += factor[j, label] * (same if j == label else other) * blocks[j, label] @ seen
        return out.ravel()

    found = solve_ivp(slope, (0.0, times[-1]), np.ravel(x0), t_eval=times, method="LSODA", rtol=1e-10, atol=1e-12)
    return found.y.T.reshape(len(times), k, -1)


def off(x: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance from the exact solution, over the solution's size."""
    return float(np.abs(x - exact).max() / np.abs(exact).max())


def from_integration(model: ElasticSDE, times: np.ndarray) -> float:
    """How far the solution of a model is :func:`off` its integration, from a random start."""
    x0 = start(model.n_classes, model.n_features or 1)
    return off(mean_solution(model, times, x0)["mean"].values, integrated(model, times, x0))


def closed_form_error(n_classes: Sequence[int], t_end: float = 5.0) -> xr.DataArray:
    """Largest distance of Eqs. 3, 7 and 9 from integration, over the size of the solution; effects change in time.

    Dimensions ``model`` ("isotropic", "logits") and ``classes``.
    """
    times, names = np.linspace(0, t_end, 6)[1:], ["isotropic", "logits"]
    found = [[from_integration(ElasticSDE(INTRA, INTER, k, k, name), times) for k in n_classes] for name in names]
    return xr.DataArray(found, {"model": names, "classes": list(n_classes)}, ("model", "classes"))


def general_error() -> xr.DataArray:
    """Largest distance of the general solution from integration, over the size of the solution, per ``case`` of App. E.

    Three classes: unequal sampling, labels mixed by a matrix, a symmetric indefinite matrix of effects (constant
    effects, matrix exponential), Eq. E.1, and labels mixed in the L-model with effects that change in time.
    """
    mixed = [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.1, 0.2, 0.7]]
    indefinite = [[1.0, 0.5, -0.8], [0.5, -0.7, 0.3], [-0.8, 0.3, 0.6]]
    cases = {
        "unequal classes": ElasticSDE(1.0, -0.3, 3, 2, class_weights=[0.6, 0.3, 0.1]),
        "mixed labels": ElasticSDE(1.0, -0.3, 3, 2, label_mixing=mixed),
        "symmetric effects": ElasticSDE(1.0, 1.0, 3, structure="logits", effect_matrix=indefinite),
        "Eq. E.1": ElasticSDE(1.0, -0.3, 3, structure=mixed_logits(3, 0.6)),
        "mixed labels, fading effects": ElasticSDE(INTRA, INTER, 3, structure="logits", label_mixing=0.3),
    }
    times = np.linspace(0, 4.0, 4)[1:]
    return over("case", list(cases)).copy(data=[from_integration(model, times) for model in cases.values()])


def step_error(steps: Sequence[float], n_runs: int = 2000) -> xr.Dataset:
    """Single-sample training (Eq. 1) against the SDE as steps shrink, without noise of its own.

    Over ``step`` and ``group`` of runs: ``mean``, the largest distance of the expected class means from Eq. 3 (by the
    recursion of Eq. 1, whose expectation is exact), and ``variance`` of a class mean over runs, all of which comes from
    the drawing of samples.
    """
    model, x0, t_end = ElasticSDE(1.0, -0.5, noise=0.0), np.array([[1.0], [-0.4]]), 2.0
    limit = mean_solution(model, [t_end], x0)["mean"].values.ravel()
    parts = model.drift_parts(model.batch())
    drift = 1.0 * parts[0][0] - 0.5 * parts[1][0]
    means, variances = [], []
    for h in steps:
        power = np.linalg.matrix_power(np.eye(2) + h * drift, round(t_end / h))
        means.append(np.abs(power @ x0.ravel() - limit).max())
        run = train_discrete(model, [t_end], x0, h, n_samples=5, n_runs=n_runs)
        groups = np.array_split(run.feature_value.mean("sample").transpose("run", ...).values, 10)
        variances.append([part.var(0).max() for part in groups])
    made = {
        "mean": (("step", "group"), np.repeat(means, 10).reshape(-1, 10)),
        "variance": (("step", "group"), variances),
    }
    return xr.Dataset(made, {"step": list(steps)})


def imbalance(weights: Sequence[float], n_runs: int = 400, t_end: float = 6.0) -> xr.Dataset:
    """Own-class margins of the L-model under class weights p: predicted, and by single-sample training (App. E).

    ``predicted`` and ``trained`` over ``time`` and ``class``, ``error`` the standard error of the latter.
    """
    k = len(weights)
    model = ElasticSDE(1.0, -0.2, n_classes=k, structure="logits", noise=0.1, class_weights=list(weights))
    times = np.linspace(0, t_end, 7)[1:]
    x0 = np.eye(k) * 0.5
    seen = train_discrete(model, times, x0, 0.02, n_samples=10, n_runs=n_runs).feature_value.mean("sample")
    own = margins(seen.rename({"feature": "logit"}))
    predicted = margins(mean_solution(model, times, x0)["mean"].rename({"feature": "logit"}))
    return xr.Dataset(
        {"predicted": predicted, "trained": own.mean("run"), "error": own.std("run", ddof=1) / np.sqrt(n_runs)}
    )


def corrupted_gap(fractions: Sequence[float], n_classes: int = 3) -> xr.DataArray:
    """Growth rate of class differences in the I-model under label corruption, over that with true labels.

    Measured from an integration of the LE-ODE with α = 1, β = −0.5, over ``p_err``.
    """
    t_end, rates = 4.0, []
    for w in fractions:
        model = ElasticSDE(1.0, -0.5, n_classes=n_classes, n_features=2, label_mixing=w)
        x0 = start(n_classes, 2)
        x = integrated(model, [t_end], x0)[0]
        difference, before = x - x.mean(0), x0 - x0.mean(0)
        growth = np.log(np.sum(difference * before) / np.sum(before**2)) / t_end
        rates.append(growth / (1.5 / n_classes))
    return over("p_err", fractions).copy(data=rates).rename("rate")


def corrupted_separation(fractions: Sequence[float], n_runs: int = 200) -> xr.DataArray:
    """Share of runs in which the first two classes are separated on the line through their means, over ``p_err``.

    I-model of three classes with α = 1, β = −0.5, unit noise, class means one unit from one another.
    """
    model = ElasticSDE(1.0, -0.5, 3, 2, label_mixing=over("p_err", fractions))
    x0 = np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(3) / 3]) / np.sqrt(3)
    run = simulate(model, [60.0], x0, 20, n_runs, 0.2, mean="infinite")
    apart = separated_along(run.feature_value.isel(time=0), x0[1] - x0[0])
    return apart.sel(pair="0-1").mean("run").rename("separated")


def hadamard_bound() -> xr.Dataset:
    """Largest drift eigenvalue over Schur's bound λ_max(E) max H_ii, for random positive definite E and H (App. E).

    ``printed``: of (E ⊗ 1_p) ∘ H, which keeps only the diagonals of the blocks; ``drift``: of the blocks E_kl H_kl that
    the dynamics has. Largest ratio over draws, over ``features``.
    """
    k, features, n_draws = 3, [1, 2, 3, 5], 50
    ratios = np.zeros((len(features), n_draws, 2))
    for i, p in enumerate(features):
        for draw in range(n_draws):
            stream = Stream.of("elastic hadamard", draw, p)
            a = stream.normal("E", 0, (k, k))
            e = a @ a.T
            shared = np.kron(stream.normal("H", 0, (k,)), np.ones(p))  # features of a class act alike
            h = np.outer(shared, shared) + 0.1 * np.eye(k * p)
            largest = [np.linalg.eigvalsh(np.kron(e, inner) * h)[-1] for inner in (np.eye(p), np.ones((p, p)))]
            ratios[i, draw] = np.array(largest) / (np.linalg.eigvalsh(e)[-1] * h.diagonal().max())
    printed, drift = ratios.max(1).T
    return xr.Dataset({"printed": ("features", printed), "drift": ("features", drift)}, {"features": features})


def between_the_models(shares: Sequence[float], n_classes: int = 3) -> xr.DataArray:
    """Eq. E.1's H against its two ends: largest distance of mean logits at t = 3, over the size of the solution.

    Over ``share`` (of a class's own direction) and ``end``: "L" is the L-model, "I" the I-model with effects divided by
    K − 1, acting on centred logits, to which Eq. E.1 is equal at share 1/K.
    """
    k = n_classes
    x0 = start(k, k)
    x0 = x0 - x0.mean(1, keepdims=True)

    def solved(model: ElasticSDE) -> np.ndarray:
        return np.asarray(mean_solution(model, [3.0], x0)["mean"].values)

    low = ElasticSDE(1 / (k - 1), -0.4 / (k - 1), k, k)
    ends = {"L": solved(ElasticSDE(1.0, -0.4, k, structure="logits")), "I": solved(low)}
    between = [solved(ElasticSDE(1.0, -0.4, k, structure=mixed_logits(k, share))) for share in shares]
    rows = [[off(x, end) for end in ends.values()] for x in between]
    return xr.DataArray(rows, {"share": list(shares), "end": list(ends)}, ("share", "end"))
