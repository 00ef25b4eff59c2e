"""Mean features in closed form, the exact transition between two times, and when classes come apart, in numbers:
Theorems 2.1 and 3.1 made sharp for the I-model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import comb, log_ndtr

from deepmech.core import specs
from deepmech.core.labels import Number, ParameterGrid, labelled, with_attrs
from deepmech.core.provenance import attributes
from deepmech.core.random import Stream
from deepmech.core.specs import encode
from deepmech.simulators.elastic_sde.model import ATTRS, ElasticSDE, PowerLaw, is_table, panels

RTOL, ATOL = 1e-10, 1e-13
_MOST_POINTS = 500
"""Of each class; beyond it C(2n, n) is larger than any float."""


def mean_solution(model: ElasticSDE, times: Any, start: Any) -> xr.Dataset:
    r"""Mean features X̄^k(t) of the LE-ODE X̄' = M(t) X̄ (paper B, Eqs. 3, 6, 7, 9).

    With classes that are all alike the solution is in closed form for any K. In the I-model (Eqs. 3, 7) class means
    differ from their average by :math:`c_k e^{(A-B)/K}`, and the average grows as :math:`e^{(A+(K-1)B)/K}`. In the
    L-model (Eq. 9) with margins :math:`s_k = d_k\cdot\bar X^k`, their mean :math:`\bar s` and deviations
    :math:`\delta_k`,

    .. math::

        \bar X^k(t) = \bar X^k(0) + \tfrac{K}{K-1}\Bigl[(e^{(A-B)/K}-1)\,\bar s\,d_k + P\,\delta_k d_k
        + Q\sum_l \delta_l d_l\Bigr](0),

    where :math:`g = e^{(A+B/(K-1))/K}`, :math:`Q = \int\beta g/K` and :math:`P = g - 1 - \tfrac{K}{K-1}Q`. (Eq. 9 has
    fixed vectors in place of the last two terms, which is right where β/α does not change in time.) Otherwise: the
    matrix exponential for effects that are constant, and an integration of order 8 with relative tolerance 1e-10 for
    others.

    Parameters
    ----------
    model : ElasticSDE
        Every labelled array adds its dimensions to the result.
    times : array_like
        t ≥ 0, rising.
    start : array_like
        X̄(0), shape (K, p).

    Returns
    -------
    Dataset
        ``mean`` over the model's dimensions, ``time``, ``class`` and ``feature``.

    Raises
    ------
    ValueError
        For times or a start that do not fit.

    Examples
    --------
    >>> model = ElasticSDE(intra=1.0, inter=0.2, n_classes=2)
    >>> x = mean_solution(model, [0.0, 2.0], [[1.0], [0.0]])["mean"].isel(time=1, feature=0)
    >>> bool(np.allclose(x, [(np.exp(0.8) + np.exp(1.2)) / 2, (np.exp(1.2) - np.exp(0.8)) / 2]))
    True
    """
    began = time.perf_counter()
    t, x0 = checked_times("mean_solution", times), checked_start("mean_solution", model, start)
    grid = model.grid()
    if has_closed_form(model):
        values = (_isotropic if model.isotropic else _logits)(model, grid, t, x0)
    else:
        model.check_memory()
        ends = np.concatenate([[0.0], t])
        state = x0 if model.isotropic else x0.reshape(-1, 1)
        state = np.broadcast_to(state, (grid.n, *state.shape))
        values = np.empty((grid.n, len(t), *x0.shape))
        for i, (step, _) in enumerate(transitions(model, grid, ends, covariance=False)):
            state = step @ state
            values[:, i] = state.reshape(grid.n, *x0.shape)
    return to_dataset(model, grid, t, began, {"start": x0.tolist()}, mean=(values, "time", "class", "feature"))


def has_closed_form(model: ElasticSDE) -> bool:
    """Whether :func:`mean_solution` has a closed form: classes alike and isotropic, or logits with true labels."""
    if not isinstance(model.structure, str) or not model.symmetric:
        return False
    return model.isotropic or (model.structure == "logits" and not np.any(model.label_mixing))


def _isotropic(model: ElasticSDE, grid: ParameterGrid, t: np.ndarray, x0: np.ndarray) -> np.ndarray:
    difference, common = mode_exponents(model, grid, t)
    centre = x0.mean(0)
    return np.exp(difference)[..., None, None] * (x0 - centre) + np.exp(common)[..., None, None] * centre


def mode_exponents(model: ElasticSDE, grid: ParameterGrid, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of growth from 0 to t of class differences and of the common mean in the I-model, (n, T) each.

    Labels mixed evenly with probability w multiply the rate of differences by 1 − wK/(K − 1) and leave the other.
    """
    k = model.n_classes
    (_, big_a), (_, big_b) = model.rates(grid)
    a, b = (np.broadcast_to(f(t), (grid.n, len(t))) for f in (big_a, big_b))
    kept = 1 - np.asarray(grid.flat["label_mixing"], float)[:, None] * k / (k - 1)
    return kept * (a - b) / k, (a + (k - 1) * b) / k


