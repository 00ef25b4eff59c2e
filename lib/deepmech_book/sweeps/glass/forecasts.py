"""What one look at a network foretells of its walks: drift, curvature, and nothing fitted (page glass/forecast)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.simulators.harmonic import QuadraticLandscape
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers.engines.compiled.langevin import layer_sizes
from deepmech.trainers.langevin import Dynamics
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.hinge_loss import HingeLoss
from deepmech_book.sweeps.glass.walks import RATE, diffusion, in_single_precision, standard, weights_at
from deepmech_book.sweeps.policy import verification_policy

LOOK = 100
"""Steps without noise over which the drift is measured. ReLU networks rest in kinks of their loss, between slopes that
cancel: the gradient at a point is thirty times the drift."""
FRESH = {"regularised": range(100, 109), "underparameterised": range(100, 112)}
"""Seeds that no walk of the book had when the forecast was frozen: of the first twelve, those whose networks learn.
Seeds 109 to 111 of the regularised phase fall to the origin; 112 to 123 are frozen, too, and have not been walked."""
KINDS = ("forecast", "without drift", "without curvature", "gradient at a point", "free walk")


def fresh(phase: str, dataset: str = "mnist") -> Sweep:
    """The walks of a phase with seeds of their own (:data:`FRESH`), on which forecasts are judged."""
    like = standard(phase, dataset)
    return replace(like, name=f"{like.name}-fresh", cells={**like.cells, "seed": over("seed", list(FRESH[phase]))})


def forecasts(like: Sweep) -> Sweep:
    """Forecasts of walks, at all their temperatures and waiting times, made from one look at each network."""
    same = {k: v for k, v in like.fixed.items() if k != "steps"}
    temperatures = like.cells["temperature"].values.tolist()
    return Sweep(
        f"{like.name}-forecast", "glass.forecasts", {"seed": like.cells["seed"]},
        {**same, "temperatures": temperatures, "look": LOOK}, data=like.data,
    )  # fmt: skip


def jacobian(
    weights: np.ndarray, sizes: Sequence[int], x: np.ndarray, softplus: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (n,) of a bias-free network at ``x`` (n, d), and their derivatives by its N flat weights, (n, N).

    Units are ReLU, or softplus of this β.
    """
    layers, start, features, slopes = [], 0, [x], []
    for below, above in pairwise(sizes):
        layers.append(weights[start : start + above * below].reshape(above, below))
        start += above * below
    for layer in layers[:-1]:
        given = features[-1] @ layer.T
        features.append(np.logaddexp(0, softplus * given) / softplus if softplus else np.maximum(given, 0))
        slopes.append((1 + np.tanh(softplus * given / 2)) / 2 if softplus else given > 0)
    back, parts = np.ones((len(x), 1)), []
    for layer, below, slope in zip(reversed(layers), reversed(features), [*reversed(slopes), 1], strict=True):
        parts.append((back[:, :, None] * below[:, None, :]).reshape(len(x), -1))
        back = (back @ layer) * slope
    return features[-1] @ layers[-1][0], np.concatenate(parts[::-1], 1)


def gauss_newton(
    weights: np.ndarray, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, decay: float, softplus: float = 0.0
) -> np.ndarray:
    """Curvature (N, N) of the loss but for the network's own bending: Σᵢ ∂fᵢ∂fᵢᵀ/n over samples in the margin, plus λ.

    It has no negative direction, and no spikes where a unit switches.
    """
    outputs, by_weight = jacobian(weights, sizes, x, softplus)
    inside = by_weight[y * outputs < 1]
    return inside.T @ inside / len(y) + decay * np.eye(len(weights))


def _first(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """One temperature and waiting time in place of all."""
    few = {"temperatures": fixed["temperatures"][:1], "waiting": fixed["waiting"][:1]}
    return fixed | few, ["overlap", "msd", "alpha", "window"]


@verification_policy(part=_first, tolerance={"*": 1e-4})
def forecast_cells(
    cells: xr.Dataset,
    data: dict[str, Any],
    width: int,
    regularisation: float,
    chi: list[float],
    waiting: list[int],
    times: list[int],
    preparation: dict[str, Any],
    temperatures: list[float],
    look: int,
) -> xr.Dataset:
    """Prepare each network, let it rest without noise for the first waiting time, look at it, and say how it will walk.

    Over ``cell``: ``overlap`` (kind, temperature, waiting, time, chi), ``msd`` and ``alpha`` (kind, temperature,
    waiting, time) by each of :data:`KINDS`, ``window`` (chi), and ``diverged``.
    """
    loaded = binary(**data)
    sizes = layer_sizes(loaded.x_train.shape[1], width, 6)
    dynamics = [Dynamics(width=width, regularisation=regularisation, learning_rate=RATE)]
    rows = []
    for cell in to_records(cells):
        rest, later = weights_at(int(cell["seed"]), loaded, dynamics, preparation, [waiting[0], waiting[0] + look])[0]
        rows.append(_row(rest, later, sizes, loaded, regularisation, chi, waiting, times, temperatures, look))
    output = xr.concat(rows, cells.cell)
    output = output.assign(diverged=~np.isfinite(output.window).all("chi"))
    return in_single_precision(output)


def _row(
    rest: np.ndarray, later: np.ndarray, sizes: Sequence[int], data: Any, decay: float, chi: list[float],
    waiting: list[int], times: list[int], temperatures: list[float], look: int,
) -> xr.Dataset:  # fmt: skip
    """All forecasts of one network from its weights before and after the look."""
    point = HingeLoss(sizes, data.x_train, data.y_train, decay).gradient(rest)
    drift = (rest - later) / (RATE * look)
    curvature = gauss_newton(rest, sizes, data.x_train, data.y_train, decay)
    nothing = np.zeros_like(drift)
    bowl = QuadraticLandscape.around(drift, curvature)
    flat = QuadraticLandscape(drift, nothing, np.eye(len(drift)))
    at_point = replace(bowl, slope=bowl.modes.T @ point)
    landscapes = (bowl, replace(bowl, slope=nothing), flat, at_point, replace(flat, slope=nothing))
    windows = rest.std() / np.array(chi)
    shape = (len(KINDS), len(temperatures), len(waiting), len(times))
    overlap, msd, alpha = np.empty((*shape, len(chi))), np.empty(shape), np.empty(shape)
    for k, landscape in enumerate(landscapes):
        for i, temperature in enumerate(temperatures):
            for j, wait in enumerate(waiting):
                moved = landscape.displacement(
                    np.array(times), learning_rate=RATE, diffusion=diffusion(temperature), waited=wait, since=waiting[0]
                )
                overlap[k, i, j] = np.stack([moved.overlap(window) for window in windows], -1)
                msd[k, i, j], alpha[k, i, j] = moved.msd, moved.non_gaussian
    axes = ("kind", "temperature", "waiting", "time")
    return xr.Dataset(
        {
            "overlap": ((*axes, "chi"), overlap, {"long_name": "overlap foretold"}),
            "msd": (axes, msd, {"long_name": "mean squared displacement foretold", "units": "weight²"}),
            "alpha": (axes, alpha, {"long_name": "non-Gaussian parameter foretold"}),
            "window": ("chi", windows, {"long_name": "window", "units": "weight"}),
        },
        {"kind": list(KINDS), "temperature": temperatures, "waiting": waiting, "time": times, "chi": chi},
    )
