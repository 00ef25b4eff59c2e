"""What one look at a network foretells of its walks: drift, curvature, and nothing fitted (page glass/forecast)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.labels import over
from deepmech.simulators.harmonic import Displacement, QuadraticLandscape
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers.engines.compiled.langevin import layer_sizes
from deepmech.trainers.langevin import Dynamics
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.walks import RATE, WHITENED, diffusion, in_single_precision, standard, weights_at
from deepmech_book.sweeps.policy import verification_policy

LOOK = 100
"""Steps without noise over which the drift is measured: at a point networks of ReLU show the force of their kinks."""
FRESH = {"regularised": range(100, 109), "underparameterised": range(100, 112)}
"""Seeds of walks like the book's own, which count beside them on other pages (:func:`.phases.every`)."""
LEARNING = range(330, 336)
"""Seeds of the networks on which forecasts are judged; no network of the book had them when rules were frozen."""
TEMPERATURES = {
    "regularised": (0.01, 1e-4, 1e-5, 1e-6, 0.0),
    "underparameterised": (0.1, 1e-3, 1e-4, 1e-5, 0.0),
}
"""Theirs on MNIST: one that is hot; in the finest window two at the crossover, and two cold ones."""
KINDS = (
    "free walk", "weight decay", "slide", "slide in weight decay", "walk at T = 0", "parabola",
)  # fmt: skip
"""What foretells, by how much it knows. The first five have no curvature but weight decay's; the fifth adds free
diffusion to a walk without noise, which has then been walked and not foretold."""


def fresh(phase: str, dataset: str = "mnist") -> Sweep:
    """The walks of a phase with seeds of their own (:data:`FRESH`)."""
    like = standard(phase, dataset)
    return replace(like, name=f"{like.name}-fresh", cells={**like.cells, "seed": over("seed", list(FRESH[phase]))})


def learning(phase: str, dataset: str = "mnist") -> Sweep:
    """Walks of networks that learn as much as the paper's, on which forecasts are judged (:data:`LEARNING`)."""
    on_mnist = {
        "n_data": 16_000, "whiten": True, "preparation": WHITENED[phase], "temperatures": TEMPERATURES[phase],
        "steps": 20_000, "waiting": (5000, 10_000),
    }  # fmt: skip
    like = standard(phase, dataset, **(on_mnist if dataset == "mnist" else {}))
    return replace(like, name=f"{like.name}-learning", cells={**like.cells, "seed": over("seed", list(LEARNING))})


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
    end, rows = waiting[0] + times[-1], []
    seen = {wait + t for wait in waiting for t in (0, *times)} | {waiting[0] + look}
    stops = sorted(stop for stop in seen if stop <= end)
    for cell in to_records(cells):
        path = weights_at(int(cell["seed"]), loaded, dynamics, preparation, stops)[0]
        at = dict(zip(stops, path, strict=True))
        curvature = gauss_newton(at[waiting[0]], sizes, loaded.x_train, loaded.y_train, regularisation)
        rows.append(_row(at, curvature, regularisation, chi, waiting, times, temperatures, look))
    output = xr.concat(rows, cells.cell)
    output = output.assign(diverged=~np.isfinite(output.window).all("chi"))
    return in_single_precision(output)


def _row(
    at: dict[int, np.ndarray], curvature: np.ndarray, decay: float, chi: list[float], waiting: list[int],
    times: list[int], temperatures: list[float], look: int,
) -> xr.Dataset:  # fmt: skip
    """All forecasts of one network from its weights at the steps of a walk without noise."""
    rest = at[waiting[0]]
    drift, nothing, same = (rest - at[waiting[0] + look]) / (RATE * look), np.zeros_like(rest), np.eye(len(rest))
    landscapes = {
        "free walk": QuadraticLandscape(nothing, nothing, same),
        "weight decay": QuadraticLandscape(decay * rest, nothing + decay, same),
        "slide": QuadraticLandscape(drift, nothing, same),
        "slide in weight decay": QuadraticLandscape(drift, nothing + decay, same),
        "parabola": QuadraticLandscape.around(drift, curvature),
    }
    windows = rest.std() / np.array(chi)
    shape = (len(KINDS), len(temperatures), len(waiting), len(times))
    overlap, msd, alpha = np.empty((*shape, len(chi))), np.empty(shape), np.empty(shape)
    for i, temperature in enumerate(temperatures):
        for j, wait in enumerate(waiting):
            how: dict[str, Any] = {
                "learning_rate": RATE,
                "diffusion": diffusion(temperature),
                "waited": wait,
                "since": waiting[0],
            }
            each = {name: one.displacement(np.array(times), **how) for name, one in landscapes.items()}
            unseen = nothing + np.nan
            way = np.stack([at.get(wait + t, unseen) - at[wait] for t in times])
            each["walk at T = 0"] = Displacement(way, each["free walk"].variance)
            for k, kind in enumerate(KINDS):
                moved = each[kind]
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
