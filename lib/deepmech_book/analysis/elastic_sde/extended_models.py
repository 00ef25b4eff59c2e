"""Unequal classes, wrong labels, other directions and other effects: Appendix E of paper B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife
from deepmech.core.labels import over
from deepmech.metrics.elasticity import margins, relative_difference
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import ElasticSDE, simulate
from deepmech_book.analysis.elastic_sde.effects import late, late_mean, without_groups
from deepmech_book.sweeps.elastic_sde import extension_models
from deepmech_book.sweeps.elastic_sde.networks import unequal
from deepmech_book.sweeps.elastic_sde.paths import tabulated_paths

__all__ = [
    "by_role",
    "distance_ratio",
    "late_distances",
    "share_separated",
    "unequal_networks",
    "with_band",
]


# --- unequal classes --------------------------------------------------------------------------------------------------


def _compared(case: xr.Dataset, balanced: xr.Dataset, fitted: xr.Dataset, since: int) -> xr.Dataset:
    """:func:`unequal_networks` of one case."""
    p = np.array(unequal(case.sizes["class"], int(case["rare"]), float(case["ratio"])))
    time = case["slow_time"].values
    step, end = float(time[1] - time[0]), late(len(time))
    drift = extension_models.drift("L", np.empty(0), p)
    (clean, fewer_clean), (real, fewer_real) = (without_groups(d) for d in (balanced, case))
    n, m = fewer_clean.sizes["group"], fewer_real.sizes["group"]
    order = ("group", "time", "class", "logit")
    clean = xr.concat([clean, fewer_clean, *[clean] * m], "group").transpose(*order)
    x = xr.concat([real, *[real] * n, fewer_real], "group").transpose(*order).values
    best = [tabulated_paths(drift, fitted["intra"], fitted["inter"], one[since], step, substeps=8) for one in x]
    guesses = {
        "model": np.stack(best),
        "balanced networks": clean.values,
        "unmoved logits": np.broadcast_to(x[:, :1], x.shape),
    }
    far = [relative_difference(x[:, end], g[:, end]).values.mean(1) for g in guesses.values()]
    parts: dict[str, Any] = {
        "margin": (("what", "time", "class"), margins(x).values),
        "distance": (("what", "model", "class"), np.stack(far, 1)),
    }
    for name, (dims, v) in parts.items():
        ends = jackknife(v[0], v[1 : n + 1], v[n + 1 :], scatter="symmetric").interval
        parts[name] = dims, np.stack([v[0], *ends])
    parts["prior"] = "class", np.log(p) - np.log(p).mean()
    coords = {"what": ["value", "low", "high"], "time": time, "model": list(guesses)}
    return xr.Dataset(parts, coords | {"class": case["class"].values})


def unequal_networks(trained: xr.Dataset) -> xr.Dataset:
    """Margins of networks of which a class is rare, and how far the L-model's class means are from theirs, late.

    The L-model is that which follows balanced networks best from the time on at which their margins exceed their noise
    (:func:`deepmech_book.sweeps.elastic_sde.extension_models.fit`); its pulls are weighted by the probabilities of the
    classes.

    Parameters
    ----------
    trained : Dataset
        Results of networks over ``case``, with ``rare`` (the class) and ``ratio`` (how much less often it is drawn, 1
        for the balanced ones), and ``group_mean``.

    Returns
    -------
    Dataset
        Over ``case`` (the unequal ones) and ``class``: ``margin`` (and ``time``), own-class margins; ``distance``,
        relative differences over the last fifth of training, of ``model`` ("model": the fitted one with the classes'
        weights, "balanced networks" and "unmoved logits"); ``prior``, log p less its mean. ``what`` is value, low,
        high: over groups of trials of both kinds of networks, but not of the fit. ``fitted_from`` is the iteration at
        which the fit starts.
    """
    ratio = trained["ratio"].values
    balanced, uneven = trained.isel(case=int(np.argmin(ratio))), trained.isel(case=np.flatnonzero(ratio > 1))
    groups = balanced["group_mean"].rename(slow_time="time").astype(float)
    since = extension_models.begins(groups)
    fitted = extension_models.fit(groups.isel(time=slice(since, None)).mean("group"), "L")
    rows = [_compared(uneven.isel(case=i), balanced, fitted, since) for i in range(uneven.sizes["case"])]
    together = xr.concat(rows, xr.Variable("case", uneven["case"].values)).assign(fitted_from=float(fitted["time"][0]))
    return together.assign_coords({name: ("case", uneven[name].values) for name in ("rare", "ratio")})


def by_role(values: xr.DataArray) -> xr.DataArray:
    """Means over which class is rare, for the rare one and for the others.

    Parameters
    ----------
    values : DataArray
        Over ``case``, with the coordinates ``rare`` and ``ratio``, and ``class``.

    Returns
    -------
    DataArray
        Over ``role`` ("rare", "others") and ``ratio``.
    """
    own = values["class"] == values["rare"]
    roles = [values.where(own).mean("class"), values.where(~own).mean("class")]
    return xr.concat(roles, xr.Variable("role", ["rare", "others"])).groupby("ratio").mean("case")


def with_band(values: xr.DataArray) -> Estimate:
    """Values and the ends of their band, of an array over ``what`` (value, low, high)."""
    value, low, high = (values.sel(what=name, drop=True) for name in ("value", "low", "high"))
    return Estimate(value, low, high)


# --- wrong labels -----------------------------------------------------------------------------------------------------


def share_separated(fractions: Sequence[float], n_runs: int) -> xr.DataArray:
    """Share of runs of the I-model in which two of three classes are separated at t = 60, with wrong labels.

    Twenty samples of each class start about the corners of a triangle of side 1. α = 1, β = −1/2.

    Parameters
    ----------
    fractions : sequence of float
        Shares of wrong labels, spread evenly over the other classes.
    n_runs : int
        Runs of each.

    Returns
    -------
    DataArray
        Over ``p_err``, along the line through the first two class means.
    """
    angles = 2 * np.pi * np.arange(3) / 3
    x0 = np.stack([np.cos(angles), np.sin(angles)], 1) / np.sqrt(3)
    mixed = ElasticSDE(1.0, -0.5, 3, 2, label_mixing=over("p_err", fractions))
    run = simulate(mixed, [60.0], x0, 20, n_runs, 0.2, mean="infinite")
    return separated_along(run.feature_value.isel(time=0), x0[1] - x0[0]).sel(pair="0-1").mean("run")


# --- directions (Eq. E.1) ---------------------------------------------------------------------------------------------


def late_distances(fits: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """Relative differences of fitted models on trials not seen, mean over the last fifth of training; over ``data``."""
    return xr.concat([late_mean(one["distance"]) for one in fits.values()], xr.Variable("data", list(fits)))


def distance_ratio(distance: xr.DataArray, model: str, base: str, n: int) -> Estimate:
    """Relative difference of a model by another's: median over halvings with its interval.

    Halvings share trials; the interval is that of Nadeau and Bengio.

    Parameters
    ----------
    distance : DataArray
        Over ``split``, ``model`` and any others.
    model, base : str
        Which models.
    n : int
        Trials that were halved.
    """
    ratio = distance.sel(model=model, drop=True) / distance.sel(model=base, drop=True)
    middle = ratio.median("split")
    logs, centre = (xr.apply_ufunc(np.log, one) for one in (ratio, middle))
    between = estimate(logs, "split", "skewed", overlap=1.0, at=centre).map(np.exp)
    return replace(between, value=middle, n=n)


def beside_model(distance: xr.DataArray, model: str, rival: str, base: str, n: int) -> Estimate:
    """:func:`distance_ratio` of a model, beside that of a rival in the same halvings."""
    own, null = (distance_ratio(distance, one, base, n) for one in (model, rival))
    by = distance.sel(model=base, drop=True)
    less = (distance.sel(model=model, drop=True) - distance.sel(model=rival, drop=True)) / by
    apart = estimate(less, "split", "skewed", overlap=1.0, at=less.median("split"))
    return replace(own, null=null.value, difference=apart.interval)
