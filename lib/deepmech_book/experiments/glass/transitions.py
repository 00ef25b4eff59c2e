"""Where networks come to rest over size and weight decay (Figs. 1, A3): two transitions of the landscape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.labels import over
from deepmech.sweeps import Sweep, columns
from deepmech.sweeps.results import sweep_of
from deepmech.trainers.engines.compiled.langevin import layer_sizes, n_weights
from deepmech.trainers.langevin import Dynamics, Preparation, settle
from deepmech_book.experiments.glass.data import binary, fingerprint, title_of

FLOOR = 1e-20
"""Least loss in geometric means, as in the paper's programs."""
LEVEL = 1e-4
"""Geometric mean of the final data loss at which it counts as vanished."""


_QUICK = {"gain": 6**0.5, "learning_rate": 0.05, "descent_steps": 500, "slow_steps": 500}
_LONG = {"gain": 6**0.5, "learning_rate": 0.02, "descent_steps": 2000, "slow_steps": 2000}
#: Longer steps make narrow networks that learn by heart jump out of what they had learnt.
_BY_HEART = {**_LONG, "sgd_steps": 1_000_000, "learning_rate": 1e-3}
#: What is run for each data set: P_D, and the arguments of :func:`plane` for Fig. 1(a), (b) and (c), the last one, if
#: there are five, a P_D of its own.
SETTINGS: dict[str, dict[str, Any]] = {
    "digits": {
        "n_data": 500,
        "plane": ((4, 6, 8, 12), (0.0, 0.003, 0.01, 0.03, 0.06, 0.1), 2, {**_QUICK, "sgd_steps": 10_000}),
        "uot": ((3, 4, 5, 6, 8, 10, 12), (0.0,), 3, {**_QUICK, "sgd_steps": 20_000}),
        "ttt": ((6,), (0.002, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1), 6, {**_QUICK, "sgd_steps": 10_000}),
    },
    "mnist": {
        "n_data": 4000,
        "plane": (
            (5, 7, 10, 13, 16, 20),
            (0.0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08),
            3,
            {**_LONG, "sgd_steps": 60_000},
        ),
        "uot": ((5, 7, 9, 11, 13, 15, 18, 20), (0.0,), 4, {**_LONG, "sgd_steps": 300_000}),
        "ttt": (
            (7,),
            (0.001, 0.003, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.035, 0.04, 0.05, 0.07, 0.1, 0.15),
            10,
            {**_LONG, "sgd_steps": 60_000},
        ),
    },
    "cifar10-jpeg": {
        "n_data": 3000,
        "uot": ((7, 10, 13, 16, 20, 24), (0.0,), 3, _BY_HEART, 1500),
        "uot-random": ((10, 13, 16, 20), (0.0,), 2, _BY_HEART, 1500),
        "ttt": (
            (7,),
            (1e-4, 3e-4, 1e-3, 0.002, 0.004, 0.006, 0.008, 0.01, 0.012, 0.014, 0.017, 0.02, 0.03),
            8,
            {**_LONG, "sgd_steps": 60_000},
        ),
    },
}


def standard(kind: str, dataset: str) -> Sweep:
    """The sweep behind Fig. 1(a) (``"plane"``), (b) (``"uot"``) or (c) (``"ttt"``) on a data set.

    ``"uot-random"`` is the null of (b): the same networks, the labels dealt out at random.

    Examples
    --------
    >>> standard("ttt", "digits").grid.shape
    (1, 9, 6)
    """
    if dataset not in SETTINGS:
        raise ValueError(f"standard: dataset = {dataset!r}: must be one of {', '.join(map(repr, SETTINGS))}")
    how = SETTINGS[dataset]
    if kind not in how:
        have = ", ".join(repr(k) for k in how if k != "n_data")
        raise ValueError(f"standard: kind = {kind!r}: of {dataset!r} there is {have}")
    widths, regularisations, n_seeds, preparation, *own = how[kind]
    data = {"name": dataset, "n_data": own[0] if own else how["n_data"]}
    data |= {"shuffle": 1} if kind == "uot-random" else {}
    return plane(data, widths, regularisations, n_seeds, preparation, kind)


