"""Wrong labels: learning, effects and tail indices against the share p_err (Figs. 4, D.2, D.5 and D.6 of paper B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.core.statistics import Interval, crossing, interval, interval_of
from deepmech.metrics.elasticity import Model, integrated_effects, log_slope, tail_index
from deepmech_book.experiments.elastic_sde.effects import MODELS, estimate, step_of, without_groups

LAST = 1000
"""Iterations at the end of training over which tail indices are averaged (paper B, Sec. 4.1)."""
NO_SKILL = 2 / 3
"""The share of wrong labels at which three classes' labels say nothing."""


def learning(result: xr.Dataset) -> xr.Dataset:
    """Validation loss and accuracy over p_err at the end of training: means over trials and their intervals.

    Returns
    -------
    Dataset
        ``loss``, ``loss_low``, ``loss_high``, ``accuracy``, ``accuracy_low``, ``accuracy_high`` over ``label_error``;
        ``left_out``, trials that diverged and are in none of them.
    """
    found = xr.Dataset({"left_out": result["validation_loss"].isel(at_iteration=-1, drop=True).isnull().sum("trial")})
    for name in ("loss", "accuracy"):
        last = result[f"validation_{name}"].isel(at_iteration=-1, drop=True)
        found[name] = last.mean("trial")
        rows = last.transpose("label_error", "trial").values
        ends = np.array([interval(row[np.isfinite(row)]).ends for row in rows])
        found[f"{name}_low"], found[f"{name}_high"] = (("label_error", ends[:, i]) for i in (0, 1))
    return found


def expected_loss(label_error: xr.DataArray, n_classes: int = 3) -> xr.DataArray:
    """Validation loss of a network that has learnt how often labels are wrong, and nothing else amiss.

    It gives the true class the probability 1 − p_err, so its loss on true labels is −ln(1 − p_err): ln K where labels
    say nothing, and more beyond.
    """
    return label_error.copy(data=-np.log(1 - label_error.values)).rename("loss")


def tails(result: xr.Dataset, models: Sequence[Model] = MODELS, window: int = 351) -> xr.Dataset:
    """Tail indices over p_err by both of the paper's formulas, and the local slope of the gap.

    Returns
    -------
    Dataset
        Over ``source`` ("A": from Â and B̂, App. D.1.3; "alpha": from α̂ and β̂, Sec. 4.1), ``model`` and
        ``label_error``: ``intra`` r̂_α, ``inter`` r̂_β, ``least`` the smaller. Over ``model`` and ``label_error``:
        ``slope``, minus the slope of log|α̂ − β̂| over log(1 + t) in the second half of training.
    """
    found = estimate(result, window, models)
    n = max(1, round(LAST / step_of(result)))
    rows = []
    for first, second in (("A", "B"), ("intra", "inter")):
        # One formula for both: the sources differ in what is put in.
        rows.append(xr.Dataset({"intra": tail_index(found[first], last=n), "inter": tail_index(found[second], last=n)}))
    out = xr.concat(
        rows, xr.Variable("source", ["A", "alpha"]), combine_attrs="drop", coords="minimal", compat="override"
    )
    out["least"] = np.minimum(out["intra"], out["inter"])
    end = float(result["time"][-1])
    out["slope"] = log_slope(found["gap"], [end / 2, end + 1]).isel(interval=0, drop=True)
    return out


def tail_interval(result: xr.Dataset, models: Sequence[Model] = MODELS) -> xr.Dataset:
    """95 % intervals, over groups of trials, of the tail indices from Â and B̂; dimension ``end`` (low, high)."""
    whole, without = _tails_without_groups(result, models)
    found = {
        str(k): xr.concat(
            interval_of(v, without[k], dim="group", scatter="symmetric").ends, xr.Variable("end", ["low", "high"])
        )
        for k, v in whole.items()
    }
    return xr.Dataset(found)


