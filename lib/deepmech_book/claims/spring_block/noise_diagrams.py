"""Claims of the page spring_block/noise_diagrams: Fig. 1 of paper A, its four panels side by side.

``panels`` are finished diagrams of networks by name, each over one kind of noise
(:class:`~deepmech_book.analysis.spring_block.summaries.NetworkDiagram`).
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech_book.analysis.spring_block.summaries import beside_both, over_diagrams
from deepmech_book.claims.functions import Measurement, measures

Panels = Mapping[str, xr.Dataset]


@measures("A.1.noise_bends")
def noise_bends(panels: Panels) -> Measurement:
    """Rank correlation of curvature with noise in every row of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.bends_with_noise))


@measures("A.1.slope_bends")
def slope_bends(panels: Panels) -> Measurement:
    """Rank correlation of curvature with negative slope in every column of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.bends_with_slope))


@measures("A.1.lazy_corner")
def lazy_corner(panels: Panels) -> Measurement:
    """Curvature of ReLU networks at the least noise of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.lazy_corner))


@measures("A.1.convex_side")
def convex_side(panels: Panels) -> Measurement:
    """Curvature at the strongest noise, in every row of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.noisiest))


@measures("A.1.accuracy_falls")
def accuracy_falls(panels: Panels) -> Measurement:
    """Rank correlation of accuracy with the size of the curvature over the cells of every diagram."""
    found = over_diagrams(panels, lambda one: one.falls_beside_loss)
    return Measurement(found, detail=beside_both(panels, "falls"))


@measures("A.1.accuracy_in_rows")
def accuracy_in_rows(panels: Panels) -> Measurement:
    """The same within rows, mean over rows."""
    found = over_diagrams(panels, lambda one: one.falls_in_rows_beside_loss)
    return Measurement(found, detail=beside_both(panels, "falls_in_rows"))


@measures("A.text.same_fit")
def same_fit(panels: Panels) -> Measurement:
    """The same over the cells whose networks all fit; ``panels`` with at least three of these."""
    return Measurement(over_diagrams(panels, lambda one: one.falls_among_fitted))


@measures("A.text.test_curves")
def test_curves(panels: Panels) -> Measurement:
    """How well test load curves have the curvature of training load curves, cell by cell."""
    return Measurement(over_diagrams(panels, lambda one: one.test_curves_agree))
