"""Claims of the page spring_block/figures_s5_to_s9: paper A's diagrams at other depths, widths, images and optimisers.

``diagrams`` are finished diagrams of networks by name, each over one kind of noise
(:class:`~deepmech_book.analysis.spring_block.summaries.NetworkDiagram`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.nulls import beside_others
from deepmech_book.analysis.spring_block.summaries import beside_both, over_diagrams
from deepmech_book.analysis.spring_block.supplement import input_off
from deepmech_book.claims.functions import Measurement, measures

Diagrams = Mapping[str, xr.Dataset]


@measures("A.SM.noise_bends", "A.S7.b.noise_bends")
def noise_bends(diagrams: Diagrams) -> Measurement:
    """Rank correlation of curvature with noise in every row of every diagram."""
    return Measurement(over_diagrams(diagrams, lambda one: one.bends_with_noise))


@measures("A.SM.accuracy_falls", "A.S7.b.accuracy_falls")
def accuracy_falls(diagrams: Diagrams) -> Measurement:
    """Rank correlation of accuracy with the size of the curvature over the cells of every diagram."""
    found = over_diagrams(diagrams, lambda one: one.falls_beside_loss)
    return Measurement(found, detail=beside_both(diagrams, "falls"))


@measures("A.SM.accuracy_in_rows", "A.S7.b.accuracy_in_rows")
def accuracy_in_rows(diagrams: Diagrams) -> Measurement:
    """The same within rows, mean over rows."""
    found = over_diagrams(diagrams, lambda one: one.falls_in_rows_beside_loss)
    return Measurement(found, detail=beside_both(diagrams, "falls_in_rows"))


@measures("A.S7.linear_slow")
def linear_slow(descent: xr.Dataset, adam: xr.Dataset) -> Measurement:
    """Training loss of linear networks without data noise, by gradient descent and by Adam."""
    linear, null = (one["loss"].sel(slope=1.0, data_noise=0.0, drop=True) for one in (descent, adam))
    return Measurement(estimate(linear, "seed", "symmetric"), null=float(null.mean()))


@measures("A.S8.input_off")
def input_off_the_line(photographs: xr.Dataset, digits: xr.Dataset) -> Measurement:
    """How far D of the input lies off the line of the hidden layers; diagrams over dropout."""
    off, null = map(input_off, (photographs, digits))
    return Measurement(beside_others(off, null, "seed"))


@measures("A.S9.best_is_concave")
def best_is_concave(diagrams: Diagrams) -> Measurement:
    """Curvature of the most accurate cell of every diagram, beside the mean of its cells."""
    means = np.array([float(one["curvature"].mean()) for one in diagrams.values()])
    return Measurement(over_diagrams(diagrams, lambda one: one.best_curvature), null=means)
