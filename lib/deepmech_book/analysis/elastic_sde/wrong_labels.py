"""What wrong labels do to networks and to the effects read off them: Figs. 4, D.2, D.5 and D.6 of paper B.

``result`` is a result of :mod:`deepmech_book.sweeps.elastic_sde.networks` over ``label_error``; ``means`` are
class means over ``time``, ``class`` and ``logit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, crossing, estimate, jackknife, stack, unknown
from deepmech.metrics.elasticity import effects as derivatives
from deepmech.metrics.elasticity import integrated_effects, log_slope, tail_index
from deepmech_book.analysis.elastic_sde import effects
from deepmech_book.analysis.elastic_sde.curves import mean_norm, start_and_end

__all__ = [
    "FOUR",
    "about_one",
    "about_one_by_draw",
    "at_the_end",
    "at_the_ends",
    "by_draw",
    "change_of_loss",
    "ends_by_maximum",
    "fading_slope",
    "final_gap",
    "finite",
    "gap_in_logits",
    "indices_by_program",
    "indices_of_groups",
    "indices_over_groups",
    "intra_in_logits",
    "measured_over_groups",
    "overtaking_share",
    "tail_indices",
    "validation_at",
    "validation_curves",
]

FOUR = (0.0, 0.3, 2 / 3, 0.8)
"""Shares of wrong labels that Figs. D.5 and D.6 show."""

TOO_FEW = "integrated effects are not finite in this run; give more than ten trials, or train for longer"
"""Up to ten trials are one group, without which nothing is left; early on, means may have no logarithm."""


def by_draw(result: xr.Dataset, name: str) -> xr.DataArray:
    """A validation result, mean over the trials that share images and labels.

    Parameters
    ----------
    result : Dataset
        ``validation_loss`` and ``validation_accuracy`` over ``label_error``, ``trial`` and ``at_iteration``; as many
        draws as it has of ``group``.
    name : {"loss", "accuracy"}
        Which result.

    Returns
    -------
    DataArray
        Over ``label_error``, ``draw`` and ``at_iteration``.
    """
    trials = result[f"validation_{name}"].transpose("label_error", "trial", "at_iteration").astype(float)
    size = trials.sizes["trial"] // result.sizes["group"]
    return trials.coarsen(trial=size).mean().rename(trial="draw")


def at_the_end(result: xr.Dataset, name: str) -> Estimate:
    """:func:`by_draw` after the last iteration, mean with its interval over draws; over ``label_error``."""
    return estimate(by_draw(result, name).isel(at_iteration=-1, drop=True), "draw", "symmetric")


def at_the_ends(results: Mapping[str, xr.Dataset], name: str) -> Estimate:
    """:func:`at_the_end` of several results, over ``set`` too."""
    return stack({key: at_the_end(one, name) for key, one in results.items()}, "set")


def validation_curves(result: xr.Dataset) -> Estimate:
    """Validation loss and accuracy over training, means with their intervals over draws.

    Returns
    -------
    Estimate
        Over ``of`` ("validation loss", "validation accuracy"), ``label_error`` and ``at_iteration``.
    """
    names = ("loss", "accuracy")
    both = {f"validation {name}": estimate(by_draw(result, name), "draw", "symmetric") for name in names}
    return stack(both, "of")


def validation_at(result: xr.Dataset, share: float) -> Estimate:
    """Validation accuracy at the end, with about this share of wrong labels."""
    end = at_the_end(result, "accuracy")
    return end.map(lambda v: float(v.sel(label_error=share, method="nearest")))


def change_of_loss(result: xr.Dataset, shares: Sequence[float]) -> Estimate:
    """By how much the validation loss on true labels changes over training, with about these shares of wrong labels."""
    loss = by_draw(result, "loss").sel(label_error=shares, method="nearest")
    moved = loss.isel(at_iteration=-1, drop=True) - loss.isel(at_iteration=0, drop=True)
    return estimate(moved, "draw", "symmetric")


# --- tail indices -----------------------------------------------------------------------------------------------------


def tail_indices(intra: xr.DataArray, inter: xr.DataArray) -> xr.Dataset:
    """Tail indices r̂ of both effects over the last 1,000 iterations (Eq. D.19), and the smaller one.

    Parameters
    ----------
    intra, inter : DataArray
        Â and B̂ (App. D.1.3), or α̂ and β̂ (Section 4.1), over ``time`` and any others.

    Returns
    -------
    Dataset
        ``intra``, ``inter`` and ``least`` over the others.
    """
    last = max(1, round(1000 / effects.step_of(intra)))
    both = xr.Dataset({"intra": tail_index(intra, last=last), "inter": tail_index(inter, last=last)})
    return both.assign(least=np.minimum(both["intra"], both["inter"]))


def indices_of_groups(result: xr.Dataset) -> list[xr.Dataset]:
    """:func:`tail_indices` of class means in coarse blocks of time: of all trials, and without each group of them."""
    both = [effects.integrated_by_model(means) for means in effects.without_groups(result)]
    return [tail_indices(one["A"], one["B"]) for one in both]


def indices_by_program(result: xr.Dataset, window: int = 1001, name: str = "integrals") -> xr.Dataset:
    """:func:`tail_indices` of all trials with the first record as the start, as in the authors' program.

    Parameters
    ----------
    result : Dataset
        Of networks, with ``mean``.
    window : int
        Of the smoothing filter, in iterations; rates depend on it.
    name : {"integrals", "rates"}
        Whether Â and B̂ (App. D.1.3) or α̂ and β̂ (Section 4.1) are looked at.
    """
    if name == "integrals":
        both = effects.integrals(result, start=1)
        return tail_indices(both["A"], both["B"])
    rates = effects.estimate(result, window, start=1)
    return tail_indices(rates["intra"], rates["inter"])


def indices_over_groups(result: xr.Dataset, measure: Callable[[xr.Dataset], Any]) -> Estimate:
    """A measure of tail indices by the program's start, with its interval over groups of trials.

    The scatter over groups is that of means in coarse blocks of time, of which the first is the start.

    Parameters
    ----------
    result : Dataset
        Of networks, with ``mean`` and ``group_mean``.
    measure : callable
        From indices (:func:`tail_indices`) to a number or an array.
    """
    _, without = indices_of_groups(result)
    rest = [measure(without.isel(group=g)) for g in range(without.sizes["group"])]
    value = measure(indices_by_program(result))
    if not isinstance(value, xr.DataArray):
        return jackknife(value, np.array(rest), scatter="symmetric")
    return jackknife(value, xr.concat(rest, "group"), over="group", scatter="symmetric")


def about_one(indices: xr.Dataset) -> xr.DataArray:
    """How far the smaller index is below 1 with half of the labels wrong, and above it with two thirds, by the I-model.

    Returns
    -------
    DataArray
        Over ``side``; both are positive where the index crosses 1 between these shares.
    """
    least = indices["least"].sel(model="I")
    half, most = (least.sel(label_error=share, method="nearest") for share in (0.5, 2 / 3))
    return xr.concat([1 - half, most - 1], "side")


def about_one_by_draw(result: xr.Dataset) -> xr.DataArray:
    """:func:`about_one` of the trials of each draw of images and labels by themselves, by the program's start.

    Parameters
    ----------
    result : Dataset
        Of networks, with ``group_mean``; a draw has as many trials as one figure of the paper.

    Returns
    -------
    DataArray
        Over ``side`` and ``draw``.
    """
    means = result["group_mean"].rename(slow_time="time", group="draw").astype(float)
    return about_one(indices_by_program(xr.Dataset({"mean": means})))


def overtaking_share(indices: xr.Dataset) -> float:
    """The last share of wrong labels at which the two indices change places, by the L-model; nan if they never do."""
    one = indices.sel(model="L-program")
    return crossing(one["label_error"], one["inter"] - one["intra"], direction="either", last=True)


def finite(*integrals: xr.Dataset) -> bool:
    """Whether all Â and B̂ are finite numbers."""
    return all(bool(np.isfinite(one[name]).all()) for one in integrals for name in ("A", "B"))


def _late_slope(integrals: xr.Dataset, window: int, since: float) -> xr.DataArray:
    """Local slope of the gap between the effects from a share of training on."""
    end = float(integrals["time"][-1])
    gap = derivatives(integrals, effects.window_of(integrals, window))["gap"]
    return log_slope(gap, [since * end, end + 1]).isel(interval=0, drop=True)


def fading_slope(result: xr.Dataset, window: int, since: float = 0.5) -> Estimate:
    """The power r with which the gap α̂ − β̂ fades over the second half of training, by the I-model.

    Parameters
    ----------
    result : Dataset
        Of networks, with ``group_mean``.
    window : int
        Of the filter, in iterations.
    since : float
        From which share of training on, in place of a half.

    Returns
    -------
    Estimate
        Without wrong labels, with its interval over groups of trials; null: with two thirds of the labels wrong. Of no
        number (:data:`TOO_FEW`) where effects are not finite.
    """
    shares = {"label_error": [0.0, 2 / 3]}
    both = [integrated_effects(m.sel(shares, method="nearest"), "I") for m in effects.without_groups(result)]
    if not finite(*both):
        return unknown(TOO_FEW)
    (value, null), left = _late_slope(both[0], window, since), _late_slope(both[1], window, since).isel(label_error=0)
    return replace(jackknife(value, left, over="group", scatter="symmetric"), null=null)


# --- the gap between the effects (Figs. D.5 and D.6) ------------------------------------------------------------------


def final_gap(means: xr.DataArray) -> xr.DataArray:
    """Â − B̂ at the end of training, mean over the last five times; over ``model`` too."""
    both = effects.integrated_by_model(means)
    return (both["A"] - both["B"]).isel(time=slice(-5, None)).mean("time")


def gap_in_logits(means: xr.DataArray) -> xr.DataArray:
    """Size of the gap α̂ − β̂ in units of logits per iteration, mean over training; over ``model`` too."""
    return abs(derivatives(effects.integrated_by_model(means), 5)["gap"] * mean_norm(means)).mean("time")


def ends_by_maximum(curve: xr.DataArray) -> xr.DataArray:
    """Start (the first 3 %) and end (the last tenth) of a curve as shares of its maximum, without wrong labels.

    Parameters
    ----------
    curve : DataArray
        Over ``label_error`` and ``time``.

    Returns
    -------
    DataArray
        Over ``part`` ("start", "end") and the other dimensions.
    """
    return (start_and_end(curve) / curve.max("time")).sel(label_error=0.0)


def intra_in_logits(means: xr.DataArray) -> xr.DataArray:
    """:func:`ends_by_maximum` of α̂ times the mean norm of the class means; over ``model`` too."""
    return ends_by_maximum(derivatives(effects.integrated_by_model(means), 5)["intra"] * mean_norm(means))


def measured_over_groups(result: xr.Dataset, measure: Callable[[xr.DataArray], Any]) -> Estimate:
    """A measure of class means with its interval over groups of trials; of no number where effects are not finite."""
    integrals = [effects.integrated_by_model(means) for means in effects.without_groups(result)]
    return effects.over_groups(result, measure) if finite(*integrals) else unknown(TOO_FEW)