def transitions(result: xr.Dataset) -> tuple[dict[str, Interval], float]:
    """95 % intervals of the two places that the paper names, over groups of trials, and how safe the first one is.

    Returns
    -------
    places, share
        ``crosses``: p_err at which the smaller tail index first rises to 1, I-model; ``overtakes``: the last at which
        the index of the inter-class effect changes places with that of the intra-class effect, L-model. There is no
        interval where there is no such place without one of the groups; ``share`` is that of the groups without which
        the first place is there.
    """
    whole, without = _tails_without_groups(result, MODELS)
    places, share = {}, 0.0
    for name, index, model in (("crosses", "least", "I"), ("overtakes", "lead", "L")):
        value, *each = (
            rises_to(curve, 1.0) if name == "crosses" else switches(curve)
            for curve in (whole[index].sel(model=model), *without[index].sel(model=model).transpose("group", ...))
        )
        places[name] = interval_of(value, np.array(each), scatter="symmetric")
        share = float(np.isfinite(each).mean()) if name == "crosses" else share
    return places, share


def _tails_without_groups(result: xr.Dataset, models: Sequence[Model]) -> tuple[xr.Dataset, xr.Dataset]:
    """Tail indices from Â and B̂ of all groups of trials, and without each of them."""
    whole, without = without_groups(result)
    return _tails(whole, models), _tails(without, models)


def _tails(means: xr.DataArray, models: Sequence[Model]) -> xr.Dataset:
    last = max(1, round(LAST / step_of(means)))
    rows = []
    for model in models:
        both = integrated_effects(means, model)
        rows.append(xr.Dataset({"intra": tail_index(both["A"], "A", last), "inter": tail_index(both["B"], "A", last)}))
    found = xr.concat(rows, xr.Variable("model", list(models)), combine_attrs="drop")
    found["least"] = np.minimum(found["intra"], found["inter"])
    found["lead"] = found["inter"] - found["intra"]
    return found


def rises_to(curve: xr.DataArray, level: float) -> float:
    """The first p_err at which a curve over ``label_error`` rises to ``level``; nan if none."""
    return crossing(curve["label_error"], curve, level, way="rises")


def switches(curve: xr.DataArray) -> float:
    """The last p_err at which a curve over ``label_error`` changes sign; nan if it never does."""
    return crossing(curve["label_error"], curve, way="either", last=True)


def gaps(result: xr.Dataset, window: int = 351, models: Sequence[Model] = MODELS, mean: str = "mean") -> xr.Dataset:
    """Effects over p_err, and the same times the mean norm of the logits (Fig. D.6).

    Returns
    -------
    Dataset
        As :func:`~deepmech_book.experiments.elastic_sde.effects.estimate`, with ``norm`` (label_error, time),
        the mean over classes of |X̄ᵏ|, ``intra_norm`` and ``inter_norm``; and over ``model`` and ``label_error``:
        ``apart``, the mean over training of |α̂ − β̂|, and ``apart_norm``, the same of the products.
    """
    found = estimate(result, window, models, mean)
    norm = ((result[mean].astype(float) ** 2).sum("logit") ** 0.5).mean("class")
    found["norm"] = norm
    found["intra_norm"], found["inter_norm"] = found["intra"] * norm, found["inter"] * norm
    found["apart"] = abs(found["gap"]).mean("time")
    found["apart_norm"] = abs(found["gap"] * norm).mean("time")
    return found


def strongest_gap(result: xr.Dataset, window: int = 1001) -> xr.Dataset:
    """Largest smoothed gap α̂ − β̂ (I-model) over p_err, beside what App. E makes of the model.

    Labels that are wrong with probability p and spread evenly multiply the growth rate of class differences in the
    I-model by 1 − p K/(K − 1). The first 500 iterations, where logits are smallest and noise is largest, are left out.

    Returns
    -------
    Dataset
        ``measured`` and ``predicted`` over ``label_error``, both as a share of their value without wrong labels.
    """
    gap = estimate(result, window, ("I",))["gap"].isel(model=0, drop=True)
    peak = gap.isel(time=slice(round(500 / step_of(result)), None)).max("time")
    k = result.sizes["class"]
    predicted = 1 - result["label_error"].values * k / (k - 1)
    return xr.Dataset({"measured": peak / float(peak.isel(label_error=0)), "predicted": ("label_error", predicted)})