def plane(
    data: dict[str, Any],
    widths: Sequence[int],
    regularisations: Sequence[float] = (0.0,),
    n_seeds: int = 4,
    preparation: dict[str, Any] | None = None,
    name: str = "plane",
) -> Sweep:
    """Networks at rest over ``width``, ``regularisation`` and ``seed``.

    Examples
    --------
    >>> plane({"name": "digits", "n_data": 500}, [4, 8], [0.0, 0.1], n_seeds=3).grid.shape
    (2, 2, 3)
    """
    return Sweep(
        f"glass-{name}-{data['name']}",
        f"{__name__}:rest",
        {
            "width": over("width", list(widths)),
            "regularisation": over("regularisation", list(regularisations)),
            "seed": over("seed", range(n_seeds)),
        },
        {"data": dict(data), "preparation": preparation or {}},
        data=fingerprint(**data),
    )


def rest(cells: list[dict[str, Any]], data: dict[str, Any], preparation: dict[str, Any]) -> xr.Dataset:
    """Prepare one network per cell; variables of :func:`~deepmech.trainers.langevin.settle` without its history."""
    varied = columns(cells)
    made = settle(
        Dynamics(width=varied["width"], regularisation=varied["regularisation"]),
        Preparation(**preparation),
        binary(**data),
        seed=varied["seed"],
        experiment="glass transitions",
    )
    result = made[["loss", "data_loss", "error", "norm", "n_weights"]].drop_vars("cell")
    result = result.assign(diverged=made.diverged.drop_vars("cell"))
    result.attrs = {k: made.attrs[k] for k in ("device", "dtype", "engine")}
    return result


def ratio(result: xr.Dataset) -> xr.DataArray:
    """N/P_D of every width."""
    n_data = sweep_of(result).fixed["data"]["n_data"]
    values = [n_weights(layer_sizes(10, int(w), 6)) / n_data for w in result.width.values]
    return xr.DataArray(np.round(values, 4), dims="width", coords={"width": result.width})


def typical(loss: xr.DataArray) -> xr.DataArray:
    """Geometric mean over seeds with the floor :data:`FLOOR`.

    Networks that diverged are left out; attribute ``left_out`` says how many.
    """
    logs = xr.apply_ufunc(np.log, loss.clip(min=FLOOR))
    known = np.isfinite(logs)
    return xr.apply_ufunc(np.exp, logs.where(known).mean("seed")).assign_attrs(left_out=int((~known).sum()))


def threshold(x: np.ndarray, loss: np.ndarray, level: float) -> float:
    """Where the logarithm of ``loss`` first crosses ``level``, linearly interpolated in x; nan if it does not."""
    x, gap = np.asarray(x, float), np.log(np.maximum(loss, FLOOR)) - np.log(level)
    for k in range(len(x) - 1):
        if np.isfinite(gap[k : k + 2]).all() and gap[k] * gap[k + 1] <= 0 and gap[k] != gap[k + 1]:
            return float(x[k] + (x[k + 1] - x[k]) * gap[k] / (gap[k] - gap[k + 1]))
    return float("nan")


def collapse_points(result: xr.Dataset, level: float = 0.45) -> xr.DataArray:
    """Per width and seed, the smallest λ from which on the data loss stays above ``level`` (½ at zero weights).

    NaN if there is none, or if a network diverged on the way; attribute ``left_out`` says how many seeds did.
    """
    loss = result.data_loss.transpose("width", "seed", "regularisation")
    above, lost = loss.values > level, loss.isnull().any("regularisation").values
    lambdas = result.regularisation.values
    stays = np.flip(np.minimum.accumulate(np.flip(above, -1), -1), -1)
    first = np.where(stays.any(-1) & ~lost, lambdas[np.argmax(stays, -1)], np.nan)
    coords = {"width": result.width, "seed": result.seed}
    return xr.DataArray(first, coords, dims=("width", "seed"), attrs={"left_out": int(lost.sum())})


