"""Pictures of the pages on paper B: each takes finished arrays and knows its labels and its text alternative."""

from __future__ import annotations

import xarray as xr

from deepmech import plots
from deepmech_book.figures import Picture, pictured

__all__ = ["simplex_distance"]

_lines = pictured(plots.lines)

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
