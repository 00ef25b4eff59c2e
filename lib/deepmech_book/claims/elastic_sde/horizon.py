"""Claims of the page elastic_sde/horizon: how far a measured step carries; ``record`` holds its networks."""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.elastic_sde import carried_steps
from deepmech_book.claims.functions import Measurement, measures


def _nearer(record: xr.Dataset, name: str) -> Measurement:
    share = carried_steps.share_nearer(record, name)
    until = carried_steps.horizon(share)
    words = f"up to {until:g} times the time" if until > 1 else "at no time"
    return Measurement(share, detail=f"Surely nearer than all three {words}.")


@measures("B.3.horizon.means")
def means(record: xr.Dataset) -> Measurement:
    """Share of networks whose mean logits come nearer to the steps' than to each null's."""
    return _nearer(record, "means")


@measures("B.3.horizon.separation")
def separation(record: xr.Dataset) -> Measurement:
    """The same of the separation of logits."""
    return _nearer(record, "separation")


@measures("B.3.horizon.error")
def error(record: xr.Dataset) -> Measurement:
    """The same of the test error."""
    return _nearer(record, "error")


@measures("B.3.horizon.order")
def order(record: xr.Dataset) -> Measurement:
    """Share of pairs ordered rightly by what was foretold, less that by numbers of the moment."""
    return Measurement(carried_steps.order(record))
