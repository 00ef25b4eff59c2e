"""A quantity over a plane of two parameters, shaded, with boundaries from theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from deepmech.plots import style
from deepmech.plots.arrays import arranged, named
from deepmech.plots.phase import colorbar
from deepmech.plots.style import Theme
from deepmech_book.figures import drawn
from deepmech_book.figures.picture import Picture

#: Up to so many columns or rows have a tick each.
FEW = 8


@drawn.takes
def heat(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    alt: str,
    limits: tuple[float, float] | None = None,
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
) -> Picture:
    """Shaded values over two parameters, each cell centred on its parameters.

    Parameters
    ----------
    values : DataArray, dims (x, y)
        Labels of both dimensions must rise; what is not finite is left blank.
    label : str
        Names the shading, with its unit.
    limits : (low, high), optional
        Ends of the shading; those of the values without it.
    boundary : (x values, y values), optional
        A curve in data coordinates, such as a closed-form phase boundary, dashed and named ``boundary_label``.

    Raises
    ------
    ValueError
        If dimensions do not fit, labels do not rise, nothing is finite, ``boundary`` has more values of one parameter
        than of the other, or ``alt`` is missing.

    Examples
    --------
    >>> plane = xr.DataArray([[0.0, 1.0], [1.0, 2.0]], {"a": [0.0, 1.0], "b": [0.0, 1.0]}, ("a", "b"))
    >>> heat(plane, x="a", y="b", label="sum", x_label="a", y_label="b", alt="Shading rises to the upper right.").figure
    """
    values = arranged("heat values", values, x, y)
    for dim in (x, y):
        if values.sizes[dim] < 2 or np.any(np.diff(np.asarray(values[dim], float)) <= 0):
            raise ValueError(f"heat: labels along {dim!r} must be two or more and rise; sort the array first")
    if boundary is not None and np.shape(boundary[0]) != np.shape(boundary[1]):
        raise ValueError(
            f"heat boundary: shapes are {np.shape(boundary[0])} along {x!r} and {np.shape(boundary[1])} along {y!r}; "
            "give as many values of both"
        )
    finite = values.values[np.isfinite(values.values)]
    if limits is None and not len(finite):
        raise ValueError("heat values: none is finite; give limits to draw an empty plane")
    low, high = limits if limits is not None else (float(finite.min()), float(finite.max()))

    def draw(fig: Figure, theme: Theme) -> None:
        ax = fig.subplots()
        along = [np.asarray(values[d], float) for d in (x, y)]
        mesh = ax.pcolormesh(*along, values.values.T, cmap=style.sequential(), norm=Normalize(low, high),
                             shading="nearest", rasterized=True)  # fmt: skip
        colorbar(mesh, ax, label or named(values), pad=0.015)
        limits_before = ax.get_xlim(), ax.get_ylim()
        if boundary is not None:
            ax.plot(*boundary, color="#ffffff", lw=3.2)
            ax.plot(*boundary, color="#000000", lw=1.8, linestyle=style.DASHES)
            if boundary_label:  # the name stands on the page, not on the shading
                key = Line2D([], [], color=theme.text, lw=1.8, linestyle=style.DASHES, label=boundary_label)
                fig.legend(handles=[key], loc="outside upper left")
        ax.set(
            xlim=limits_before[0],
            ylim=limits_before[1],
            xlabel=x_label or named(values[x]),
            ylabel=y_label or named(values[y]),
        )
        # They may be unevenly spaced: ticks say where something was measured.
        for axis, measured in zip((ax.xaxis, ax.yaxis), along, strict=True):
            if len(measured) <= FEW:
                axis.set_ticks(measured, [style.number(m) for m in measured])

    return Picture(draw, alt=alt)