def _logits(model: ElasticSDE, grid: ParameterGrid, t: np.ndarray, x0: np.ndarray) -> np.ndarray:
    k = model.n_classes
    (_, big_a), (beta, big_b) = model.rates(grid)

    def slow(s: np.ndarray) -> np.ndarray:
        return np.exp((big_a(s) + big_b(s) / (k - 1)) / k)

    # Between the times of a table an effect may turn as often as it likes; within two neighbours it is a line.
    both = (model.intra, model.inter)
    tables = [effect["time"].values for effect in both if isinstance(effect, xr.DataArray) and is_table(effect)]
    knots = np.concatenate([np.empty(0), *tables])
    ends = np.unique(np.concatenate([[0.0], t, knots[(knots > 0) & (knots < t[-1])]]))
    nodes, weights = panels(ends, 1) if len(tables) == 2 else panels(ends)
    flat = nodes.ravel()
    pieces = (
        np.broadcast_to(beta(flat) * slow(flat) / k, (grid.n, flat.size)).reshape(-1, *nodes.shape) * weights
    ).sum(2)
    q = np.concatenate([np.zeros((grid.n, 1)), np.cumsum(pieces, axis=1)], axis=1)[:, np.searchsorted(ends, t)]
    g = np.broadcast_to(slow(t), q.shape)
    fast = np.broadcast_to(np.exp((big_a(t) - big_b(t)) / k), q.shape)
    d = np.eye(k) - 1 / k
    s = np.einsum("kp,kp->k", d, x0)
    delta = s - s.mean()
    own = (fast - 1)[..., None] * s.mean() + (g - 1 - q * k / (k - 1))[..., None] * delta
    moved = own[..., None] * d + q[..., None, None] * (delta @ d)
    return x0 + moved * k / (k - 1)


def transitions(model: ElasticSDE, grid: ParameterGrid, ends: np.ndarray, covariance: bool = True) -> Any:
    """For each interval between ``ends``: the propagator Φ and a root R of its noise, R Rᵀ = ∫ Φ(t, u) Φ(t, u)ᵀ du.

    Yields (n, d, d) arrays, d as in :meth:`ElasticSDE.drift_parts`; R is None without ``covariance``.
    """
    if model.isotropic and model.symmetric:
        yield from _by_modes(model, grid, ends)
        return
    parts = model.drift_parts(grid)
    d = parts[0].shape[-1]
    steady = not any(isinstance(e, PowerLaw) or is_table(e) for e in (model.intra, model.inter))
    (alpha, _), (beta, _) = model.rates(grid)
    for low, high in pairwise(ends):
        phi, cov = np.empty((grid.n, d, d)), np.empty((grid.n, d, d))
        if steady:
            m = alpha(np.zeros(1))[..., None] * parts[0] + beta(np.zeros(1))[..., None] * parts[1]
            for i in range(grid.n):
                phi[i], cov[i] = _constant_step(m[i], high - low)
        else:
            for i in range(grid.n):
                pieces = [part[i] for part in parts]

                def now(t: np.ndarray, i: int = i) -> list[float]:
                    return [float(np.broadcast_to(r(t), (grid.n, 1))[i, 0]) for r in (alpha, beta)]

                phi[i], cov[i] = _varying_step(now, pieces, low, high, covariance)
        yield phi, _root(cov) if covariance else None


