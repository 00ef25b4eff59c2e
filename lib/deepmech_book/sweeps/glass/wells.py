"""The weights themselves where a walk's comparison begins, and where the wells of weight decay take them (App. G)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.simulators.brownian import Well, well_overlap
from deepmech.sweeps import Sweep, each, recomputed
from deepmech.trainers.engines.compiled.langevin import CompiledWalk
from deepmech.trainers.langevin import Dynamics, Preparation, Walker, prepare
from deepmech_book.sweeps.glass.walks import P_D, RATE, Binary, binary, temperature_at


def sweep(like: Sweep) -> Sweep:
    """The weights after the first wait of the walks of ``like``, at its temperatures above 0.

    Examples
    --------
    >>> from deepmech_book.sweeps.glass import walks
    >>> sweep(walks.standard("regularised", "mnist")).grid.shape
    (24,)
    """
    warm = [float(t) for t in like.cells["temperature"].values if t > 0]
    same = {k: like.fixed[k] for k in ("data", "width", "regularisation", "preparation")}
    return Sweep(
        f"{like.name}-waited",
        "glass.waited",
        {"seed": like.cells["seed"]},
        same | {"temperatures": warm, "waiting": like.fixed["waiting"][0]},
        data=like.data,
    )


def _hottest(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """One walk in place of all."""
    return fixed | {"temperatures": fixed["temperatures"][:1]}, ["weights"]


def walked(
    seed: int, data: Binary, dynamics: Sequence[Dynamics], preparation: dict[str, Any], stops: Sequence[int]
) -> np.ndarray:
    """The weights of one network of :mod:`.walks` at ``stops`` of its walks by each of ``dynamics``.

    They are float64, (dynamics, stop, weight), flat, layer after layer, each (units above, units below).
    """
    first = Walker(dynamics[0], Preparation(**preparation), seed, "glass walks")
    start = prepare([first], data)[0].weights
    network, found = CompiledWalk(first.sizes(data), data.x, data.y, dynamics[0].dtype), []
    for one in dynamics:
        network.set(start)
        for begin, stop in pairwise([0, *stops]):
            noise = float(one.noise(len(data.x)))
            network.walk(stop - begin, begin, RATE, float(one.regularisation), noise, [first.stream])
            found.append(network.w)
    return np.stack(found).reshape(len(dynamics), len(stops), -1)


@recomputed(part=_hottest)
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
    loaded = binary(**data)
    scaled = [temperature_at(t, len(loaded.x)) for t in temperatures]
    dynamics = [Dynamics(width=width, regularisation=regularisation, learning_rate=RATE, temperature=t) for t in scaled]
    rows = [walked(int(cell["seed"]), loaded, dynamics, preparation, [waiting]) for cell in each(cells)]
    values = np.stack(rows)[:, :, 0].astype("float32")
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
