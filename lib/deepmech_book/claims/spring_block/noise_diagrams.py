"""Claims of the page spring_block/noise_diagrams: Fig. 1 of paper A, and whether the straight load curve is the best.

``panels`` and ``diagrams`` are finished diagrams of networks by name, each over one kind of noise
(:class:`~deepmech_book.analysis.spring_block.summaries.NetworkDiagram`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech_book.analysis.spring_block.regimes import inside
from deepmech_book.analysis.spring_block.summaries import STRAIGHT, NetworkDiagram, beside_both, in_a_row, over_diagrams
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
    found = over_diagrams(panels, lambda one: one.falls_beside("loss"))
    return Measurement(found, detail=beside_both(panels))


@measures("A.1.accuracy_in_rows")
def accuracy_in_rows(panels: Panels) -> Measurement:
    """The same within rows, mean over rows."""
    found = over_diagrams(panels, lambda one: one.falls_beside("loss", in_rows=True))
    return Measurement(found, detail=beside_both(panels, in_rows=True))


@measures("A.text.same_fit")
def same_fit(panels: Panels) -> Measurement:
    """The same over the cells whose networks all fit; ``panels`` with at least three of these."""
    return Measurement(over_diagrams(panels, lambda one: one.falls_among_fitted))


@measures("A.text.test_curves")
def test_curves(panels: Panels) -> Measurement:
    """How well test load curves have the curvature of training load curves, cell by cell."""
    return Measurement(over_diagrams(panels, lambda one: one.test_curves_agree))


@measures("A.1.best_is_straight", "A.SM.best_is_straight", "A.S9.bent_is_better")
def best_is_straight(diagrams: Panels, fresh: Panels) -> Measurement:
    """By how much the best bent cell of every diagram is more accurate than its best straight one, over thresholds.

    Of diagrams of which there are ``fresh`` networks of these cells, the fresh ones judge.
    """
    gains = {name: NetworkDiagram(one).bent_gains_over_thresholds(fresh.get(name)) for name, one in diagrams.items()}
    return Measurement(in_a_row(gains))


@measures("A.1.best_cell")
def best_cell(diagrams: Panels) -> Measurement:
    """How far inside of straight the most accurate cell of every diagram is, beside the mean of its cells."""
    means = np.array([float(one["curvature"].mean()) for one in diagrams.values()])
    found = over_diagrams(diagrams, lambda one: inside("straight", one.best_curvature))
    return Measurement(found, null=STRAIGHT - abs(means))
