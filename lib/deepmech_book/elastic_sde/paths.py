"""Locally elastic ODEs driven by effects estimated from networks, beside the networks: Figs. 5, D.7, D.8 and D.9."""

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.metrics.elasticity import relative_difference
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.elastic_sde.readings import class_means, estimate, step_of

NOTHING = 15.0
"""Integrated intra-class effect of the null: logits grow by a factor e⁵ with three classes."""
LAST = 1000
"""Iterations at the end of training over whose mean paths are scaled to the networks', as in the authors' program."""


def propagator(drive, structure, times, n_classes):
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
    result, estimator="L-program", structure="logits", *, window=21, n_runs=500, n_batches=1, n_times=100,
    starts="random",
):  # fmt: skip
    """Paths of the LE-ODE with the effects that ``estimator`` reads off the networks' class means.

    As in the paper (App. D.2) each run starts from normal numbers as large as the networks' initial class means, and
    each class's path is multiplied by a number of its own, which may be negative, such that its own logit ends where
    the networks' does. The authors' program multiplies the mean over all runs instead. With ``starts="genuine"`` every
    run starts from the networks' own initial means.

    ``"none"`` as estimator takes α constant, :data:`NOTHING` in all, and β = 0, which know nothing of the networks.
    With several batches, which have starts of their own, results have the dimension ``batch``, for intervals.

    Over ``time``, ``class`` and ``logit``: ``genuine``; ``median``, ``low`` and ``high`` (16 % and 84 % of runs),
    scaled. Over ``class``: ``right``, the share of runs whose largest logit at the end is the class's own, after
    scaling. Over ``norm``, ``time`` and ``class``: ``distance``, the median of the relative difference RD_k(t) over
    runs (Eq. D.21), by the Euclidean norm ("I") and along d_k alone ("L").
    """
    k = result.sizes["class"]
    means = class_means(result).transpose("time", "class", "logit")
    blocks = np.array_split(np.arange(means.sizes["time"]), min(n_times, means.sizes["time"]))
    times = np.array([means.time.values[b].mean() for b in blocks])
    genuine = np.stack([means.values[b].mean(0) for b in blocks])
    first = first_means(means)
    size = np.linalg.norm(first, axis=-1) / np.sqrt(k)
    moved = propagator(effects_of(result, estimator, window), structure, np.maximum(times - times[0], 0.0), k)
    coords = {"time": times, "class": np.arange(k), "logit": np.arange(k)}
    real = xr.DataArray(genuine, dims=("time", "class", "logit"), coords=coords)
    told = []
    for batch in range(n_batches):
        dice = Stream.of("imitation", batch).normal("start", 0, (n_runs // n_batches, k, k))
        start = dice * size[:, None] if starts == "random" else first[None]
        told.append(compared(real, np.einsum("tabcd,rcd->rtab", moved, start)))
    found = xr.concat(told, "batch") if n_batches > 1 else told[0]
    return found.assign_attrs(estimator=estimator, structure=structure)


def compared(real, paths):
    """What :func:`imitate` tells of paths (run, time, class, logit) beside the networks' means."""
    times, own = real["time"].values, np.arange(real.sizes["class"])
    ends = times > times[-1] - LAST
    size = np.einsum("kk->k", real.values[ends].mean(0)) / np.einsum("rkk->rk", paths[:, ends].mean(1))
    scaled = paths * size[:, None, :, None]
    low, median, high = np.quantile(scaled, [0.16, 0.5, 0.84], axis=0)
    simulated = xr.DataArray(scaled, dims=("run", *real.dims), coords=real.coords)
    gaps = [
        relative_difference(real.broadcast_like(simulated), simulated, norm).median("run").transpose("time", "class")
        for norm in ("I", "L")
    ]
    return xr.Dataset(
        {
            "genuine": real,
            "median": (real.dims, median),
            "low": (real.dims, low),
            "high": (real.dims, high),
            "distance": (("norm", "time", "class"), np.stack([g.values for g in gaps])),
            "right": ("class", (scaled[:, -1].argmax(-1) == own).mean(0)),
        },
        {"norm": ["I", "L"]},
    )


def first_means(means):
    """Means over the first hundred iterations, (class, logit)."""
    return np.asarray(means.values[: max(1, round(100 / step_of(means)))].mean(0))


def effects_of(result, estimator, window):
    """Effects per iteration over the time since the first record, that drive :func:`propagator`."""
    time = result["time"].astype(float) - float(result["time"][0])
    if estimator == "none":
        level = xr.full_like(time, NOTHING / float(np.ptp(time.values)))
        return xr.Dataset({"intra": level, "inter": 0 * level}).assign_coords(time=time.values)
    return estimate(result, window, (estimator,)).isel(model=0).assign_coords(time=time.values)
