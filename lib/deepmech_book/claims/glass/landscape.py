"""Claims of the page glass/landscape: Fig. 6 of paper C, which is a sketch there.

``survey`` is a dataset of :func:`deepmech_book.sweeps.glass.landscape.standard`, over ``system``: the glass first, then
networks of three phases.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.glass import basins
from deepmech_book.claims.functions import Measurement, measures

SPHERE = "Share of directions that are steep (participation ratio; 1 for a sphere)"


def _of_glass(values: xr.DataArray, null: float, words: str) -> Measurement:
    """The glass's number, its null, and what it is, in words, with those of the networks."""
    return Measurement(float(values.sel(system="glass")), null=null, detail=basins.list_systems(words, values))


@measures("C.6.glass.length")
def length(survey: xr.Dataset) -> Measurement:
    """What is left of a long kick over what is left of a short one."""
    words = "How many times as large a share a quench leaves of a kick of 0.3 as of one of 0.01"
    return _of_glass(basins.jump(basins.share_left(survey)), 1.0, words)


@measures("C.6.glass.barrier")
def barrier(survey: xr.Dataset) -> Measurement:
    """The barrier along the relaxed path between two places of one walk."""
    heights = basins.barriers(survey)["near"].sel(path="relaxed").median("seed")
    return _of_glass(heights, 0.0, "Height of the barrier, in units of the walk's temperature")


@measures("C.6.glass.round")
def roundness(survey: xr.Dataset) -> Measurement:
    """The participation ratio of curvatures; the null: regularised networks."""
    values = survey.roundness.mean("seed")
    return _of_glass(values, float(values.sel(system="regularised")), SPHERE)


@measures("C.6.no_length")
def no_length(survey: xr.Dataset, steps: int) -> Measurement:
    """What is left of the shortest kick of networks; the null: bowls of the same curvatures, after as many steps."""
    left, networks = basins.share_left(survey).isel(kick=0, drop=True), survey.system.values[1:]
    words = basins.list_systems("Share of the shortest kick that a quench leaves", left)
    return Measurement(left.sel(system=networks), null=basins.bowls(survey, steps).sel(system=networks), detail=words)


@measures("C.6.extended")
def extended(survey: xr.Dataset, n_data: int) -> Measurement:
    """The participation ratio of curvatures of networks; the null: random least squares."""
    values, networks = survey.roundness.mean("seed"), survey.system.values[1:]
    random = basins.random_roundness(survey, n_data)
    words = basins.list_systems(SPHERE, values)
    return Measurement(values.sel(system=networks), null=random.sel(system=networks), detail=words)
