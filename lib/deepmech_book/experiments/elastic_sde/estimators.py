"""Estimators of local elasticity on data whose effects are known: bias, spread, and where formulas break."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.metrics.elasticity import class_means, effects, integrated_effects, log_slope, tail_index
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, train_discrete

ITERATIONS = 400
MODELS = ("I", "L-paper", "L")


def bump(height: float) -> xr.DataArray:
    """An effect that rises to ``height`` and dies out, as networks' do, per iteration; a table over ``time``."""
    t = np.arange(ITERATIONS + 1.0)
    return xr.DataArray(height * t / 60.0 * np.exp(1 - t / 60.0), {"time": t}, "time")


@lru_cache(maxsize=64)
def training_log(
    structure: str,
    n_trials: int,
    noise: float = 0.02,
    spread: float = 0.3,
    scale: float = 1.0,
    seed: int = 0,
    start: float = 1.0,
    height: float = 0.03,
) -> tuple[np.ndarray, np.ndarray, ElasticSDE]:
    """What a training loop would record if it were a locally elastic SDE with known effects.

    Eq. 4 with steps of one iteration, K = 3, five samples per class; at every iteration the logits of a sample of the
    class just drawn are kept.

    Parameters
    ----------
    structure : "isotropic" or "logits".
    noise, spread : σ per √iteration, and standard deviation of samples about their class mean at the start.
    scale : multiplies logits, noise and spread; ``start`` the class means at the start alone.
    height : of :func:`bump`.

    Returns
    -------
    logits (trial, iteration, logit), classes (trial, iteration), and the model with its effects.
    """
    alpha = bump(height)
    model = ElasticSDE(alpha, -0.4 * alpha, 3, 3, structure, noise=noise * scale)
    x0 = scale * start * np.array([[1.7, -0.4, 0.2], [-0.1, 2.0, -0.6], [0.4, 0.3, 1.5]])
    run = train_discrete(model, np.arange(ITERATIONS), x0, 1.0, 5, n_trials, spread * scale, seed)
    # The class drawn in the step that follows: its logits are recorded before the step is taken.
    drawn = np.concatenate([run.drawn.values, run.drawn.values[:, :1]], axis=1)[:, :ITERATIONS].astype(int)
    x = run.feature_value.isel(sample=0).values
    logits = x[np.arange(n_trials)[:, None], np.arange(ITERATIONS), drawn]
    return logits, drawn, model


def recovered(
    structure: str, n_trials: int = 100, n_logs: int = 10, window: int = 51, reference: int = 5, **settings: Any
) -> xr.Dataset:
    """Effects estimated from ``n_logs`` simulated logs by all three models, beside the truth.

    Returns
    -------
    Dataset
        ``A``, ``B``, ``intra``, ``inter`` over ``log``, ``model`` and ``time``; ``A_true``, … over ``time``.
    """
    found = []
    for log in range(n_logs):
        logits, drawn, model = training_log(structure, n_trials, seed=log, **settings)
        means = class_means(logits, drawn, 3, pool=5)
        rows = []
        for name in MODELS:
            total = integrated_effects(means, name, reference)  # type: ignore[arg-type]
            rows.append(total.merge(effects(total, window).drop_vars("gap"), combine_attrs="drop"))
        found.append(xr.concat(rows, over("model", MODELS)))
    data = xr.concat(found, "log")
    t = data.time.values.astype(float)
    (alpha, big_a), (beta, big_b) = model.rates()
    # The estimators' zero is the mean time of the reference.
    truth = {"A_true": big_a(t) - big_a(t[reference // 2]), "B_true": big_b(t) - big_b(t[reference // 2])}
    truth |= {"intra_true": alpha(t), "inter_true": beta(t)}
    return data.assign({k: ("time", np.ravel(v)) for k, v in truth.items()})


def errors(data: xr.Dataset, since: int = 25) -> xr.Dataset:
    """Bias and errors of :func:`recovered`, per ``model``.

    ``A_bias``, ``B_bias``: mean over logs and time; ``A_error``, ``B_error``: root mean square distance from the truth;
    ``intra_error``: the same of α̂, over the largest α, from ``since`` recorded times on; each error also by ``log``,
    with the ending ``_by_log``.
    """
    out = {}
    for name in ("A", "B"):
        off = data[name] - data[f"{name}_true"]
        out[f"{name}_bias"] = off.mean(("log", "time"))
        out[f"{name}_error_by_log"] = (off**2).mean("time") ** 0.5
    off = (data.intra - data.intra_true).isel(time=slice(since, -25))
    out["intra_error_by_log"] = (off**2).mean("time") ** 0.5 / data.intra_true.max()
    for name in ("A", "B", "intra"):
        out[f"{name}_error"] = (out[f"{name}_error_by_log"] ** 2).mean("log") ** 0.5
    return xr.Dataset(out)


def error_over(name: str, values: Sequence[Any], n_logs: int) -> xr.DataArray:
    """Root mean square error of Â on data of the L-model, over ``model`` and one argument of :func:`recovered`."""
    found = [errors(recovered("logits", n_logs=n_logs, **{name: value})).A_error for value in values]
    return xr.concat(found, over(name, values))


def tails(exponents: Sequence[float], strengths: Sequence[float] = (0.3, 3.0)) -> xr.Dataset:
    """Tail indices of α = α₀/(1 + t)^r as the paper estimates them, and the local slope, over ``strength`` and ``r``.

    Returns
    -------
    Dataset
        ``by_A``: r̂ of App. D.1.3, from A over the last 1,000 of 10,000 iterations; ``by_alpha``: the formula of §4.1
        with α in it; ``slope``: minus the slope of log α̂ over log(1 + t) in the last nine tenths, α̂ by
        Savitzky–Golay.
    """
    t = np.arange(10_001.0)

    def one(strength: float, r: float) -> xr.Dataset:
        value, integral = PowerLaw.flat(strength, r, 0.0)
        big = xr.DataArray(integral(t), {"time": t}, "time")
        hat = effects(xr.Dataset({"A": big, "B": 0 * big}), 51).intra
        slope = log_slope(hat, [1000, 9950]).isel(interval=0, drop=True)
        by_alpha = tail_index(big.copy(data=value(t)), "alpha")
        return xr.Dataset({"by_A": tail_index(big), "by_alpha": by_alpha, "slope": slope})

    rows = [xr.concat([one(strength, r) for r in exponents], over("r", exponents)) for strength in strengths]
    return xr.concat(rows, over("strength", strengths), combine_attrs="drop")
