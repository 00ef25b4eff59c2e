"""Effects within and between classes as they are read off class means of networks, and what pages take of curves."""

import numpy as np
import xarray as xr

from deepmech.core.estimates import jackknife, leave_one_out
from deepmech.metrics.elasticity import effects, integrated_effects
from deepmech_book.sweeps import shipped
from deepmech_book.sweeps.elastic_sde.networks import as_published

MODELS = ("I", "L-program")
"""Estimators that claims are judged by: those of the authors' program. Ours by margins, for any K, is ``"L"``."""
LATE = 0.2
"""Share of training at its end over which models are compared with networks."""
START = 100
"""Iterations at the beginning whose mean stands for t = 0. Single means are too noisy: logits start near zero."""


def step_of(means):
    """Iterations from one recorded time to the next."""
    return float(np.diff(means["time"].values[:2])[0])


def window_of(means, iterations):
    """A window of about that many iterations as an odd number of recorded times, at least 5."""
    return max(5, 2 * round((iterations / step_of(means) - 1) / 2) + 1)


def late(n):
    """The last fifth of ``n`` recorded times, at least one."""
    return slice(-max(1, int(LATE * n)), None)


def late_mean(curves):
    """Mean of curves over the last fifth of their times."""
    return curves.isel(time=late(curves.sizes["time"])).mean("time")


def last_tenth(curves):
    """Mean of curves over the last tenth of their times."""
    return curves.isel(time=slice(-(curves.sizes["time"] // 10), None)).mean("time")


def start_and_end(curve):
    """Means over the first 3 % and over the last tenth of training, over ``part`` ("start", "end")."""
    start = curve.isel(time=slice(3 * curve.sizes["time"] // 100)).mean("time")
    return xr.concat([start, last_tenth(curve)], xr.Variable("part", ["start", "end"]))


def mean_norm(means):
    """Mean over classes of the norm of a class mean, in units of the logits."""
    return ((means**2).sum("logit") ** 0.5).mean("class")


def published(which, **changed):
    """The first set of trials of a configuration of the paper, which has no dimension for sets."""
    return shipped.result(as_published(which, **changed)).isel(first_seed=0)


def trials(networks):
    """How many trials there are, in all sets together."""
    return int(networks.sizes["trial"] * networks.sizes.get("first_seed", 1))


def class_means(result):
    """Class means of a result of trials; where nobody drew a class, those of its neighbours in time."""
    means = result["mean"].astype(float)
    return means.interpolate_na("time", fill_value="extrapolate") if means.isnull().any() else means


def estimate(result, window=191, models=MODELS, start=START):
    """Â, B̂, α̂ and β̂ of a result of trials, by ``model``; per iteration, smoothed over a ``window`` of iterations.

    ``start`` iterations are averaged into t = 0; with 1, as in the authors' program, the first record stands alone.
    Where a mean is exactly zero and has no logarithm, A and B are taken from their neighbours.
    """
    means = class_means(result)
    found = []
    for model in models:
        both = integrals_of(means, model, start)
        found.append(both.assign(effects(both, window_of(means, window))))
    return xr.concat(found, xr.Variable("model", list(models)), combine_attrs="drop")


def integrals(result, models=MODELS, start=START):
    """Â and B̂ alone, by ``model``, which no filter smooths."""
    both = [integrals_of(class_means(result), model, start) for model in models]
    return xr.concat(both, xr.Variable("model", list(models)), combine_attrs="drop")


def integrals_of(means, model, start):
    both = integrated_effects(means, model, reference=max(1, round(start / step_of(means))))
    return both.where(np.isfinite(both)).interpolate_na("time", fill_value="extrapolate")


def without_groups(result):
    """Class means in coarse blocks of time: over all trials, and without each group of them in turn (``group``).

    A group holds ten trials or so, and their mean scatters about symmetrically.
    """
    groups = result["group_mean"].rename(slow_time="time")
    return groups.mean("group").astype(float), leave_one_out(groups.astype(float), "group")


def integrated_by_model(means, models=MODELS):
    """Â and B̂ of class means, over ``model`` too."""
    both = [integrated_effects(means, model) for model in models]
    return xr.concat(both, xr.Variable("model", list(models)), combine_attrs="drop")


def over_groups(result, measure):
    """A measure of class means in coarse blocks of time, with its interval over groups of trials."""
    return jackknife(*map(measure, without_groups(result)), over="group", scatter="symmetric")
