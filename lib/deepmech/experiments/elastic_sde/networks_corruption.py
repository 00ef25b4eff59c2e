"""Wrong labels: learning, effects and tail indices against the share p_err (Figs. 4, D.2, D.5 and D.6 of paper B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from deepmech.experiments.elastic_sde.networks_effects import MODELS, estimate, resampled, step_of
from deepmech.metrics.elasticity import Model, integrated_effects, log_slope, tail_index

LAST = 1000
"""Iterations at the end of training over which tail indices are averaged (paper B, Sec. 4.1)."""
NO_SKILL = 2 / 3
"""The share of wrong labels at which three classes' labels say nothing."""


def learning(result: xr.Dataset) -> xr.Dataset:
    """Validation loss and accuracy over p_err at the end of training: means over trials and their standard errors.

    Returns
    -------
    Dataset
        ``loss``, ``loss_error``, ``accuracy``, ``accuracy_error`` over ``label_error``; ``left_out``, trials that
        diverged and are in neither.
    """
    last = result[["validation_loss", "validation_accuracy"]].isel(at_iteration=-1, drop=True)
    error = last.std("trial", ddof=1) / np.sqrt(last.count("trial"))
    return xr.Dataset(
        {
            "loss": last["validation_loss"].mean("trial"),
            "accuracy": last["validation_accuracy"].mean("trial"),
            "loss_error": error["validation_loss"],
            "accuracy_error": error["validation_accuracy"],
            "left_out": last["validation_loss"].isnull().sum("trial"),
        }
    )


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


def tail_interval(result: xr.Dataset, models: Sequence[Model] = MODELS, n: int = 200) -> xr.Dataset:
    """95 % bootstrap intervals, over groups of trials, of the tail indices from Â and B̂; dimension ``end``."""
    ends = _resampled_tails(result, models, n).quantile([0.025, 0.975], "resample")
    return ends.rename(quantile="end").assign_coords(end=["low", "high"])


def transitions(result: xr.Dataset, n: int = 200) -> xr.Dataset:
    """95 % bootstrap intervals of the two places that the paper names; dimension ``end``.

    Returns
    -------
    Dataset
        ``crosses``: p_err at which the smaller tail index first rises to 1, I-model; ``overtakes``: the last at which
        the index of the inter-class effect changes places with that of the intra-class effect, L-model. Resamples in
        which there is none count as 1; ``found`` (over ``place``) is the share of the others.
    """
    tails = _resampled_tails(result, MODELS, n)
    least, lead = tails["least"].sel(model="I"), tails["lead"].sel(model="L")
    places = np.array([[crossing(least.isel(resample=r), 1.0), switches(lead.isel(resample=r))] for r in range(n)])
    low, high = np.quantile(np.where(np.isfinite(places), places, 1.0), [0.025, 0.975], axis=0)
    values = {name: ("end", [low[i], high[i]]) for i, name in enumerate(("crosses", "overtakes"))}
    share = ("place", np.isfinite(places).mean(0))
    return xr.Dataset(values | {"found": share}, {"end": ["low", "high"], "place": ["crosses", "overtakes"]})


def _resampled_tails(result: xr.Dataset, models: Sequence[Model], n: int) -> xr.Dataset:
    """Tail indices from Â and B̂ of resampled groups of trials."""
    means = resampled(result, n)
    last = max(1, round(LAST / step_of(means)))
    rows = []
    for model in models:
        both = integrated_effects(means, model)
        rows.append(xr.Dataset({"intra": tail_index(both["A"], "A", last), "inter": tail_index(both["B"], "A", last)}))
    found = xr.concat(rows, xr.Variable("model", list(models)), combine_attrs="drop")
    found["least"] = np.minimum(found["intra"], found["inter"])
    found["lead"] = found["inter"] - found["intra"]
    return found


def crossing(curve: xr.DataArray, level: float) -> float:
    """The first p_err at which a curve over ``label_error`` rises to ``level``, linear in between; nan if none."""
    p, y = curve["label_error"].values, curve.values
    for i in range(1, len(p)):
        if y[i - 1] < level <= y[i]:
            return float(p[i - 1] + (level - y[i - 1]) / (y[i] - y[i - 1]) * (p[i] - p[i - 1]))
    return float("nan")


def switches(curve: xr.DataArray) -> float:
    """The last p_err at which a curve over ``label_error`` changes sign (linear in between); nan if it never does."""
    p, y = curve["label_error"].values, curve.values
    at = np.flatnonzero(np.sign(y[1:]) != np.sign(y[:-1]))
    if not len(at):
        return float("nan")
    i = at[-1]
    return float(p[i] - y[i] * (p[i + 1] - p[i]) / (y[i + 1] - y[i]))


def gaps(result: xr.Dataset, window: int = 351, models: Sequence[Model] = MODELS, mean: str = "mean") -> xr.Dataset:
    """Effects over p_err, and the same times the mean norm of the logits (Fig. D.6).

    Returns
    -------
    Dataset
        As :func:`~deepmech.experiments.elastic_sde.networks_effects.estimate`, with ``norm`` (label_error, time), the
        mean over classes of |X̄ᵏ|, ``intra_norm`` and ``inter_norm``; and over ``model`` and ``label_error``: ``apart``,
        the mean over training of |α̂ − β̂|, and ``apart_norm``, the same of the products.
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
