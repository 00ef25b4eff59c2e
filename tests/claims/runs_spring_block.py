"""Runs made up for the pairs of pages on springs: load curves of given curvatures, chains of given springs."""

import numpy as np
import xarray as xr


def curves(bend: xr.DataArray, n_layers: int = 7, dim: str = "layer") -> xr.DataArray:
    """Load curves from 1 to 0 of the signed curvature ``bend``, which lies between −0.4 and 0.4."""
    depth = xr.DataArray(np.linspace(0, 1, n_layers + 1), {dim: range(n_layers + 1)})
    bend = bend.clip(-0.4, 0.4)
    late, early = ((1 + 2 * size) / (1 - 2 * size) for size in (bend.clip(min=0), (-bend).clip(min=0)))
    return (1 - depth**late) + (1 - depth) ** early - (1 - depth)


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
