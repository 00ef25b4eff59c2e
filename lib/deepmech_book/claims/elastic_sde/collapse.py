"""Claims of the page elastic_sde/collapse: Proposition 3.4 of paper B.

Distances are those of :func:`deepmech_book.analysis.elastic_sde.collapse.simplex_distance`, over ``start``.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.elastic_sde import collapse
from deepmech_book.claims.functions import Measurement, measures


def _at_the_end(distance: xr.DataArray) -> xr.DataArray:
    return distance.isel(time=-1, drop=True)


def _attracted(distance: xr.DataArray) -> float:
    """The largest share in a simplex of classes that attract one another."""
    ends = _at_the_end(distance.where(distance.inter > 0, drop=True))
    return float(collapse.share_in_simplex(ends).value.max())


@measures("B.prop34.collapses")
def collapses(distance: xr.DataArray) -> Measurement:
    """Share of starts in a simplex, over negative ``inter``; null: over positive ones."""
    repelled = _at_the_end(distance.where(distance.inter < 0, drop=True))
    return Measurement(collapse.share_in_simplex(repelled), null=_attracted(distance))


@measures("B.prop34.rate")
def rate(distance: xr.DataArray) -> Measurement:
    """Rate of the fall over the second half of the times, over negative ``inter``; expected: −β/(K − 1), K = 3."""
    repelled = distance.where(distance.inter < 0, drop=True)
    late = repelled.isel(time=slice(repelled.sizes["time"] // 2, None))
    return Measurement(collapse.decay_rate(late), expected=-repelled.inter / 2)


@measures("B.prop34.printed")
def printed(bounded: xr.DataArray, distance: xr.DataArray) -> Measurement:
    """Share of starts in a simplex where B stays bounded; ``distance`` of constant effects gives the null."""
    return Measurement(collapse.share_in_simplex(_at_the_end(bounded)), null=_attracted(distance))
