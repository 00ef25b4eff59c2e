"""Claims of the page spring_block/metrics_compared: Figs. S10, S11 and S12 of paper A.

``made`` are networks over ``slope``, ``dropout``, ``seed`` and ``metric``, of
:func:`deepmech_book.sweeps.spring_block.networks.two_metrics`; of Fig. S12, over ``regime`` (from lazy to noisy, and
"untrained") and ``seed``.
"""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from deepmech.core.estimates import estimate, rank_correlation
from deepmech_book.analysis.nulls import beside, made_beside
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram, rank_along
from deepmech_book.claims.functions import Measurement, measures


def _by_metric(made: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    return made.sel(metric="D", drop=True), made.sel(metric="D_hat", drop=True)


@measures("A.S10.same_pattern")
def same_pattern(made: xr.Dataset) -> Measurement:
    """Rank correlation over cells of the curvature in one metric with that in the other."""
    trace, hat = _by_metric(made)
    return Measurement(rank_correlation(trace["curvature"], hat["curvature"], "seed"))


@measures("A.S10.dropout_bends")
def dropout_bends(made: xr.Dataset) -> Measurement:
    """Rank correlation of the curvature of D̂ with dropout, by slope."""
    return Measurement(NetworkDiagram(_by_metric(made)[1]).bends_with_noise)


@measures("A.S11.relu_agrees")
def relu_agrees(made: xr.Dataset) -> Measurement:
    """Rank correlation over dropout of both curvatures, of the mean ReLU networks."""
    trace, hat = (one["curvature"].mean("seed").sel(slope=0.0, drop=True) for one in _by_metric(made))
    return Measurement(float(rank_along("dropout", trace, hat)))


@measures("A.S11.linear_flat")
def linear_flat(made: xr.Dataset) -> Measurement:
    """Range of D̂ over the layers over that of D, by dropout, in linear networks; the null: in ReLU networks."""

    def share(slope: float) -> Callable[[xr.Dataset], xr.DataArray]:
        def of_mean(some: xr.Dataset) -> xr.DataArray:
            load = some["load_curve"].sel(slope=slope, drop=True).mean("seed")
            span = load.max("layer") - load.min("layer")
            return span.sel(metric="D_hat", drop=True) / span.sel(metric="D", drop=True)

        return of_mean

    return Measurement(made_beside(made[["load_curve"]], "seed", share(1.0), share(0.0), "skewed"))


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
