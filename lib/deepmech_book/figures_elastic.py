"""Pictures of the pages on paper B: each takes finished arrays and knows its labels and its text alternative."""

from __future__ import annotations

import xarray as xr

from deepmech import plots
from deepmech_book.figures import Picture, pictured

__all__ = ["distance_from_limit", "simplex_distance", "two_classes"]

_curve_panels = pictured(plots.curve_panels)
_lines = pictured(plots.lines)

# --- model ------------------------------------------------------------------------------------------------------------


def two_classes(features: xr.DataArray) -> Picture:
    """Means and ranges of two classes: ``features`` over ``kind`` (a panel each), ``time``, ``class``, ``sample``."""
    return _curve_panels(
        features.mean("sample"),
        x="time",
        by="class",
        panel="kind",
        interval=(features.min("sample"), features.max("sample")),
        label="class {}",
        x_label="time $t$",
        y_label="feature",
        alt="Two panels of two classes that start close together. Left they grow apart; right they grow together, and "
        "their ranges overlap at all times.",
    )


def distance_from_limit(error: xr.DataArray) -> Picture:
    """Distances of training in single steps from the differential equation, over ``step`` and ``of``."""
    return _lines(
        error,
        x="step",
        by="of",
        x_label="step $h$",
        y_label="distance from the limit",
        alt="Two nearly straight lines towards zero: error of the mean and variance, both in proportion to the step.",
    )


# --- collapse ---------------------------------------------------------------------------------------------------------


def simplex_distance(distance: xr.DataArray) -> Picture:
    """Distance of class means from a simplex, over ``time``, a curve for each effect between classes ``inter``."""
    return _lines(
        distance,
        x="time",
        by="inter",
        label=r"$\beta$ = {}",
        log="y",
        points=False,
        legend=True,
        x_label="time $t$",
        y_label="distance from a simplex",
        alt="Two curves fall exponentially, for negative effects between classes; two stay of order one, for positive "
        "ones.",
    )
