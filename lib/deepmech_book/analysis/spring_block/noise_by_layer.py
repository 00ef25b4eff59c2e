"""Whether noise grows with depth in networks of Fig. 1 (paper A, below Eq. 8), and where their curves are convex."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.sweeps.spring_block.networks import PANELS
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS


def growth(made: xr.Dataset) -> xr.DataArray:
    """By how much the logarithm (base 10) of noise over signal grows on its way through the network.

    Parameters
    ----------
    made : Dataset
        ``relative`` over (…, signal, layer), layers from 1 on, as
        :func:`deepmech_book.sweeps.spring_block.noise_by_layer.noise_by_layer` gives it. The first layer is left out:
        dropout comes after it.

    Returns
    -------
    DataArray
        (…, signal): of activations from the second layer to the last, of gradients from the last to the second.
    """
    inside = xr.apply_ufunc(np.log10, made["relative"].sel(layer=slice(2, None)))
    rise = inside.isel(layer=-1, drop=True) - inside.isel(layer=0, drop=True)
    return rise * xr.DataArray([1.0, -1.0], {"signal": ["activations", "gradients"]})


def where_convex(numbers: xr.DataArray, diagram: xr.Dataset) -> xr.DataArray:
    """Numbers of networks in the cells of their panel of Fig. 1 whose load curves are convex.

    Parameters
    ----------
    numbers : DataArray
        Over ``strength``, ``slope`` and ``seed``, of one kind of ``noise``, which a coordinate names.
    diagram : Dataset
        ``curvature`` of that panel, over its noise, ``slope`` and ``seed``. Convex is a cell whose 95 % interval lies
        below 0.

    Returns
    -------
    DataArray
        (at, seed), cells labelled in words; without cells where none is convex.
    """
    name = next(panel for panel in PANELS if panel in diagram.dims)
    values = list(KINDS[str(numbers["noise"].item())])
    bend = diagram["curvature"].sel({name: values}).rename({name: "strength"}).assign_coords(strength=list(STRENGTHS))
    convex = estimate(bend, "seed", "symmetric").high < 0
    cells = [(s, a) for s in numbers["strength"].values for a in numbers["slope"].values]
    words = [f"slope {a:g}, {s}" for s, a in cells]
    flat = numbers.transpose("strength", "slope", "seed").values.reshape(len(cells), -1)
    kept = np.array([bool(convex.sel(strength=s, slope=a)) for s, a in cells])
    return xr.DataArray(flat, {"at": words, "seed": numbers["seed"].values})[kept]
