"""Clouds of logits: how they part along a direction, and the plane of their means (Figs. 1 and D.10 of paper B).

``result`` is a result of :mod:`deepmech_book.sweeps.elastic_sde.networks`: ``logits`` (trial, moment, logit),
``label`` (trial, moment), ``mean`` (time, class, logit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife, leave_one_out
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import Model
from deepmech_book.analysis.elastic_sde import effects, imitation
from deepmech_book.analysis.elastic_sde.logits import direction, overlap
from deepmech_book.sweeps.elastic_sde import networks

__all__ = [
    "BINS",
    "END",
    "accuracies",
    "as_trials",
    "best_accuracy",
    "in_the_plane",
    "least_overlapping_direction",
    "mean_angle",
    "over_networks",
    "over_trial_groups",
    "over_trials",
    "plane_angles",
    "projected_quantiles",
    "share_inside",
    "shuffled_labels",
    "simulated_medians",
    "stays_below",
]

BINS = 25
"""Bins of time over which quantiles of single logits are taken, where there are enough samples."""
END = slice(-10, None)
"""The last of the recorded moments, which count as the end of training."""


def in_the_plane(logits: xr.DataArray) -> xr.DataArray:
    """Coordinates of three logits in the plane across (1, 1, 1): (X₁ − X₂)/√2 and (X₁ + X₂ − 2 X₃)/√6.

    Parameters
    ----------
    logits : DataArray
        Over ``logit`` (three of them) and any others.

    Returns
    -------
    DataArray
        Over the others and ``axis``. What is added to all logits does not matter, and distances across (1, 1, 1) stay.

    Examples
    --------
    >>> in_the_plane(xr.DataArray([3.0, 1.0, 1.0], dims="logit")).round(3).values.tolist()
    [1.414, 0.816]
    """
    axes = xr.DataArray([[1, -1, 0], [1, 1, -2]] / np.sqrt([[2], [6]]), dims=("axis", "logit"))
    return logits.astype(float) @ axes


def projected_quantiles(result: xr.Dataset, pairs: Mapping[str, tuple[int, int]]) -> xr.Dataset:
    """Where the samples of each class lie along the difference of two final class means, over time (Fig. 1(b)).

    Times are dealt into :data:`BINS` bins, or fewer, such that a bin holds about twenty samples of a class.

    Parameters
    ----------
    result : Dataset
        Of networks; trials that diverged have no logits, and are left out.
    pairs : mapping
        Names of pairs of classes (k, l), whose direction is (X̄ᵏ − X̄ˡ)/|X̄ᵏ − X̄ˡ| (Eq. C.24).

    Returns
    -------
    Dataset
        ``low``, ``median`` and ``high`` (quantiles 0.025, 0.5, 0.975) over ``pair``, ``time`` and ``class``, in units
        of the logits; nan where nobody drew a class.
    """
    z = result["logits"].transpose("moment", "trial", "logit").values.astype(float)
    drawn, none = result["label"].transpose("moment", "trial").values, np.full(3, np.nan)
    rows = []
    for k, other in pairs.values():
        along = z @ direction(result["mean"], k, other)
        label = np.where(np.isfinite(along), drawn, -1)
        full = np.isfinite(along).sum() // (20 * result.sizes["class"])  # twenty samples of a class in a bin
        bins = np.array_split(np.arange(len(along)), max(1, min(BINS, len(along), full)))
        classes = [[along[b][label[b] == c] for c in range(result.sizes["class"])] for b in bins]
        rows.append([[np.quantile(x, [0.025, 0.5, 0.975]) if x.size else none for x in row] for row in classes])
    time = [float(result["moment"].values[b].mean()) for b in bins]
    labels = {"pair": list(pairs), "time": time, "class": result["class"].values}
    quantiles = np.array(rows)
    names = ("low", "median", "high")
    return xr.Dataset({name: (tuple(labels), quantiles[..., i]) for i, name in enumerate(names)}, labels)


def simulated_medians(result: xr.Dataset, estimator: Model | str, pairs: Mapping[str, tuple[int, int]]) -> xr.DataArray:
    """Median paths of the L-model with effects read off networks, along the directions of :func:`projected_quantiles`.

    Parameters
    ----------
    result, pairs
        As there.
    estimator : {"I", "L-program", "L", "L-paper", "none"}
        Whose formulas give the effects (:func:`~deepmech_book.analysis.elastic_sde.imitation.imitate`).

    Returns
    -------
    DataArray
        Over ``pair``, ``time`` and ``class``, in units of the logits.
    """
    median = imitation.imitate(result, estimator)["median"]  # type: ignore[arg-type]
    paths = [median @ xr.DataArray(direction(result["mean"], *pair), dims="logit") for pair in pairs.values()]
    together = xr.concat(paths, xr.Variable("pair", list(pairs)))
    return together.assign_coords({"class": result["class"].values})


def share_inside(paths: xr.DataArray, low: xr.DataArray, high: xr.DataArray) -> xr.DataArray:
    """Share of times at which paths lie between two others.

    Parameters
    ----------
    paths : DataArray
        Over ``time`` and any others; interpolated to the times of the other two.
    low, high : DataArray
        The two others.

    Examples
    --------
    >>> line = xr.DataArray([0.0, 4.0], {"time": [0.0, 4.0]}, "time")
    >>> level = xr.DataArray([1.0, 1.0, 1.0, 1.0], {"time": [0.5, 1.5, 2.5, 3.5]}, "time")
    >>> share_inside(line, level, 3 * level).item()
    0.5
    """
    at = paths.interp(time=low["time"], kwargs={"fill_value": "extrapolate"})
    return ((at >= low) & (at <= high)).mean("time")


def accuracies(result: xr.Dataset) -> xr.DataArray:
    """Accuracy on training samples just before their own step, and on validation images, at the same iterations.

    Parameters
    ----------
    result : Dataset
        Of networks with one trial each: ``accuracy`` over ``time``, ``validation_accuracy`` over ``at_iteration``.

    Returns
    -------
    DataArray
        Over ``set`` ("training", "validation"), ``iteration`` and the other dimensions, from 0 to 1. Training accuracy
        is that of the nearest recorded time; iteration 0, before which there is none, is left out.
    """
    at = result["at_iteration"].values[1:]
    known = result["accuracy"].sel(time=at, method="nearest").rename(time="iteration").assign_coords(iteration=at)
    unseen = result["validation_accuracy"].isel(trial=0, drop=True).sel(at_iteration=at)
    unseen = unseen.rename(at_iteration="iteration")
    return xr.concat([known, unseen], xr.Variable("set", ["training", "validation"]))


def best_accuracy(accuracy: xr.DataArray) -> tuple[int, Estimate]:
    """The recorded iteration at which the mean over networks is highest, and how accurate networks are at their best.

    The iteration of each network is the one at which the mean of all others is highest: it is not chosen by the network
    that is judged.

    Parameters
    ----------
    accuracy : DataArray
        Over ``first_seed`` and ``iteration``.

    Returns
    -------
    at : int
        The iteration of all networks.
    best : Estimate
        Mean over networks, with its interval.

    Examples
    --------
    >>> two = xr.DataArray([[0.1, 0.9, 0.2], [0.1, 0.7, 0.4]], {"iteration": [1, 5, 9]}, ("first_seed", "iteration"))
    >>> at, best = best_accuracy(two)
    >>> at, round(float(best.value), 9)
    (5, 0.8)
    """
    others = leave_one_out(accuracy, "first_seed").argmax("iteration")
    best = estimate(accuracy.isel(iteration=others), "first_seed", "symmetric").map(float)
    return int(accuracy.mean("first_seed").idxmax("iteration")), best


def shuffled_labels(result: xr.Dataset) -> xr.Dataset:
    """The null: the same logits with their labels in a random order."""
    order = Stream.of("shuffled labels", 0).permutation("order", 0, result["label"].size)
    shuffled = result["label"].values.ravel()[order].reshape(result["label"].shape)
    return result.assign(label=result["label"].copy(data=shuffled))


def least_overlapping_direction(result: xr.Dataset) -> np.ndarray:
    """The difference of class means along which the pair of classes that overlaps most overlaps least, at the end.

    Returns
    -------
    ndarray, (K,)
        Of unit length.
    """
    pairs = combinations(range(result.sizes["class"]), 2)
    candidates = (direction(result["mean"], *pair) for pair in pairs)
    return min(candidates, key=lambda nu: float(overlap(result, END, nu).max()))


def over_trial_groups(result: xr.Dataset, measure: Callable[[xr.Dataset], xr.DataArray]) -> Estimate:
    """A measure of all trials, with its interval from groups of ten.

    Parameters
    ----------
    result : Dataset
        Over ``trial``.
    measure : callable
        From some trials to numbers.
    """
    size, n = networks.GROUP, result.sizes["trial"]
    groups = [measure(result.isel(trial=slice(i, i + size))) for i in range(0, n, size)]
    value = measure(result)
    found = estimate(xr.concat(groups, "group"), "group", "symmetric", at=value)
    return replace(found, value=value, n=n)


def over_networks(result: xr.Dataset, measure: Callable[[xr.Dataset], xr.DataArray]) -> Estimate:
    """A measure of a few networks, with its interval from the measures of all but one (the jackknife).

    Parameters
    ----------
    result : Dataset
        Over ``trial``, one network each.
    measure : callable
        From some networks to numbers.
    """
    without = [measure(result.drop_isel(trial=i)) for i in range(result.sizes["trial"])]
    return jackknife(measure(result), xr.concat(without, "left_out"), over="left_out", scatter="symmetric")


def over_trials(result: xr.Dataset, measure: Callable[[xr.Dataset], xr.DataArray]) -> Estimate:
    """:func:`over_trial_groups` where there are at least three groups, else :func:`over_networks`."""
    many = result.sizes["trial"] >= 3 * networks.GROUP
    return over_trial_groups(result, measure) if many else over_networks(result, measure)


def as_trials(result: xr.Dataset) -> xr.Dataset:
    """Networks that differ by ``first_seed``, one trial each, as trials of one result with the mean of their means."""
    trials = result[["logits", "label", "mean"]].isel(trial=0, drop=True).rename(first_seed="trial")
    return trials.assign(mean=trials["mean"].mean("trial"))


# --- the plane of the class means (Fig. D.10) -------------------------------------------------------------------------


def plane_angles(means: xr.DataArray) -> xr.Dataset:
    """How the plane of three class means turns: angles of its normal, in degrees from 0 to 90.

    Class means are averaged over a hundred iterations. The final direction of the normal is its mean over the last
    tenth of training.

    Parameters
    ----------
    means : DataArray
        Over ``time``, ``class`` and ``logit``, three of each.

    Returns
    -------
    Dataset
        Over ``time``: ``turn``, the angle to the final normal, and ``tilt``, the angle to (1, 1, 1).
    """
    means = means.transpose("time", "class", "logit")
    steps = means.sizes["time"] // max(1, round(100 / effects.step_of(means)))
    x = np.stack([part.mean(0) for part in np.array_split(means.values, steps)])
    time = [float(t.mean()) for t in np.array_split(means["time"].values, steps)]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    end = normal[-max(1, steps // 10) :]
    final = (end * np.sign(end @ end[-1])[:, None]).mean(0)

    def degrees(other: np.ndarray) -> np.ndarray:
        return np.degrees(np.arccos(np.clip(abs(normal @ other) / np.linalg.norm(other), 0, 1)))

    angles = {"turn": ("time", degrees(final)), "tilt": ("time", degrees(np.ones(3)))}
    return xr.Dataset(angles, {"time": time})


def mean_angle(result: xr.Dataset, name: str, part: slice) -> Estimate:
    """Mean of an angle of :func:`plane_angles` over a part of training, with its interval over groups of trials.

    Parameters
    ----------
    result : Dataset
        With ``group_mean`` (group, time, class, logit).
    name : {"turn", "tilt"}
        Which angle.
    part : slice
        Of iterations.

    Returns
    -------
    Estimate
        In degrees.
    """
    whole, without = effects.without_groups(result)
    every = [whole, *(without.isel(group=g) for g in range(without.sizes["group"]))]
    value, *rest = (float(plane_angles(means)[name].sel(time=part).mean()) for means in every)
    return jackknife(value, np.array(rest), scatter="symmetric")


def stays_below(curve: xr.DataArray, level: float) -> float:
    """The time from which on a curve stays below a level; nan if it does not.

    Parameters
    ----------
    curve : DataArray
        Over ``time``.
    level : float
        In the unit of the curve.

    Returns
    -------
    float
        A time of the curve.

    Examples
    --------
    >>> stays_below(xr.DataArray([3.0, 1.0, 2.0, 1.0], {"time": [0, 10, 20, 30]}, "time"), 1.5)
    30.0
    """
    before = np.append(False, curve >= level)
    after = curve["time"][np.flatnonzero(before)[-1] if before.any() else 0 :]
    return float(after[0]) if after.size else np.nan
