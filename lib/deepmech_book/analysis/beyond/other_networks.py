"""Whether the phases of Fig. 1 exist in networks of other kinds, and what finer images do to the load curve.

Networks are results of :mod:`deepmech_book.sweeps.spring_block.architectures`: diagrams over ``slope``, ``dropout`` and
``seed``, and networks over ``images`` and ``seed``.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature

__all__ = ["corners", "falls", "share_of_first_layer", "table_of_corners", "table_of_images"]

CORNERS = xr.Variable("corner", ["no dropout", "much dropout"])


def corners(networks: xr.Dataset) -> xr.DataArray:
    """Curvature with the smallest slope and the least dropout, and minus that with the most, mean over slopes.

    Both are positive where a diagram has a concave and a convex phase; (corner, seed).
    """
    bend = networks["curvature"]
    least, most = bend["dropout"].min(), bend["dropout"].max()
    lazy = bend.sel(slope=bend["slope"].min(), dropout=least, drop=True)
    return xr.concat([lazy, -bend.sel(dropout=most, drop=True).mean("slope")], CORNERS)


def falls(networks: Mapping[str, xr.Dataset]) -> xr.DataArray:
    """Curvature with the most dropout less that with the least, mean over slopes, by kind; (network, seed)."""
    bends = xr.concat([one["curvature"] for one in networks.values()], xr.Variable("network", list(networks)))
    least, most = bends["dropout"].min(), bends["dropout"].max()
    return (bends.sel(dropout=most, drop=True) - bends.sel(dropout=least, drop=True)).mean("slope")


def share_of_first_layer(load: xr.DataArray) -> xr.DataArray:
    """Part of a load curve's fall, (…, layer), that its first step takes.

    Examples
    --------
    >>> float(share_of_first_layer(xr.DataArray([4.0, 1.0, 0.5, 0.0], dims="layer")))
    0.75
    """
    first, last = (load.isel(layer=0) - load.isel(layer=at) for at in (1, -1))
    return first / last


def table_of_corners(trained: Mapping[str, xr.Dataset], untrained: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """Curvature in both corners with its interval over seeds, and that of the same networks untrained, by kind."""
    signs = xr.DataArray([1.0, -1.0], {"corner": CORNERS}, "corner")
    rows = {}
    for kind, one in trained.items():
        bend = estimate(signs * corners(one), "seed", "symmetric")
        columns = {
            "curvature": bend.value,
            "from": bend.low,
            "to": bend.high,
            "untrained": (signs * corners(untrained[kind])).mean("seed"),
        }
        rows[kind] = xr.Dataset(columns).to_dataframe()
    return pd.concat(rows, names=["network", "corner"])


def table_of_images(networks: xr.Dataset) -> pd.DataFrame:
    """What load curves of networks over ``images`` do, in the whole and from layer 1 on; means over seeds."""
    load = networks["load_curve"]
    columns = {
        "curvature": networks["curvature"],
        "curvature from layer 1": curvature(load.isel(layer=slice(1, None)), "layer"),
        "share of the first layer": share_of_first_layer(load),
        "test accuracy": networks["accuracy"],
    }
    return pd.DataFrame({name: one.mean("seed").to_series() for name, one in columns.items()})
