"""Claims of the page laws/inside_a_layer; ``after`` and ``before`` are networks that fit, trained and untrained."""

from __future__ import annotations

import xarray as xr

from deepmech_book.bench import layer_parts
from deepmech_book.bench.stars import means
from deepmech_book.claims.functions import Measurement, measures


@measures("A.1.law.linear")
def linear(after: xr.Dataset, before: xr.Dataset) -> Measurement:
    """Contribution of the linear map less that of the activation; null: before training."""
    pull, null = (p["linear"] - p["activation"] for p in map(layer_parts.parts, (after, before)))
    return Measurement(means(after, pull, null))


@measures("A.1.law.hinders")
def hinders(after: xr.Dataset, before: xr.Dataset) -> Measurement:
    """Contribution of the activation; null: before training."""
    now, then = (p["activation"] for p in map(layer_parts.parts, (after, before)))
    return Measurement(means(after, now, then))


@measures("A.1.law.friction")
def friction(after: xr.Dataset) -> Measurement:
    """Share of pairs in which the activation contributes less in the more nonlinear one; null: the linear map."""
    return Measurement(layer_parts.less_nonlinear_in_pairs(after))


@measures("A.1.law.normalisation")
def normalisation(after: xr.Dataset) -> Measurement:
    """Contribution of the normalisation."""
    return Measurement(layer_parts.mean_with_norm(after))
