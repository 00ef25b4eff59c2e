"""Claims of the page spring_block/dropout_diagram: Fig. 1(c) of paper A, layer by layer.

What its panel shares with the others of Fig. 1 is judged on the page spring_block/noise_diagrams.
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.nulls import beside_others
from deepmech_book.claims.functions import Measurement, measures


@measures("A.1.c.each_layer")
def each_layer(load: xr.DataArray, untrained: xr.DataArray) -> Measurement:
    """Fall of D from layer to layer of networks over ``seed``, and of ``untrained`` networks of one cell."""
    falls, random = (-one.diff("layer") for one in (load, untrained))
    return Measurement(beside_others(falls, random, "seed", "skewed"))


