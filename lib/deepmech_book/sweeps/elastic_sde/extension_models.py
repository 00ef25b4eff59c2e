"""Extensions of the L-model (paper B, App. E) fitted to class means of networks: Eq. E.1's H, and effects by pair.

Every model is fitted in the same way (:func:`fit`): its effects α(t) and β(t), linear between knots, and its own
constants are such that the LE-ODE, started where the networks are, stays as near to them as it can. What is left is
measured on trials that the fit has not seen (:func:`compare`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import least_squares

from deepmech.core.labels import over
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import integrated_effects, margins, relative_difference
from deepmech.simulators.elastic_sde import mixed_logits
from deepmech.sweeps import Sweep, to_records
from deepmech_book.sweeps.elastic_sde import networks
from deepmech_book.sweeps.elastic_sde.paths import tabulated_paths
from deepmech_book.sweeps.policy import verification_policy
from deepmech_book.sweeps.shipped import result

RULES = ("I", "L", "one share", "own first", "all shares", "pairs")
"""The isotropic model; the L-model; Eq. E.1 with one share p for all classes (Eq. D.20), with shares that obey the
paper's condition p_j^j ≥ p_l^j, with any shares from 0 to 1; the L-model with a factor on β for every pair."""
KNOTS = 10
"""Times at which α and β are free."""
WEAK = 1e-3
"""Weight of α and β themselves, in units of 10 over the time fitted, in what is minimised: they do not run off where
they do not matter any more."""
PULLED = (0.05, 0.5, 0.9)
"""Shares that the other directions have at the starts of a search, over the own one's."""
STEPS = 300
"""A search that has not come to rest after so many steps counts only where none has."""


