"""Claims of the page spring_block/regression: load curves by a linear probe.

``made`` are networks over ``regime`` (from lazy to noisy, and "untrained") and ``seed``.
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate
from deepmech_book.analysis.nulls import beside
from deepmech_book.claims.functions import Measurement, measures


@measures("A.S12.order")
def order(made: xr.Dataset) -> Measurement:
    """Steps of the curvature from regime to regime."""
    bend = made["curvature"].drop_sel(regime="untrained")
    return Measurement(estimate(bend.diff("regime"), "seed", "skewed"))


@measures("A.S12.lazy")
def lazy(made: xr.Dataset) -> Measurement:
    """Curvature in the first regime; null: before training."""
    return _beside_untrained(made, 0)


@measures("A.S12.noisy")
def noisy(made: xr.Dataset) -> Measurement:
    """Curvature in the last regime; null: before training."""
    return _beside_untrained(made, -1)


def _beside_untrained(made: xr.Dataset, regime: int) -> Measurement:
    before = made["curvature"].sel(regime="untrained", drop=True)
    bend = made["curvature"].drop_sel(regime="untrained").isel(regime=regime, drop=True)
    return Measurement(beside(bend, before, "seed", "skewed"))
