"""Intra- and inter-class effects of trained LeNets: Figs. 3, D.1, D.3 and D.4 of paper B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, jackknife, leave_one_out
from deepmech.metrics.elasticity import Model, effects, integrated_effects

MODELS: tuple[Model, ...] = ("I", "L")
LATE = 0.2
"""Share of training at its end over which models are compared with networks."""
START = 100
"""Iterations at the beginning whose mean stands for t = 0. Single means are too noisy: logits start near zero."""


def step_of(means: xr.DataArray | xr.Dataset, time: str = "time") -> float:
    """Iterations from one recorded time to the next."""
    return float(np.diff(means[time].values[:2])[0])


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
    start : iterations averaged into t = 0.

    Returns
    -------
    Dataset
        Over ``model`` and ``time``: ``A``, ``B`` (pure numbers), ``intra``, ``inter``, ``gap`` (per iteration). Where a
        mean is exactly zero and has no logarithm, A and B are taken from their neighbours.
    """
    means = class_means(result)
    found = []
    for model in models:
        both = integrated_effects(means, model, reference=max(1, round(start / step_of(means))))
        both = both.where(np.isfinite(both)).interpolate_na("time", fill_value="extrapolate")
        found.append(both.assign(effects(both, window_of(means, window))))
    return xr.concat(found, xr.Variable("model", list(models)), combine_attrs="drop")


def without_groups(result: xr.Dataset, mean: str = "group_mean") -> tuple[xr.DataArray, xr.DataArray]:
    """Class means in coarse blocks of time: over all trials, and without each group of them in turn (``group``).

    A group holds ten trials or so, and their mean scatters about symmetrically.
    """
    groups = result[mean].rename(slow_time="time")
    return groups.mean("group").astype(float), leave_one_out(groups.astype(float), "group")


def late_growth(result: xr.Dataset) -> tuple[Estimate, Estimate]:
    """Growth of Â over the second half of training by model, and the ratio of both (L by I), over groups of trials.

    A ratio has an interval only if both grow whichever group is left out.
    """

    def grown(means: xr.DataArray, model: Model) -> np.ndarray:
        a = integrated_effects(means, model)["A"]
        tenth = max(1, a.sizes["time"] // 20)
        middle = a.sizes["time"] // 2
        late, before = (a.isel(time=at).mean("time") for at in (slice(-tenth, None), slice(middle, middle + tenth)))
        return (late - before).values

    value, without = (np.stack([grown(means, m) for m in MODELS], -1) for means in without_groups(result))
    growth = jackknife(value, without, scatter="symmetric")
    logs = [np.log(np.where(g > 0, g, np.nan)) for g in (value, without)]
    ratio = jackknife(*(g[..., 1] - g[..., 0] for g in logs), scatter="symmetric").map(np.exp)
    return growth, replace(ratio, value=value[1] / value[0])


def not_finite(*integrated: xr.Dataset) -> str:
    """Why claims about integrated effects cannot be judged; empty if all are finite.

    Up to ten trials are one group, and without it nothing is left; early in training, means may lie where a model's
    formula has no logarithm.
    """
    if all(np.isfinite(one[name]).all() for one in integrated for name in "AB"):
        return ""
    return "integrated effects are not finite in this run; give more than ten trials, or train for longer"


def size_distances(estimates: xr.Dataset, skip: float = 0.05) -> xr.Dataset:
    """How far Â of different sample sizes are from one another, and those of different sets of trials (Fig. D.3).

    Parameters
    ----------
    estimates : dims (per_class, first_seed, …, time).
    skip : share of the training at its beginning that is left out, where Â is zero.

    Returns
    -------
    Dataset
        Root mean square differences over time: ``between_sizes``, of means over sets of trials, over ``pair`` of sizes;
        ``between_sets``, between two sets of trials, over ``per_class``, divided by √2: the noise that a difference of
        means over the sets has.
    """
    curves = estimates["A"].isel(time=slice(int(skip * estimates.sizes["time"]), None))
    means = curves.mean("first_seed")
    pairs = list(combinations(curves["per_class"].values.tolist(), 2))

    def rms(gap: xr.DataArray) -> xr.DataArray:
        return (gap**2).mean("time") ** 0.5

    sizes = [rms(means.sel(per_class=a, drop=True) - means.sel(per_class=b, drop=True)) for a, b in pairs]
    two = curves.isel(first_seed=0, drop=True) - curves.isel(first_seed=1, drop=True)
    names = [f"{a:g} and {b:g}" for a, b in pairs]
    return xr.Dataset(
        {"between_sizes": xr.concat(sizes, xr.Variable("pair", names)), "between_sets": rms(two) / np.sqrt(2)}
    )
