"""Claims of the page spring_block/three_regimes: Fig. 4 of paper A.

``chains`` are those of :func:`~deepmech_book.analysis.spring_block.regimes.simulated`, ``networks`` those of
:func:`~deepmech_book.sweeps.spring_block.in_time.regimes`; both over ``regime``: (b), (c) and (d) of the figure.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate, estimate, stack
from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.nulls import beside
from deepmech_book.analysis.spring_block import regimes
from deepmech_book.claims.functions import Measurement, measures


@measures("A.4.shapes")
def shapes(chains: xr.Dataset, networks: xr.Dataset) -> Measurement:
    """By how far the curvature at the end lies inside its regime's shape, of chains with one noise and of networks."""
    ends = curvature(chains["load_curve"].isel(time=-1, drop=True), dim="block")
    found: dict[str, Estimate] = {}
    for name, bend, run in (
        ("chain", ends.sel(kind="shared", drop=True), "run"),
        ("network", networks["curvature"], "seed"),
    ):
        for regime, (letter, shape) in enumerate(zip("bcd", regimes.SHAPES, strict=True)):
            found[f"({letter}), {name}"] = regimes.inside(
                shape, estimate(bend.isel(regime=regime, drop=True), run, "skewed")
            )
    quiet = ", ".join(f"{float(bend):.2f}" for bend in ends.sel(kind="none").mean("run"))
    return Measurement(stack(found, "at"), detail=f"Without noise the curvatures of the three chains are {quiet}.")


@measures("A.4.shared_noise")
def shared_noise(chains: xr.Dataset) -> Measurement:
    """Distance at the end of the mean load curves of one noise and of noises of their own; the null has no noise."""
    mean = chains["load_curve"].isel(time=-1, drop=True).mean("run")
    own, shared, none = (mean.sel(kind=kind, drop=True) for kind in ("own", "shared", "none"))
    even = 1 - mean.block / mean.block.max()
    apart, null, first = (abs(one - other).max("block") for one, other in ((shared, own), (none, own), (shared, even)))
    return Measurement(apart, null=null, first_null=first)


@measures("A.4.shared_fluctuations")
def shared_fluctuations(chains: xr.Dataset, networks: xr.Dataset) -> Measurement:
    """By how much nearer to networks' one noise brings the correlation of neighbours' steps than noises of their own.

    Chains are looked at as often as networks were recorded, from start to end.
    """
    often = np.linspace(0, chains.sizes["time"] - 1, networks.sizes["at_epoch"]).round().astype(int)
    blocks = chains["load_curve"].isel(time=often, block=slice(1, -1))
    alike = regimes.neighbours_alike(blocks, "block", "time", "run").assign_coords(regime=list("bcd"))
    shared, own = alike.sel(kind="shared", drop=True), alike.sel(kind="own", drop=True)

    def of_networks(layers: xr.DataArray) -> xr.DataArray:
        return regimes.neighbours_alike(layers, "layer", "at_epoch", "seed").assign_coords(regime=list("bcd"))

    def nearer(layers: xr.DataArray) -> xr.DataArray:
        network = of_networks(layers)
        return abs(own - network) - abs(shared - network)

    layers = networks["load_curve"].isel(layer=slice(1, None))
    columns = zip("bcd", of_networks(layers), shared, own, strict=True)
    each = "; ".join(f"({regime}) " + ", ".join(f"{float(one):.2f}" for one in three) for regime, *three in columns)
    found = estimate(layers, "seed", "skewed", of=nearer)
    return Measurement(found, detail=f"Correlations in networks, with one noise, with noises of their own: {each}.")


@measures("A.4.fit")
def fit(fitted: xr.Dataset, rival: xr.Dataset) -> Measurement:
    """R² at epochs that were not seen of chains fitted to networks, and of a rival with as many numbers."""
    return Measurement(beside(fitted["r2"], rival["r2"], "seed", "skewed"))
