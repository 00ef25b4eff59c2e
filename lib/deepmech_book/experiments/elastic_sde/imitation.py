"""Locally elastic ODEs driven by effects estimated from networks, beside the networks: Figs. 5, D.7, D.8 and D.9."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.metrics.elasticity import Model, relative_difference
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.experiments.elastic_sde.effects import class_means, estimate, step_of

Structure = Literal["isotropic", "logits"]
NOTHING = 15.0
"""Integrated intra-class effect of the null: logits grow by a factor e⁵ with three classes."""


def propagator(drive: xr.Dataset, structure: Structure, times: np.ndarray, n_classes: int) -> np.ndarray:
    """Solution of the LE-ODE for every unit start: shape (time, class, logit, class of the start, logit of the start).

    ``drive`` holds ``intra`` and ``inter`` over ``time``, per iteration.
    """
    rates = {name: drive[name].reset_coords(drop=True) for name in ("intra", "inter")}
    model = ElasticSDE(**rates, n_classes=n_classes, n_features=n_classes, structure=structure)
    out = np.empty((len(times), *(n_classes,) * 4))
    for k in range(n_classes):
        for j in range(n_classes):
            unit = np.zeros((n_classes, n_classes))
            unit[k, j] = 1.0
            found = mean_solution(model, times, unit)["mean"].transpose("time", "class", "feature")
            out[:, :, :, k, j] = found.values
    return out


def imitate(
    result: xr.Dataset,
    estimator: Model | Literal["none"] = "L",
    structure: Structure = "logits",
    *,
    window: int = 21,
    n_runs: int = 500,
    n_times: int = 100,
    starts: Literal["random", "genuine"] = "random",
    seed: int = 0,
) -> xr.Dataset:
    """Paths of the LE-ODE with the effects that ``estimator`` reads off the networks' class means.

    As in the paper (App. D.2) each run starts from normal numbers as large as the networks' initial class means, and
    each class's path is multiplied by a number of its own such that its own logit ends where the networks' does. That
    number may be negative: what the runs say before is kept beside.

    Parameters
    ----------
    result : of :func:`.networks.trials`, one configuration.
    estimator : the model whose formulas give α̂ and β̂; ``"none"`` takes α constant, :data:`NOTHING` in all, and β = 0,
        which know nothing of the networks.
    structure : the model that is simulated with them: ``"isotropic"`` (I) or ``"logits"`` (L).
    window : of the smoothing filter, in iterations; at least five recorded times are used.
    n_runs, n_times : runs, and times at which they are compared.
    starts : ``"genuine"`` starts every run from the networks' own initial means instead.

    Returns
    -------
    Dataset
        Over ``time``, ``class`` and ``logit``: ``genuine``; ``median``, ``low`` and ``high`` (16 % and 84 % of runs),
        scaled. Over ``class``: ``right``, the share of runs whose largest logit at the end is the class's own, after
        scaling, and ``right_unscaled`` before. Over ``norm``, ``time`` and ``class``: ``distance``, the median of the
        relative difference RD_k(t) over runs (Eq. D.21), by the Euclidean norm ("I") and along d_k alone ("L").
    """
    k = result.sizes["class"]
    if estimator == "none":
        level = xr.full_like(result["time"].astype(float), NOTHING / float(np.ptp(result["time"].values)))
        drive = xr.Dataset({"intra": level, "inter": 0 * level})
    else:
        drive = estimate(result, window, (estimator,)).isel(model=0)
    means = class_means(result).transpose("time", "class", "logit")
    blocks = np.array_split(np.arange(means.sizes["time"]), min(n_times, means.sizes["time"]))
    times = np.array([means.time.values[b].mean() for b in blocks])
    genuine = np.stack([means.values[b].mean(0) for b in blocks])
    first = means.values[: max(1, round(100 / step_of(means)))].mean(0)
    stream = Stream.of("imitation", seed)
    size = np.linalg.norm(first, axis=-1) / np.sqrt(k)
    start = stream.normal("start", 0, (n_runs, k, k)) * size[:, None] if starts == "random" else first[None]
    since = np.maximum(times - times[0], 0.0)
    moved = drive.assign_coords(time=drive.time - float(drive.time[0]))
    paths = np.einsum("tabcd,rcd->rtab", propagator(moved, structure, since, k), start)
    own = np.einsum("rkk->rk", paths[:, -1])
    scaled = paths * (np.einsum("kk->k", genuine[-1]) / own)[:, None, :, None]
    coords: dict[str, Any] = {"time": times, "class": np.arange(k), "logit": np.arange(k)}
    dims = ("time", "class", "logit")
    low, median, high = np.quantile(scaled, [0.16, 0.5, 0.84], axis=0)
    real, simulated = xr.DataArray(genuine, dims=dims, coords=coords), xr.DataArray(scaled, dims=("run", *dims))
    gaps = [
        relative_difference(real.broadcast_like(simulated), simulated, norm).median("run").transpose("time", "class")
        for norm in ("I", "L")
    ]
    right = {
        name: (z[:, -1].argmax(-1) == np.arange(k)).mean(0)
        for name, z in (("right", scaled), ("right_unscaled", paths))
    }
    return xr.Dataset(
        {
            "genuine": real,
            "median": (dims, median),
            "low": (dims, low),
            "high": (dims, high),
            "distance": (("norm", "time", "class"), np.stack([g.values for g in gaps])),
            **{name: ("class", share) for name, share in right.items()},
        },
        {**coords, "norm": ["I", "L"]},
        {"estimator": estimator, "structure": structure},
    )


def all_four(result: xr.Dataset, **options: Any) -> xr.Dataset:
    """:func:`imitate` for both estimators (dimension ``estimator``) and both structures (``structure``)."""
    rows = []
    for structure in ("isotropic", "logits"):
        row = [imitate(result, e, structure, **options) for e in ("I", "L")]
        rows.append(xr.concat(row, xr.Variable("estimator", ["I", "L"]), combine_attrs="drop"))
    return xr.concat(rows, xr.Variable("structure", ["isotropic", "logits"]), combine_attrs="drop")
