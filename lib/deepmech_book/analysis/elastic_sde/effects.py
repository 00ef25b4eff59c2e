"""Intra- and inter-class effects of trained LeNets (Figs. 3, D.1, D.3 and D.4 of paper B), estimated and real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out
from deepmech.metrics.elasticity import Model, effects, integrated_effects
from deepmech_book.sweeps import shipped
from deepmech_book.sweeps.elastic_sde.networks import as_published

MODELS: tuple[Model, ...] = ("I", "L-program")
"""Estimators that claims are judged by: those of the authors' program. Ours by margins, for any K, is ``"L"``."""
LATE = 0.2
"""Share of training at its end over which models are compared with networks."""
START = 100
"""Iterations at the beginning whose mean stands for t = 0. Single means are too noisy: logits start near zero."""


def step_of(means: xr.DataArray | xr.Dataset) -> float:
    """Iterations from one recorded time to the next."""
    return float(np.diff(means["time"].values[:2])[0])


def window_of(means: xr.DataArray | xr.Dataset, iterations: int) -> int:
    """A window of about that many iterations as an odd number of recorded times, at least 5."""
    return max(5, 2 * round((iterations / step_of(means) - 1) / 2) + 1)


def late(n: int) -> slice:
    """The last fifth of ``n`` recorded times, at least one.

    Examples
    --------
    >>> list(range(10))[late(10)], list(range(3))[late(3)]
    ([8, 9], [2])
    """
    return slice(-max(1, int(LATE * n)), None)


def late_mean(curves: xr.DataArray) -> xr.DataArray:
    """Mean of curves over the last fifth of their times (:func:`late`)."""
    return curves.isel(time=late(curves.sizes["time"])).mean("time")


def published(which: str, **changed: Any) -> xr.Dataset:
    """The first set of trials of a configuration of :func:`.networks.as_published`, which has no dimension for sets."""
    return shipped.result(as_published(which, **changed)).isel(first_seed=0)


def trials(networks: xr.Dataset) -> int:
    """How many trials there are, in all sets together."""
    return int(networks.sizes["trial"] * networks.sizes.get("first_seed", 1))


def class_means(result: xr.Dataset) -> xr.DataArray:
    """Class means of a result of trials; where nobody drew a class, those of its neighbours in time."""
    means = result["mean"].astype(float)
    return means.interpolate_na("time", fill_value="extrapolate") if means.isnull().any() else means


def estimate(result: xr.Dataset, window: int = 191, models: Sequence[Model] = MODELS, start: int = START) -> xr.Dataset:
    """Â, B̂, α̂ and β̂ of a result of :func:`.networks.trials`, by model.

    Parameters
    ----------
    result : with ``mean``, dims (…, time, class, logit).
    window : of the Savitzky–Golay filter, in iterations.
    start : iterations averaged into t = 0; with 1, as in the authors' program, the first recorded time alone.

    Returns
    -------
    Dataset
        Over ``model`` and ``time``: ``A``, ``B`` (pure numbers), ``intra``, ``inter``, ``gap`` (per iteration). Where a
        mean is exactly zero and has no logarithm, A and B are taken from their neighbours.
    """
    means = class_means(result)
    found = []
    for model in models:
        both = _integrals(means, model, start)
        found.append(both.assign(effects(both, window_of(means, window))))
    return xr.concat(found, xr.Variable("model", list(models)), combine_attrs="drop")


def integrals(result: xr.Dataset, models: Sequence[Model] = MODELS, start: int = START) -> xr.Dataset:
    """``A`` and ``B`` of :func:`estimate` alone, over ``model`` and ``time``, which no filter smooths."""
    both = [_integrals(class_means(result), model, start) for model in models]
    return xr.concat(both, xr.Variable("model", list(models)), combine_attrs="drop")


def _integrals(means: xr.DataArray, model: Model, start: int) -> xr.Dataset:
    both = integrated_effects(means, model, reference=max(1, round(start / step_of(means))))
    return both.where(np.isfinite(both)).interpolate_na("time", fill_value="extrapolate")


def without_groups(result: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Class means in coarse blocks of time: over all trials, and without each group of them in turn (``group``).

    A group holds ten trials or so, and their mean scatters about symmetrically.
    """
    groups = result["group_mean"].rename(slow_time="time")
    return groups.mean("group").astype(float), leave_one_out(groups.astype(float), "group")


def integrated_by_model(means: xr.DataArray, models: Sequence[Model] = MODELS) -> xr.Dataset:
    """Â and B̂ of class means, over ``model`` too."""
    both = [integrated_effects(means, model) for model in models]
    return xr.concat(both, xr.Variable("model", list(models)), combine_attrs="drop")


def over_groups(result: xr.Dataset, measure: Callable[[xr.DataArray], Any]) -> Estimate:
    """A measure of class means in coarse blocks of time, with its interval over groups of trials."""
    return jackknife(*map(measure, without_groups(result)), over="group", scatter="symmetric")


def real_effects(logits: xr.DataArray, move: xr.DataArray) -> xr.Dataset:
    """α and β as the models define them, from measured moves: per iteration, over ``model`` and the leading dimensions.

    In the L-model a step on class l moves class k by E_kl s_l d_l/|d_l|² with s_l = d_l·X̄ˡ, in the I-model by E_kl X̄ˡ.
    So E_kl is the move's part along that direction; α is the mean of E over k = l and β over k ≠ l, as ratios of sums.

    Examples
    --------
    >>> k, d = 3, np.eye(3) - 1 / 3
    >>> means = xr.DataArray(np.diag([1.0, 2.0, 3.0]), dims=("class", "logit"))
    >>> effect = np.where(np.eye(3), 0.5, -0.1)
    >>> pull = np.einsum("kl,l,lj->klj", effect, [2 / 3, 4 / 3, 2.0], d / (2 / 3))
    >>> found = real_effects(means, xr.DataArray(pull, dims=("class", "trained", "logit"))).sel(model="L")
    >>> round(float(found.intra), 12), round(float(found.inter), 12)
    (0.5, -0.1)
    """
    k = logits.sizes["class"]
    trained = logits.rename({"class": "trained"})
    own = xr.DataArray(np.eye(k), dims=("class", "trained"))
    directions = {"I": trained, "L": xr.DataArray(np.eye(k) - 1 / k, dims=("trained", "logit"))}
    found = []
    for along in directions.values():
        pull, size = (move * along).sum("logit"), (trained * along).sum("logit").sum("trained")
        intra = (pull * own).sum(["class", "trained"]) / size
        inter = (pull * (1 - own)).sum(["class", "trained"]) / ((k - 1) * size)
        found.append(xr.Dataset({"intra": intra, "inter": inter}))
    return xr.concat(found, xr.Variable("model", list(directions)))