def constants(rule: str, z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares p_l^j (a row for each pulling class j) and factors on E, from a model's own numbers.

    "one share" and "own first" have the ratios p_l^j/p_j^j, from 0 to 1; "all shares", row by row, how much of what is
    left each direction takes, the own one first; "pairs" how much each factor but the last is above 1. Factors are
    symmetric, with mean 1 over pairs.

    >>> constants("own first", np.full(6, 0.5), 3)[0][0].tolist()
    [0.5, 0.25, 0.25]
    >>> constants("all shares", np.full(6, 0.5), 3)[0][1].tolist()
    [0.25, 0.5, 0.25]
    >>> constants("pairs", np.array([0.5, -0.25]), 3)[1].tolist()
    [[1.0, 1.5, 0.75], [1.5, 1.0, 0.75], [0.75, 0.75, 1.0]]
    """
    own, upper = np.eye(k, dtype=bool), np.triu_indices(k, 1)
    share, factor = np.eye(k, dtype=z.dtype), np.ones((k, k), z.dtype)
    if rule == "pairs":
        factor[upper] = np.append(1 + z, 1 - np.sum(z))
        factor.T[upper] = factor[upper]
    elif rule == "all shares":
        taken = np.hstack([z.reshape(k, k - 1), np.ones((k, 1))])
        left = np.cumprod(np.hstack([np.ones((k, 1)), 1 - taken[:, :-1]]), axis=1)
        share[own], share[~own] = (taken * left)[:, 0], (taken * left)[:, 1:].ravel()
    elif rule not in ("I", "L"):
        share[~own] = z
        share = share / share.sum(1, keepdims=True)
    return share, factor


def numbers(rule: str, share: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """The inverse of :func:`constants`; of shares that the rule does not allow, numbers of some that it does."""
    k = len(share)
    own, upper = np.eye(k, dtype=bool), np.triu_indices(k, 1)
    if rule == "pairs":
        return factor[upper][:-1] - 1
    if rule == "all shares":
        parts = np.hstack([share[own][:, None], share[~own].reshape(k, -1)])
        left = 1 - np.cumsum(parts, axis=1) + parts
        return np.clip(parts / np.maximum(left, 1e-12), 0, 1)[:, :-1].ravel()
    ratios = np.clip(share / share[own][:, None], 0, 1)[~own]
    return {"one share": ratios[:1], "own first": ratios}.get(rule, np.zeros(0))


@lru_cache
def _directions(k: int) -> np.ndarray:
    """d_l d_lᵀ/|d_l|² of every class, (K, K, K)."""
    return mixed_logits(k, 1.0)[0]


def drift(rule: str, z: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """What multiplies α and β in the drift of a model, (K², K²) each, with classes drawn with the probabilities p."""
    k = len(weights)
    share, factor = constants(rule, z, k)
    along = np.broadcast_to(np.eye(k), (k, k, k)) if rule == "I" else np.einsum("la,aij->lij", share, _directions(k))
    own = np.eye(k)
    drawn = np.asarray(weights, float)[:, None] * own
    first, second = (
        np.einsum("cl,kl,lij->kicj", drawn, effect * factor, along).reshape(k * k, -1) for effect in (own, 1 - own)
    )
    return first, second


def fit(means: xr.DataArray, rule: str, *, first: Sequence[xr.Dataset] = ()) -> xr.Dataset:
    """The model of one kind that follows class means best from where they start.

    Least squares of the distance of the model's paths from the class means, divided by the size of each mean, over
    classes and times, with a weak pull of both effects towards zero (:data:`WEAK`). There are several minima; with
    exact derivatives each search goes on until it rests in one, the same on any processor. Searches begin with each of
    :data:`PULLED`, and with the constants of the models ``first`` (simpler ones, which the model contains), from the
    effects that fit the slopes of the means and from those of Eq. 11; the best end is kept.

    Gives ``intra``, ``inter`` (time), per unit of time; ``path`` (time, class, logit); ``share`` (pull, direction),
    p_l^j; ``factor`` (class, other); ``cost``, the root mean square distance. Times are evenly spaced.
    """
    if rule not in RULES:
        raise ValueError(f"fit: rule = {rule!r}: must be one of {', '.join(RULES)}")
    x = means.transpose("time", "class", "logit").values.astype(float)
    t, k = means["time"].values.astype(float), x.shape[1]
    p = np.full(k, 1 / k)
    step, span = t[1] - t[0], t[-1] - t[0]
    knots = np.linspace(t[0], t[-1], min(KNOTS, len(t)))
    n, size = len(knots), np.linalg.norm(x, axis=-1, keepdims=True)
    table = np.stack([np.interp(t, knots, row) for row in np.eye(n)], 1) * 10 / span

    def path(v: np.ndarray, parts: Any = None) -> np.ndarray:
        parts = parts or drift(rule, v[2 * n :], p)
        return tabulated_paths(parts, table @ v[:n], table @ v[n : 2 * n], x[0], step)

    def off(v: np.ndarray, parts: Any = None) -> np.ndarray:
        return np.append((path(v, parts) - x) / size, WEAK * v[: 2 * n])

    def slopes(v: np.ndarray) -> np.ndarray:
        same, moved = drift(rule, v[2 * n :], p), v + 1e-30j * np.eye(len(v))
        return np.stack([off(w, same if i < 2 * n else None).imag / 1e-30 for i, w in enumerate(moved)], 1)

    def slopes_fitted(z: np.ndarray) -> np.ndarray:
        """Effects at the knots with which each step of the means is, in least squares, the model's."""
        moved, middle, rate = np.diff(x, axis=0), (x[1:] + x[:-1]) / 2, (table[1:] + table[:-1]) / 2
        pulls = [(middle.reshape(len(moved), -1) @ m.T).reshape(moved.shape) / size[1:] for m in drift(rule, z, p)]
        terms = np.concatenate([pull.reshape(len(moved), -1, 1) * rate[:, None] for pull in pulls], -1)
        return np.linalg.lstsq(terms.reshape(-1, 2 * n), (moved / step / size[1:]).ravel(), rcond=None)[0]

    inside = [numbers(rule, f["share"].values, f["factor"].values) for f in first]
    even = [np.where(np.eye(k, dtype=bool), 1.0, q) for q in PULLED]
    spread = [numbers(rule, share / share.sum(1, keepdims=True), np.ones((k, k))) for share in even]
    whole, least = integrated_effects(means, "L"), (-np.inf if rule == "pairs" else 0.0)
    read_off = [np.gradient(np.interp(knots, t, np.nan_to_num(whole[e].values)), knots) * span / 10 for e in "AB"]
    unique = {z.tobytes(): z for z in [*inside, *spread]}.values()
    starts = [np.append(effects, z) for z in unique for effects in (slopes_fitted(z), np.concatenate(read_off))]
    starts += [np.append(f.attrs["effects"], z) for f, z in zip(first, inside, strict=True)]
    low = np.append(np.full(2 * n, -np.inf), np.full(len(starts[0]) - 2 * n, least))
    limits = low, np.where(low == 0, 1.0, np.inf)
    how: dict[str, Any] = {"x_scale": "jac", "xtol": 1e-10, "ftol": 1e-10, "gtol": 1e-10, "max_nfev": STEPS}
    with np.errstate(over="ignore", invalid="ignore"):  # a step from which the path runs away is taken back
        begun = [v for v in starts if np.isfinite(off(v)).all()]
        ends = [least_squares(off, v, slopes, limits, **how) for v in begun]
    if not ends:
        raise ValueError(f"fit: every search for {rule!r} begins with a path that runs away; thin out the class means")
    ends = [end for end in ends if end.status > 0] or ends
    best = min(end.cost for end in ends)
    v = next(end.x for end in ends if end.cost <= best * (1 + 1e-9))
    share, factor = constants(rule, v[2 * n :], k)
    left = off(v)[: x.size]
    return xr.Dataset(
        {
            "intra": ("time", table @ v[:n]),
            "inter": ("time", table @ v[n : 2 * n]),
            "path": (("time", "class", "logit"), path(v)),
            "share": (("pull", "direction"), share),
            "factor": (("class", "other"), factor),
            "cost": float(np.sqrt(left @ left / (len(t) * k))),
        },
        {"time": t},
        {"rule": rule, "effects": v[: 2 * n].tolist()},
    )


def fit_all(means: xr.DataArray, rules: Sequence[str] = RULES) -> dict[str, xr.Dataset]:
    """:func:`fit` of several models, simple ones first; each also starts from those that it contains."""
    inside = {"one share": ("L",), "own first": ("L", "one share"), "all shares": ("own first",), "pairs": ("L",)}
    models: dict[str, xr.Dataset] = {}
    for rule in rules:
        models[rule] = fit(means, rule, first=[models[r] for r in inside.get(rule, ()) if r in models])
    return models


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

    Gives ``distance`` (model, norm, time), the mean over classes of RD_k (Eq. D.21) in both norms; ``share`` (rule,
    pull, direction); ``factor`` (rule, class, other). Beside the models are "other trials", the first half itself, and
    "unmoved", its first value.
    """
    own, other = halves(groups, split)
    models = fit_all(own, rules)
    paths = {rule: f["path"] for rule, f in models.items()}
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
            "share": (("rule", "pull", "direction"), np.stack([f["share"].values for f in models.values()])),
            "factor": (("rule", "class", "other"), np.stack([f["factor"].values for f in models.values()])),
        },
        {"model": list(paths), "rule": list(models), "norm": ["I", "L"], "time": groups["time"].values},
    )


def fits(of: str) -> Sweep:
    """:func:`compare` of a stored result ("elastic-geomnist", "elastic-cifar") for ten halves of its trials."""
    source, cells = networks.as_published(of.removeprefix("elastic-")), {"split": over("split", range(10))}
    return Sweep(f"{of}-models", "elastic_sde.extension_models", cells, {"of": of}, version=2, data=source.key)


# Searches end where derivatives vanish. Between kernels for AVX2 and for AVX-512 no number differs by more than 2e-11
# of itself on shapes (all cells); on photographs (two cells), where one rests late, by 1.6e-5.
@verification_policy(tolerance={"*": 1e-4})
def fit_cells(cells: xr.Dataset, *, of: str) -> xr.Dataset:
    """:func:`compare` for each cell's ``split``, from the time on from which margins exceed their noise."""
    source = result(networks.as_published(of.removeprefix("elastic-")))
    groups = source.isel(first_seed=0)["group_mean"].rename(slow_time="time").astype(float)
    groups = groups.isel(time=slice(begins(groups), None))
    output = xr.concat([compare(groups, cell["split"]) for cell in to_records(cells)], "cell")
    return output.assign_attrs(device="cpu", dtype="float64")
