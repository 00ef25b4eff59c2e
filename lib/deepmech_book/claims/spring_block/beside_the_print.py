"""Errata of the page spring_block/beside_the_print: what accuracies say of how Fig. 1 was made.

Networks are panels of Fig. 1 over ``slope``, a noise and ``seed``; ``printed`` is such a panel as printed.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.spring_block.printed import beside_best_epoch, times_as_far
from deepmech_book.claims.functions import Measurement, measures


@measures("A.errata.fig1a_images")
def images_of_fig_1a(fewer: xr.Dataset, along: xr.Dataset, printed: xr.Dataset) -> Measurement:
    """Distance from the print with fewer images, networks of the same seeds; the null: with all, at the best
    ``at_epoch`` along the way. Interval over cells."""
    return Measurement(beside_best_epoch(fewer.sel(seed=along["seed"].values), along, printed))


@measures("A.errata.fig1b_epochs")
def epochs_of_fig_1b(longer: xr.Dataset, shorter: xr.Dataset, printed: xr.Dataset) -> Measurement:
    """Distance from the print with 200 epochs over that with 100, networks of the same seeds; interval over cells."""
    same = longer.sel(seed=shorter["seed"].values)
    return Measurement(times_as_far(same, shorter, printed))
