"""Claims of the page spring_block/convolutional: Fig. S2 of paper A, a network while dropout is raised.

``made`` is a result of :func:`deepmech_book.sweeps.spring_block.convolutional.dropout_raised`, at the paper's size.
"""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

from deepmech.core.estimates import estimate
from deepmech.metrics.curvature import curvature
from deepmech_book.analysis.nulls import beside
from deepmech_book.analysis.spring_block.regimes import inside
from deepmech_book.analysis.spring_block.supplement import of_the_papers_size, stage_ends
from deepmech_book.claims.functions import Measurement, measures


def _judged(made: xr.Dataset, runs: xr.DataArray, null: xr.DataArray | None = None) -> Measurement:
    why = None if of_the_papers_size(made) else "needs the paper's 2,560 images and 4,000 epochs a stage"
    found = estimate(runs, "seed", "symmetric") if null is None else beside(runs, null, "seed")
    return Measurement(found, not_testable=why)


@measures("A.S2.order")
def order(made: xr.Dataset) -> Measurement:
    """Steps of the curvature from stage to stage."""
    return _judged(made, curvature(stage_ends(made)["load_curve"]).diff("stage"))


def _bend(made: xr.Dataset, stage: int) -> Measurement:
    return _judged(made, curvature(stage_ends(made)["load_curve"]).isel(stage=stage, drop=True))


@measures("A.S2.concave")
def concave(made: xr.Dataset) -> Measurement:
    """Curvature at the end of the first stage."""
    return _bend(made, 0)


@measures("A.S2.linear")
def linear(made: xr.Dataset) -> Measurement:
    """How far inside of straight the curve is at the end of the second stage."""
    found = _bend(made, 1)
    return replace(found, measured=inside("straight", found.measured))


@measures("A.S2.convex")
def convex(made: xr.Dataset) -> Measurement:
    """Curvature at the end of the third stage."""
    return _bend(made, 2)


@measures("A.S2.accuracy")
def accuracy(made: xr.Dataset) -> Measurement:
    """Change of accuracy after the first increase of dropout, and minus that after the second."""
    change = stage_ends(made)["accuracy"].diff("stage")
    return _judged(made, change * xr.DataArray([1.0, -1.0], {"stage": change["stage"]}))


@measures("A.S2.not_time")
def not_time(made: xr.Dataset) -> Measurement:
    """Change of accuracy over the second stage; the null: over as many epochs without dropout."""
    ends = stage_ends(made)
    gained, alone = (ends[name].diff("stage").isel(stage=0, drop=True) for name in ("accuracy", "accuracy_without"))
    return _judged(made, gained, alone)
