"""Are effects found again where they are known? Estimators of Eq. 11 and tail indices on data of the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate
from deepmech.core.labels import over
from deepmech.metrics import elasticity
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, train_discrete

__all__ = [
    "ESTIMATORS",
    "error",
    "known_model",
    "recovered_by_both",
    "recovered_effects",
    "recovery_error",
    "tail_indices",
    "training_log",
]

ITERATIONS, TRIALS = 400, 100
ESTIMATORS: list[elasticity.Model] = ["I", "L-paper", "L-program"]
"""Formulas compared: of the I-model, of the L-model as printed, and as in the authors' program."""
STARTS = np.array([[1.7, -0.4, 0.2], [-0.1, 2.0, -0.6], [0.4, 0.3, 1.5]])
"""Class means before the first step; in the L-model less their mean over logits, as networks' logits add up to zero."""
Structure = Literal["isotropic", "logits"]


def known_model(structure: Structure, height: float) -> ElasticSDE:
    """A model whose α rises to ``height`` per iteration at iteration 60 and dies out, with β = −0.4 α.

    Examples
    --------
    >>> round(float(known_model("logits", 0.03).intra.sel(time=60)), 9)
    0.03
    """
    t = np.arange(ITERATIONS + 1.0)
    alpha = xr.DataArray(height * t / 60 * np.exp(1 - t / 60), {"time": t}, "time")
    return ElasticSDE(alpha, -0.4 * alpha, 3, 3, structure, noise=0.02)


def training_log(structure: Structure, start: float, height: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What a log of training would hold if networks were the locally elastic dynamics itself (Eq. 4).

    Parameters
    ----------
    structure, height
        Of :func:`known_model`.
    start : float
        Size of the first class means, in units of :data:`STARTS`; samples scatter by 0.3 about them.
    seed : int
        Of the trials.

    Returns
    -------
    logits : ndarray, (trial, iteration, logit)
        Of a sample of the class just drawn, before the step is taken.
    drawn : ndarray, (trial, iteration)
        That class.
    """
    at = np.arange(ITERATIONS)
    first = STARTS - STARTS.mean(1, keepdims=True) if structure == "logits" else STARTS
    run = train_discrete(known_model(structure, height), at, start * first, 1.0, 5, TRIALS, 0.3, seed)
    # No step follows the last record: any class will do there.
    drawn = np.concatenate([run.drawn, run.drawn[:, :1]], axis=1)[:, :ITERATIONS].astype(int)
    x = run.feature_value.isel(sample=0).values
    return x[np.arange(TRIALS)[:, None], at, drawn], drawn


def recovered_effects(structure: Structure, n_logs: int, start: float = 1.0, height: float = 0.03) -> xr.Dataset:
    """Effects read off logs of a known model, beside the true ones.

    Parameters
    ----------
    structure, start, height
        As for :func:`training_log`.
    n_logs : int
        Logs, of 100 trials each.

    Returns
    -------
    Dataset
        ``A``, ``B``, ``intra`` and ``inter`` over ``log``, ``model`` (:data:`ESTIMATORS`) and ``time``; ``A_true``,
        ``B_true`` and ``intra_true`` over ``time``. Integrals begin with the mean of the first five iterations.
    """
    logs = []
    for seed in range(n_logs):
        means = elasticity.class_means(*training_log(structure, start, height, seed), 3, pool=5)
        totals = [elasticity.integrated_effects(means, name, 5) for name in ESTIMATORS]
        rows = [z.merge(elasticity.effects(z, 51).drop_vars("gap"), combine_attrs="drop") for z in totals]
        logs.append(xr.concat(rows, over("model", ESTIMATORS)))
    found = xr.concat(logs, "log")
    t = found["time"].values.astype(float)
    (alpha, a), (_, b) = known_model(structure, height).rates()
    zero = t[2]  # the mean time of the first five
    truth = {"A_true": a(t) - a(zero), "B_true": b(t) - b(zero), "intra_true": alpha(t)}
    return found.assign({name: ("time", np.ravel(values)) for name, values in truth.items()})


def recovered_by_both(n_logs: int, start: float = 1.0, height: float = 0.03) -> tuple[xr.Dataset, xr.Dataset]:
    """:func:`recovered_effects` of the I-model and of the L-model."""
    of_i, of_l = (recovered_effects(model, n_logs, start, height) for model in get_args(Structure))
    return of_i, of_l


def error(recovered: xr.Dataset, name: str, since: int = 25) -> xr.DataArray:
    """Root mean square distance from the truth over ``time``.

    Parameters
    ----------
    recovered : Dataset
        Of :func:`recovered_effects`.
    name : {"A", "B", "intra"}
        Which number; integrals by the largest A, α̂ by the largest α and away from the ends: from recorded time
        ``since`` on, without the last 25.
    since : int
        See there.
    """
    off = recovered[name] - recovered[f"{name}_true"]
    if name == "intra":
        off = off.isel(time=slice(since, -25))
    return (off**2).mean("time") ** 0.5 / recovered["intra_true" if name == "intra" else "A_true"].max()


def recovery_error(names: Sequence[str], isotropic: xr.Dataset, logits: xr.Dataset, since: int = 25) -> Estimate:
    """The error of each estimator on its own model's data; null: that of an estimator which says that nothing happens.

    Parameters
    ----------
    names, since
        As for :func:`error`, of which there may be several.
    isotropic, logits : Dataset
        Of :func:`recovered_effects`, of the I-model and of the L-model.

    Returns
    -------
    Estimate
        Over ``effect`` (``names``) and ``model`` ("I", "L-program"): root mean square over logs, with its interval.
    """
    by_model = {"I": isotropic, "L-program": logits}

    def all_of(recovered: Mapping[str, xr.Dataset]) -> xr.DataArray:
        rows = [
            xr.concat(
                [error(one, name, since).sel(model=model, drop=True) for model, one in recovered.items()], "model"
            )
            for name in names
        ]
        return xr.concat(rows, xr.Variable("effect", list(names))).assign_coords(model=list(recovered))

    own = all_of(by_model)
    nothing = all_of({model: one.assign({name: 0 * one[name] for name in names}) for model, one in by_model.items()})
    value = (own**2).mean("log") ** 0.5
    return replace(estimate(own, "log", "symmetric", at=value), value=value, null=nothing.mean("log"))


def tail_indices(exponents: Sequence[float], strengths: Sequence[float]) -> xr.Dataset:
    """The paper's tail index and the local slope of log α̂, of effects that fade as α₀/(1 + t)^r without noise.

    Parameters
    ----------
    exponents : sequence of float
        r.
    strengths : sequence of float
        α₀.

    Returns
    -------
    Dataset
        Over ``strength`` and ``r``: ``index`` (Eq. D.19) over the last 1,000 of 10,000 iterations, and ``slope``, from
        iteration 1,000 to 9,950, which gives r.
    """
    t = np.arange(10_001.0)
    totals = [[PowerLaw.flat(strength, r, 0.0)[1](t) for r in exponents] for strength in strengths]
    labels = {"strength": list(strengths), "r": list(exponents), "time": t}
    total = xr.DataArray(totals, labels, ("strength", "r", "time"))
    fading = elasticity.effects(xr.Dataset({"A": total, "B": 0 * total}), 51)["intra"]
    slope = elasticity.log_slope(fading, [1000, 9950]).isel(interval=0, drop=True)
    return xr.Dataset({"index": elasticity.tail_index(total), "slope": slope})
