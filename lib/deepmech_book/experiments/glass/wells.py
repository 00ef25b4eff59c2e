"""The weights themselves where a walk's comparison begins, and where the wells of weight decay take them (App. G)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.random import Stream
from deepmech.simulators.brownian import Well, well_overlap
from deepmech.sweeps import Sweep, recomputed
from deepmech.trainers.engines.compiled.langevin import Blocked, layer_sizes
from deepmech.trainers.langevin_walker import Walker, prepare
from deepmech.trainers.specs import Dynamics, Preparation
from deepmech_book.experiments.glass.data import binary
from deepmech_book.experiments.glass.walks import P_D, RATE


def sweep(like: Sweep, n_seeds: int | None = None) -> Sweep:
    """The weights after the first wait of the walks of ``like``, at its temperatures above 0; the first seeds, or all.

    Examples
    --------
    >>> from deepmech_book.experiments.glass import walks
    >>> sweep(walks.standard("regularised", "mnist")).grid.shape
    (12,)
    """
    warm = [float(t) for t in like.cells["temperature"].values if t > 0]
    same = {k: like.fixed[k] for k in ("data", "width", "regularisation", "preparation")}
    return Sweep(
        f"{like.name}-waited",
        f"{__name__}:waited",
        {"seed": like.cells["seed"][:n_seeds]},
        same | {"temperatures": warm, "waiting": like.fixed["waiting"][0]},
        data=like.data,
    )


def _hottest(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """One walk in place of all."""
    return fixed | {"temperatures": fixed["temperatures"][:1]}, ["weights"]


@recomputed(part=_hottest, dear=True)
def waited(
    cells: xr.Dataset,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    preparation: dict[str, Any],
    temperatures: list[float],
    waiting: int,
) -> xr.Dataset:
    """``weights`` (cell, temperature, weight) after ``waiting`` steps of the walks of :mod:`.walks`.

    They are nan where the preparation diverged.
    """
    loaded, rows = binary(**data), []
    sizes, n_data = layer_sizes(loaded.x.shape[1], width, 6), len(loaded.x)
    walker = Blocked(sizes, loaded.x, loaded.y, Dynamics().dtype)
    for seed in cells["seed"].values.astype(int).tolist():
        dynamics = [
            Dynamics(width=width, regularisation=regularisation, learning_rate=RATE, temperature=t * n_data / P_D)
            for t in temperatures
        ]
        first, name = Walker(dynamics[0], Preparation(**preparation), seed), "glass walks"
        start, stream = prepare(first, loaded, experiment=name).weights, Stream.of(name, seed)
        for one in dynamics:
            walker.set(start)
            walker.walk(waiting, 0, RATE, regularisation, float(one.noise(n_data)), stream)
            rows.append(walker.w.astype("float32"))
    values = np.stack(rows).reshape(cells.sizes["cell"], len(temperatures), -1)
    return xr.Dataset(
        {"weights": (("cell", "temperature", "weight"), values, {"long_name": "weight"})},
        {"cell": cells.cell, "temperature": temperatures, "weight": np.arange(values.shape[-1])},
    )


def overlap(weights: xr.DataArray, window: xr.DataArray, decay: float, time: float) -> xr.DataArray:
    """Overlap after ``time`` steps of independent weights in the well ½λw² alone, from where they are (Eq. F6).

    Parameters
    ----------
    weights : (…, temperature, weight); ``window`` (…, temperature), ε of each network.
    """
    at = np.array(time)
    pairs = [
        xr.apply_ufunc(
            lambda w, e, t=float(t): well_overlap(at, Well(decay, t, RATE, P_D), e[..., None], w).mean(-1),
            weights.sel(temperature=t), window.sel(temperature=t), input_core_dims=[["weight"], []],
        )
        for t in weights.temperature.values
    ]  # fmt: skip
    return xr.concat(pairs, weights.temperature)