def _by_modes(model: ElasticSDE, grid: ParameterGrid, ends: np.ndarray) -> Any:
    k = model.n_classes
    mean = np.full((k, k), 1 / k)
    rest = np.eye(k) - mean
    at_ends = mode_exponents(model, grid, ends)
    nodes, weights = panels(ends)
    at_nodes = [e.reshape(grid.n, *nodes.shape) for e in mode_exponents(model, grid, nodes.ravel())]
    for i in range(len(ends) - 1):
        grown = [np.exp(e[:, i + 1] - e[:, i])[:, None, None] for e in at_ends]
        spread = [
            np.sqrt((np.exp(2 * (e[:, i + 1, None] - n[:, i])) * weights[i]).sum(1))[:, None, None]
            for e, n in zip(at_ends, at_nodes, strict=True)
        ]
        yield grown[0] * rest + grown[1] * mean, spread[0] * rest + spread[1] * mean


def _constant_step(m: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Φ and covariance of a step with constant drift: Van Loan's exponential on a short step, doubled."""
    d = len(m)
    doublings = max(0, int(np.ceil(np.log2(max(float(np.linalg.norm(m, 2)) * dt, 1e-300)))))
    short = dt / 2**doublings
    big = np.zeros((2 * d, 2 * d))
    big[:d, :d], big[:d, d:], big[d:, d:] = m, np.eye(d), -m.T
    both = expm(big * short)
    phi = both[:d, :d]
    cov = both[:d, d:] @ phi.T
    for _ in range(doublings):
        cov = phi @ cov @ phi.T + cov
        phi = phi @ phi
    return phi, cov


def _varying_step(rates: Any, parts: list[np.ndarray], low: float, high: float, covariance: bool) -> Any:
    d = len(parts[0])
    if high == low:
        return np.eye(d), np.zeros((d, d))

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        a, b = rates(np.array([t]))
        m = a * parts[0] + b * parts[1]
        phi = m @ y[: d * d].reshape(d, d)
        if not covariance:
            return phi.ravel()
        c = m @ y[d * d :].reshape(d, d)
        return np.concatenate([phi.ravel(), (c + c.T + np.eye(d)).ravel()])

    first = np.concatenate([np.eye(d).ravel(), np.zeros(d * d)]) if covariance else np.eye(d).ravel()
    end = solve_ivp(slope, (low, high), first, method="DOP853", rtol=RTOL, atol=ATOL).y[:, -1]
    return end[: d * d].reshape(d, d), end[d * d :].reshape(d, d) if covariance else np.zeros((d, d))


def _root(cov: np.ndarray) -> np.ndarray:
    """Symmetric square roots of positive semidefinite matrices (rounding may leave eigenvalues just below zero)."""
    values, vectors = np.linalg.eigh((cov + cov.swapaxes(-1, -2)) / 2)
    return (vectors * np.sqrt(np.maximum(values, 0))[:, None, :]) @ vectors.swapaxes(-1, -2)


def checked_times(caller: str, times: Any) -> np.ndarray:
    what, allowed = f"{caller}: times", "finite, rising and from 0 on"
    t = np.atleast_1d(specs.check_array(what, times, allowed))
    ok = t.ndim == 1 and t.size > 0 and np.isfinite(t).all() and t[0] >= 0 and np.all(np.diff(t) > 0)
    specs.check(what, times, ok, allowed)
    return t


def checked_start(caller: str, model: ElasticSDE, start: Any) -> np.ndarray:
    specs.check_type(f"{caller}: model", model, ElasticSDE)
    x = specs.check_array(f"{caller}: start", start)
    if x.shape != (model.n_classes, model.n_features) or not np.isfinite(x).all():
        raise ValueError(
            f"{caller}: start has shape {x.shape}: give one finite mean per class and feature, "
            f"({model.n_classes}, {model.n_features})"
        )
    return x


def beginnings(
    caller: str, model: ElasticSDE, times: Any, start: Any, n_samples: int, n_runs: int, start_spread: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Stream]]:
    """Times, class means (K, p) and samples (run, K, n, p) at t = 0, and every run's random numbers, all checked."""
    t, x0 = checked_times(caller, times), checked_start(caller, model, start)
    least = {"n_samples": 1, "n_runs": 1, "seed": 0}
    given = {"n_samples": n_samples, "n_runs": n_runs, "seed": seed}
    n_samples, n_runs, seed = (specs.check_int(f"{caller}: {name}", given[name], least[name]) for name in given)
    name, value = max(("n_samples", n_samples), ("n_runs", n_runs), key=lambda size: size[1])
    specs.check_memory(f"{caller}: {name}", value, n_samples * n_runs * (len(t) * model.grid().n + 1) * x0.size)
    model.check_memory()
    start_spread = specs.check_real(f"{caller}: start_spread", start_spread, 0, allowed="a number, zero or positive")
    streams = [Stream.of("elastic_sde", seed, run) for run in range(n_runs)]
    shape = (len(x0), n_samples, x0.shape[1])
    return t, x0, np.stack([x0[:, None] + start_spread * s.normal("start", 0, shape) for s in streams]), streams


