"""Shaded planes: phase diagrams side by side, values over two parameters, slices of landscapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from deepmech.plots import style
from deepmech.plots.phase_diagram import colorbar, draw_cells
from deepmech.plots.style import LIGHT, axis_label, panels, rows_of, same_labels, sort_axes, transpose_to

__all__ = ["heat", "phases", "slices"]

#: Up to so many columns or rows of a shaded plane have a tick each, and cells a number.
FEW = 8


def heat(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    limits: tuple[float, float] | None = None,
    boundary: tuple[Any, Any] | None = None,
    boundary_label: str = "",
    fig: Figure,
) -> Figure:
    """Shaded values over two parameters, oriented as phase diagrams are; few cells also have their number.

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
        If dimensions do not fit, labels do not rise, or nothing is finite.
    """
    values = transpose_to("heat values", values, x, y)
    for dim in (x, y):
        if values.sizes[dim] < 2 or np.any(np.diff(np.asarray(values[dim], float)) <= 0):
            raise ValueError(f"heat: labels along {dim!r} must be two or more and rise; sort the array first")
    finite = values.values[np.isfinite(values.values)]
    if limits is None and not len(finite):
        raise ValueError("heat values: none is finite; give limits to draw an empty plane")
    fig.set_figheight(4.2)
    ax = fig.subplots()
    few = max(values.shape) <= FEW and boundary is None
    along = [np.arange(len(values[d])) if few else np.asarray(values[d], float) for d in (x, y)]
    if few:  # a cell each, as in a phase diagram
        values = sort_axes("heat values", values, x, y)
    norm = Normalize(*(limits or (float(finite.min()), float(finite.max()))))
    mesh = ax.pcolormesh(*along, values.values.T, cmap=style.SEQUENTIAL, norm=norm, shading="nearest", rasterized=True)
    colorbar(mesh, ax, label or axis_label(values), pad=0.015)
    ax.set(
        xlim=ax.get_xlim(),
        ylim=ax.get_ylim(),
        xlabel=x_label or axis_label(values[x]),
        ylabel=y_label or axis_label(values[y]),
    )
    if few:
        for i, j in np.argwhere(np.isfinite(values.values)):
            value = float(values[i, j])
            ink = str(style.text_colour([style.SEQUENTIAL(norm(value))])[0])
            ax.text(i, j, f"{value:.2g}".replace("-", "−"), color=ink, ha="center", va="center", fontsize=style.SMALL)
    if boundary is not None:
        ax.plot(*boundary, color="#ffffff", lw=3.2)
        ax.plot(*boundary, color="#000000", lw=1.8, linestyle=style.DASHES)
        if boundary_label:  # the name stands on the page, not on the shading
            key = Line2D([], [], color=LIGHT.text, lw=1.8, linestyle=style.DASHES, label=boundary_label)
            fig.legend(handles=[key], loc="outside upper left")
    # They may be unevenly spaced: ticks say where something was measured.
    for axis, at, dim in zip((ax.xaxis, ax.yaxis), along, (x, y), strict=True):
        if len(at) <= FEW:
            axis.set_ticks(at, [style.format_number(v) for v in values[dim].values])
    return fig


def phases(
    diagrams: Mapping[str, xr.Dataset],
    names: Mapping[str, tuple[float, float]],
    *,
    fig: Figure,
) -> Figure:
    """Phase diagrams side by side, each shaded by signed curvature on its own scale, with the phases named on them.

    Parameters
    ----------
    diagrams : Dataset by title
        With ``load_curve`` (x, y, layer) and ``curvature`` (x, y), drawn as :func:`phase_diagram` does.
    names : place by name of a phase
        Fractions of the width and height of every panel.

    Examples
    --------
    >>> curve = xr.DataArray([[[2.0, 1.5, 0.0], [2.0, 0.5, 0.0]]], dims=("noise", "slope", "layer"))
    >>> one = xr.Dataset({"load_curve": curve, "curvature": (("noise", "slope"), [[0.2, -0.2]])})
    >>> fig = phases({"networks": one}, {"lazy": (0.8, 0.8)}, fig=Figure())
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['lazy']
    """
    fig.set_figheight(3.3)
    for ax, (title, made) in zip(panels(fig, list(diagrams), columns=len(diagrams)), diagrams.items(), strict=True):
        x, y = map(str, made["curvature"].dims)
        layer = next(str(d) for d in made["load_curve"].dims if d not in (x, y))
        load = sort_axes(f"phases {title}", made["load_curve"], x, y, layer)
        bend = sort_axes(f"phases {title}", made["curvature"], x, y)
        side = (0.42 * style.WIDTH / bend.shape[0], 2.4 / bend.shape[1])
        draw_cells(ax, load, bend, bend, side, 1.1, LIGHT)
        ax.set(xlabel=axis_label(load[x]), ylabel=axis_label(load[y]))
        halo = [withStroke(linewidth=4, foreground=LIGHT.background)]
        for name, place in names.items():
            how: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "path_effects": halo}
            ax.text(*place, name, transform=ax.transAxes, color=LIGHT.text, **how)
    return fig


def slices(
    values: xr.DataArray,
    *,
    x: str,
    y: str,
    panel: str,
    limits: tuple[float, float],
    label: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    scale: xr.DataArray | float = 1.0,
    marks: xr.DataArray | None = None,
    columns: int = 3,
    fig: Figure,
) -> Figure:
    """Planes of values on one logarithmic shading, a contour every factor of ten, one panel per value of ``panel``.

    Parameters
    ----------
    values : DataArray, dims (panel, x, y)
        What lies outside ``limits`` is shaded as the nearer end.
    limits : (low, high), both > 0
    scale : DataArray, dims (panel), or number
        Multiplies the labels along x and y: planes may be of different sizes.
    marks : DataArray, dims (panel, point, axis), optional
        Places in units of the labels, numbered in their order; ``axis`` has two values.
    columns : int
        Panels side by side.

    Raises
    ------
    ValueError
        If dimensions or limits do not fit.
    """
    values = transpose_to("slices values", values, panel, x, y)
    if not 0 < limits[0] < limits[1]:
        raise ValueError(f"slices limits = {limits}: must rise and be above 0: the shading is logarithmic")
    places = None if marks is None else transpose_to("slices marks", marks, panel, "point", "axis")
    if places is not None:
        same_labels("slices marks", places, values, panel)
    n, columns = values.sizes[panel], min(columns, values.sizes[panel])
    sizes = np.broadcast_to(scale.sel({panel: values[panel]}) if isinstance(scale, xr.DataArray) else scale, n)
    fig.set_figheight(1.1 + 5.5 / columns * rows_of(n, columns))
    titles = [style.format_number(v) for v in values[panel].values]
    axes = panels(fig, titles, columns, x_label or axis_label(values[x]), y_label or axis_label(values[y]))
    shade, steps = LogNorm(*limits), 10.0 ** np.arange(np.ceil(np.log10(limits[0])) + 1, np.log10(limits[1]))
    for i, ax in enumerate(axes):
        along = [np.asarray(values[d], float) * sizes[i] for d in (x, y)]
        shown = np.clip(values[i].values.T, *limits)
        mesh = ax.pcolormesh(*along, shown, cmap=style.SEQUENTIAL, norm=shade, shading="nearest", rasterized=True)
        if inside := [s for s in steps if shown.min() < s < shown.max()]:
            ax.contour(*along, shown, levels=inside, colors="#ffffff", linewidths=1.0)
        if places is not None:
            at = places[i].values * sizes[i]
            ax.plot(*at.T, color="#ffffff", lw=1.2, zorder=3)
            for k, (a, b) in enumerate(at, start=1):
                box = {"boxstyle": "circle,pad=0.2", "fc": "#ffffff", "ec": "#000000", "lw": 0.8}
                ax.text(a, b, str(k), color="#000000", fontsize=style.SMALL, ha="center", va="center", bbox=box)
        ax.set_aspect("equal")
        ax.locator_params(nbins=4 if columns < 3 else 3)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda v, _: style.format_number(v))
    bar = colorbar(mesh, axes, label or axis_label(values), location="bottom", pad=0.02, aspect=40, extend="both")
    bar.ax.xaxis.set_major_formatter(lambda v, _: style.format_number(v))
    return fig
