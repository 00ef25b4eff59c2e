"""Claims of the page glass/landscape: Fig. 6 of paper C, which is a sketch there.

``survey`` is a dataset of :func:`deepmech_book.sweeps.glass.landscape.standard`, over ``system``: the glass first, then
networks of three phases.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.glass import basins
from deepmech_book.claims.functions import Measurement, measures


def _of_glass(values: xr.DataArray, null: float) -> Measurement:
    """The glass's number, its null, and in words those of the networks."""
    words = basins.list_systems(values, values.system.values[1:])
    return Measurement(float(values.sel(system="glass")), null=null, detail=words)


@measures("C.6.glass.length")
def length(survey: xr.Dataset) -> Measurement:
    """What is left of a long kick over what is left of a short one."""
    return _of_glass(basins.jump(basins.share_left(survey)), 1.0)


@measures("C.6.glass.barrier")
def barrier(survey: xr.Dataset) -> Measurement:
    """The barrier along the relaxed path between two places of one walk."""
    return _of_glass(basins.barriers(survey)["near"].sel(path="relaxed").median("seed"), 0.0)


@measures("C.6.glass.round")
def roundness(survey: xr.Dataset) -> Measurement:
    """The participation ratio of curvatures; the null: regularised networks."""
    values = survey.roundness.mean("seed")
    return _of_glass(values, float(values.sel(system="regularised")))


@measures("C.6.no_length")
def no_length(survey: xr.Dataset, steps: int) -> Measurement:
    """What is left of the shortest kick of networks; the null: bowls of the same curvatures, after as many steps."""
    left, networks = basins.share_left(survey).isel(kick=0, drop=True), survey.system.values[1:]
    words = basins.list_systems(left, ["glass"])
    return Measurement(left.sel(system=networks), null=basins.bowls(survey, steps).sel(system=networks), detail=words)


@measures("C.6.extended")
def extended(survey: xr.Dataset, n_data: int) -> Measurement:
    """The participation ratio of curvatures of networks; the null: random least squares."""
    networks = survey.system.values[1:]
    random = basins.random_roundness(survey, n_data)
    return Measurement(survey.roundness.mean("seed").sel(system=networks), null=random.sel(system=networks))
