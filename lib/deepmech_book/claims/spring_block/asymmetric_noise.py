"""Claims of the page spring_block/asymmetric_noise: whether noise runs forward through a network.

``made`` is noise over signal by layer, ``diagram`` the panel of Fig. 1 with the same kind of noise (see
:mod:`deepmech_book.analysis.spring_block.noise_by_layer`).
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.spring_block.noise_by_layer import growth, where_convex
from deepmech_book.claims.functions import Measurement, measures


@measures("A.text.forward_noise")
def forward_noise(made: xr.Dataset) -> Measurement:
    """Growth of the noise of activations before training, by kind of noise."""
    start = growth(made).sel(signal="activations", drop=True).isel(at_epoch=0, drop=True)
    return Measurement(estimate(start.mean(["slope", "strength"]), "seed", "symmetric"))


@measures("A.text.forward_noise.dropout", "A.text.forward_noise.data")
def accumulates(made: xr.Dataset, diagram: xr.Dataset) -> Measurement:
    """Growth of the noise of activations after training in convex cells; ``made`` has that one kind of noise."""
    grows = growth(made).sel(signal="activations", drop=True).isel(at_epoch=-1, drop=True)
    cells = where_convex(grows, diagram)
    if not cells.sizes["at"]:
        return Measurement(not_testable="no load curve of these networks is convex")
    words = f"Cells of nine whose load curves are convex: {cells.sizes['at']}."
    return Measurement(estimate(cells, "seed", "symmetric"), detail=words)
