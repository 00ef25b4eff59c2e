"""A network of the paper's size, with its preparation in full: foretold, and walked (page glass/forecast)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from scipy.linalg import eigh_tridiagonal

from deepmech.core.labels import over
from deepmech.simulators.harmonic import Displacement, QuadraticLandscape
from deepmech.sweeps import Sweep, to_records
from deepmech.trainers.engines.compiled.langevin import layer_sizes
from deepmech.trainers.langevin import Dynamics
from deepmech_book.sweeps.glass.data import binary
from deepmech_book.sweeps.glass.forecasts import LOOK, jacobian
from deepmech_book.sweeps.glass.walks import P_D, RATE, diffusion, in_single_precision, phase_sweep, weights_at
from deepmech_book.sweeps.policy import verification_policy

TEMPERATURES = {"regularised": (1e-5, 0.0), "underparameterised": (1e-4, 0.0)}
"""By phase: one at the crossover, and none, at which the network is looked at."""
SOURCES = ("walk", "parabola", "parabola, 100 products", "slide in weight decay", "free walk")
PRODUCTS = 100


def sweep(phase: str) -> Sweep:
    """A network with a seed that no other of the book has, and its walks."""
    like = phase_sweep(phase, "mnist", TEMPERATURES[phase], 1, steps=10_000, waiting=[5000], whiten=False)
    same = {k: like.fixed[k] for k in ("data", "width", "regularisation", "chi", "times", "preparation")}
    fixed = same | {"temperatures": list(TEMPERATURES[phase]), "waiting": 5000}
    return Sweep(f"glass-{phase}-size", "glass.size", {"seed": over("seed", [336])}, fixed, data=like.data)


def krylov(
    product: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray, products: int = PRODUCTS
) -> QuadraticLandscape:
    """A landscape along the directions (N, products) that its gradient reaches by products with the curvature.

    Lanczos' method. Means are nearly those of all N directions; of variances it says nothing.
    """
    basis, on, off = [gradient / np.linalg.norm(gradient)], [], []
    for _ in range(products):
        image = product(basis[-1])
        on.append(float(image @ basis[-1]))
        for _ in range(2):  # once is not enough against rounding
            image = image - np.array(basis).T @ (np.array(basis) @ image)
        off.append(float(np.linalg.norm(image)))
        if off[-1] <= 1e-9 * max(on):
            break
        basis.append(image / off[-1])
    values, vectors = eigh_tridiagonal(on, off[: len(on) - 1])
    modes = np.array(basis[: len(on)]).T @ vectors
    return QuadraticLandscape(modes.T @ gradient, values, modes)


@verification_policy(tolerance={"*": 1e-4})
def size_cells(
    cells: xr.Dataset, data: dict[str, Any], width: int, regularisation: float, chi: list[float], waiting: int,
    times: list[int], preparation: dict[str, Any], temperatures: list[float],
) -> xr.Dataset:  # fmt: skip
    """Prepare each network, let it rest and look at it without noise, and walk it at each of ``temperatures``.

    Over ``cell``: ``overlap`` (source, temperature, time, chi) and ``msd`` (source, temperature, time) of the ``walk``,
    of the parabola with all directions, of that by products with the curvature (:func:`krylov`) and its diagonal, and
    of two nulls; the data ``loss`` at rest, ``n_weights`` and ``diverged``.
    """
    loaded = binary(**data)
    sizes, n = layer_sizes(loaded.x_train.shape[1], width, 6), len(loaded.x_train)
    scaled = [t * n / P_D for t in temperatures]
    dynamics = [Dynamics(width=width, regularisation=regularisation, learning_rate=RATE, temperature=t) for t in scaled]
    stops = sorted({waiting, waiting + LOOK, *(waiting + t for t in times)})
    rows = []
    for cell in to_records(cells):
        path = weights_at(int(cell["seed"]), loaded, dynamics, preparation, stops).swapaxes(0, 1)
        at, cold = dict(zip(stops, path, strict=True)), temperatures.index(0.0)
        rest, later = (at[step][cold] for step in (waiting, waiting + LOOK))
        outputs, inside = _inside(rest, sizes, loaded)
        looks = _landscapes((rest - later) / (RATE * LOOK), inside, n, regularisation)
        shape = (len(SOURCES), len(temperatures), len(times))
        overlap, msd = np.empty((*shape, len(chi))), np.empty(shape)
        for i, t in enumerate(temperatures):
            how: dict[str, Any] = {
                "learning_rate": RATE,
                "diffusion": diffusion(t),
                "waited": waiting,
                "since": waiting,
            }
            said = {name: one.displacement(np.array(times), **how) for name, one in looks.items()}
            way = np.stack([at[waiting + time][i] - at[waiting][i] for time in times])
            said["walk"] = Displacement(way, 0 * way)
            said[SOURCES[2]] = Displacement(said[SOURCES[2]].mean, said["diagonal"].variance)
            for k, name in enumerate(SOURCES):
                overlap[k, i] = np.stack([said[name].overlap(rest.std() / one) for one in chi], -1)
                msd[k, i] = said[name].msd
        loss = 0.5 * (np.maximum(0, 1 - loaded.y_train * outputs) ** 2).mean()
        axes = ("source", "temperature", "time")
        values = {"overlap": ((*axes, "chi"), overlap), "msd": (axes, msd), "loss": loss, "n_weights": len(rest)}
        coords = {"source": list(SOURCES), "temperature": temperatures, "time": times, "chi": chi}
        rows.append(xr.Dataset({**values, "diverged": not np.isfinite(path).all()}, coords))
    return in_single_precision(xr.concat(rows, cells.cell))


def _inside(weights: np.ndarray, sizes: tuple[int, ...], data: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    """Outputs of all samples, and their derivatives by weights, in pieces, of those inside the margin."""
    outputs, inside = [], []
    for x, y in zip(np.array_split(data.x_train, 20), np.array_split(data.y_train, 20), strict=True):
        found, by_weight = jacobian(weights, sizes, x)
        outputs.append(found)
        inside.append(by_weight[y * found < 1].astype("float32"))
    return np.concatenate(outputs), inside


def _landscapes(drift: np.ndarray, inside: list[np.ndarray], n: int, decay: float) -> dict[str, QuadraticLandscape]:
    """What foretells from a drift and from the derivatives of outputs inside the margin."""
    nothing, same = np.zeros_like(drift), np.eye(len(drift))
    curvature = sum(one.T @ one for one in inside).astype(float) / n + decay * same
    diagonal = sum((one**2).sum(0) for one in inside).astype(float) / n + decay

    def product(v: np.ndarray) -> np.ndarray:
        return sum(one.T @ (one @ v.astype("float32")) for one in inside).astype(float) / n + decay * v

    return {
        "parabola": QuadraticLandscape.around(drift, curvature),
        SOURCES[2]: krylov(product, drift),
        "diagonal": QuadraticLandscape(nothing, diagonal, same),
        "slide in weight decay": QuadraticLandscape(drift, nothing + decay, same),
        "free walk": QuadraticLandscape(nothing, nothing, same),
    }
