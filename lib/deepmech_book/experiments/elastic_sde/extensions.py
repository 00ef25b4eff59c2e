"""Unequal classes and wrong labels (paper B, App. E): networks predicted from the effects of undisturbed ones.

The model has its effects from networks with balanced classes and true labels, and the sampling from App. E: the blocks
of the drift are weighted by the p_l with which classes are drawn, and by the P_cl with which labels are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import jackknife
from deepmech.core.labels import over
from deepmech.metrics.elasticity import effects, integrated_effects, margins, relative_difference
from deepmech.simulators.elastic_sde import tabulated_paths
from deepmech.sweeps import Sweep, each, recomputed, result
from deepmech_book.experiments.elastic_sde import networks
from deepmech_book.experiments.elastic_sde.effects import late, late_mean, step_of, without_groups
from deepmech_book.experiments.elastic_sde.extensions_fit import begins, drift, evenly, fit, halves
from deepmech_book.experiments.elastic_sde.training import unequal

WINDOW = 5
"""Coarse times in the filter that makes α̂ and β̂ out of Â and B̂."""
NAMES = ("model", "model, fitted", "undisturbed networks", "unmoved logits")
WHAT = ("value", "low", "high")


def weights_of(case: xr.Dataset) -> np.ndarray:
    """Probabilities of the classes of one configuration of an "imbalance" sweep."""
    return np.array(unequal(case.sizes["class"], int(case["rare"]), float(case["ratio"])))


def prior_margin(weights: np.ndarray) -> np.ndarray:
    """Margins of logits that know how often each class is drawn and nothing else: log p_k less its mean over classes.

    Examples
    --------
    >>> prior_margin(np.array([0.25, 0.25, 0.5])).round(3).tolist()
    [-0.231, -0.231, 0.462]
    """
    return np.log(weights) - np.log(weights).mean()


def mixing_margin(label_error: float, n_classes: int = 3) -> float:
    """Margin of logits that know the class, and how often its labels are wrong: (K−1)/K · log((1 − p)(K − 1)/p).

    Examples
    --------
    >>> round(mixing_margin(2 / 3), 12), mixing_margin(0.0)
    (0.0, inf)
    """
    k = n_classes
    return float("inf") if label_error == 0 else (k - 1) / k * float(np.log((1 - label_error) * (k - 1) / label_error))


def predicted(
    base: xr.Dataset,
    case: xr.Dataset,
    weights: Any,
    mixing: Any,
    fitted: xr.Dataset,
    *,
    mean: str = "group_mean",
) -> xr.Dataset:
    """Class means of disturbed networks, the L-model's prediction from undisturbed ones, and how far it is off.

    "model" has α̂ and β̂ of Eq. 11 (from margins) on the undisturbed networks, and starts where the disturbed ones do.
    "model, fitted" has the effects with which the L-model follows the undisturbed networks best, once their margins
    have risen above their noise, and starts at that time.

    Parameters
    ----------
    base, case : undisturbed and disturbed networks, results of one configuration each.
    weights, mixing : p and P of the disturbed ones.
    fitted : of :func:`learnt`.
    mean : ``"group_mean"``, or ``"group_mean_true"`` for means by true class.

    Returns
    -------
    Dataset
        ``margin`` and ``predicted`` (what, time, class), own-class margins; ``distance`` (what, model, class), RD_k in
        all coordinates over the last fifth of training, for :data:`NAMES`: both models, the undisturbed networks' own
        paths taken for a prediction, and logits that stay as they are. ``what`` is value, low, high (95 %, over groups
        of trials of both; ``fitted`` is not fitted anew, so its own error is in no interval). ``start``, the time at
        which "model, fitted" does.
    """
    time = case["slow_time"].values
    step = step_of(case, "slow_time")
    parts = drift("L", np.empty(0), weights, mixing)

    # First the means over all trials, then without each group of the undisturbed, then of the disturbed networks.
    (clean, fewer_clean), (real, fewer_real) = (without_groups(d, mean) for d in (base, case))
    n, m = fewer_clean.sizes["group"], fewer_real.sizes["group"]
    order = ("group", "time", "class", "logit")
    clean = xr.concat([clean, fewer_clean, *[clean] * m], "group").transpose(*order)
    real = xr.concat([real, *[real] * n, fewer_real], "group").transpose(*order)
    later = int(np.flatnonzero(time == float(fitted["time"][0]))[0])
    found, x = effects(integrated_effects(clean, "L"), WINDOW), real.values
    made, best = np.empty_like(x), np.empty_like(x[:, later:])
    for i, start in enumerate(x):
        made[i] = tabulated_paths(parts, found["intra"][i], found["inter"][i], start[0], step, substeps=8)
        best[i] = tabulated_paths(parts, fitted["intra"], fitted["inter"], start[later], step, substeps=8)
    guesses = (made, best, clean.values, np.broadcast_to(x[:, :1], x.shape))
    end = late(len(time))
    off = np.stack([relative_difference(x[:, end], g[:, end]).values.mean(1) for g in guesses], 1)
    rows = {
        "margin": (("what", "time", "class"), margins(x).values),
        "predicted": (("what", "time", "class"), margins(made).values),
        "distance": (("what", "model", "class"), off),
    }
    out = {}
    for k, (d, v) in rows.items():
        # Balanced networks predicted from themselves are one sample.
        apart = (v[1 : n + 1] + v[n + 1 :] - v[0],) if base.equals(case) else (v[1 : n + 1], v[n + 1 :])
        out[k] = (d, np.stack([v[0], *jackknife(v[0], *apart, scatter="symmetric").interval]))
    coords = {"what": list(WHAT), "time": time, "model": list(NAMES), "class": case["class"].values}
    return xr.Dataset({**out, "start": float(time[later])}, coords)


def learnt(base: xr.Dataset, mean: str = "group_mean") -> xr.Dataset:
    """The L-model fitted to undisturbed networks, from the time on at which their margins exceed their noise."""
    groups = base[mean].rename(slow_time="time").astype(float)
    return fit(groups.isel(time=slice(begins(groups), None)).mean("group"), "L")


def imbalance(result: xr.Dataset) -> xr.Dataset:
    """:func:`predicted` for every case of an "imbalance" sweep, over ``case``, from the balanced one.

    Returns
    -------
    Dataset
        Besides, ``prior`` (case, class), the :func:`prior_margin`; ``rare`` and ``ratio`` over ``case``.
    """
    base = result.isel(case=int(np.argmin(result["ratio"].values)))
    true, fitted = evenly(result.sizes["class"]), learnt(base)
    rows = []
    for i in range(result.sizes["case"]):
        case = result.isel(case=i)
        weights = weights_of(case)
        rows.append(predicted(base, case, weights, true, fitted).assign(prior=("class", prior_margin(weights))))
    made = xr.concat(rows, xr.Variable("case", result["case"].values))
    return made.assign_coords({v: ("case", result[v].values) for v in ("rare", "ratio")})


def mixing(result: xr.Dataset) -> xr.Dataset:
    """:func:`predicted` for every share of wrong labels of a "mixing" sweep but none, by true class.

    Returns
    -------
    Dataset
        Over ``label_error``; besides, ``target``, the :func:`mixing_margin`, and ``clean_margin``, that of networks
        trained on true labels over the last fifth of training.
    """
    k = result.sizes["class"]
    base = result.sel(label_error=0.0)
    fitted = learnt(base, "group_mean_true")
    shares = [float(p) for p in result["label_error"].values if p > 0]
    even, mean = np.full(k, 1 / k), "group_mean_true"
    rows = [predicted(base, result.sel(label_error=p), even, evenly(k, p), fitted, mean=mean) for p in shares]
    made = xr.concat(rows, over("label_error", shares))
    clean = margins(base[mean].rename(slow_time="time").mean("group").astype(float)).mean("class")
    target = ("label_error", [mixing_margin(p, k) for p in shares])
    return made.assign(target=target, clean_margin=float(late_mean(clean)))


def own_fits() -> Sweep:
    """:func:`fit_cells` for every unequal case of the stored networks and four halves of their trials, as a sweep."""
    source = networks.as_published("imbalance")
    cases = np.flatnonzero(source.cells["ratio"].values > 1)
    cells, fixed = {"case": over("case", cases), "split": over("split", range(4))}, {"of": source.name}
    return Sweep(f"{source.name}-fits", f"{__name__}:fit_cells", cells, fixed, data=source.key)


# Where a fit ends follows the last bits of its sums, which differ between makers of processors.
@recomputed(tolerance={"*": 1e-3})
def fit_cells(cells: xr.Dataset, *, of: str) -> xr.Dataset:
    """For each ``case`` (number) and ``split`` what :func:`own_effects` finds in a stored result."""
    source = result(networks.as_published(of.removeprefix("elastic-")))
    made = []
    for cell in each(cells):
        case = source.isel(case=cell["case"])
        groups = case["group_mean"].rename(slow_time="time").astype(float)
        made.append(own_effects(groups, weights_of(case), cell["split"]).assign(ratio=case["ratio"].item()))
    return xr.concat(made, "cell").assign_attrs(device="cpu", dtype="float64")


def own_effects(groups: xr.DataArray, weights: Sequence[float] | np.ndarray, split: int = 0) -> xr.Dataset:
    """The L-model fitted to the unequal networks themselves, with their weights and with equal ones.

    Fitted to one half of the trials from their first recorded time on, measured on the other half.

    Returns
    -------
    Dataset
        ``distance`` (weights, norm): mean over classes and the last fifth of training of RD_k, for "as drawn", "equal"
        and "other trials"; ``cost`` (fit) of the first two: root mean square of what the fit minimised.
    """
    dims = ("time", "class", "logit")
    own, other = (half.transpose(*dims) for half in halves(groups, split))
    found = [fit(own, "L", weights=w) for w in (np.asarray(weights), None)]
    end = late(own.sizes["time"])
    rows = [
        [float(relative_difference(other.values[end], p.values[end], norm).mean()) for norm in ("I", "L")]
        for p in (*(f["path"] for f in found), own)
    ]
    return xr.Dataset(
        {
            "distance": (("weights", "norm"), rows),
            "cost": ("fit", [float(f["cost"]) for f in found]),
        },
        {"weights": ["as drawn", "equal", "other trials"], "norm": ["I", "L"], "fit": ["as drawn", "equal"]},
    )
