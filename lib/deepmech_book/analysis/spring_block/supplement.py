"""What only the diagrams of paper A's supplement are asked: where the input lies, and what a ceiling of D changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separation import separation_ceiling
from deepmech_book.analysis.spring_block.summaries import STRAIGHT, NetworkDiagram, without_input


def input_off(made: xr.Dataset) -> xr.DataArray:
    """How far D₀ lies off the line through the hidden layers, by what D falls over these; (seed,).

    The median over the cells, of ``slope`` and ``dropout``, whose curve is straight from layer 1 on.

    Parameters
    ----------
    made : Dataset
        ``load_curve`` (slope, dropout, seed, layer), the input included, and its ``curvature``.
    """
    load, hidden = made["load_curve"], without_input(made)
    line = hidden["load_curve"].polyfit("layer", 1).polyfit_coefficients.sel(degree=0, drop=True)
    reach = load.sel(layer=1, drop=True) - load.isel(layer=-1, drop=True)
    off = (load.sel(layer=0, drop=True) - line) / reach
    straight = abs(hidden["curvature"].mean("seed")) <= STRAIGHT
    return abs(off.where(straight).median(["slope", "dropout"]))


def debiased(made: xr.Dataset, n_samples: int, n_classes: int = 10) -> xr.Dataset:
    """The same networks by D without the sampling noise of class means, of classes of equal size.

    With n samples of K classes exp(−D') = (1 − K/n) exp(−D) − (K − 1)/n; nan where that is not positive.

    Parameters
    ----------
    made : Dataset
        ``load_curve`` (…, layer) by plain D.
    """
    kept: xr.DataArray = xr.apply_ufunc(np.exp, -made["load_curve"])
    share = kept * (1 - n_classes / n_samples) - (n_classes - 1) / n_samples
    again = -xr.apply_ufunc(np.log, share.where(share > 0))
    return made.assign(load_curve=again, curvature=curvature(again))


def near_the_ceiling(diagrams: Mapping[str, xr.Dataset], n_samples: int, n_classes: int = 10) -> pd.DataFrame:
    """A row for each diagram: networks within a factor of two of the ceiling of D, and accuracy without them."""
    rows = {}
    for name, made in diagrams.items():
        near = made["load_curve"] > separation_ceiling([n_samples // n_classes] * n_classes) - np.log(2)
        plain, again = NetworkDiagram(made), NetworkDiagram(debiased(made, n_samples, n_classes))
        rows[name] = {
            "near the ceiling": f"{int(near.any('layer').sum())} of {made['curvature'].size}",
            "accuracy and bend, plain": str(plain.falls_beside_loss),
            "debiased": str(again.falls_beside_loss),
            "within rows, plain": str(plain.falls_in_rows_beside_loss),
            "debiased, too": str(again.falls_in_rows_beside_loss),
            "bent cells gain, plain": str(plain.bent_gains),
            "and debiased": str(again.bent_gains),
        }
        if "dropout" in made.dims and 0 in made["layer"]:
            off = (str(estimate(input_off(one), "seed", "symmetric")) for one in (made, debiased(made, n_samples)))
            rows[name] |= dict(zip(("the input off the line, plain", "the same, debiased"), off, strict=True))
    return pd.DataFrame(rows).T.fillna("–")


def bend_and_accuracy(networks: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """A row for each setting: curvature of training samples and accuracy on test samples, means over seeds.

    Parameters
    ----------
    networks : Dataset by name
        ``curvature`` and ``accuracy`` (seed,), or (seed, split) where both sets of samples were measured.
    """
    rows = {}
    for name, one in networks.items():
        both = (
            one if "split" not in one.dims else one.sel(split="train").assign(accuracy=one.accuracy.sel(split="test"))
        )
        rows[name] = [float(both["curvature"].mean()), 100 * float(both["accuracy"].mean())]
    return pd.DataFrame(rows, index=["curvature", "test accuracy (%)"]).T.round(2)
