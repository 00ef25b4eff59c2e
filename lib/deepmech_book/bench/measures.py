"""Measures of generalisation by name: functions of a record of networks, one number each, larger where it should be
worse.

A record is a dataset over ``number``, at one stop, with all that
:class:`deepmech_book.sweeps.extras.layer_diagnostics.LayerDiagnostics` measures and the settings as coordinates.
All but the last three see nothing but training samples and weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from deepmech.metrics.curvature import curvature
from deepmech_book.sweeps.extras.zoo import IMAGES

__all__ = ["HELD_OUT", "MEASURES", "Measure", "bend", "last_load", "parameters"]

Measure = Callable[[xr.Dataset], xr.DataArray]


def bend(r: xr.Dataset, name: str = "load_curve") -> xr.DataArray:
    """Size of the signed curvature of the load curve (paper A: the straightest generalises best)."""
    load = r[name] if "split" not in r[name].dims else r[name].sel(split="train", drop=True)
    found = load.isel(layer=0, drop=True) * np.nan
    for depth in np.unique(r.depth):
        these = r.depth == depth
        found = xr.where(these, abs(curvature(load.isel(layer=slice(int(depth))))), found)
    return found


def last_load(r: xr.Dataset, split: str = "train") -> xr.DataArray:
    """Data separation after the last hidden layer: larger where classes are less separated."""
    load = r.load_curve.sel(split=split, drop=True)
    return load.isel(layer=xr.DataArray(r.depth.values - 1, {"number": r.number}, ["number"])).drop_vars("layer")


def parameters(r: xr.Dataset) -> xr.DataArray:
    """Number of weights, which is known before training."""
    return IMAGES["size"] ** 2 * r.width + (r.depth - 2) * r.width**2 + 10 * r.width


def _log_sum(r: xr.Dataset, name: str) -> xr.DataArray:
    """Of a number of each layer, the sum of logarithms of squares: a product over layers."""
    return 2 * xr.apply_ufunc(np.log, r[name]).sum("map")


def _margin(r: xr.Dataset) -> xr.DataArray:
    """Logarithm of the squared margin; a margin that is no margin counts as a very small one."""
    return 2 * np.log(r.margin.clip(min=1e-3))


MEASURES: dict[str, Measure] = {
    "bend of the load curve": bend,
    "load after the last layer": last_load,
    "parameters": parameters,
    "product of Frobenius norms": lambda r: _log_sum(r, "frobenius"),
    "product of spectral norms": lambda r: _log_sum(r, "spectral"),
    "spectral norms over margin": lambda r: _log_sum(r, "spectral") - _margin(r),
    "path norm": lambda r: np.log(r.path_norm),
    "path norm over margin": lambda r: 2 * np.log(r.path_norm) - _margin(r),
    "inverse margin": lambda r: -_margin(r),
    "distance from the start": lambda r: r.distance.mean("map"),
    "weights that left": lambda r: 1 - r.overlap.mean("map"),
    "sharpness, random": lambda r: r.sharpness_random,
    "sharpness, worst": lambda r: r.sharpness_worst,
    "gradient noise": lambda r: np.log(r.noise_weights.sum("map")),
    "epochs to the loss": lambda r: r.epoch,
    "training loss": lambda r: r.loss.sel(split="train", drop=True),
    "training error": lambda r: -r.accuracy.sel(split="train", drop=True),
    "load, validation split": lambda r: last_load(r, "validation"),
    "loss, validation split": lambda r: r.loss.sel(split="validation", drop=True),
    "error, validation split": lambda r: -r.accuracy.sel(split="validation", drop=True),
}
HELD_OUT = tuple(name for name in MEASURES if "validation" in name)
"""Those that were told of samples held out."""