def to_dataset(
    model: ElasticSDE, grid: ParameterGrid, times: np.ndarray, began: float, setting: Mapping[str, Any] | None = None,
    seed: int | str = "none", **variables: tuple[Any, ...],
) -> xr.Dataset:  # fmt: skip
    """The result of a run that ``began`` then: variables by name, each its values over members and its other axes."""
    spec = json.dumps(encode({**model.to_json(), **(setting or {})}))
    words = ATTRS | {name: (*ATTRS[name], *axes) for name, (_, *axes) in variables.items()}
    rows = {name: values for name, (values, *_) in variables.items()}
    attrs = attributes(
        spec=spec, seed=seed if isinstance(seed, str) else int(seed), wall_seconds=time.perf_counter() - began
    )
    made = labelled(grid, rows, words, {"time": times}, attrs)
    counted = ("run", "class", "sample", "feature")
    return with_attrs(made.assign_coords({d: np.arange(n) for d, n in made.sizes.items() if d in counted}), ATTRS)


def separated_by_chance(n: int) -> float:
    """Probability 2/C(2n, n) that n + n points of one law on a line are separated (paper B, footnote 5).

    On a line only: in p dimensions any two classes of n ≤ (p + 1)/2 points in general position are separable.

    Parameters
    ----------
    n : int
        Points of each class, a whole number of at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        Unless n is a whole number from 1 to 500.

    Examples
    --------
    >>> [round(separated_by_chance(n), 4) for n in (1, 2, 5)]
    [1.0, 0.3333, 0.0079]
    """
    n = specs.check_int("separated_by_chance: n", n, 1, _MOST_POINTS)
    return float(2 / comb(2 * n, n, exact=True))


def separation_probability(signal: Any, n: int) -> Any:
    """Probability that n + n points on a line are separated, for two normal laws of equal width.

    Parameters
    ----------
    signal : array_like or DataArray
        Distance of the two means in standard deviations, any shape or a DataArray.
    n : int
        Points per class.

    Returns
    -------
    array or DataArray like ``signal``
        P(min X > max Y) + P(max X < min Y), by the trapezoidal rule on the law of the minimum; 2/C(2n, n) at 0.

    Raises
    ------
    ValueError
        Unless ``signal`` is real and n a whole number from 1 to 500.

    Examples
    --------
    >>> [round(float(p), 4) for p in separation_probability(np.array([0.0, 3.0, 8.0]), 5)]
    [0.0079, 0.7683, 1.0]
    """
    n = specs.check_int("separation_probability: n", n, 1, _MOST_POINTS)
    if isinstance(signal, xr.DataArray):
        return signal.copy(data=separation_probability(signal.values, n))
    # Many cells of a diagram share a value (0 and beyond 60 widths at the least): each is worked out once.
    s, back = np.unique(
        np.clip(specs.check_array("separation_probability: signal", signal), -60, 60), return_inverse=True
    )
    u = np.linspace(-12, 12, 961)  # smooth and dying out at both ends: the rule's error falls exponentially
    log_density = np.log(n) - u * u / 2 - np.log(2 * np.pi) / 2 + (n - 1) * log_ndtr(-u)
    total = sum(np.exp(log_density + n * log_ndtr(u + sign * s[:, None])).sum(-1) for sign in (1, -1))
    return np.minimum(total * (u[1] - u[0]), 1.0)[back].reshape(np.shape(signal))[()]


