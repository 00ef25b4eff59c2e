"""Extensions of the L-model (paper B, App. E) fitted to class means of networks: Eq. E.1's H, and effects by pair.

Every model is fitted in the same way (:func:`fit`): its effects α(t) and β(t), linear between knots, and its own
constants are such that the LE-ODE, started where the networks are, stays as near to them as it can. What is left is
measured on trials that the fit has not seen (:func:`compare`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import least_squares

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import Model, integrated_effects, margins, relative_difference
from deepmech.simulators.elastic_sde import drift_matrix, mixed_logits, tabulated_paths
from deepmech.sweeps import Sweep, each, recomputed, result
from deepmech_book.experiments.elastic_sde import networks

RULES = ("I", "L", "one share", "own first", "all shares", "pairs")
"""The isotropic model; the L-model; Eq. E.1 with one share p for all classes (Eq. D.20), with shares that obey the
paper's condition p_j^j ≥ p_l^j, with any shares from 0 to 1; the L-model with a factor on β for every pair."""
KNOTS = 10
"""Times at which α and β are free."""
FAR = 100.0
"""Relative distance that stands for any larger one, so that a path that runs away has a cost."""


def n_constants(rule: str, k: int) -> int:
    """Numbers that a model has beside its two effects."""
    counts = {"I": 0, "L": 0, "one share": 1, "pairs": k * (k - 1) // 2 - 1}
    return counts.get(rule, k * (k - 1))


def constants(rule: str, z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares p_l^j (a row for each pulling class j) and factors on E, from any :func:`n_constants` real numbers.

    Shares are normalised exponentials, in which the own class has the exponent 0 and others have z, or −log(1 + e^z)
    where they must not exceed the own one. Factors of pairs are symmetric, with mean 1 over pairs.

    Examples
    --------
    >>> constants("all shares", np.full(6, -np.log(2.0)), 3)[0][0].tolist()
    [0.5, 0.25, 0.25]
    >>> constants("pairs", np.array([0.5, -0.25]), 3)[1].tolist()
    [[1.0, 1.5, 0.75], [1.5, 1.0, 0.75], [0.75, 0.75, 1.0]]
    """
    share, factor = np.eye(k), np.ones((k, k))
    if rule == "pairs":
        upper = np.triu_indices(k, 1)
        factor[upper] = np.append(1 + z, 1 - np.sum(z))
        factor.T[upper] = factor[upper]
    elif rule not in ("I", "L"):
        share[~np.eye(k, dtype=bool)] = np.exp(z if rule == "all shares" else -np.logaddexp(0.0, z))
        share /= share.sum(1, keepdims=True)
    return share, factor


def drift(rule: str, z: np.ndarray, weights: Any, mixing: Any) -> tuple[np.ndarray, np.ndarray]:
    """What multiplies α and β in the drift of a model, (K², K²) each: classes drawn with p, labels mixed by P."""
    k = len(weights)
    share, factor = constants(rule, z, k)
    blocks = np.broadcast_to(np.eye(k), (k, k, k, k)) if rule == "I" else mixed_logits(k, share)
    p = np.asarray(mixing, float)[None]
    same = np.eye(k)
    return drift_matrix(same * factor, blocks, weights, p)[0], drift_matrix((1 - same) * factor, blocks, weights, p)[0]


def evenly(k: int, label_error: float = 0.0) -> np.ndarray:
    """P of wrong labels that are spread evenly over the other classes."""
    return (1 - label_error) * np.eye(k) + label_error / (k - 1) * (1 - np.eye(k))


def fit(
    means: xr.DataArray, rule: str, *, weights: Any = None, mixing: Any = None, first: Sequence[xr.Dataset] = ()
) -> xr.Dataset:
    """The model of one kind that follows class means best from where they start.

    Least squares of the distance of the model's paths from the class means, divided by the size of each mean, over
    classes and times. The search starts from the estimates of Eq. 11 by both models and from a plain fall, and from the
    models ``first`` (simpler ones, which the model contains), and keeps the best.

    Parameters
    ----------
    means : dims (time, class, logit), evenly spaced in time.
    rule : one of :data:`RULES`.
    weights, mixing : p (K,) and P (K, K); balanced classes and true labels unless given.

    Returns
    -------
    Dataset
        ``intra``, ``inter`` (time), per unit of time; ``path`` (time, class, logit); ``share`` (pull, direction),
        p_l^j; ``factor`` (class, other); ``cost``, the root mean square of what was minimised.
    """
    if rule not in RULES:
        raise ValueError(f"fit: rule = {rule!r}: must be one of {', '.join(RULES)}")
    x = means.transpose("time", "class", "logit").values.astype(float)
    t, k = means["time"].values.astype(float), x.shape[1]
    p, mixed = np.full(k, 1 / k) if weights is None else weights, np.eye(k) if mixing is None else mixing
    step, span = t[1] - t[0], t[-1] - t[0]
    knots = np.linspace(t[0], t[-1], min(KNOTS, len(t)))
    n, size = len(knots), np.linalg.norm(x, axis=-1, keepdims=True)

    def unfold(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        a, b = (np.interp(t, knots, part) * 10 / span for part in (v[:n], v[n : 2 * n]))
        return a, b, tabulated_paths(drift(rule, v[2 * n :], p, mixed), a, b, x[0], step)

    def off(v: np.ndarray) -> np.ndarray:
        gap = (unfold(v)[2] - x) / size
        return np.clip(np.nan_to_num(gap, nan=FAR), -FAR, FAR).ravel()

    none = np.full(n_constants(rule, k), 0.0 if rule == "pairs" else -4.0 if rule == "all shares" else 4.0)
    starts = [np.concatenate([z, none]) for z in _plain_starts(means, knots, span)]
    starts += [_onwards(rule, z, n, none, k) for z in (np.asarray(f.attrs["v"]) for f in first)]
    found = min((least_squares(off, v, max_nfev=30) for v in starts), key=lambda f: f.cost)
    found = least_squares(off, found.x, max_nfev=100)
    a, b, path = unfold(found.x)
    share, factor = constants(rule, found.x[2 * n :], k)
    return xr.Dataset(
        {
            "intra": ("time", a),
            "inter": ("time", b),
            "path": (("time", "class", "logit"), path),
            "share": (("pull", "direction"), share),
            "factor": (("class", "other"), factor),
            "cost": float(np.sqrt(2 * found.cost / (len(t) * k))),
        },
        {"time": t},
        {"rule": rule, "v": found.x.tolist()},
    )


def _plain_starts(means: xr.DataArray, knots: np.ndarray, span: float) -> list[np.ndarray]:
    """Effects at the knots, in units of 10/span: by Eq. 11, and falling to nothing."""
    out, t = [], means["time"].values
    models: tuple[Model, ...] = ("L", "I")
    for model in models:
        found = integrated_effects(means, model)
        slopes = [np.gradient(np.interp(knots, t, np.nan_to_num(found[e].values)), knots) for e in "AB"]
        out.append(np.concatenate(slopes) * span / 10)
    fall = np.linspace(1, 0, len(knots)) ** 2
    return [*out, np.concatenate([6 * fall, -2 * fall])]


def _onwards(rule: str, v: np.ndarray, n: int, none: np.ndarray, k: int) -> np.ndarray:
    """A start from the solution of a model that this one contains."""
    z = v[2 * n :]
    if not len(z) or rule == "pairs":
        return np.concatenate([v[: 2 * n], none])
    if rule == "all shares":
        z = -np.logaddexp(0.0, z)
    return np.concatenate([v[: 2 * n], np.broadcast_to(z, len(none))])


def fit_all(means: xr.DataArray, rules: Sequence[str] = RULES, **how: Any) -> dict[str, xr.Dataset]:
    """:func:`fit` of several models, simple ones first; each also starts from those that it contains."""
    inside = {"one share": ("L",), "own first": ("L", "one share"), "all shares": ("own first",), "pairs": ("L",)}
    found: dict[str, xr.Dataset] = {}
    for rule in rules:
        found[rule] = fit(means, rule, first=[found[r] for r in inside.get(rule, ()) if r in found], **how)
    if "L" in found and "one share" in found:
        # Either may have found the better effects: a model that contains another is never the worse of the two.
        better = found["one share"].assign_attrs(v=found["one share"].attrs["v"][:-1])
        if float(better["cost"]) < float(found["L"]["cost"]):
            found["L"] = min((found["L"], fit(means, "L", first=[better], **how)), key=lambda f: float(f["cost"]))
    return found


def begins(groups: xr.DataArray) -> int:
    """The first time from which on every own-class margin is three standard errors above zero; over groups of trials.

    Before it the sign of a margin is that of chance, and a model that is proportional to logits repeats it for ever.
    """
    if groups.sizes["group"] < 2:
        raise ValueError("begins: one group of trials has no scatter to compare with; give more than ten trials")
    s = margins(groups.transpose("group", "time", "class", "logit"))
    mean, error = s.mean("group"), s.std("group", ddof=1) / np.sqrt(s.sizes["group"])
    late = np.flatnonzero(~(mean > 3.0 * error).all("class").values)
    first = int(late[-1]) + 1 if len(late) else 0
    if first > groups.sizes["time"] - 2:
        raise ValueError("begins: margins do not rise above their noise for good; train longer, or more trials")
    return first


def halves(groups: xr.DataArray, split: int) -> tuple[xr.DataArray, xr.DataArray]:
    """Means over a random half of the groups of trials, and over the other half."""
    size = groups.sizes["group"]
    order = Stream.of("halves of trials", split).permutation("order", 0, size)
    return tuple(groups.isel(group=np.sort(part)).mean("group") for part in (order[: size // 2], order[size // 2 :]))  # type: ignore[return-value]


def compare(groups: xr.DataArray, split: int, rules: Sequence[str] = RULES) -> xr.Dataset:
    """Models fitted to one half of the trials, measured on the other half.

    Parameters
    ----------
    groups : dims (group, time, class, logit), from :func:`begins` on.
    split : which random halves.

    Returns
    -------
    Dataset
        ``distance`` (model, norm, time), the mean over classes of RD_k (Eq. D.21) in both norms; ``share`` (rule, pull,
        direction); ``factor`` (rule, class, other). Beside the models are "other trials", the first half itself, and
        "unmoved", its first value.
    """
    own, other = halves(groups, split)
    found = fit_all(own, rules)
    paths = {rule: f["path"] for rule, f in found.items()}
    dims = ("time", "class", "logit")
    own = own.transpose(*dims)
    paths |= {"other trials": own, "unmoved": own.isel(time=0, drop=True).broadcast_like(own).transpose(*dims)}
    rows = [
        [relative_difference(other.transpose(*dims).values, path.values, norm).values.mean(-1) for norm in ("I", "L")]
        for path in paths.values()
    ]
    return xr.Dataset(
        {
            "distance": (("model", "norm", "time"), np.array(rows)),
            "share": (("rule", "pull", "direction"), np.stack([f["share"].values for f in found.values()])),
            "factor": (("rule", "class", "other"), np.stack([f["factor"].values for f in found.values()])),
        },
        {"model": list(paths), "rule": list(found), "norm": ["I", "L"], "time": groups["time"].values},
    )


def fits(of: str) -> Sweep:
    """:func:`compare` of a stored result of networks for ten halves of its trials, as a sweep.

    Parameters
    ----------
    of : name of the result: ``"elastic-geomnist"`` or ``"elastic-cifar"``.
    """
    source, cells = networks.as_published(of.removeprefix("elastic-")), {"split": over("split", range(10))}
    return Sweep(f"{of}-models", f"{__name__}:fit_cells", cells, {"of": of}, data=source.key)


# Where a fit ends follows the last bits of its sums, which differ between makers of processors.
@recomputed(tolerance={"*": 1e-3})
def fit_cells(cells: xr.Dataset, *, of: str) -> xr.Dataset:
    """:func:`compare` for each cell's ``split``, from the time on from which margins exceed their noise."""
    source = result(networks.as_published(of.removeprefix("elastic-")))
    groups = source.isel(first_seed=0)["group_mean"].rename(slow_time="time").astype(float)
    groups = groups.isel(time=slice(begins(groups), None))
    made = xr.concat([compare(groups, cell["split"]) for cell in each(cells)], "cell")
    return made.assign_attrs(device="cpu", dtype="float64")
