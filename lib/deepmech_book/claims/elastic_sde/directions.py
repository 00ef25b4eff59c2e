"""Claims of the page elastic_sde/directions: App. C of paper B, lasting separation and directions for all pairs.

Runs are those of :mod:`deepmech_book.analysis.elastic_sde.separation`: whether classes are separable, over ``run`` and
``time``.
"""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate, proportion
from deepmech_book.analysis.elastic_sde import separation
from deepmech_book.claims.functions import Measurement, measures


@measures("B.uniform.at_threshold")
def lost_at_threshold(now: xr.DataArray) -> Measurement:
    """How the share of runs that were separated ever since changes in time, at K/2; null: of those that are now."""
    at = now.sel(factor=1.0, drop=True)
    lost = separation.change_in_time(separation.ever_since(at))
    return Measurement(estimate(lost, "run", "skewed"), null=float(separation.change_in_time(at).mean()))


@measures("B.uniform.above")
def kept_above(now: xr.DataArray) -> Measurement:
    """Share of runs separated at all times, 10 % above K/2; null: at K/2."""
    kept = separation.ever_since(now).isel(time=-1, drop=True).mean("run")
    return Measurement(proportion(kept.sel(factor=1.1), now.sizes["run"]), null=float(kept.sel(factor=1.0)))


@measures("B.c24.decent")
def decent(gap: xr.DataArray) -> Measurement:
    """Smallest distance along the best pair's difference over the best possible; null: along a random direction."""
    return Measurement(
        estimate(gap.sel(choice="two classes"), "draw", "skewed"), null=float(gap.sel(choice="random").mean())
    )