def mean_over_noise(model: ElasticSDE, times: Any, distance: float = 1.0, start_spread: float = 0.0) -> xr.DataArray:
    r"""Distance of two class means over the width of a class in the I-model, in the limit of many samples.

    .. math:: \frac{|c_k-c_l|\,e^{(A-B)/K}}{\sqrt{s_0^2+\sigma^2t}}

    Along the line through the two means this is the whole story: classes come apart where it grows without bound, and
    with α − β = a/(1 + t) it does so exactly for a > K/2. (Theorem 3.1 speaks of the smaller of α − β and α + (K −
    1)β, of which the second has no part in it.)

    Parameters
    ----------
    model : ElasticSDE
        Isotropic, all classes alike.
    times : array_like
        t > 0, rising (t = 0 too, if ``start_spread`` > 0).
    distance : float
        |c_k − c_l| at t = 0.
    start_spread : float
        s₀, the width of a class at t = 0.

    Returns
    -------
    DataArray
        Over the model's dimensions and ``time``; dimensionless.

    Raises
    ------
    ValueError
        For another structure, classes that differ, times that do not fit, or a class without width.

    Examples
    --------
    >>> from deepmech.simulators.elastic_sde import PowerLaw
    >>> edge = ElasticSDE(intra=PowerLaw(1.0, 1.0), n_classes=2)  # a = 1 = K/2
    >>> mean_over_noise(edge, [1.0, 1e6], start_spread=1.0).values.round(6).tolist()
    [1.0, 1.0]
    """
    specs.check_type("mean_over_noise: model", model, ElasticSDE)
    specs.check_real("mean_over_noise: distance", distance)
    specs.check_real("mean_over_noise: start_spread", start_spread, 0, 1e150, allowed="a number from 0 to 1e150")
    if not model.isotropic or not model.symmetric:
        raise ValueError("mean_over_noise: needs structure='isotropic' and classes that are all alike")
    t, grid = checked_times("mean_over_noise", times), model.grid()
    growth, _ = mode_exponents(model, grid, t)
    width = np.sqrt(start_spread**2 + np.asarray(grid.flat["noise"], float)[:, None] ** 2 * t)
    if not width.all():
        raise ValueError("mean_over_noise: a class has no width at t = 0; leave t = 0 out or give start_spread > 0")
    dims, data = grid.unflatten(distance * np.exp(growth) / width, "time")
    return xr.DataArray(data, dims=dims, coords={**grid.coords, "time": t}, name="mean_over_noise")


def critical_strength(n_classes: int, label_noise: Number = 0.0) -> Any:
    """The a of α − β = a/(1 + t) above which classes separate in the I-model: K/2 with true labels.

    With a fraction w of labels spread evenly over the other classes the gap acts as (1 − wK/(K − 1)) times itself;
    from w = (K − 1)/K on, where labels say nothing about classes, no strength is enough (inf).

    Parameters
    ----------
    n_classes : int
        K.
    label_noise : number or DataArray
        w, a fraction of labels, or a labelled array of them.

    Returns
    -------
    float or DataArray

    Raises
    ------
    ValueError
        For less than two classes, or a fraction that is no number.

    Examples
    --------
    >>> critical_strength(3), critical_strength(3, 0.5), critical_strength(3, 2 / 3)
    (1.5, 6.0, inf)
    """
    n_classes = specs.check_int("critical_strength: n_classes", n_classes, 2, 2**53)
    specs.check_each("critical_strength.label_noise", label_noise, specs.between())
    kept = 1 - label_noise * n_classes / (n_classes - 1)
    if isinstance(kept, xr.DataArray):
        return xr.where(kept > 1e-12, n_classes / 2 / kept.where(kept > 1e-12, 1.0), np.inf)
    return n_classes / 2 / kept if kept > 1e-12 else float("inf")
