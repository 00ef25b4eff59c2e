"""Claims of the page spring_block/without_norm: networks with constants in place of batch normalisation.

``without`` and ``normed`` are diagrams over ``slope``, ``dropout`` and ``seed``, without and with batch normalisation.
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate, rank_correlation
from deepmech_book.analysis.spring_block import supplement
from deepmech_book.analysis.spring_block.summaries import NetworkDiagram
from deepmech_book.claims.functions import Measurement, measures


@measures("A.text.no_norm_concave")
def concave(corner: xr.Dataset) -> Measurement:
    """Curvature at the best learning rate of the other seeds; ``corner``: ReLU networks without dropout, over
    ``learning_rate`` and ``scaled``."""
    bend = corner["curvature"].isel(scaled=0, drop=True)  # variance 1, the paper's words
    return Measurement(estimate(supplement.at_rate_of_others(bend), "seed", "symmetric"))


@measures("A.text.no_norm_pattern")
def pattern(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """Curvature without batch normalisation where it is concave with it, and minus that where it is convex with it."""
    same = estimate(supplement.in_phases_of(normed, without), "seed", "symmetric")
    order = rank_correlation(without["curvature"], normed["curvature"], "seed")
    return Measurement(same, detail=f"Over all cells the rank correlation of both curvatures is {order}.")


@measures("A.text.no_norm_bends")
def bends(without: xr.Dataset) -> Measurement:
    """Rank correlation of curvature with dropout, by slope."""
    return Measurement(NetworkDiagram(without).bends_with_noise)


@measures("A.text.no_batch_norm")
def scatter(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """By what factor curves differ more between seeds."""
    return Measurement(supplement.more_scattered(without, normed))


@measures("A.text.no_norm_rough")
def rough(without: xr.Dataset, normed: xr.Dataset) -> Measurement:
    """By what factor single curves are rougher."""
    one, other = (supplement.roughness(made).mean(["slope", "dropout"]) for made in (without, normed))
    return Measurement(estimate(one / other, "seed", "skewed"))
