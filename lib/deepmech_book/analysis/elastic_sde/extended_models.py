"""Unequal classes, wrong labels, other directions and other effects: Appendix E of paper B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, jackknife
from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import margins, relative_difference
from deepmech.metrics.separability import separated_along
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, mean_solution, mixed_logits, simulate, tabulated_paths
from deepmech_book.analysis.elastic_sde.effects import late, late_mean, without_groups
from deepmech_book.analysis.elastic_sde.model import integrated, off, start
from deepmech_book.sweeps.elastic_sde import extension_models
from deepmech_book.sweeps.elastic_sde.networks import unequal

__all__ = [
    "by_role",
    "distance_ratio",
    "fit_balanced",
    "general_solution_errors",
    "late_distances",
    "lowest_margin",
    "rates_over_bound",
    "share_separated",
    "unequal_networks",
    "with_band",
]


# --- unequal classes --------------------------------------------------------------------------------------------------


def fit_balanced(balanced: xr.Dataset) -> tuple[int, xr.Dataset]:
    """The L-model that follows balanced networks best, from the time on at which their margins exceed their noise.

    Parameters
    ----------
    balanced : Dataset
        A result of networks, with ``group_mean``.

    Returns
    -------
    since : int
        Which of the recorded times that is.
    fitted : Dataset
        Of :func:`deepmech_book.sweeps.elastic_sde.extension_models.fit`.
    """
    groups = balanced["group_mean"].rename(slow_time="time").astype(float)
    since = extension_models.begins(groups)
    return since, extension_models.fit(groups.isel(time=slice(since, None)).mean("group"), "L")


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


def unequal_networks(uneven: xr.Dataset, balanced: xr.Dataset, fitted: xr.Dataset, since: int) -> xr.Dataset:
    """Margins of networks of which a class is rare, and how far other class means are from theirs, late.

    Parameters
    ----------
    uneven : Dataset
        Results of networks over ``case``, with ``rare`` (the class) and ``ratio`` (how much less often it is drawn).
    balanced : Dataset
        Networks that draw all classes alike.
    fitted, since
        Of :func:`fit_balanced`.

    Returns
    -------
    Dataset
        Over ``case`` and ``class``: ``margin`` (and ``time``), own-class margins; ``distance``, relative differences
        over the last fifth of training, of ``model`` ("model": the fitted one with the classes' weights, "balanced
        networks" and "unmoved logits"); ``prior``, log p less its mean. ``what`` is value, low, high: over groups of
        trials of both kinds of networks, but not of the fit.
    """
    rows = [_compared(uneven.isel(case=i), balanced, fitted, since) for i in range(uneven.sizes["case"])]
    together = xr.concat(rows, xr.Variable("case", uneven["case"].values))
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


def lowest_margin(margin: Estimate, prior: xr.DataArray) -> tuple[xr.DataArray, Estimate]:
    """When the margin of a rare class is smallest, and how small, in units of what log p says.

    Parameters
    ----------
    margin : Estimate
        Over ``ratio`` and ``time``.
    prior : DataArray
        log p less its mean, over ``ratio``; negative.

    Returns
    -------
    soonest : DataArray
        That time, over ``ratio``.
    lowest : Estimate
        The margin by the prior: 1 where it falls as far as log p. Its interval is that at that time.
    """
    soonest = margin.value.idxmin("time")
    low, high = (end.sel(time=soonest, drop=True) / prior for end in margin.interval[::-1])
    return soonest, Estimate(margin.value.min("time") / prior, low, high)


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


# --- the general model ------------------------------------------------------------------------------------------------


def general_solution_errors() -> xr.DataArray:
    """Distance of the general solution of class means from numerical integration, for each extension, over ``case``.

    Relative to the size of the solution, the largest at three times up to 4.
    """
    fading = PowerLaw(1.5, 0.6), PowerLaw(-0.5, 1.2)
    mixing = [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.1, 0.2, 0.7]]
    indefinite = [[1.0, 0.5, -0.8], [0.5, -0.7, 0.3], [-0.8, 0.3, 0.6]]
    cases = {
        "unequal classes": ElasticSDE(1.0, -0.3, 3, 2, class_weights=[0.6, 0.3, 0.1]),
        "mixed labels": ElasticSDE(1.0, -0.3, 3, 2, label_mixing=mixing),
        "symmetric effects": ElasticSDE(1.0, 1.0, 3, structure="logits", effect_matrix=indefinite),
        "Eq. E.1": ElasticSDE(1.0, -0.3, 3, structure=mixed_logits(3, 0.6)),
        "mixed labels, fading effects": ElasticSDE(*fading, 3, structure="logits", label_mixing=0.3),
    }
    times, errors = np.linspace(0, 4, 4)[1:], []
    for model in cases.values():
        x0 = start(3, model.n_features or 1)
        errors.append(off(mean_solution(model, times, x0)["mean"].values, integrated(model, times, x0)))
    return over("case", list(cases)).copy(data=errors)


def rates_over_bound(features: Sequence[int], n_draws: int = 50) -> xr.Dataset:
    """Largest rates of random positive semi-definite models over the paper's bound by Schur's theorem.

    The bound is the largest eigenvalue of E times the largest diagonal entry of H.

    Parameters
    ----------
    features : sequence of int
        Numbers p of features.
    n_draws : int
        Draws of E and H for each.

    Returns
    -------
    Dataset
        Over ``features``, the largest of the draws: ``printed``, of (E ⊗ I_p) ∘ H, which takes only the diagonal of
        each block, at most 1; ``whole``, of whole blocks E_kl H_kl, which the dynamics has, at most p.
    """
    largest = []
    for p in features:
        ratios = []
        for draw in range(n_draws):
            dice = Stream.of("elastic hadamard", draw, int(p))
            root = dice.normal("E", 0, (3, 3))
            e = root @ root.T
            shared = np.kron(dice.normal("H", 0, (3,)), np.ones(p))  # features of a class act alike
            h = np.outer(shared, shared) + 0.1 * np.eye(3 * p)
            bound = np.linalg.eigvalsh(e)[-1] * h.diagonal().max()
            inner = np.eye(p), np.ones((p, p))
            ratios.append([np.linalg.eigvalsh(np.kron(e, i) * h)[-1] / bound for i in inner])
        largest.append(np.max(ratios, 0))
    printed, whole = np.transpose(largest)
    return xr.Dataset({"printed": ("features", printed), "whole": ("features", whole)}, {"features": list(features)})