def largest_step(curves: xr.DataArray) -> xr.DataArray:
    """The largest rise of a loss between neighbouring λ, as a share of its whole rise: 1 is a jump."""
    ordered = curves.sortby("regularisation")
    rise = ordered.isel(regularisation=-1) - ordered.isel(regularisation=0)
    return ordered.diff("regularisation").max("regularisation") / rise


def overview(results: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """What came to rest, one row per title: data, sizes, numbers of networks and of those that diverged."""
    rows = {}
    for title, result in results.items():
        data, widths, n = sweep_of(result).fixed["data"], result.width.values, result.diverged.size
        rows[title] = {
            "data": title_of(data["name"]) + ", labels dealt out" * ("shuffle" in data),
            "samples": data["n_data"],
            "widths": f"{widths.min()} to {widths.max()}" if len(widths) > 1 else str(widths[0]),
            "networks": n,
            "diverged": int(result.diverged.sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _origin(result: xr.Dataset) -> str:
    one = overview({"": result}).iloc[0]
    size = f"{one['data']}, P_D = {one['samples']}, width {one['widths']}"
    return f"{size}, {one['diverged']} of {one['networks']} diverged."


def by_ratio(result: xr.Dataset) -> xr.DataArray:
    """Data loss without weight decay over ``ratio`` (N/P_D) and ``seed``, no lower than :data:`FLOOR`."""
    loss = result.data_loss.isel(regularisation=0, drop=True).clip(min=FLOOR)
    return loss.assign_coords(width=ratio(result).values).rename(width="ratio")


def vanishing(result: xr.Dataset, level: float = LEVEL) -> dict[str, dict[str, Any]]:
    """``n_star`` and ``scatter`` of Fig. 1(b), for ``ledger.check``."""
    loss = by_ratio(result)
    middle, spread = typical(loss), loss.max("seed") / loss.min("seed")
    found = threshold(middle.ratio.values, middle.values, level)
    means = ", ".join(f"{float(v):.1g} at {float(r):.2f}" for r, v in zip(middle.ratio, middle, strict=True))
    common = {"seeds": result.sizes["seed"], "detail": f"{_origin(result)} Mean loss: {means}."}
    n_star = {"measured": found} if np.isfinite(found) else {"not_testable": "the mean loss crosses the level nowhere"}
    return {"n_star": n_star | common, "scatter": {"measured": float(spread.max())} | common}


def single_and_mean(result: xr.Dataset, n: int = 5) -> xr.DataArray:
    """Data loss over weight decay of the first ``n`` networks, and the mean of all, along ``kind``.

    Attribute ``left_out``: networks that diverged, and are in no mean.
    """
    curves = result.data_loss.isel(width=0, drop=True)
    names = [f"network {i + 1}" for i in range(n)]
    single = curves.isel(seed=slice(0, n)).rename(seed="kind").assign_coords(kind=names)
    both = xr.concat([curves.mean("seed").expand_dims(kind=["mean"]), single], "kind")
    return both.assign_attrs(left_out=int(curves.isnull().sum()))


def falls(result: xr.Dataset, level: float = 0.45) -> dict[str, dict[str, Any]]:
    """``lambda_star`` and ``sharp`` of Fig. 1(c), for ``ledger.check``; ``level`` as in :func:`collapse_points`."""
    curves = result.data_loss.isel(width=0, drop=True)
    points = collapse_points(result, level).isel(width=0)
    lost = curves.isnull().any("regularisation")
    words = ", ".join("later" if np.isnan(v) else f"{v:g}" for v in np.sort(points.values[~lost.values]))
    common = {"seeds": result.sizes["seed"]}
    said = f"{_origin(result)} Of single networks: {words}."
    sharp, broad = largest_step(curves), largest_step(curves.mean("seed"))
    return {
        "lambda_star": {"measured": float(points.median()), "detail": said} | common,
        "sharp": {"measured": float(sharp.mean()), "null": float(broad), "detail": _origin(result)} | common,
    }
