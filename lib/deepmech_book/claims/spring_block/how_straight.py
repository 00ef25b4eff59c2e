"""Claims of the page spring_block/how_straight: whether the straight load curve is the best.

``diagrams`` are finished diagrams of networks by name, each over one kind of noise
(:class:`~deepmech_book.analysis.spring_block.summaries.NetworkDiagram`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.spring_block.regimes import inside
from deepmech_book.analysis.spring_block.summaries import STRAIGHT, NetworkDiagram, in_a_row, over_diagrams
from deepmech_book.claims.functions import Measurement, measures

Diagrams = Mapping[str, xr.Dataset]


@measures("A.1.best_is_straight", "A.SM.best_is_straight", "A.S9.bent_is_better")
def best_is_straight(diagrams: Diagrams, fresh: Diagrams) -> Measurement:
    """By how much the best bent cell of every diagram is more accurate than its best straight one, over thresholds.

    Of diagrams of which there are ``fresh`` networks of these cells, the fresh ones judge.
    """
    gains = {name: NetworkDiagram(one).bent_gains_over_thresholds(fresh.get(name)) for name, one in diagrams.items()}
    return Measurement(in_a_row(gains))


@measures("A.1.best_cell")
def best_cell(diagrams: Diagrams) -> Measurement:
    """How far inside of straight the most accurate cell of every diagram is, beside the mean of its cells."""
    means = np.array([float(one["curvature"].mean()) for one in diagrams.values()])
    found = over_diagrams(diagrams, lambda one: inside("straight", one.best_curvature))
    return Measurement(found, null=STRAIGHT - abs(means))


@measures("A.4.linear_is_best")
def linear_is_best(three: xr.Dataset) -> Measurement:
    """Accuracy of the second of three regimes, less that of the first and of the third; networks over ``seed``."""
    percent = 100 * three["accuracy"]
    ahead = percent.isel(regime=1, drop=True) - percent.isel(regime=[0, 2])
    return Measurement(estimate(ahead, "seed", "skewed"))
