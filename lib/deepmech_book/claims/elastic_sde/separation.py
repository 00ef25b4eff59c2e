"""Claims of the page elastic_sde/separation: Theorems 2.1 and 3.1 of paper B, and the edge between them.

Runs are those of :mod:`deepmech_book.analysis.elastic_sde.separation`: whether classes are separable, over ``run`` and
``time``.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech.core.estimates import proportion, stack
from deepmech_book.analysis.elastic_sde import separation
from deepmech_book.claims.functions import Measurement, measures

# --- Theorem 2.1 ------------------------------------------------------------------------------------------------------


@measures("B.thm21.separates")
def separates(share: xr.DataArray, n_runs: int) -> Measurement:
    """Share of separated runs with the larger effect within classes, over ``n``; null: chance."""
    elastic = share.sel(gap=0.5, drop=True)
    return Measurement(proportion(elastic, n_runs), null=separation.chance_on_a_line(elastic["n"].values.tolist()))


# --- Theorem 3.1 ------------------------------------------------------------------------------------------------------


def _late_share(separable: xr.DataArray) -> xr.DataArray:
    return separable.isel(time=-1, drop=True).mean("run")


@measures("B.thm31.fades")
def fades(separable: xr.DataArray) -> Measurement:
    """Share of runs that do as the theorem says at the last time, over ``model`` and ``r``."""
    share = _late_share(separable)
    slow = share["r"] < 1
    null = xr.where(slow, share.where(~slow).max("r"), 1 - share.where(slow).min("r")).transpose(*share.dims)
    return Measurement(proportion(share.where(slow, 1 - share), separable.sizes["run"]), null=null)


@measures("B.c3.random_direction")
def random_direction(along: xr.DataArray) -> Measurement:
    """Share of runs separated along one direction at the last time, over ``model`` and ``r`` below 1; null: above 1."""
    share = _late_share(along)
    slow = share.where(share["r"] < 1, drop=True)
    return Measurement(proportion(slow, along.sizes["run"]), null=share.where(share["r"] > 1).max("r"))


# --- the edge ---------------------------------------------------------------------------------------------------------


@measures("B.thm31.threshold")
def threshold(runs: Mapping[int, xr.DataArray]) -> Measurement:
    """The strength over K/2 at which the curves of the first and the last time cross, by number of ``classes``."""
    crossings = {k: separation.crossing_strength(one) for k, one in runs.items()}
    return Measurement(stack(crossings, "classes"), detail=f"Numbers of classes: {', '.join(map(str, runs))}.")
