"""Runs made up for the pairs of pages on springs: load curves, diagrams of networks and diagrams of chains.

Each takes the shape that curves are to have as a number or a function, and scatters single runs about it.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.sweeps.spring_block.networks import PANELS, SLOPES

Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From the slope or friction and the noise (0 least, 1 most) to a number, both arrays of one shape."""


def curves(bend: xr.DataArray, n_layers: int = 7, dim: str = "layer") -> xr.DataArray:
    """Load curves from 1 to 0 of the signed curvature ``bend``, which lies between −0.4 and 0.4."""
    depth = xr.DataArray(np.linspace(0, 1, n_layers + 1), {dim: range(n_layers + 1)})
    bend = bend.clip(-0.4, 0.4)
    late, early = ((1 + 2 * size) / (1 - 2 * size) for size in (bend.clip(min=0), (-bend).clip(min=0)))
    return (1 - depth**late) + (1 - depth) ** early - (1 - depth)


def networks(
    rng: np.random.Generator,
    bend: Shape,
    accuracy: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] = lambda c, slope, at: 0.95 - abs(c) / 5,
    *,
    noise: str = "dropout",
    slopes: Sequence[float] = SLOPES,
    n_seeds: int = 10,
    scatter: float = 0.01,
) -> xr.Dataset:
    """A diagram of networks as :func:`deepmech_book.sweeps.spring_block.networks.figure_1` gives it.

    ``accuracy`` is a function of the curvature of the cell, and of slope and noise as ``bend``; both scatter over
    seeds. Test load curves are those of training samples, scattered anew. The training loss grows with slope and noise,
    and half of the networks, those with the least of both, fit all training samples.
    """
    values = PANELS[noise].values
    at = np.linspace(0, 1, len(values))
    slope, at = np.meshgrid(slopes, at, indexing="ij")
    cells = {"slope": list(slopes), noise: list(values), "seed": range(n_seeds)}
    like = xr.DataArray(np.zeros((*slope.shape, n_seeds)), cells)
    shape = np.asarray(bend(slope, at) * np.ones_like(at))

    def scattered(mean: np.ndarray, size: float) -> xr.DataArray:
        return like + mean[..., None] + rng.normal(0, size, like.shape)

    load = curves(scattered(shape, scatter))
    found = scattered(np.asarray(accuracy(shape, slope, at) * np.ones_like(at)), scatter / 5)
    return xr.Dataset(
        {
            "load_curve": load,
            "load_curve_test": curves(curvature(load) + rng.normal(0, scatter, like.shape)),
            "curvature": curvature(load),
            "accuracy": found,
            "accuracy_train": scattered(1 - (slope + at > 1) / 10, 0),
            "loss": scattered(0.1 + slope + at, scatter),
            "diverged": like.astype(bool),
        }
    )


def chains(
    rng: np.random.Generator,
    bend: Shape,
    *,
    frictions: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25),
    n_noise: int = 6,
    n_runs: int = 40,
    scatter: float = 0.01,
) -> xr.Dataset:
    """A diagram of chains as :func:`deepmech.simulate` gives it: ``load_curve`` and ``position`` over
    ``friction_right``, ``noise``, ``run`` and ``block``; seven blocks, wall and target included.
    """
    at = np.linspace(0, 1, n_noise)
    friction, grid = np.meshgrid(frictions, at, indexing="ij")
    cells = {"friction_right": list(frictions), "noise": 0.02 * at, "run": range(n_runs)}
    shape = np.asarray(bend(friction, grid) * np.ones_like(grid))[..., None]
    scattered = xr.DataArray(shape + rng.normal(0, scatter, (*grid.shape, n_runs)), cells)
    load = curves(scattered, 8, "block")
    return xr.Dataset({"load_curve": load, "position": 1 - load})


def springs(
    rng: np.random.Generator, step: xr.DataArray, *, n_blocks: int = 7, n_runs: int = 40, scatter: float = 5e-4
) -> xr.Dataset:
    """Chains in which each spring is longer than the one before it by ``step``, scattered over ``run``; y = 1.

    ``position`` and ``load_curve`` over the dimensions of ``step``, ``run`` and ``block``, wall and target included.
    """
    off = xr.DataArray(rng.normal(0, scatter, (*step.shape, n_runs)), dims=(*step.dims, "run"))
    block = xr.DataArray(np.arange(n_blocks + 2), dims="block")
    position = block / (n_blocks + 1) - (step + off) / 2 * block * (n_blocks + 1 - block)
    return xr.Dataset({"position": position, "load_curve": 1 - position})
